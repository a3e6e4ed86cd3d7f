"""How many cells change their group when all are sorted by size (Shlomo and Young 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import ParameterError, counted
from discreet.measures.grid import Grid
from discreet.model.arrays import Floats, Ints

MANY = 20.0


class RankChanges(NamedTuple):
    """``overall`` is the per cent of all cells that change their group, ``columns`` the same within each column.

    ``many`` counts columns where more than a fifth of the cells do.
    """

    overall: float
    columns: Floats
    many: int


def rank_changes(grid: Grid, groups: int = 20) -> RankChanges:
    """Per cent of cells that change their group of size; ties keep their order.

    Examples
    --------
    >>> round(rank_changes(Grid.of([[1, 2, 3, 4, 5, 6]], [[3, 0, 3, 6, 3, 6]]), groups=3).overall, 4)
    33.3333
    """
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 2 or groups > len(grid):
        raise ParameterError(
            f"groups={groups!r} is not allowed for {counted(len(grid), 'cell')}.",
            hint="Give a number from 2 to the number of cells.",
        )
    together = np.zeros(len(grid), np.int64)
    overall = _moved(grid, together, groups)
    moved = _moved(grid, grid.column, groups)
    size = np.bincount(grid.column, minlength=grid.columns)
    share = 100 * np.bincount(grid.column, moved, grid.columns) / np.maximum(size, 1)
    return RankChanges(100 * float(overall.mean()), share, int((share > MANY).sum()))


def _moved(grid: Grid, part: Ints, groups: int) -> Floats:
    """Which cells change their group among the cells of their part."""
    position = np.arange(len(grid))
    before = _ranks(np.lexsort((position, grid.original, part)), part)
    after = _ranks(np.lexsort((before, grid.published, part)), part)
    size = np.bincount(part)[part]
    moved: Floats = (groups * before // size != groups * after // size).astype(np.float64)
    return moved


def _ranks(order: Ints, part: Ints) -> Ints:
    """Rank of each cell within its part, from 0."""
    size = np.bincount(part)
    first = np.concatenate(([0], np.cumsum(size)[:-1]))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - first[part[order]]
    return rank
