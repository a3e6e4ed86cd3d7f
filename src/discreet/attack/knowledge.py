"""What contributors know of withheld cells: their own contributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.attack.moves import DOWN, UP, Parts
from discreet.model.arrays import NO_LOWER, Bools, Floats, Ints, ranges
from discreet.relations import Filling, System

NOBODY = -1


@dataclass(frozen=True, eq=False)
class CellRoom:
    """How far cells can rise and fall: as a rule ``base``, but ``room`` for a few ``cells`` (in order)."""

    base: Floats
    cells: Ints
    room: Floats

    def of(self, cells: Ints) -> Floats:
        """The room of some cells, one column per cell."""
        result = self.base[:, cells]
        if len(self.cells):
            place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
            found = self.cells[place] == cells
            result[:, found] = self.room[:, place[found]]
        return result


@dataclass(frozen=True, eq=False)
class InsiderKnowledge:
    """Who is in each of some cells, and how far the cell can fall for whom.

    Parameters
    ----------
    room
        How far each cell can rise and fall for an outsider.
    sole
        The only contributor of a cell, who knows it; ``NOBODY`` where there are several.
    holder, fall
        The largest contributors of a cell, and how far it can fall for each: no further than to what they contribute.
    general
        How far it can fall for any contributor who is not listed, but may contribute as much as the last one listed.
    value, filling
        The values, and who must be in a cell although it is not listed there.
    sure
        Cells that are known to have no negative contribution.
    """

    room: Floats
    sole: Ints
    holder: Ints
    fall: Floats
    general: Floats
    value: Ints
    filling: Filling
    sure: Bools

    @classmethod
    def of(cls, system: System, cells: Ints, room: Floats) -> InsiderKnowledge:
        """What is known of the withheld cells of a system."""
        contributors, holder = system.contributors[cells], system.holder[cells]
        value, lower = system.value[cells], system.lower_bound[cells]
        # Where a cell can be of any size or sign, what somebody contributes to it says nothing of it.
        own = np.where((lower > NO_LOWER)[:, None], np.maximum(system.own[cells], 0), 0).astype(np.float64)
        others = value - np.minimum(lower, 0).astype(np.float64)
        left = np.clip(others[:, None] - own, 0.0, room[DOWN][:, None])
        listed = (holder != NOBODY).sum(axis=1)
        last = left[np.arange(len(cells)), np.maximum(listed - 1, 0)]
        return cls(
            room,
            np.where(contributors == 1, holder[:, 0], NOBODY),
            holder,
            left,
            np.where((contributors > listed) & (listed > 0), last, room[DOWN]),
            value,
            system.filling.at(cells),
            system.without_negative[cells],
        )

    def at(self, cells: Ints) -> InsiderKnowledge:
        """The same for some of the cells."""
        return InsiderKnowledge(
            self.room[:, cells],
            self.sole[cells],
            self.holder[cells],
            self.fall[cells],
            self.general[cells],
            self.value[cells],
            self.filling.at(cells),
            self.sure[cells],
        )

    @cached_property
    def base(self) -> Floats:
        """How far cells can rise and fall for any insider."""
        return np.stack((self.room[UP], self.general))

    @cached_property
    def _entries(self) -> tuple[Ints, Ints, Ints]:
        """All listed holders in order, with the cell and the column where each stands."""
        cell, column = np.nonzero(self.holder != NOBODY)
        who = self.holder[cell, column]
        order = np.argsort(who, kind="stable")
        return who[order], cell[order], column[order]

    def room_for(self, insiders: set[int], falling: Sequence[int] = ()) -> CellRoom:
        """How far cells can rise and fall when some insiders pool nothing, but each must find nothing amiss.

        Cells that are ``falling`` fall as far as for an outsider.
        """
        who, cell, column = self._entries
        wanted = np.array(sorted(insiders), np.int64)
        first, last = np.searchsorted(who, wanted), np.searchsorted(who, wanted, side="right")
        at = ranges(first.astype(np.int64), (last - first).astype(np.int64))
        outside = np.array(falling, np.int64)
        cells = np.unique(np.concatenate((cell[at], outside)))
        room, place = self.base[:, cells], np.searchsorted(cells, cell[at])
        np.minimum.at(room[DOWN], place, self.fall[cell[at], column[at]])
        room[:, place[self.sole[cell[at]] != NOBODY]] = 0.0
        room[DOWN, np.searchsorted(cells, outside)] = self.room[DOWN, outside]
        return CellRoom(self.base, cells, room)

    def spared(self, cell: int, level: float) -> set[int]:
        """Contributors for whom a lower level is not asked: the largest one, and who leaves no room for it."""
        if not np.isfinite(self.room[DOWN, cell]):
            return set()
        named = zip(self.holder[cell].tolist(), self.fall[cell].tolist(), strict=True)
        sure, value = bool(self.sure[cell]), int(self.value[cell])
        found = {w for place, (w, fall) in enumerate(named) if w != NOBODY and (place == 0 or (sure and fall < level))}
        return found | (self.filling.spared(cell, value, value - level) if sure else set())

    def judges(self, found: Parts, members: Ints) -> Judges:
        """Who can rule out a part of a move (``members`` of the parts found), stretched how far."""
        cells, amount, rises = found.cells[members], found.amount[members], found.rises[members]
        ways = np.where(rises, UP, DOWN)
        at, column = np.nonzero(self.holder[cells] != NOBODY)
        alone = self.sole[cells[at]] != NOBODY
        left = np.where(alone, 0.0, self.fall[cells[at], column] / amount[at])
        falls_forth = ~rises[at]
        return Judges(
            cells,
            self.base[ways, cells] / amount,
            self.base[1 - ways, cells] / amount,
            self.holder[cells[at], column],
            np.where(falls_forth | alone, left, np.inf),
            np.where(~falls_forth | alone, left, np.inf),
        )


@dataclass(frozen=True, eq=False)
class Judges:
    """How far each cell of a move lets it be stretched forth and back: for all insiders, and for who knows more."""

    cells: Ints
    forth: Floats
    back: Floats
    who: Ints
    who_forth: Floats
    who_back: Floats

    def against(self, stretch: float, forward: bool, aside: int) -> set[int] | None:
        """Who rules out the move stretched so far in one sense; None where any insider does.

        What all insiders know of the cell ``aside`` is left aside.
        """
        limit, mine = (self.forth, self.who_forth) if forward else (self.back, self.who_back)
        if np.any((limit < stretch) & (self.cells != aside)):
            return None
        return set(self.who[mine < stretch].tolist())

    def against_width(self, stretch: float) -> set[int] | None:
        """Who rules out that both senses together go so far; None where any insider does."""
        forth_limit, back_limit = float(self.forth.min()), float(self.back.min())
        if forth_limit + back_limit < stretch:
            return None
        forth, back = (dict.fromkeys(self.who.tolist(), limit) for limit in (forth_limit, back_limit))
        for limits, mine in ((forth, self.who_forth), (back, self.who_back)):
            for who, limit in zip(self.who.tolist(), mine.tolist(), strict=True):
                limits[who] = min(limits[who], limit)
        return {who for who in forth if forth[who] + back[who] < stretch}
