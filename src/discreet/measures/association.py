"""How rows and columns hang together before and after (Shlomo and Young 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError
from discreet.measures.grid import Grid
from discreet.model.arrays import Floats

CYCLES = 1000
CLOSE = 1e-10


class Pair(NamedTuple):
    """A statistic before and after. Where it was zero before, its change and ratio are not defined."""

    original: float
    published: float

    @property
    def change(self) -> float:
        """Change in per cent of what it was."""
        return 100 * (self.published - self.original) / self.original if self.original else float("nan")

    @property
    def ratio(self) -> float:
        """After over before."""
        return self.published / self.original if self.original else float("nan")


def chi_square_of_independence(grid: Grid) -> Pair:
    """Pearson's statistic of rows and columns; cells with nothing expected do not count.

    Examples
    --------
    >>> chi_square_of_independence(Grid.of([[2, 0], [0, 2]], [[1, 1], [1, 1]]))
    Pair(original=4.0, published=0.0)
    """
    found = []
    for values in (grid.original, grid.published):
        expected, total = _expected(grid, values)
        there = expected > 0
        # Cells that are left out have nothing in them but something expected: together with the others, the total.
        found.append(float((values[there] ** 2 / expected[there]).sum() - total))
    return Pair(max(found[0], 0.0), max(found[1], 0.0))


def cramers_v(grid: Grid) -> Pair:
    """Cramér's V of rows and columns; not a number for a single filled row or column."""
    fewer = min(grid.filled_rows, grid.filled_columns) - 1
    statistic = chi_square_of_independence(grid)
    totals = float(grid.original.sum()), float(grid.published.sum())
    if fewer < 1 or min(totals) <= 0:
        return Pair(float("nan"), float("nan"))
    one, two = (float(np.sqrt(x / n / fewer)) for x, n in zip(statistic, totals, strict=True))
    return Pair(one, two)


def contingency(grid: Grid) -> Pair:
    """Pearson's coefficient of contingency: the root of chi-square over chi-square and total."""
    totals = float(grid.original.sum()), float(grid.published.sum())
    if min(totals) <= 0:
        return Pair(float("nan"), float("nan"))
    one, two = (float(np.sqrt(x / (x + n))) for x, n in zip(chi_square_of_independence(grid), totals, strict=True))
    return Pair(one, two)


def pearson(grid: Grid) -> float:
    """Correlation of cells before and after; not a number where all are alike."""
    a, b = grid.original - grid.original.mean(), grid.published - grid.published.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread > 0 else float("nan")


def entropy(grid: Grid) -> Pair:
    """Sum over rows of the entropy of their distributions, in natural logarithms; empty rows have none."""
    found = []
    for values in (grid.original, grid.published):
        total = grid.per_row(values)
        there = values > 0
        share = values[there] / total[grid.row[there]]
        found.append(float(-(share * np.log(share)).sum()))
    return Pair(found[0] + 0.0, found[1] + 0.0)


class Between(NamedTuple):
    """Between-row variance of the share of one column, or of all columns together; rows without values are left out."""

    variance: Pair
    skipped: int


def between_variance(grid: Grid, column: int | None = None) -> Between:
    """How much the rows differ in their share of a column; without one, summed over all columns."""
    if column is not None and not 0 <= column < grid.columns:
        raise ParameterError(f"column={column} is not there.", hint=f"Give a number from 0 to {grid.columns - 1}.")
    found, skipped = [], 0
    for values in (grid.original, grid.published):
        total = grid.per_row(values)
        used = total != 0
        n = int(used.sum())
        skipped = max(skipped, grid.rows - n)
        if n < 2 or total.sum() == 0:
            found.append(float("nan"))
            continue
        share = np.zeros(len(values))
        np.divide(values, total[grid.row], out=share, where=used[grid.row])
        overall = grid.per_column(values) / total.sum()
        # Cells that are left out have a share of zero; the rest of the square is for them.
        own = grid.per_column((share - overall[grid.column]) ** 2 * used[grid.row])
        absent = n - grid.per_column(used[grid.row].astype(np.float64))
        squares = own + absent * overall**2
        found.append(float(squares.sum() if column is None else squares[column]) / (n - 1))
    return Between(Pair(found[0], found[1]), skipped)


def explained(grid: Grid) -> Pair:
    """R²: the share of the variance of cells that lies between rows; not a number where all cells are alike."""
    size = grid.cells_in_row
    found = []
    for values in (grid.original, grid.published):
        mean = values.mean()
        whole = float(((values - mean) ** 2).sum())
        rows = grid.per_row(values) / np.maximum(size, 1)
        between = float((size * (rows - mean) ** 2).sum())
        found.append(between / whole if whole > 0 else float("nan"))
    return Pair(found[0], found[1])


def independence_deviance(grid: Grid) -> Pair:
    """Likelihood-ratio statistic of independence of rows and columns."""
    found = []
    for values in (grid.original, grid.published):
        expected, _ = _expected(grid, values)
        there = values > 0
        found.append(max(2 * float((values[there] * np.log(values[there] / expected[there])).sum()), 0.0))
    return Pair(found[0], found[1])


def deviance(table: npt.ArrayLike, margins: Sequence[Sequence[int]]) -> float:
    """Likelihood-ratio statistic of a log-linear model of a table of any dimensions.

    Parameters
    ----------
    table
        Counts.
    margins
        The margins that the model keeps, as lists of axes: ``[[0, 1], [2]]``.

    Examples
    --------
    >>> round(deviance([[1, 4, 0, 7], [2, 2, 5, 3], [0, 1, 9, 6]], [[0], [1]]), 6)
    18.276621
    """
    values = np.asarray(table, np.float64)
    axes = range(values.ndim)
    if not margins or any(axis not in axes for kept in margins for axis in kept):
        raise ParameterError(f"The model {margins!r} does not fit {values.ndim} axes.", hint="Count axes from 0.")
    if values.min(initial=0.0) < 0:
        raise InputError("A log-linear model needs counts of at least zero.")
    expected = np.ones_like(values)
    for _ in range(CYCLES):
        last = expected.copy()
        for kept in margins:
            over = tuple(axis for axis in axes if axis not in kept)
            target, now = (x.sum(axis=over, keepdims=True) for x in (values, expected))
            factor = np.zeros_like(target)
            np.divide(target, now, out=factor, where=now > 0)
            expected = expected * factor
        if np.abs(expected - last).max(initial=0.0) <= CLOSE * max(1.0, float(values.max(initial=0.0))):
            break
    else:
        raise InputError("The log-linear model did not converge.", hint="Leave out margins, or join small categories.")
    there = values > 0
    return max(2 * float((values[there] * np.log(values[there] / expected[there])).sum()), 0.0)


def _expected(grid: Grid, values: Floats) -> tuple[Floats, float]:
    if values.min(initial=0.0) < 0:
        raise InputError("Association needs values of at least zero.", hint="Use distances for signed tables.")
    rows, columns, total = grid.per_row(values), grid.per_column(values), float(values.sum())
    return (rows[grid.row] * columns[grid.column] / total if total else np.zeros(len(values))), total
