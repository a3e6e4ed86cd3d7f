"""Numbers as owners add them up: fixed point, modulo 2^128, in two halves of 64 bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.private.problems import ProtocolError

SCALE_BITS = 40
"""Bits behind the point."""
BITS = 128
Halves = NDArray[np.uint64]
"""Numbers modulo 2^128: one row each, lower half first."""


def to_halves(values: NDArray[np.float64], owners: int, scale_bits: int = SCALE_BITS) -> Halves:
    """Round numbers to fixed point.

    Raises
    ------
    InputError
        When one is missing or infinite.
    ProtocolError
        ``number too large`` when the sum of all owners might not fit.
    """
    plain = np.asarray(values, dtype=np.float64).ravel()
    if not np.isfinite(plain).all():
        raise InputError(
            "A sum has a missing or infinite number.", hint="Leave out or fill in missing values; nothing was sent."
        )
    scaled = np.rint(np.ldexp(np.abs(plain), scale_bits))
    if scaled.size and scaled.max() * owners >= 2.0 ** (BITS - 1):
        raise ProtocolError(
            "number too large",
            f"A sum of {owners} owners may not fit into {BITS} bits with {scale_bits} behind the point.",
            hint="Use larger units, or fewer scale_bits; nothing was sent.",
        )
    upper = np.floor(np.ldexp(scaled, -64))
    lower = scaled - np.ldexp(upper, 64)
    found = np.stack([lower.astype(np.uint64), upper.astype(np.uint64)], axis=1)
    return np.where((plain < 0)[:, None], negative(found), found)


def from_halves(numbers: Halves, scale_bits: int = SCALE_BITS) -> NDArray[np.float64]:
    """The numbers again; those above the middle are negative."""
    below = numbers[:, 1] >> np.uint64(63) == 1
    size = np.where(below[:, None], negative(numbers), numbers)
    plain = np.ldexp(size[:, 1].astype(np.float64), 64) + size[:, 0].astype(np.float64)
    return np.ldexp(np.where(below, -plain, plain), -scale_bits)


def plus(one: Halves, other: Halves) -> Halves:
    """The sum, modulo 2^128."""
    found = one + other
    found[:, 1] += found[:, 0] < one[:, 0]
    return found


def minus(one: Halves, other: Halves) -> Halves:
    """The difference, modulo 2^128."""
    found = one - other
    found[:, 1] -= one[:, 0] < other[:, 0]
    return found


def negative(numbers: Halves) -> Halves:
    """The numbers with which these add up to 0."""
    return minus(np.zeros_like(numbers), numbers)


def to_bytes(numbers: Halves) -> bytes:
    """16 bytes a number."""
    return numbers.astype("<u8", copy=False).tobytes()


def from_bytes(body: bytes, count: int, sender: str) -> Halves:
    """Numbers that somebody sent."""
    if len(body) != 16 * count:
        raise ProtocolError(
            "wrong length",
            f"{sender} sent {len(body):,} bytes where {count:,} numbers need {16 * count:,}.",
            hint="Are all owners in the same round of the same model?",
        )
    return np.frombuffer(body, "<u8").reshape(count, 2).astype(np.uint64)
