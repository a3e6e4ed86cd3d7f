"""One small linear program: how a cell moves by its level among some other cells, and the answer made exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints, ranges
from discreet.solve.exact import common_denominator, solve_exactly
from discreet.solve.program import run_listening

BY_COST, STEEP, FLAT = 0, 1, 2
"""How the distance of neighbours is measured: by cost, or free of units with costs counting much or little."""
ZERO = 1e-7
FAR = 1e6
"""No cell needs to move further than this many times the level."""
EXACT = 2.0**61
LEAST_ROOM = 1e-3
"""Cells with less room than this share of the level are charged as if they had it."""
COST_RANGE = 1e3
FEWER_CELLS = 1e-4
"""Charge on every cell, so that of two answers at the same cost the shorter one is taken."""
KEEP_OFF = 1e-3
"""Share of its cost that a withheld secondary is charged, so that dear ones have few users and can be given up."""
MARGIN = 1e-6
MOST_NODES = 5_000
NEAR = 8.0
"""Whole numbers are looked for within so many times the level, which is much faster than further away."""


@dataclass(frozen=True, eq=False, slots=True)
class Alternative:
    """An exact alternative: ``cells`` change by ``amount / denominator`` units; ``cost`` is that of new cells."""

    cells: Codes
    amount: Any
    denominator: int
    cost: float

    def move(self, cell: int) -> Fraction:
        """By how much a cell changes."""
        at = int(np.searchsorted(self.cells, cell))
        if at == len(self.cells) or self.cells[at] != cell:
            return Fraction(0)
        return Fraction(int(self.amount[at]), self.denominator)


@dataclass(frozen=True, eq=False)
class Part:
    """Some cells, the relations among them (``start``, ``index``, ``coefficient`` by cell), and what is known of them.

    ``cost`` is what withholding costs, ``weight`` what moving is charged; ``free`` cells are withheld already.
    """

    cells: Codes
    start: Codes
    index: Codes
    coefficient: Ints
    value: Ints
    lower: Ints
    upper: Ints
    cost: Floats
    weight: Floats
    free: Bools
    integral: Bools


class CutOff(Exception):  # no error: it never leaves the solver
    """A program was cut off, and counts as one that was not solved."""


class Solver:
    """A HiGHS solver that takes one small program after another, and counts the effort.

    Unless it is ``thorough``, answers that are hard to make exact are given up.
    """

    def __init__(self) -> None:
        self.effort = np.zeros(2, np.int64)
        """Programs solved, and iterations that they took."""
        self.thorough = True
        self._highs: Any = None
        self.let_go()

    def let_go(self) -> None:
        """Ask nobody any more: whoever is asked and what asks would hold each other, with all their arrays."""
        self.listen: Callable[[], None] = lambda: None
        """Called now and then while a program runs; what it raises stops the program."""
        self.allowed: Callable[[], bool] = lambda: True
        """Whether the next program is solved; one that is not finds nothing."""

    @property
    def programs(self) -> int:
        """Programs solved so far."""
        return int(self.effort[0])

    @property
    def iterations(self) -> int:
        """Simplex iterations so far."""
        return int(self.effort[1])

    def load(self, model: Any) -> Any:
        """The solver with a new model."""
        import highspy

        if self._highs is None:
            self._highs = highspy.Highs()
            for option, setting in {"output_flag": False, "threads": 1, "random_seed": 0, "presolve": "off"}.items():
                self._highs.setOptionValue(option, setting)
        self._highs.passModel(model)
        return self._highs

    def solution(self) -> Floats | None:
        """Solve what is loaded; ``None`` where there is no solution."""
        import highspy

        if not self.allowed():
            return None
        try:
            run_listening(self._highs, self.listen)
        except CutOff:
            return None
        self.effort += (1, int(self._highs.getInfo().simplex_iteration_count))
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.asarray(self._highs.getSolution().col_value)

    def basis(self) -> tuple[Bools, Bools]:
        """Columns of the last solution that relations give, and those at their upper bounds."""
        import highspy

        status = np.array([int(status) for status in self._highs.getBasis().col_status])
        return status == int(highspy.HighsBasisStatus.kBasic), status == int(highspy.HighsBasisStatus.kUpper)


class SmallProgram:
    """How a target moves by its level up (+1) or down (-1) among the cells of a part."""

    def __init__(self, part: Part, target: int, direction: int, level: int, solver: Solver) -> None:
        self.part, self.direction, self.level, self.solver = part, direction, level, solver
        self.at = int(np.flatnonzero(part.cells == target)[0])
        self.rows = int(part.index.max(initial=-1)) + 1
        rise = np.where(part.upper >= NO_UPPER, np.inf, part.upper.astype(np.float64) - part.value)
        fall = np.where(part.lower <= NO_LOWER, np.inf, part.value - part.lower.astype(np.float64))
        self.up, self.down = np.minimum(rise / level, FAR), np.minimum(fall / level, FAR)
        count = len(part.cells)
        self.scaled = part.weight / max(float(part.weight.max()), 1e-300) * COST_RANGE
        self.scaled += FEWER_CELLS * (1.0 + 0.5 * np.arange(count) / count)
        self.charged = np.arange(count)

    def best(self, budget: float, rounds: int, worth: float = 0.0) -> Alternative | None:
        """The cheapest exact alternative that was found below a budget.

        The linear program charges a cell by how far it moves, although withholding it costs the same for any move. So
        it is solved again with charges that give the price of what was used, as long as that makes it cheaper and what
        was found costs more than is ``worth`` the trouble.
        """
        best: Alternative | None = None
        moves = self._moves()
        for again in range(rounds + 1):
            if moves is None:
                break
            price = float(self.part.cost[(np.abs(moves) > ZERO) & ~self.part.free].sum())
            if price >= budget or (best is not None and price >= best.cost * (1 - 1e-9)):
                break
            exact = self.exact(moves)
            if exact is None or exact.cost >= budget or (best is not None and exact.cost >= best.cost):
                break
            best = exact
            if price <= worth or again == rounds:
                break
            moves = self._moves_again(moves)
        return best

    # ---- the linear program -------------------------------------------------------------------------------

    def _moves(self, margin: float = 0.0) -> Floats | None:
        """Moves in multiples of the level; a margin keeps them off their bounds."""
        fine = 1.0 - margin
        self.solver.load(self._model(self.up * fine, self.down * fine))
        return self._answer()

    def _model(self, up: Floats, down: Floats) -> Any:
        """Cells that are charged rise and fall in two columns, all others in one."""
        import highspy

        part, split = self.part, self.charged
        lower, upper, fall = -down, up.copy(), down[split].copy()
        lower[split] = 0.0
        lower[self.at] = upper[self.at] = float(self.direction)
        fall[split == self.at] = 0.0
        lengths = np.diff(part.start)[split].astype(np.int64)
        extra = ranges(part.start[split].astype(np.int64), lengths) if len(split) else np.zeros(0, np.int64)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(part.cells) + len(split), self.rows
        model.col_cost_ = self._charges(1.0 / np.clip(up, LEAST_ROOM, 1.0), 1.0 / np.clip(down, LEAST_ROOM, 1.0))
        model.col_lower_ = np.concatenate((lower, np.zeros(len(split))))
        model.col_upper_ = np.concatenate((upper, fall))
        model.row_lower_ = model.row_upper_ = np.zeros(self.rows)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.concatenate((part.start, part.start[-1] + np.cumsum(lengths))).astype(np.int32)
        model.a_matrix_.index_ = np.concatenate((part.index, part.index[extra]))
        model.a_matrix_.value_ = np.concatenate((part.coefficient, -part.coefficient[extra])).astype(np.float64)
        return model

    def _charges(self, rise: Floats, fall: Floats) -> Floats:
        return np.concatenate((self.scaled * rise, (self.scaled * fall)[self.charged]))

    def _answer(self) -> Floats | None:
        found = self.solver.solution()
        if found is None:
            return None
        moves = found[: len(self.part.cells)].copy()
        moves[self.charged] -= found[len(self.part.cells) :]
        return moves

    def _moves_again(self, moves: Floats) -> Floats | None:
        size = np.abs(moves)
        unused = 1.0 / np.clip(np.maximum(self.up, self.down), LEAST_ROOM, 1.0)
        charge = np.where(size > ZERO, 1.0 / np.maximum(size, LEAST_ROOM), unused)
        costs = self._charges(charge, charge)
        self.solver._highs.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)
        # From standing still the dual simplex method is several times faster than the primal one from the last answer.
        self.solver._highs.clearSolver()
        return self._answer()

    # ---- exact answers ------------------------------------------------------------------------------------

    def exact(self, moves: Floats) -> Alternative | None:
        """The moves as exact amounts, by the relations, as rationals, with a margin, or as an integer program."""
        found = self._exact(moves)
        if found is not None or not self.solver.thorough:
            return found
        # Cells that move by next to nothing were taken to stand still.
        found = self._by_basis()
        if found is not None:
            return found
        # Bounds that are a little tighter leave room for the rounding errors that stood in the way.
        again = self._moves(MARGIN)
        found = None if again is None else self._exact(again)
        if found is None and self.part.integral.any():
            found = self._integers()
        return found

    def _exact(self, moves: Floats) -> Alternative | None:
        from discreet.solve.settling import settle

        part = self.part
        amount, unknown = self._at_bounds(moves)
        small = float(np.abs(moves).sum()) * self.level * float(np.abs(part.coefficient).max(initial=1)) < EXACT
        if small and settle(part.start, part.index, part.coefficient, self.rows, amount, unknown):
            return self._checked(amount, 1)
        return self._rational(amount, unknown)

    def _by_basis(self) -> Alternative | None:
        """The same where cells stand at their bounds just as the solver says, however little they move."""
        part, count = self.part, len(self.part.cells)
        basic, top = self.solver.basis()
        falls = np.zeros(count, np.bool_)
        unknown, falls[self.charged] = basic[:count].copy(), top[count:]
        unknown[self.charged] |= basic[count:]
        unknown[self.at] = False
        amount = np.zeros(count, np.int64)
        for at_bound, bound, far in ((top[:count], part.upper, self.up), (falls, part.lower, self.down)):
            at_bound &= (far < FAR) & ~unknown
            amount[at_bound] += (bound - part.value)[at_bound]
        amount[self.at] = self.direction * self.level
        return self._rational(amount, unknown)

    def _at_bounds(self, moves: Floats) -> tuple[Ints, Bools]:
        """Amounts of cells that stand still, at a bound or are the target; all others are unknown."""
        part = self.part
        amount = np.zeros(len(moves), np.int64)
        used = np.abs(moves) > ZERO
        tolerance = ZERO * np.maximum(1.0, np.abs(moves))
        top = used & (np.abs(moves - self.up) <= tolerance) & (self.up < FAR)
        bottom = used & ~top & (np.abs(moves + self.down) <= tolerance) & (self.down < FAR)
        amount[top] = (part.upper - part.value)[top]
        amount[bottom] = (part.lower - part.value)[bottom]
        amount[self.at] = self.direction * self.level
        unknown = used & ~top & ~bottom
        unknown[self.at] = False
        return amount, unknown

    def _rational(self, amount: Ints, unknown: Bools) -> Alternative | None:
        part = self.part
        rows: dict[int, tuple[dict[int, int], int]] = {}
        for cell in np.flatnonzero(unknown | (amount != 0)).tolist():
            for e in range(part.start[cell], part.start[cell + 1]):
                left, right = rows.get(int(part.index[e]), ({}, 0))
                if unknown[cell]:
                    left[cell] = int(part.coefficient[e])
                else:
                    right -= int(part.coefficient[e]) * int(amount[cell])
                rows[int(part.index[e])] = (left, right)
        solution = solve_exactly(rows.values())
        if solution is None:
            return None
        whole = {cell: Fraction(int(a)) for cell, a in enumerate(amount.tolist()) if a and not unknown[cell]}
        whole.update(solution)
        denominator = common_denominator(whole.values())
        # Twice a move by halves is a move in whole numbers, and goes twice as far.
        times = denominator if self.part.integral.any() else 1
        exact = np.zeros(len(amount), object)
        for cell, a in whole.items():
            exact[cell] = int(a * denominator)
        return self._checked(exact, denominator // times)

    def _checked(self, amount: Any, denominator: int) -> Alternative | None:
        """The amounts as an alternative, if they keep all bounds and the level."""
        part = self.part
        moved = np.flatnonzero(amount)
        if denominator != 1 or amount.dtype == object:
            amount = amount.astype(object)
        change, value = amount[moved], part.value[moved].astype(amount.dtype)
        new = value * denominator + change
        low, high = part.lower[moved], part.upper[moved]
        wrong = ((low > NO_LOWER) & (new < low.astype(amount.dtype) * denominator)) | (
            (high < NO_UPPER) & (new > high.astype(amount.dtype) * denominator)
        )
        if int(amount[self.at]) * self.direction == self.level * denominator:
            # That the target itself has room for its level was seen before.
            wrong[moved == self.at] = False
        if bool(np.any(wrong)) or int(amount[self.at]) * self.direction < self.level * denominator:
            return None
        cells = part.cells[moved]
        order = np.argsort(cells, kind="stable")
        if amount.dtype == object and max((abs(int(a)) for a in change), default=0) < 2**62:
            change = change.astype(np.int64)
        return Alternative(cells[order], change[order], denominator, float(part.cost[moved][~part.free[moved]].sum()))

    def _integers(self) -> Alternative | None:
        """Whole amounts by integer programming."""
        import highspy

        if not self.solver.allowed():
            return None
        model = self._model(np.minimum(self.up, NEAR), np.minimum(self.down, NEAR))
        columns = model.num_col_
        scale = float(self.level)
        model.col_lower_, model.col_upper_ = np.asarray(model.col_lower_) * scale, np.asarray(model.col_upper_) * scale
        model.integrality_ = [highspy.HighsVarType.kInteger] * columns
        highs = highspy.Highs()
        for option, setting in {
            "output_flag": False,
            "threads": 1,
            "random_seed": 0,
            "mip_max_nodes": MOST_NODES,
            "mip_rel_gap": 0.1,
        }.items():
            highs.setOptionValue(option, setting)
        highs.passModel(model)
        highs.run()
        self.solver.effort[0] += 1
        found = np.rint(np.asarray(highs.getSolution().col_value))
        if len(found) != columns:
            return None
        amount = found[: len(self.part.cells)].astype(np.int64)
        amount[self.charged] -= found[len(self.part.cells) :].astype(np.int64)
        total = np.zeros(self.rows, np.int64)
        np.add.at(total, self.part.index, np.repeat(amount, np.diff(self.part.start)) * self.part.coefficient)
        return None if total.any() else self._checked(amount, 1)
