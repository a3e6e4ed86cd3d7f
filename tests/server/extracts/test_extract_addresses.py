"""Extracts by program: the whole way from a definition to the opened file over HTTP, and who does not get there."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import time
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.server.account import MemoryAccount
from discreet.server.app import TableApp
from discreet.server.denied import Denied
from discreet.server.extract_client import ServerExtracts
from discreet.server.extracts.addresses import ExtractAddresses
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.package import open_package
from discreet.server.identity import Identity
from discreet.server.roles import Role
from discreet.server.service import Service
from discreet.server.signed import SignedRequests
from discreet.server.store.store import Store
from discreet.trust.holders import Holder
from discreet.trust.peer import PeerCertificate
from discreet.trust.requests import HEADER, new_request, sign_request
from discreet.trust.sealed_file import RecipientSecret
from discreet.trust.trusted import TrustedAuthorities
from tests.server.census import PUBLIC, Budgets
from tests.server.extracts.desk import PEOPLE, Desk
from tests.server.extracts.made import PLACE, RATE
from tests.server.operations.running import first_pem
from tests.trust.house import House

BASE = "/v1/extracts"
CART = {**PLACE, "variables": ["age", "sex", "income"], "where": ["age >= 30"]}


class Asked:
    """Programs of people, and a desk behind the addresses that they ask."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.who = desk, PUBLIC
        self.check: Callable[[Request, Identity, str], Awaitable[Identity]] = self._unsigned
        service = Service({}, MemoryAccount(), Budgets(), desk.log)
        addresses = ExtractAddresses(desk.desk, self._who, self._signatures)
        self.client = TestClient(TableApp(service, self._who, beside=[addresses]).application())

    async def _who(self, _request: Request) -> Identity:
        return self.who

    async def _signatures(self, request: Request, who: Identity, dataset: str) -> Identity:
        return await self.check(request, who, dataset)

    @staticmethod
    async def _unsigned(_request: Request, who: Identity, _dataset: str) -> Identity:
        return who

    def become(self, name: str, level: int = 3) -> None:
        self.who = self.desk.who(name, level)

    # what the client asks of a connection

    def answer_of(self, method: str, path: str, body: Any = None, *, about: str = "") -> dict[str, Any]:
        reply = self.client.request(method, path, json=body)
        if reply.status_code not in (200, 201):
            raise ParameterError(reply.json()["title"])
        return dict(reply.json())

    def parts_of(self, path: str, take: Callable[[bytes], object], *, about: str = "") -> None:
        take(self.client.get(path).content)


@pytest.fixture
def asked(store: Store, extract_file: ExtractFile, tmp_path: Path) -> Asked:
    return Asked(Desk(store, extract_file, tmp_path))


def test_from_definition_to_opened_file(asked: Asked, tmp_path: Path) -> None:
    desk, extracts, secret = asked.desk, ServerExtracts(asked), RecipientSecret.new()
    project = desk.active()
    asked.become("Ada")
    (file,) = extracts.files()
    assert (file["name"], file["edition"]) == tuple(PLACE.values())
    about = {one["name"]: one for one in extracts.describe(**PLACE)["variables"]}
    assert about["district"]["level"] == 2
    assert about["age"]["identifying"]
    (own,) = extracts.projects()
    assert (own["project"], own["state"]) == (project, "active")
    (tmp_path / "mine.key.pub").write_text(secret.public.text + "\n", encoding="utf-8")
    assert extracts.use_key(tmp_path / "mine.key.pub") == secret.public.fingerprint
    cart = extracts.definition(**PLACE, variables=["age", "sex", "income"], where="age >= 30")
    size = extracts.estimate(project, cart)
    assert size["identifying"] == ["age", "sex"]
    number = extracts.request(project, cart)
    assert extracts.state(number)["state"] == "queued"
    assert extracts.state(number)["rows"] is None  # before it is made, that would tell whom it lacks
    assert extracts.definition_of(number) == {**cart, "where": ["age >= 30"]}
    assert desk.worker.run_once()
    made = extracts.state(number)
    assert (made["state"], made["mine"]) == ("ready", True)
    path = extracts.fetch(number, tmp_path / "extract.sealed")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == made["sha256"]
    assert path.stat().st_mode & 0o777 == 0o600
    open_package(path, tmp_path / "mine", secret, desk.signer.public)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "mine" / "data.csv").read_text())))
    assert len(rows) == made["rows"]
    assert size["rows"] == pytest.approx(len(rows), rel=0.1, abs=100)
    assert min(int(row["age"]) for row in rows) >= 30
    assert extracts.destroyed(number)["state"] == "expired"
    assert [one["number"] for one in extracts.all()] == [number]
    with pytest.raises(ParameterError, match="cannot be fetched any more"):
        asked.answer_of("GET", f"{BASE}/{number}/file")
    done = [(one.action, getattr(one, "decision", "")) for one in desk.log.entries]
    assert done == [
        ("extract.key", "granted"),
        ("extract.request", "granted"),
        ("extract.make", ""),
        ("extract.fetch", "granted"),
        ("extract.destroyed", "granted"),
        ("extract.fetch", "denied"),
    ]


def test_the_rate_of_swapping_is_in_no_answer_and_not_in_the_log(asked: Asked) -> None:
    """Check 5 of card 003-31: in nothing that users read."""
    project = asked.desk.active()
    asked.become("Ada")
    number = asked.client.post(f"{BASE}/projects/{project}/extracts", json=CART).json()["number"]
    asked.desk.worker.run_once()
    place = "/".join(PLACE.values())
    paths = ["", "/files", f"/files/{place}", "/projects", f"/{number}", f"/{number}/definition"]
    said = [asked.client.get(BASE + path).text for path in paths]
    said.append(asked.client.post(f"{BASE}/projects/{project}/estimate", json=CART).text)
    said += [repr(entry) for entry in asked.desk.log.entries]
    assert all(len(text) > 2 for text in said)
    assert not [text for text in said if str(RATE) in text or f"{RATE:.4f}"[1:] in text or "12.3" in text]


def test_a_definition_of_a_page_is_sent_as_it_was_saved(asked: Asked, tmp_path: Path) -> None:
    from discreet.server.extracts.definition import Definition

    saved = tmp_path / "definition.json"
    saved.write_text(Definition(**CART).text, encoding="utf-8")
    project = asked.desk.active()
    asked.become("Ada")
    number = ServerExtracts(asked).request(project, saved)
    row = asked.desk.store.extracts.find(number)
    assert row.digest == Definition(**CART).digest
    (tmp_path / "other.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(ParameterError, match="holds no definition"):
        ServerExtracts(asked).request(project, tmp_path / "other.json")


def test_a_file_that_was_changed_on_its_way_is_not_kept(asked: Asked, tmp_path: Path) -> None:
    number = asked.desk.ask(asked.desk.active(), "age")
    asked.desk.worker.run_once()
    asked.become("Ada")

    class Bent(Asked):
        def parts_of(self, path: str, take: Callable[[bytes], object], *, about: str = "") -> None:
            super().parts_of(path, lambda part: take(part[:-1] + bytes([part[-1] ^ 1])))

    asked.__class__ = Bent
    with pytest.raises(InputError, match="not the one that the server logged"):
        ServerExtracts(asked).fetch(number, tmp_path / "bent.sealed")
    assert not (tmp_path / "bent.sealed").exists()


def test_who_may_have_no_extracts_is_refused_everywhere(asked: Asked) -> None:
    project = asked.desk.active()
    number = asked.desk.ask(project, "age")
    before = list(asked.desk.log.entries)
    addresses = [
        ("GET", BASE, None),
        ("GET", f"{BASE}/key", None),
        ("PUT", f"{BASE}/key", {"key": asked.desk.secret.public.text}),
        ("GET", f"{BASE}/projects", None),
        ("POST", f"{BASE}/projects/{project}/estimate", CART),
        ("POST", f"{BASE}/projects/{project}/extracts", CART),
        ("GET", f"{BASE}/{number}", None),
        ("GET", f"{BASE}/{number}/definition", None),
        ("GET", f"{BASE}/{number}/file", None),
        ("POST", f"{BASE}/{number}/withdraw", {}),
        ("POST", f"{BASE}/{number}/destroyed", {"all_copies": True}),
    ]
    auditor = Identity(99, "Aud", frozenset({Role.AUDITOR}), auth_level=3)
    weak = asked.desk.who("Ada", level=2)
    for who, status in ((PUBLIC, 401), (auditor, 403), (weak, 403), (asked.desk.who("Rita"), 403)):
        asked.who = who
        for method, path, body in addresses:
            reply = asked.client.request(method, path, json=body)
            assert reply.status_code == status, (who.name, method, path, reply.text)
            assert reply.headers["content-type"] == "application/problem+json"
    assert asked.desk.log.entries == before
    assert asked.desk.store.extracts.find(number).state == "queued"
    assert len(asked.desk.store.extracts.of([project])) == 1


def test_extracts_and_projects_of_others_are_not_there(asked: Asked) -> None:
    project = asked.desk.active()
    number = asked.desk.ask(project, "age")
    asked.become("Ben")
    for path in (f"{BASE}/{number}", f"{BASE}/{number}/file", f"{BASE}/{number}/definition", f"{BASE}/{2**70}"):
        reply = asked.client.get(path)
        assert (reply.status_code, reply.json()["title"]) == (403, "This is not yours."), path
    for wrong in (project, 99, 2**70):
        reply = asked.client.post(f"{BASE}/projects/{wrong}/extracts", json=CART)
        assert (reply.status_code, reply.json()["type"]) == (403, "urn:discreet:other-project")
        assert asked.desk.last().rule == "other-project"
        assert asked.client.post(f"{BASE}/projects/{wrong}/estimate", json=CART).status_code == 403
    assert asked.client.get(BASE).json() == {"extracts": []}
    assert asked.client.get(f"{BASE}/projects").json() == {"projects": []}


def test_a_colleague_sees_the_state_and_fetches_nothing(asked: Asked) -> None:
    project = asked.desk.active()
    asked.desk.store.projects.add_member(project, asked.desk.ids["Ben"])
    number = asked.desk.ask(project, "age")
    asked.desk.worker.run_once()
    asked.become("Ben")
    assert asked.client.get(f"{BASE}/{number}").json()["mine"] is False
    for method, path in (("GET", "file"), ("POST", "withdraw")):
        assert asked.client.request(method, f"{BASE}/{number}/{path}").status_code == 403
    assert asked.client.post(f"{BASE}/{number}/destroyed", json={"all_copies": True}).status_code == 403
    assert asked.desk.store.extracts.find(number).state == "ready"


@pytest.mark.parametrize(
    ("content", "headers", "status", "kind"),
    [
        (b"{", {}, 400, "no-definition"),
        (b"[" * 5_000, {}, 400, "no-definition"),
        (json.dumps({**CART, "format": "other"}), {}, 400, "no-definition"),
        (json.dumps({**CART, "swap_rate": 1}), {}, 400, "no-definition"),
        (json.dumps({**CART, "variables": []}), {}, 400, "no-variables"),
        (json.dumps({**CART, "variables": ["x"]}), {}, 404, "unknown-variable"),
        (json.dumps({**CART, "edition": "2001"}), {}, 404, "unknown-edition"),
        (b" " * 100_000, {}, 413, "too-large"),
        (b" " * 400_000, {}, 413, "too-large"),
        (json.dumps(CART), {"content-type": "text/plain"}, 415, "not-json"),
    ],
)
def test_bad_definitions_have_a_status_and_a_word(
    asked: Asked, content: Any, headers: dict[str, str], status: int, kind: str
) -> None:
    project = asked.desk.active()
    asked.become("Ada")
    for what in ("estimate", "extracts"):
        sent = {"content-type": "application/json", **headers}
        reply = asked.client.post(f"{BASE}/projects/{project}/{what}", content=content, headers=sent)
        assert (reply.status_code, reply.json()["type"]) == (status, f"urn:discreet:{kind}")
    assert asked.desk.store.extracts.of([project]) == []


def test_more_than_the_licence_and_what_may_not_be_combined_are_refused(asked: Asked) -> None:
    project = asked.desk.active()
    asked.become("Ada")
    both = {**CART, "variables": ["birth", "occupation"]}
    reply = asked.client.post(f"{BASE}/projects/{project}/extracts", json=both)
    assert (reply.status_code, reply.json()["type"]) == (403, "urn:discreet:combination")
    found = set()
    for _ in range(40):
        reply = asked.client.post(f"{BASE}/projects/{project}/extracts", json={**PLACE, "variables": ["age"]})
        found.add((reply.status_code, reply.json().get("type")))
        if reply.status_code != 201:
            break
        assert reply.headers["location"] == f"{BASE}/{reply.json()['number']}"
    assert found == {(201, None), (413, "urn:discreet:licence-rows")}


def test_an_expired_project_and_a_withdrawn_edition(asked: Asked, clock: Any) -> None:
    project = asked.desk.active()
    number = asked.desk.ask(project, "age")
    asked.become("Ada")
    assert asked.client.get(f"{BASE}/{number}/file").status_code == 409
    asked.desk.worker.run_once()
    clock.time += 400 * 86_400
    for path in ("estimate", "extracts"):
        reply = asked.client.post(f"{BASE}/projects/{project}/{path}", json=CART)
        assert (reply.status_code, reply.json()["type"]) == (403, "urn:discreet:project-over")
    assert asked.client.get(f"{BASE}/{number}/file").status_code == 410
    asked.desk.store.editions.withdraw(**PLACE)
    assert asked.client.get(f"{BASE}/{number}").json()["edition_withdrawn"] is True
    assert asked.client.post(f"{BASE}/projects/{project}/extracts", json=CART).status_code == 410
    assert asked.client.get(f"{BASE}/files").json() == {"files": []}


def test_what_changes_something_or_leaves_must_be_signed_where_the_server_wants_it(asked: Asked) -> None:
    project = asked.desk.active()
    number = asked.desk.ask(project, "age")
    asked.desk.worker.run_once()
    asked.become("Ada")
    about: list[str] = []

    async def refuse(_request: Request, _who: Identity, dataset: str) -> Identity:
        about.append(dataset)
        raise Denied("not-signed", "The signature of the request does not count.", status=401)

    asked.check = refuse
    key = {"key": RecipientSecret.new().public.text}
    edition = f"{PLACE['dataset']}/{PLACE['edition']}"
    wanted = [
        ("PUT", f"{BASE}/key", key, "extract.key", "extracts"),
        ("POST", f"{BASE}/projects/{project}/extracts", CART, "extract.request", edition),
        ("GET", f"{BASE}/{number}/file", None, "extract.fetch", edition),
        ("POST", f"{BASE}/{number}/withdraw", None, "extract.withdraw", edition),
        ("POST", f"{BASE}/{number}/destroyed", {"all_copies": True}, "extract.destroyed", edition),
    ]
    for method, path, body, action, dataset in wanted:
        reply = asked.client.request(method, path, json=body)
        assert reply.status_code == 401, path
        assert reply.json()["type"] == "urn:discreet:not-signed-in"
        last = asked.desk.last()
        assert (last.action, last.decision, last.rule, about[-1]) == (action, "denied", "not-signed", dataset)
    assert asked.client.get(f"{BASE}/{number}").status_code == 200
    assert asked.desk.store.extracts.key_of(asked.desk.ids["Ada"]) == asked.desk.secret.public.text
    assert asked.desk.store.extracts.find(number).state == "ready"


def test_the_signed_request_stands_in_the_log(asked: Asked) -> None:
    project = asked.desk.active()
    asked.who = Identity(asked.desk.ids["Ada"], "Ada", frozenset({PEOPLE["Ada"]}), auth_level=3, signed="aa.bb.cc")
    assert asked.client.post(f"{BASE}/projects/{project}/extracts", json=CART).status_code == 201
    assert asked.desk.last().signed == "aa.bb.cc"


def test_a_key_that_is_none_is_not_taken(asked: Asked) -> None:
    asked.become("Ada")
    for text in ("", "discreet-recipient-1:AAAA", "x" * 400, "../../etc/passwd"):
        reply = asked.client.put(f"{BASE}/key", json={"key": text})
        assert (reply.status_code, reply.json()["type"]) == (400, "urn:discreet:bad-key")
    assert asked.desk.store.extracts.key_of(asked.desk.ids["Ada"]) == asked.desk.secret.public.text


def test_the_connection_has_extracts() -> None:
    with pytest.raises(InputError, match="No server answers at"):
        ds.connect("http://127.0.0.1:9").extracts.files()


# ---- real signatures -------------------------------------------------------------------------------------------


@pytest.fixture
def signing(asked: Asked, tmp_path: Path, clock: Any) -> Callable[..., str]:
    """Makes the header of a request that Ada signs; the server takes no other."""
    clock.time = int(time())  # signatures are of now
    house = House(tmp_path / "house")
    issued = house.issued("signing", Holder("Ada", email="Ada@x.org"))
    shown = PeerCertificate.from_der(ssl.PEM_cert_to_DER_cert(first_pem(issued.certificate)))
    times = {"not_before": int(shown.not_before.timestamp()), "not_after": int(shown.not_after.timestamp())}
    asked.desk.store.people.add_certificate(
        shown.serial, shown.fingerprint, asked.desk.ids["Ada"], **times, purpose="signature"
    )
    context: Any = SimpleNamespace(trusted=TrustedAuthorities.read(house.public))
    checked = SignedRequests(asked.desk.store, context, "required")
    asked.check = checked.__call__
    asked.become("Ada")

    def sign(method: str, path: str, body: bytes, dataset: str) -> str:
        request = new_request(method, path, body, user="Ada@x.org", dataset=dataset, purpose="project 1")
        return sign_request(request, issued.key, issued.certificate)

    return sign


def test_a_signed_extract_is_asked_for_and_fetched_once(asked: Asked, signing: Callable[..., str]) -> None:
    project, edition = asked.desk.active(), "/".join(PLACE.values())
    path, body = f"{BASE}/projects/{project}/extracts", json.dumps(CART).encode()
    plain = {"content-type": "application/json"}

    def ask(**headers: str) -> Any:
        return asked.client.post(path, content=body, headers={**plain, **headers})

    assert ask().status_code == 401
    assert asked.desk.last().rule == "not-signed"
    for wrong, rule in (
        (signing("POST", path, body + b" ", edition), "body-altered"),
        (signing("POST", path, body, "sample/2001"), "another-version-of-the-data"),
        (signing("PUT", path, body, edition), "method-or-path-altered"),
    ):
        assert ask(**{HEADER: wrong}).status_code == 401
        assert asked.desk.last().rule == rule
    assert asked.desk.store.extracts.of([project]) == []
    text = signing("POST", path, body, edition)
    reply = ask(**{HEADER: text})
    assert reply.status_code == 201
    assert (asked.desk.last().signed, asked.desk.last().purpose) == (text, "project 1")
    assert ask(**{HEADER: text}).status_code == 401  # good once
    assert asked.desk.last().rule == "request-seen-before"
    asked.desk.worker.run_once()
    file = f"{BASE}/{reply.json()['number']}/file"
    assert asked.client.get(file).status_code == 401
    text = signing("GET", file, b"", edition)
    assert asked.client.get(file, headers={HEADER: text}).status_code == 200
    assert (asked.desk.last().action, asked.desk.last().signed) == ("extract.fetch", text)


def test_a_key_is_signed_too(asked: Asked, signing: Callable[..., str]) -> None:
    new = RecipientSecret.new().public
    body = json.dumps({"key": new.text}).encode()
    sent = {"content-type": "application/json", HEADER: signing("PUT", f"{BASE}/key", body, "extracts")}
    assert asked.client.put(f"{BASE}/key", content=body, headers=sent).json() == {"fingerprint": new.fingerprint}
    assert asked.desk.last().signed == sent[HEADER]


def test_requests_about_an_extract_are_signed_for_its_edition(tmp_path: Path) -> None:
    class Noting:
        def __init__(self) -> None:
            self.about: list[tuple[str, str]] = []

        def answer_of(self, method: str, path: str, body: Any = None, *, about: str = "") -> dict[str, Any]:
            self.about += [(method, about)] if about else []
            digest = hashlib.sha256(b"sealed").hexdigest()
            return {"number": 7, "fingerprint": "f", "sha256": digest, "dataset": "sample", "edition": "1990.1"}

        def parts_of(self, path: str, take: Callable[[bytes], object], *, about: str = "") -> None:
            self.about.append(("GET", about))
            take(b"sealed")

    server = Noting()
    extracts = ServerExtracts(server)
    extracts.use_key("discreet-recipient x")
    extracts.request(1, extracts.definition("sample", "1990.1", ["age"]))
    extracts.fetch(7, tmp_path / "sealed")
    extracts.withdraw(7)
    extracts.destroyed(7)
    edition = "sample/1990.1"
    assert server.about == [
        ("PUT", "extracts"),
        ("POST", edition),
        ("GET", edition),
        ("POST", edition),
        ("POST", edition),
    ]
