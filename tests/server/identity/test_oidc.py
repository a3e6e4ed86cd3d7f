"""Sign-in at an identity provider: who comes back is who went, and nobody else's token is taken."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("authlib")
pytest.importorskip("uvicorn")

import httpx
from joserfc.jwk import ECKey
from starlette.applications import Starlette

from discreet.errors import ParameterError
from discreet.server.denied import Denied
from discreet.server.oidc import FLOW_COOKIE, IdentityProvider, OutsidePerson, known_person
from discreet.server.roles import Role
from discreet.server.sign_in import SignIn
from discreet.server.store.people import Founder
from tests.server.identity.provider import CLIENT, SECRET, Provider, running, shared_key

ORIGIN = "https://tables.example.org"
BACK = f"{ORIGIN}/sign-in/callback"


@pytest.fixture(scope="module")
def there() -> Iterator[Provider]:
    made = Provider()
    with running(made):
        yield made


@pytest.fixture
def provider(there, monkeypatch) -> Provider:
    """The provider, honest at the beginning of each test."""
    for name, value in (("claims", {}), ("metadata", {}), ("signed_by", None), ("algorithm", "ES256")):
        monkeypatch.setattr(there, name, value)
    monkeypatch.setattr(there, "token_status", 200)
    return there


@pytest.fixture
def ours(provider) -> IdentityProvider:
    return IdentityProvider(provider.issuer, CLIENT, SECRET, BACK)


@pytest.fixture
def ada(store, provider) -> int:
    roles = [Role.REGISTERED, Role.OFFICER, Role.DATA_OWNER]
    number = store.people.found([Founder(role, f"{role}@example.org", role) for role in roles])[0]
    store.people.link_outside(number, provider.issuer, "ada-77")
    return number


def went_there(store, ours: IdentityProvider) -> tuple[dict[str, str], str]:
    """What a browser brings back: parameters of the address, and the secret of its cookie."""
    start = ours.begin(store)
    assert start.set_cookie.endswith("; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax")
    secret = start.set_cookie.partition(";")[0].removeprefix(f"{FLOW_COOKIE}=")
    assert secret not in start.url
    answer = httpx.get(start.url)
    assert answer.status_code == 302
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    return {name: values[0] for name, values in query.items()}, secret


def kind_of(store, ours, query, secret) -> str:
    with pytest.raises(Denied) as caught:
        ours.finish(store, query, secret)
    assert SECRET not in str(caught.value)
    return caught.value.kind


def test_whoever_comes_back_is_who_signed_in(store, ours, provider, ada):
    outside = ours.finish(store, *went_there(store, ours))
    assert outside == OutsidePerson(provider.issuer, "ada-77")
    found = known_person(store, outside)
    assert (found.principal_id, found.auth_level, found.roles) == (ada, 0, {Role.REGISTERED})


def test_somebody_whom_nobody_registered_has_no_rights(store, ours):
    with pytest.raises(Denied) as caught:
        known_person(store, OutsidePerson(ours.issuer, "stranger"))
    assert caught.value.kind == "unknown-person"


def test_an_answer_is_good_once(store, ours):
    query, secret = went_there(store, ours)
    ours.finish(store, query, secret)
    assert kind_of(store, ours, query, secret) == "oidc-state"


def test_an_answer_in_another_browser_is_refused(store, ours):
    query, _ = went_there(store, ours)
    _, other = went_there(store, ours)
    assert kind_of(store, ours, query, other) == "oidc-state"
    assert kind_of(store, ours, *went_there(store, ours)[:1], "") == "oidc-state"


def test_a_code_of_another_sign_in_is_refused_by_the_provider(store, ours):
    mine, secret = went_there(store, ours)
    others, _ = went_there(store, ours)
    assert kind_of(store, ours, {**mine, "code": others["code"]}, secret) == "oidc-token"


def test_an_answer_that_comes_too_late_is_refused(store, ours, clock):
    query, secret = went_there(store, ours)
    clock.time += 601
    assert kind_of(store, ours, query, secret) == "oidc-state"


def test_a_refusal_or_another_provider_is_noticed(store, ours):
    query, secret = went_there(store, ours)
    assert kind_of(store, ours, {"state": query["state"], "error": "access_denied"}, secret) == "oidc-refused"
    query, secret = went_there(store, ours)
    assert kind_of(store, ours, {**query, "iss": "https://evil.example"}, secret) == "oidc-issuer"


@pytest.mark.parametrize(
    ("claims", "kind"),
    [
        ({"aud": "another"}, "oidc-forged"),
        ({"aud": ["another", "third"], "azp": CLIENT}, "oidc-audience"),
        ({"iss": "https://evil.example"}, "oidc-forged"),
        ({"nonce": "of another sign-in"}, "oidc-forged"),
        ({"nonce": None}, "oidc-forged"),
        ({"exp": 1_800_000_000 - 301}, "oidc-forged"),
        ({"exp": None}, "oidc-forged"),
        ({"iat": 1_800_000_000 + 301}, "oidc-forged"),
        ({"sub": None}, "oidc-forged"),
        ({"sub": ""}, "oidc-forged"),
        ({"sub": "x" * 256}, "oidc-forged"),
        ({"azp": "another"}, "oidc-forged"),
    ],
)
def test_tokens_that_are_not_for_us_now_are_refused(store, ours, provider, claims, kind):
    provider.claims = claims
    assert kind_of(store, ours, *went_there(store, ours)) == kind


def test_a_token_signed_with_another_key_is_refused(store, ours, provider):
    provider.signed_by = ECKey.generate_key("P-256")
    assert kind_of(store, ours, *went_there(store, ours)) == "oidc-forged"


def test_a_token_signed_with_the_shared_secret_is_refused(store, ours, provider):
    provider.signed_by, provider.algorithm = shared_key(), "HS256"
    assert kind_of(store, ours, *went_there(store, ours)) == "oidc-forged"


@pytest.mark.parametrize(
    "metadata",
    [{"issuer": "https://evil.example"}, {"jwks_uri": None}, {"token_endpoint": 7}],
)
def test_a_provider_that_describes_another_is_refused(store, ours, provider, metadata):
    provider.metadata = metadata
    with pytest.raises(Denied) as caught:
        ours.begin(store)
    assert caught.value.kind == "oidc-provider"


def test_endpoints_in_the_open_are_refused(store, ours, provider):
    provider.metadata = {"token_endpoint": "http://id.example.org/token"}
    with pytest.raises(ParameterError, match="not https"):
        ours.begin(store)


def test_redirects_and_failures_of_the_provider_are_no_success(store, ours, provider):
    query, secret = went_there(store, ours)
    provider.metadata = {"jwks_uri": f"{provider.issuer}/elsewhere"}
    assert kind_of(store, ours, query, secret) == "oidc-provider"
    provider.metadata, provider.token_status = {}, 500
    assert kind_of(store, ours, *went_there(store, ours)) == "oidc-token"


def test_a_provider_that_is_not_there_is_said(store):
    with pytest.raises(Denied) as caught:
        IdentityProvider("http://127.0.0.1:1", CLIENT, SECRET, BACK).begin(store)
    assert caught.value.status == 503


@pytest.mark.parametrize("issuer", ["http://id.example.org", "ftp://127.0.0.1", "id.example.org"])
def test_a_provider_in_the_open_is_refused(issuer):
    with pytest.raises(ParameterError, match="not https"):
        IdentityProvider(issuer, CLIENT, SECRET, BACK)


def test_the_secret_is_not_shown(ours):
    assert SECRET not in repr(ours)


def test_over_http_from_the_first_page_to_the_last(store, ours, ada):
    app = Starlette(routes=SignIn(store, ORIGIN, ours).routes())
    transport = httpx.ASGITransport(app=app, client=("192.0.2.9", 1))

    async def whole() -> None:
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as browser:
            start = await browser.get("/sign-in")
            assert start.status_code == 303
            back = httpx.get(start.headers["location"]).headers["location"]
            done = await browser.get(back)
            assert (done.status_code, done.headers["location"]) == (303, "/")
            cookies = done.headers.get_list("set-cookie")
            assert any("__Host-discreet=" in text and "SameSite=Strict" in text for text in cookies)
            assert FLOW_COOKIE not in browser.cookies
            me = (await browser.get("/sign-in/me")).json()
            assert (me["roles"], me["auth_level"]) == (["registered"], 0)
            again = await browser.get(back)
            assert again.status_code == 401
            assert again.headers["content-type"] == "application/problem+json"
            out = {"origin": ORIGIN, "x-csrf-token": me["csrf"]}
            assert (await browser.post("/sign-out", headers={"origin": "https://evil.example"})).status_code == 403
            assert (await browser.post("/sign-out", headers={"origin": ORIGIN})).status_code == 403
            kept = browser.cookies["__Host-discreet"]
            assert (await browser.post("/sign-out", headers=out)).status_code == 204
            stale = await browser.get("/sign-in/me", headers={"cookie": f"__Host-discreet={kept}"})
            assert stale.status_code == 401
            statuses = [(await browser.get("/sign-in/callback")).status_code for _ in range(20)]
            assert statuses[0] == 401
            assert statuses[-1] == 429

    import anyio

    anyio.run(whole)
