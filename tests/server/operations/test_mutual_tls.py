"""``discreet serve --config`` with certificates, end to end: who asks, until when, and with which signature."""

from __future__ import annotations

import base64
import json
import signal
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("cryptography")
pytest.importorskip("uvicorn")

from cryptography.hazmat.primitives.serialization import load_pem_private_key

import discreet as ds
from discreet.server.store.store import Store
from discreet.trust.log_verify import check_log
from discreet.trust.requests import HEADER, new_request, sign_request
from tests.server.identity.authenticator import Authenticator
from tests.server.identity.provider import CLIENT, SECRET, Provider
from tests.server.identity.provider import running as provided
from tests.server.operations.running import PEOPLE, TABLE, Office, Running, asked, running, told
from tests.trust.house import House

SIGN_IN = """
[sign_in]
issuer = "{issuer}"
client_id = "{client}"
client_secret = "oidc.secret"
passkeys = true
"""
PATH = f"{TABLE}?{urlencode({'variables': 'sex,marital'})}"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    found = Provider()
    found.now = int(time.time())
    with provided(found):
        yield found


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Office:
    found = Office(tmp_path_factory.mktemp("office"))
    secret = found.folder / "oidc.secret"
    secret.touch(mode=0o600)
    secret.write_text(SECRET)
    found.with_certificates("optional", more=SIGN_IN.format(issuer=provider.issuer, client=CLIENT))
    with Store.open(found.folder / "server.db") as store:
        store.people.link_outside(found.numbers["Mara"], provider.issuer, provider.subject)
    return found


@pytest.fixture(scope="module")
def server(office: Office) -> Iterator[Running]:
    with running(office.folder / "server.toml") as found:
        yield found


def entries(office: Office) -> list[dict[str, Any]]:
    """What the log has, by its judge."""
    found: list[dict[str, Any]] = []
    verdict = check_log(office.folder / "log", each=lambda entry: found.append(entry.body))
    assert verdict.holds
    return found


def rules(office: Office) -> list[str]:
    return [entry["rule"] for entry in entries(office) if entry["kind"] == "refusal"]


def careless(office: Office, name: str) -> ssl.SSLContext:
    """A client that does not look at its own certificate."""
    context = ssl.create_default_context(cafile=office.folder / "trust" / "authorities.pem")
    context.load_cert_chain(office.folder / f"{name}.pem", office.folder / f"{name}.key")
    return context


@pytest.mark.parametrize("name", ["Ada", "Mara", "Emil"])
def test_role_and_level_of_the_certificates_holder_reach_the_answer(office: Office, server: Running, name: str) -> None:
    connection = office.connection(name)
    assert told(connection, "/sign-in/me") == (
        200,
        {"name": name, "roles": [PEOPLE[name].value], "auth_level": 3},
    )
    status, _ = told(connection, PATH)
    assert status == (403 if name == "Emil" else 200)  # an administrator has no data
    last = entries(office)[-1]
    assert (last["subject"], last["role"]) == (name, PEOPLE[name].value.replace(" ", "_"))
    assert last["serial"] == office.issued[name].serial


def test_without_certificate_the_public_asks(office: Office, server: Running) -> None:
    connection = office.connection()
    assert told(connection, "/sign-in/me")[1] == {"name": "", "roles": ["public"], "auth_level": 0}
    assert told(connection, PATH)[0] == 200
    assert entries(office)[-1]["subject"] == "public"


def test_headers_that_speak_of_certificates_change_nothing(office: Office, server: Running) -> None:
    forged = (office.folder / "Ada.pem").read_text().replace("\n", "")
    _, me = told(office.connection(), "/sign-in/me", x_client_cert=forged, x_forwarded_client_cert=forged)
    assert me["roles"] == ["public"]


def test_a_certificate_of_another_house_gets_no_answer(office: Office, server: Running, tmp_path: Path) -> None:
    other = House(tmp_path / "other", name="Example Office")
    office.give("Foreign", other.issued())
    connection = office.connection()
    connection._context = careless(office, "Foreign")  # type: ignore[attr-defined]
    with pytest.raises((ssl.SSLError, ConnectionError)):
        told(connection, PATH)


def test_a_certificate_that_nobody_entered_is_refused_without_a_reason(office: Office, server: Running) -> None:
    office.give("Unknown", office.house.issued())
    status, body = told(office.connection("Unknown"), PATH)
    assert (status, body["type"]) == (401, "urn:discreet:not-signed-in")
    assert "unknown" not in json.dumps(body).lower()
    assert rules(office)[-1] == "unknown-certificate"


def test_who_is_revoked_while_connected_is_refused_at_the_next_request(office: Office, server: Running) -> None:
    office.enter("Ada", "AdaLaptop")
    connection = office.connection("AdaLaptop")
    assert told(connection, PATH)[0] == 200
    link = connection.sock
    with Store.open(office.folder / "server.db") as store:
        store.people.revoke_certificate(office.issued["AdaLaptop"].serial)
    status, body = told(connection, PATH)
    assert connection.sock is link  # the same connection
    assert (status, body["type"]) == (401, "urn:discreet:not-signed-in")
    assert rules(office)[-1] == "revoked-certificate"
    assert told(connection, "/sign-in/me")[0] == 401


def test_a_list_that_comes_while_connected_refuses_open_and_new_connections(office: Office, server: Running) -> None:
    office.enter("Ada", "AdaPhone")
    opened = office.connection("AdaPhone")
    assert told(opened, PATH)[0] == 200
    office.house.ca.revoke(office.issued["AdaPhone"].serial, by="Rosa")
    office.publish()
    server.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 20
    while told(opened, PATH)[0] == 200:
        assert time.monotonic() < end
    assert rules(office)[-1] == "certificate-revoked"
    assert told(opened, "/sign-in/me")[0] == 401  # pages of sign-in look, too
    anew = office.connection()
    anew._context = careless(office, "AdaPhone")  # type: ignore[attr-defined]
    with pytest.raises((ssl.SSLError, ConnectionError)):
        told(anew, PATH)
    assert told(office.connection("Ada"), PATH)[0] == 200


def test_counters_are_for_administrators(office: Office, server: Running) -> None:
    assert asked(office.connection(), "/metrics")[0] == 403
    assert asked(office.connection("Ada"), "/metrics")[0] == 403
    status, _, body = asked(office.connection("Emil"), "/metrics")
    assert status == 200
    assert b'what="table"' in body


# Signed requests


@pytest.fixture(scope="module")
def signed(office: Office) -> Any:
    """Makes the header of a signed request of Ada's."""
    office.enter("Ada", "AdaSigns", "signing")

    def make(path: str = PATH, body: bytes = b"", *, method: str = "GET", file: str = "AdaSigns", **more: Any) -> str:
        given = {"user": "ada@example.org", "dataset": "census/2021.1", "purpose": "thesis", **more}
        key = load_pem_private_key((office.folder / f"{file}.key").read_bytes(), None)
        request = new_request(method, path, body, **given)
        return sign_request(request, key, (office.folder / f"{file}.pem").read_bytes())  # type: ignore[arg-type]

    return make


def test_a_signed_question_is_answered_once_and_kept_in_the_log(office: Office, server: Running, signed: Any) -> None:
    connection, text = office.connection("Ada"), signed()
    assert told(connection, PATH, **{HEADER: text})[0] == 200
    last = entries(office)[-1]
    assert (last["purpose"], last["signed"]) == ("thesis", text)
    assert told(connection, PATH, **{HEADER: text})[0] == 401
    assert rules(office)[-1] == "request-seen-before"
    assert told(office.connection("Ada"), PATH, **{HEADER: signed()})[0] == 200


def test_a_signed_question_with_a_body_counts_for_that_body_only(office: Office, server: Running, signed: Any) -> None:
    body, other = b'{"variables":["sex"]}', b'{"variables":["marital"]}'
    connection = office.connection("Ada")
    sent = {"method": "POST", "content_type": "application/json"}
    assert told(connection, TABLE, body=other, **sent, **{HEADER: signed(TABLE, body, method="POST")})[0] == 401
    assert rules(office)[-1] == "body-altered"
    assert told(connection, TABLE, body=body, **sent, **{HEADER: signed(TABLE, body, method="POST")})[0] == 200


def test_connections_sign_their_questions(office: Office, server: Running, signed: Any) -> None:
    at = f"https://localhost:{office.port}"
    own = {"certificate": office.folder / "Ada.pem", "key": office.folder / "Ada.key"}
    signing = {"signing_certificate": office.folder / "AdaSigns.pem", "signing_key": office.folder / "AdaSigns.key"}
    connection = ds.connect(at, authorities=office.folder / "trust", **own, **signing, purpose="thesis")
    assert connection.table("census", ["sex"]).variables == ("sex",)
    last = entries(office)[-1]
    assert last["purpose"] == "thesis"
    payload = json.loads(base64.urlsafe_b64decode(last["signed"].split(".")[1] + "=="))
    assert (payload["user"], payload["dataset"], payload["method"]) == ("ada@example.org", "census/2021.1", "POST")


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"dataset": "census/2011.1"}, "another-version-of-the-data"),
        ({"path": f"{TABLE}?variables=sex"}, "method-or-path-altered"),
        ({"user": "mara@example.org"}, "certificate-of-another-user"),
        ({"file": "Ada"}, "certificate-for-another-purpose"),
    ],
)
def test_a_signature_for_something_else_is_refused(
    office: Office, server: Running, signed: Any, more: dict[str, str], rule: str
) -> None:
    assert told(office.connection("Ada"), PATH, **{HEADER: signed(**more)})[0] == 401
    assert rules(office)[-1] == rule


def test_nobody_sends_what_another_signed(office: Office, server: Running, signed: Any) -> None:
    assert told(office.connection("Mara"), PATH, **{HEADER: signed()})[0] == 401
    assert rules(office)[-1] == "other-signer"
    assert told(office.connection(), PATH, **{HEADER: signed()})[0] == 401
    assert rules(office)[-1] == "nobody"


# Browsers


def cookie_of(headers: dict[str, str], name: str) -> str:
    at = headers["set-cookie"].index(f"{name}=")
    return headers["set-cookie"][at:].partition(";")[0]


def test_who_signs_in_at_the_provider_and_shows_a_passkey_has_level_two(
    office: Office, server: Running, provider: Provider
) -> None:
    import httpx

    browser, origin = office.connection(), f"https://127.0.0.1:{office.port}"
    status, headers, _ = asked(browser, "/sign-in")
    assert status == 303
    flow = cookie_of(headers, "__Host-discreet-flow")
    back = httpx.get(headers["location"]).headers["location"].removeprefix(origin)
    status, headers, _ = asked(browser, back, cookie=flow)
    assert status == 303
    cookie = cookie_of(headers, "__Host-discreet")
    _, me = told(browser, "/sign-in/me", cookie=cookie)
    assert (me["name"], me["auth_level"]) == ("Mara", 0)
    assert asked(browser, back, cookie=flow)[0] == 401  # good once
    sent = {"method": "POST", "cookie": cookie, "origin": origin, "x_csrf_token": me["csrf"]}
    passkey = Authenticator("127.0.0.1", origin)
    _, _, options = asked(browser, "/passkeys/options", **sent)
    assert asked(browser, "/passkeys", body=passkey.make(options.decode()).encode(), **sent)[0] == 204
    _, _, options = asked(browser, "/sign-in/passkey/options", **sent)
    status, headers, _ = asked(browser, "/sign-in/passkey", body=passkey.sign(options.decode()).encode(), **sent)
    assert status == 204
    cookie = cookie_of(headers, "__Host-discreet")
    assert told(browser, "/sign-in/me", cookie=cookie)[1]["auth_level"] == 2
    assert told(browser, PATH, cookie=cookie)[0] == 200
    kinds = [(one["kind"], one.get("decision"), one.get("level")) for one in entries(office)[-4:]]
    assert kinds == [
        ("sign_in", "granted", 0),
        ("sign_in", "denied", 0),
        ("sign_in", "granted", 2),
        ("answer", None, None),
    ]


def test_a_browser_with_a_certificate_has_a_session_of_level_three_for_that_certificate_only(
    office: Office, server: Running
) -> None:
    browser, origin = office.connection("Ada"), f"https://127.0.0.1:{office.port}"
    assert asked(browser, "/sign-in/certificate", method="POST", origin="https://evil.example")[0] == 403
    status, headers, _ = asked(browser, "/sign-in/certificate", method="POST", origin=origin)
    assert status == 204
    cookie = cookie_of(headers, "__Host-discreet")
    assert told(browser, "/sign-in/me", cookie=cookie)[1]["auth_level"] == 3
    assert asked(office.connection(), PATH, cookie=cookie)[0] == 401
    assert asked(office.connection("Mara"), PATH, cookie=cookie)[0] == 401
