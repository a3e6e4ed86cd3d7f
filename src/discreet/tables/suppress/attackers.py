"""Who could rule out an alternative: what everybody knows of the cells, and what contributors know besides."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Ints, ranges
from discreet.relations import System
from discreet.relations.insiders import EVERYBODY
from discreet.relations.system import known_bounds
from discreet.solve.small import Alternative


class Attackers:
    """The attackers of a system.

    Parameters
    ----------
    system
        Cells and relations.
    insiders
        ``"full"``: every insider finds every unsafe cell at its full level; ``"nonzero"``: no insider can work one
        out; ``None``: outsiders only.
    known_within
        Everybody knows each cell to within so many per cent of its value.
    integral
        Cells that everybody knows to be whole numbers of units: unweighted counts.
    several
        Cells that stand for twins, too.
    """

    in_pairs: ClassVar[bool] = False
    """Whether two contributors put together what they know."""

    def __init__(
        self,
        system: System,
        insiders: str | None,
        known_within: float | None,
        integral: Bools,
        several: Bools | None = None,
    ) -> None:
        self.insiders = insiders
        self.several = np.zeros(len(system), np.bool_) if several is None else several
        self.value = system.value
        self.lower, self.upper = known_bounds(system, known_within)
        self.integral = integral
        self.contributors, self.holder, self.filling = system.contributors, system.holder, system.filling
        self.without_negative = system.without_negative
        # Others contribute nothing or more; where cells can be negative, at least what the cell is known to be.
        self.base = np.minimum(self.lower, 0)
        self.own = np.maximum(system.own, 0)
        self.named = self.holder != -1
        self.listed = listed = self.named.sum(axis=1)
        # Where nobody is listed, that is the last column, in which nobody has anything.
        self.least = self.own[np.arange(len(system)), listed - 1]
        self.unlisted = (self.contributors > listed) & (listed > 0)
        who = self.holder.ravel()
        place = np.flatnonzero(self.named.ravel())
        place = place[np.argsort(who[place], kind="stable")]
        self._who, self._cell, self._column = who[place], place // self.holder.shape[1], place % self.holder.shape[1]

    @property
    def floor(self) -> Ints:
        """The least that cells may fall to in a search, so that nobody rules it out who is not listed."""
        if self.insiders is None:
            return self.lower
        raised = self.unlisted & (self.lower > NO_LOWER)
        if self.insiders == "nonzero":
            raised &= self.integral | (self.least >= self.value - self.base)
        return np.where(raised, np.maximum(self.lower, np.minimum(self.base + self.least, self.value)), self.lower)

    def contributing(self, cell: int) -> dict[int, int]:
        """Contributors of a cell who are listed, and what they contribute; the largest comes first."""
        some = self.named[cell]
        return dict(zip(self.holder[cell, some].tolist(), self.own[cell, some].tolist(), strict=True))

    def excluded(self, target: int, direction: int, level: int) -> set[int]:
        """Insiders from whom a level need not be kept: who fills the cell; downwards, who has most or no room."""
        if self.contributors[target] == 1:
            return {int(self.holder[target, 0])}
        if direction > 0 or self.lower[target] <= NO_LOWER:
            return set()
        left = int(self.value[target]) - level - int(self.base[target])
        named = self.contributing(target).items()
        sure = bool(self.without_negative[target])
        found = {h for place, (h, own) in enumerate(named) if place == 0 or (sure and own > left)}
        return found | (self.filling.spared(target, int(self.value[target]), left) if sure else set())

    def against(self, alternative: Alternative, sign: int, target: int) -> set[int] | None:
        """Insiders who rule an alternative out when taken with a sign; ``EVERYBODY`` where they cannot be named."""
        cells = alternative.cells
        amount = alternative.amount if sign > 0 else -alternative.amount
        alone, telling, whole_cells = self._marks
        found = set(self.holder[cells[alone[cells]], 0].tolist())
        if self.insiders == "nonzero" and not whole_cells:
            cells, amount = cells[telling[cells]], amount[telling[cells]]
            if not len(cells):
                return found
        falling = np.asarray(amount < 0, np.bool_) & (self.lower[cells] > NO_LOWER)
        whole = bool(self.integral[cells].any())
        if self.insiders == "full" and not whole:
            # For whoever is in the target a smaller part of the same move is there; the checker says so of one cell.
            falling &= (cells != target) | self.several[cells]
        falls = np.flatnonzero(falling)
        if not len(falls):
            return found
        at = cells[falls]
        if self.insiders == "nonzero" and not whole:
            # A smaller move the same way will do, so that only those count who leave nothing to the others.
            room = self.value[at] - self.base[at]
            known = (self.own[at] >= room[:, None]) & self.named[at]
            everybody = self.unlisted[at] & (self.least[at] >= room)
        else:
            times = alternative.denominator
            room = (self.value[at] - self.base[at]).astype(amount.dtype) * times + amount[falls]
            known = np.asarray(self.own[at] * times > room[:, None], np.bool_) & self.named[at]
            everybody = self.unlisted[at] & np.asarray(self.least[at] * times > room, np.bool_)
        if everybody.any():
            return EVERYBODY
        return found | set(self.holder[at][known].tolist())

    @cached_property
    def _marks(self) -> tuple[Bools, Bools, bool]:
        """Cells that somebody fills alone, cells whose fall tells somebody that part of it at least, and counts."""
        room = self.value - self.base
        telling = ((self.own >= room[:, None]) & self.named).any(axis=1) | (self.unlisted & (self.least >= room))
        return self.contributors == 1, telling, bool(self.integral.any())

    def reverses(self, alternative: Alternative) -> bool:
        """Whether the opposite changes keep all bounds too."""
        cells, times = alternative.cells, alternative.denominator
        value = self.value[cells].astype(alternative.amount.dtype) * times - alternative.amount
        low, high = self.lower[cells], self.upper[cells]
        good = ((low <= NO_LOWER) | (value >= low * times)) & ((high >= NO_UPPER) | (value <= high * times))
        return bool(np.all(good))

    def knowledge(self, insiders: set[int]) -> tuple[Ints, Ints, Ints]:
        """What some insiders know, each for itself: cells that they fill alone; cells and the least that these have."""
        wanted = np.array(sorted(insiders), np.int64)
        first, last = np.searchsorted(self._who, wanted), np.searchsorted(self._who, wanted, side="right")
        at = ranges(first.astype(np.int64), (last - first).astype(np.int64))
        cell, column = self._cell[at], self._column[at]
        alone = self.contributors[cell] == 1
        shared = cell[~alone]
        least: dict[int, int] = {}
        for c, own in zip(shared.tolist(), self.own[shared, column[~alone]].tolist(), strict=True):
            if self.lower[c] > NO_LOWER:
                least[c] = max(least.get(c, int(self.lower[c])), int(self.base[c]) + own)
        return cell[alone], np.array(list(least), np.int64), np.array(list(least.values()), np.int64)
