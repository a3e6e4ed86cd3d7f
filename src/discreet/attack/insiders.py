"""Attacks by contributors, who know what they contribute to every cell.

There are very many insiders, but an alternative table is ruled out by few: those who alone fill a cell that it changes,
and those whose contribution it goes below. Alternatives are found without looking at insiders; each leaves a few of
them, against whom further alternatives are looked for until nobody is left or one of them gets through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from discreet.attack.intervals import PUSH, TOLERANCE, External, Reporter
from discreet.attack.knowledge import NOBODY, CellRoom, InsiderKnowledge
from discreet.attack.moves import DOWN, FAR, UP, Parts, PossibleMoves, added_up, limit, parts
from discreet.attack.region import Region
from discreet.attack.settle import ALIKE, POOR, SIZES, worth_batches
from discreet.model.arrays import Bools, Floats, Ints, Status

WIDTH = 2
"""Beside ``UP`` and ``DOWN``: how far a cell can rise and fall together."""
LARGE_PART = 300
"""Moves of more cells are not asked who rules them out, because many do."""
TOLL, SOLE_TOLL = 1e-6, 1e-4
"""What moving a cell costs, and one that a single contributor fills, so that few insiders rule a move out."""
FIRST, MOST, FEW = 16, 400, 4
"""Cells pushed together at first (or a hundredth of all), at most, and the progress below which to go one by one."""


class WorstInsider(IntEnum):
    """The worst that any insider can do to an unsafe cell."""

    NOT_ATTACKED = -1
    KEPT = 0
    SHORT = 1
    RECOVERABLE = 2


@dataclass(eq=False)
class RequiredMove:
    """A cell must be able to rise, fall or both by ``enough``, for every insider.

    ``spared`` are those to whom it does not apply. ``against`` are the insiders for whom nothing was shown yet; None
    before anything was shown. ``last`` says that nothing worse can be found than that it fails.
    """

    cell: int
    kind: int
    aim: float
    enough: float
    last: bool
    spared: set[int] = field(default_factory=set)
    against: set[int] | None = None
    failed: bool = False

    @property
    def open(self) -> bool:
        """Whether anything is to be shown."""
        return not self.failed and (self.against is None or bool(self.against))


class InsiderAttack:
    """The attack of all insiders on some cells.

    Parameters
    ----------
    moves
        The cells, with what an outsider can work out.
    knowledge
        What insiders know of them.
    demands
        What must be shown.
    known
        Widths below which a cell is known.
    seed
        Which cells are pushed together; what is found does not depend on it.
    """

    def __init__(
        self,
        moves: PossibleMoves,
        knowledge: InsiderKnowledge,
        demands: Sequence[RequiredMove],
        known: Floats,
        seed: int,
    ) -> None:
        self.moves, self.knowledge, self.known = moves, knowledge, known
        self.random = np.random.default_rng(seed)
        self.finding = np.full(len(moves), WorstInsider.KEPT, np.int8)
        self.toll = np.where(knowledge.sole == NOBODY, TOLL, SOLE_TOLL)
        self._kept: tuple[tuple[int, int], Region] | None = None
        self._take(demands)

    def _take(self, demands: Sequence[RequiredMove]) -> None:
        """Make these the demands to be settled."""
        self.demands = demands
        self.of: dict[int, list[RequiredMove]] = {}
        self.wanted = np.zeros(len(self.moves), np.bool_)
        for demand in demands:
            self.of.setdefault(demand.cell, []).append(demand)
            self.wanted[demand.cell] = True

    def run(self, report: Callable[[int], None]) -> None:
        """Settle all demands, and those that follow where they fail."""
        while self.demands:
            groups = _alike(self.demands)
            later = len(self.demands)
            for group in groups if worth_batches(self.moves, len(self.demands)) else ():
                later -= len(group)
                self._together(group, later, report)
            left = [demand for demand in self.demands if demand.open]
            for number, demand in enumerate(left):
                report(len(left) - number)
                self._alone(demand)
            self._take(self._worse())

    def _worse(self) -> list[RequiredMove]:
        """Where a level fails for an insider, ask whether the cell is known to one."""
        result = []
        for demand in self.demands:
            if demand.failed:
                worse = WorstInsider.RECOVERABLE if demand.last else WorstInsider.SHORT
                before = int(self.finding[demand.cell])
                self.finding[demand.cell] = max(before, worse)
                if before < WorstInsider.SHORT and not demand.last:
                    sole = int(self.knowledge.sole[demand.cell])
                    result.append(recovery(demand.cell, float(self.known[demand.cell]), demand.aim, sole))
        return result

    # ---- many at once -------------------------------------------------------------------------------------

    def _together(self, demands: Sequence[RequiredMove], later: int, report: Callable[[int], None]) -> None:
        """Push many cells at once while that gets on; ``later`` is how many other demands wait."""
        size = max(FIRST, min(MOST, len(self.moves) // 100))
        while True:
            waiting = [demand for demand in demands if demand.open]
            chosen, insiders = self._choose(waiting, size)
            if not chosen:
                return
            before = [demand.against for demand in waiting]
            self._push(self.moves.whole, chosen, insiders)
            progress = sum(d.against != old for d, old in zip(waiting, before, strict=True))
            report(len(waiting) + later)
            if progress * POOR <= len(chosen):
                size //= 2
            elif progress * 2 > len(chosen):
                size = min(2 * size, MOST)
            if progress < max(FEW, len(self.moves) // LARGE_PART):
                return

    def _choose(self, waiting: Sequence[RequiredMove], size: int) -> tuple[list[RequiredMove], set[int]]:
        """Demands of different cells at random, none of whose cells is known to an insider of another."""
        chosen: list[RequiredMove] = []
        cells: set[int] = set()
        owners: set[int] = set()
        insiders: set[int] = set()
        for at in self.random.permutation(len(waiting)).tolist():
            demand = waiting[at]
            owner, against = int(self.knowledge.sole[demand.cell]), demand.against or set()
            if demand.cell in cells or owner in insiders or against & owners:
                continue
            chosen.append(demand)
            cells.add(demand.cell)
            if owner != NOBODY:
                owners.add(owner)
            insiders |= against
            if len(chosen) >= size:
                break
        return chosen, insiders

    def _push(self, region: Region, demands: Sequence[RequiredMove], insiders: set[int]) -> None:
        """Push the cells of demands within what some insiders know, and learn who rules the moves out."""
        local = np.searchsorted(region.cells, np.array([demand.cell for demand in demands]))
        way = np.array([self.random.choice(_ways(demand)) for demand in demands])
        aim = np.array([demand.aim for demand in demands])
        scale = float(aim.max())
        room = np.minimum(self._room(demands, insiders).of(region.cells), FAR * scale)
        moves, _ = region.solve(local, way, aim, room, scale, self.toll[region.cells])
        self._learn(parts(region, moves))

    # ---- who rules a move out -----------------------------------------------------------------------------

    def _learn(self, found: Parts, cell: int = -1) -> None:
        """Ask of every part with open demands, if it is small or ``cell`` is in it, which insiders rule it out."""
        size = np.bincount(found.part, minlength=found.total)
        asked = np.zeros(found.total, np.bool_)
        asked[found.part[self.wanted[found.cells]]] = True
        asked &= size <= LARGE_PART
        asked[found.part[found.cells == cell]] = True
        order = np.argsort(found.part, kind="stable")
        ends = np.cumsum(size)
        for number in np.flatnonzero(asked).tolist():
            self._ask(found, order[ends[number] - size[number] : ends[number]])

    def _ask(self, found: Parts, members: Ints) -> None:
        """Narrow the insiders that are left for the demands of one part's cells."""
        judges = None
        for at in members[self.wanted[found.cells[members]]].tolist():
            cell, amount, rises = int(found.cells[at]), float(found.amount[at]), bool(found.rises[at])
            for demand in self.of[cell]:
                if not demand.open:
                    continue
                judges = judges or self.knowledge.judges(found, members)
                stretch = demand.enough / amount
                if demand.kind == WIDTH:
                    against = judges.against_width(stretch)
                else:
                    aside = cell if demand.kind == DOWN else -1
                    against = judges.against(stretch, (demand.kind == UP) == rises, aside)
                if against is not None:
                    against -= demand.spared
                    demand.against = against if demand.against is None else demand.against & against

    # ---- one by one ---------------------------------------------------------------------------------------

    def _alone(self, demand: RequiredMove) -> None:
        """Settle one demand, in growing surroundings."""
        for size in (*SIZES, len(self.moves)):
            if not demand.open:
                return
            region = self._near(demand.cell, size)
            if demand.against is None and not self._anybody(region, demand):
                continue
            if demand.against and len(demand.against) > 1:
                self._everybody(region, demand)
            for insider in sorted(demand.against or ()):
                if demand.against and insider in demand.against and not self._one(region, demand, insider):
                    break
        if demand.open:
            demand.failed = True

    def _near(self, cell: int, size: int) -> Region:
        """The surroundings of a cell, kept for its next demand."""
        if self._kept is None or self._kept[0] != (cell, size):
            self._kept = (cell, size), self.moves.near(cell, size)
        return self._kept[1]

    def _anybody(self, region: Region, demand: RequiredMove) -> bool:
        """A first move, and who rules it out."""
        room = self._room([demand], set())
        for way in _ways(demand):
            self._single(region, demand, way, room, self.toll)
            if demand.against is not None:
                return True
        # Without tolls a cell may go further.
        reached, _ = self._reach(region, demand, room)
        if demand.against is None and demand.kind == WIDTH and reached >= demand.enough:
            # The width is made of two moves; who rules one of them out is asked one by one.
            demand.against = set(np.unique(self.knowledge.holder).tolist()) - {NOBODY} - demand.spared
        return demand.against is not None

    def _everybody(self, region: Region, demand: RequiredMove) -> None:
        """One move that none of the insiders left rules out."""
        room = self._room([demand], demand.against or set())
        if self._reach(region, demand, room)[0] >= demand.enough:
            demand.against = set()

    def _one(self, region: Region, demand: RequiredMove, insider: int) -> bool:
        """Whether it is settled for one insider that the demand is kept; that it fails settles all."""
        reached, possible = self._reach(region, demand, self._room([demand], {insider}))
        if reached >= demand.enough:
            demand.against = (demand.against or set()) - {insider}
            return True
        demand.failed = region.closed or possible < demand.enough
        return False

    def _room(self, demands: Sequence[RequiredMove], insiders: set[int]) -> CellRoom:
        """How far cells move for some insiders; a cell whose lower level is asked for falls as for everybody."""
        return self.knowledge.room_for(insiders, [demand.cell for demand in demands if demand.kind == DOWN])

    def _reach(self, region: Region, demand: RequiredMove, room: CellRoom) -> tuple[float, float]:
        """How far a cell moves within given bounds, and how far it could at most."""
        reached = possible = 0.0
        for way in _ways(demand):
            moved, multipliers = self._single(region, demand, way, room, None)
            reached += moved
            possible += self._limit(region, multipliers, demand.cell, way, room)
        return reached, possible

    def _single(
        self, region: Region, demand: RequiredMove, way: int, room: CellRoom, toll: Floats | None
    ) -> tuple[float, Floats]:
        """Push one cell; how far it moved, and the multipliers."""
        local = np.searchsorted(region.cells, np.array([demand.cell]))
        most = np.minimum(room.of(region.cells), FAR * demand.aim)
        cost = None if toll is None else toll[region.cells]
        aim = np.array([demand.aim])
        moves, multipliers = region.solve(local, np.array([way]), aim, most, demand.aim, cost)
        self._learn(parts(region, moves), demand.cell)
        return abs(float(moves[local[0]])), multipliers

    def _limit(self, region: Region, multipliers: Floats, cell: int, way: int, room: CellRoom) -> float:
        """How far a cell can at most move by the relations added up with multipliers, beyond the region too."""
        used = np.flatnonzero(multipliers)
        most = float(min(room.of(np.array([cell]))[way, 0], self.moves.possible[way, cell]))
        if not len(used):
            return most
        cells, combined = added_up(self.moves.matrix[region.rows[used]], multipliers[used])
        possible = np.minimum(self.moves.possible[:, cells], room.of(cells))
        limit(combined, possible)
        at = np.searchsorted(cells, cell)
        return min(most, float(possible[way, at])) if at < len(cells) and cells[at] == cell else most


def _ways(demand: RequiredMove) -> tuple[int, ...]:
    return (UP, DOWN) if demand.kind == WIDTH else (demand.kind,)


def recovery(cell: int, known: float, aim: float, sole: int) -> RequiredMove:
    """The demand that no insider knows a cell exactly, but who alone fills it."""
    return RequiredMove(cell, WIDTH, max(aim, known), known, last=True, spared={sole})


def _alike(demands: Sequence[RequiredMove]) -> list[list[RequiredMove]]:
    """Demands by the size of their aims, largest first."""
    groups: dict[int, list[RequiredMove]] = {}
    for demand in demands:
        groups.setdefault(int(np.floor(np.log(demand.aim) / np.log(ALIKE))), []).append(demand)
    return [groups[number] for number in sorted(groups, reverse=True)]


def attack_by_insiders(attack: External, full: bool, seed: int, proved: Bools | None = None) -> Status:
    """The worst that insiders can do to each withheld cell that an outsider was let loose on.

    Parameters
    ----------
    attack
        The outsider's attack.
    full
        Whether cells must keep their levels; otherwise only not be known exactly.
    seed
        Which cells are looked at together; what is found does not depend on it.
    proved
        Cells of the system with certificates that no insider can rule out; nobody need attack them again.
    """
    system, cells = attack.system, attack.cells
    found = attack.intervals(False)
    attacked = attack.wanted & system.unsafe[cells] & (system.contributors[cells] > 0)
    result = np.full(len(cells), WorstInsider.NOT_ATTACKED, np.int8)
    result[attacked] = np.where(
        found.recoverable, WorstInsider.RECOVERABLE, np.where(found.short, WorstInsider.SHORT, 0)
    )[attacked]
    if not full:
        result[result == WorstInsider.SHORT] = WorstInsider.KEPT
    if proved is not None:
        attacked &= ~proved[cells]
    knowledge = InsiderKnowledge.of(system, cells, attack.room)
    bundles = [(one, part) for one, part in attack.bundles() if attacked[one].any()]
    total = sum(int(attacked[one].sum()) for one, _ in bundles)
    done = 0
    for one, part in bundles:
        share = int(attacked[one].sum())
        report = Reporter("audit: insiders", done, total, share)
        moves = PossibleMoves(part, attack.room[:, one], attack.possible[:, one], report.again)
        targets = np.flatnonzero(attacked[one] & (result[one] < WorstInsider.RECOVERABLE))
        demands = []
        for cell, at in zip(targets.tolist(), one[targets].tolist(), strict=True):
            demands += demands_of(attack, knowledge, at, cell, full and result[at] == WorstInsider.KEPT)
        known = 2 * TOLERANCE * np.maximum(1.0, np.abs(attack.required.value[one]))
        search = InsiderAttack(moves, knowledge.at(one), demands, known, seed)
        search.run(report)
        result[one[targets]] = np.maximum(result[one[targets]], search.finding[targets])
        done += share
    return result


def demands_of(attack: External, knowledge: InsiderKnowledge, at: int, cell: int, full: bool) -> list[RequiredMove]:
    """What must be shown of a cell, called ``cell`` from now on: its levels, or that it moves at all."""
    required, sole = attack.required, int(knowledge.sole[at])
    levels = []
    for kind in (UP, DOWN):
        level = float(required.level[kind, at])
        spared = {sole} | (knowledge.spared(at, level) if kind == DOWN else set())
        if level > 0:
            levels.append(RequiredMove(cell, kind, level, float(required.enough[kind, at]), False, spared))
    sliding = float(required.sliding[at])
    if sliding > 0:
        spared = {sole} | knowledge.spared(at, sliding)
        levels.append(RequiredMove(cell, WIDTH, sliding, float(required.width[at]), False, spared))
    if not full:
        levels = []
    value = abs(float(required.value[at]))
    if any(demand.kind == UP for demand in levels):
        return levels
    # Some are spared downwards, so that only a rise shows that nobody knows the cell.
    aim = float(np.minimum(attack.possible[:, at], PUSH * value + 1.0).max())
    return [*levels, recovery(cell, 2 * TOLERANCE * max(1.0, value), aim, sole)]
