"""Products of matrices modulo 2^128, exact: of pieces of 16 bits in floating point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.private.joint.fixed_point import Halves, plus

LIMB = 16
"""Bits of the pieces that products are made of: exact in floating point for 2^20 rows at once."""
CHUNK = 2**20
Numbers = NDArray[np.float64]


def product(one: Halves, other: Halves, rows: int) -> Halves:
    """A'B modulo 2^128, of matrices whose rows are written one after the other."""
    A, B = one.reshape(rows, -1, 2), other.reshape(rows, -1, 2)
    p, q = A.shape[1], B.shape[1]
    total = np.zeros((p * q, 2), dtype=np.uint64)
    for start in range(0, rows, CHUNK):
        left, right = _limbs(A[start : start + CHUNK]), _limbs(B[start : start + CHUNK])
        for i in range(8):
            for j in range(8 - i):
                part = (left[i].T @ right[j]).ravel().astype(np.uint64)
                total = plus(total, _shifted(part, LIMB * (i + j)))
    return total


def _limbs(numbers: NDArray[np.uint64]) -> list[Numbers]:
    low = np.uint64(2**LIMB - 1)
    return [
        ((numbers[:, :, half] >> np.uint64(LIMB * k)) & low).astype(np.float64) for half in range(2) for k in range(4)
    ]


def _shifted(part: NDArray[np.uint64], bits: int) -> Halves:
    found = np.zeros((len(part), 2), dtype=np.uint64)
    if bits >= 64:
        found[:, 1] = part << np.uint64(bits - 64)
    elif bits:
        found[:, 0], found[:, 1] = part << np.uint64(bits), part >> np.uint64(64 - bits)
    else:
        found[:, 0] = part
    return found
