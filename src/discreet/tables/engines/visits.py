"""Which sub-tables must be looked at again, and what came out where they were looked at last.

A sub-table sees what is withheld of its own cells. Where that is what it was, so is the result: a new start from the
top visits only those sub-tables that hold a changed cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.model.arrays import Bools, Codes, Ints, pointers, ranges

NONE = np.zeros(0, np.int64)


class SubtableHolders:
    """Which sub-tables hold a cell."""

    def __init__(self, cells: Sequence[Codes], count: int) -> None:
        """Of the ``cells`` of every sub-table (-1: none), and how many cells there are in all."""
        held = np.concatenate([some.ravel() for some in cells]) if cells else np.zeros(0, np.int32)
        place = np.repeat(np.arange(len(cells), dtype=np.int32), [some.size for some in cells])
        there = held >= 0
        held, place = held[there], place[there]
        self._start = pointers(np.bincount(held, minlength=count).astype(np.int64))
        self._place = place[np.argsort(held, kind="stable")]

    def of(self, cells: Ints, first: int, last: int) -> tuple[Ints, Ints]:
        """Sub-tables from ``first`` to before ``last`` that hold some cells, as pairs of sub-table and cell."""
        lengths = self._start[cells + 1] - self._start[cells]
        place = self._place[ranges(self._start[cells], lengths)].astype(np.int64)
        pairs = (place >= first) & (place < last)
        return place[pairs], np.repeat(cells, lengths)[pairs]


@dataclass
class Visits:
    """The sub-tables of one level, ``first`` to before ``last``, as they were looked at last.

    ``seen`` is what was withheld then, ``added`` what that withheld besides by sub-table, ``margins`` those of it that
    are totals there, and ``short`` the unsafe cells that cannot keep their level in a sub-table.
    """

    first: int
    last: int
    seen: Bools | None = None
    added: dict[int, Ints] = field(default_factory=dict)
    margins: dict[int, Ints] = field(default_factory=dict)
    short: dict[int, Ints] = field(default_factory=dict)
    _all_added: Ints | None = None

    def changed(self, holders: SubtableHolders, withheld: Bools) -> Sequence[int]:
        """Sub-tables that must be looked at, now that this is withheld; they count as looked at from now on."""
        before, self.seen = self.seen, withheld.copy()
        if before is None:
            return range(self.first, self.last)
        places, _ = holders.of(np.flatnonzero(withheld != before), self.first, self.last)
        return np.unique(places).tolist()  # type: ignore[no-any-return]

    def note(self, place: int, added: Ints, margins: Ints, short: Ints) -> None:
        """Keep what came out of a sub-table."""
        self._all_added = None
        for kept, cells in ((self.added, added), (self.margins, margins), (self.short, short)):
            if len(cells):
                kept[place] = cells
            else:
                kept.pop(place, None)

    @property
    def all_added(self) -> Ints:
        """What all sub-tables of the level withhold besides."""
        if self._all_added is None:
            self._all_added = _joined(self.added)
        return self._all_added

    @property
    def all_margins(self) -> Ints:
        """Those of it that are totals in the sub-table that withholds them, in order."""
        return np.unique(_joined(self.margins))

    def late(self, holders: SubtableHolders, withheld: Bools) -> Ints:
        """Cells of these sub-tables that were withheld after they had been looked at, and not by themselves."""
        assert self.seen is not None
        places, cells = holders.of(np.flatnonzero(withheld & ~self.seen), self.first, self.last)
        count = len(withheld)
        own = np.repeat(np.fromiter(self.added, np.int64), [len(some) for some in self.added.values()])
        mine = np.isin(places * count + cells, own * count + self.all_added)
        return np.unique(cells[~mine])


def _joined(cells: Mapping[int, Ints]) -> Ints:
    return np.concatenate([*cells.values()]) if cells else NONE
