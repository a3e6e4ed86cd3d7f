"""The group that identifiers and data are hidden in: ristretto255, by libsodium (``rbcl``)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from discreet.errors import missing_extra
from discreet.private.parties.randomness import SecretDraws
from discreet.private.problems import ProtocolError

POINT = 32
SALT = 8
PAYLOAD = 21
"""Data bytes of a block; the rest of its 32 are salt and what makes it a point."""
IDENTITY = bytes(POINT)
TRIES = 128 * 128
AGAIN = "Nothing of this run is used; start again."


def library() -> Any:
    """The library, or which extra is missing."""
    try:
        import rbcl
    except ImportError:
        raise missing_extra("rbcl", "private", "A private union") from None
    return rbcl


def hash_to_group(fields: Sequence[str], domain: str) -> bytes:
    """The point of an identifier; parts cannot run into each other."""
    parts = [one.encode() for one in (domain, *fields)]
    text = b"".join(len(one).to_bytes(4, "big") + one for one in parts)
    found: bytes = library().crypto_core_ristretto255_from_hash(hashlib.sha512(text).digest())
    return found


def secret_scalar(draws: SecretDraws, *purpose: str) -> bytes:
    """A secret number below the order of the group, not 0."""
    found: bytes = library().crypto_core_ristretto255_scalar_reduce(draws.take(64, *purpose))
    assert found != IDENTITY  # happens once in 2^252 runs
    return found


def inverse(scalar: bytes) -> bytes:
    """The number that undoes a multiplication."""
    found: bytes = library().crypto_core_ristretto255_scalar_invert(scalar)
    return found


def times(scalar: bytes, points: Iterable[bytes]) -> list[bytes]:
    """Multiply all points, in constant time each.

    Raises
    ------
    ProtocolError
        ``element outside the group``.
    """
    multiply = library().crypto_scalarmult_ristretto255
    try:
        return [multiply(scalar, point) for point in points]
    except RuntimeError:
        raise ProtocolError("element outside the group", "A number that was sent is no point.", hint=AGAIN) from None


def added(one: bytes, other: bytes) -> bytes:
    """The sum of two points."""
    found: bytes = library().crypto_core_ristretto255_add(one, other)
    return found


def base_times(scalar: bytes) -> bytes:
    """The multiple of the base point; that of 0 is the neutral element."""
    found: bytes = library().crypto_scalarmult_ristretto255_base_allow_scalar_zero(scalar)
    return found


def random_points(draws: SecretDraws, count: int, *purpose: str) -> list[bytes]:
    """Points that nobody can tell from encrypted data."""
    stream, make = draws.take(64 * count, *purpose), library().crypto_core_ristretto255_from_hash
    return [make(stream[k : k + 64]) for k in range(0, len(stream), 64)]


def points_of(body: bytes, count: int, sender: str, what: str) -> list[bytes]:
    """Points that somebody sent, each seen to be one.

    Raises
    ------
    ProtocolError
        ``wrong row count`` or ``element outside the group``.
    """
    if len(body) != POINT * count:
        raise ProtocolError(
            "wrong row count",
            f"{sender} sent {len(body):,} bytes as {what}, where {POINT * count:,} are expected.",
            hint=AGAIN,
        )
    found = [body[k : k + POINT] for k in range(0, len(body), POINT)]
    valid = library().crypto_core_ristretto255_is_valid_point
    for point in found:
        if point == IDENTITY or not valid(point):
            raise ProtocolError("element outside the group", f"{sender} sent no point in {what}.", hint=AGAIN)
    return found


def to_point(payload: bytes, salt: bytes) -> bytes:
    """A block of data as a point: the first of many forms of it that is one."""
    valid = library().crypto_core_ristretto255_is_valid_point
    middle = salt + payload + b"\0"
    for c in range(1, TRIES):
        block = bytes([2 * (c % 128)]) + middle + bytes([c // 128])
        if valid(block) and block != IDENTITY:
            return block
    raise AssertionError("no form of a block is a point")  # 3/4 to the power of 16,383


def from_point(point: bytes) -> bytes:
    """The data of a block.

    Raises
    ------
    ProtocolError
        ``tampered`` when no data were ever put into this point.
    """
    if point[30] != 0 or point[31] > 127 or point[0] & 1:
        raise ProtocolError("tampered", "A data field does not hold data.", hint=AGAIN)
    return point[1 + SALT : 1 + SALT + PAYLOAD]
