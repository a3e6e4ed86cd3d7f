"""Distances of distributions: each column by itself, columns in pairs, and tables that somebody names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, listed
from discreet.measures.file_pair import FilePair, PairedColumn
from discreet.model.arrays import Floats, Ints
from discreet.rules.key_counts import numbered

CLASSES, PAIR_CLASSES = 20, 10
"""Numbers with more different values go into so many classes of equal size in the original; fewer in pairs."""
PAIR_CODES = 50
"""In pairs, codes besides the most frequent ones are one class."""
TABLE_VALUES = 50
"""In tables, numbers with up to so many different values are values and not classes."""
MOST_PAIRED = 30
"""Columns of which all pairs are compared."""


class Margin(NamedTuple):
    """Distances of one column: total variation, Hellinger, and of numbers the largest gap of cumulative shares."""

    column: str
    variation: float
    hellinger: float
    kolmogorov: float
    classes: int


class Association(NamedTuple):
    """Distances of a pair of columns, and how they hang together: by correlation, or by Cramér's V."""

    first: str
    second: str
    variation: float
    hellinger: float
    measure: str
    original: float
    released: float

    @property
    def difference(self) -> float:
        """After less before."""
        return self.released - self.original


class TableDistance(NamedTuple):
    """Distances of a table: of shares in all, cells that went or came, and Cramér's V where it has two variables."""

    table: str
    cells: int
    variation: float
    hellinger: float
    lost: int
    new: int
    original_v: float
    released_v: float


class _Shares(NamedTuple):
    """Shares of the same cells in both files."""

    before: Floats
    after: Floats

    @property
    def variation(self) -> float:
        return float(np.abs(self.before - self.after).sum()) / 2

    @property
    def hellinger(self) -> float:
        return float(np.sqrt(((np.sqrt(self.before) - np.sqrt(self.after)) ** 2).sum() / 2))


def margins(files: FilePair) -> tuple[Margin, ...]:
    """Distances of each column by itself; an empty field is a class of its own.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> from discreet.engine.record_set import read_record_set
    >>> from discreet.measures.file_pair import pair_files
    >>> files = [read_record_set(ds.Microdata(pa.table({"x": list(x)}))) for x in ("aabb", "abbb")]
    >>> margins(pair_files(*files))[0].variation
    0.25
    """
    found = []
    for column in files.columns:
        classes = classed(column, CLASSES)
        shares = _shares(files, [classes])
        distance = _kolmogorov(column, files.weights) if column.is_number else float("nan")
        found.append(Margin(column.name, shares.variation, shares.hellinger, distance, classes.size))
    return tuple(found)


class ClassedColumn(NamedTuple):
    """A column as classes from 0, and how many there are."""

    before: Ints
    after: Ints
    size: int


def classed(column: PairedColumn, classes: int, most_codes: int | None = None) -> ClassedColumn:
    """Classes of a column: its codes, or numbers by quantiles of the original; gaps are class 0.

    Numbers with few different values in both files together are not put into classes.
    """
    if not column.is_number:
        before, after = column.before.astype(np.int64), column.after.astype(np.int64)
        size = len(column.labels)
        if most_codes is None or size - 1 <= most_codes:
            return ClassedColumn(before, after, size)
        counts = np.bincount(before, minlength=size) + np.bincount(after, minlength=size)
        counts[0] = 0
        place = np.full(size, most_codes + 1)
        place[0] = 0
        place[np.argsort(-counts, kind="stable")[:most_codes]] = np.arange(1, most_codes + 1)
        return ClassedColumn(place[before], place[after], most_codes + 2)
    known = [values[~np.isnan(values)] for values in column.sides()]
    levels = np.union1d(*known) if _few(known, classes) else np.zeros(0)
    if not len(levels) or len(levels) > classes:
        basis = known[0] if len(known[0]) else known[1]
        cuts = np.linspace(0, 1, classes + 1)[1:-1]
        levels = np.unique(np.quantile(basis, cuts, method="inverted_cdf")) if len(basis) else np.zeros(0)
    sides = []
    for values in (column.before, column.after):
        place = np.searchsorted(levels, values) + 1
        place[np.isnan(values)] = 0
        sides.append(place.astype(np.int64))
    return ClassedColumn(sides[0], sides[1], len(levels) + 2)


def _few(known: Sequence[Floats], classes: int) -> bool:
    """Whether there may be as few different values as classes, by a look at the first ones."""
    return all(len(np.unique(values[:10_000])) <= classes for values in known)


def _shares(files: FilePair, columns: Sequence[ClassedColumn]) -> _Shares:
    """Shares of all combinations of classes that occur."""
    rows = files.rows[0]
    joined = [np.concatenate([column.before, column.after]) for column in columns]
    group, many = numbered(joined, [column.size for column in columns], len(joined[0]))
    sums = [
        np.bincount(part, weight, many)
        for part, weight in zip((group[:rows], group[rows:]), files.weights, strict=True)
    ]
    there = (sums[0] > 0) | (sums[1] > 0)
    return _Shares(sums[0][there] / sums[0].sum(), sums[1][there] / sums[1].sum())


def _kolmogorov(column: PairedColumn, weights: tuple[Floats, Floats]) -> float:
    """The largest gap between the cumulative shares of two files, gaps left out."""
    known = [~np.isnan(values) for values in (column.before, column.after)]
    parts = [weight[there].sum() for weight, there in zip(weights, known, strict=True)]
    if not all(parts):
        return float("nan")
    values = np.concatenate([column.before[known[0]], column.after[known[1]]])
    step = np.concatenate([weights[0][known[0]] / parts[0], -weights[1][known[1]] / parts[1]])
    order = np.argsort(values, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(values[order])), len(values) - 1]
    return float(np.abs(np.cumsum(step[order])[ends]).max())


def associations(files: FilePair) -> tuple[Association, ...]:
    """Distances of all pairs of columns; of the first 30 columns where there are more."""
    columns = files.columns[:MOST_PAIRED]
    classes = {column.name: classed(column, PAIR_CLASSES, PAIR_CODES) for column in columns}
    found = []
    for first, second in combinations(columns, 2):
        pair = [classes[first.name], classes[second.name]]
        shares = _shares(files, pair)
        if first.is_number and second.is_number:
            how, ends = "correlation", tuple(_correlation(files, first, second, side) for side in (0, 1))
        else:
            how, ends = "Cramér's V", tuple(_cramers_v(files, pair, side) for side in (0, 1))
        found.append(Association(first.name, second.name, shares.variation, shares.hellinger, how, *ends))
    return tuple(found)


def _correlation(files: FilePair, first: PairedColumn, second: PairedColumn, side: int) -> float:
    """The correlation of two columns of one file, of records that have both; not a number where one does not vary."""
    x, y = ((column.before, column.after)[side] for column in (first, second))
    weight = files.weights[side]
    there = ~(np.isnan(x) | np.isnan(y))
    if not there.all():
        x, y, weight = x[there], y[there], weight[there]
    if not weight.sum() > 0:
        return float("nan")
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    spread = float(np.sqrt((weight * x) @ x) * np.sqrt((weight * y) @ y))
    return max(-1.0, min(1.0, float((weight * x) @ y) / spread)) if spread > 0 else float("nan")


def _cramers_v(files: FilePair, pair: Sequence[ClassedColumn], side: int) -> float:
    """Cramér's V of two columns of one file; not a number where one has a single class."""
    one, two = ((column.before, column.after)[side] for column in pair)
    sizes = pair[0].size, pair[1].size
    cells = np.bincount(one * sizes[1] + two, files.weights[side], sizes[0] * sizes[1]).reshape(sizes)
    cells = cells[cells.sum(axis=1) > 0][:, cells.sum(axis=0) > 0]
    fewer = min(cells.shape) - 1
    if fewer < 1:
        return float("nan")
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / cells.sum()
    return float(np.sqrt(max(0.0, float((cells**2 / expected).sum()) / cells.sum() - 1) / fewer))


def table_distance(files: FilePair, table: Sequence[str]) -> TableDistance:
    """Distances of a table of some columns.

    Parameters
    ----------
    files
        Both files.
    table
        Names of columns.
    """
    if isinstance(table, str) or not table or len(set(table)) < len(table):
        raise ParameterError(
            f"A table is a list of different columns, not {table!r}.", hint="Write tables=[['age', 'sex'], ['region']]."
        )
    columns = [_for_table(files[name]) for name in table]
    shares = _shares(files, columns)
    both = tuple(_cramers_v(files, columns, side) for side in (0, 1)) if len(columns) == 2 else (float("nan"),) * 2
    return TableDistance(
        " x ".join(table),
        len(shares.before),
        shares.variation,
        shares.hellinger,
        int(((shares.before > 0) & (shares.after == 0)).sum()),
        int(((shares.before == 0) & (shares.after > 0)).sum()),
        *both,
    )


def _for_table(column: PairedColumn) -> ClassedColumn:
    if column.is_number:
        known = [values[~np.isnan(values)] for values in column.sides()]
        if _few(known, TABLE_VALUES) and len(np.union1d(*known)) <= TABLE_VALUES:
            return classed(column, TABLE_VALUES)
        return classed(column, PAIR_CLASSES)
    return classed(column, CLASSES)


def refuse_tables(files: FilePair, tables: Sequence[Sequence[str]]) -> None:
    """Refuse tables of columns that neither file has; columns that one lacks are a matter of that table."""
    known = [one.name for one in files.standings]
    for table in tables:
        wrong = [] if isinstance(table, str) else [name for name in table if name not in known]
        if wrong:
            raise InputError(f"No file has a column {listed(map(repr, wrong))}.", hint=f"There are {listed(known)}.")
