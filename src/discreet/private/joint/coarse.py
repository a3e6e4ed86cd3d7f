"""Products of columns of two owners, opened to so many digits and no more.

An owner knows its own numbers of every person. From a sum of them over the persons of a code of the other, told to the
last digit, it could find out which persons these are: few sets of persons have that sum. So products are opened to few
digits, and only where many more arrangements of a column fit them than one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.private.joint.fixed_point import BITS, Halves
from discreet.private.joint.values import FEW
from discreet.private.problems import ProtocolError

KEPT = 26
"""Bits behind the point of a product of columns whose squares are about 1 on average."""
SPARE = 64
"""Bits of arrangements that must be left open by all products of a column."""


def powers_of(squares: NDArray[np.float64], rows: int, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Powers of two that bring columns to a mean square of about 1; columns of 0 and 1 stay as they are."""
    with np.errstate(divide="ignore"):
        found = np.rint(np.log2(squares / rows) / 2)
    return np.where(flags | ~np.isfinite(found), 0, found).astype(np.int64)


def cut_off(part: Halves, scale_bits: int, first: bool) -> Halves:
    """This owner's part of products without its lower bits, so that both parts add up to what is left, or one more."""
    drop, whole = 2 * scale_bits - KEPT, 2**BITS
    found = []
    for lower, upper in part.tolist():
        one = (upper << 64) + lower
        one = one >> drop if first else (-((-one % whole) >> drop)) % whole
        found.append((one & (2**64 - 1), one >> 64))
    return np.array(found, dtype=np.uint64).reshape(-1, 2)


def require_open(name: str, values: NDArray[np.float64], others: int, me: str) -> None:
    """Refuse a column of which so few arrangements are possible that products with the other's columns could tell one.

    Values of codes can be guessed; those of columns of many numbers count as unknown besides.

    Raises
    ------
    ProtocolError
        ``not safe to reveal``.
    """
    counts = np.unique(values, return_counts=True)[1].tolist()
    arrangements = math.lgamma(len(values) + 1) - sum(math.lgamma(count + 1) for count in counts)
    unknown = arrangements / math.log(2) + KEPT * max(0, len(counts) - FEW)
    if unknown < others * (KEPT + math.log2(len(values)) + 1) + SPARE:
        raise ProtocolError(
            "not safe to reveal",
            f"Products with {others} columns of the other owner could tell which persons have which {name!r} of {me}.",
            hint="Use more persons, fewer columns of the other owner, or codes that more persons have.",
        )
