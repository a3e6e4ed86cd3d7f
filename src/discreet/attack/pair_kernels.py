"""Loops over all pairs of records: how much they agree, and which pair fits best.

Records of the searched file stand block by block; each asked one is compared with those from ``low`` to ``high``. The
first ``numbers`` columns are numbers, NaN for a gap; the others are codes, 0 for a gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.attack.nearest_kernels import NEARLY
from discreet.jit import kernel

SAME_WEIGHT = 1e-9
"""Weights of evidence that differ by less are equal."""


@kernel("i8(f8, f8, f8[::1], b1)")
def level_of(one: float, other: float, cuts: Any, number: bool) -> int:
    """How well two values agree: 0 for best, the number of cuts for not at all, -1 where one is missing."""
    if not number:
        if one == 0 or other == 0:
            return -1
        return 0 if one == other else len(cuts)
    if np.isnan(one) or np.isnan(other):
        return -1
    apart, level = abs(one - other), 0
    for cut in cuts:
        level += apart > cut
    return level


@kernel("f8(f8[::1], f8[::1], i8)")
def distance_of(one: Any, other: Any, numbers: int) -> float:
    """The squared distance of two records; gaps are at the mean, which is 0, and codes count 1 where they differ."""
    total = 0.0
    for column in range(numbers):
        left = 0.0 if np.isnan(one[column]) else one[column]
        right = 0.0 if np.isnan(other[column]) else other[column]
        total += (left - right) ** 2
    for column in range(numbers, len(one)):
        total += one[column] != other[column]
    return total


@kernel("i8[::1](f8[:, ::1], f8[:, ::1], i8[::1], i8[::1], f8[:, ::1], i8, i8, i8)")
def pattern_codes(
    asked: Any, searched: Any, low: Any, high: Any, cuts: Any, numbers: int, first: int, last: int
) -> Any:
    """For every pair one number that says how well each column from ``first`` to ``last`` agrees."""
    found = np.empty((high - low).sum(), np.int64)
    place, base = 0, cuts.shape[1] + 2
    for row in range(len(asked)):
        for other in range(low[row], high[row]):
            code = 0
            for column in range(first, last):
                level = level_of(asked[row, column], searched[other, column], cuts[column], column < numbers)
                code = code * base + level + 1
            found[place] = code
            place += 1
    return found


@kernel("f8[:, ::1](i1[:, ::1], f8[::1], i8)")
def count_levels(patterns: Any, pairs: Any, levels: int) -> Any:
    """For every column how many pairs agree how well; ``pairs`` is how many have each pattern."""
    found = np.zeros((patterns.shape[1], levels))
    for one in range(len(patterns)):
        for column in range(patterns.shape[1]):
            if patterns[one, column] >= 0:
                found[column, patterns[one, column]] += pairs[one]
    return found


@kernel("f8[:, ::1](i1[:, ::1], f8[::1], f8[::1], f8[:, ::1])")
def expected_levels(patterns: Any, pairs: Any, shares: Any, weights: Any) -> Any:
    """The same over pairs that belong together, each by its chance; one candidate of each record does."""
    columns = patterns.shape[1]
    found = np.zeros((columns, weights.shape[1]))
    for one in range(len(patterns)):
        weight = 0.0
        for column in range(columns):
            if patterns[one, column] >= 0:
                weight += weights[column, patterns[one, column]]
        odds = np.exp(min(weight, 600.0)) * shares[one]
        chance = pairs[one] * odds / (odds + 1 - shares[one])
        for column in range(columns):
            if patterns[one, column] >= 0:
                found[column, patterns[one, column]] += chance
    return found


@kernel("Tuple((f8, i8, i8, b1))(f8[::1], f8[::1], i8, i8, f8, i8[::1], i8)")
def _nearest_of_best(weight: Any, apart: Any, low: int, high: int, most: float, place: Any, own: int) -> Any:
    """Of candidates with the most weight the nearest: its distance, the first, how many, and whether one is the own."""
    least = np.inf
    for other in range(low, high):
        if weight[other] >= most - SAME_WEIGHT:
            least = min(least, apart[other])
    first, ties, among = -1, 0, False
    for other in range(low, high):
        if weight[other] >= most - SAME_WEIGHT and apart[other] <= least * (1 + NEARLY):
            first = place[other] if first < 0 else min(first, place[other])
            ties += 1
            among = among or place[other] == own
    return least, first, ties, among


@kernel(
    "void(f8[:, ::1], f8[:, ::1], i8[::1], i8[::1], f8[:, ::1], i8, f8[:, ::1], i8[::1], i8[::1],"
    " f8[::1], i8[::1], i8[::1], f8[::1])"
)
def most_evidence(
    asked: Any,
    searched: Any,
    low: Any,
    high: Any,
    cuts: Any,
    numbers: int,
    weights: Any,
    place: Any,
    own: Any,
    most: Any,
    found: Any,
    ties: Any,
    chance: Any,
) -> None:
    """For each asked record the candidate with the most evidence; the nearest of equally good ones."""
    weight, apart = np.empty(len(searched)), np.empty(len(searched))
    columns = asked.shape[1]
    to_come = np.zeros(columns + 1)
    for column in range(columns - 1, -1, -1):
        to_come[column] = to_come[column + 1] + max(weights[column].max(), 0.0)
    for row in range(len(asked)):
        best = -np.inf
        for other in range(low[row], high[row]):
            total = 0.0
            for column in range(columns):
                # Whoever cannot reach the best any more is not looked at further.
                if total + to_come[column] < best - 2 * SAME_WEIGHT:
                    total = -np.inf
                    break
                level = level_of(asked[row, column], searched[other, column], cuts[column], column < numbers)
                if level >= 0:
                    total += weights[column, level]
            weight[other] = total
            best = max(best, total)
        for other in range(low[row], high[row]):
            if weight[other] >= best - SAME_WEIGHT:
                apart[other] = distance_of(asked[row], searched[other], numbers)
        _, found[row], ties[row], among = _nearest_of_best(weight, apart, low[row], high[row], best, place, own[row])
        most[row], chance[row] = best, 1 / ties[row] if among else 0.0


@kernel("b1(f8[::1], f8[::1], f8[::1])")
def _within(values: Any, least: Any, most: Any) -> bool:
    """Whether no value lies outside of its window; windows of empty fields are open."""
    inside = True
    for column in range(len(values)):
        inside = inside and not (values[column] < least[column] or values[column] > most[column])  # NaN is inside
    return inside


@kernel(
    "void(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], i8[::1], i8[::1], i8[::1], i8[::1],"
    " f8[::1], i8[::1], i8[::1], f8[::1], i8[::1])"
)
def nearest_within(
    values: Any,
    asked: Any,
    least: Any,
    most: Any,
    searched: Any,
    low: Any,
    high: Any,
    place: Any,
    own: Any,
    best: Any,
    found: Any,
    ties: Any,
    chance: Any,
    candidates: Any,
) -> None:
    """For each asked record the nearest of those whose windows hold all of its values."""
    weight, apart = np.empty(len(searched)), np.empty(len(searched))
    for row in range(len(asked)):
        for other in range(low[row], high[row]):
            inside = _within(values[row], least[other], most[other])
            weight[other] = 1.0 if inside else 0.0
            candidates[row] += inside
            if inside:
                apart[other] = distance_of(asked[row], searched[other], asked.shape[1])
        if candidates[row]:
            best[row], found[row], ties[row], among = _nearest_of_best(
                weight, apart, low[row], high[row], 1.0, place, own[row]
            )
            chance[row] = 1 / ties[row] if among else 0.0
