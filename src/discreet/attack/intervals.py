"""Attacker's intervals: the least and largest value that each withheld cell can have, by linear programming.

The attacker knows all published cells, all relations and the bounds of each cell. Components of withheld cells
that no relation ties together are attacked one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Floats, Ints
from discreet.progress import steps
from discreet.relations import System
from discreet.relations.components import components
from discreet.solve.program import PRIMAL, program

if TYPE_CHECKING:
    from scipy.sparse import csc_array

TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of the withheld cells of a system, in units.

    ``cells`` are numbers of cells; ``lower`` and ``upper`` the attacker's interval (infinite where nothing is
    known); ``short_below`` and ``short_above`` say by how much a protection level is missed.
    """

    cells: Ints
    lower: Floats
    upper: Floats
    short_below: Floats
    short_above: Floats
    value: Floats

    @property
    def recoverable(self) -> Bools:
        """Cells that the attacker knows exactly."""
        return (self.upper - self.lower) <= TOLERANCE * np.maximum(1.0, np.abs(self.value))

    @property
    def short(self) -> Bools:
        """Unsafe cells whose interval misses their level."""
        tolerance = TOLERANCE * np.maximum(1.0, np.abs(self.value))
        return (self.short_below > tolerance) | (self.short_above > tolerance)


def attack_intervals(system: System, withheld: Bools) -> Intervals:
    """What an outsider can work out of each withheld cell."""
    cells = np.flatnonzero(withheld)
    matrix = system.matrix[:, cells].tocsc()
    count, label = components(system.matrix, cells)
    lower = np.full(len(cells), -np.inf)
    upper = np.full(len(cells), np.inf)
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(count + 1))
    members = [order[ends[i] : ends[i + 1]] for i in range(count)]
    for member in steps("audit", members):
        low = system.lower_bound[cells[member]]
        high = system.upper_bound[cells[member]]
        value = system.value[cells[member]]
        low_move = np.where(low <= NO_LOWER, -np.inf, (low - value).astype(np.float64))
        high_move = np.where(high >= NO_UPPER, np.inf, (high - value).astype(np.float64))
        part = matrix[:, member].tocsr()
        used = part[np.flatnonzero(np.diff(part.indptr))].tocsc()
        down, up = _extremes(used, low_move, high_move, value.astype(np.float64))
        lower[member], upper[member] = value + down, value + up
    exact = system.value[cells].astype(np.float64)
    needs = system.unsafe[cells]
    return Intervals(
        cells,
        lower,
        upper,
        np.where(needs, np.maximum(lower - (exact - system.lower_level[cells]), 0.0), 0.0),
        np.where(needs, np.maximum((exact + system.upper_level[cells]) - upper, 0.0), 0.0),
        exact,
    )


def _extremes(matrix: csc_array, low: Floats, high: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Least and largest move of each cell of one component."""
    n = matrix.shape[1]
    scale = max(float(np.median(np.abs(value))), 1.0)
    highs = program(matrix, low / scale, high / scale, simplex_strategy=PRIMAL)
    least, most = np.zeros(n), np.zeros(n)
    for cell in range(n):
        for sign, result in ((1.0, least), (-1.0, most)):
            highs.changeColCost(cell, sign)
            highs.run()
            result[cell] = _answer(highs, sign) * scale
            highs.changeColCost(cell, 0.0)
    return least, most


def _answer(highs: Any, sign: float) -> float:
    import highspy

    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        return sign * float(highs.getInfo().objective_function_value)
    if status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible):
        # The value itself is feasible, so the program is unbounded.
        return -np.inf if sign > 0 else np.inf
    raise InputError(
        f"The audit's solver stopped without an answer ({highs.modelStatusToString(status)}).",
        hint="Check the table for extreme values.",
    )
