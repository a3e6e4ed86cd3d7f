"""What stands for a group: its mean, median, or a robust mean, exactly and rounded once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import InputError, counted
from discreet.model.arrays import Ints
from discreet.records.exact_columns import FLOAT_LIMIT, WHOLE_LIMIT, ExactColumn

CUTS = {"one_step": 3.0, "m_estimate": 2.0}
"""How many median deviations from the median values count in full, where nothing else is said."""


class Location(NamedTuple):
    """What stands for a group: the kind, the share that is trimmed at each end, the cut, and weights in millionths."""

    kind: str
    trim: float = 0.0
    cut: float | None = None
    weights: Ints | None = None

    @property
    def exact_cut(self) -> Fraction:
        """The cut as it is written in decimals."""
        return Fraction(str(CUTS[self.kind] if self.cut is None else self.cut))


class _Batch(NamedTuple):
    """Rows of all groups of one size, a line for each group."""

    rows: Ints
    groups: Ints


def batches(group: Ints) -> Iterator[_Batch]:
    """Groups by their size; records without a group are left out."""
    rows = np.flatnonzero(group >= 0)
    rows = rows[np.argsort(group[rows], kind="stable")]
    numbers, start, size = np.unique(group[rows], return_index=True, return_counts=True)
    for many in np.unique(size).tolist():
        chosen = np.flatnonzero(size == many)
        yield _Batch(rows[start[chosen][:, None] + np.arange(many)], numbers[chosen])


def located(column: ExactColumn, group: Ints, location: Location, finer: int, name: str) -> Ints:
    """The value of every record's group, in units that are ``finer`` decimals finer; halves are rounded up."""
    found = np.zeros(len(group), np.int64)
    limit = WHOLE_LIMIT if column.whole and column.decimals + finer == 0 else FLOAT_LIMIT
    for batch in batches(group):
        # Differences within a group are small where the numbers themselves are not.
        first = column.units[batch.rows[:, 0]]
        top, bottom = _middle(np.sort(column.units[batch.rows] - first[:, None], axis=1), batch.rows, column, location)
        top = top + first.astype(object) * bottom
        if finer >= 0:
            top = top * 10**finer
        else:
            bottom = bottom * 10**-finer
        value: Any = (2 * top + bottom) // (2 * bottom)
        if max(abs(v) for v in value) >= limit:
            raise InputError(
                f"Column {name!r} holds numbers too large for means of {counted(column.decimals + finer, 'decimal')}.",
                hint="Give decimals=, or express the column in a larger unit.",
            )
        found[batch.rows] = value.astype(np.int64)[:, None]
    return found


def _middle(apart: Ints, rows: Ints, column: ExactColumn, location: Location) -> tuple[Any, Any]:
    """What stands for each group as a fraction: how far it lies above the first member, from sorted differences."""
    size = apart.shape[1]
    if location.weights is not None:
        weights = location.weights[rows].astype(object)
        top = (weights * (column.units[rows] - column.units[rows[:, :1]]).astype(object)).sum(axis=1)
        return top, weights.sum(axis=1)
    if location.kind in ("mean", "trimmed"):
        cut = int(Fraction(str(location.trim)) * size) if location.kind == "trimmed" else 0
        return _sum(apart[:, cut : size - cut]), _same(apart, size - 2 * cut)
    if location.kind == "median":
        return _twice_median(apart), _same(apart, 2)
    values, middle, cut, unit = _in_quarters(apart, location.exact_cut)
    if location.kind == "one_step":
        clipped = np.clip(values, (middle - cut)[:, None], (middle + cut)[:, None])
        return clipped.sum(axis=1), _same(apart, unit * size)
    top, bottom = _huber(values, middle, cut)
    return top, bottom * unit


def _same(apart: Ints, number: int) -> Any:
    return np.full(len(apart), number, object)


def _sum(numbers: Ints) -> Any:
    fits = int(np.abs(numbers).max(initial=0)) * max(numbers.shape[1], 1) < WHOLE_LIMIT
    return (numbers if fits else numbers.astype(object)).sum(axis=1).astype(object)


def _twice_median(ordered: Ints) -> Any:
    size = ordered.shape[1]
    return ordered[:, (size - 1) // 2].astype(object) + ordered[:, size // 2]


def _in_quarters(apart: Ints, cut: Fraction) -> tuple[Any, Any, Any, int]:
    """Values, medians and cuts in a unit that holds all of them: quarters, and the denominator of the cut."""
    twice = _twice_median(apart)
    away = np.sort(np.abs(2 * apart.astype(object) - twice[:, None]), axis=1)
    deviation = _twice_median(away)  # four times the median deviation
    unit = 4 * cut.denominator
    return apart.astype(object) * unit, twice * (unit // 2), deviation * cut.numerator, unit


def _huber(values: Any, middle: Any, cut: Any) -> tuple[Any, Any]:
    """Where the values, clipped at the cut on either side, add up to nothing (Huber); the middle of a stretch of these.

    The sum falls along straight lines, and bends where the cut on either side of the place meets a value.
    """
    bends = np.sort(np.concatenate((values - cut[:, None], values + cut[:, None]), axis=1), axis=1)
    rest = np.stack(
        [np.clip(values - bend[:, None], -cut[:, None], cut[:, None]).sum(axis=1) for bend in bends.T], axis=1
    )
    line = np.arange(len(values))
    last = (rest >= 0).sum(axis=1) - 1  # sums fall from place to place
    first = (rest > 0).sum(axis=1)
    touched = first <= last  # some bend has the sum 0
    upper = np.minimum(last + 1, bends.shape[1] - 1)
    fall = rest[line, last] - rest[line, upper]
    between = bends[line, last] * fall + rest[line, last] * (bends[line, upper] - bends[line, last])
    level = bends[line, np.minimum(first, bends.shape[1] - 1)] + bends[line, last]
    top, bottom = np.where(touched, level, between), np.where(touched, 2, fall)
    alone = cut == 0  # more than half of the group is equal
    return np.where(alone, middle, top), np.where(alone, 1, bottom)
