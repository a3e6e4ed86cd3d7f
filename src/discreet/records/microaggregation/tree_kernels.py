"""A tree of boxes around points, from which points can be taken away one by one.

Nodes are numbered like a heap: the children of node ``v`` are ``2v + 1`` and ``2v + 2``. All leaves lie on one level
and hold at most ``LEAF`` points each, in places ``leaf * LEAF`` and up. ``alive`` counts the points below a node,
``low`` and ``high`` are the box around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

LEAF = 16
NOBODY = -1
ROUNDING = 1e-12


@kernel("i8(i8)")
def leaf_count(points: int) -> int:
    """How many leaves a tree of some points has: a power of two."""
    leaves = 1
    while leaves * LEAF < points:
        leaves *= 2
    return leaves


@kernel("void(f8[:,::1], i8[::1], i8, i8, i8, i8)")
def _select(points: Any, who: Any, start: int, end: int, middle: int, column: int) -> None:
    """Put the point that belongs to a place there, and smaller ones before it; equal ones in the order of numbers."""
    left, right = start, end - 1
    while left < right:
        pivot = who[(left + right) // 2]
        value = points[pivot, column]
        i, j = left, right
        while i <= j:
            while points[who[i], column] < value or (points[who[i], column] == value and who[i] < pivot):
                i += 1
            while points[who[j], column] > value or (points[who[j], column] == value and who[j] > pivot):
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


@kernel("void(f8[:,::1], i8[::1], i8, i8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], i8[::1])")
def build_tree(
    points: Any, who: Any, leaves: int, place: Any, at: Any, alive: Any, low: Any, high: Any, start: Any
) -> None:
    """Fill a tree with the points ``who``, split at the middle of the widest column.

    ``place`` becomes the point of every place in a leaf, and ``at`` the place of every point.
    """
    columns = points.shape[1]
    place[:] = NOBODY
    start[0], alive[0] = 0, len(who)
    for node in range(2 * leaves - 1):
        first, many = start[node], alive[node]
        for c in range(columns):
            low[node, c], high[node, c] = np.inf, -np.inf
        for i in range(first, first + many):
            for c in range(columns):
                value = points[who[i], c]
                low[node, c] = min(low[node, c], value)
                high[node, c] = max(high[node, c], value)
        if node >= leaves - 1:
            leaf = node - (leaves - 1)
            for i in range(many):
                place[leaf * LEAF + i] = who[first + i]
                at[who[first + i]] = leaf * LEAF + i
            continue
        widest, width = 0, -1.0
        for c in range(columns):
            if many and high[node, c] - low[node, c] > width:
                widest, width = c, high[node, c] - low[node, c]
        half = (many + 1) // 2
        if many > 1:
            _select(points, who, first, first + many, first + half, widest)
        start[2 * node + 1], alive[2 * node + 1] = first, half
        start[2 * node + 2], alive[2 * node + 2] = first + half, many - half


@kernel("b1(f8[:,::1], i8, i8, i8, i8[::1], i8[::1], f8[:,::1], f8[:,::1], i8)")
def _shrink_leaf(
    points: Any, gone: int, leaf: int, node: int, place: Any, alive: Any, low: Any, high: Any, columns: int
) -> bool:
    changed = False
    for c in range(columns):
        value = points[gone, c]
        if value > low[node, c] and value < high[node, c]:
            continue
        least, most = np.inf, -np.inf
        for i in range(leaf * LEAF, leaf * LEAF + alive[node]):
            least, most = min(least, points[place[i], c]), max(most, points[place[i], c])
        if least != low[node, c] or most != high[node, c]:
            low[node, c], high[node, c] = least, most
            changed = True
    return changed


@kernel("void(f8[:,::1], i8, i8, i8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1])")
def remove_point(points: Any, gone: int, leaves: int, place: Any, at: Any, alive: Any, low: Any, high: Any) -> None:
    """Take a point away; boxes shrink where it lay on their border."""
    columns = points.shape[1]
    leaf = at[gone] // LEAF
    node = leaves - 1 + leaf
    last = leaf * LEAF + alive[node] - 1
    other = place[last]
    place[at[gone]], at[other] = other, at[gone]
    place[last], at[gone] = NOBODY, NOBODY
    alive[node] -= 1
    changed = _shrink_leaf(points, gone, leaf, node, place, alive, low, high, columns)
    while node > 0:
        node = (node - 1) // 2
        alive[node] -= 1
        if not changed:
            continue
        changed = False
        left, right = 2 * node + 1, 2 * node + 2
        for c in range(columns):
            least, most = min(low[left, c], low[right, c]), max(high[left, c], high[right, c])
            if least != low[node, c] or most != high[node, c]:
                low[node, c], high[node, c] = least, most
                changed = True


@kernel("f8(f8[:,::1], i8, f8[::1])")
def distance(points: Any, point: int, centre: Any) -> float:
    """Squared distance of a point from somewhere."""
    total = 0.0
    for c in range(points.shape[1]):
        away = points[point, c] - centre[c]
        total += away * away
    return total


@kernel("f8(f8[:,::1], f8[:,::1], i8, f8[::1])")
def _nearest_possible(low: Any, high: Any, node: int, centre: Any) -> float:
    total = 0.0
    for c in range(len(centre)):
        away = max(low[node, c] - centre[c], centre[c] - high[node, c], 0.0)
        total += away * away
    return total


@kernel("f8(f8[:,::1], f8[:,::1], i8, f8[::1], f8, f8[::1])")
def _farthest_possible(low: Any, high: Any, node: int, centre: Any, own: float, norm: Any) -> Any:
    """What no point below a node is farther away than: the lower of two bounds.

    The farthest corner of its box; and, of all points of a length up to ``norm``, those that point away most. The
    second is rounded up.
    """
    total, along = 0.0, 0.0
    for c in range(len(centre)):
        away = max(high[node, c] - centre[c], centre[c] - low[node, c])
        total += away * away
        along += min(centre[c] * low[node, c], centre[c] * high[node, c])
    length = norm[node] + own
    return min(total, length - 2 * along + ROUNDING * length)


@kernel("i8(f8[:,::1], f8[::1], i8, i8, i8, i8, i8[::1], i8, i8[::1], f8[::1])")
def _look_at_leaf(
    points: Any,
    centre: Any,
    itself: int,
    wanted: int,
    first: int,
    people: int,
    place: Any,
    many: int,
    found: Any,
    away: Any,
) -> int:
    """Take the points of a leaf among the nearest where they belong there; give back how many there are then."""
    for i in range(first, first + people):
        point = place[i]
        if point == itself:
            continue
        far = distance(points, point, centre)
        if many == wanted and (far > away[many - 1] or (far == away[many - 1] and point > found[many - 1])):
            continue
        j = many if many < wanted else many - 1
        while j > 0 and (far < away[j - 1] or (far == away[j - 1] and point < found[j - 1])):
            found[j], away[j] = found[j - 1], away[j - 1]
            j -= 1
        found[j], away[j] = point, far
        many = min(many + 1, wanted)
    return many


@kernel("i8(f8[:,::1], f8[::1], i8, i8, i8[::1], i8[::1], f8[:,::1], f8[:,::1], i8[::1], f8[::1])")
def nearest(
    points: Any,
    centre: Any,
    itself: int,
    wanted: int,
    place: Any,
    alive: Any,
    low: Any,
    high: Any,
    found: Any,
    away: Any,
) -> int:
    """The nearest points but ``itself``, from the nearest on; among equally near ones those with the lowest numbers."""
    leaves = (len(alive) + 1) // 2
    stack, bound = np.empty(128, np.int64), np.empty(128)
    stack[0], bound[0], depth = 0, 0.0, 1
    many = 0
    while depth:
        depth -= 1
        node, least = stack[depth], bound[depth]
        if many == wanted and (wanted == 0 or least > away[many - 1]):
            continue
        if node < leaves - 1:
            one, two = 2 * node + 1, 2 * node + 2
            near, far = _nearest_possible(low, high, one, centre), _nearest_possible(low, high, two, centre)
            if near > far:
                one, two, near, far = two, one, far, near
            if alive[two]:
                stack[depth], bound[depth], depth = two, far, depth + 1
            if alive[one]:
                stack[depth], bound[depth], depth = one, near, depth + 1
            continue
        first = (node - (leaves - 1)) * LEAF
        many = _look_at_leaf(points, centre, itself, wanted, first, alive[node], place, many, found, away)
    return many


@kernel("i8(i8[::1], f8[::1], i8, i8, f8)")
def _push(heap: Any, bound: Any, many: int, node: int, least: float) -> int:
    """Put a node in a heap whose first one is the nearest."""
    i = many
    while i > 0 and least < bound[(i - 1) // 2]:
        heap[i], bound[i] = heap[(i - 1) // 2], bound[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i], bound[i] = node, least
    return many + 1


@kernel("i8(i8[::1], f8[::1], i8)")
def _drop_first(heap: Any, bound: Any, many: int) -> int:
    """Take the first node out of a heap."""
    many -= 1
    node, least, i = heap[many], bound[many], 0
    while 2 * i + 1 < many:
        child = 2 * i + 1
        if child + 1 < many and bound[child + 1] < bound[child]:
            child += 1
        if bound[child] >= least:
            break
        heap[i], bound[i] = heap[child], bound[child]
        i = child
    heap[i], bound[i] = node, least
    return many


@kernel("i8(f8[:,::1], f8[::1], i8, i8, i8, i8[::1], i8[::1], f8[:,::1], f8[:,::1], i8[::1], f8[::1])")
def nearly_nearest(
    points: Any,
    centre: Any,
    itself: int,
    wanted: int,
    most_leaves: int,
    place: Any,
    alive: Any,
    low: Any,
    high: Any,
    found: Any,
    away: Any,
) -> int:
    """The nearest points but ``itself`` in the leaves whose boxes are nearest: nearly always the nearest of all."""
    leaves = (len(alive) + 1) // 2
    room = 64 * most_leaves + 64
    heap, bound = np.empty(room, np.int64), np.empty(room)
    waiting = _push(heap, bound, 0, 0, 0.0)
    many = looked = 0
    while waiting:
        node, least = heap[0], bound[0]
        if many == wanted and (least > away[many - 1] or looked == most_leaves):
            break
        waiting = _drop_first(heap, bound, waiting)
        while node < leaves - 1:
            one, two = 2 * node + 1, 2 * node + 2
            near, far = _nearest_possible(low, high, one, centre), _nearest_possible(low, high, two, centre)
            if near > far:
                one, two, near, far = two, one, far, near
            if alive[two] and waiting < room:
                waiting = _push(heap, bound, waiting, two, far)
            node = one
        looked += 1
        first = (node - (leaves - 1)) * LEAF
        many = _look_at_leaf(points, centre, itself, wanted, first, alive[node], place, many, found, away)
    return many


@kernel("f8[::1](f8[:,::1], i8, i8[::1], i8[::1])")
def largest_norms(points: Any, leaves: int, place: Any, alive: Any) -> Any:
    """The largest squared length of a point below each node."""
    norm = np.zeros(2 * leaves - 1)
    for node in range(2 * leaves - 2, -1, -1):
        if node < leaves - 1:
            norm[node] = max(norm[2 * node + 1], norm[2 * node + 2])
            continue
        first = (node - (leaves - 1)) * LEAF
        for i in range(first, first + alive[node]):
            length = 0.0
            for c in range(points.shape[1]):
                length += points[place[i], c] ** 2
            norm[node] = max(norm[node], length)
    return norm


@kernel("void(f8[:,::1], i8, i8, i8[::1], i8[::1], f8[::1])")
def lower_norms(points: Any, gone: int, leaf: int, place: Any, alive: Any, norm: Any) -> None:
    """Lower the largest lengths above a leaf after a point has gone from it."""
    leaves = (len(alive) + 1) // 2
    node, length = leaves - 1 + leaf, 0.0
    for c in range(points.shape[1]):
        length += points[gone, c] ** 2
    if length < norm[node] * (1 - ROUNDING):
        return
    most = 0.0
    for i in range(leaf * LEAF, leaf * LEAF + alive[node]):
        length = 0.0
        for c in range(points.shape[1]):
            length += points[place[i], c] ** 2
        most = max(most, length)
    norm[node] = most
    while node > 0:
        node = (node - 1) // 2
        most = max(norm[2 * node + 1], norm[2 * node + 2])
        if most == norm[node]:
            return
        norm[node] = most


@kernel("i8(f8[:,::1], f8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[::1])")
def farthest(points: Any, centre: Any, place: Any, alive: Any, low: Any, high: Any, norm: Any) -> int:
    """The farthest point; among equally far ones that with the lowest number."""
    own = 0.0
    for c in range(len(centre)):
        own += centre[c] * centre[c]
    leaves = (len(alive) + 1) // 2
    stack, bound = np.empty(128, np.int64), np.empty(128)
    stack[0], bound[0], depth = 0, np.inf, 1
    found, most = NOBODY, -1.0
    while depth:
        depth -= 1
        node = stack[depth]
        if bound[depth] < most:
            continue
        if node < leaves - 1:
            one, two = 2 * node + 1, 2 * node + 2
            far = _farthest_possible(low, high, one, centre, own, norm) if alive[one] else -1.0
            other = _farthest_possible(low, high, two, centre, own, norm) if alive[two] else -1.0
            if far < other:
                one, two, far, other = two, one, other, far
            if other >= 0:
                stack[depth], bound[depth], depth = two, other, depth + 1
            if far >= 0:
                stack[depth], bound[depth], depth = one, far, depth + 1
            continue
        first = (node - (leaves - 1)) * LEAF
        for i in range(first, first + alive[node]):
            away = distance(points, place[i], centre)
            if away > most or (away == most and place[i] < found):
                found, most = place[i], away
    return found
