"""The officer's pages: who sees what, certificates, four eyes, the log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from discreet.server.worker import gone_editions
from discreet.trust import SigningKey, make_keys
from discreet.trust.log.entries import AnswerGiven, SignedIn
from discreet.trust.log.writer import LogWriter, create_log
from tests.server.pages.office import Office, serving

PAGES = ("/office", "/office/datasets/census/2021.1", "/office/people", "/office/requests", "/log")
SEES = {
    "Olga": {"/office", "/office/datasets/census/2021.1", "/office/people", "/office/requests"},
    "Mara": {"/office", "/office/datasets/census/2021.1", "/office/people", "/office/requests"},
    "Nora": {"/office/people", "/office/requests"},
    "Emil": {"/office/requests"},
    "Zoe": {"/log"},
    "Ada": set(),
    "Rita": set(),
    "": set(),
}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, census: Any) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    made = Office(folder, [census])
    write_log(folder)
    with serving(made):
        yield made


def write_log(folder: Path) -> None:
    make_keys(folder / "log.key")
    key = SigningKey.from_file(folder / "log.key")
    create_log(folder / "log", key)
    given = {"action": "table.ask", "dataset": "census", "edition": "2021.1", "method": "cell_key"}
    with LogWriter(folder / "log", key) as log:
        log.commit([SignedIn(subject="Ada", decision="granted", level=3)])
        log.commit([AnswerGiven(subject="<b>Ben</b>", question="1" * 64, answer="2" * 64, **given)])


def asked(office: Office, name: str, path: str) -> httpx.Response:
    return httpx.get(office.origin + path, headers={"x-test-certificate": name}, timeout=60)


def sent(office: Office, name: str, path: str, **form: str) -> int:
    headers = {"x-test-certificate": name, "origin": office.origin}
    return httpx.post(office.origin + path, data=form, headers=headers).status_code


@pytest.mark.parametrize("name", list(SEES))
def test_everybody_sees_what_their_role_is_for_and_nothing_else(office: Office, name: str) -> None:
    found = {path for path in PAGES if asked(office, name, path).status_code == 200}
    assert found == SEES[name]
    links = set(re.findall(r'<a href="(/(?:office[^"]*|log))"', asked(office, name, "/account").text))
    assert links <= SEES[name]


def test_the_curve_of_a_data_set_is_drawn_with_its_table(office: Office) -> None:
    text = asked(office, "Olga", PAGES[1]).text
    points = re.search(r'class="known" points="([^"]+)"', text)
    assert points is not None
    assert len(points[1].split()) == text.count('<th scope="row" class="n">')
    assert "50 % of the counts" in text


def test_the_account_tells_what_was_charged(office: Office) -> None:
    assert httpx.get(f"{office.origin}/v1/datasets/census/2021.1/table?variables=sex,education").status_code == 200
    text = asked(office, "Mara", PAGES[1]).text
    told = office.store.account.told("census", "2021.1")
    assert told
    assert "sex:1" in text


def test_the_accounts_of_plots_stand_there_by_project_and_for_all(office: Office) -> None:
    one, two = (office.project(f"<i>Plots {name}</i>", name, variables=("income",)) for name in ("Ada", "Ben"))
    for project, request in ((one, "a"), (one, "b"), (two, "a")):
        office.store.plots.charge(project, "census", "2021.1", request, 2.0, 5.0, 20.0)
    text = httpx.get(f"{office.origin}/office/datasets/census/2021.1", headers={"x-test-certificate": "Olga"}).text
    rows = re.findall(r'<th scope="row">([^<]*)</th><td class="n">([\d.]+)</td><td class="n">([\d.]+)</td></tr>', text)
    assert ("&lt;i&gt;Plots Ada&lt;/i&gt;", "4.00", "5.00") in rows
    assert ("All projects, each plot once", "4.00", "20.00") in rows


def test_a_certificate_is_suspended_at_once_and_never_ones_own(office: Office) -> None:
    serial = f"0{office.numbers['Ben']}"
    assert asked(office, "Ben", "/account").status_code == 200
    for name in ("Olga", "Ben", "Emil", "Zoe"):
        assert sent(office, name, "/office/certificates", serial=serial, what="suspend") == 403
    assert sent(office, "Nora", "/office/certificates", serial=serial, what="suspend") == 303
    assert asked(office, "Ben", "/account").status_code == 401
    assert (office.log.entries[-1].action, office.log.entries[-1].about) == ("suspend", serial)
    assert sent(office, "Nora", "/office/certificates", serial=serial, what="reactivate") == 303
    assert asked(office, "Ben", "/account").status_code == 200
    own = f"0{office.numbers['Nora']}"
    assert sent(office, "Nora", "/office/certificates", serial=own, what="revoke") == 403
    assert sent(office, "Nora", "/office/certificates", serial="ffff", what="revoke") == 400
    assert sent(office, "Nora", "/office/certificates", serial=serial, what="burn") == 400


def test_a_role_is_given_when_two_others_agree(office: Office) -> None:
    ben = str(office.numbers["Ben"])
    assert sent(office, "Olga", "/office/requests", action="role.grant", person=ben, role="reviewer") == 403
    assert sent(office, "Nora", "/office/requests", action="role.grant", person=ben, role="reviewer") == 303
    number = office.store.approvals.listed()[0].id
    place = f"/office/requests/{number}"
    assert sent(office, "Nora", f"{place}/use", sure="yes") == 403
    assert sent(office, "Nora", f"{place}/vote", agrees="yes", reason="Mine.") == 403
    for name in ("Emil", "Mara"):
        assert sent(office, "Nora", f"{place}/use", sure="yes") == 403
        assert sent(office, name, f"{place}/vote", agrees="yes", reason="Needed.") == 303
    assert sent(office, "Emil", f"{place}/use", sure="yes") == 403
    assert sent(office, "Nora", f"{place}/use", sure="yes") == 303
    person = office.store.people.find(int(ben))
    assert person is not None
    assert "reviewer" in person.roles
    assert office.log.entries[-1].given == "reviewer"
    assert sent(office, "Nora", f"{place}/use", sure="yes") == 403


def test_one_who_disagrees_stops_a_request(office: Office) -> None:
    assert sent(office, "Mara", "/office/requests", action="key.change", edition="census 2021.1") == 303
    place = f"/office/requests/{office.store.approvals.listed()[0].id}"
    assert sent(office, "Olga", f"{place}/vote", agrees="no", reason="There is no new edition.") == 303
    assert sent(office, "Mara", f"{place}/use", sure="yes") == 403
    assert office.store.editions.find("census", "2021.1").state == "open"


def test_editions_that_are_gone_lead_to_the_newest(office: Office, census: Any) -> None:
    for edition in ("2021.9", "2021.10"):
        office.store.editions.register("census", edition, key_fingerprint="01", key_version=1)
    served = {("census", "2021.1"): census, ("census", "2021.10"): census}
    assert gone_editions(office.store, served) == {("census", "2021.9"): "2021.10"}


def test_the_log_is_judged_and_searched(office: Office) -> None:
    text = asked(office, "Zoe", "/log").text
    assert "The log holds" in text
    assert "<b>Ben</b>" not in text
    assert "&lt;b&gt;Ben" in text
    found = asked(office, "Zoe", "/log?find=ada").text
    assert "sign_in" in found
    assert "&lt;b&gt;Ben" not in found
    assert "&lt;b&gt;Ben" not in asked(office, "Zoe", "/log?kind=sign_in").text


def test_a_log_that_was_changed_does_not_hold(office: Office) -> None:
    (segment,) = [path for path in (office.folder / "log").iterdir() if b'"body"' in path.read_bytes()]
    true = segment.read_bytes()
    segment.chmod(0o600)
    segment.write_bytes(true.replace(b'"subject":"Ada"', b'"subject":"Eve"'))
    try:
        assert "The log does not hold" in asked(office, "Zoe", "/log").text
    finally:
        segment.write_bytes(true)


@pytest.mark.browser
def test_a_key_is_retired_by_four_eyes_in_a_browser(
    window: Callable[..., Any], office: Office, census: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sent(office, "Olga", "/office/requests", action="key.change", edition="census 2021.1") == 403
    office.store.editions.register("census", "2001.1", key_fingerprint="ab12", key_version=1)
    gone = SimpleNamespace(
        **{name: getattr(census, name) for name in ("catalogue", "levels", "facts", "method", "policy")}
    )
    monkeypatch.setattr(office.service, "datasets", {**office.service.datasets, ("census", "2001.1"): gone})
    gone.name, gone.edition = "census", "2001.1"
    with window("Mara") as one:
        page = one.open("/office/requests")
        page.get_by_label("Edition to retire").select_option("census 2001.1")
        page.locator("form", has_text="Edition to retire").get_by_role("button").click()
        page.get_by_role("heading", name="census 2001.1").wait_for()
    approval = office.store.approvals.listed()[0]
    agree = f"/office/requests/{approval.id}/vote"
    office.store.people.grant_role(office.numbers["Rita"], "officer", granted(office, "Rita", "officer"))
    assert sent(office, "Rita", agree, agrees="yes", reason="Yes.") == 303
    with window("Olga") as one:
        page = one.open("/office/requests")
        part = page.locator("section", has_text="census 2001.1")
        part.get_by_label("Reason").fill("The key was on a lost disk.")
        part.get_by_role("button", name="Agree", exact=True).click()
        page.get_by_text("Two agreed.").wait_for()
    with window("Mara") as one:
        page = one.open("/office/requests")
        page.locator("section", has_text="census 2001.1").get_by_role("button", name="Do it").click()
        page.get_by_text("Done.").first.wait_for()
        assert page.request.get(f"{office.origin}/tables/census/2001.1").status == 410
    assert office.store.editions.find("census", "2001.1").state == "withdrawn"
    assert office.log.entries[-1].fingerprint == "ab12"


def granted(office: Office, name: str, role: str) -> int:
    number = office.store.approvals.request("role.grant", f"{office.numbers[name]} {role}", office.numbers["Nora"])
    for voter in ("Emil", "Mara"):
        office.store.approvals.vote(number, office.numbers[voter], agrees=True, reason="Needed.")
    return number


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(window: Callable[..., Any], scheme: str) -> None:
    seen = (("Mara", PAGES[0]), ("Mara", PAGES[1]), ("Nora", PAGES[2]), ("Nora", PAGES[3]), ("Zoe", PAGES[4]))
    for name, path in seen:
        with window(name, bypass_csp=True, color_scheme=scheme) as one:
            page = one.open(path)
            assert one.faults() == []
            page.set_viewport_size({"width": 390, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
