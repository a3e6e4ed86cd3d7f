"""Signed requests: who asked what of which data, for what purpose, when; nobody can alter, repeat or deny it.

A signed request is a JWS (RFC 7515, compact, ES256 or EdDSA) with the signer's certificate in its head. Its payload
names method, path, digest of the body, user, version of the data, purpose, nonce and time in one canonical spelling;
the server compares each with what has come in.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from discreet.errors import InputError, ParameterError, ResourceError
from discreet.trust.certificates import require_cryptography, unreadable
from discreet.trust.peer import PeerCertificate
from discreet.trust.refusals import TrustRefusal, WhyRefused
from discreet.trust.trusted import TrustedAuthorities

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    Signer = EllipticCurvePrivateKey | Ed25519PrivateKey

HEADER = "discreet-signature"
"""The header of HTTP that carries it."""
TYPE = "discreet-request"
TOLERANCE = timedelta(minutes=5)
"""How far the clocks of client and server may lie apart."""
LARGEST = 16_384
"""Bytes of a signed request, without the body."""
NONCE = re.compile(r"[A-Za-z0-9_-]{22,86}")
METHOD = re.compile(r"[A-Z]{3,16}")
DIGEST = re.compile(r"[0-9a-f]{64}")
MOST_NONCES = 1_000_000


class RequestToSign(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked, before it is signed.

    Parameters
    ----------
    method, path
        Of the request; the path with its question mark and all that follows.
    body
        SHA-256 of the body, in hexadecimal digits.
    user
        E-mail address or URI of who asks, as the certificate has it.
    dataset
        Version of the data that is asked.
    purpose
        What for: the project, in words or as a number.
    nonce
        Random letters that no other request has.
    time
        When, in seconds since 1970 (UTC).
    """

    method: str
    path: str
    body: str
    user: str
    dataset: str
    purpose: str
    nonce: str
    time: int


class RequestHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The head of a JWS: how it is signed, what it is, and whose certificate it goes by."""

    alg: str
    typ: str
    x5c: tuple[str]


@dataclass(frozen=True)
class CheckedRequest:
    """A request whose signature, certificate, time and nonce were found to be right."""

    request: RequestToSign
    signer: PeerCertificate
    text: str
    """The signed request itself: what proves it later."""


class Nonces(Protocol):
    """Remembers nonces until their time is over, for all processes of a server together."""

    def first_seen(self, nonce: str, until: datetime) -> bool:
        """Note a nonce and say whether it is new; both in one step."""
        ...


class MemoryNonces:
    """Nonces in the memory of one process.

    Parameters
    ----------
    clock
        What tells the time, in UTC.
    most
        How many are remembered; beyond that requests are refused, not forgotten.

    Examples
    --------
    >>> seen, end = MemoryNonces(), datetime(2999, 1, 1, tzinfo=UTC)
    >>> seen.first_seen("a", end), seen.first_seen("a", end)
    (True, False)
    """

    def __init__(self, clock: Callable[[], datetime] | None = None, most: int = MOST_NONCES) -> None:
        self._clock = clock or (lambda: datetime.now(UTC))
        self._most = most
        self._until: dict[str, datetime] = {}
        self._lock = Lock()

    def first_seen(self, nonce: str, until: datetime) -> bool:
        """Note a nonce and say whether it is new."""
        with self._lock:
            if nonce in self._until:
                return False
            if len(self._until) >= self._most:
                now = self._clock()
                self._until = {one: end for one, end in self._until.items() if end > now}
            if len(self._until) >= self._most:
                raise ResourceError("Too many requests came within minutes.", hint="Try again in some minutes.")
            self._until[nonce] = until
            return True


def body_digest(body: bytes) -> str:
    """The digest of a body, as a request names it."""
    return hashlib.sha256(body).hexdigest()


def new_request(
    method: str, path: str, body: bytes, *, user: str, dataset: str, purpose: str, now: datetime | None = None
) -> RequestToSign:
    """A request to be signed, with a nonce and the time.

    Examples
    --------
    >>> request = new_request("GET", "/tables?by=sex", b"", user="ada@example.org", dataset="v1", purpose="thesis")
    >>> len(request.nonce)
    32
    """
    moment = now or datetime.now(UTC)
    request = RequestToSign(
        method, path, body_digest(body), user, dataset, purpose, secrets.token_urlsafe(24), int(moment.timestamp())
    )
    if not _well_formed(request):
        raise ParameterError(
            "The request cannot be signed.", hint="Give a method such as GET, a path that begins with /, and a purpose."
        )
    return request


def canonical(request: RequestToSign) -> bytes:
    """The one spelling of a request: JSON in ASCII order of its keys, without blanks."""
    return msgspec.json.encode(request, order="sorted")


def sign_request(request: RequestToSign, key: Signer, certificate: bytes) -> str:
    """Sign a request with the key of a signing certificate.

    Parameters
    ----------
    request
        What is asked.
    key
        The signing key: P-256 or Ed25519.
    certificate
        Its certificate, as DER or PEM.

    Returns
    -------
    str
        The value of the header ``discreet-signature``.
    """
    require_cryptography("Signing requests")
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    pem = certificate.lstrip().startswith(b"-----")
    try:
        own = x509.load_pem_x509_certificate(certificate) if pem else x509.load_der_x509_certificate(certificate)
        fits = own.public_key() == key.public_key()
    except unreadable():
        raise InputError("The certificate cannot be read.", hint="Give the signing certificate, PEM or DER.") from None
    if not fits:
        raise InputError("The key is not the one of the certificate.", hint="Give key and certificate of one pair.")
    der = own.public_bytes(Encoding.DER)
    head = RequestHead(_algorithm(own.public_key()), TYPE, (base64.b64encode(der).decode(),))
    signed = f"{_letters(msgspec.json.encode(head, order='sorted'))}.{_letters(canonical(request))}"
    return f"{signed}.{_letters(_sign(key, signed.encode()))}"


def check_request(
    text: str,
    *,
    method: str,
    path: str,
    body: bytes,
    dataset: str,
    trusted: TrustedAuthorities,
    nonces: Nonces,
    now: datetime | None = None,
) -> CheckedRequest:
    """Check a signed request against what has come in.

    Parameters
    ----------
    text
        The value of the header.
    method, path, body, dataset
        What has come in; the path with its question mark and all that follows.
    trusted
        Authorities and lists: ``context.trusted``.
    nonces
        What remembers nonces. It is asked last, so that nobody can use up those of others.
    now
        The time; the clock's when left out.

    Raises
    ------
    TrustRefusal
        When anything is wrong; ``refusal`` says what.
    """
    moment = now or datetime.now(UTC)
    head, request, signed, signature = _parsed(text)
    signer, why = _signer(head, trusted, moment, signed, signature)
    if why is not None:
        raise _refused(why)
    sent = datetime.fromtimestamp(request.time, UTC)
    checks = (
        (request.body == body_digest(body), WhyRefused.OTHER_BODY),
        ((request.method, request.path) == (method, path), WhyRefused.OTHER_ADDRESS),
        (request.user in {signer.email, *signer.uris} - {""}, WhyRefused.OTHER_USER),
        (request.dataset == dataset, WhyRefused.OTHER_DATA),
        (abs(sent - moment) <= TOLERANCE, WhyRefused.TOO_OLD),
    )
    for holds, otherwise in checks:
        if not holds:
            raise _refused(otherwise)
    if not nonces.first_seen(f"{signer.fingerprint}:{request.nonce}", sent + 2 * TOLERANCE):
        raise _refused(WhyRefused.REPLAYED)
    return CheckedRequest(request, signer, text)


def _parsed(text: str) -> tuple[RequestHead, RequestToSign, bytes, bytes]:
    """The parts of a signed request, in their one spelling."""
    parts = text.split(".")
    if len(text) > LARGEST or len(parts) != 3:
        raise _refused(WhyRefused.MALFORMED)
    try:
        raw = [_bytes(part) for part in parts]
        head = msgspec.json.decode(raw[0], type=RequestHead)
        request = msgspec.json.decode(raw[1], type=RequestToSign)
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise _refused(WhyRefused.MALFORMED) from None
    if head.typ != TYPE or not _well_formed(request) or canonical(request) != raw[1]:
        raise _refused(WhyRefused.MALFORMED)
    return head, request, f"{parts[0]}.{parts[1]}".encode(), raw[2]


def _signer(
    head: RequestHead, trusted: TrustedAuthorities, now: datetime, signed: bytes, signature: bytes
) -> tuple[PeerCertificate, WhyRefused | None]:
    """Whose certificate it is, and why it does not count, or did not sign this."""
    from cryptography import x509

    try:
        der = base64.b64decode(head.x5c[0], validate=True)
        certificate, signer = x509.load_der_x509_certificate(der), PeerCertificate.from_der(der)
        public = certificate.public_key()
    except unreadable(InputError):
        raise _refused(WhyRefused.MALFORMED) from None
    why = trusted.refusal(certificate, "signing", now)
    if why is None and (head.alg != _algorithm(public) or not _signed(public, signed, signature)):
        why = WhyRefused.BAD_SIGNATURE
    return signer, why


def _well_formed(request: RequestToSign) -> bool:
    texts = (request.path, request.user, request.dataset, request.purpose)
    return (
        METHOD.fullmatch(request.method) is not None
        and request.path.startswith("/")
        and DIGEST.fullmatch(request.body) is not None
        and NONCE.fullmatch(request.nonce) is not None
        and all(0 < len(text) <= 2048 and text.isprintable() for text in texts)
        and 0 <= request.time < 2**40
    )


def _algorithm(public: Any) -> str:
    """How a key signs, in the words of JWS; empty for keys that do not sign requests."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    if isinstance(public, ed25519.Ed25519PublicKey):
        return "EdDSA"
    if isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name == "secp256r1":
        return "ES256"
    return ""


def _sign(key: Any, data: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    algorithm = _algorithm(key.public_key())
    if algorithm == "EdDSA":
        return bytes(key.sign(data))
    if algorithm != "ES256":
        raise InputError("Keys of this kind do not sign requests.", hint="Use a key on P-256 or Ed25519.")
    r, s = decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def _signed(public: Any, data: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    try:
        if _algorithm(public) == "EdDSA":
            public.verify(signature, data)
        elif _algorithm(public) == "ES256" and len(signature) == 64:
            r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
            public.verify(encode_dss_signature(r, s), data, ec.ECDSA(hashes.SHA256()))
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _letters(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(letters: str) -> bytes:
    """What letters stand for; only in the one spelling that :func:`_letters` gives."""
    try:
        data = base64.b64decode(letters + "=" * (-len(letters) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("no base64url") from None
    if _letters(data) != letters:
        raise ValueError("another spelling")
    return data


def _refused(why: WhyRefused) -> TrustRefusal:
    return TrustRefusal(why, f"The signed request is refused: {why.value}.", hint="Sign it anew with a current key.")
