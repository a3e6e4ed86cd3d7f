"""The nearest of many points, exactly, with all that are equally near.

Points lie in the leaves of a balanced tree, leaf by leaf and column by column, so that one leaf is looked at in a few
wide steps. The first ``numbers`` columns count by squared difference, all others (codes) by 1 where they differ. With a
``degree`` the distance is that of the polynomial kernel ``(1 + x.y) ** degree``, and boxes rule out leaves by what it
is at least (:func:`_least_of_kernel`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

LEAF = 16
DEEPEST = 128
"""Nodes that wait at once: two for each level, of which there are fewer than 60."""
NEARLY = 2e-9
"""Squared distances that differ by a smaller share are equal."""
SLACK = 1 - 1e-12
"""Kernel distances and their bound are rounded in different ways."""


@kernel("void(f8[:, ::1], i8[::1], i8, i8, i8, i8)")
def _divide(points: Any, who: Any, start: int, end: int, middle: int, column: int) -> None:
    """Bring the lesser half of some points to the front, by one column."""
    left, right = start, end - 1
    while left < right:
        pivot = points[who[(left + right) // 2], column]
        i, j = left, right
        while i <= j:
            while points[who[i], column] < pivot:
                i += 1
            while points[who[j], column] > pivot:
                j -= 1
            if i <= j:
                who[i], who[j] = who[j], who[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return


@kernel("i8(f8[:, ::1], i8[::1], i8, i8, i8, f8[::1], f8[::1])")
def _box_around(points: Any, who: Any, start: int, end: int, numbers: int, low: Any, high: Any) -> int:
    """The box around some points, and its widest side; codes that differ are 1 apart."""
    widest, width = 0, -1.0
    for column in range(points.shape[1]):
        least = most = points[who[start], column]
        for place in range(start + 1, end):
            value = points[who[place], column]
            least, most = min(least, value), max(most, value)
        low[column], high[column] = least, most
        side = most - least if column < numbers else min(most - least, 1.0)
        if side > width:
            widest, width = column, side
    return widest


@kernel("Tuple((i8[::1], i8[::1], f8[:, ::1], f8[:, ::1], i8[::1], f8[::1]))(f8[:, ::1], i8)")
def build_boxes(points: Any, numbers: int) -> Any:
    """Order of the points, where each leaf begins, the box of every node, and by what inner ones are divided."""
    many, columns = points.shape
    leaves = 1
    while leaves * LEAF < many:
        leaves *= 2
    nodes = 2 * leaves - 1
    who = np.arange(many)
    begins, ends = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    low, high = np.zeros((nodes, columns)), np.zeros((nodes, columns))
    side, cut = np.zeros(nodes, np.int64), np.zeros(nodes)
    ends[0] = many
    for node in range(nodes):
        start, end = begins[node], ends[node]
        side[node] = _box_around(points, who, start, end, numbers, low[node], high[node])
        if node < leaves - 1:
            middle = (start + end) // 2
            _divide(points, who, start, end, middle, side[node])
            cut[node] = points[who[middle], side[node]]
            begins[2 * node + 1], ends[2 * node + 1] = start, middle
            begins[2 * node + 2], ends[2 * node + 2] = middle, end
    first = np.empty(leaves + 1, np.int64)
    first[:leaves], first[leaves] = begins[leaves - 1 :], many
    return who, first, low, high, side, cut


@kernel("f8[:, :, ::1](f8[:, ::1], i8[::1], i8[::1])")
def lay_out(points: Any, who: Any, first: Any) -> Any:
    """The points leaf by leaf, column by column."""
    leaves = len(first) - 1
    block = np.zeros((leaves, points.shape[1], LEAF))
    for leaf in range(leaves):
        for slot in range(first[leaf + 1] - first[leaf]):
            row = who[first[leaf] + slot]
            for column in range(points.shape[1]):
                block[leaf, column, slot] = points[row, column]
    return block


@kernel("i8[::1](f8[:, ::1], i8[::1], f8[::1])")
def leaf_of_each(points: Any, side: Any, cut: Any) -> Any:
    """The leaf that each of some other points belongs to: neighbours are asked for one after the other."""
    inner = len(side) // 2
    found = np.empty(len(points), np.int64)
    for row in range(len(points)):
        node = 0
        while node < inner:
            node = 2 * node + (1 if points[row, side[node]] < cut[node] else 2)
        found[row] = node - inner
    return found


@kernel("f8(f8[::1], f8[:, ::1], f8[:, ::1], i8, i8)")
def _to_box(point: Any, low: Any, high: Any, node: int, numbers: int) -> float:
    """The squared distance to the nearest place of a box."""
    total = 0.0
    for column in range(numbers):
        apart = max(low[node, column] - point[column], point[column] - high[node, column], 0.0)
        total += apart * apart
    for column in range(numbers, len(point)):
        if point[column] < low[node, column] or point[column] > high[node, column]:
            total += 1.0
    return total


@kernel("f8(f8, f8, f8, i8)")
def kernel_distance(apart: float, own: float, other: float, degree: int) -> float:
    """What the kernel makes of a squared distance and both squared norms, without taking like from like.

    With ``m`` the mean and ``h`` half the difference of ``1 + x.x`` and ``1 + y.y``, ``1 + x.y`` is ``m - apart / 2``.
    """
    middle, half = 1 + (own + other) / 2, (own - other) / 2
    product = middle - apart / 2
    total = 0.0
    for power in range(degree):
        total += middle**power * product ** (degree - 1 - power)
    total *= apart
    chosen = 1.0
    for power in range(1, degree + 1):
        chosen *= (degree - power + 1) / power
        if power % 2 == 0:
            total += 2 * chosen * middle ** (degree - power) * half**power
    return total


@kernel("f8(f8, f8, f8, f8, i8)")
def _least_of_kernel(apart: float, own: float, low: float, high: float, degree: int) -> float:
    """What a kernel distance is at least, for points so far apart at least whose squared norm lies between two.

    It is a sum of squared distances of all powers, of which the first is ``degree`` times the plain one. And with ``m``
    and ``h`` of :func:`kernel_distance` it is at least ``m ** (degree - 1) * min(apart, 4)`` and the first square of
    ``h`` besides: where ``1 + x.y`` is negative, its size is at most ``m - 2``.
    """
    middle = 1 + (own + low) / 2
    half = max(low - own, own - high, 0.0) / 2
    rest = degree * (degree - 1) * middle ** (degree - 2) * half * half if degree > 1 else 0.0
    return SLACK * max(degree * apart, middle ** (degree - 1) * min(apart, 4.0) + rest)


@kernel("void(f8[::1], f8[:, :, ::1], i8, i8, i8, f8, f8[:, ::1], f8[::1])")
def _to_leaf(point: Any, block: Any, leaf: int, numbers: int, degree: int, own: float, norms: Any, apart: Any) -> None:
    """Distances to all places of a leaf."""
    for slot in range(LEAF):
        apart[slot] = 0.0
    for column in range(numbers):
        value = point[column]
        for slot in range(LEAF):
            step = value - block[leaf, column, slot]
            apart[slot] += step * step
    for column in range(numbers, len(point)):
        value = point[column]
        for slot in range(LEAF):
            if block[leaf, column, slot] != value:
                apart[slot] += 1.0
    if degree:
        for slot in range(LEAF):
            apart[slot] = kernel_distance(apart[slot], own, norms[leaf, slot], degree)


@kernel("void(f8[::1], f8[:, ::1], f8[:, ::1], i8, i8, i8, f8, f8[:, ::1], i8[::1], f8[::1], i8)")
def _put_both(
    point: Any,
    low: Any,
    high: Any,
    node: int,
    numbers: int,
    degree: int,
    own: float,
    norm: Any,
    stack: Any,
    bounds: Any,
    waiting: int,
) -> None:
    """Let both parts of a node wait, the nearer one on top."""
    left = _to_box(point, low, high, 2 * node + 1, numbers)
    right = _to_box(point, low, high, 2 * node + 2, numbers)
    if degree:
        left = _least_of_kernel(left, own, norm[2 * node + 1, 0], norm[2 * node + 1, 1], degree)
        right = _least_of_kernel(right, own, norm[2 * node + 2, 0], norm[2 * node + 2, 1], degree)
    near, far = (1, 2) if left <= right else (2, 1)
    stack[waiting], bounds[waiting] = 2 * node + far, max(left, right)
    stack[waiting + 1], bounds[waiting + 1] = 2 * node + near, min(left, right)


@kernel("f8(f8[::1], i8)")
def _least_of(values: Any, many: int) -> float:
    least = np.inf
    for place in range(many):
        least = min(least, values[place])
    return least


@kernel("f8[:, ::1](f8[:, :, ::1])")
def leaf_norms(block: Any) -> Any:
    """The squared norm of every point, place by place."""
    found = np.zeros((len(block), LEAF))
    for leaf in range(len(block)):
        for column in range(block.shape[1]):
            for slot in range(LEAF):
                found[leaf, slot] += block[leaf, column, slot] ** 2
    return found


@kernel("f8[:, ::1](f8[:, ::1], i8[::1])")
def node_norms(norms: Any, first: Any) -> Any:
    """The least and the greatest squared norm below every node."""
    inner = len(norms) - 1
    found = np.empty((2 * inner + 1, 2))
    found[:, 0], found[:, 1] = np.inf, 0.0
    for leaf in range(len(norms)):
        for slot in range(first[leaf + 1] - first[leaf]):
            found[inner + leaf, 0] = min(found[inner + leaf, 0], norms[leaf, slot])
            found[inner + leaf, 1] = max(found[inner + leaf, 1], norms[leaf, slot])
    for node in range(inner - 1, -1, -1):
        found[node, 0] = min(found[2 * node + 1, 0], found[2 * node + 2, 0])
        found[node, 1] = max(found[2 * node + 1, 1], found[2 * node + 2, 1])
    return found


@kernel("f8(f8[::1])")
def norm_of(point: Any) -> float:
    """The squared norm of a point, added up like those of leaves."""
    total = 0.0
    for value in point:
        total += value**2
    return total


@kernel(
    "void(f8[:, ::1], i8[::1], f8[:, :, ::1], f8[:, ::1], f8[:, ::1], i8[::1], i8[::1], i8[::1], i8[::1],"
    " f8[:, ::1], f8[:, ::1], i8, i8, f8[::1], i8[::1], i8[::1])"
)
def search_nearest(
    asked: Any,
    order: Any,
    block: Any,
    norms: Any,
    norm: Any,
    first: Any,
    who: Any,
    row: Any,
    many: Any,
    low: Any,
    high: Any,
    numbers: int,
    degree: int,
    best: Any,
    found: Any,
    ties: Any,
) -> None:
    """The squared distance to the nearest of each asked point, the first row that is so near, and how many are."""
    inner = (len(low) - 1) // 2
    stack, bounds, apart = np.empty(DEEPEST, np.int64), np.empty(DEEPEST), np.empty(LEAF)
    last_leaf = -1
    for turn in range(len(order)):
        point = asked[order[turn]]
        own = norm_of(point) if degree else 0.0
        least, reach, unsure, place, count = np.inf, np.inf, False, -1, 0
        if last_leaf >= 0:  # neighbours have near answers: nothing beyond the nearest there needs to be looked at
            _to_leaf(point, block, last_leaf, numbers, degree, own, norms, apart)
            reach = _least_of(apart, first[last_leaf + 1] - first[last_leaf]) * (1 + NEARLY)
        stack[0], bounds[0], waiting = 0, 0.0, 1
        while waiting:
            waiting -= 1
            node = stack[waiting]
            if bounds[waiting] > reach:
                continue
            if node < inner:
                _put_both(point, low, high, node, numbers, degree, own, norm, stack, bounds, waiting)
                waiting += 2
                continue
            leaf = node - inner
            _to_leaf(point, block, leaf, numbers, degree, own, norms, apart)
            for slot in range(first[leaf + 1] - first[leaf]):
                distance = apart[slot]
                if distance > reach:
                    continue
                this = who[first[leaf] + slot]
                if distance < least:
                    unsure = unsure or least <= distance * (1 + NEARLY)
                    least, reach, last_leaf = distance, distance * (1 + NEARLY), leaf
                    count, place = many[this], row[this]
                elif distance == least:
                    count += many[this]
                    place = min(place, row[this])
                else:
                    unsure = True
        best[order[turn]], found[order[turn]], ties[order[turn]] = least, place, -count if unsure else count


@kernel(
    "void(f8[:, ::1], i8[::1], f8[:, :, ::1], f8[:, ::1], f8[:, ::1], i8[::1], i8[::1], i8[::1], i8[::1],"
    " f8[:, ::1], f8[:, ::1], i8, i8, f8[::1], i8[::1], i8[::1])"
)
def count_within(
    asked: Any,
    order: Any,
    block: Any,
    norms: Any,
    norm: Any,
    first: Any,
    who: Any,
    row: Any,
    many: Any,
    low: Any,
    high: Any,
    numbers: int,
    degree: int,
    best: Any,
    found: Any,
    ties: Any,
) -> None:
    """For points with nearly equal distances: how many are as near as the nearest, and the first of them."""
    inner = (len(low) - 1) // 2
    stack, apart = np.empty(DEEPEST, np.int64), np.empty(LEAF)
    for turn in range(len(order)):
        point = asked[order[turn]]
        own = norm_of(point) if degree else 0.0
        reach, place, count = best[order[turn]] * (1 + NEARLY), found[order[turn]], 0
        stack[0], waiting = 0, 1
        while waiting:
            waiting -= 1
            node = stack[waiting]
            bound = _to_box(point, low, high, node, numbers)
            if (_least_of_kernel(bound, own, norm[node, 0], norm[node, 1], degree) if degree else bound) > reach:
                continue
            if node < inner:
                stack[waiting], stack[waiting + 1] = 2 * node + 1, 2 * node + 2
                waiting += 2
                continue
            leaf = node - inner
            _to_leaf(point, block, leaf, numbers, degree, own, norms, apart)
            for slot in range(first[leaf + 1] - first[leaf]):
                if apart[slot] <= reach:
                    this = who[first[leaf] + slot]
                    count += many[this]
                    place = min(place, row[this])
        found[order[turn]], ties[order[turn]] = place, count


@kernel("f8[:, ::1](f8[:, ::1], f8[:, ::1])")
def mapped(points: Any, matrix: Any) -> Any:
    """Points times a matrix; equal points have equal images to the last bit, wherever they stand."""
    found = np.zeros((len(points), matrix.shape[1]))
    for row in range(len(points)):
        for inner in range(len(matrix)):
            for column in range(matrix.shape[1]):
                found[row, column] += points[row, inner] * matrix[inner, column]
    return found


@kernel("f8[::1](f8[:, ::1], f8[:, ::1], i8[::1], i8, i8)")
def apart_in_pairs(asked: Any, points: Any, partner: Any, numbers: int, degree: int) -> Any:
    """The distance of each asked point to one other, added up as in the search; infinite where it has no partner."""
    found = np.full(len(asked), np.inf)
    for row in range(len(asked)):
        if partner[row] < 0:
            continue
        one, other = asked[row], points[partner[row]]
        total = 0.0
        for column in range(numbers):
            step = one[column] - other[column]
            total += step * step
        for column in range(numbers, len(one)):
            if one[column] != other[column]:
                total += 1.0
        found[row] = kernel_distance(total, norm_of(one), norm_of(other), degree) if degree else total
    return found
