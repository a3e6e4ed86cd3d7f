"""The cheapest pattern of one small table: a 0-1 program over its cells, with cuts from attackers.

The program knows what attackers have shown so far: which cells would have to be withheld for a cell to move by its
level. Its relaxation is solved first, then itself, each time with more cuts, until the attackers are content.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints, pointers
from discreet.tables.engines.subtables import relations_of
from discreet.tables.suppress.cuts import FAR, Cut, CutPrograms, PatternDemands, capacity_cuts
from discreet.tables.suppress.master import CutProgram
from discreet.tables.suppress.optimal import optimal

ENOUGH = 1 - 1e-9
WHOLE = 1e-6
"""A share counts as nothing or all within this."""
SURE = 0.9
"""Cells of which the relaxation withholds this share are settled together."""
MOST_ROUNDS = 10
"""0-1 programs of a two-way table, each with more cuts."""
UNLIMITED = 10**9
UNBOUNDED = 1e15
"""Rooms beyond this are none that a whole number could tell."""


@dataclass(frozen=True, eq=False)
class FlatTable:
    """A table without hierarchies, one axis a variable; the first place of a ``whole`` axis is the sum of the others.

    ``up``, ``down``, ``need_up`` and ``need_down`` are flat; ``sums`` are lines (axis, places) whose sum must move.
    """

    cells: Codes
    whole: Bools
    hidden: Bools
    allowed: Bools
    weight: Floats
    up: Floats
    down: Floats
    need_up: Floats
    need_down: Floats
    sums: list[tuple[int, Ints]]


class SmallestPattern(NamedTuple):
    """New places to withhold, places that cannot be protected, programs solved, and whether it is the cheapest."""

    new: Ints
    short: Ints
    programs: int
    proved: bool


class _Oracle(Protocol):
    """Attackers: the places whose levels are out of reach, cuts that a point violates, and the cheapest pattern.

    The 0-1 program is solved where the relaxation leaves ``few_fractional`` open at most.
    """

    few_fractional: float

    def impossible(self) -> Ints: ...

    def cuts(self, share: Floats) -> list[Cut]: ...

    def content(self, share: Floats) -> bool: ...

    def optimum(self, best: Bools, weight: Floats, master: SmallMaster, nodes: int | None) -> tuple[Bools, bool]: ...


def cheapest(problem: FlatTable, nodes: int | None) -> SmallestPattern:
    """The cheapest pattern, or a cheap one where finding the cheapest would take too long.

    The relaxation is solved with cuts until attackers are content. If it does not say of every cell whether it is
    withheld, a pattern is made by settling one cell after the other; if that is not as cheap as the relaxation, the 0-1
    program is solved as well.
    """
    flat_allowed = problem.allowed.ravel()
    oracle: _Oracle = _Flows(problem) if problem.cells.ndim == 2 and problem.whole.all() else _Programs(problem)
    short = oracle.impossible()
    settled = problem.hidden.ravel()
    weight = problem.weight.ravel()
    master = SmallMaster(weight, np.flatnonzero(flat_allowed & ~settled), settled)
    if not master.add(oracle.cuts(settled.astype(np.float64))):
        return SmallestPattern(np.zeros(0, np.int64), short, 0, True)
    point = _settled_by_cuts(master, oracle)
    least = float(weight @ point)
    fractional = int(np.sum(np.minimum(point, 1 - point) > WHOLE))
    best, proved = point > 0.5, fractional == 0
    if fractional:
        best = _dive(master, oracle, point)
        best = _pruned(best, settled, weight, oracle)
        proved = float(weight @ best) <= least * (1 + WHOLE)
        if not proved and (nodes is None or (nodes and fractional <= oracle.few_fractional)):
            best, proved = oracle.optimum(best, weight, master, nodes)
    return SmallestPattern(np.flatnonzero(best & ~settled), short, master.solved, proved)


def _settled_by_cuts(master: SmallMaster, oracle: _Oracle) -> Floats:
    """A point of the relaxation with which the attackers are content."""
    while True:
        point = master.solve()
        whole = bool(np.all(np.minimum(point, 1 - point) < WHOLE))
        if not master.add(oracle.cuts(np.rint(point) if whole else point)):
            return np.rint(point) if whole else point


def _dive(master: SmallMaster, oracle: _Oracle, point: Floats) -> Bools:
    """A pattern from the relaxation, by withholding the cell that it withholds most, again and again."""
    while True:
        open_cells = np.flatnonzero(np.minimum(point, 1 - point) > WHOLE)
        if not len(open_cells):
            master.open_again()
            return point > 0.5
        sure = open_cells[point[open_cells] > SURE]
        master.withhold(sure if len(sure) else open_cells[[int(np.argmax(point[open_cells]))]])
        point = _settled_by_cuts(master, oracle)


def _pruned(best: Bools, settled: Bools, weight: Floats, oracle: _Oracle) -> Bools:
    """Publish what the attackers do not need, the dearest first."""
    best = best.copy()
    extra = np.flatnonzero(best & ~settled)
    for cell in extra[np.lexsort((extra, -weight[extra]))].tolist():
        best[cell] = False
        if not oracle.content(best.astype(np.float64)):
            best[cell] = True
    return best


class SmallMaster(CutProgram):
    """The 0-1 program over cells that may be withheld or not; those that are settled have no column in it."""

    digits = 9

    def __init__(self, weight: Floats, free: Ints, settled: Bools) -> None:
        self.free, self.settled = free, settled
        column = np.full(len(weight), -1, np.int64)
        column[free] = np.arange(len(free))
        super().__init__(weight[free], np.zeros(len(free)), np.ones(len(free)), column)
        self._column: Ints = column
        self.whole = False

    def withhold(self, places: Ints) -> None:
        """Settle cells for the time being."""
        ones = np.ones(len(places))
        self._bound(self._column[places], ones, ones)

    def open_again(self) -> None:
        """Let all cells be chosen freely again."""
        count = len(self.free)
        self._bound(np.arange(count), np.zeros(count), np.ones(count))

    def solve(self) -> Floats:
        """The best point of the relaxation."""
        self._run()
        return self._point()

    def solve_whole(self, nodes: int | None) -> Floats | None:
        """The best pattern, or nothing where it takes more than so many nodes."""
        import highspy

        highs = self._highs
        if not self.whole:
            self.whole = True
            places = np.arange(len(self.free), dtype=np.int32)
            kinds = np.full(len(places), int(highspy.HighsVarType.kInteger), np.uint8)
            highs.changeColsIntegrality(len(places), places, kinds)
            if nodes is not None:
                highs.setOptionValue("mip_max_nodes", nodes)
            highs.setOptionValue("mip_rel_gap", WHOLE)
            highs.setOptionValue("presolve", "choose")
        found = self._run() == highspy.HighsModelStatus.kOptimal
        return np.rint(self._point()) if found else None

    def _point(self) -> Floats:
        point = self.settled.astype(np.float64)
        point[self.free] = np.clip(np.asarray(self._highs.getSolution().col_value), 0.0, 1.0)
        return point


class _Flows:
    """Attackers on a two-way table."""

    few_fractional: float = 40

    def __init__(self, problem: FlatTable) -> None:
        rows, columns = problem.cells.shape
        self.settled, self.allowed = problem.hidden.ravel().copy(), problem.allowed.ravel()
        up, down = np.minimum(problem.up, UNBOUNDED), np.minimum(problem.down, UNBOUNDED)
        self.rooms = np.where(self.allowed, up, 0.0), np.where(self.allowed, down, 0.0)
        self.network = _two_way_network(rows, columns)
        lines, inward, members, levels, place = [], [], [], [], []
        for p in np.flatnonzero(self.settled).tolist():
            i, j = divmod(p, columns)
            tail = i if (i == 0) == (j == 0) else rows + j
            for need, room, rises in (
                (problem.need_up[p], up[p], True),
                (problem.need_down[p], down[p], False),
            ):
                if need > 0:
                    lines.append(tail)
                    inward.append(rises)
                    members.append([p])
                    levels.append(min(need, room))
                    place.append((p, float(need)))
        for axis, places in problem.sums:
            i, j = divmod(int(places[0]), columns)
            lines.append(i if axis == 1 else rows + j)
            inward.append(True)
            members.append(places.tolist())
            levels.append(1.0)
            place.append((-1, 1.0))
        self.line, self.inward = np.array(lines, np.int64), np.array(inward, np.bool_)
        self.members, self.level, self.place = members, np.array(levels, np.float64), place

    def impossible(self) -> Ints:
        """Lower every level to what can be reached at all; places whose own level that was."""
        self._keep(self.level > 0)
        reach = self._flows(self.allowed.astype(np.float64))[0]
        short = {p for (p, need), got in zip(self.place, reach.tolist(), strict=True) if p >= 0 and got < need * ENOUGH}
        short |= self._without_room
        # A little below what can be reached, so that rounding does not put it out of reach.
        self.level = np.where(reach < self.level * ENOUGH, reach * (1 - WHOLE), self.level)
        self._keep(self.level > WHOLE)
        return np.array(sorted(short), np.int64)

    def _keep(self, which: Bools) -> None:
        self._without_room = {p for (p, _), kept in zip(self.place, which.tolist(), strict=True) if p >= 0 and not kept}
        chosen = np.flatnonzero(which)
        self.line, self.inward, self.level = self.line[chosen], self.inward[chosen], self.level[chosen]
        self.members = [self.members[k] for k in chosen.tolist()]
        self.place = [self.place[k] for k in chosen.tolist()]
        self.first = pointers(np.array([len(cells) for cells in self.members], np.int64))
        self.member = np.array([p for cells in self.members for p in cells], np.int64)

    def _flows(self, share: Floats) -> Any:
        from discreet.tables.engines.modular_kernels import flows

        demands = self.line, self.inward, self.first, self.member, self.level
        return flows(*demands, *self.network, *self.rooms, share, self.settled)

    def cuts(self, share: Floats) -> list[Cut]:
        """Cuts that a point violates."""
        _, start, cell, value = self._flows(share)
        return [
            Cut(cell[a:b].astype(np.int64), value[a:b])
            for a, b in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)
        ]

    def content(self, share: Floats) -> bool:
        """Whether a pattern meets all demands."""
        return bool(np.all(self._flows(share)[0] >= self.level * ENOUGH))

    def optimum(self, best: Bools, weight: Floats, master: SmallMaster, nodes: int | None) -> tuple[Bools, bool]:
        """The cheapest pattern and whether that is proved; 0-1 programs of all cuts are solved again and again."""
        for _ in count() if nodes is None else range(MOST_ROUNDS):
            point = master.solve_whole(nodes)
            if point is None:
                break
            if not master.add(self.cuts(point)):
                cheaper = float(weight @ point) <= float(weight @ best)
                return (point > 0.5 if cheaper else best), cheaper
        return best, False


def _two_way_network(rows: int, columns: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Cells as arcs between rows and columns: where each begins and ends, and the arcs of every node."""
    from discreet.solve.flow import arcs_of_nodes

    row, column = (place.ravel() for place in np.indices((rows, columns), np.int64))
    along = (row == 0) == (column == 0)
    tail, head = np.where(along, row, rows + column), np.where(along, rows + column, row)
    begin, _, arcs = arcs_of_nodes(tail, head, rows + columns)
    return tail, head, begin, arcs


class _Programs:
    """Attackers on a table of any number of dimensions, as linear programs; sums are further cells."""

    few_fractional: float = np.inf

    def __init__(self, problem: FlatTable) -> None:
        from scipy.sparse import coo_array, csr_array, vstack

        size, extra = problem.cells.size, len(problem.sums)
        matrix = relations_of(np.where(problem.allowed, problem.cells, -1), problem.whole)
        wide = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], size + extra))
        if extra:
            row = np.concatenate([np.full(len(p) + 1, k) for k, (_, p) in enumerate(problem.sums)])
            column = np.concatenate([np.append(p, size + k) for k, (_, p) in enumerate(problem.sums)])
            value = np.concatenate([_signs(problem, k) for k in range(extra)])
            wide = csr_array(vstack([wide, coo_array((value, (row, column)), shape=(extra, size + extra))]))
        self.size = size
        self.settled = np.concatenate((problem.hidden.ravel(), np.ones(extra, np.bool_)))
        self.allowed = np.concatenate((problem.allowed.ravel(), np.ones(extra, np.bool_)))
        far = np.concatenate((problem.up, np.full(extra, np.inf)))
        deep = np.concatenate((problem.down, np.full(extra, np.inf)))
        upper = np.where(far >= UNBOUNDED, NO_UPPER, np.minimum(far, UNBOUNDED)).astype(np.int64)
        lower = np.where(deep >= UNBOUNDED, NO_LOWER, -np.minimum(deep, UNBOUNDED)).astype(np.int64)
        target, direction, level = [], [], []
        self.without_room: list[int] = []
        for need, sign, room in ((problem.need_up, 1, problem.up), (problem.need_down, -1, problem.down)):
            for p in np.flatnonzero(problem.hidden.ravel() & (need > 0)).tolist():
                target.append(p)
                direction.append(sign)
                level.append(max(1, int(min(need[p], room[p]))))
                if room[p] < need[p]:
                    self.without_room.append(p)
        for k in range(extra):
            target.append(size + k)
            direction.append(1)
            level.append(1)
        self.demand = PatternDemands.external(
            np.array(target, np.int64), np.array(direction, np.int64), np.array(level, np.int64)
        )
        self.known = wide, np.zeros(size + extra, np.int64), lower, upper
        self.attackers = _OneModel(*self.known, self.demand)
        # Large levels first: an alternative for one of them often serves smaller ones as well.
        self.active = np.argsort(-self.demand.level, kind="stable").astype(np.int64)

    def impossible(self) -> Ints:
        """Leave out demands that cannot be met; their places."""
        left = self._not_met(self.allowed.astype(np.float64))
        self.active = self.active[~np.isin(self.active, np.array([k for k, _ in left], np.int64))]
        places = np.array([self.demand.target[k] for k, _ in left] + self.without_room, np.int64)
        return np.unique(places[places < self.size])

    def cuts(self, share: Floats) -> list[Cut]:
        """Cuts that a point violates."""
        share = np.concatenate((share, np.ones(len(self.settled) - self.size)))
        found: list[Cut] = []
        for _, given in self._not_met(share):
            found += capacity_cuts(np.where(self.allowed, given, 0.0), self.settled, share, WHOLE)
        return found

    def content(self, share: Floats) -> bool:
        """Whether a pattern meets all demands."""
        return not self._not_met(np.concatenate((share, np.ones(len(self.settled) - self.size))), most=1)

    def optimum(self, best: Bools, weight: Floats, master: SmallMaster, nodes: int | None) -> tuple[Bools, bool]:
        """The cheapest pattern and whether that is proved, by the search for the optimum of whole tables."""
        extra = len(self.settled) - self.size
        found = optimal(
            *self.known,
            self.allowed,
            self.settled,
            np.concatenate((weight, np.zeros(extra))),
            self.demand.on(np.arange(self.size + extra), np.sort(self.active)),
            np.concatenate((best, np.ones(extra, np.bool_))),
            max_nodes=UNLIMITED if nodes is None else nodes,
            max_rounds=UNLIMITED if nodes is None else nodes,
            cuts=master.cuts,
        )
        master.solved += found.effort["nodes"]
        return found.withheld[: self.size], found.proven

    def _not_met(self, share: Floats, most: int = 10**9) -> list[tuple[int, Floats]]:
        """Demands that a point does not meet, at most so many, each with what every cell would give to it.

        Those that stand in the way are asked first the next time.
        """
        met = np.zeros(len(self.demand), np.bool_)
        missed = []
        for k in self.active.tolist():
            if met[k]:
                continue
            for far in FAR:
                got = self.attackers.attack(k, share, far)
                if got.reached:
                    met |= self.attackers.also_met(k, share, got.moves)
                    break
                given = np.minimum(got.given, 1.0)
                if float(given @ share) < 1 - WHOLE:
                    missed.append((k, given))
                    break
            if len(missed) == most:
                self.active = np.concatenate(([k], self.active[self.active != k]))
                break
        return missed


class _OneModel(CutPrograms):
    """Attackers that share one solver: small tables have more demands than there is to gain from warm ones."""

    def _place(self, k: int, keen: bool) -> tuple[int, bool]:
        return 0, False


def _signs(problem: FlatTable, k: int) -> Ints:
    """Coefficients of a sum: parts count with one sign and the line's total with the other, the sum itself with -1."""
    axis, places = problem.sums[k]
    at = np.unravel_index(places, problem.cells.shape)[axis]
    return np.append(np.where(at == 0, -1, 1), -1).astype(np.int64)
