"""The compiled loops of a tree that tells released records from original ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

MOST_DEPTH = 40


@kernel("f8(u1[:, ::1], i8[::1], i8[::1], b1, u1[::1], f8[::1], i8[::1], i8, i8, i8, i8, i8[::1])")
def best_split(
    bins: Any,
    rows: Any,
    size: Any,
    ordered: bool,
    source: Any,
    weight: Any,
    place: Any,
    column: int,
    low: int,
    high: int,
    leaf: int,
    side: Any,
) -> float:
    """The gain of the best split of some records by a column; ``side`` becomes 1 for the bins that go left.

    Bins of codes are put in the order of their share of originals, which finds the best of all divisions in two.
    Gains are those of weights, and the least number in a leaf is one of records.
    """
    many = size[column]
    count, mass, ones = np.zeros(many), np.zeros(many), np.zeros(many)
    for at in range(low, high):
        row = rows[at]
        found = bins[column, row]
        count[found] += 1.0
        mass[found] += weight[row]
        ones[found] += source[row] * weight[row]
    total, right = 0.0, 0.0
    for found in range(many):
        total += mass[found]
        right += ones[found]
    if ordered:
        for found in range(many):
            place[found] = found
    else:
        share = np.full(many, 2.0)
        for found in range(many):
            if mass[found] > 0:
                share[found] = ones[found] / mass[found]
        order = np.argsort(share, kind="mergesort")
        for found in range(many):
            place[found] = order[found]
    if total <= 0.0:
        return 0.0
    before, best, cut = right * right / total, 0.0, -1
    number, part, sum_ones = 0.0, 0.0, 0.0
    for at in range(many - 1):
        number += count[place[at]]
        part += mass[place[at]]
        sum_ones += ones[place[at]]
        if number < leaf or high - low - number < leaf or mass[place[at]] == 0 or part <= 0 or total - part <= 0:
            continue
        rest = right - sum_ones
        gain = sum_ones * sum_ones / part + rest * rest / (total - part) - before
        if gain > best:
            best, cut = gain, at
    for found in range(many):
        side[found] = 0
    for at in range(cut + 1):
        side[place[at]] = 1
    return best


@kernel("void(u1[:, ::1], i8[::1], i8, i8, i8, i8, i8[::1])")
def halved(bins: Any, rows: Any, many: int, column: int, low: int, high: int, side: Any) -> None:
    """Divide the bins of a column in the middle of some records; ``side`` becomes 1 for those that go left."""
    count = np.zeros(many)
    for at in range(low, high):
        count[bins[column, rows[at]]] += 1.0
    number = 0.0
    for found in range(many):
        side[found] = 1 if number + count[found] / 2 < (high - low) / 2 else 0
        number += count[found]


@kernel("i8(u1[:, ::1], i8[::1], i8[::1], i8[::1], i8, i8, i8)")
def parted(bins: Any, rows: Any, spare: Any, side: Any, column: int, low: int, high: int) -> int:
    """Put records of the left side first, and give where the right ones begin."""
    left, right = low, 0
    for at in range(low, high):
        if side[bins[column, rows[at]]] == 1:
            rows[left] = rows[at]
            left += 1
        else:
            spare[right] = rows[at]
            right += 1
    rows[left:high] = spare[:right]
    return left


@kernel("i8(u1[:, ::1], i8[::1], i8[::1], b1[::1], u1[::1], f8[::1], i8[::1], i8[::1], i8, i8, i8, f8, i8[::1])")
def looked_ahead(
    bins: Any,
    rows: Any,
    size: Any,
    ordered: Any,
    source: Any,
    weight: Any,
    place: Any,
    spare: Any,
    low: int,
    high: int,
    leaf: int,
    least: float,
    chosen: Any,
) -> int:
    """The column whose halves gain most by their next splits, where no split gains anything; -1 for none.

    Files whose columns hold the same values in another order are alike column by column, and any half of them is not.
    """
    best, by = least, -1
    side, inner = np.empty(len(place), np.int64), np.empty(len(place), np.int64)
    for column in range(len(size)):
        halved(bins, rows, size[column], column, low, high, side)
        middle = parted(bins, rows, spare, side, column, low, high)
        if middle - low < leaf or high - middle < leaf:
            continue
        gain = 0.0
        for start, stop in ((low, middle), (middle, high)):
            most = 0.0
            for other in range(len(size)):
                if stop - start >= 2 * leaf:
                    found = best_split(
                        bins, rows, size, ordered[other], source, weight, place, other, start, stop, leaf, inner
                    )
                    most = max(most, found)
            gain += most
        if gain > best:
            best, by = gain, column
            chosen[: size[column]] = side[: size[column]]
    return by


@kernel("i8(u1[:, ::1], i8[::1], b1[::1], u1[::1], f8[::1], i8, f8, f8[::1], f8[::1])")
def grown(
    bins: Any,
    size: Any,
    ordered: Any,
    source: Any,
    weight: Any,
    leaf: int,
    least: float,
    total: Any,
    importance: Any,
) -> int:
    """Grow a tree; ``total`` gets the sum of squares, ``importance`` what each column gains. Gives the leaves."""
    records = bins.shape[1]
    widest = 0
    for column in range(len(size)):
        widest = max(widest, size[column])
    rows, spare = np.arange(records), np.empty(records, np.int64)
    place, side, chosen = np.empty(widest, np.int64), np.empty(widest, np.int64), np.empty(widest, np.int64)
    share, whole = 0.0, 0.0
    for row in range(records):
        share += source[row] * weight[row]
        whole += weight[row]
    share /= whole
    stack = np.zeros((4 * MOST_DEPTH, 3), np.int64)
    stack[0, 1] = records
    waiting, leaves = 1, 0
    while waiting > 0:
        waiting -= 1
        low, high, depth = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        best, by = least, -1
        if high - low >= 2 * leaf and depth < MOST_DEPTH:
            for column in range(len(size)):
                gain = best_split(
                    bins, rows, size, ordered[column], source, weight, place, column, low, high, leaf, side
                )
                if gain > best:
                    best, by = gain, column
                    chosen[:] = side
            if by < 0:
                by = looked_ahead(
                    bins, rows, size, ordered, source, weight, place, spare, low, high, leaf, least, chosen
                )
                best = 0.0
        if by < 0:
            ones, mass = 0.0, 0.0
            for at in range(low, high):
                ones += source[rows[at]] * weight[rows[at]]
                mass += weight[rows[at]]
            if mass > 0.0:
                total[0] += mass * (ones / mass - share) ** 2
            leaves += 1
            continue
        importance[by] += best
        left = parted(bins, rows, spare, chosen, by, low, high)
        stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = low, left, depth + 1
        stack[waiting + 1, 0], stack[waiting + 1, 1], stack[waiting + 1, 2] = left, high, depth + 1
        waiting += 2
    return leaves
