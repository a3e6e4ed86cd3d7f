"""The table builder in a browser: buttons, keyboard, dragging, chart, map; what it weighs, who can read it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from discreet.server.pages import choices, hexagons
from tests.server.pages.office import Office

pytestmark = pytest.mark.browser
PLACE = "/tables/census/2021.1"
FULL = f"{PLACE}?rows=age_group:1&columns=sex&ask=yes"
MOST_BYTES = 250_000


def zones(page: Any) -> dict[str, list[str]]:
    named = "z => [z.dataset.zone, [...z.children].map(c => c.dataset.name)]"
    return dict(page.evaluate(f"[...document.querySelectorAll('.zone ul')].map({named})"))


def test_a_table_is_built_by_buttons_without_loading_the_page_again(window: Callable[..., Any]) -> None:
    with window() as one:
        page = one.open(PLACE)
        page.evaluate("window.still = 'here'")
        page.locator("#put-sex-columns").click()
        page.wait_for_url("**columns=sex**")
        page.locator("#put-education-rows").click()
        page.wait_for_url("**rows=education**")
        assert page.locator(".ask").inner_text().startswith("Up to 24 cells")
        page.locator("#show").click()
        page.locator("table.grid tbody tr").first.wait_for()
        assert zones(page) == {"rows": ["education"], "columns": ["sex"], "layers": []}
        page.locator("#turn").click()
        page.wait_for_url("**rows=sex**")
        assert page.evaluate("window.still") == "here"
        page.go_back()
        page.wait_for_url("**rows=education**")
        page.locator("table.grid tbody tr").first.wait_for()


def test_the_keyboard_is_enough(window: Callable[..., Any]) -> None:
    with window() as one:
        page = one.open(PLACE)
        page.locator("#put-sex-rows").focus()
        page.keyboard.press("Enter")
        page.locator("#show").wait_for()
        page.locator("#show").focus()
        page.keyboard.press("Enter")
        page.locator("table.grid").wait_for()
        page.locator("#percent").focus()
        page.keyboard.press("ArrowDown")
        page.wait_for_url("**percent=row**")
        page.wait_for_function("document.activeElement.id === 'percent'")  # the focus stays where it was


def test_a_variable_is_dragged_into_a_zone_and_out_again(window: Callable[..., Any]) -> None:
    with window() as one:
        page = one.open(PLACE)
        for selector, target, wanted in (
            ("#variables [data-name=marital] .grip", "ul[data-zone=rows]", "**rows=marital**"),
            (".zone [data-name=marital] .grip", "ul[data-zone=layers]", "**layers=marital**"),
        ):
            page.locator("#builder[data-drags]").wait_for()
            start, end = page.locator(selector).bounding_box(), page.locator(target).bounding_box()
            page.mouse.move(start["x"] + 3, start["y"] + 6)
            page.mouse.down()
            page.mouse.move(end["x"] + 40, end["y"] + 12, steps=6)
            page.mouse.move(end["x"] + 44, end["y"] + 14, steps=3)
            page.mouse.up()
            page.wait_for_url(wanted)
        assert zones(page) == {"rows": [], "columns": [], "layers": ["marital"]}


def test_the_list_is_searched_by_labels_and_codes_are_a_tree(
    window: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choices, "MOST_LABELS", 3)
    with window() as one:
        page = one.open(f"{PLACE}?rows=age_group")
        page.locator("#find").fill("birth")
        assert page.locator("#variables > li:visible").count() == 1
        page.locator("#find").fill("nothing like it")
        assert page.locator("#none-found").is_visible()
        page.locator("#find").fill("g01030201")  # the page does not carry it: the server looks through all codes
        page.locator("#variables [data-name=area]").wait_for()
        assert page.locator("#variables > li:visible").count() == 1
        assert not page.locator("#none-found").is_visible()
        page.locator("#find").fill("")
        page.locator("#variables .label-link", has_text="Age").click()
        assert page.locator(".tree li.d2").count() > 10
        page.get_by_label("Y00-14").check()
        page.get_by_role("button", name="Show only").click()
        assert "select.age_group=Y00-14" in page.url


def test_without_scripts_everything_but_the_chart_works(window: Callable[..., Any]) -> None:
    with window(java_script_enabled=False) as one:
        page = one.open(PLACE)
        page.locator("#put-area-rows").click()
        page.locator("#show").click()
        assert page.locator("table.grid tbody tr").count() > 10
        page.locator("#view-map").click()
        assert page.locator(".hexagons > svg use").count() == 12
        page.locator("#level-area").select_option(index=0)
        page.locator(".chip button").click()
        assert "rows=area:1" in page.url


def test_areas_of_a_large_map_have_their_words_once_somebody_points_at_it(
    window: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hexagons, "MOST_SINGLE", 5)
    with window() as one:
        page = one.open(f"{PLACE}?rows=area&view=map&ask=yes")
        drawing = page.locator(".hexagons > svg")
        drawing.wait_for()
        assert drawing.locator("use").count() == 0
        assert 2 <= drawing.locator("> path").count() <= 5
        drawing.locator("> path").first.hover(position={"x": 3, "y": 3}, force=True)
        page.wait_for_function("document.querySelectorAll('.hexagons > svg use title').length === 12")
        words = drawing.locator("use title").all_text_contents()
        assert all(re.fullmatch(r".+: [\d,]+", text) for text in words), words
    with window(java_script_enabled=False) as one:
        page = one.open(f"{PLACE}?rows=area&view=map&ask=yes")
        assert page.locator(".hexagons > svg > path").count() >= 2


def test_whether_it_would_be_answered_stands_there_before_somebody_asks(
    window: Callable[..., Any], office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(office.log.entries)
    with window() as one:
        page = one.open(f"{PLACE}?rows=sex&columns=labour")
        page.get_by_text("It would be answered now").wait_for()
        assert page.locator("table.grid").count() == 0
        assert page.url.endswith("columns=labour")  # a look is no page of the history
        place, dataset = next(iter(office.service.datasets.items()))
        full = msgspec.structs.replace(dataset.facts, most_precision=0.0)
        monkeypatch.setattr(office.service, "datasets", {place: replace(dataset, facts=full)})
        page.locator("#put-education-layers").click()
        page.get_by_text("It would not be answered").wait_for()
        assert "so often that one more would undo the noise" in page.locator("#look").inner_text()
    with window(java_script_enabled=False) as one:
        page = one.open(f"{PLACE}?rows=education&columns=labour")
        page.get_by_text("Would it be answered?").click()
        assert page.get_by_text("It would not be answered").is_visible()
    rules = [entry.rule for entry in office.log.entries[before:] if entry.action == "table.look"]
    assert rules == ["only-looked", "told-too-often", "told-too-often"]


def test_the_call_of_a_program_is_copied(window: Callable[..., Any]) -> None:
    with window(permissions=["clipboard-read", "clipboard-write"]) as one:
        page = one.open(FULL)
        page.get_by_text("The same by program").click()
        page.locator("[data-copy=call-R]").click()
        page.get_by_text("Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == page.locator("#call-R").inner_text()


def test_a_table_appears_soon_and_whole(window: Callable[..., Any]) -> None:
    """The page has its table when it comes: no script has to run before something is to be seen."""
    with window(java_script_enabled=False) as one:
        page = one.open(FULL)
        assert page.locator("table.grid td").count() >= 12


def test_charts_come_when_asked_for_with_their_table_beside(window: Callable[..., Any]) -> None:
    with window() as one:
        weights: dict[str, int] = {}
        one.page.on("response", lambda reply: weights.__setitem__(reply.url, len(reply.body())))
        page = one.open(FULL)
        page.wait_for_load_state("networkidle")
        assert sum(weights.values()) < MOST_BYTES
        assert not [url for url in weights if url.endswith(("/plot.min.js", "/d3.min.js"))]
        page.locator("#view-chart").click()
        page.locator("#chart svg rect").first.wait_for()
        assert page.locator("#chart svg rect").count() == 6
        assert page.locator("table.grid").is_visible()
        assert page.locator("#chart style").count() == 0
        assert [url for url in weights if url.endswith("/plot.min.js")]


def test_hostile_words_stay_words(window: Callable[..., Any]) -> None:
    with window() as one:
        bad = "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E%3Cscript%3Ealert(2)%3C/script%3E"
        page = one.open(f"{PLACE}?rows=sex&find={bad}&ask=yes")
        assert page.locator("#builder img").count() == 0
        assert "alert(1)" in page.locator("#find").input_value()
        page = one.open(f"{PLACE}?rows={bad}")
        assert page.locator("main img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    [
        "/",
        PLACE,
        FULL,
        f"{FULL}&view=chart",
        f"{PLACE}?rows=area&layers=sex&view=map&ask=yes",
        f"{PLACE}/codes/birth?rows=birth",
    ],
)
def test_axe_finds_no_fault(window: Callable[..., Any], path: str, scheme: str) -> None:
    with window(bypass_csp=True, color_scheme=scheme) as one:
        page = one.open(path)
        if "chart" in path:
            page.locator("#chart svg").wait_for()
        assert one.faults() == []
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_it_prints_the_table_and_nothing_to_click(window: Callable[..., Any]) -> None:
    with window(color_scheme="dark") as one:
        page = one.open(FULL)
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator("table.grid").is_visible()
        assert not page.locator(".choose").is_visible()
        assert not page.locator(".take").is_visible()
