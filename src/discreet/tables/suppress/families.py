"""Certificates of one cell: enough of them that no attacker can rule out all.

A *family* holds, for each direction in which a cell needs protection, alternatives that reach its level. One is enough
against outsiders; against insiders there must be, for each of them, one that this insider cannot rule out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Ints
from discreet.model.evidence import DOWN, MOVES, UP
from discreet.relations.insiders import EVERYBODY
from discreet.solve.local import LocalPrograms
from discreet.solve.small import Alternative
from discreet.tables.suppress.attackers import Attackers

NEARBY, EVERYWHERE = 600, 10**9
"""Cells among which a certificate against insiders is looked for first, and then."""
SMALL_SHARE = 1_000
"""That a cell moves at all is shown with this part of its level."""
DEAR, CHEAPER = 1e-2, 1e-9
"""A member against several insiders is dear when it costs more than the first share of all that is withheld; several
members take its place that are cheaper by more than the second."""


class Member(NamedTuple):
    """An alternative, what it shows (``UP``, ``DOWN``, ``MOVES``), and the sign that it is taken with."""

    use: int
    alternative: Alternative
    sign: int


class Unprotected(NamedTuple):
    """Why a family could not be completed: in which direction, and which insiders stand in the way, if any."""

    use: int
    insiders: frozenset[int] = frozenset()


class _Asked(NamedTuple):
    """What members of a family must show: how far a cell moves, in which directions, and to whom not."""

    target: int
    use: int
    directions: tuple[int, ...]
    level: int
    excluded: set[int]


class CertificateFamilies:
    """Makes families of certificates; cells that they need are withheld as they are found."""

    def __init__(self, programs: LocalPrograms, attackers: Attackers, up: Ints, down: Ints) -> None:
        self.programs, self.attackers = programs, attackers
        self.up, self.down = up, down
        self.new: list[np.ndarray] = []
        self.found: list[Alternative] = []
        self.spent = 0.0

    def make(self, target: int, kept: list[Member], budget: float = np.inf) -> list[Member] | Unprotected:
        """A family for a cell that costs less than ``budget``; members that were kept are used as far as they go.

        ``found`` lists the alternatives that were found for it, ``new`` what was withheld and ``spent`` what that cost,
        also where the family was not completed.
        """
        self.new, self.found, self.spent = [], [], 0.0
        family: list[Member] = []
        for use, direction, level in ((UP, 1, int(self.up[target])), (DOWN, -1, int(self.down[target]))):
            if not level:
                continue
            mine = [member for member in kept if member.use == use]
            if not mine:
                mine = self._reversed(target, use, level, family)
            found = self._direction(target, use, direction, level, mine, budget)
            if isinstance(found, Unprotected):
                return found
            family += found
        if self.attackers.insiders == "nonzero" and family:
            spare = [Member(MOVES, m.alternative, m.sign) for m in kept if m not in family]
            return self._moves(target, family, spare, budget)
        return family

    def _reversed(self, target: int, use: int, level: int, family: list[Member]) -> list[Member]:
        """Members of the direction before this one that serve it with the opposite sign."""
        found = []
        for member in family:
            enough = abs(member.alternative.move(target)) >= level
            if enough and self.attackers.reverses(member.alternative):
                found.append(Member(use, member.alternative, -member.sign))
        return found

    def _direction(
        self, target: int, use: int, direction: int, level: int, mine: list[Member], budget: float
    ) -> list[Member] | Unprotected:
        if not self._room(target, direction, level):
            return Unprotected(use)
        if not mine:
            first = self._find(target, direction, level, budget, set())
            if first is None:
                return Unprotected(use)
            mine = [Member(use, first, 1)]
        if self.attackers.insiders != "full":
            return mine[:1]
        return self._complete(target, use, (direction,), level, [], mine, budget)

    def _moves(
        self, target: int, family: list[Member], spare: list[Member], budget: float
    ) -> list[Member] | Unprotected:
        """Let the cell move for every insider, by however little; spare members are taken where they help."""
        level = max(1, max(int(self.up[target]), int(self.down[target])) // SMALL_SHARE)
        return self._complete(target, MOVES, (1, -1), level, family, spare, budget)

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
        """The family with members against every insider; spare ones are taken where they help."""
        excluded = self.attackers.excluded(target, directions[0], level)
        family, left = self._enough(target, family, spare, excluded)
        asked = _Asked(target, use, directions, level, excluded)
        while left is EVERYBODY or left:
            more = self._against_each(asked, set() if left is EVERYBODY else left, budget)
            if not more:
                return Unprotected(use, _named(left))
            family = [*family, *more]
            before, left = left, self._left(target, family, excluded)
            if left == before:
                return Unprotected(use, _named(left))
        return family

    def _against_each(self, asked: _Asked, insiders: set[int], budget: float) -> list[Member]:
        """A member that no insider of a group can rule out, or else one against the first of them, or nothing.

        Where that costs much, members against each half of the group are looked for that cost less together, and so on:
        few of many insiders make an alternative dear.
        """
        target, use, directions, level, _ = asked
        before, spent = len(self.new), self.spent
        wanted = [insiders, {min(insiders)}] if len(insiders) > 1 else [insiders]
        one = self._against(target, use, directions, level, wanted, budget)
        if one is None:
            return []
        cost = self.spent - spent
        if len(insiders) < 2 or cost <= DEAR * self.programs.spent:
            return [one]
        needed, found = self._taken_back(before, spent)
        several = self._against_halves(asked, insiders, min(budget, spent + cost * (1 - CHEAPER)))
        if several is not None:
            return several
        self._taken_back(before, spent)
        for cells in needed:
            self.programs.withhold(cells)
        self.new += needed
        self.found += found
        self.spent = spent + cost
        return [one]

    def _against_halves(self, asked: _Asked, insiders: set[int], budget: float) -> list[Member] | None:
        """Members of which every insider of a group leaves one, looked for by halves; none where they cost too much."""
        order, left = sorted(insiders), set(insiders)
        members: list[Member] = []
        for half in (set(order[: len(order) // 2]), set(order[len(order) // 2 :])):
            while group := left & half:
                found = self._against_each(asked, group, budget)
                rest = self._left(asked.target, found, asked.excluded) if found else group
                if rest is EVERYBODY or rest >= group or self.spent >= budget:
                    return None
                members += found
                left &= rest
        return members

    def _taken_back(self, kept: int, spent: float) -> tuple[list[np.ndarray], list[Alternative]]:
        """All but so many of the alternatives that were found, and what they needed, which is published again."""
        cells, found = self.new[kept:], self.found[kept:]
        for some in cells:
            self.programs.release(some)
        del self.new[kept:], self.found[kept:]
        self.spent = spent
        return cells, found

    def _against(
        self,
        target: int,
        use: int,
        directions: tuple[int, ...],
        level: int,
        wanted: list[set[int]],
        budget: float,
    ) -> Member | None:
        """A member that the first of some groups of insiders cannot rule out, or else the next.

        All are looked for nearby before anything is looked for further away.
        """
        for sizes in ((0, NEARBY), (NEARBY, EVERYWHERE)):
            for insiders in wanted:
                for direction in directions:
                    if self._room(target, direction, level):
                        found = self._find(target, direction, level, budget, insiders, sizes)
                        if found is not None:
                            return Member(use, found, 1)
        return None

    def _enough(
        self, target: int, family: list[Member], spare: list[Member], excluded: set[int]
    ) -> tuple[list[Member], set[int] | None]:
        """The family with those spare members that leave fewer insiders, and the insiders who are left."""
        left = self._left(target, family, excluded)
        for member in spare:
            if left is not EVERYBODY and not left:
                break
            fewer = self._left(target, [member], excluded)
            if fewer is not EVERYBODY and (left is EVERYBODY or not left <= fewer):
                family, left = [*family, member], fewer if left is EVERYBODY else left & fewer
        return family, left

    def _left(self, target: int, members: list[Member], excluded: set[int]) -> set[int] | None:
        """Insiders who rule out all members."""
        left: set[int] | None = EVERYBODY
        for member in members:
            against = self.attackers.against(member.alternative, member.sign, target)
            if against is not EVERYBODY:
                left = against - excluded if left is EVERYBODY else left & against
        return left

    def _room(self, target: int, direction: int, level: int) -> bool:
        value = int(self.attackers.value[target])
        low, high = int(self.attackers.lower[target]), int(self.attackers.upper[target])
        if direction > 0:
            return high >= NO_UPPER or value + level <= high
        return low <= NO_LOWER or value - level >= low

    def _held(self, target: int, insiders: set[int]) -> tuple[Ints, Ints, Ints]:
        """Cells that must not move, cells that must not fall too far, and how far, so that no insider sees it."""
        alone, cells, floor = self.attackers.knowledge(insiders)
        return alone[alone != target], cells, floor

    def _find(
        self,
        target: int,
        direction: int,
        level: int,
        budget: float,
        insiders: set[int],
        sizes: tuple[int, int] = (0, EVERYWHERE),
    ) -> Alternative | None:
        programs = self.programs
        if insiders:
            with programs.fixed(*self._held(target, insiders)):
                found = programs.find(target, direction, level, budget - self.spent, *sizes)
        else:
            found = programs.find(target, direction, level, budget - self.spent, *sizes)
        if found is not None:
            fresh = found.cells[~programs.withheld[found.cells]]
            self.new.append(fresh)
            self.found.append(found)
            self.spent += found.cost
            programs.withhold(fresh)
        return found


def _named(left: set[int] | None) -> frozenset[int]:
    """Whoever is left, or the first of them where each stands in the way alone."""
    return frozenset({min(left)} if left else ())
