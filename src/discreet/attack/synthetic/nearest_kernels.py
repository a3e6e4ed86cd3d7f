"""Compiled loops over pairs of records with numbers, categories and gaps.

The distance of two records adds up over columns: numbers count as their difference in units of the range, at most 1;
categories are whole numbers, and count as 0 where they agree and 1 where not; gaps are a number that is far from all
others. A file is a matrix with one row for each column, so that the inner loop runs through neighbouring numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.attack.synthetic.nearest import SAME
from discreet.jit import kernel

BLOCK = 2048
"""Records that are looked at together: their distances stay in the fastest memory."""


@kernel("void(f8[::1], f8[:,::1], i8, i8, f8[::1])")
def add_distances(one: Any, columns: Any, begin: int, end: int, found: Any) -> None:
    """The distances of one record to some others; plain enough to be done for several at once."""
    found[:] = 0.0
    for column in range(columns.shape[0]):
        mine = one[column]
        others = columns[column, begin:end]
        for place in range(others.shape[0]):
            found[place] += min(abs(others[place] - mine), 1.0)


@kernel("void(f8[:,::1], f8[:,::1], f8[::1], i8[::1])")
def nearest(asked: Any, columns: Any, near: Any, ties: Any) -> None:
    """The distance of each asked record (a row) to the nearest one, and how many are as near."""
    many = columns.shape[1]
    apart = np.empty(BLOCK)
    for row in range(len(asked)):
        best, equal = np.inf, 0
        for begin in range(0, many, BLOCK):
            end = min(begin + BLOCK, many)
            add_distances(asked[row], columns, begin, end, apart[: end - begin])
            for place in range(end - begin):
                if apart[place] < best - SAME:
                    best, equal = apart[place], 1
                elif apart[place] <= best + SAME:
                    equal += 1
        near[row], ties[row] = best, equal


@kernel("void(f8[:,::1], f8[:,::1], f8[::1], f8[::1], f8, f8[::1], f8[::1])")
def agreeing_nearest(
    asked: Any, columns: Any, truth: Any, answers: Any, tolerance: float, near: Any, share: Any
) -> None:
    """The share of the nearest records that hold the true answer, or one within a share of it (0 for exactly)."""
    many = columns.shape[1]
    apart = np.empty(BLOCK)
    for row in range(len(asked)):
        best, equal, right = np.inf, 0, 0
        true = truth[row]
        for begin in range(0, many, BLOCK):
            end = min(begin + BLOCK, many)
            add_distances(asked[row], columns, begin, end, apart[: end - begin])
            for place in range(end - begin):
                if apart[place] > best + SAME:
                    continue
                if apart[place] < best - SAME:
                    best, equal, right = apart[place], 0, 0
                equal += 1
                answer = answers[begin + place]
                if np.isnan(true):
                    right += 1 if np.isnan(answer) else 0
                elif abs(answer - true) <= tolerance * abs(true):
                    right += 1
        near[row], share[row] = best, right / max(equal, 1)


@kernel("void(f8[::1], f8[:,::1], f8[::1])")
def all_distances(one: Any, columns: Any, found: Any) -> None:
    """The distances of one record to all others."""
    many = columns.shape[1]
    for begin in range(0, many, BLOCK):
        end = min(begin + BLOCK, many)
        add_distances(one, columns, begin, end, found[begin:end])


@kernel("f8(f8[::1], f8[::1])")
def kth_smallest(values: Any, least: Any) -> float:
    """The largest of the smallest ``len(least)`` numbers."""
    last = len(least) - 1
    least[:] = np.inf
    for value in values:
        if value < least[last]:
            place = last
            while place > 0 and least[place - 1] > value:
                least[place] = least[place - 1]
                place -= 1
            least[place] = value
    return float(least[last])


@kernel("i8(f8, f8)")
def _place(apart: float, reach: float) -> int:
    """0 for sure to be among the nearest, 1 for unsure, 2 for not."""
    if apart < reach - SAME:
        return 0
    return 1 if apart <= reach + SAME else 2


@kernel("void(f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], i8, i8[:,::1])")
def shared_neighbours(
    first: Any, first_columns: Any, second: Any, second_columns: Any,
    many: int, counts: Any,
) -> None:  # fmt: skip
    """How the nearest records by some columns overlap with those by others.

    Records nearer than the last of the ``many`` nearest are sure to be among them, those as near as it are not. Counts
    of each asked record: sure and unsure by the first columns, by the second, and in both: sure-sure, sure-unsure,
    unsure-sure, unsure-unsure.
    """
    size = first_columns.shape[1]
    one, other = np.empty(size), np.empty(size)
    least = np.empty(many)
    for row in range(len(first)):
        all_distances(first[row], first_columns, one)
        all_distances(second[row], second_columns, other)
        one_reach, other_reach = kth_smallest(one, least), kth_smallest(other, least)
        for place in range(size):
            here = _place(one[place], one_reach)
            there = _place(other[place], other_reach)
            if here < 2:
                counts[row, here] += 1
            if there < 2:
                counts[row, 2 + there] += 1
            if here < 2 and there < 2:
                counts[row, 4 + 2 * here + there] += 1
