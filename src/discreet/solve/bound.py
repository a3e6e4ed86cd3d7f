"""How far a cell can move at most, shown by the relations: a proof that needs no solver to be checked.

Relations times multipliers add up to an equation ``sum g_i y_i = 0`` among the changes of cells. With ``g_p > 0`` the
change of cell p is at most what the bounds of all other cells leave, whatever the multipliers are. The linear program's
dual prices are good multipliers; they are rounded to fractions, and the bound that these give is computed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Ints
from discreet.progress import checkpoint
from discreet.solve.program import program, run_listening

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FINEST = 1_000
"""Largest denominator of a multiplier."""
NOTHING = 1e-9


@dataclass(frozen=True)
class Bound:
    """The target cannot move further than ``most`` units, because of these relations with these multipliers."""

    most: Fraction
    relations: tuple[int, ...]
    multipliers: tuple[Fraction, ...]


def furthest(
    matrix: csr_array, movable: Bools, value: Ints, lower: Ints, upper: Ints, target: int, direction: int
) -> Bound | None:
    """How far a cell can move up (+1) or down (-1) at most, proved; ``None`` where no bound was found.

    A cell that may not move needs no relation as a proof.
    """
    if not movable[target]:
        return Bound(Fraction(0), (), ())
    cells = np.flatnonzero(movable)
    part = matrix[:, cells].tocsc()
    scale = max(float(np.abs(value[cells]).max(initial=1)), 1.0)
    low = np.where(lower[cells] <= NO_LOWER, -np.inf, (lower - value)[cells] / scale)
    high = np.where(upper[cells] >= NO_UPPER, np.inf, (upper - value)[cells] / scale)
    # Without a limit the program of a cell that can move as far as it likes would have no dual prices.
    at = int(np.searchsorted(cells, target))
    low[at], high[at] = max(low[at], -1e6), min(high[at], 1e6)
    highs = program(part, low, high)
    highs.changeColCost(at, -float(direction))
    run_listening(highs, lambda: checkpoint("reasons", 0, 0))
    prices = np.asarray(highs.getSolution().row_dual)
    if len(prices) != matrix.shape[0]:
        return None
    rows = np.flatnonzero(np.abs(prices) > NOTHING)
    multipliers = tuple(Fraction(float(p)).limit_denominator(FINEST) for p in prices[rows])
    most = bound_of(matrix, movable, value, lower, upper, target, direction, rows.tolist(), multipliers)
    return None if most is None else Bound(most, tuple(rows.tolist()), multipliers)


def bound_of(
    matrix: csr_array,
    movable: Bools,
    value: Ints,
    lower: Ints,
    upper: Ints,
    target: int,
    direction: int,
    relations: list[int],
    multipliers: tuple[Fraction, ...],
) -> Fraction | None:
    """The bound that relations with multipliers give, exactly; ``None`` where they give none."""
    weight: dict[int, Fraction] = {}
    for row, multiplier in zip(relations, multipliers, strict=True):
        for e in range(matrix.indptr[row], matrix.indptr[row + 1]):
            cell = int(matrix.indices[e])
            if movable[cell]:
                weight[cell] = weight.get(cell, Fraction(0)) + multiplier * int(matrix.data[e])
    own = weight.pop(target, Fraction(0)) * direction
    if own == 0:
        return None
    total = Fraction(0)
    for cell, g in weight.items():
        push = -g / own
        if push == 0:
            continue
        limit = int(upper[cell]) if push > 0 else int(lower[cell])
        if limit >= NO_UPPER or limit <= NO_LOWER:
            return None
        total += push * (limit - int(value[cell]))
    return total
