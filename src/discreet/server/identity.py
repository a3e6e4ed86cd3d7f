"""Who is asking: from the certificate of the connection, or from the session of a browser; otherwise the public.

Functions on plain data; ``sign_in.py`` ties them to starlette. The serial number of a certificate is looked up at every
request: one that is revoked is refused on a connection that is open already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hmac import compare_digest
from typing import TYPE_CHECKING, Protocol

from discreet.server.denied import Denied, who_are_you
from discreet.server.roles import STRONG, Role

if TYPE_CHECKING:
    from discreet.server.store.people import CertificateRow, Person
    from discreet.server.store.store import Store

COOKIE = "__Host-discreet"
CSRF_HEADER = "x-csrf-token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
NOBODY = frozenset({Role.PUBLIC})


class ShownCertificate(Protocol):
    """As much as is needed of the certificate that the connection was made with, which TLS found to be good."""

    @property
    def serial(self) -> str:
        """Serial number, in hexadecimal digits."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, in hexadecimal digits."""

    @property
    def not_after(self) -> datetime:
        """Until when it is valid."""


@dataclass(frozen=True)
class RequestData:
    """As much of a request as it takes to know who asks. Names of headers are in small letters."""

    method: str
    headers: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    """Of the other end of the connection, never from a header."""
    peer: ShownCertificate | None = None


@dataclass(frozen=True)
class Identity:
    """Who asks, with which roles, and how well that is proved."""

    principal_id: int | None
    name: str
    roles: frozenset[Role]
    auth_level: int = 0
    address: str = ""
    fingerprint: str | None = None
    token: str | None = field(default=None, repr=False)
    """Of the session, where the browser has one."""
    serial: str | None = None
    """Of the certificate of the connection."""
    purpose: str | None = None
    """What a signed request was for."""
    signed: str | None = field(default=None, repr=False)
    """The signed request itself."""

    @property
    def holder(self) -> str:
        """Whose budget and rate it is."""
        return f"address {self.address}" if self.principal_id is None else f"principal {self.principal_id}"


def who_asks(store: Store, request: RequestData) -> Identity:
    """Who asks.

    A certificate counts before a session, and a session that comes with another one than it began with is refused:
    whoever stole a cookie does not have the key.

    Raises
    ------
    Denied
        When a proof of identity is given and does not hold (401). Without any, the public asks.
    """
    token = session_token(request.headers.get("cookie", ""))
    by_certificate = None if request.peer is None else from_certificate(store, request.peer, request.address)
    if token is None:
        return by_certificate or Identity(None, "", NOBODY, 0, request.address)
    by_session = from_session(store, token, request.peer, request.address)
    if by_certificate is not None and by_certificate.principal_id != by_session.principal_id:
        raise who_are_you("other-certificate")
    return by_session


def from_certificate(store: Store, peer: ShownCertificate, address: str = "") -> Identity:
    """Who has this certificate, now.

    Raises
    ------
    Denied
        When it is unknown, suspended, revoked, expired, not for this, or its holder is not active.
    """
    row, person = _holder(store, peer, "client")
    return known(person, STRONG, address, row.fingerprint, None, row.serial)


def signed_by(store: Store, signer: ShownCertificate, who: Identity) -> None:
    """See that who signed a request is who sends it, with a certificate for signing that counts now.

    Raises
    ------
    Denied
        When it is somebody else's, unknown, suspended, revoked, expired or not for signing.
    """
    _, person = _holder(store, signer, "signature")
    if person.id != who.principal_id:
        raise who_are_you("other-signer")


def _holder(store: Store, peer: ShownCertificate, purpose: str) -> tuple[CertificateRow, Person]:
    """Whose certificate it is, where it counts for a purpose."""
    now = store.people.now()
    found = store.people.certificate(peer.serial)
    if found is None:
        raise who_are_you("unknown-certificate")
    row, person = found
    if not compare_digest(row.fingerprint.encode(), peer.fingerprint.encode("utf-8", "surrogatepass")):
        raise who_are_you("other-certificate")
    if row.state != "valid":
        raise who_are_you(f"{row.state}-certificate")
    if row.purpose != purpose:
        raise who_are_you("certificate-purpose")
    if not row.not_before <= now < min(row.not_after, peer.not_after.timestamp()):
        raise who_are_you("expired-certificate")
    if person.state != "active":
        raise who_are_you("not-active")
    return row, person


def from_session(store: Store, token: str, peer: ShownCertificate | None, address: str = "") -> Identity:
    """Who has this session, over a connection with this certificate or none.

    Raises
    ------
    Denied
        When it is over, or belongs to another certificate or to none.
    """
    row = store.sessions.find(token, None if peer is None else peer.fingerprint)
    return known(row.person, row.auth_level, address, row.fingerprint, token)


def known(
    person: Person, level: int, address: str, fingerprint: str | None, token: str | None, serial: str | None = None
) -> Identity:
    """Somebody who is in the store; without roles they may what everybody may."""
    return Identity(person.id, person.name, person.roles or NOBODY, level, address, fingerprint, token, serial)


def session_token(cookies: str) -> str | None:
    """The token of the session in a header of cookies; ``None`` where there is none."""
    return named_cookie(cookies, COOKIE)


def named_cookie(cookies: str, name: str) -> str | None:
    """The value of one cookie in a header of cookies; ``None`` where there is none.

    Raises
    ------
    Denied
        When there are two (one of them was slipped in), or none that we could have set.
    """
    pairs = [part.strip().partition("=") for part in cookies.split(";")]
    found = [value for given, equals, value in pairs if given == name and equals]
    if len(found) > 1:
        raise who_are_you("two-cookies")
    if not found:
        return None
    if not 0 < len(found[0]) <= 256 or not found[0].isascii():
        raise who_are_you("no-session")
    return found[0]


def set_cookie(token: str, seconds: int) -> str:
    """The header that gives a browser its session."""
    return f"{COOKIE}={token}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Strict"


def drop_cookie() -> str:
    """The header that takes it away."""
    return set_cookie("", 0)


def check_origin(request: RequestData, identity: Identity, origin: str) -> None:
    """Refuse what another page made a browser send.

    A browser adds cookies and certificates by itself, so that neither proves who wrote a request. What changes
    something must come from our own pages and, with a session, show the text that only they have. Programs that send
    neither ``Origin`` nor cookies are let through.

    Parameters
    ----------
    request, identity
        The request and who :func:`who_asks` found.
    origin
        Ours: ``https://tables.example.org``.

    Raises
    ------
    Denied
        When it comes from elsewhere, or its token is missing or wrong.
    """
    from discreet.server.store.sessions import csrf_holds

    if request.method.upper() in SAFE_METHODS:
        return
    given = request.headers.get("origin")
    if given is not None and given != origin:
        raise Denied("origin", "The request comes from another page.", hint="Use our own pages.")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Denied("origin", "The request comes from another page.", hint="Use our own pages.")
    if identity.token is None:
        return
    if given is None:
        raise Denied("origin", "The request does not say from which page it comes.", hint="Send Origin.")
    if not csrf_holds(identity.token, request.headers.get(CSRF_HEADER, "")):
        raise Denied("csrf", "The form is too old, or not ours.", hint="Load the page again.")


def start_session(store: Store, identity: Identity) -> str:
    """Begin a session for somebody who proved who they are, and end the one before; the header that sets its cookie.

    Raises
    ------
    Denied
        When nobody is known.
    """
    from discreet.server.store.sessions import LONGEST

    if identity.principal_id is None:
        raise who_are_you("nobody")
    token = store.sessions.start(
        identity.principal_id, identity.auth_level, fingerprint=identity.fingerprint, replaces=identity.token
    )
    return set_cookie(token, LONGEST)
