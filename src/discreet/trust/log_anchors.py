"""Time-stamps of an outside authority (RFC 3161) on signed heads, through the package ``rfc3161-client``.

Nothing goes over the network from here: the request is a file that its owner sends to an authority, and the answer a
file that comes back. An anchor joins head, request and answer in one file, which belongs elsewhere than the log.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, VerificationError, missing_extra
from discreet.trust.log_verify.lines import NotALine, as_json, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.x509 import Certificate

LARGEST = 1_000_000
ANCHOR_PARTS = {"head", "request", "response"}
SHA256 = "2.16.840.1.101.3.4.2.1"
CHECKED = (
    "the authority granted the request",
    "the answer is to this request (nonce) and about this head and its signature (SHA-256)",
    "the answer's signature is of a certificate for time-stamping that a given root certifies at the stamped time",
)
"""What :func:`check_anchor` checks. Whether the certificate was revoked is not asked: that takes a network."""


def stamp_request(head: bytes) -> bytes:
    """The request for a time-stamp on a signed head, to be sent to an authority.

    Parameters
    ----------
    head
        The head, as ``discreet log head`` prints it.
    """
    client = _client()
    message = _stamped(as_json(_head_of(head)))
    builder = client.TimestampRequestBuilder().data(message).hash_algorithm(client.HashAlgorithm.SHA256)
    return bytes(builder.build().as_bytes())


def make_anchor(head: bytes, request: bytes, response: bytes, roots: Sequence[Certificate]) -> tuple[bytes, datetime]:
    """An anchor that holds, as bytes for a file, and the time that it stamps.

    Raises
    ------
    VerificationError
        When the answer is not what :data:`CHECKED` says.
    """
    anchor = as_json(
        {
            "head": _head_of(head),
            "request": base64.b64encode(request).decode(),
            "response": base64.b64encode(response).decode(),
        }
    )
    _, time = check_anchor(anchor, roots)
    return anchor + b"\n", time


def check_anchor(anchor: bytes, roots: Sequence[Certificate]) -> tuple[bytes, datetime]:
    """The head of an anchor, for ``check_log``, and the time that an authority stamped on it.

    Parameters
    ----------
    anchor
        What :func:`make_anchor` gave.
    roots
        Certificates of authorities that are trusted.

    Raises
    ------
    VerificationError
        When the answer is not what :data:`CHECKED` says.
    """
    client = _client()
    head, request, response = _parts(anchor)
    try:
        asked = client._rust.parse_timestamp_request(request)
        told = client.decode_timestamp_response(response)
    except ValueError:
        raise _refused("request or answer cannot be read") from None
    message = _stamped(head)
    imprint = asked.message_imprint
    if imprint.hash_algorithm.dotted_string != SHA256 or imprint.message != hashlib.sha256(message).digest():
        raise _refused("the request is about another head")
    if asked.nonce is None:
        raise _refused("the request has no nonce")
    builder = client.VerifierBuilder(nonce=asked.nonce, roots=list(roots))
    try:
        builder.build().verify_message(told, message)
    except client.VerificationError as error:
        raise _refused(str(error)) from None
    except ValueError as error:
        raise _refused(str(error)) from None
    return head, told.tst_info.gen_time.astimezone(UTC)


def read_roots(path: str | Path) -> list[Certificate]:
    """Certificates of time-stamping authorities from a PEM file."""
    from cryptography.x509 import load_pem_x509_certificates

    path = Path(path)
    try:
        return load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError):
        raise InputError(
            f"The file {path.name!r} holds no certificates.", hint="Give the authority's root certificates in PEM."
        ) from None


def _head_of(data: bytes) -> dict[str, Any]:
    """The head of a file, its signature not yet checked."""
    try:
        value = whole(data.rstrip(b"\r\n"))
        if set(value) != {"head", "signature"}:
            raise NotALine("it has other parts than a head")
    except NotALine:
        raise InputError(
            "The file holds no signed head.", hint="Make one: discreet log head FOLDER > head.json"
        ) from None
    return value


def _stamped(head: bytes) -> bytes:
    """What is stamped: the head with its signature."""
    return b"discreet log anchor 1\0" + head


def _parts(anchor: bytes) -> tuple[bytes, bytes, bytes]:
    try:
        value = whole(anchor.rstrip(b"\r\n")) if len(anchor) <= LARGEST else {}
        if set(value) != ANCHOR_PARTS:
            raise NotALine("it has other parts than an anchor")
        request, response = (base64.b64decode(value[part], validate=True) for part in ("request", "response"))
    except (NotALine, binascii.Error, TypeError, ValueError):
        raise InputError(
            "The file holds no anchor of a log.", hint="Give a file that discreet log anchor has written."
        ) from None
    return as_json(value["head"]), request, response


def _refused(why: str) -> VerificationError:
    return VerificationError(
        f"The time-stamp does not hold: {why}.", hint="Ask the authority again, with a new request; check its root."
    )


def _client() -> Any:
    try:
        import rfc3161_client
    except ModuleNotFoundError:
        raise missing_extra("rfc3161-client", "anchors", "Anchoring a log by time-stamps") from None
    return rfc3161_client
