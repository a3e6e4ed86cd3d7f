"""The pages in a real browser."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.model.table import CellStatus
from discreet.model.tableset import TableSet
from discreet.report import custodian_report, public_report, records_report
from tests.report.conftest import release_of
from tests.report.test_records import released

pytestmark = pytest.mark.browser
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def long_names():
    """Codes and labels far too long for their columns."""
    names = ["x" * 90, "a long code of several words " * 4, "short"]
    long = ds.Hierarchy.flat(names).labelled({names[2]: "y" * 150})
    table = ds.examples.small_table()
    spec = table.spec.with_(by={"z" * 60: long, "region": table.spec.by["region"]}, name="n" * 120)
    return ds.protect(table.with_(spec=spec).assess(ds.PPercent(10)), ds.Suppress())


@pytest.mark.parametrize("kind", ["survey", "long names", "public"])
def test_page_fits_the_window_and_asks_for_nothing(browser, tmp_path, survey, survey_audit, long_names, kind):
    text = {
        "survey": lambda: custodian_report(survey, audit=survey_audit),
        "long names": lambda: custodian_report(long_names, audit=ds.audit(long_names)),
        "public": lambda: public_report(long_names.public),
    }[kind]()
    file = tmp_path / "report.html"
    file.write_text(text, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert asked == [file.as_uri()]
    assert complaints == []
    page.close()


def test_axes_of_a_comparison_can_be_chosen_and_points_tell_their_numbers(browser, tmp_path):
    table = ds.examples.small_table().assess(ds.PPercent(10))
    found = ds.compare(table, [ds.Suppress(), ds.Round(base=7, rule="unbiased", levels=False)], runs=5)
    found.page(tmp_path / "compare.html")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((tmp_path / "compare.html").as_uri())
    drawn = page.inner_html(".riskmap svg")
    assert page.locator(".riskmap .spot").count() == 2
    page.select_option("[data-side=loss]", "withheld")
    page.select_option("[data-side=risk]", "guess")
    assert page.inner_html(".riskmap svg") != drawn
    words = page.locator(".riskmap .spot").first.get_attribute("aria-label")
    assert words.startswith("Suppress()")
    assert "cells withheld: 25.00 %" in words
    assert page.locator(".riskmap .spot title").first.text_content() == words
    best = [point.name for point in found.risk_map.frontier("guess", "withheld")]
    shown = [e.get_attribute("aria-label").split("\n")[0] for e in page.locator(".riskmap .spot.best").all()]
    assert sorted(name.removesuffix(" (on the frontier)") for name in shown) == sorted(best)
    assert complaints == []
    page.close()


def test_without_scripts_the_default_map_stays(browser, tmp_path):
    table = ds.examples.small_table().assess(ds.PPercent(10))
    ds.compare(table, [ds.Suppress(), ds.Adjust()]).page(tmp_path / "compare.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "compare.html").as_uri())
    assert page.locator(".riskmap svg").get_attribute("aria-label").startswith("Nobody beats")
    assert not page.locator(".chooser").is_visible()
    context.close()


# ---- everybody can read them ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large():
    """A release of 100,000 cells in two hierarchies, made by hand, every twentieth cell withheld."""
    down, across = (ds.Hierarchy.from_parents(_parents(letter, n)) for letter, n in (("A", 380), ("R", 219)))
    size = len(down), len(across)
    codes = np.stack(np.meshgrid(*map(np.arange, size), indexing="ij"), axis=-1).reshape(-1, 2)
    small = ds.examples.small_table()
    table = small.with_(
        spec=small.spec.with_(by={"activity": down, "region": across}),
        codes=codes.astype(np.int32),
        value=np.arange(len(codes), dtype=np.int64),
        empty=np.zeros(len(codes), np.bool_),
        contributions={},
        records=None,
    )
    kind = np.arange(len(codes)) % 40
    status = np.where(kind == 3, CellStatus.UNSAFE, np.where(kind == 24, CellStatus.SECONDARY, CellStatus.SAFE))
    assert len(codes) >= 100_000
    return release_of(TableSet([table]), status.astype(np.int8))


def _parents(letter: str, base: int) -> dict[str, str]:
    found = {f"{letter}{i:04}": f"{letter}{i // 10:03}" for i in range(base)}
    found |= {parent: f"{letter}{int(parent[1:]) // 10:02}" for parent in set(found.values())}
    return found | dict.fromkeys({v for v in found.values() if len(v) == 3}, "Total")


@pytest.fixture(scope="module")
def pages(tmp_path_factory, survey, survey_audit, large, small) -> dict[str, Path]:
    table = small.custodian.tables.tables[0]
    people = released()
    rounded = ds.protect(table, ds.Round(base=7, rule="conventional", levels=False))
    compared = ds.compare(table, [ds.Suppress(), ds.Round(base=7, rule="unbiased", levels=False)], runs=3)
    texts = {
        "custodian": custodian_report(survey, audit=survey_audit, most_cells=3, comparison=compared.risk_map),
        "altered": custodian_report(rounded, audit=rounded.audit()),
        "large": custodian_report(large, most_cells=3),
        "large public": public_report(large.public),
        "compared": compared.page(),
        "records": records_report(people),
        "public records": public_report(people.public),
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


NAMES = ("custodian", "altered", "large", "large public", "compared", "records", "public records")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_no_fault(browser, pages, name, scheme):
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(pages[name].as_uri())
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    assert [(fault["id"], fault["impact"], fault["nodes"][0]["html"]) for fault in found["violations"]] == []
    assert len(found["passes"]) > 15
    context.close()


@pytest.mark.parametrize("name", NAMES)
def test_pages_fit_a_narrow_screen(browser, pages, name):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(pages[name].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_the_page_of_a_hundred_thousand_cells_is_small_and_paints(browser, pages, large):
    assert len(custodian_report(large).encode()) < 3_000_000
    assert pages["large public"].stat().st_size < 3_000_000
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(pages["large"].as_uri())
    page.screenshot()  # waits for a frame
    assert page.evaluate("performance.getEntriesByName('first-contentful-paint').length") == 1
    tallest = page.evaluate("document.querySelector('svg.heat').getBoundingClientRect().height")
    assert 300 < tallest < 1200
    page.close()


def test_the_page_prints(browser, pages, tmp_path):
    page = browser.new_page(color_scheme="dark")
    page.goto(pages["custodian"].as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(path=tmp_path / "page.pdf").startswith(b"%PDF")
    page.close()


# ---- search, sort, point, fold --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole_survey(tmp_path_factory, survey, survey_audit) -> str:
    """The survey with all its lists."""
    file = tmp_path_factory.mktemp("survey") / "report.html"
    file.write_text(custodian_report(survey, audit=survey_audit), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def opened(browser, whole_survey):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(whole_survey)
    yield page
    assert complaints == []
    page.close()


def test_a_folded_list_opens_and_can_be_searched(opened):
    part = opened.locator("details", has_text="Unsafe cells in survey").first
    assert not part.locator("table").is_visible()
    part.locator("summary").click()
    rows = part.locator("tbody tr")
    before = rows.count()
    first = rows.first.locator("th").first.text_content().split()[0]
    part.locator("input[type=search]").fill(first)
    shown = part.locator("tbody tr:visible").count()
    assert 0 < shown < before
    assert part.locator("[role=status]").text_content().strip() == f"{shown} of {before} rows"
    part.locator("input[type=search]").fill("nothing has this name")
    assert part.locator("tbody tr:visible").count() == 0


def test_a_column_of_numbers_is_sorted_as_numbers_both_ways(opened):
    part = opened.locator("details", has_text="Unsafe cells in survey").first
    part.locator("summary").click()
    head = part.locator("th", has_text="Value").first

    def numbers() -> list[float]:
        cells = part.locator("tbody tr > td:nth-child(3)").all_text_contents()
        return [float(text.replace(",", "")) for text in cells]

    largest_first = numbers()
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert numbers() == sorted(largest_first)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert numbers() == sorted(largest_first, reverse=True)


def test_pointing_at_a_cell_of_the_pattern_tells_what_it_is(opened, survey):
    table, status = survey.custodian.tables.tables[0], survey.custodian.status[0]
    row = int(np.flatnonzero(status == CellStatus.SECONDARY)[0])
    down, across = table.codes[row].tolist()
    line = opened.locator("svg.heat .row").nth(down)
    line.scroll_into_view_if_needed()
    box = line.bounding_box()
    columns = len(table.spec.hierarchies[1].codes)
    opened.mouse.move(box["x"] + box["width"] * (across + 0.5) / columns, box["y"] + box["height"] / 2)
    codes = table.spec_codes((down, across))
    assert opened.locator(".tip").first.text_content() == f"{codes[0]} × {codes[1]}: withheld besides"


def test_unsafe_has_one_colour_on_all_pictures_light_and_dark(browser, whole_survey):
    found = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(whole_survey)
        bars = page.evaluate(
            "[...document.querySelectorAll('svg.follows path')].filter(p => p.style.fill.includes('--unsafe'))"
            ".map(p => getComputedStyle(p).fill)"
        )
        boxes = page.evaluate("getComputedStyle(document.querySelector('svg.heat .b1')).stroke")
        paper = page.evaluate("getComputedStyle(document.querySelector('svg.follows path')).fill")
        assert len(bars) > 3
        assert set(bars) == {boxes}
        assert paper == page.evaluate("getComputedStyle(document.body).backgroundColor")
        found[scheme] = boxes
        context.close()
    assert found["light"] != found["dark"]


def test_on_a_narrow_screen_no_column_is_off_it(browser, whole_survey):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(whole_survey)
    for summary in page.locator("summary").all():
        if not summary.locator("..").get_attribute("open"):
            summary.click()
    page.wait_for_function("document.querySelectorAll('details table.cards').length >= 2")
    beyond = page.evaluate(
        "[...document.querySelectorAll('td, tbody th')].filter(c => c.getBoundingClientRect().right > 390).length"
    )
    assert beyond == 0
    reason = page.locator("td.why").first
    assert reason.get_attribute("data-head") == "Why unsafe"
    page.close()


def test_every_method_of_a_comparison_is_on_the_screen(browser, tmp_path):
    table = ds.examples.small_table().assess(ds.PPercent(10))
    methods = {f"method {i}": ds.Round(base=3 + i, rule="unbiased", levels=False) for i in range(8)}
    ds.compare(table, methods, runs=2).page(tmp_path / "compare.html")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((tmp_path / "compare.html").as_uri())
    for box in page.locator(".scroll").all():
        assert box.evaluate("b => b.scrollWidth <= b.clientWidth")
    page.close()


def test_an_axis_on_which_all_methods_have_nothing_has_one_tick(browser, tmp_path):
    table = ds.examples.small_table().assess(ds.PPercent(10))
    found = ds.compare(table, [ds.Suppress(), ds.Adjust()])
    assert all(point.spots["risk"].mean == 0 for point in found.risk_map.points)
    found.page(tmp_path / "compare.html")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((tmp_path / "compare.html").as_uri())
    texts = page.locator(".riskmap svg text").all_text_contents()
    zeros = [text for text in texts if text == "0 %"]
    assert len(zeros) == 2  # one on each axis
    page.close()
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", found.plot())
    assert drawn[:1] == ["0"]  # the ticks of the risk stand first
    assert drawn[1].startswith("risk: ")


def test_printed_pages_open_what_is_folded(browser, whole_survey):
    page = browser.new_page()
    page.goto(whole_survey)
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    page.close()
