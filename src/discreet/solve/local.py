"""Cheap exact alternatives, looked for in the neighbourhood of a cell.

An alternative says how withheld cells could be different without anybody noticing. Cells that are withheld already
move for free; others cost what it costs to withhold them. Whatever moves in a neighbourhood is true of the whole
system, because all other cells stay where they are; only that *nothing* moves needs the whole system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints
from discreet.solve.small import BY_COST, FLAT, KEEP_OFF, STEEP, Alternative, Part, SmallProgram, Solver

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.solve.lattice import Lattice

LATTICE = 3
"""Stands for a neighbourhood that follows the hierarchies of a table, of whatever size it is."""
_NEAR = (80, STEEP), (250, STEEP), (600, STEEP), (1_500, STEEP)
_FAR = (3_000, FLAT), (10_000, FLAT), (40_000, FLAT)
SIZES = (*_NEAR, *_FAR, (200_000, FLAT))
"""Neighbourhoods that are tried one after the other until something moves: cells, and how distance is measured.

The last one is the whole system.
"""
LARGE = (*_NEAR, *_FAR, (40_001, BY_COST), (200_000, FLAT))
"""The same where programs of the whole system are too large: what is cheap by now is near by cost, if not by steps."""
HUGE = (*LARGE, (200_001, LATTICE))
"""The same with a lattice, for cells that are left at the end: what is found in it is many times as dear."""
CUBES = (_NEAR[0], (81, LATTICE), *_NEAR[1:], *_FAR, (200_000, FLAT))
"""The same for tables of three and more variables: few neighbourhoods hold all corners of a cube, a lattice does."""
MOST_CUBES = 20_000
"""Of larger ones the first answers of lattices are many times as dear, and no limit of wide programs is enough."""
QUICK = 3_000
"""Neighbourhoods of at most so many cells are left to the compiled solver."""
AT_STAKE, MOST_AT_STAKE = 1_000_000, 20_000
"""Where an alternative costs a good part of all that is withheld, so many times that part are looked at, at most."""
BY_STAKE = 10_000_000
"""In large systems, where it is known what a pattern costs about: what an alternative costs of that, times this number,
is how many cells are looked at for something cheaper; few hundred where that is fewer, and none where an alternative
costs less than one of so many cells does on average: the many small ones cost more than the few large ones together."""
AGAIN = 0.02
"""Programs of many cells are solved again where the alternative costs this share of all that is withheld."""
SECOND, FURTHER = 1_500, 6_000
"""Cells of the neighbourhood in which something cheaper is looked for, also where it was hard to find anything."""
NARROW, WIDE_ITERATIONS = 600, 200_000
"""In tables of three and more variables, programs of more cells than this take ten times the iterations that they take
in two: together they may take so many, and something cheaper is looked for nearby only after that."""


class Graph:
    """Relations as lists of cells and cells as lists of relations, with scratch space for searches."""

    def __init__(self, matrix: csr_array) -> None:
        columns = matrix.tocsc()
        self.row_start, self.row_cell = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
        self.cell_start, self.cell_row = columns.indptr.astype(np.int32), columns.indices.astype(np.int32)
        self.coefficient, self.row_coefficient = columns.data.astype(np.int64), matrix.data.astype(np.int64)
        self.distance, self.rises = np.full(matrix.shape[1], np.inf), np.zeros(matrix.shape[1], np.int8)
        self.opened = np.zeros(matrix.shape[0], np.int8)
        self.key, self.item = np.empty(matrix.nnz + 1), np.empty(matrix.nnz + 1, np.int32)
        self.place = np.full(matrix.shape[0], -1, np.int32)
        by_cell, by_row = (self.cell_start, self.cell_row, self.coefficient), (self.row_start, self.row_cell)
        self.lists: tuple[Any, ...] = (*by_cell, *by_row, self.row_coefficient)
        self.scratch: tuple[Any, ...] = (self.distance, self.rises, self.opened, self.key, self.item)

    def nearest(
        self,
        programs: LocalPrograms,
        target: int,
        direction: int,
        level: int,
        most: int,
        measure: int,
        budget: float,
        step: float,
    ) -> Codes:
        """Cells in the order of their distance from a target; see the kernel."""
        from discreet.solve.neighbourhood import nearest

        known = (programs.weight, programs.room, programs.headroom, programs.movable)
        search = (target, direction, most, measure, budget, step, float(level))
        return nearest(*search, *known, *self.lists, *self.scratch)

    def quick(
        self,
        programs: LocalPrograms,
        target: int,
        direction: int,
        level: int,
        most: int,
        measure: int,
        budget: float,
        step: float,
    ) -> tuple[Codes, Ints, float]:
        """An exact alternative among so many neighbours by the compiled solver."""
        from discreet.solve.quick import quick_alternative

        p = programs
        search = (target, direction, level, most, measure, budget, step, p.rounds)
        known: tuple[Any, ...] = (p.cost, p.weight, p.room, p.headroom, p.movable, p.withheld)
        bounds: tuple[Any, ...] = (p.value, p.lower, p.upper)
        scratch: tuple[Any, ...] = (*self.scratch, self.place, p.solver.effort)
        found: tuple[Codes, Ints, float] = quick_alternative(*search, *known, *bounds, *self.lists, *scratch)
        return found

    def quick_among(
        self, programs: LocalPrograms, target: int, direction: int, level: int, chosen: Codes, budget: float
    ) -> tuple[Codes, Ints, float]:
        """An exact alternative among chosen cells by the compiled solver."""
        from discreet.solve.quick import quick_among

        p = programs
        known: tuple[Any, ...] = (p.cost, p.withheld, p.value, p.lower, p.upper)
        graph: tuple[Any, ...] = (self.cell_start, self.cell_row, self.coefficient, self.place, p.solver.effort)
        search: tuple[Any, ...] = (target, direction, level, chosen, np.inf, budget, p.rounds)
        found: tuple[Codes, Ints, float] = quick_among(*search, *known, *graph)
        return found

    def among(self, target: int, chosen: Codes) -> tuple[Codes, Codes, Codes, Ints]:
        """Those of the chosen cells that can move, and the relations among them."""
        from discreet.solve.neighbourhood import program_of

        graph = (self.cell_start, self.cell_row, self.coefficient)
        return program_of(target, chosen, *graph, self.place)


class LocalPrograms:
    """Finds cheap exact alternatives on a system of relations, and keeps what is withheld so far.

    Parameters
    ----------
    matrix
        Relations that define all others, one row per equation.
    value, lower, upper
        Values and what is known of them, in units.
    movable
        Cells that may be withheld.
    required
        Cells that are withheld in any case.
    cost
        What withholding a cell costs.
    integral
        Cells that can only be whole numbers of units, and everybody knows it.
    """

    def __init__(
        self,
        matrix: csr_array,
        value: Ints,
        lower: Ints,
        upper: Ints,
        movable: Bools,
        required: Bools,
        cost: Floats,
        integral: Bools,
        lattice: Lattice | None = None,
    ) -> None:
        self.lattice = lattice
        self.graph = Graph(matrix)
        self.value, self.lower, self.upper = value, lower.copy(), upper
        self.room = np.where(lower <= NO_LOWER, np.inf, value - lower.astype(np.float64))
        self.headroom = np.where(upper >= NO_UPPER, np.inf, upper.astype(np.float64) - value)
        self.movable, self.required, self.integral = movable.copy(), required, integral
        self.withheld = required.copy()
        self.charge(cost)
        self.solver = Solver()
        self.whole = len(value) <= SIZES[-1][0]
        cubes = lattice is not None and lattice.variables > 2 and len(value) <= MOST_CUBES
        whole = CUBES if cubes else SIZES
        self.sizes: Sequence[tuple[int, int]] = whole if self.whole else LARGE
        self.wide_left = float(WIDE_ITERATIONS) if cubes else np.inf
        self.second, self.rounds = SECOND, 1
        self.expected, self.shared_by = 0.0, 1

    def charge(self, cost: Floats) -> None:
        """Let withholding cells cost this from now on."""
        self.price = np.maximum(cost, max(float(cost.mean()) if len(cost) else 0.0, 1e-9) * 1e-6)
        self.cost = np.where(self.required, 0.0, cost)
        self.weight = np.where(self.withheld, 0.0, self.cost)
        self.spent = float(self.cost[self.withheld].sum())

    def withhold(self, cells: Codes | Ints) -> None:
        """Let cells move for free from now on."""
        self.spent += float(self.weight[cells].sum())
        self.withheld[cells] = True
        self.weight[cells] = 0.0

    def release(self, cells: Codes | Ints) -> None:
        """Let cells cost again what they cost."""
        self.withheld[cells] = self.required[cells]
        self.spent -= float((self.cost[cells] - self.weight[cells]).sum())
        self.weight[cells] = self.cost[cells]

    @contextmanager
    def fixed(self, cells: Codes | Ints, lower_cells: Ints, lower: Ints) -> Iterator[None]:
        """Hold some cells where they are and others above a floor, inside the block."""
        movable, old = self.movable[cells].copy(), self.lower[lower_cells].copy()
        self.movable[cells] = False
        self._set_lower(lower_cells, np.maximum(old, lower))
        try:
            yield
        finally:
            self.movable[cells] = movable
            self._set_lower(lower_cells, old)

    def _set_lower(self, cells: Ints, lower: Ints) -> None:
        self.lower[cells] = lower
        self.room[cells] = np.where(lower <= NO_LOWER, np.inf, self.value[cells] - lower.astype(np.float64))

    def find(
        self, target: int, direction: int, level: int, budget: float = np.inf, above: int = 0, largest: int = 10**9
    ) -> Alternative | None:
        """A cheap alternative that moves ``target`` by ``level`` up (+1) or down (-1); ``None`` if none was found.

        It is looked for in neighbourhoods of more than ``above`` and at most ``largest`` cells.
        """
        if not self.movable[target]:
            return None
        best: Alternative | None = None
        for most, measure in self.sizes:
            if most <= above:
                continue
            if most > largest:
                break
            best, everything = self._within(target, direction, level, most, measure, budget)
            if best is not None or everything:
                break
        return best if best is None or not self.second else self._cheaper(best, target, direction, level, measure)

    def _cheaper(self, best: Alternative, target: int, direction: int, level: int, measure: int) -> Alternative:
        """Something cheaper than what was found with a measure, in other neighbourhoods; or the same."""
        if self.expected > 0:
            return self._cheaper_by_stake(best, target, direction, level, measure)
        if best.cost > 0 and measure != LATTICE and self.second >= SECOND:
            best = self._in_lattice(target, direction, level, best.cost) or best
        if best.cost > 0:
            at_stake = min(AT_STAKE * best.cost / max(self.spent, best.cost), MOST_AT_STAKE)
            most = max(self.second, int(at_stake), FURTHER if measure == FLAT else 0)
            most = most if self.wide_left > 0 else min(most, NARROW)
            before = self.solver.iterations
            best = self._within(target, direction, level, most, BY_COST, best.cost)[0] or best
            self.wide_left -= self.solver.iterations - before if most > NARROW else 0
        return best

    def _cheaper_by_stake(
        self, best: Alternative, target: int, direction: int, level: int, measure: int
    ) -> Alternative:
        """The same, where the effort is shared out by what could be saved of the cost that is ``expected``."""
        most = int(min(BY_STAKE * best.cost / self.expected, MOST_AT_STAKE))
        if most < NARROW:
            if best.cost * self.shared_by <= self.expected:
                return best
            most = NARROW
        if measure != LATTICE and most >= SECOND:
            best = self._in_lattice(target, direction, level, best.cost) or best
        return self._within(target, direction, level, most, BY_COST, best.cost)[0] or best

    def _within(
        self, target: int, direction: int, level: int, most: int, measure: int, budget: float
    ) -> tuple[Alternative | None, bool]:
        """The best alternative among so many neighbours, and whether looking at more of them is of no use."""
        if measure == LATTICE:
            return self._in_lattice(target, direction, level, budget), False
        quick, most = most <= QUICK, min(most, len(self.value) + 1)
        step = float(self.price[target])
        if quick:
            if not self.solver.allowed():
                return None, False
            before = self.solver.programs
            cells, amount, cost = self.graph.quick(self, target, direction, level, most, measure, budget, step)
            self._count(before)
            if not np.isnan(cost):
                return (Alternative(cells, amount, 1, cost) if len(cells) else None), cost == -np.inf
        chosen = self.graph.nearest(self, target, direction, level, most, measure, budget, step)
        return self._among(target, direction, level, chosen, budget), len(chosen) < most

    def _count(self, before: int) -> None:
        """Count a search that ended before its program as one, so that no two searches begin at the same count."""
        self.solver.effort[0] += self.solver.programs == before

    def _in_lattice(self, target: int, direction: int, level: int, budget: float) -> Alternative | None:
        if self.lattice is None:
            return None
        chosen = self.lattice.around(target, level, self.weight, self.movable)
        if len(chosen) < 2 or not self.solver.allowed():
            return None
        before = self.solver.programs
        cells, amount, cost = self.graph.quick_among(self, target, direction, level, chosen, budget)
        self._count(before)
        return Alternative(cells, amount, 1, cost) if len(cells) else None

    def _among(self, target: int, direction: int, level: int, chosen: Codes, budget: float) -> Alternative | None:
        cells, start, index, coefficient = self.graph.among(target, chosen)
        if not len(cells):
            return None
        cost, free = self.cost[cells], self.withheld[cells]
        weight = np.where(free, KEEP_OFF * cost, cost)
        part = Part(
            cells,
            start,
            index,
            coefficient,
            self.value[cells],
            self.lower[cells],
            self.upper[cells],
            cost,
            weight,
            free,
            self.integral[cells],
        )
        # A second program with other charges takes three times as long as the first on many cells.
        worth = 0.0 if len(chosen) <= QUICK else AGAIN * self.spent
        return SmallProgram(part, target, direction, level, self.solver).best(budget, self.rounds, worth)
