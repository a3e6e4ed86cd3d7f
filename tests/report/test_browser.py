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
