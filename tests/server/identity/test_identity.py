"""Who asks: certificates that are looked up at every request, sessions that are bound to them, pages of others."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from discreet.errors import ParameterError
from discreet.server.denied import Denied
from discreet.server.identity import (
    Identity,
    RequestData,
    check_origin,
    drop_cookie,
    from_certificate,
    session_token,
    start_session,
    who_asks,
)
from discreet.server.roles import Role, allowed
from discreet.server.store.people import Founder
from discreet.server.store.sessions import csrf_token

ORIGIN = "https://tables.example.org"
YEAR = 365 * 86_400


@pytest.fixture
def people(store, clock) -> list[int]:
    roles = [Role.RESEARCHER, Role.REVIEWER, Role.AUDITOR]
    ids = store.people.found([Founder(role, f"{role}@example.org", role) for role in roles])
    for number in ids:
        now = int(clock())
        store.people.add_certificate(f"0{number}", f"print{number}", number, not_before=now, not_after=now + YEAR)
    return ids


@dataclasses.dataclass(frozen=True)
class PeerCertificate:
    serial: str
    fingerprint: str
    not_after: datetime


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def peer(number: int, clock) -> PeerCertificate:
    return PeerCertificate(f"0{number}", f"print{number}", moment(clock() + YEAR))


def asked(cookie: str = "", certificate: PeerCertificate | None = None, method: str = "GET", **headers: str):
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return RequestData(method, {**given, "cookie": cookie} if cookie else given, "192.0.2.7", certificate)


def refused(store, request) -> tuple[str, int, str]:
    with pytest.raises(Denied) as caught:
        who_asks(store, request)
    return caught.value.kind, caught.value.status, str(caught.value)


def cookie_of(header: str) -> str:
    return header.partition(";")[0]


# Certificates


def test_without_any_proof_the_public_asks(store):
    found = who_asks(store, asked())
    assert (found.principal_id, found.roles, found.auth_level) == (None, {Role.PUBLIC}, 0)
    assert found.holder == "address 192.0.2.7"


def test_a_certificate_is_its_holder_at_level_three(store, people, clock):
    found = who_asks(store, asked(certificate=peer(people[0], clock)))
    assert (found.principal_id, found.roles, found.auth_level) == (people[0], {Role.RESEARCHER}, 3)
    assert found.holder == f"principal {people[0]}"


def test_a_certificate_that_is_revoked_is_refused_at_the_next_request(store, people, clock):
    request = asked(certificate=peer(people[0], clock))
    who_asks(store, request)
    store.people.suspend_certificate("01")
    assert refused(store, request)[0] == "suspended-certificate"
    store.people.reactivate_certificate("01")
    who_asks(store, request)
    store.people.revoke_certificate("01")
    assert refused(store, request)[:2] == ("revoked-certificate", 401)


def test_all_that_is_wrong_with_a_certificate_is_refused_with_one_text(store, people, clock):
    good = peer(people[0], clock)
    store.people.add_certificate("ff", "printff", people[0], not_before=0, not_after=2**40, purpose="signature")
    store.people.add_certificate("fe", "printfe", people[0], not_before=int(clock()) + 10, not_after=2**40)
    wrong = {
        "unknown-certificate": dataclasses.replace(good, serial="99"),
        "other-certificate": dataclasses.replace(good, fingerprint="print2"),
        "expired-certificate": dataclasses.replace(good, not_after=moment(clock())),
        "certificate-purpose": dataclasses.replace(good, serial="ff", fingerprint="printff"),
    }
    texts = set()
    for kind, certificate in wrong.items():
        found = refused(store, asked(certificate=certificate))
        assert found[:2] == (kind, 401)
        texts.add(found[2])
    early = dataclasses.replace(good, serial="fe", fingerprint="printfe")
    assert refused(store, asked(certificate=early))[0] == "expired-certificate"
    clock.time += YEAR  # the row's own end, whatever the certificate says
    assert (
        refused(store, asked(certificate=dataclasses.replace(good, not_after=moment(2**33))))[0]
        == "expired-certificate"
    )
    assert len(texts) == 1


def test_somebody_who_is_suspended_has_no_certificate_and_no_session(store, people, clock):
    cookie = cookie_of(start_session(store, who_asks(store, asked(certificate=peer(people[1], clock)))))
    store.people.set_state(people[1], "suspended")
    assert refused(store, asked(certificate=peer(people[1], clock)))[0] == "not-active"
    store.people.set_state(people[1], "active")
    assert refused(store, asked(cookie, peer(people[1], clock)))[0] == "no-session"


def test_roles_that_are_taken_away_are_gone_at_the_next_request(store, people, clock):
    request = asked(certificate=peer(people[2], clock))
    assert allowed(who_asks(store, request), "log.read")
    store.people.take_role(people[2], "auditor")
    assert not allowed(who_asks(store, request), "log.read")


# Sessions


def test_the_cookie_has_all_its_guards(store, people, clock):
    header = start_session(store, who_asks(store, asked(certificate=peer(people[0], clock))))
    assert re.fullmatch(r"__Host-discreet=[\w-]{43}; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict", header)
    assert "Max-Age=0" in drop_cookie()


def test_a_stolen_cookie_is_worth_nothing_without_the_certificate(store, people, clock):
    mine = peer(people[0], clock)
    cookie = cookie_of(start_session(store, who_asks(store, asked(certificate=mine))))
    assert who_asks(store, asked(cookie, mine)).auth_level == 3
    assert refused(store, asked(cookie))[0] == "other-certificate"
    assert refused(store, asked(cookie, peer(people[1], clock)))[0] == "other-certificate"


def test_a_session_ends_with_its_certificate_on_an_open_connection(store, people, clock):
    mine = peer(people[0], clock)
    cookie = cookie_of(start_session(store, who_asks(store, asked(certificate=mine))))
    store.people.revoke_certificate("01")
    assert refused(store, asked(cookie, mine))[0] == "revoked-certificate"
    with pytest.raises(Denied):
        store.sessions.find(cookie.partition("=")[2], "print1")


def test_a_session_without_certificate_never_has_level_three(store, people):
    with pytest.raises(ParameterError, match="cannot have level 3"):
        store.sessions.start(people[0], 3)
    cookie = f"__Host-discreet={store.sessions.start(people[0], 2)}"
    found = who_asks(store, asked(cookie))
    assert found.auth_level == 2
    assert allowed(found, "project.request")
    assert not allowed(found, "table.ask_confidential")


def test_a_session_ends_unused_and_in_any_case(store, people, clock):
    cookie = f"__Host-discreet={store.sessions.start(people[0], 0)}"
    clock.time += 1800
    who_asks(store, asked(cookie))
    clock.time += 1801
    assert refused(store, asked(cookie))[0] == "session-over"
    cookie = f"__Host-discreet={store.sessions.start(people[0], 0)}"
    for _ in range(24):
        clock.time += 1795
        who_asks(store, asked(cookie))
    clock.time += 1795
    assert refused(store, asked(cookie))[0] == "session-over"


def test_a_session_of_the_future_is_refused(store, people, clock):
    cookie = f"__Host-discreet={store.sessions.start(people[0], 0)}"
    clock.time -= 301
    assert refused(store, asked(cookie))[0] == "session-over"


def test_signing_in_again_gives_a_new_token_and_ends_the_old(store, people, clock):
    mine = peer(people[0], clock)
    first = cookie_of(start_session(store, who_asks(store, asked(certificate=mine))))
    second = cookie_of(start_session(store, who_asks(store, asked(first, mine))))
    assert first != second
    assert refused(store, asked(first, mine))[0] == "no-session"
    store.sessions.end(second.partition("=")[2])
    assert refused(store, asked(second, mine))[0] == "no-session"


def test_the_database_has_no_token(store, people, clock):
    token = store.sessions.start(people[0], 0)
    secret = store.one_times.make("oidc", "{}")
    store.nonces.use("print", "a nonce of theirs", int(clock()))
    kept = ""
    with store.engine.connect() as connection:
        for table in ("session", "one_time", "nonce"):
            kept += repr(connection.execute(text(f"SELECT * FROM {table}")).all())
    for word in (token, secret, csrf_token(token), "a nonce of theirs"):
        assert word not in kept
    assert token not in repr(who_asks(store, asked(f"__Host-discreet={token}")))


@pytest.mark.parametrize(
    ("cookies", "token"),
    [
        ("", None),
        ("a=b; __Host-discreet=x; c=d", "x"),
        ("discreet=x", None),
        ("__host-discreet=x", None),
        ("__Host-discreet", None),
        ("a=__Host-discreet=x", None),
    ],
)
def test_cookies_are_read_as_they_are(cookies, token):
    assert session_token(cookies) == token


@pytest.mark.parametrize(
    "cookies",
    [
        "__Host-discreet=a; __Host-discreet=b",
        "__Host-discreet=",
        f"__Host-discreet={'x' * 257}",
        "__Host-discreet=\u00e9",
    ],
)
def test_cookies_that_no_browser_of_ours_sends_are_refused(cookies):
    with pytest.raises(Denied):
        session_token(cookies)


def test_nobody_has_no_session(store):
    with pytest.raises(Denied):
        start_session(store, Identity(None, "", frozenset({Role.PUBLIC})))


# Pages of others


@pytest.fixture
def signed_in(store, people) -> Identity:
    token = store.sessions.start(people[0], 0)
    return who_asks(store, asked(f"__Host-discreet={token}"))


def kind_of(identity: Identity, **given) -> str:
    try:
        check_origin(asked(**given), identity, ORIGIN)
    except Denied as denied:
        return denied.kind
    return ""


def test_a_form_of_ours_is_taken(signed_in):
    right = {"origin": ORIGIN, "x_csrf_token": csrf_token(signed_in.token), "sec_fetch_site": "same-origin"}
    assert kind_of(signed_in, method="POST", **right) == ""
    assert kind_of(signed_in, method="GET") == ""


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "post", "STRANGE"])
def test_a_form_of_another_page_is_not(signed_in, store, people, method):
    token = csrf_token(signed_in.token)
    other = csrf_token(store.sessions.start(people[0], 0))
    assert kind_of(signed_in, method=method, x_csrf_token=token) == "origin"
    for origin in ("null", "https://evil.example", f"{ORIGIN}.evil.example", f"{ORIGIN}:444", ORIGIN.upper()):
        assert kind_of(signed_in, method=method, origin=origin, x_csrf_token=token) == "origin"
    for wrong in ("", "x", other, token[:-1], "\ud800"):
        assert kind_of(signed_in, method=method, origin=ORIGIN, x_csrf_token=wrong) == "csrf"
    assert kind_of(signed_in, method=method, origin=ORIGIN, x_csrf_token=token, sec_fetch_site="cross-site") == "origin"


def test_a_browser_that_adds_a_certificate_by_itself_is_no_proof_either(store, people, clock):
    holder = from_certificate(store, peer(people[0], clock))
    assert kind_of(holder, method="POST") == ""  # a program
    assert kind_of(holder, method="POST", origin=ORIGIN) == ""
    assert kind_of(holder, method="POST", origin="https://evil.example") == "origin"
    assert kind_of(holder, method="POST", sec_fetch_site="cross-site") == "origin"
