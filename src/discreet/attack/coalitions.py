"""Attacks by two contributors together, who put what they know into one.

As with single insiders, an alternative is found without looking at anybody; it leaves a few coalitions that rule it
out, and further alternatives are looked for against those until none is left or one of them gets through.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from discreet.attack.insiders import SOLE_TOLL, TOLL, WIDTH, RequiredMove, WorstInsider, demands_of, recovery
from discreet.attack.intervals import TOLERANCE, External, Reporter
from discreet.attack.knowledge import NOBODY, InsiderKnowledge
from discreet.attack.moves import DOWN, FAR, UP, PossibleMoves, parts
from discreet.attack.pairs import Coalition, Rulers, Spared, narrowed
from discreet.attack.region import Region
from discreet.attack.settle import SIZES
from discreet.model.arrays import NO_LOWER, Bools, Floats, Ints, Status, ranges
from discreet.relations import System
from discreet.relations.insiders import EVERYBODY

SLIP = 1e-7
"""Share of a value by which a cell may fall too far without anybody noticing: what programs are wrong by."""


@dataclass(frozen=True, eq=False)
class Together:
    """What any two contributors know together of some withheld cells.

    Parameters
    ----------
    room
        How far each cell can rise and fall for an outsider.
    others
        How far a cell could fall if nobody knew of a contribution; infinite where contributions say nothing of it.
    count, holder, own
        How many contributors a cell has, the largest of them, and what they contribute.
    least
        What one who is not listed contributes at most; 0 where all are listed.
    value
        The values, by which programs may slip.
    signed
        Cells that may be negative.
    """

    room: Floats
    others: Floats
    count: Ints
    holder: Ints
    own: Floats
    least: Floats
    value: Floats
    signed: Bools

    @classmethod
    def of(cls, system: System, cells: Ints, room: Floats) -> Together:
        """What is known of the withheld cells of a system."""
        holder, lower, value = system.holder[cells], system.lower_bound[cells], system.value[cells]
        floored = lower > NO_LOWER
        own = np.where(floored[:, None] & (holder != NOBODY), np.maximum(system.own[cells], 0), 0).astype(np.float64)
        listed = (holder != NOBODY).sum(axis=1)
        count = system.contributors[cells]
        last = own[np.arange(len(cells)), np.maximum(listed - 1, 0)]
        return cls(
            room,
            np.where(floored, value - np.minimum(lower, 0).astype(np.float64), np.inf),
            count,
            holder,
            own,
            np.where((count > listed) & (listed > 0), last, 0.0),
            np.abs(value).astype(np.float64),
            ~system.without_negative[cells],
        )

    def at(self, cells: Ints) -> Together:
        """The same for some of the cells."""
        return Together(
            self.room[:, cells],
            self.others[cells],
            self.count[cells],
            self.holder[cells],
            self.own[cells],
            self.least[cells],
            self.value[cells],
            self.signed[cells],
        )

    @cached_property
    def listed(self) -> Ints:
        """How many contributors of each cell are listed."""
        return np.asarray((self.holder != NOBODY).sum(axis=1), np.int64)

    @cached_property
    def _entries(self) -> tuple[Ints, Ints, Ints]:
        cell, column = np.nonzero(self.holder != NOBODY)
        who = self.holder[cell, column]
        order = np.argsort(who, kind="stable")
        return who[order], cell[order], column[order]

    @cached_property
    def _anybody(self) -> Floats:
        """How far each cell can rise and fall for two who are listed nowhere."""
        strangers = np.clip(self.count - self.listed, 0, 2)
        fall = np.clip(self.others - strangers * self.least, 0.0, self.room[DOWN])
        return np.stack((self.room[UP], fall))

    def room_for(self, people: set[int], target: int) -> Floats:
        """How far cells can rise and fall when no two of some people, nor one with a stranger, find anything amiss."""
        room = self._anybody.copy()
        if self.count[target] == 2:  # two who fill the target are no attackers of it
            room[DOWN, target] = min(self.room[DOWN, target], max(self.others[target] - self.least[target], 0.0))
        who, cell, column = self._entries
        wanted = np.array(sorted(people), np.int64)
        first, last = np.searchsorted(who, wanted), np.searchsorted(who, wanted, side="right")
        at = ranges(first.astype(np.int64), (last - first).astype(np.int64))
        owns: dict[int, list[float]] = {}
        for c, k in zip(cell[at].tolist(), column[at].tolist(), strict=True):
            owns.setdefault(c, []).append(float(self.own[c, k]))
        for c, own in owns.items():
            count, stranger = int(self.count[c]), bool(self.count[c] > self.listed[c])
            own.sort(reverse=True)
            pooled = count == 2 and c == target
            if not pooled and (count == 1 or (count == 2 and (len(own) == 2 or stranger))):
                room[:, c] = 0.0
                continue
            together = own[0] if pooled else max(sum(own[:2]), own[0] + (float(self.least[c]) if stranger else 0.0))
            room[DOWN, c] = min(room[DOWN, c], max(float(self.others[c]) - together, 0.0))
        return room

    def named(self, cell: int) -> dict[int, float]:
        """Contributors of a cell who are listed, and what they contribute."""
        pairs = zip(self.holder[cell].tolist(), self.own[cell].tolist(), strict=True)
        return {who: own for who, own in pairs if who != NOBODY}

    def spared(self, demand: RequiredMove) -> Spared:
        """Coalitions to whom a demand does not apply."""
        cell, named = demand.cell, self.named(demand.cell)
        two = int(self.count[cell]) == 2
        filling = Coalition(named) if two and len(named) == 2 else Coalition()
        people, unnamed = demand.spared - {NOBODY}, two and not named
        if demand.kind == UP or demand.last or self.signed[cell]:
            return Spared(people, filling, unnamed)
        return Spared(people, filling, unnamed, named, float(self.others[cell]) - demand.aim)

    def rulers(self, cells: Ints, rises: Floats, target: int, kind: int) -> Rulers | None:
        """Coalitions that rule out that cells rise (or fall) so far; ``EVERYBODY`` where it may be any."""
        found = Rulers(set())
        for cell, rise in zip(cells.tolist(), rises.tolist(), strict=True):
            count, listed = int(self.count[cell]), int(self.listed[cell])
            named = self.named(cell)
            if count == 1:
                found.alone.update(named)
                continue
            two = not (cell == target and count == 2)
            if two and count == 2:
                if listed == 2:
                    found.pairs.add(Coalition(named))
                found.alone.update(named if listed == 1 else ())
            if rise >= 0 or not named or np.isinf(self.others[cell]) or (cell == target and kind == DOWN):
                continue
            left = float(self.others[cell]) + rise + SLIP * (float(self.value[cell]) + 1.0)
            least, more = float(self.least[cell]), count - listed
            if more and least * (2 if more > 1 and two else 1) > left:
                return EVERYBODY
            found.alone.update(who for who, own in named.items() if own + (least if more > 0 and two else 0.0) > left)
            if two:
                found.pairs.update(Coalition(p) for p in combinations(named, 2) if named[p[0]] + named[p[1]] > left)
        return found


class CoalitionAttack:
    """The attack of all pairs of contributors on some cells.

    Parameters
    ----------
    moves
        The cells, with what an outsider can work out.
    together
        What pairs know of them.
    """

    def __init__(self, moves: PossibleMoves, together: Together) -> None:
        self.moves, self.together = moves, together
        alone = together.count == 1
        self.toll = np.where(alone, SOLE_TOLL, TOLL)

    def fails(self, demand: RequiredMove) -> bool:
        """Whether some pair sees that a demand is not met, in growing surroundings."""
        spared = self.together.spared(demand)
        left: set[Coalition] | None = EVERYBODY
        for size in (*SIZES, len(self.moves)):
            region = self.moves.near(demand.cell, size)
            if left is EVERYBODY:
                reached, rulers = self._alternative(region, demand, set())
                left = narrowed(left, rulers, spared) if reached else left
                if not reached and region.closed:
                    return True
            while left:
                settled, left = self._narrow(region, demand, left, spared)
                if not settled:
                    break
            if left is not EVERYBODY and not left:
                return False
            if region.closed:
                return True
        return True

    def _narrow(
        self, region: Region, demand: RequiredMove, left: set[Coalition], spared: Spared
    ) -> tuple[bool, set[Coalition]]:
        """Look for an alternative against all coalitions that are left, or else against the first of them."""
        first = min(left, key=lambda c: (len(c), sorted(c)))
        for group in [left, {first}] if len(left) > 1 else [{first}]:
            reached, rulers = self._alternative(region, demand, {one for coalition in group for one in coalition})
            if reached:
                fewer = narrowed(left, rulers, spared)
                return True, (fewer or set()) - group
        return False, left

    def _alternative(self, region: Region, demand: RequiredMove, people: set[int]) -> tuple[bool, Rulers | None]:
        """Whether a demand is met within what some people know, and who rules out how it was."""
        room = self.together.room_for(people, demand.cell)
        if demand.kind == DOWN:  # the level is there to hide what they know of the cell itself
            room[DOWN, demand.cell] = self.together.room[DOWN, demand.cell]
        ways = (UP, DOWN) if demand.kind == WIDTH else (demand.kind,)
        for toll in (self.toll, None):
            found: list[tuple[float, Ints, Floats]] = []
            for way in ways:
                one = self._push(region, demand, way, room, toll)
                if one[0] >= demand.enough:
                    found = [one]
                    break
                found.append(one)
            total = sum(moved for moved, _, _ in found)
            if total >= demand.enough:
                share = demand.enough / total
                made = [self.together.rulers(c, y * share, demand.cell, demand.kind) for _, c, y in found if len(c)]
                return True, _all(made)
        return False, EVERYBODY

    def _push(
        self, region: Region, demand: RequiredMove, way: int, room: Floats, toll: Floats | None
    ) -> tuple[float, Ints, Floats]:
        """Push a cell: how far it moved, and with it which cells how far."""
        local = np.searchsorted(region.cells, np.array([demand.cell]))
        most = np.minimum(room[:, region.cells], FAR * demand.aim)
        cost = None if toll is None else toll[region.cells]
        answer, _ = region.solve(local, np.array([way]), np.array([demand.aim]), most, demand.aim, cost)
        made = parts(region, answer)
        mine = made.part[made.cells == demand.cell]
        if not len(mine):
            return 0.0, np.zeros(0, np.int64), np.zeros(0)
        inside = made.part == mine[0]
        rises = np.where(made.rises, made.amount, -made.amount)[inside]
        return abs(float(answer[local[0]])), made.cells[inside], rises


def _all(found: list[Rulers | None]) -> Rulers | None:
    """Who rules out one of several moves."""
    result = Rulers(set())
    for rulers in found:
        if rulers is EVERYBODY:
            return EVERYBODY
        result.alone |= rulers.alone
        result.pairs |= rulers.pairs
    return result


def attack_by_pairs(attack: External, full: bool, insiders: Status) -> Status:
    """The worst that two contributors together can do to each withheld cell that an outsider was let loose on.

    Parameters
    ----------
    attack
        The outsider's attack.
    full
        Whether cells must keep their levels; otherwise only not be known exactly.
    insiders
        The worst that single insiders can do, which two can do as well.
    """
    system, cells = attack.system, attack.cells
    result = insiders.copy()
    knowledge = InsiderKnowledge.of(system, cells, attack.room)
    together = Together.of(system, cells, attack.room)
    attacked = (result >= WorstInsider.KEPT) & (result < WorstInsider.RECOVERABLE)
    bundles = [(one, part) for one, part in attack.bundles() if attacked[one].any()]
    total, done = sum(int(attacked[one].sum()) for one, _ in bundles), 0
    for one, part in bundles:
        targets = np.flatnonzero(attacked[one])
        report = Reporter("audit: coalitions", done, total, len(targets))
        search = CoalitionAttack(
            PossibleMoves(part, attack.room[:, one], attack.possible[:, one], report.again), together.at(one)
        )
        for number, (cell, at) in enumerate(zip(targets.tolist(), one[targets].tolist(), strict=True)):
            report(len(targets) - number)
            levels = full and result[at] == WorstInsider.KEPT
            result[at] = max(int(result[at]), _worst(search, demands_of(attack, knowledge, at, cell, levels)))
        done += len(targets)
    return result


def _worst(search: CoalitionAttack, demands: list[RequiredMove]) -> WorstInsider:
    """What follows from demands that fail: a level is missed, or the cell is known."""
    for demand in demands:
        if search.fails(demand):
            if demand.last:
                return WorstInsider.RECOVERABLE
            cell, who = demand.cell, search.together
            sole = int(who.holder[cell, 0]) if who.count[cell] == 1 else NOBODY
            exact = recovery(cell, 2 * TOLERANCE * max(1.0, float(who.value[cell])), demand.aim, sole)
            return WorstInsider.RECOVERABLE if search.fails(exact) else WorstInsider.SHORT
    return WorstInsider.KEPT
