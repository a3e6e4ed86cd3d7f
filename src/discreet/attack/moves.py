"""How far withheld cells can move: many cells pushed at once by one linear program, many settled by its answer.

A move of the withheld cells is one that nobody notices when all relations still hold and no cell leaves its bounds.
Each program pushes some cells up or down from the true table. Both sides of its answer are used:

- the moves fall into parts that no relation ties together; each part alone is a move that nobody notices, and can be
  stretched until a cell meets a bound, so that every cell in it is shown to move so far;
- the multipliers of the relations fall into parts in the same way; each part is one combined relation, which limits
  every cell in it by all others, whoever computed the multipliers.

A cell is settled when what is shown and what is possible say the same, so that most cells need no program of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.attack.region import ZERO, Region, around
from discreet.model.arrays import Bools, Floats, Ints
from discreet.relations.components import components

if TYPE_CHECKING:
    from scipy.sparse import csr_array

UP, DOWN = 0, 1
FAR = 1e7
"""No cell needs to move further than this many times the largest aim."""
ROUNDING = 1e-13
"""Share of a sum by which rounding may be wrong."""
SHORT_OF_AIM = 1e-9
LITTLE = 0.1
"""Limits are worked out again from each other until none falls by more than this share."""
MOST_ROUNDS = 200


class Parts(NamedTuple):
    """Moves that fall into parts no relation ties together: cells, how far each moves, its part of how many."""

    cells: Ints
    amount: Floats
    rises: Bools
    part: Ints
    total: int


class PossibleMoves:
    """What is shown and what is possible of the moves of some cells.

    Parameters
    ----------
    matrix
        Relations among the cells, one column per cell.
    room
        How far the bounds of each cell let it rise (row ``UP``) and fall (row ``DOWN``).
    possible
        How far it can at most rise and fall, by ``room`` and whatever else is known.
    listen
        Called now and then while a program runs; what it raises stops the program.

    Attributes
    ----------
    shown
        How far each cell was shown to rise and fall.
    """

    def __init__(
        self, matrix: csr_array, room: Floats, possible: Floats, listen: Callable[[], None] = lambda: None
    ) -> None:
        self.matrix = matrix
        self._listen = listen
        self.columns = matrix.tocsc()
        self.room = room
        self.possible = possible.copy()
        self.shown = np.zeros_like(possible)
        self._component: tuple[int, Region] | None = None

    def __len__(self) -> int:
        return int(self.room.shape[1])

    @cached_property
    def whole(self) -> Region:
        """The program over all cells."""
        return Region(self.columns, np.arange(len(self)), True, self._listen)

    @cached_property
    def labels(self) -> tuple[Ints, Ints]:
        """The component of each cell, and the size of each component."""
        count, label = components(self.matrix, np.arange(len(self)))
        return label.astype(np.int64), np.bincount(label, minlength=count)

    def near(self, cell: int, size: int) -> Region:
        """The program over the cells around one; over its component where that is not much larger."""
        label, sizes = self.labels
        mine = int(label[cell])
        if 2 * size < sizes[mine]:
            return Region(self.columns, around(self.matrix, self.columns, cell, size), False, self._listen)
        if sizes[mine] == len(self):
            return self.whole
        if self._component is None or self._component[0] != mine:
            cells = np.flatnonzero(label == mine)
            self._component = mine, Region(self.columns, cells, True, self._listen)
        return self._component[1]

    def push(self, region: Region, cells: Ints, way: Ints, aim: Floats, scale: float | None = None) -> None:
        """Push cells up or down as far as their aims, all at once, and learn from the answer.

        ``scale`` is the unit of the program, by default the largest aim; no cell moves further than ``FAR`` of it then.
        """
        local = np.searchsorted(region.cells, cells)
        room = self.room[:, region.cells]
        if scale is None:
            scale = float(aim.max())
            room = np.minimum(room, FAR * scale)
        moves, multipliers = region.solve(local, way, aim, room, scale)
        self.learn_moves(parts(region, moves))
        self.learn_limits(region.rows, multipliers)
        if len(cells) == 1 and region.closed:
            self._settle(int(cells[0]), int(way[0]), float(aim[0]), abs(float(moves[local[0]])))

    def _settle(self, cell: int, way: int, aim: float, moved: float) -> None:
        """One cell alone was pushed as far as it goes: to its aim, or to all that is possible."""
        reached = moved >= aim * (1 - SHORT_OF_AIM)
        self.shown[way, cell] = max(self.shown[way, cell], aim if reached else moved)
        if not reached:
            self.possible[way, cell] = self.shown[way, cell]

    def learn_moves(self, found: Parts) -> None:
        """Every part of a move, stretched forth and back to the first bound, is a move as well."""
        if not len(found.cells):
            return
        room, shown = self.room[:, found.cells], self.shown[:, found.cells]
        for rising in (found.rises, ~found.rises):
            at = np.where(rising, UP, DOWN), np.arange(len(found.cells))
            stretch = np.full(found.total, np.inf)
            np.minimum.at(stretch, found.part, room[at] / found.amount)
            shown[at] = np.maximum(shown[at], stretch[found.part] * found.amount)
        self.shown[:, found.cells] = shown

    def learn_limits(self, rows: Ints, multipliers: Floats) -> None:
        """Relations added up with multipliers limit each of their cells by all others."""
        used = np.flatnonzero(multipliers)
        if not len(used):
            return
        cells, combined = added_up(self.matrix[rows[used]], multipliers[used])
        possible = self.possible[:, cells]
        limit(combined, possible)
        self.possible[:, cells] = np.maximum(possible, self.shown[:, cells])


def parts(region: Region, moves: Floats) -> Parts:
    """Split moves of a region; what moves no further than rounding errors miss the relations by is left out."""
    noise = 1e3 * float(np.abs(region.matrix @ moves).max(initial=0.0))
    moved = np.flatnonzero(np.abs(moves) > noise)
    count, part = components(region.matrix, moved)
    return Parts(region.cells[moved], np.abs(moves[moved]), moves[moved] > 0, part.astype(np.int64), count)


def added_up(rows: csr_array, multipliers: Floats) -> tuple[Ints, csr_array]:
    """Relations times multipliers, added up part by part: the cells that occur, and one row per part."""
    from scipy.sparse import csr_array

    cells, column = np.unique(rows.indices, return_inverse=True)
    numbers = np.arange(rows.shape[0])
    compact = csr_array((rows.data, column, rows.indptr), shape=(len(numbers), len(cells)))
    count, part = components(compact.T.tocsr(), numbers)
    combined = (csr_array((multipliers, (part, numbers)), shape=(count, len(numbers))) @ compact).tocsr()
    size = np.abs(combined.data)
    combined.data[size < ZERO * size.max(initial=0.0)] = 0.0
    combined.eliminate_zeros()
    return cells.astype(np.int64), combined


def tighten(matrix: csr_array, possible: Floats) -> None:
    """Limit moves by each relation in turn until little changes; the lone cell of a relation cannot move at all."""
    for _ in range(MOST_ROUNDS):
        before = possible.copy()
        limit(matrix, possible, rounding=0.0)
        if not np.any(possible < (1 - LITTLE) * before):
            return


def limit(matrix: csr_array, possible: Floats, rounding: float = ROUNDING) -> None:
    """Limit the moves of each cell by all others in the same relation."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    size, rises = np.abs(matrix.data), np.where(matrix.data > 0, UP, DOWN)
    for way in (rises, 1 - rises):
        # Whatever this cell does, the others do the opposite: its limit is how far they can go.
        others = size * possible[1 - way, matrix.indices]
        endless = np.isinf(others)
        finite = np.where(endless, 0.0, others)
        total = np.bincount(row, finite, minlength=matrix.shape[0])[row]
        unlimited = np.bincount(row, endless, minlength=matrix.shape[0])[row] - endless
        rest = np.where(unlimited > 0, np.inf, np.maximum(total - finite, 0.0) + rounding * total) / size
        np.minimum.at(possible, (way, matrix.indices), rest)
