"""Models of money columns by code of the checker's own, and whether values are the draws that a key gives from them."""

from __future__ import annotations

from math import erfc, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.keyed_draws import Words
from discreet.verify.records.value_columns import stratum_numbers

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]
FOLLOWS = 1e-6
"""A column of a model follows from those before it where this share of it, or less, is left."""
TOO_SMALL = 1e-200
NEARLY, CLOSE = 1e-9, 1e-10
"""Chances agree to the first, places on the signed-log scale to the second."""
MOST_GRAINS = 20
"""Values that are as round as another lie within so many grains of it."""
LEAST_SPREAD = 1e-7
"""Draws around a model that leaves less open than this cannot be told apart."""


def roundness(units: Whole, most: Numbers) -> Whole:
    """The largest of 1, 2, 5, 10, 20 and so on that divides a number, up to a limit."""
    steps = sorted(digit * 10**zeros for zeros in range(18) for digit in (1, 2, 5))
    found = np.ones(len(units), np.int64)
    for step in steps:
        fits = (units - units // step * step == 0) & (most >= step)
        found = np.where(fits, np.maximum(found, step), found)
    return found


def log_scale(values: Numbers) -> Numbers:
    """Logarithms of one more than the size, with the sign."""
    found: Numbers = np.where(values < 0, -1.0, 1.0) * np.log1p(np.abs(values))
    return found


class Expected(NamedTuple):
    """What the model says of some fields, and how far draws scatter around it."""

    mean: Numbers
    spread: Numbers


class FoundDraws(NamedTuple):
    """How many values are not the draws, lie at a bound because nothing else can be, and could not be looked at."""

    other: int
    clipped: int
    unsure: int


class MoneyModel:
    """Models of each column by the others: those before it as they are now, those after it as they were."""

    def __init__(
        self,
        step: CheckedStep,
        before: dict[str, Numbers],
        after: dict[str, Numbers],
        stays: dict[str, NDArray[np.bool_]],
        identity: Words,
    ) -> None:
        self._before = {name: log_scale(values) for name, values in before.items()}
        self._after = {name: log_scale(values) for name, values in after.items()}
        self._stays = stays
        self._kind = stratum_numbers(step)
        self._order = np.argsort(identity.astype(np.int64), kind="stable")
        self._further = [part for name in step.method["predictors"] for part in _further(step, name)]

    def of(self, name: str, rows: Whole) -> Expected:
        """What the model says of a column in some rows."""
        mean, spread = np.zeros(len(rows)), np.zeros(len(rows))
        for kind in np.unique(self._kind[rows]):
            mine = np.flatnonzero(self._kind[rows] == kind)
            used = self._order[(self._kind == kind)[self._order]]
            used = used[~self._stays[name][used] & (self._before[name][used] != 0)]
            mean[mine], spread[mine] = self._one(name, used, rows[mine])
        return Expected(mean, spread)

    def _one(self, name: str, used: Whole, rows: Whole) -> tuple[Numbers, float]:
        """The least-squares line by Gram and Schmidt, each column made orthogonal twice."""
        names = list(self._before)
        done = names[: names.index(name)]
        columns = []
        for other in names:
            if other != name:
                known = used[~self._stays[other][used]]
                middle = self._before[other][known].mean() if len(known) else 0.0
                now = self._after[other] if other in done else self._before[other]
                empty = self._stays[other]
                columns.append((np.where(empty, middle, self._before[other]), np.where(empty, middle, now)))
        columns += [(part, part) for part in self._further]
        target = self._before[name][used]
        basis, shown = np.zeros((len(used), 0)), np.zeros((len(rows), 0))
        for old, now in columns:
            middle, size = old[used].mean(), old[used].std()
            if size <= FOLLOWS * max(1.0, abs(middle)):
                continue
            left, there = (old[used] - middle) / size, (now[rows] - middle) / size
            for _ in range(2):
                along = basis.T @ left
                left, there = left - basis @ along, there - shown @ along
            length = sqrt(float(left @ left))
            if length <= FOLLOWS * sqrt(len(used)):
                continue
            basis = np.column_stack((basis, left / length))
            shown = np.column_stack((shown, there / length))
        along = basis.T @ (target - target.mean())
        rest = target - target.mean() - basis @ along
        free = len(used) - basis.shape[1] - 1
        return target.mean() + shown @ along, sqrt(float(rest @ rest) / free) if free > 0 else 0.0


def _further(step: CheckedStep, name: str) -> list[Numbers]:
    """Numbers as they are, with the mean for gaps; 0 and 1 for every code but the most frequent one."""
    column = step.before[name]
    if str(column.type) in ("int64", "double"):
        values = np.asarray(column.fill_null(0).to_numpy(), np.float64)
        empty = empty_fields(column, step.original.about(name).missing)
        return [np.where(empty, values[~empty].mean() if not empty.all() else 0.0, values)]
    texts = np.array([("", "") if v is None else ("v", _text(v)) for v in column.to_pylist()], dtype="U")
    codes, number, often = np.unique(texts, axis=0, return_inverse=True, return_counts=True)
    number = number.ravel()
    # Gaps and codes that are empty texts sort alike, gaps first, as Arrow numbers them.
    order = sorted(range(len(codes)), key=lambda code: (-often[code], codes[code][1], codes[code][0]))
    return [(number == code).astype(np.float64) for code in order[1:]]


def _text(value: Any) -> str:
    return str(value)


def _next(old: Whole, new: Whole, most: Whole, least: Numbers, side: int) -> Numbers:
    """Where draws begin to stand for the next value on one side: half way, or at the bound where there is none."""
    grain = roundness(old, least)
    found = (old + side * most).astype(np.float64)
    open_ = np.ones(len(old), np.bool_)
    for step in range(1, MOST_GRAINS + 1):
        value = new + side * step * grain
        fits = (np.abs(value - old) <= most) & (value != old) & (roundness(value, least) == grain) & open_
        found[fits] = (new[fits] + value[fits]) / 2
        open_ &= ~fits
    return found


def check_values(
    expected: Expected, old: Whole, new: Whole, most: Whole, least: Numbers, chance: Numbers, decimals: int
) -> FoundDraws:
    """Whether the draw of each value, a share of the chances between its bounds, falls on the value that is there.

    A value stands for all draws that are nearer to it than to others that are as round and within the bounds.
    """
    other = clipped = unsure = 0
    scale = 10.0**decimals
    lower, upper = (_next(old, new, most, least, side) for side in (-1, 1))
    ends = [log_scale(values / scale) for values in (lower, upper, old - most, old + most, old.astype(np.float64))]
    outermost = np.where(new > old, upper == old + most, lower == old - most)
    for i in range(len(old)):
        low, high, first, last, here = (float(end[i]) for end in ends)
        mean, spread = float(expected.mean[i]), float(expected.spread[i])
        if spread < LEAST_SPREAD:
            unsure += 1
            continue
        ruled_out = _between(first, last, mean, spread) < TOO_SMALL
        clipped += ruled_out
        if ruled_out:
            other += not outermost[i] or (new[i] > old[i]) != (mean > here)
            continue
        close = CLOSE * (1 + abs(mean))
        whole = _between(first, last, mean, spread)
        begin = _between(first, low - close, mean, spread) / whole
        end = _between(first, high + close, mean, spread) / whole
        other += not begin - NEARLY <= chance[i] <= end + NEARLY
    return FoundDraws(other, clipped, unsure)


def _between(low: float, high: float, mean: float, spread: float) -> float:
    """The chance of a normal draw between two ends; none where they are the wrong way round."""
    a, b = (low - mean) / spread / sqrt(2), (high - mean) / spread / sqrt(2)
    if b <= a:
        return 0.0
    return (erfc(a) - erfc(b)) / 2 if a > 0 else (erfc(-b) - erfc(-a)) / 2
