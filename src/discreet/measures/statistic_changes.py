"""Changes of statistics that readers know: means, medians, deviations and ratios, in all and by group.

Source: Kennickell and Lane (2006), who found that readers understand per cent of familiar statistics best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from discreet.errors import ParameterError, listed
from discreet.measures.file_pair import FilePair, PairedColumn
from discreet.measures.overlap import inverse_mean_square, percent_difference
from discreet.model.arrays import Bools, Floats

Statistic = Literal["mean", "median", "sd", "total"]
STATISTICS: tuple[Statistic, ...] = ("mean", "median", "sd", "total")
SHARES = (0.0, 20.0, 40.0, 60.0, 80.0, 90.0, 100.0)
"""Groups of numbers, where nothing else is said: shares of records in per cent."""
MOST_GROUPS = 50
Cuts = Literal["each", "original"]
Groups = str | Sequence[str] | Mapping[str, Sequence[float] | None] | None


class StatisticChange(NamedTuple):
    """One statistic of one group before and after.

    ``percent`` is 100 · (original − released) / original, not a number where the original is 0; ``inverse_mse`` is one
    over the squared difference, infinite where nothing changed; ``flag`` says it in a word.
    """

    quantity: str
    statistic: str
    group: str
    records: int
    original: float
    released: float
    percent: float
    inverse_mse: float
    flag: str

    @property
    def relative(self) -> float:
        """(released − original) / |original|, the other convention."""
        return (self.released - self.original) / abs(self.original) if self.original else float("nan")


@dataclass(frozen=True)
class ChangeLimits:
    """Changes in per cent up to which a statistic is called close, and up to which it has moved."""

    close: float = 1.0
    moved: float = 5.0

    def flag(self, original: float, released: float) -> str:
        """``"same"``, ``"close"``, ``"moved"`` or ``"far"``; ``"undefined"`` where a file has no such statistic."""
        if np.isnan(original) or np.isnan(released):
            return "undefined"
        if original == released:
            return "same"
        if original == 0:
            return "from zero"
        percent = abs(float(percent_difference(original, released)))
        return "close" if percent <= self.close else "moved" if percent <= self.moved else "far"


class GroupRows(NamedTuple):
    """A group in words, and which records of each file belong to it."""

    name: str
    before: Bools
    after: Bools


def ratio_columns(files: FilePair, ratios: Sequence[str]) -> list[PairedColumn]:
    """Ratios of two columns of numbers, record by record; a gap where either is empty or the second is 0."""
    found = []
    for ratio in ratios:
        parts = [part.strip() for part in ratio.split("/")]
        if len(parts) != 2 or not all(parts):
            raise ParameterError(f"{ratio!r} is no ratio of two columns.", hint="Write 'debt / income'.")
        top, bottom = (files[part] for part in parts)
        if not (top.is_number and bottom.is_number):
            raise ParameterError(f"{ratio!r} is a ratio of columns that are not both numbers.", hint="Name numbers.")
        sides = [_divided(x, y) for x, y in zip(top.sides(), bottom.sides(), strict=True)]
        found.append(PairedColumn(" / ".join(parts), sides[0], sides[1]))
    return found


def _divided(top: Floats, bottom: Floats) -> Floats:
    found = np.full(len(top), np.nan)
    np.divide(top, bottom, out=found, where=bottom != 0)
    return found


def statistic_changes(
    files: FilePair,
    *,
    statistics: Sequence[Statistic] = ("mean", "median"),
    ratios: Sequence[str] = (),
    by: Groups = None,
    cuts: Cuts = "each",
    limits: ChangeLimits | None = None,
) -> tuple[StatisticChange, ...]:
    """Statistics of all numbers before and after, in all and by group.

    Parameters
    ----------
    files
        Both files.
    statistics
        Any of ``"mean"``, ``"median"``, ``"sd"`` and ``"total"``, with weights where there are some.
    ratios
        Ratios of two columns, taken record by record: ``"debt / income"``.
    by
        Columns that make groups: codes by themselves; numbers by shares of records in per cent, 0-20, 20-40, 40-60,
        60-80, 80-90 and 90-100 unless ``{"income": [0, 50, 100]}`` says otherwise.
    cuts
        Where the ends of groups of numbers come from: ``"each"`` file has its own, or all from the ``"original"``.
    limits
        What is called close and what has moved.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> from discreet.engine.record_set import read_record_set
    >>> from discreet.measures.file_pair import pair_files
    >>> files = [read_record_set(ds.Microdata(pa.table({"x": x}))) for x in ([1.0, 2.0, 3.0], [1.0, 2.0, 3.27])]
    >>> [(c.statistic, round(c.percent, 3), c.flag) for c in statistic_changes(pair_files(*files))]
    [('mean', -4.5, 'moved'), ('median', 0.0, 'same')]
    """
    wrong = [one for one in statistics if one not in STATISTICS]
    if wrong:
        raise ParameterError(f"There is no statistic {wrong[0]!r}.", hint=f"Take some of {listed(STATISTICS)}.")
    own = limits or ChangeLimits()
    quantities = [*files.numbers, *ratio_columns(files, ratios)]
    found = []
    for group in groups_of(files, by, cuts):
        for column in quantities:
            sides = [_known(column, files, group, side) for side in (0, 1)]
            for name in statistics:
                ends = [_statistic(name, values, weight) for values, weight in sides]
                found.append(_change(column.name, name, group.name, len(sides[0][0]), ends, own))
    return tuple(found)


def _change(
    quantity: str, statistic: str, group: str, records: int, ends: Sequence[float], limits: ChangeLimits
) -> StatisticChange:
    percent, inverse = float(percent_difference(*ends)), inverse_mean_square(*ends)
    return StatisticChange(
        quantity, statistic, group, records, ends[0], ends[1], percent, inverse, limits.flag(ends[0], ends[1])
    )


def _known(column: PairedColumn, files: FilePair, group: GroupRows, side: int) -> tuple[Floats, Floats]:
    values, rows = column.sides()[side], (group.before, group.after)[side]
    there = rows & ~np.isnan(values)
    return values[there], files.weights[side][there]


def _statistic(name: Statistic, values: Floats, weight: Floats) -> float:
    whole = float(weight.sum()) if len(values) else 0.0
    if not whole > 0:
        return float("nan")
    if name == "total":
        return float(values @ weight)
    if name == "median":
        return weighted_median(values, weight)
    mean = float(values @ weight) / whole
    if name == "mean":
        return mean
    many = int((weight > 0).sum())
    return float(np.sqrt(((values - mean) ** 2 @ weight) / whole * many / (many - 1))) if many > 1 else float("nan")


def weighted_median(values: Floats, weight: Floats) -> float:
    """The value with half of the weight on either side; the middle of two where it lies between them.

    Examples
    --------
    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    2.0
    """
    there = weight > 0
    values, weight = values[there], weight[there]
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weight[order])
    half = sums[-1] / 2
    low = int(np.searchsorted(sums, half * (1 - 1e-12)))
    high = int(np.searchsorted(sums, half * (1 + 1e-12), side="right"))
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)


def groups_of(files: FilePair, by: Groups, cuts: Cuts = "each") -> Iterator[GroupRows]:
    """All records, and then the groups of each column."""
    yield GroupRows("all", *(np.ones(rows, np.bool_) for rows in files.rows))
    if cuts not in ("each", "original"):
        raise ParameterError(f"cuts={cuts!r} is not allowed.", hint="Give 'each' or 'original'.")
    named: Mapping[str, Sequence[float] | None] = (
        {} if by is None else by if isinstance(by, Mapping) else dict.fromkeys((by,) if isinstance(by, str) else by)
    )
    for name, shares in named.items():
        column = files[name]
        if column.is_number:
            yield from _number_groups(column, files, SHARES if shares is None else tuple(shares), cuts)
        elif shares is not None:
            raise ParameterError(f"Column {name!r} holds codes, which have no shares.", hint=f"Write by=[{name!r}].")
        else:
            yield from _code_groups(column)


def _code_groups(column: PairedColumn) -> Iterator[GroupRows]:
    present = np.unique(np.concatenate([column.before, column.after])).astype(np.int64)
    if len(present) > MOST_GROUPS:
        raise ParameterError(
            f"Column {column.name!r} makes {len(present):,} groups; at most {MOST_GROUPS} are compared.",
            hint="Group by a coarser column.",
        )
    for code in sorted(present.tolist(), key=lambda one: column.labels[one]):
        yield GroupRows(
            f"{column.name} {column.labels[code] or '(empty)'}", column.before == code, column.after == code
        )


def _number_groups(column: PairedColumn, files: FilePair, shares: Sequence[float], cuts: Cuts) -> Iterator[GroupRows]:
    if len(shares) < 2 or any(low >= high for low, high in pairwise(shares)):
        raise ParameterError(
            f"Shares {list(shares)} of {column.name!r} do not rise.",
            hint="Give per cent from low to high: [0, 50, 100].",
        )
    if shares[0] < 0 or shares[-1] > 100:
        raise ParameterError(
            f"Shares {list(shares)} of {column.name!r} are not within 0 and 100.", hint="Give per cent."
        )
    sides = column.sides()
    ends = [_quantiles(values, weight, shares) for values, weight in zip(sides, files.weights, strict=True)]
    if cuts == "original":
        ends[1] = ends[0]
    for at, (low, high) in enumerate(pairwise(shares)):
        rows = []
        for values, limits in zip(sides, ends, strict=True):
            above = values > limits[at] if low > 0 else ~np.isnan(values)
            below = values <= limits[at + 1] if high < 100 else ~np.isnan(values)
            rows.append(above & below)
        yield GroupRows(f"{column.name} {low:g}-{high:g} %", rows[0], rows[1])


def _quantiles(values: Floats, weight: Floats, shares: Sequence[float]) -> Floats:
    """Values with shares of the weight at or below them."""
    there = ~np.isnan(values) & (weight > 0)
    if not there.any():
        return np.full(len(shares), np.nan)
    known, own = values[there], weight[there]
    order = np.argsort(known, kind="stable")
    sums = np.cumsum(own[order])
    at = np.searchsorted(sums, np.array(shares) / 100 * sums[-1] * (1 - 1e-12))
    return np.asarray(known[order[np.minimum(at, len(known) - 1)]])
