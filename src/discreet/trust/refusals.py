"""Why a certificate, a connection or a request is refused: names for logs, texts for people."""

from __future__ import annotations

import ssl
from enum import StrEnum
from typing import Any

from discreet.errors import InputError


class WhyRefused(StrEnum):
    """What is wrong with a certificate, a list of revoked ones, or a signed request."""

    NO_CERTIFICATE = "no certificate"
    EXPIRED = "certificate expired"
    NOT_YET_VALID = "certificate not yet valid"
    REVOKED = "certificate revoked"
    SUSPENDED = "certificate suspended"
    WRONG_PURPOSE = "certificate for another purpose"
    UNKNOWN_AUTHORITY = "unknown authority"
    WRONG_HOST = "certificate of another host"
    BAD_AUTHORITIES = "authorities cannot be used"
    ROOT_KEY_PRESENT = "root key present"
    NO_CRL = "no revocation list"
    CRL_EXPIRED = "revocation list expired"
    CRL_NOT_YET_VALID = "revocation list not yet valid"
    CRL_FORGED = "revocation list of somebody else"
    CRL_NOT_LATER = "revocation list not later than the one in use"
    OLD_PROTOCOL = "protocol older than TLS 1.3"
    MALFORMED = "malformed request"
    BAD_SIGNATURE = "signature does not fit"
    OTHER_BODY = "body altered"
    OTHER_ADDRESS = "method or path altered"
    OTHER_USER = "certificate of another user"
    OTHER_DATA = "another version of the data"
    TOO_OLD = "time too far off"
    REPLAYED = "request seen before"
    OTHER = "handshake failed"


class TrustRefusal(InputError):
    """A certificate, list or request is refused; ``refusal`` says why.

    Parameters
    ----------
    refusal
        Why.
    message
        The same for people, with what it is about.
    hint
        What to do next.
    """

    def __init__(self, refusal: WhyRefused, message: str, *, hint: str = "") -> None:
        self.refusal = refusal
        super().__init__(message, hint=hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuilt, (self.refusal, self.message, self.hint))


def _rebuilt(refusal: WhyRefused, message: str, hint: str) -> TrustRefusal:
    return TrustRefusal(refusal, message, hint=hint)


VERIFY_CODES = {
    2: WhyRefused.UNKNOWN_AUTHORITY,
    3: WhyRefused.NO_CRL,
    9: WhyRefused.NOT_YET_VALID,
    10: WhyRefused.EXPIRED,
    11: WhyRefused.CRL_NOT_YET_VALID,
    12: WhyRefused.CRL_EXPIRED,
    18: WhyRefused.UNKNOWN_AUTHORITY,
    19: WhyRefused.UNKNOWN_AUTHORITY,
    20: WhyRefused.UNKNOWN_AUTHORITY,
    21: WhyRefused.UNKNOWN_AUTHORITY,
    23: WhyRefused.REVOKED,
    26: WhyRefused.WRONG_PURPOSE,
    62: WhyRefused.WRONG_HOST,
    64: WhyRefused.WRONG_HOST,
}
"""What OpenSSL calls them by number (X509_V_ERR). A suspended certificate is a revoked one to it."""
REASON_WORDS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": WhyRefused.NO_CERTIFICATE,
    "UNSUPPORTED_PROTOCOL": WhyRefused.OLD_PROTOCOL,
    "NO_SHARED_CIPHER": WhyRefused.OLD_PROTOCOL,
    "WRONG_VERSION_NUMBER": WhyRefused.OLD_PROTOCOL,
}


def handshake_refusal(error: ssl.SSLError) -> WhyRefused:
    """Why a handshake was refused, as the side that refused it sees it.

    Examples
    --------
    >>> handshake_refusal(ssl.SSLError(1, "something else")).value
    'handshake failed'
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return VERIFY_CODES.get(error.verify_code, WhyRefused.OTHER)
    return REASON_WORDS.get(getattr(error, "reason", None) or "", WhyRefused.OTHER)
