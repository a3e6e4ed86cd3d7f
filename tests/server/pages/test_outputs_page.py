"""The output checking room in a browser: a whole review, by people who sign in."""

from __future__ import annotations

from collections.abc import Callable
from time import time
from typing import Any

import pytest

from tests.server.pages.office import Office
from tests.server.pages.test_outputs import SAFE

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def project(office: Office) -> int:
    number = office.store.projects.request(
        "<b>Wages</b>", office.numbers["Ada"], licence="1", expires=int(time()) + 86_400
    )
    office.store.projects.set_state(number, "active")
    office.store.projects.add_member(number, office.numbers["Rita"])
    return number


def sign_in(one: Any) -> Any:
    page = one.open("/account")
    page.get_by_role("button", name="Begin a session").click()
    page.get_by_role("link", name="Outputs").click()
    return page


def test_a_whole_review_and_a_refused_own_project(window: Callable[..., Any], office: Office, project: int) -> None:
    with window("Ada") as one:
        page = sign_in(one)
        page.get_by_role("link", name="Hand in an output").click()
        page.get_by_label("What it shows").fill('<img src=x onerror="alert(1)">')
        page.locator("[type=file]").set_input_files({"name": "t.csv", "mimeType": "text/csv", "buffer": SAFE})
        page.get_by_label("Columns of codes").fill("region, sex")
        page.get_by_label("Values are counts").check()
        page.get_by_role("button", name="Hand it in").click()
        assert page.get_by_text("Nothing was found against it by itself.").is_visible()
        assert page.locator("main img").count() == 0
        address = page.url.removeprefix(office.origin)
    with window("Rita") as one:
        page = sign_in(one)
        page.goto(office.origin + address)
        assert page.get_by_text("you see it, and decide nothing").is_visible()
        assert page.get_by_role("button", name="Approve").count() == 0
    office.store.people.take_role(office.numbers["Ben"], "researcher")
    approval = office.store.approvals.request("role.grant", f"{office.numbers['Ben']} reviewer", office.numbers["Nora"])
    for name in ("Emil", "Mara"):
        office.store.approvals.vote(approval, office.numbers[name], agrees=True, reason="Needed.")
    office.store.people.grant_role(office.numbers["Ben"], "reviewer", approval)
    for name in ("Otto", "Ben"):
        with window(name) as one:
            page = sign_in(one)
            page.goto(office.origin + address)
            page.get_by_label("Reason").fill("All cells are large.")
            page.get_by_role("button", name="Approve").click()
            assert page.get_by_text("approves").first.is_visible()
    with window("Olga") as one:
        page = sign_in(one)
        page.goto(office.origin + address)
        page.get_by_role("button", name="Release").click()
        assert page.locator(".lead .state").text_content() == "released"
    with window("Ada") as one:
        page = sign_in(one)
        page.goto(office.origin + address)
        link = page.get_by_role("link", name="t.csv").get_attribute("href")
        assert page.evaluate("link => fetch(link).then(reply => reply.text())", link) == SAFE.decode()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(window: Callable[..., Any], office: Office, project: int, scheme: str) -> None:
    from discreet.server.handed_in import OutputReading, handed_in

    bad = SAFE.replace(b"N,F,14", b"N,F,1")
    file = handed_in("t.csv", bad, "table", OutputReading(variables=["region", "sex"], counts=True, smallest=3))
    number = office.store.outputs.hand_in(project, office.numbers["Ada"], "By region", [file])
    office.store.outputs.comment(number, office.numbers["Ada"], "One cell is small.")
    for name, path in (("Otto", f"/outputs/{number}"), ("Ada", "/outputs"), ("Ada", "/outputs/new")):
        with window(name, bypass_csp=True, color_scheme=scheme) as one:
            page = one.open(path)
            assert one.faults() == []
            page.set_viewport_size({"width": 390, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
