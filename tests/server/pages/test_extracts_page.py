"""Extracts in a browser: from the application and its review to a file that only its user can read."""

from __future__ import annotations

import asyncio
import base64
import csv
import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from discreet.server.extracts.conditions import CONDITIONS
from discreet.server.extracts.definition import Definition
from discreet.server.extracts.desk import ExtractDesk
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.package import open_package
from discreet.server.extracts.working import ExtractWorker
from discreet.server.identity import Identity
from discreet.server.pages.frame import PageFrame
from discreet.server.pages.site import page_routes
from discreet.server.roles import Role
from discreet.server.sign_in import SignIn
from discreet.trust import SigningKey, make_keys
from discreet.trust.sealed_file import RecipientSecret
from tests.server.extracts.desk import PlainLog, form
from tests.server.extracts.made import KEY, PLACE, build, census
from tests.server.pages.office import Office, serving

pytestmark = pytest.mark.browser
LABEL = '<img src=x onerror="alert(1)">'
FETCH = """async (address) => {
    const bytes = new Uint8Array(await (await fetch(address)).arrayBuffer());
    let text = ""; for (const one of bytes) text += String.fromCharCode(one);
    return btoa(text); }"""


class ExtractOffice(Office):
    """An office with a file for extracts."""

    file: ExtractFile
    desk: ExtractDesk
    worker: ExtractWorker

    def more_routes(self, frame: PageFrame, sign_in: SignIn) -> list[Any]:
        return page_routes(frame, self.service, sign_in=sign_in, extracts=self.desk)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExtractOffice]:
    folder = tmp_path_factory.mktemp("office")
    census(folder / "source", 8_000, 16)
    made = ExtractOffice(folder, [])
    made.file = build(folder / "source", {'"Income"': f"'{LABEL}'", "2000": "1000"})
    made.store.editions.register(**PLACE, key_fingerprint=made.file.manifest.key, key_version=1)
    (folder / "sealed").mkdir(mode=0o700)
    place = (made.file.name, made.file.edition)
    made.desk = ExtractDesk({place: made.file}, made.store, made.log, folder / "sealed")
    make_keys(folder / "server.key")
    signer = SigningKey.from_file(folder / "server.key")
    made.worker = ExtractWorker(made.store, {place: (made.file, KEY)}, folder / "sealed", signer, PlainLog(made.log))
    with serving(made):
        yield made


def apply(page: Any, title: str) -> str:
    page.get_by_role("link", name="Apply for a project").click()
    words = {"title": title, "institution": "University", "domain": "elsewhere.org", "signatory": "Dean"}
    for name, text in {**words, "ethics": "Board 7", "abstract": "Wages.", "why": form().why}.items():
        page.locator(f"[name={name}]").fill(text)
    for name in ("age", "sex", "income", "education"):
        page.locator(f'input[value="sample/1990.1:{name}"]').check()
    page.get_by_role("button", name="Go on").click()
    assert page.locator(".lead .state").text_content() == "draft"
    page.get_by_role("button", name="Hand it in").click()
    assert page.locator(".lead .state").text_content() == "submitted"
    return str(page.url).rpartition("/")[2]


def test_from_application_to_decrypted_file(window: Callable[..., Any], office: ExtractOffice, tmp_path: Path) -> None:
    secret = RecipientSecret.new()
    with window("Ada") as one:
        number = apply(one.sign_in("/extracts"), "<b>Wages</b>")
    with window("Nora") as one:
        page = one.open(f"/reviews/{number}")
        assert page.get_by_text("not of the institution's domain").is_visible()
        page.get_by_role("button", name="Take up").click()
        page.get_by_role("button", name="Identified", exact=True).click()
        assert page.locator(".lead .state").text_content() == "review"
    office.store.projects.add_member(int(number), office.numbers["Ben"])
    for name in ("Rita", "Otto"):
        with window(name) as one:
            page = one.open("/reviews")
            page.get_by_role("link", name="<b>Wages</b>").click()
            assert page.get_by_text("approve", exact=True).count() == 0  # of the other one
            page.get_by_label("Reason").fill("The need is shown.")
            page.get_by_role("button", name="Approve").click()
    with window("Ada") as one:
        page = one.sign_in(f"/extracts/projects/{number}")
        for words in CONDITIONS.values():
            page.get_by_label(words).check()
        page.get_by_role("button", name="Accept all seven").click()
        assert page.locator(".lead .state").text_content() == "active"
        page = one.open("/extracts")
        page.get_by_label("Public key").fill(secret.public.text)
        page.get_by_role("button", name="Use this key").click()
        assert page.get_by_text(secret.public.fingerprint).is_visible()
        page = one.open(f"/extracts/projects/{number}/cart")
        page.locator('input[value="age"]').check()
        page.locator('input[value="income"]').check()
        page.get_by_label("Cases").fill("age >= 40")
        page.get_by_label("Cases").blur()
        page.get_by_text("would be alone with age").wait_for()
        assert "rows" in page.locator("#estimate").text_content()
        assert page.locator("main img").count() == 0
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as definition").click()
        definition = Path(saved.value.path()).read_bytes()
        page = one.open(f"/extracts/projects/{number}/cart")
        page.locator("[type=file]").set_input_files(
            {"name": "x.json", "mimeType": "application/json", "buffer": definition}
        )
        page.get_by_role("button", name="Put it into the cart").click()
        assert page.locator('input[value="income"]').is_checked()
        assert page.get_by_label("Cases").input_value() == "age >= 40"
        page.get_by_role("button", name="Ask for the extract").click()
        assert page.locator(".lead .state").text_content() == "waiting"
        assert office.worker.run_once()
        page.get_by_role("link", name="Fetch the sealed file").wait_for()  # the page looks by itself
        link = page.get_by_role("link", name="Fetch the sealed file").get_attribute("href")
        sealed = tmp_path / "extract.sealed"  # downloads lack the header that stands for the certificate
        sealed.write_bytes(base64.b64decode(page.evaluate(FETCH, link)))
        open_package(sealed, tmp_path / "mine", secret, office.worker.signer.public)
        page.reload()
        page.get_by_label("I destroyed all copies").check()
        page.get_by_role("button", name="State it").click()
        assert page.get_by_text("all copies are destroyed").is_visible()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "mine" / "data.csv").read_text())))
    assert list(rows[0]) == ["serial", "person", "weight", "age", "income"]
    assert min(int(row["age"]) for row in rows) >= 40
    done = [(getattr(one, "action", ""), getattr(one, "decision", "")) for one in office.log.entries]
    assert [one for one in done if one[0].startswith("extract")] == [
        ("extract.key", "granted"),
        ("extract.request", "granted"),
        ("extract.make", ""),
        ("extract.fetch", "granted"),
        ("extract.destroyed", "granted"),
    ]


def test_nobody_reviews_an_application_of_their_own_project(window: Callable[..., Any], office: ExtractOffice) -> None:
    applications, ids = office.store.applications, office.numbers
    number = applications.draft(form("Own"), ids["Ben"], **PLACE, licence="1", months=12)
    applications.submit(number, ids["Ben"])
    applications.act(number, ids["Nora"], "take up")
    applications.act(number, ids["Nora"], "identified")
    office.store.projects.add_member(number, ids["Rita"])
    with window("Rita") as one:
        page = one.sign_in(f"/reviews/{number}")
        assert page.get_by_text("you see it, and decide nothing").is_visible()
        assert page.get_by_role("button", name="Approve").count() == 0
        forged = """async (address) => {
            const token = document.querySelector('meta[name="csrf-token"]').content;
            const body = new URLSearchParams({decision: "approve", words: "Mine.", csrf: token});
            return (await fetch(address, {method: "POST", body, redirect: "manual"})).status; }"""
        assert page.evaluate(forged, f"/reviews/{number}/decide") == 403
        one.complaints.clear()  # Chromium speaks of the 403
    assert (office.log.entries[-1].decision, office.log.entries[-1].rule) == ("denied", "own")
    assert applications.find(number).decided() == {}


def test_what_is_not_yours_is_not_there(window: Callable[..., Any], office: ExtractOffice) -> None:
    number = office.store.applications.draft(form("Mine"), office.numbers["Ada"], **PLACE, licence="1", months=12)
    with window("Ben") as one:
        for path in (f"projects/{number}", "projects/9999", f"projects/{number}/cart", "9999", "9999/file"):
            page = one.open(f"/extracts/{path}")
            assert page.get_by_role("heading", level=1).text_content() in (
                "This is not yours.",
                "You do not work on this project.",
            )
        one.complaints.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(window: Callable[..., Any], office: ExtractOffice, scheme: str) -> None:
    applications, ids = office.store.applications, office.numbers
    number = applications.draft(form(f"Axe {scheme}"), ids["Ada"], **PLACE, licence="1", months=12)
    applications.submit(number, ids["Ada"])
    applications.act(number, ids["Nora"], "take up")
    applications.act(number, ids["Nora"], "identified")
    seen = [("Rita", f"/reviews/{number}"), ("Rita", "/reviews"), ("Ada", "/extracts"), ("Ada", "/extracts/apply")]
    _looked_at(window, seen, scheme)
    for name in ("Rita", "Otto"):
        applications.review(number, ids[name], "approve", "Good.")
    _looked_at(window, [("Ada", f"/extracts/projects/{number}")], scheme)
    applications.accept(number, ids["Ada"], list(CONDITIONS), "1")
    office.store.extracts.set_key(ids["Ada"], RecipientSecret.new().public.text)
    ada = Identity(ids["Ada"], "Ada", frozenset({Role.RESEARCHER}), auth_level=3)
    wanted = Definition(**PLACE, variables=["age"], share=0.1)
    with ThreadPoolExecutor(1) as pool:  # the browser has the loop of this thread
        extract = pool.submit(lambda: asyncio.run(office.desk.request(ada, number, wanted, "r"))).result()
    office.worker.run_once()
    pages = [f"/extracts/projects/{number}/cart", f"/extracts/{extract}"]
    _looked_at(window, [("Ada", path) for path in pages], scheme)


def _looked_at(window: Callable[..., Any], seen: list[tuple[str, str]], scheme: str) -> None:
    for name in dict.fromkeys(name for name, _ in seen):
        with window(name, bypass_csp=True, color_scheme=scheme) as one:
            for path in (path for who, path in seen if who == name):
                page = one.open(path)
                assert one.faults() == []
                page.set_viewport_size({"width": 390, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") <= 390
                page.set_viewport_size({"width": 1280, "height": 900})
