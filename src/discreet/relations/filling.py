"""Who must be in a total, because it is the only contributor of one of its parts.

Ready-made tables often count contributors without naming them. Whoever fills a part alone contributes at least the
part's value to every total above it; that may make it the total's largest contributor, or leave the others too little
for the total to fall by its level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Ints, pointers, ranges

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Filling(NamedTuple):
    """Who fills a part of each cell alone: those of cell ``c`` stand at ``start[c]`` to ``start[c + 1]``.

    ``who`` are holders, as a system numbers them, and ``amount`` is what they contribute to the cell at least.
    """

    start: Ints
    who: Ints
    amount: Ints

    @classmethod
    def nobody(cls, size: int) -> Filling:
        """Nobody fills a part of any of ``size`` cells."""
        none = np.zeros(0, np.int64)
        return cls(np.zeros(size + 1, np.int64), none, none)

    def at(self, cells: Ints) -> Filling:
        """The same for some of the cells."""
        length = np.diff(self.start)[cells]
        at = ranges(self.start[cells], length)
        return Filling(pointers(length), self.who[at], self.amount[at])

    def spared(self, cell: int, value: int, left: float) -> set[int]:
        """From whom a lower level of a cell need not be kept: the largest contributor, and who has more than is left.

        Nobody else can have as much as one who has more than half.
        """
        part = slice(int(self.start[cell]), int(self.start[cell + 1]))
        amounts = zip(self.who[part].tolist(), self.amount[part].tolist(), strict=True)
        return {who for who, amount in amounts if 2 * amount > value or amount > left}


def parts_filled_alone(matrix: csr_array, exact: Bools, value: Ints, sole: Ints, least: float) -> Filling:
    """Who fills parts of cells alone.

    Parameters
    ----------
    matrix
        Relations, totals with a minus sign.
    exact
        Which relations hold exactly, between cells without negative contributions.
    value
        Values of the cells.
    sole
        The only contributor of a cell (below -1), or -1 where there are more, none or a known one.
    least
        Share of a cell's value below which nobody is of interest.
    """
    size = len(value)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    negative = matrix.data < 0
    good = exact & (np.bincount(row[negative], minlength=matrix.shape[0]) == 1)
    total = np.zeros(matrix.shape[0], np.int64)
    total[row[negative]] = matrix.indices[negative]
    edge = np.flatnonzero(good[row] & ~negative)
    edge = edge[np.argsort(matrix.indices[edge], kind="stable")]
    above = total[row[edge]]
    start = pointers(np.bincount(matrix.indices[edge], minlength=size))
    cell = np.flatnonzero((sole < -1) & (value > 0))
    cells, people, amounts = cell, sole[cell], value[cell]
    found = (cells[:0], people[:0], amounts[:0])
    while len(cells):
        length = np.diff(start)[cells]
        up = above[ranges(start[cells], length)]
        who, amount = np.repeat(people, length), np.repeat(amounts, length)
        keep = (sole[up] != who) & (amount >= least * value[up])
        fresh = (up[keep], who[keep], amount[keep])
        found, new = _merged(found, fresh)
        cells, people, amounts = (column[new] for column in found)
    return Filling(pointers(np.bincount(found[0], minlength=size)), found[1], found[2])


def _merged(found: tuple[Ints, Ints, Ints], fresh: tuple[Ints, Ints, Ints]) -> tuple[tuple[Ints, Ints, Ints], Bools]:
    """Both together in the order of cells, with the largest amount of everybody in a cell, and which ones are new."""
    cell, who, amount = (np.concatenate(pair) for pair in zip(found, fresh, strict=True))
    new = np.arange(len(cell)) >= len(found[0])
    order = np.lexsort((new, -amount, who, cell))
    cell, who, amount, new = cell[order], who[order], amount[order], new[order]
    first = np.ones(len(cell), np.bool_)
    first[1:] = (np.diff(cell) != 0) | (np.diff(who) != 0)
    return (cell[first], who[first], amount[first]), new[first]
