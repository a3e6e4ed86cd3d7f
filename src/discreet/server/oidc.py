"""Sign-in through an identity provider (OpenID Connect): authorisation code with PKCE, state and nonce.

It proves no more than that somebody signed in there (level 0); confidential functions need a certificate. The browser
keeps one secret for the minutes that this takes, from which nonce and verifier follow; the database has digests only.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from discreet.errors import ParameterError, missing_extra
from discreet.server.denied import Denied
from discreet.server.identity import Identity, known

if TYPE_CHECKING:
    from discreet.server.store.store import Store

FLOW_COOKIE = "__Host-discreet-flow"
ALGORITHMS = ("RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
"""Signatures that are accepted: never one whose key both sides have, never none."""
LARGEST = 2**20
"""Bytes of an answer of the provider."""
PATIENCE = 10.0
SKEW = 300
"""Seconds that clocks may differ by."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class OutsidePerson(NamedTuple):
    """Somebody as the provider knows them."""

    issuer: str
    subject: str


class SignInStart(NamedTuple):
    """Where to send a browser, and the cookie that it must bring back."""

    url: str
    set_cookie: str


def _refused(kind: str) -> Denied:
    return Denied(kind, "The sign-in did not succeed.", hint="Begin again from our own page.", status=401)


def refuse_plain(url: str) -> None:
    """Refuse addresses that are not encrypted, but for this machine.

    Raises
    ------
    ParameterError
        When somebody on the way could read or change what is said.
    """
    parts = urlsplit(url)
    try:
        near = ip_address(parts.hostname or "").is_loopback
    except ValueError:
        near = False
    if parts.scheme != "https" and not (parts.scheme == "http" and near):
        raise ParameterError("The address of an identity provider is not https.", hint="Give one that is.")


@dataclass(frozen=True)
class IdentityProvider:
    """An identity provider at which this server is registered.

    Parameters
    ----------
    issuer
        Its address, as it calls itself: ``https://id.example.org``.
    client_id, client_secret
        What it calls this server, and the secret that it shares with it.
    redirect_uri
        Where it sends browsers back to: our ``/sign-in/callback``.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    redirect_uri: str

    def __post_init__(self) -> None:
        refuse_plain(self.issuer)

    def begin(self, store: Store) -> SignInStart:
        """Begin a sign-in.

        Raises
        ------
        Denied
            When the provider cannot be reached, or is another than it says.
        """
        secret = secrets.token_urlsafe(32)
        state = store.one_times.make("oidc", _digest("browser", secret))
        with self._session() as session:
            found = self._metadata(session)
            url, _ = session.create_authorization_url(
                found["authorization_endpoint"],
                state=state,
                nonce=_digest("nonce", secret),
                code_verifier=_digest("verifier", secret),
            )
        # The provider sends the browser back from another site, which a strict cookie would not survive.
        cookie = f"{FLOW_COOKIE}={secret}; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax"
        return SignInStart(str(url), cookie)

    def finish(self, store: Store, query: Mapping[str, str], secret: str) -> OutsidePerson:
        """Who signed in, from what the provider sent the browser back with and the secret in its cookie.

        Raises
        ------
        Denied
            When anything of it does not fit: another browser, a second time, another provider, a forged token.
        """
        kept = store.one_times.use("oidc", query.get("state", ""))
        if kept is None or not secrets.compare_digest(kept, _digest("browser", secret)):
            raise _refused("oidc-state")
        if query.get("iss", self.issuer) != self.issuer:
            raise _refused("oidc-issuer")
        if "error" in query or not query.get("code"):
            raise _refused("oidc-refused")
        with self._session() as session:
            found = self._metadata(session)
            token = self._token(session, found["token_endpoint"], query["code"], secret)
            keys = _fetched(session, found["jwks_uri"])
        return self._person(token, keys, secret, store.one_times.now())

    def _session(self) -> Any:
        try:
            from authlib.integrations.requests_client import OAuth2Session
        except ImportError as error:
            raise missing_extra(str(error.name), "server", "Sign-in through an identity provider") from None
        session = OAuth2Session(
            self.client_id,
            self.client_secret,
            scope="openid email",
            redirect_uri=self.redirect_uri,
            code_challenge_method="S256",
        )
        session.trust_env = False  # no password of another file for these addresses
        return session

    def _metadata(self, session: Any) -> dict[str, Any]:
        found = _fetched(session, f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self.issuer or not all(isinstance(found.get(name), str) for name in ENDPOINTS):
            raise _refused("oidc-provider")
        for name in ENDPOINTS:
            refuse_plain(found[name])
        return found

    def _token(self, session: Any, endpoint: str, code: str, secret: str) -> dict[str, Any]:
        from authlib.common.errors import AuthlibBaseError

        try:
            verifier = _digest("verifier", secret)
            token = session.fetch_token(
                endpoint, code=code, code_verifier=verifier, timeout=PATIENCE, allow_redirects=False
            )
        except (AuthlibBaseError, OSError, ValueError):
            raise _refused("oidc-token") from None
        if not isinstance(token.get("id_token"), str) or len(token["id_token"]) > LARGEST:
            raise _refused("oidc-token")
        return dict(token)

    def _person(self, token: dict[str, Any], keys: dict[str, Any], secret: str, now: int) -> OutsidePerson:
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        try:
            read = jwt.decode(token["id_token"], KeySet.import_key_set(keys), list(ALGORITHMS))  # type: ignore[arg-type]
            options = {"iss": {"essential": True, "value": self.issuer}, "aud": {"essential": True}}
            params = {
                "nonce": _digest("nonce", secret),
                "client_id": self.client_id,
                "access_token": token.get("access_token"),
            }
            claims = CodeIDToken(read.claims, read.header, options, params)
            claims.validate(now, SKEW)
        except (JoseError, ValueError, KeyError, TypeError, AttributeError):
            raise _refused("oidc-forged") from None
        audience = claims["aud"]
        if self.client_id not in (audience if isinstance(audience, list) else [audience]):
            raise _refused("oidc-audience")
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise _refused("oidc-forged")
        return OutsidePerson(self.issuer, subject)


def _digest(purpose: str, secret: str) -> str:
    from discreet.server.store.part import digest_of

    return digest_of(f"oidc {purpose}", secret)


def _fetched(session: Any, url: str) -> dict[str, Any]:
    """A JSON object from an address of the provider; no redirects, no large answers."""
    try:
        with session.request(
            "GET", url, withhold_token=True, timeout=PATIENCE, allow_redirects=False, stream=True
        ) as answer:
            raw = answer.raw.read(LARGEST + 1, decode_content=True)
            found = json.loads(raw) if answer.status_code == 200 and len(raw) <= LARGEST else None
    except (OSError, ValueError, RecursionError):
        raise Denied(
            "oidc-provider",
            "The identity provider does not answer.",
            hint="Try again later, or sign in with your certificate.",
            status=503,
        ) from None
    if not isinstance(found, dict):
        raise _refused("oidc-provider")
    return found


def known_person(store: Store, outside: OutsidePerson, address: str = "") -> Identity:
    """Who somebody is here that signed in at the provider: level 0. Nobody is made known by signing in.

    Raises
    ------
    Denied
        When an officer has not entered them, or they are not active.
    """
    person = store.people.known_outside(*outside)
    if person is None or person.state != "active":
        raise Denied("unknown-person", "You are not registered here.", hint="Ask the office to register you.")
    return known(person, 0, address, None, None)
