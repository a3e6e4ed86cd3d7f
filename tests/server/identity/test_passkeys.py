"""A passkey raises the level of a session to 2, for its owner, on our page, once for each challenge."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("webauthn")

import anyio
import httpx
from starlette.applications import Starlette

from discreet.server.denied import Denied
from discreet.server.identity import Identity, RequestData, start_session, who_asks
from discreet.server.passkeys import Passkeys
from discreet.server.roles import Role, allowed
from discreet.server.sign_in import SignIn
from discreet.server.store.people import Founder
from tests.server.identity.authenticator import Authenticator, bytes_of, text_of

HOST, ORIGIN = "tables.example.org", "https://tables.example.org"
OURS = Passkeys(HOST, ORIGIN)


@pytest.fixture
def people(store) -> list[Identity]:
    roles = [Role.RESEARCHER, Role.OFFICER, Role.DATA_OWNER]
    ids = store.people.found([Founder(role, f"{role}@example.org", role) for role in roles])
    return [Identity(number, role, frozenset({role})) for number, role in zip(ids, roles, strict=True)]


@pytest.fixture
def ada(people) -> Identity:
    return people[0]


@pytest.fixture
def key(store, ada) -> Authenticator:
    """Ada's passkey."""
    made = Authenticator(HOST, ORIGIN)
    OURS.register(store, ada, made.make(OURS.registration_options(store, ada)))
    return made


def kind_of(work, *args) -> str:
    with pytest.raises(Denied) as caught:
        work(*args)
    return caught.value.kind


def test_a_passkey_gives_level_two_and_no_more(store, ada, key):
    shown = OURS.confirm(store, ada, key.sign(OURS.sign_in_options(store, ada)))
    assert shown.auth_level == 2
    token = start_session(store, shown).partition(";")[0]
    found = who_asks(store, RequestData("GET", {"cookie": token}))
    assert (found.principal_id, found.auth_level) == (ada.principal_id, 2)
    assert allowed(found, "project.request")
    assert not allowed(found, "table.ask_confidential")


def test_a_certificate_keeps_its_level(store, ada, key):
    strong = Identity(ada.principal_id, ada.name, ada.roles, 3, fingerprint="ab")
    assert OURS.confirm(store, strong, key.sign(OURS.sign_in_options(store, strong))).auth_level == 3


def test_an_answer_is_good_once_and_for_minutes(store, ada, key, clock):
    answer = key.sign(OURS.sign_in_options(store, ada))
    OURS.confirm(store, ada, answer)
    assert kind_of(OURS.confirm, store, ada, answer) == "passkey-challenge"
    late = key.sign(OURS.sign_in_options(store, ada))
    clock.time += 601
    assert kind_of(OURS.confirm, store, ada, late) == "passkey-challenge"


def test_an_answer_is_its_owners(store, people, key):
    ada, bob, _ = people
    assert kind_of(OURS.sign_in_options, store, bob) == "no-passkey"
    mine = Authenticator(HOST, ORIGIN)
    OURS.register(store, bob, mine.make(OURS.registration_options(store, bob)))
    assert kind_of(OURS.confirm, store, bob, key.sign(OURS.sign_in_options(store, ada))) == "passkey-challenge"
    assert kind_of(OURS.confirm, store, bob, key.sign(OURS.sign_in_options(store, bob))) == "passkey-unknown"
    mine.credential = key.credential  # Bob's key under the name of Ada's
    assert kind_of(OURS.confirm, store, ada, mine.sign(OURS.sign_in_options(store, ada))) == "passkey-wrong"


def test_challenges_of_making_and_showing_do_not_mix(store, ada, key):
    assert kind_of(OURS.registration_options, store, ada) == "passkey-first"
    strong = Identity(ada.principal_id, ada.name, ada.roles, 2)
    other = OURS.registration_options(store, strong)
    assert kind_of(OURS.confirm, store, ada, key.sign(other)) == "passkey-challenge"


@pytest.mark.parametrize(
    ("host", "origin"), [("evil.example", ORIGIN), (HOST, "https://evil.example"), (HOST, "http://tables.example.org")]
)
def test_another_page_gets_nothing(store, ada, key, host, origin):
    key.host, key.origin = host, origin
    assert kind_of(OURS.confirm, store, ada, key.sign(OURS.sign_in_options(store, ada))) == "passkey-wrong"
    strong = Identity(ada.principal_id, ada.name, ada.roles, 2)
    made = Authenticator(host, origin).make(OURS.registration_options(store, strong))
    assert kind_of(OURS.register, store, strong, made) == "passkey-registration"


def test_a_passkey_that_counts_backwards_was_copied(store, ada, key):
    for _ in range(3):
        OURS.confirm(store, ada, key.sign(OURS.sign_in_options(store, ada)))
    key.uses = 1
    assert kind_of(OURS.confirm, store, ada, key.sign(OURS.sign_in_options(store, ada))) == "passkey-wrong"


def test_nobody_touched_it(store, ada, key):
    answer = key.sign(OURS.sign_in_options(store, ada), flags=0)
    assert kind_of(OURS.confirm, store, ada, answer) == "passkey-wrong"


def test_a_changed_signature_is_refused(store, ada, key):
    answer = json.loads(key.sign(OURS.sign_in_options(store, ada)))
    raw = bytearray(bytes_of(answer["response"]["signature"]))
    raw[-1] ^= 1
    answer["response"]["signature"] = text_of(bytes(raw))
    assert kind_of(OURS.confirm, store, ada, json.dumps(answer)) == "passkey-wrong"


def test_the_public_has_no_passkeys(store):
    nobody = Identity(None, "", frozenset({Role.PUBLIC}))
    for work in (OURS.registration_options, OURS.sign_in_options):
        assert kind_of(work, store, nobody) == "nobody"


def test_a_first_factor_alone_adds_no_second_passkey(store, ada, key):
    other = Authenticator(HOST, ORIGIN)
    assert kind_of(OURS.register, store, ada, other.make('{"challenge": "eA"}')) == "passkey-first"
    strong = OURS.confirm(store, ada, key.sign(OURS.sign_in_options(store, ada)))
    OURS.register(store, strong, other.make(OURS.registration_options(store, strong)))
    assert len(store.passkeys.of(ada.principal_id)) == 2


@pytest.mark.parametrize(
    "answer",
    ["", "[]", "{}", '"x"', "[" * 50_000, '{"response": {}}', '{"response": {"clientDataJSON": "e30"}}', "x" * 70_000,
     '{"response": {"clientDataJSON": 7}}', '{"response": {"clientDataJSON": "W10"}}'],
    ids=range(10),
)  # fmt: skip
def test_nonsense_is_refused(store, ada, key, answer):
    assert kind_of(OURS.confirm, store, ada, answer) in ("passkey-answer", "passkey-large", "passkey-challenge")


def test_an_answer_with_parts_missing_is_refused(store, ada, key):
    for part in ("authenticatorData", "signature"):
        answer = json.loads(key.sign(OURS.sign_in_options(store, ada)))
        del answer["response"][part]
        assert kind_of(OURS.confirm, store, ada, json.dumps(answer)) == "passkey-wrong"


def test_over_http_the_session_changes_with_the_level(store, ada):
    app = Starlette(routes=SignIn(store, ORIGIN, passkeys=OURS).routes())
    key, first = Authenticator(HOST, ORIGIN), store.sessions.start(ada.principal_id, 0)

    async def whole() -> None:
        transport = httpx.ASGITransport(app=app, client=("192.0.2.9", 1))
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as browser:
            browser.cookies.set("__Host-discreet", first, HOST)
            me = (await browser.get("/sign-in/me")).json()
            ours = {"origin": ORIGIN, "x-csrf-token": me["csrf"]}
            assert (await browser.post("/passkeys/options")).status_code == 403
            options = await browser.post("/passkeys/options", headers=ours)
            made = await browser.post("/passkeys", headers=ours, content=key.make(options.text))
            assert made.status_code == 204
            options = await browser.post("/sign-in/passkey/options", headers=ours)
            done = await browser.post("/sign-in/passkey", headers=ours, content=key.sign(options.text))
            assert done.status_code == 204
            assert browser.cookies["__Host-discreet"] != first
            assert (await browser.get("/sign-in/me")).json()["auth_level"] == 2
            stale = await browser.get("/sign-in/me", headers={"cookie": f"__Host-discreet={first}"})
            assert stale.status_code == 401
            large = await browser.post("/sign-in/passkey", headers=ours, content=b"x" * 70_000)
            assert large.status_code == 413
            assert (await browser.post("/sign-in/passkey", headers=ours, content=b"\xff")).status_code == 400

    anyio.run(whole)


def test_signing_in_by_certificate_needs_one_on_the_connection(store, ada, clock):
    from datetime import UTC, datetime
    from types import SimpleNamespace

    number, now = ada.principal_id, int(clock())
    store.people.add_certificate("0a", "ab", number, not_before=now, not_after=now + 900)
    shown = SimpleNamespace(serial="0a", fingerprint="ab", not_after=datetime.fromtimestamp(now + 900, UTC))
    app = Starlette(routes=SignIn(store, ORIGIN).routes())

    async def with_certificate(scope, receive, send):
        await app({**scope, "extensions": {"tls": {"peer": shown}}}, receive, send)

    async def whole() -> None:
        forged = {"x-client-cert": "0a", "x-ssl-client-serial": "0a"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=ORIGIN) as browser:
            assert (await browser.post("/sign-in/certificate", headers=forged)).status_code == 401
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=with_certificate), base_url=ORIGIN) as browser:
            page = {"origin": "https://evil.example"}
            assert (await browser.post("/sign-in/certificate", headers=page)).status_code == 403
            assert (await browser.post("/sign-in/certificate", headers={"origin": ORIGIN})).status_code == 204
            assert (await browser.get("/sign-in/me")).json()["auth_level"] == 3
            store.people.revoke_certificate("0a")
            assert (await browser.get("/sign-in/me")).status_code == 401

    anyio.run(whole)
