"""Non-negative least squares on sparse sums, one unknown at a time in random order.

Each unknown stands in few sums and each sum holds many unknowns, so that one sweep over all unknowns removes a large
part of what is left; methods that move all unknowns at once suffer from the large sums instead. The matrix holds one
row for each unknown and one column for each sum. Unknowns in exactly the same sums are taken together first: only their
total matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.errors import ProtectionError
from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints
from discreet.progress import checkpoint

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TOLERANCE = 1e-11
"""Largest violation of the conditions of optimality, relative to the size of the sums."""
SWEEPS = 20_000
BETWEEN = 10
"""Sweeps between two looks at the conditions of optimality."""


class NonNegative(NamedTuple):
    """The nearest sums, one solution that has them, and which unknowns can be above zero in any solution."""

    fitted: Floats
    inner: Floats
    possible: Bools
    violation: float


def nonnegative_least_squares(target: Floats, cover: csr_array, *, tolerance: float = TOLERANCE) -> NonNegative:
    """Sums of unknowns of at least zero that come nearest to given numbers.

    Parameters
    ----------
    target
        The numbers.
    cover
        Unknowns by sums, 1 where an unknown is part of a sum.
    tolerance
        Largest violation of the conditions of optimality, relative to the largest number (at least 1).

    Raises
    ------
    ProtectionError
        When the answer does not meet the conditions of optimality.

    Notes
    -----
    Source: Langsrud (2021).

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> cover = csr_array(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    >>> nonnegative_least_squares(np.array([3.0, -1.0, 2.0]), cover).fitted.round(6).tolist()
    [2.5, 0.0, 2.5]
    """
    part, rows = distinct_rows(cover)
    columns = rows.T.tocsr()
    scale = max(1.0, float(np.abs(target).max(initial=0.0)))
    x, violation = _search(rows, columns, target, tolerance * scale)
    if violation > tolerance * scale:
        raise ProtectionError(
            "Non-negative least squares did not converge.",
            hint="Use rule='cascade', or give a larger tolerance.",
        )
    slope = rows @ (columns @ x - target)
    # Where the slope is above zero, every solution with these sums has a zero.
    free = slope <= 100 * tolerance * scale
    shared = np.bincount(part, minlength=len(x))
    inner = (x / shared)[part]
    return NonNegative(columns @ x, inner, free[part] | (inner > 0), violation)


def distinct_rows(cover: csr_array) -> tuple[Ints, csr_array]:
    """For every row the number of its kind, and one row of each kind."""
    from scipy.sparse import csr_array

    rows = csr_array(cover).astype(np.float64)
    # Two rows are alike where two random sums over their columns are; 128 random bits do not collide.
    random = np.random.default_rng(0).integers(0, 2**63, (2, rows.shape[1]), dtype=np.uint64)
    marks = np.zeros((rows.shape[0], 2), np.uint64)
    filled = np.flatnonzero(np.diff(rows.indptr))
    for k in range(2):
        marks[filled, k] = np.add.reduceat(random[k][rows.indices], rows.indptr[filled], dtype=np.uint64)
    _, first, part = np.unique(marks, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    part = rank[part.ravel()]
    return part, rows if len(first) == rows.shape[0] else csr_array(rows[first[order]])


@kernel("void(i8[::1], i4[::1], i8[::1], f8[::1], f8[::1])")
def sweep(start: Ints, member: Codes, order: Ints, x: Floats, rest: Floats) -> None:
    """Set every unknown in turn to its best value of at least zero; ``rest`` is sums less targets throughout."""
    for k in range(len(order)):
        i = order[k]
        slope = 0.0
        for at in range(start[i], start[i + 1]):
            slope += rest[member[at]]
        there = max(0.0, x[i] - slope / (start[i + 1] - start[i]))
        step = there - x[i]
        if step != 0.0:
            x[i] = there
            for at in range(start[i], start[i + 1]):
                rest[member[at]] += step


def _search(rows: csr_array, columns: csr_array, target: Floats, tolerance: float) -> tuple[Floats, float]:
    """Sweep in ever new orders until the conditions of optimality hold."""
    start, member = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
    x = np.zeros(rows.shape[0])
    random = np.random.default_rng(0)  # any order of work leads to the same sums
    violation = np.inf
    for done in range(SWEEPS // BETWEEN):
        checkpoint("Least squares", done, SWEEPS // BETWEEN)
        rest = columns @ x - target
        violation = _violation(x, rows @ rest)
        if violation <= tolerance:
            break
        for _ in range(BETWEEN):
            sweep(start, member, random.permutation(len(x)), x, rest)
    return x, violation


def _violation(x: Floats, slope: Floats) -> float:
    """How far the conditions of optimality are from holding: by how much an unknown would still move."""
    return float(np.where(x > 0, np.abs(slope), np.maximum(-slope, 0.0)).max(initial=0.0))
