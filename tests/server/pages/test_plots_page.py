"""Safe plots in a browser: the form, the drawing with band and numbers beside it, the account, who gets none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.server.pages.office import Office

EDITION = ("census", "2021.1")


@pytest.fixture
def project(office: Office, request: pytest.FixtureRequest) -> int:
    return office.project(f"<b>{request.node.name}</b>"[:200], "Ada", variables=("income", "age"))


def draw(page: Any, kind: str, width: str = "", second: str = "", second_width: str = "") -> None:
    page.locator("[name=kind]").select_option(kind)
    page.locator("[name=second]").select_option(second)
    page.locator("[name=width]").fill(width)
    page.locator("[name=second_width]").fill(second_width)
    page.get_by_role("button", name="Draw it").click()


@pytest.mark.browser
def test_a_plot_is_drawn_with_band_numbers_and_what_it_cost(
    window: Callable[..., Any], office: Office, project: int
) -> None:
    with window("Ada") as one:
        page = one.open("/account")
        page.get_by_role("button", name="Begin a session").click()
        page.get_by_role("link", name="Plots").click()
        page.locator("[name=of]").select_option(f"{project} census 2021.1")
        draw(page, "histogram", "10000")
        assert page.locator("figure.safe-plot svg").is_visible()
        assert "noise in counts: standard deviation 1." in page.locator("figcaption").inner_text()
        assert "within the band is noise" in page.locator("figcaption").inner_text()
        assert page.locator("table.grid tbody tr").count() == 20
        shown = page.locator("table.grid tbody").inner_text()
        assert office.store.plots.used(project, *EDITION) == pytest.approx(2)
        page.get_by_role("button", name="Draw it").click()
        assert page.locator("table.grid tbody").inner_text() == shown
        assert office.store.plots.used(project, *EDITION) == pytest.approx(2), "the same plot costs nothing again"
        draw(page, "density", "8000")
        assert page.get_by_text("Left of the account").is_visible()
        draw(page, "box")
        assert "costs 2 of your project's account, and 1 is left" in page.get_by_role("alert").inner_text()
        assert page.locator("figure.safe-plot").count() == 0
        assert "403" in one.complaints.pop()  # Chromium tells of every refused page
        with page.expect_download() as got:
            draw(page, "histogram", "10000")
            page.get_by_role("button", name="Its numbers as CSV").click()
        assert got.value.path().read_text().startswith("from,to,count,band")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(window: Callable[..., Any], office: Office, project: int, scheme: str) -> None:
    with window("Ada", bypass_csp=True, color_scheme=scheme) as one:
        page = one.open("/plots")
        page.locator("[name=of]").select_option(f"{project} census 2021.1")
        draw(page, "contours", "20000", "age", "10")
        assert page.locator("figure.safe-plot svg").is_visible()
        assert one.faults() == []
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def post(office: Office, name: str, **form: str) -> httpx.Response:
    headers = {"x-test-certificate": name, "origin": office.origin}
    return httpx.post(f"{office.origin}/plots", data=form, headers=headers)


def test_only_members_with_their_certificate_ask_for_plots(office: Office, project: int) -> None:
    form = {"of": f"{project} census 2021.1", "kind": "histogram", "variable": "income", "width": "10000"}
    for name in ("Ben", "Rita", "Emil", ""):
        assert post(office, name, **form).status_code == 403
    assert office.store.plots.used(project, *EDITION) == 0
    foreign = {"x-test-certificate": "Ada", "origin": "https://evil.example.org"}
    assert httpx.post(f"{office.origin}/plots", data=form, headers=foreign).status_code == 403
    assert office.store.plots.used(project, *EDITION) == 0
    assert post(office, "Ada", **form).status_code == 200


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "scatter"}, "no such plot"),
        ({"width": "wide"}, "width is no number"),
        ({"width": "-5"}, "width=-5 is not allowed"),
        ({"kind": "contours", "second": "age"}, "Only one of two widths"),
        ({"noise": "0.5"}, "noise=0.5 is not allowed"),
        ({"universe": "<script>alert(1)</script>"}, "universe"),
        ({"variable": "sex"}, "not granted"),
    ],
)
def test_what_is_wrong_with_the_form_stands_above_it(
    office: Office, project: int, change: dict[str, str], words: str
) -> None:
    form = {"of": f"{project} census 2021.1", "kind": "histogram", "variable": "income", "width": "10000"}
    reply = post(office, "Ada", **(form | change))
    assert reply.status_code in (400, 403, 404)
    assert words in reply.text
    assert "<script>alert" not in reply.text
    assert office.store.plots.used(project, *EDITION) == 0


def test_projects_that_are_over_or_have_no_grant_are_not_offered(office: Office) -> None:
    closed, bare = office.project("Over", "Ben", variables=("income",)), office.project("Bare", "Ben")
    office.store.projects.set_state(closed, "suspended")
    text = httpx.get(f"{office.origin}/plots", headers={"x-test-certificate": "Ben"}).text
    assert "No active project of yours" in text
    assert post(office, "Ben", of=f"{bare} census 2021.1", kind="histogram", variable="income").status_code == 403
