"""What sums of a column of numbers would tell of single persons, although no code is counted.

A column that looks like numbers may be one of few codes, which its sums count; and one person may stand out so far that
sums of squares are hardly more than its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.private.joint.design import OwnerRows
from discreet.private.problems import ProtocolError

FEW = 10
"""Columns of whole numbers from 0 to below this one count as codes."""
STEPS = 64
"""Doublings of a distance that are told apart."""
ROOM = 127
"""Bits of a sum."""
PERFECT = 1e-8
"""Share of the outcome's squares that is left, below which a fit is perfect."""


def column_kinds(rows: OwnerRows) -> NDArray[np.bool_]:
    """Whether each column is of 0 and 1 at this owner; whether it is of few whole numbers; whether y is binary.

    An outcome is binary where it counts successes among trials, of 0 and 1 for each person.
    """
    binary = np.isin(rows.X, (0, 1)).all(axis=0)
    few = np.isin(rows.X, np.arange(FEW)).all(axis=0)
    outcome = ((rows.y >= 0) & (rows.y <= rows.trials) & (rows.y == np.rint(rows.y))).all()
    return np.concatenate([binary, few, [outcome]])


def with_kinds(rows: OwnerRows, agreed: NDArray[np.bool_]) -> tuple[OwnerRows, NDArray[np.int64], bool]:
    """The rows with the columns of 0 and 1 at all owners; which others are of few whole numbers; a binary outcome?"""
    binary, few = np.split(agreed[:-1], 2)
    dummies = rows.dummies | binary
    dummies[0] = False  # of the intercept, all is known
    few[0] = False
    return replace(rows, dummies=dummies), np.flatnonzero(few & ~dummies), bool(agreed[-1])


def value_cells(rows: OwnerRows, few: NDArray[np.int64], binary_outcome: bool) -> NDArray[np.float64]:
    """Persons of an owner by each value of columns that have few, and by outcome."""
    of = [rows.trials, rows.y, rows.trials - rows.y] if binary_outcome else [rows.trials]
    cells = [np.bincount(rows.X[:, column].astype(np.int64), persons, FEW) for column in few.tolist() for persons in of]
    return np.concatenate([np.zeros(0), *cells])


def far_out(rows: OwnerRows, outcome: bool, scale_bits: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Persons of an owner at least so far from its median in a column, by doublings; and squares of all nearer ones.

    Squares are in fifths of that of the distance, cut off to whole ones. The largest distance is what sums of squares
    have room for.

    Returns
    -------
    tuple
        Persons, squares: a row for each column of numbers, the outcome last where it is one.
    """
    numbers = [rows.X[:, k] for k in range(1, len(rows.names)) if not rows.dummies[k]]
    numbers += [rows.y] if outcome else []
    top = (ROOM - scale_bits) // 2
    edges = np.ldexp(1.0, np.arange(top - STEPS, top))
    persons, squares = np.zeros((2, len(numbers), STEPS))
    for k, values in enumerate(numbers):
        away = np.abs(values - np.median(values)) * np.sqrt(rows.weights)
        place = np.searchsorted(edges, away, side="right")
        counts = np.bincount(place, rows.trials, STEPS + 1)
        masses = np.bincount(place, rows.trials * away**2, STEPS + 1)
        persons[k] = counts.sum() - np.cumsum(counts)[:-1]
        squares[k] = np.floor(5 * np.cumsum(masses)[:-1] / edges**2)
    return persons, squares


def require_none_out(standing: int, limit: int) -> None:
    """Stop before sums are opened of which somebody's own value is nearly all.

    Raises
    ------
    ProtocolError
        ``not safe to reveal``.
    """
    if standing:
        raise ProtocolError(
            "not safe to reveal",
            f"In some column fewer than {limit} persons are far out: sums of squares would be hardly more than theirs.",
            hint="Recode or cut off extreme values, or take logarithms.",
        )


def require_spread(residual: float, total: float) -> None:
    """Withhold a model in which the columns tell the outcome of every person.

    Raises
    ------
    ProtocolError
        ``not safe to reveal``.
    """
    if residual <= PERFECT * total:
        raise ProtocolError(
            "not safe to reveal",
            "The model fits perfectly: whoever knows the columns of a person knows its outcome.",
            hint="Is the outcome made of the columns? Leave them out; owners must not publish what was opened.",
        )
