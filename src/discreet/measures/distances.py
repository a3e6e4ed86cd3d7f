"""Distances between the cells before and after, row by row (Shlomo and Young 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, counted
from discreet.measures.grid import Grid
from discreet.model.arrays import Bools, Floats


class Relative(NamedTuple):
    """Relative distances: the mean over rows of their sums, the largest, and how many cells were zero before."""

    mean: float
    largest: float
    skipped: int


class Totals(NamedTuple):
    """Distances of row totals: relative and absolute, as sums and as means; ``skipped`` rows were zero before."""

    relative_sum: float
    relative_mean: float
    absolute_sum: float
    absolute_mean: float
    skipped: int


def hellinger_rows(grid: Grid) -> Floats:
    """The Hellinger distance of each row, of its cells as they are.

    Examples
    --------
    >>> hellinger_rows(Grid.of([[0, 4]], [[0, 9]])).round(6).tolist()
    [0.707107]
    """
    _refuse_signed(grid)
    gap = (np.sqrt(grid.published) - np.sqrt(grid.original)) ** 2
    return np.sqrt(grid.per_row(gap) / 2)


def hellinger(grid: Grid) -> float:
    """The Hellinger distance over all cells."""
    _refuse_signed(grid)
    return float(np.sqrt(((np.sqrt(grid.published) - np.sqrt(grid.original)) ** 2).sum() / 2))


def relative_distance(grid: Grid) -> Relative:
    """Mean over rows of the sum of |after − before| / |before|; cells that were zero are skipped and counted."""
    there = grid.original != 0
    share = np.zeros(len(grid))
    np.divide(np.abs(grid.published - grid.original), np.abs(grid.original), out=share, where=there)
    return Relative(float(grid.per_row(share).mean()), float(share.max(initial=0.0)), int((~there).sum()))


def absolute_distance(grid: Grid) -> float:
    """Mean over rows of the mean of |after − before|; rows without cells do not count."""
    size = grid.cells_in_row
    there = size > 0
    return float((grid.per_row(np.abs(grid.published - grid.original))[there] / size[there]).mean())


def total_distance(grid: Grid, group: Bools | None = None) -> Totals:
    """Distances of row totals over a group of columns.

    Parameters
    ----------
    grid
        The cells.
    group
        Which columns the totals are of; all when left out.
    """
    chosen = np.ones(grid.columns, np.bool_) if group is None else np.asarray(group, np.bool_)
    if len(chosen) != grid.columns:
        raise InputError(f"The group names {counted(len(chosen), 'column')}, the table has {grid.columns}.")
    inside = chosen[grid.column]
    before, after = grid.per_row(grid.original * inside), grid.per_row(grid.published * inside)
    gap, there = np.abs(after - before), before != 0
    relative = float((gap[there] / np.abs(before[there])).sum())
    return Totals(
        relative,
        relative / max(int(there.sum()), 1),
        float(gap.sum()),
        float(gap.sum()) / grid.rows,
        int((~there).sum()),
    )


def mean_variance(grid: Grid) -> tuple[float, float, int]:
    """Mean over rows of the sample variance of their cells, before and after; rows of one cell are left out."""
    size = grid.cells_in_row
    used = size > 1
    if not used.any():
        return float("nan"), float("nan"), grid.rows
    found = []
    for values in (grid.original, grid.published):
        mean = grid.per_row(values) / np.maximum(size, 1)
        spread = grid.per_row((values - mean[grid.row]) ** 2)
        found.append(float((spread[used] / (size[used] - 1)).mean()))
    return found[0], found[1], int((~used).sum())


def _refuse_signed(grid: Grid) -> None:
    if grid.signed:
        raise InputError("The Hellinger distance needs values of at least zero.", hint="Use absolute distances.")
