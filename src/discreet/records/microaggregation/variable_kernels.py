"""MDAV with groups of variable size (Solanas and Martínez-Ballesté 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.records.microaggregation.tree_kernels import (
    LEAF,
    NOBODY,
    build_tree,
    distance,
    leaf_count,
    nearest,
    remove_point,
)


@kernel("void(f8[:,::1], i8, i8[::1], i8, i8[::1], i8[::1], f8[:,::1], f8[:,::1], i8[::1], f8[::1])")
def _look_around(
    points: Any, size: int, member: Any, gone: int, place: Any, alive: Any, low: Any, high: Any, next_: Any, away: Any
) -> None:
    """The nearest record without a group for every member whose nearest one is ``gone``."""
    found, far = np.empty(1, np.int64), np.empty(1)
    for i in range(size):
        if next_[i] != gone:
            continue
        many = nearest(points, points[member[i]], NOBODY, 1, place, alive, low, high, found, far)
        next_[i], away[i] = (found[0], far[0]) if many else (NOBODY, np.inf)


@kernel("void(f8[:,::1], i8[::1], i8, i8[::1])")
def _join_nearest(points: Any, rest: Any, groups: int, group: Any) -> None:
    """Put the records that are left into the groups whose middles are nearest."""
    columns = points.shape[1]
    middle, size = np.zeros((groups, columns)), np.zeros(groups)
    for record in range(len(points)):
        if group[record] != NOBODY:
            size[group[record]] += 1
            for c in range(columns):
                middle[group[record], c] += points[record, c]
    for mine in range(groups):
        for c in range(columns):
            middle[mine, c] /= size[mine]
    for record in rest:
        best, least = 0, np.inf
        for mine in range(groups):
            away = distance(points, record, middle[mine])
            if away < least:
                best, least = mine, away
        group[record] = best


@kernel("i8[::1](f8[:,::1], i8, f8)")
def variable_mdav(points: Any, k: int, gamma: float) -> Any:
    """The group of every record.

    Around the record farthest from the middle of all, a group of ``k`` is made of it and those nearest to it. It takes
    in the record nearest to any member, up to ``2k - 1``, while that lies nearer to the group than ``gamma`` times its
    distance from the others. Fewer than ``k`` at the end join the groups nearest to them.
    """
    records, columns = points.shape
    group, at = np.full(records, NOBODY, np.int64), np.full(records, NOBODY, np.int64)
    middle, far = np.zeros(columns), np.empty(records)
    for c in range(columns):
        middle[c] = points[:, c].mean()
    for record in range(records):
        far[record] = -distance(points, record, middle)
    order, turn = np.argsort(far, kind="mergesort"), 0
    found, away = np.empty(k, np.int64), np.empty(k)
    member, next_, near = np.empty(2 * k, np.int64), np.empty(2 * k, np.int64), np.empty(2 * k)
    one, apart = np.empty(1, np.int64), np.empty(1)
    left, groups, built, leaves = records, 0, 0, 0
    place, alive = np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = np.empty((1, columns)), np.empty((1, columns))
    while left >= k:
        if 2 * left <= built or built == 0:
            who = np.flatnonzero(group == NOBODY)
            leaves, built = leaf_count(left), left
            nodes = 2 * leaves - 1
            place, alive = np.empty(leaves * LEAF, np.int64), np.zeros(nodes, np.int64)
            low, high = np.empty((nodes, columns)), np.empty((nodes, columns))
            build_tree(points, who.copy(), leaves, place, at, alive, low, high, np.zeros(nodes, np.int64))
        while group[order[turn]] != NOBODY:
            turn += 1
        seed = order[turn]
        size = nearest(points, points[seed], seed, k - 1, place, alive, low, high, found, away)
        member[:size], member[size] = found[:size], seed
        size += 1
        for i in range(size):
            group[member[i]] = groups
            remove_point(points, member[i], leaves, place, at, alive, low, high)
            next_[i] = NOBODY
        left -= size
        _look_around(points, size, member, NOBODY, place, alive, low, high, next_, near)
        while size < 2 * k - 1 and left > 0:
            best = np.argmin(near[:size])
            new, inside = next_[best], near[best]
            many = nearest(points, points[new], new, 1, place, alive, low, high, one, apart)
            if many and inside >= gamma * gamma * apart[0]:
                break
            member[size], next_[size] = new, new
            group[new] = groups
            remove_point(points, new, leaves, place, at, alive, low, high)
            size += 1
            left -= 1
            _look_around(points, size, member, new, place, alive, low, high, next_, near)
        groups += 1
    if left:
        _join_nearest(points, np.flatnonzero(group == NOBODY), groups, group)
    return group
