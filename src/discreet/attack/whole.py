"""Attackers who know that counts are whole: both ends of a cell by integer programs.

Linear programs leave a count of 1 between 0.5 and 1.5 open where whole numbers leave nothing. Every end is shown by a
table of whole numbers that fits the publication, or by an integer program that was solved to its end; what neither
settles is not called kept.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.attack.intervals import External
from discreet.attack.moves import DOWN, UP
from discreet.attack.region import around
from discreet.methods.outcome import Whole
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Ints
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.relations.components import components
from discreet.relations.interior import interior

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

SIZES = (40, 120, 400, 3_000)
"""Cells around a single one that move together; the others stay where they are."""
ENDS_UP_TO = 300
"""Ends are found exactly among so many cells that are tied together; of more, only what levels ask for."""
LARGE, MANY = 400, 40
"""Programs of more cells are run so many times; what they would have to settle then stays open."""
NODES = 2_000
"""Nodes of one integer program."""
FAR = 10**12
"""No whole number of cells that nothing bounds is tried beyond this many steps."""
SLIP = 1e-6
PARTNERS = 100
"""So many other finest cells are looked at for an exchange, those first that share most sums."""


class IntegerEnds(NamedTuple):
    """For every withheld cell whether something that is asked of it stayed open; and whether all ends are exact."""

    unsettled: Bools
    exact: bool


def attack_whole(attack: External, whole: Whole, exact: bool) -> IntegerEnds:
    """Narrow what was shown and what is possible of the wanted whole cells to whole numbers.

    Parameters
    ----------
    attack
        The attack by linear programs, after its run; what it shows and holds possible is replaced.
    whole
        Which numbers cells can be.
    exact
        Find both ends where few cells are tied together; otherwise only what levels and widths ask for.
    """
    return _Attack(attack, whole, exact).run()


class _Attack:
    def __init__(self, attack: External, whole: Whole, exact: bool) -> None:
        self.attack, self.exact = attack, exact
        cells = attack.cells
        self.step = whole.step[cells]
        self.gaps = {at: mine for at, cell in enumerate(cells.tolist()) if (mine := whole.of(cell)) is not None}
        self.matrix: csr_array = attack.matrix
        self.columns: csc_array = attack.matrix.tocsc()
        self.label = components(self.matrix, np.arange(len(cells)))[1]
        self.size = np.bincount(self.label, minlength=1)
        self.models: dict[bytes, _Program] = {}
        self.large = 0
        value = attack.system.value[cells]
        self.value = value
        low, high = attack.system.lower_bound[cells], attack.system.upper_bound[cells]
        self.low = np.where(low <= NO_LOWER, -FAR, low - value)
        self.high = np.where(high >= NO_UPPER, FAR, high - value)

    def run(self) -> IntegerEnds:
        """Look at every wanted whole cell, up and down."""
        attack = self.attack
        wanted = np.flatnonzero(attack.wanted & (self.step > 0))
        for number, at in enumerate(wanted.tolist()):
            checkpoint("audit by whole numbers", number, len(wanted))
            for way in (UP, DOWN):
                shown, possible = self._end(at, way)
                attack.shown[way, at], attack.possible[way, at] = shown, possible
        checkpoint("audit by whole numbers", len(wanted), len(wanted))
        required = attack.required
        level = ((attack.shown < required.enough) & (attack.possible >= required.enough)).any(axis=0)
        narrow = (attack.shown.sum(axis=0) < required.width) & (attack.possible.sum(axis=0) >= required.width)
        mine = attack.wanted & (self.step > 0)
        ends = np.array_equal(attack.shown[:, mine], attack.possible[:, mine])
        return IntegerEnds(mine & (level | narrow), bool(self.exact and ends))

    def _end(self, at: int, way: int) -> tuple[float, float]:
        """How far a cell was shown to go one way, and how far it can at most."""
        step = int(self.step[at])
        if np.isinf(self.attack.shown[way, at]):  # a direction without an end has one in whole numbers, too
            return np.inf, np.inf
        most = float(self.attack.possible[way, at])
        if np.isfinite(most):
            most = float(int(most + SLIP * max(step, 1)) // step * step)
        need = max(float(self.attack.required.level[way, at]), float(self.attack.required.width[at]), float(step))
        tied = int(self.size[self.label[at]])
        aim = most if self.exact and tied <= ENDS_UP_TO and np.isfinite(most) else min(most, need)
        shown = 0.0
        if aim <= 0:
            return shown, most
        if self._exchanged(at, way, aim):
            return aim, most
        for size in SIZES:
            closed = size >= tied
            cells = self._near(at, size, closed)
            if len(cells) > LARGE:
                self.large += 1
                if self.large > MANY:
                    break
            found, bound = self._program(cells).push(at, way, aim)
            shown = max(shown, found)
            if closed and bound < aim - SLIP * step:
                # Nothing beyond this fits, whatever the cells around do.
                most = min(most, float(int(bound + SLIP * step) // step * step))
            if closed or shown >= aim - SLIP:
                break
        return min(shown, most), most

    @cached_property
    def _lifts(self) -> tuple[csc_array, Ints, Ints, Ints]:
        """What one unit of each free cell changes; the free cell of each cell; how far all cells can fall and rise."""
        system, cells = self.attack.system, self.attack.cells
        inner = interior(system)
        place = np.full(len(system), -1, np.int64)
        place[inner.cells] = np.arange(len(inner.cells))
        low, high = np.zeros(len(system), np.int64), np.zeros(len(system), np.int64)
        low[cells], high[cells] = self.low, self.high
        return inner.sums.tocsc(), place[cells], low, high

    def _exchanged(self, at: int, way: int, aim: float) -> bool:
        """Whether a finest cell goes that far with all sums above it, or in exchange for one other finest cell."""
        lifts, place, low, high = self._lifts
        step, column = int(self.step[at]), int(place[at])
        if self.gaps or column < 0:
            return False
        move = int(-(-aim // step)) * step * (1 if way == UP else -1)
        mine = lifts[:, [column]]
        overlap = np.asarray((lifts.T @ mine).todense()).ravel()
        overlap[column] = 0
        others = np.argsort(-overlap, kind="stable")[:PARTNERS]
        others = others[overlap[others] > 0]
        change = np.asarray(mine.todense(), np.int64)
        tried = np.hstack([change, change - np.asarray(lifts[:, others].todense(), np.int64)]) * move
        return bool(((tried >= low[:, None]) & (tried <= high[:, None])).all(axis=0).any())

    def _near(self, at: int, size: int, closed: bool) -> Ints:
        if closed:
            return np.flatnonzero(self.label == self.label[at])
        return around(self.matrix, self.columns, at, size)

    def _program(self, cells: Ints) -> _Program:
        mark = cells.tobytes()
        if mark not in self.models:
            if len(self.models) > 50:
                self.models.clear()
            gaps = {k: self.gaps[c] - self.value[c] for k, c in enumerate(cells.tolist()) if c in self.gaps}
            self.models[mark] = _Program(
                self.columns[:, cells].tocsr(), cells, self.low[cells], self.high[cells], self.step[cells], gaps
            )
        return self.models[mark]


class _Program:
    """Moves of some cells in whole steps that keep all relations, the other cells staying where they are."""

    def __init__(
        self, matrix: csr_array, cells: Ints, low: Ints, high: Ints, step: Ints, gaps: dict[int, Ints]
    ) -> None:
        import highspy
        from scipy.sparse import coo_array, csr_array

        from discreet.solve.program import started

        rows = np.flatnonzero(np.diff(matrix.indptr))
        matrix = matrix[rows]
        n, unit = len(cells), np.maximum(step, 1)
        self.place = {int(cell): k for k, cell in enumerate(cells.tolist())}
        self.unit, self.low, self.high = unit, -(-low // unit), high // unit
        # Where values have gaps, one of them is chosen by numbers of 0 or 1.
        of = np.repeat(list(gaps), [len(v) for v in gaps.values()]).astype(np.int64)
        chosen = np.concatenate(list(gaps.values())) if gaps else np.zeros(0, np.int64)
        turn = {k: i for i, k in enumerate(gaps)}
        each = np.array([turn[int(k)] for k in of], np.int64)
        m, extra = len(chosen), len(gaps)
        top = coo_array(matrix * unit[None, :])
        spots: list[tuple[Any, Any, Any]] = [(top.data, top.row, top.col)]
        if m:
            # move - sum of chosen moves = 0, and one is chosen
            first = np.array(list(gaps), np.int64)
            spots.append((unit[first].astype(float), len(rows) + np.arange(extra), first))
            spots.append((-chosen.astype(float), len(rows) + each, n + np.arange(m)))
            spots.append((np.ones(m), len(rows) + extra + each, n + np.arange(m)))
        data, row, col = (np.concatenate(part) for part in zip(*spots, strict=True))
        whole = csr_array((data.astype(np.float64), (row, col)), shape=(len(rows) + 2 * extra, n + m))
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = whole.shape
        model.col_cost_ = np.zeros(n + m)
        model.col_lower_ = np.concatenate((self.low, np.zeros(m))).astype(np.float64)
        model.col_upper_ = np.concatenate((self.high, np.ones(m))).astype(np.float64)
        model.row_lower_ = model.row_upper_ = np.concatenate((np.zeros(len(rows) + extra), np.ones(extra)))
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_ = whole.indptr, whole.indices
        model.a_matrix_.value_ = whole.data
        kinds = [highspy.HighsVarType.kInteger if s else highspy.HighsVarType.kContinuous for s in step.tolist()]
        model.integrality_ = kinds + [highspy.HighsVarType.kInteger] * m
        options: dict[str, Any] = {"mip_max_nodes": NODES, "mip_rel_gap": 0.0, "mip_abs_gap": 0.5}
        self.highs = started(model, **options)
        self.matrix, self.gaps, self.n = matrix, gaps, n

    def push(self, cell: int, way: int, aim: float) -> tuple[float, float]:
        """How far a cell goes one way at most, up to an aim: found, and what it cannot exceed."""
        import highspy

        at, sign = self.place[cell], 1 if way == UP else -1
        unit = int(self.unit[at])
        steps = int(-(-aim // unit))
        low, high = int(self.low[at]), int(self.high[at])
        low, high = (low, min(high, steps)) if sign > 0 else (max(low, -steps), high)
        self.highs.clearSolver()
        self.highs.changeColCost(at, -float(sign))
        self.highs.changeColBounds(at, float(low), float(high))
        self.highs.run()
        info, status = self.highs.getInfo(), self.highs.getModelStatus()
        found, solved = 0.0, False
        if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            move = np.rint(np.array(self.highs.getSolution().col_value[: self.n])).astype(np.int64)
            if self._fits(move, at, low, high):
                found = max(float(sign * move[at] * unit), 0.0)
                solved = status == highspy.HighsModelStatus.kOptimal
        bound = found if solved else float(steps * unit)
        self.highs.changeColCost(at, 0.0)
        self.highs.changeColBounds(at, float(self.low[at]), float(self.high[at]))
        return found, max(bound, found)

    def _fits(self, move: Ints, at: int, low: int, high: int) -> bool:
        """Whether an answer is what it says, in whole numbers."""
        inside = (move >= self.low) & (move <= self.high)
        inside[at] = low <= move[at] <= high
        units = move * self.unit
        listed = all(units[k] in values for k, values in self.gaps.items())
        return bool(inside.all()) and listed and not np.any(self.matrix @ units.astype(np.float64))


def whole_steps(system: System) -> Ints:
    """For every cell of a system the step of its whole numbers: one, of counts of records without weights."""
    step = np.zeros(len(system), np.int64)
    for table, cells in zip(system.tables, system.of, strict=True):
        if table.spec.value is None and table.weighted is None:
            step[cells] = 10 ** (system.decimals - table.decimals)
    return step
