"""Cheapest alternative tables: how withheld cells could be different without anybody noticing.

One HiGHS model serves all cells of a system. Its variables are the rise and the fall of every movable cell; the
cell in question is fixed at its level, withheld cells move for free, others at a linearised cost. Answers are
turned into exact integers or rationals; what cannot be made exact is not returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ProtectionError
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Floats, Ints
from discreet.solve.exact import common_denominator, solve_exactly
from discreet.solve.program import program, started

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FAR = 1e6
"""No cell needs to move further than this many times the level."""
ZERO = 1e-7
COST_RANGE = 1e3
LEAST_COST = 1e-4
MOST_NODES = 20_000
NEAR = 8.0
"""Whole numbers are looked for within so many times the level first, which is much faster."""
GOOD_ENOUGH = 0.1
"""Integer programs stop within this share of the least cost."""
MARGIN = 1e-6


@dataclass(frozen=True, eq=False)
class Alternative:
    """An exact alternative: ``cells`` change by ``amount / denominator`` units."""

    cells: Ints
    amount: list[int]
    denominator: int


class AlternativeModel:
    """Finds alternatives on a system of relations, warm-started from one to the next.

    Parameters
    ----------
    matrix
        Relations, one row an equation.
    rows
        Rows that the linear programs use; the others must follow from them or are checked afterwards.
    value, lower, upper
        Values and what everybody knows of them, in units.
    movable
        Cells that may be withheld.
    cost
        What withholding a cell costs.
    integral
        Cells that can only be whole numbers of units, and everybody knows it.
    """

    def __init__(
        self,
        matrix: csr_array,
        rows: Bools,
        value: Ints,
        lower: Ints,
        upper: Ints,
        movable: Bools,
        cost: Floats,
        integral: Bools,
    ) -> None:
        self.matrix = matrix
        self.columns = matrix.tocsc()
        self.value, self.lower, self.upper = value, lower, upper
        self.movable, self.integral = movable, integral
        self.room_up = np.where(upper >= NO_UPPER, np.inf, upper.astype(np.float64) - value)
        self.room_down = np.where(lower <= NO_LOWER, np.inf, value - lower.astype(np.float64))
        self.cost = cost / max(float(cost.max(initial=0.0)), 1e-300) * COST_RANGE + LEAST_COST
        self.cells = np.flatnonzero(movable)
        self.place = np.full(len(value), -1, np.int64)
        self.place[self.cells] = np.arange(len(self.cells))
        self.iterations = 0
        self._highs = self._build(matrix[np.flatnonzero(rows)][:, self.cells])

    def _build(self, part: csr_array) -> Any:
        """Rises and falls of all movable cells, every relation kept."""
        from scipy.sparse import hstack

        part = part[np.flatnonzero(np.diff(part.indptr))]
        both = hstack([part, -part]).tocsc()
        nothing = np.zeros(both.shape[1])
        return program(both, nothing, nothing)

    def find(self, target: int, direction: int, level: int, withheld: Bools) -> Alternative | None:
        """The cheapest exact alternative that moves ``target`` by ``level`` up (+1) or down (-1).

        Returns ``None`` when there is none, even with every movable cell withheld.
        """
        if not self.movable[target]:
            return None
        if level > (self.room_up if direction > 0 else self.room_down)[target]:
            return None
        moves = self._solve(target, direction, level, withheld)
        if moves is None:
            return None
        exact = self._exact(moves, target, direction, level)
        moved = np.abs(moves) > ZERO
        if exact is None:
            # Bounds that are a little tighter leave room for the rounding errors that stood in the way. That the
            # tighter program has no answer says nothing of the cell.
            moves = self._solve(target, direction, level, withheld, margin=MARGIN)
            exact = None if moves is None else self._exact(moves, target, direction, level)
        everything = np.ones(len(self.cells), np.bool_)
        for allowed, reach in ((withheld[self.cells] | moved, NEAR), (everything, NEAR), (everything, FAR)):
            if exact is None:
                exact = self._solve_integer(target, direction, level, withheld, allowed, reach)
        if exact is None:
            raise ProtectionError(
                "A linear program's answer could not be turned into an exact certificate.",
                hint="Please report the table's shape; nothing unproved is published.",
            )
        return exact

    def _solve(self, target: int, direction: int, level: int, withheld: Bools, margin: float = 0.0) -> Floats | None:
        """Moves in multiples of the level, by linear programming."""
        import highspy

        highs, n = self._highs, len(self.cells)
        shrink = 1.0 - margin
        up = np.minimum(self.room_up[self.cells] * shrink / level, FAR)
        down = np.minimum(self.room_down[self.cells] * shrink / level, FAR)
        weight = np.where(withheld[self.cells], 0.0, self.cost[self.cells])
        bounds_low, bounds_up = np.zeros(2 * n), np.concatenate((up, down))
        at = int(self.place[target])
        own, other = (at, at + n) if direction > 0 else (at + n, at)
        bounds_low[own] = bounds_up[own] = 1.0
        bounds_up[other] = 0.0
        # A fall below zero is impossible, so a cell smaller than the level is used up sooner: dearer a step.
        dearer = np.maximum(1.0, 1.0 / np.maximum(down, 1.0 / FAR))
        index = np.arange(2 * n, dtype=np.int32)
        highs.changeColsCost(2 * n, index, np.concatenate((weight, weight * dearer)))
        highs.changeColsBounds(2 * n, index, bounds_low, bounds_up)
        highs.run()
        self.iterations += int(highs.getInfo().simplex_iteration_count)
        status = highs.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise ProtectionError(
                f"The solver stopped without an answer ({highs.modelStatusToString(status)}).",
                hint="Check the table for extreme values; nothing unproved is published.",
            )
        solution: Floats = np.asarray(highs.getSolution().col_value)
        return solution[:n] - solution[n:]

    def _exact(self, moves: Floats, target: int, direction: int, level: int) -> Alternative | None:
        """Integers by rounding, or rationals from the vertex that the linear program found."""
        rounded = np.rint(moves * level)
        support = self.cells[(rounded != 0) | (np.abs(moves) > ZERO)]
        amount = {int(c): int(rounded[self.place[c]]) for c in support}
        amount[target] = direction * level
        found = self._checked({c: Fraction(a) for c, a in amount.items() if a}, target)
        if found is not None:
            return found
        fixed: dict[int, int] = {target: direction * level}
        free: list[int] = []
        for c, a in amount.items():
            if c == target:
                continue
            high, low = int(self.upper[c]) - int(self.value[c]), int(self.lower[c]) - int(self.value[c])
            step = max(2, level // 10**6)
            if abs(a - high) <= step or abs(a - low) <= step:
                fixed[c] = high if abs(a - high) <= step else low
            else:
                free.append(c)
        solution = solve_exactly(self._equations(free, fixed))
        if solution is None:
            return None
        whole = {c: Fraction(a) for c, a in fixed.items() if a}
        whole.update({c: solution.get(c, Fraction(0)) for c in free})
        if self.integral[support].any():
            # Twice a move by halves is a move in whole numbers, and goes twice as far.
            times = common_denominator(whole.values())
            whole = {c: a * times for c, a in whole.items()}
        return self._checked({c: a for c, a in whole.items() if a}, target)

    def _equations(self, free: list[int], fixed: dict[int, int]) -> list[tuple[dict[int, int], int]]:
        """Relations among the free cells, the fixed ones moved to the right side."""
        rows: dict[int, tuple[dict[int, int], int]] = {}
        for c in [*free, *fixed]:
            span = slice(self.columns.indptr[c], self.columns.indptr[c + 1])
            for row, sign in zip(self.columns.indices[span].tolist(), self.columns.data[span].tolist(), strict=True):
                left, right = rows.get(row, ({}, 0))
                if c in fixed:
                    right -= sign * fixed[c]
                else:
                    left[c] = sign
                rows[row] = (left, right)
        return list(rows.values())

    def _checked(self, moves: dict[int, Fraction], target: int) -> Alternative | None:
        """The moves as an alternative, if they keep every relation and bound exactly."""
        sums: dict[int, Fraction] = {}
        for c, a in moves.items():
            if not self.movable[c] or (self.integral[c] and a.denominator != 1):
                return None
            low, high = int(self.lower[c]), int(self.upper[c])
            moved = int(self.value[c]) + a
            if (low > NO_LOWER and moved < low) or (high < NO_UPPER and moved > high):
                return None
            span = slice(self.columns.indptr[c], self.columns.indptr[c + 1])
            for row, sign in zip(self.columns.indices[span].tolist(), self.columns.data[span].tolist(), strict=True):
                sums[row] = sums.get(row, Fraction(0)) + sign * a
        if target not in moves or any(sums.values()):
            return None
        denominator = common_denominator(moves.values())
        cells = np.array(sorted(moves), np.int64)
        return Alternative(cells, [int(moves[c] * denominator) for c in cells.tolist()], denominator)

    def _solve_integer(
        self, target: int, direction: int, level: int, withheld: Bools, allowed: Bools, reach: float
    ) -> Alternative | None:
        """A cheap alternative in whole units in which only allowed cells move, by integer programming."""
        import highspy

        n = len(self.cells)
        limit = level * reach
        up = np.where(allowed, np.minimum(self.room_up[self.cells], limit), 0.0)
        down = np.where(allowed, np.minimum(self.room_down[self.cells], limit), 0.0)
        weight = np.where(withheld[self.cells], 0.0, self.cost[self.cells])
        model = self._highs.getLp()
        low, high = np.zeros(2 * n), np.concatenate((up, down))
        at = int(self.place[target])
        own, other = (at, at + n) if direction > 0 else (at + n, at)
        low[own] = high[own] = float(level)
        high[other] = 0.0
        model.col_lower_, model.col_upper_ = low, high
        model.col_cost_ = np.concatenate((weight, weight)) / level
        model.integrality_ = [highspy.HighsVarType.kInteger] * (2 * n)
        highs = started(model, mip_max_nodes=MOST_NODES, mip_rel_gap=GOOD_ENOUGH)
        highs.run()
        solution = np.asarray(highs.getSolution().col_value)
        if len(solution) != 2 * n:
            return None
        moves = np.rint(solution[:n]) - np.rint(solution[n:])
        found = {int(c): Fraction(int(moves[self.place[c]])) for c in self.cells[np.abs(moves) > 0.5]}
        return self._checked(found, target)
