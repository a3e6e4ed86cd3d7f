"""Two contributors together: what they know as one, and families that no pair of them can rule out.

A coalition is a set of one (with anybody) or two insiders. Whoever is not listed in a cell has no more than the last
one who is; what an insider can rule out together with such a one counts as ruled out by that insider alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np

from discreet.attack.pairs import Coalition, Rulers, Spared, narrowed
from discreet.model.arrays import NO_LOWER, Ints, ranges
from discreet.relations.insiders import EVERYBODY
from discreet.solve.local import LocalPrograms
from discreet.solve.small import Alternative
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.families import CertificateFamilies, Member, Unprotected

FIRST_TRIES, TRIES = 100, 5
"""So many members are added to a family; fewer where it is only to become cheaper."""


class Coalitions(Attackers):
    """Attackers among whom any two contributors put what they know together."""

    in_pairs = True

    @property
    def floor(self) -> Ints:
        """The least that cells may fall to in a search, so that no two rule it out who are not listed."""
        single = super().floor
        both = 2 * self.least
        raised = (self.contributors > self.listed + 1) & (self.lower > NO_LOWER)
        if self.insiders == "nonzero":
            raised &= self.integral | (both >= self.value - self.base)
        return np.where(raised, np.maximum(single, np.minimum(self.base + both, self.value)), single)

    def spared(self, target: int, direction: int, level: int) -> Spared:
        """Coalitions from whom a level of a cell need not be kept."""
        people = self.excluded(target, direction, level)
        named = self.contributing(target)
        two = self.contributors[target] == 2
        filling = Coalition(named) if two and len(named) == 2 else Coalition()
        if direction > 0 or not self.without_negative[target]:
            return Spared(people, filling, bool(two and not named))
        left = int(self.value[target]) - level - int(self.base[target])
        return Spared(people, filling, bool(two and not named), named, left)

    def rulers(self, alternative: Alternative, sign: int, target: int) -> Rulers | None:
        """Coalitions that rule an alternative out when taken with a sign; ``EVERYBODY`` where it may be any."""
        alone = self.against(alternative, sign, target)
        if alone is EVERYBODY:
            return EVERYBODY
        found = Rulers(alone)
        whole = bool(self.integral[alternative.cells].any())
        shared = np.flatnonzero(self.listed[alternative.cells] > 0)
        cells, amounts = alternative.cells[shared].tolist(), alternative.amount[shared].tolist()
        for cell, amount in zip(cells, amounts, strict=True):
            count, listed = int(self.contributors[cell]), int(self.listed[cell])
            if count == 2:
                # Two who fill the target are no attackers of it.
                if cell != target and listed == 2:
                    found.pairs.add(Coalition(self.contributing(cell)))
                elif cell != target:
                    found.alone.add(int(self.holder[cell].max()))
                continue
            falls = -amount if sign > 0 else amount
            if falls <= 0:
                continue
            if cell == target and self.insiders == "full" and not whole:
                continue
            if self.insiders == "nonzero" and not whole:
                falls = 1
            else:
                falls = -(-falls // alternative.denominator)
            if not self._pairs_below(cell, int(self.value[cell]) - int(self.base[cell]) - falls, found):
                return EVERYBODY
        return found

    def _pairs_below(self, cell: int, left: int, found: Rulers) -> bool:
        """Note who has more than is left of a cell together with another; false where nobody of the two is listed."""
        more, least = int(self.contributors[cell]) - int(self.listed[cell]), int(self.least[cell])
        if more > 1 and 2 * least > left:
            return False
        named = self.contributing(cell)
        if more:
            found.alone.update(h for h, own in named.items() if own + least > left)
        found.pairs.update(Coalition(two) for two in combinations(named, 2) if named[two[0]] + named[two[1]] > left)
        return True

    def knowledge(self, insiders: set[int]) -> tuple[Ints, Ints, Ints]:
        """What any two of some insiders know together: cells that they fill; cells and the least that these have."""
        return self._joint(insiders, assumed=False)

    def guarded(self, insiders: set[int]) -> tuple[Ints, Ints, Ints]:
        """The same with what each of them may know together with somebody who is not listed in a cell."""
        return self._joint(insiders, assumed=True)

    def _joint(self, insiders: set[int], assumed: bool) -> tuple[Ints, Ints, Ints]:
        wanted = np.array(sorted(insiders), np.int64)
        first, last = np.searchsorted(self._who, wanted), np.searchsorted(self._who, wanted, side="right")
        at = ranges(first.astype(np.int64), (last - first).astype(np.int64))
        cell, column = self._cell[at], self._column[at]
        owns: dict[int, list[int]] = defaultdict(list)
        for c, own in zip(cell.tolist(), self.own[cell, column].tolist(), strict=True):
            owns[c].append(own)
        alone: list[int] = []
        least: dict[int, int] = {}
        for c, own in owns.items():
            count = int(self.contributors[c])
            unlisted = assumed and count > self.listed[c]
            if count == 1 or (count == 2 and (len(own) == 2 or unlisted)):
                alone.append(c)
            elif self.lower[c] > NO_LOWER:
                largest = sorted(own, reverse=True)
                together = max(sum(largest[:2]), largest[0] + (int(self.least[c]) if unlisted else 0))
                least[c] = min(max(int(self.lower[c]), int(self.base[c]) + together), int(self.value[c]))
        return np.array(alone, np.int64), np.array(list(least), np.int64), np.array(list(least.values()), np.int64)


class CoalitionFamilies(CertificateFamilies):
    """Makes families of certificates of which no coalition can rule out all."""

    def __init__(self, programs: LocalPrograms, attackers: Coalitions, up: Ints, down: Ints) -> None:
        super().__init__(programs, attackers, up, down)
        self.coalitions = attackers

    def _complete(
        self,
        target: int,
        use: int,
        directions: tuple[int, ...],
        level: int,
        family: list[Member],
        spare: list[Member],
        budget: float,
    ) -> list[Member] | Unprotected:
        """The family with members against every coalition; spare ones are taken where they help."""
        spared = self.coalitions.spared(target, directions[0], level)
        left: set[Coalition] | None = EVERYBODY
        for member in family:
            left = narrowed(left, self._rulers(member, target), spared)
        for member in spare:
            if left is not EVERYBODY and not left:
                break
            fewer = narrowed(left, self._rulers(member, target), spared)
            if fewer != left:
                family, left = [*family, member], fewer
        tries = FIRST_TRIES if budget == np.inf else TRIES
        while left is EVERYBODY or left:
            more = self._against(target, use, directions, level, _groups(left), budget) if tries else None
            if more is None:
                return Unprotected(use, _first(left))
            family = [*family, more]
            before, left = left, narrowed(left, self._rulers(more, target), spared)
            if left == before:
                return Unprotected(use, _first(left))
            tries -= 1
        return family

    def _rulers(self, member: Member, target: int) -> Rulers | None:
        return self.coalitions.rulers(member.alternative, member.sign, target)

    def _held(self, target: int, insiders: set[int]) -> tuple[Ints, Ints, Ints]:
        """Cells that must not move or fall too far, so that no coalition of some insiders sees it.

        The target may fall to its level: it is kept only from those for whom there is room.
        """
        alone, cells, floor = self.coalitions.guarded(insiders)
        others = cells != target
        return alone[alone != target], cells[others], floor[others]


def _groups(left: set[Coalition] | None) -> list[set[int]]:
    """Insiders against whom an alternative is looked for: all, those with the busiest one, those of one coalition."""
    if not left:
        return [set()]
    times = Counter(one for coalition in left for one in coalition)
    busiest = min(times, key=lambda one: (-times[one], one))
    groups: list[set[int]] = []
    for some in (left, {c for c in left if busiest in c}, {_first(left)}):
        people = {one for coalition in some for one in coalition}
        if people not in groups:
            groups.append(people)
    return groups


def _first(left: set[Coalition] | None) -> Coalition:
    return min(left, key=lambda c: (len(c), sorted(c))) if left else Coalition()
