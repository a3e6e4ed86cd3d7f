"""The pages in a real browser."""

from __future__ import annotations

import shutil

import pytest

import discreet as ds
from discreet.report import custodian_report, public_report

pytestmark = pytest.mark.browser
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
