"""In a browser what the other modules ask by program: history, definitions, codes, certificates, roles, the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.pages.office import Office, serving
from tests.server.pages.test_office import write_log

pytestmark = pytest.mark.browser
PLACE = "/tables/census/2021.1"
TABLE = f"{PLACE}?rows=age_group:1&columns=sex&percent=row&ask=yes"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, census: Any) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    made = Office(folder, [census])
    made.store.editions.register("census", "1871.1", key_fingerprint="01", key_version=1)
    made.store.editions.withdraw("census", "1871.1")
    made.service.withdrawn = {("census", "1871.1"): "2021.1"}
    write_log(folder)
    with serving(made):
        yield made


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(window: Callable[..., Any], scheme: str) -> None:
    paths = (
        "/history",
        f"{PLACE}/look?rows=sex",
        f"{PLACE}/look?rows=sex,marital,birth,education",
        f"{PLACE}?rows=sex&columns=marital",
        f"{PLACE}?rows=sex,marital,birth,education",
        f"{PLACE}/codes/birth?rows=birth&select.birth=Total&find=a",
        "/tables/census/1871.1?rows=sex",
        "/nothing/of/the/kind",
        "/tables/census/1066.1",
    )
    with window("Mara", bypass_csp=True, color_scheme=scheme) as one:
        one.open(TABLE)  # for the history
        for path in paths:
            page = one.open(path)
            page.wait_for_load_state("networkidle")
            if page.locator("body main").count():  # what is no address of ours has no page
                assert one.faults() == []
                page.set_viewport_size({"width": 390, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") <= 390
                page.set_viewport_size({"width": 1280, "height": 900})
        one.complaints.clear()  # Chromium speaks of every 4xx


def test_a_definition_is_saved_changed_hands_and_is_opened_again(window: Callable[..., Any], tmp_path: Path) -> None:
    with window("Ada") as one:
        page = one.open(TABLE)
        numbers = page.locator("table.grid tbody").inner_text()
        with page.expect_download() as saved:
            page.get_by_role("link", name="Save as definition").click()
        definition = Path(saved.value.path()).read_bytes()
    with window("Ben") as one:
        page = one.sign_in("/")
        file = {"name": "d.json", "mimeType": "application/json", "buffer": definition}
        page.locator("[type=file]").set_input_files(file)
        page.get_by_role("button", name="Open it").click()
        assert page.locator("table.grid tbody").inner_text() == numbers
        assert page.locator("#percent").input_value() == "row"


def test_a_line_of_the_history_opens_its_table(window: Callable[..., Any]) -> None:
    with window("Rita") as one:
        page = one.open(f"{PLACE}?rows=labour:1&columns=sex&ask=yes")
        numbers = page.locator("table.grid tbody").inner_text()
        page = one.open("/history")
        page.get_by_role("link", name="Number of records by Labour market, Sex").click()
        page.locator("table.grid").wait_for()
        assert page.locator("table.grid tbody").inner_text() == numbers


def test_an_old_link_leads_to_the_same_question_of_the_newest_edition(window: Callable[..., Any]) -> None:
    with window() as one:
        page = one.open("/tables/census/1871.1?rows=sex&ask=yes")
        assert "answered no more" in page.get_by_role("heading", level=1).text_content()
        one.complaints.clear()  # of the 410
        page.get_by_role("link", name="Ask the newest edition the same question").click()
        page.locator("table.grid").wait_for()
        assert page.url.endswith(f"{PLACE}?rows=sex&ask=yes")


def test_codes_that_were_ticked_stay_so_while_others_are_searched(window: Callable[..., Any]) -> None:
    with window() as one:
        page = one.open(f"{PLACE}?rows=age_group&columns=sex&ask=yes")
        page.locator("#variables .label-link", has_text="Age").click()
        page.get_by_label("Y00-04").check()
        page.get_by_role("button", name="Show only").click()
        page.locator("#variables .label-link", has_text="Age").click()
        page.get_by_label("Search").fill("Y15")
        page.get_by_role("button", name="Search").click()
        assert page.get_by_text("Still ticked, though not shown here: 1 code.").is_visible()
        page.get_by_label("Y15-19").check()
        page.get_by_role("button", name="Show only").click()
        headings = page.locator("table.grid tbody th").all_inner_texts()
        assert {"Y00-04", "Y15-19"} <= set(headings)
        assert "Y05-09" not in headings
        page.locator("#variables .label-link", has_text="Age").click()
        page.get_by_role("link", name="Show all codes again").click()
        assert page.locator("table.grid tbody tr").count() == 24


def test_a_certificate_is_suspended_at_once_and_revoked_in_two_steps(
    window: Callable[..., Any], office: Office
) -> None:
    serial = f"0{office.numbers['Otto']}"
    with window("Otto") as his, window("Nora") as hers:
        his.open("/outputs")
        page = hers.sign_in("/office/people")
        page.get_by_role("button", name="Suspend Otto").click()
        page.get_by_role("button", name="Reactivate Otto").wait_for()
        assert his.open("/outputs").get_by_role("heading", level=1).text_content() == "You are not signed in."
        his.complaints.clear()  # of the 401
        page.get_by_role("button", name="Reactivate Otto").click()
        his.open("/outputs").get_by_role("heading", name="Output checking").wait_for()
        sure = page.get_by_role("button", name="Revoke for good Otto")
        assert not sure.is_visible()
        page.locator("summary", has_text=f"Otto {serial}").click()
        sure.click()
        page.locator("tr", has_text="otto@example.org").get_by_text("revoked").wait_for()
        assert his.open("/outputs").get_by_role("heading", level=1).text_content() == "You are not signed in."
        his.complaints.clear()
    assert [(one.action, one.about) for one in office.log.entries if getattr(one, "about", "") == serial] == [
        ("suspend", serial),
        ("reactivate", serial),
        ("revoke", serial),
    ]


def test_a_further_role_takes_who_asks_and_two_who_agree(window: Callable[..., Any], office: Office) -> None:
    with window("Nora") as one:
        page = one.sign_in("/office/requests")
        page.get_by_label("Person").select_option(label="Ben")
        page.get_by_label("Role").select_option("reviewer")
        page.locator("form", has_text="Person").get_by_role("button", name="Ask for it").click()
        section = page.locator("section", has_text="Ben")
        section.wait_for()
        assert section.get_by_role("button").count() == 0  # nobody agrees to what they asked for
    for name in ("Emil", "Mara"):
        with window(name) as one:
            section = one.sign_in("/office/requests").locator("section", has_text="Ben")
            section.get_by_label("Reason").fill("There are too few reviewers.")
            section.get_by_role("button", name="Agree", exact=True).click()
            section.get_by_text(name).wait_for()
    with window("Nora") as one:
        section = one.sign_in("/office/requests").locator("section", has_text="Ben")
        section.get_by_role("button", name="Do it").click()
        section.get_by_text("Done.").wait_for()
    person = office.store.people.find(office.numbers["Ben"])
    assert person is not None
    assert "reviewer" in person.roles


def test_an_auditor_searches_the_log_and_sees_that_it_holds(window: Callable[..., Any]) -> None:
    with window("Zoe") as one:
        page = one.sign_in("/log")
        assert page.get_by_text("The log holds").is_visible()
        page.get_by_label("Words").fill("ada")
        page.get_by_role("button", name="Search").click()
        assert page.get_by_role("status").inner_text() == "1 entry."
        assert page.locator("tbody td").nth(1).inner_text() == "sign_in"
        page.get_by_label("Words").fill("")
        page.get_by_label("Kind").select_option("answer")
        page.get_by_role("button", name="Search").click()
        assert page.get_by_text("<b>Ben</b>").is_visible()
        assert page.get_by_role("link", name="Tables").count() == 0  # who reads the log asks nothing
