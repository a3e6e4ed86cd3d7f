"""Names for the array types that the model is made of, and small exact operations on them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Status = npt.NDArray[np.int8]

NO_LOWER = -(2**62)
"""A lower bound that says nothing."""
NO_UPPER = 2**62
"""An upper bound that says nothing."""
LARGEST = 2**62 - 1
"""Sums of absolute values stay below this, so that 64-bit integers are exact."""


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """All positions of several ranges, one range after the other.

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    total = int(lengths.sum())
    offset = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    result: Ints = offset + np.arange(total, dtype=np.int64)
    return result


def pointers(lengths: Ints) -> Ints:
    """Start positions (and the end) of consecutive runs of the given lengths."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def fits(*arrays: Ints) -> bool:
    """Whether the sum of all absolute values stays exact in 64 bits."""
    return sum(float(np.abs(a.astype(np.float64)).sum()) for a in arrays) < LARGEST
