"""MDAV: groups around the records that lie farthest from the middle of all that are left.

The record farthest from a middle that moves is found exactly without looking at all records: they are sorted once by
their distance from a middle that stood earlier, and whoever lies nearer to it than the best found so far, by more than
the middle has moved since, cannot be farther.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.records.microaggregation.tree_kernels import (
    LEAF,
    NOBODY,
    build_tree,
    distance,
    farthest,
    largest_norms,
    leaf_count,
    lower_norms,
    nearest,
    remove_point,
)

PATIENCE = 20
"""The records are sorted anew when so many times their number were looked at."""
SLACK = 1e-9
"""Distances are compared with so much room for rounding: more records are looked at, the result is the same."""


@kernel("i8(f8[:,::1], f8[::1], i8[::1], f8[::1], f8, i8[::1], i8[::1])")
def _farthest_from_middle(
    points: Any, middle: Any, order: Any, earlier: Any, moved: float, group: Any, looked: Any
) -> int:
    """The record without a group that lies farthest from the middle; the first of equally far ones.

    ``looked`` counts the records that were looked at, and those with a group at the head of the list.
    """
    found, most = NOBODY, -1.0
    while looked[1] < len(order) and group[order[looked[1]]] != NOBODY:
        looked[1] += 1  # whoever has a group at the head of the list is not looked at again
    for i in range(looked[1], len(order)):
        record = order[i]
        if group[record] != NOBODY:
            looked[0] += 1
            continue
        if most >= 0 and (earlier[i] + moved) * (1 + SLACK) < np.sqrt(most) * (1 - SLACK):
            break
        looked[0] += 1
        away = distance(points, record, middle)
        if away > most or (away == most and record < found):
            found, most = record, away
    return found


@kernel("i8(f8[:,::1], i8[::1], i8, i8[::1], i8)")
def _last_pair(points: Any, rest: Any, k: int, group: Any, groups: int) -> int:
    """One group around the record farthest from the middle of a few; the others stay."""
    columns = points.shape[1]
    middle = np.zeros(columns)
    for record in rest:
        for c in range(columns):
            middle[c] += points[record, c] / len(rest)
    seed, most = NOBODY, -1.0
    for record in rest:
        away = distance(points, record, middle)
        if away > most:
            seed, most = record, away
    far = np.empty(len(rest))
    for i in range(len(rest)):
        far[i] = -1.0 if rest[i] == seed else distance(points, rest[i], points[seed])
    order = np.argsort(far, kind="mergesort")
    for i in range(k):
        group[rest[order[i]]] = groups
    return groups + 1


@kernel("void(f8[:,::1], i8[::1], f8[::1])")
def _add_up(points: Any, who: Any, total: Any) -> None:
    """Sums of the columns of some records."""
    total[:] = 0.0
    for record in who:
        for c in range(points.shape[1]):
            total[c] += points[record, c]


@kernel("f8[::1](f8[:,::1], i8[::1], f8[::1])")
def _distances(points: Any, who: Any, middle: Any) -> Any:
    far = np.empty(len(who))
    for i in range(len(who)):
        far[i] = np.sqrt(distance(points, who[i], middle))
    return far


@kernel("f8(f8[::1], f8[::1])")
def _apart(one: Any, other: Any) -> Any:
    return np.sqrt(((one - other) ** 2).sum())


@kernel("i8[::1](f8[:,::1], i8, b1)")
def mdav(points: Any, k: int, pair: bool) -> Any:
    """The group of every record.

    Around the record farthest from the middle a group of ``k`` is made of it and those nearest to it; in pairs, another
    one around the record farthest from that. What is left at the end is a group of up to ``2k - 1``.
    """
    records, columns = points.shape
    group, at = np.full(records, NOBODY, np.int64), np.full(records, NOBODY, np.int64)
    found, away, looked = np.empty(k, np.int64), np.empty(k), np.zeros(2, np.int64)
    total, middle, frozen = np.zeros(columns), np.empty(columns), np.empty(columns)
    left, groups, built, leaves = records, 0, 0, 0
    place, alive, norm = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    low, high = np.empty((1, columns)), np.empty((1, columns))
    order, earlier, stale = np.empty(0, np.int64), np.empty(0), True
    while left >= (3 * k if pair else 2 * k):
        if 2 * left <= built or built == 0:
            # Half of the tree is empty: a new one is smaller, and sums start afresh.
            who = np.flatnonzero(group == NOBODY)
            leaves, built, stale = leaf_count(left), left, True
            nodes = 2 * leaves - 1
            place, alive = np.empty(leaves * LEAF, np.int64), np.zeros(nodes, np.int64)
            low, high = np.empty((nodes, columns)), np.empty((nodes, columns))
            build_tree(points, who.copy(), leaves, place, at, alive, low, high, np.zeros(nodes, np.int64))
            norm = largest_norms(points, leaves, place, alive)
            _add_up(points, who, total)
        middle[:] = total / left
        if stale or looked[0] > PATIENCE * len(order):
            who = np.flatnonzero(group == NOBODY)
            frozen[:] = middle
            far = _distances(points, who, frozen)
            sort = np.argsort(-far, kind="mergesort")
            order, earlier, stale = who[sort], far[sort], False
            looked[:] = 0
        seed = _farthest_from_middle(points, middle, order, earlier, _apart(middle, frozen), group, looked)
        other = farthest(points, points[seed], place, alive, low, high, norm) if pair else NOBODY
        for turn in range(2 if pair else 1):
            if turn == 1:
                taken = group[other] != NOBODY
                seed = farthest(points, points[seed], place, alive, low, high, norm) if taken else other
            many = nearest(points, points[seed], seed, k - 1, place, alive, low, high, found, away)
            found[many] = seed
            for i in range(many + 1):
                group[found[i]] = groups
                total -= points[found[i]]
                leaf = at[found[i]] // LEAF
                remove_point(points, found[i], leaves, place, at, alive, low, high)
                if pair:
                    lower_norms(points, found[i], leaf, place, alive, norm)
            groups += 1
            left -= k
    if pair and left >= 2 * k:
        groups = _last_pair(points, np.flatnonzero(group == NOBODY), k, group, groups)
    group[group == NOBODY] = groups
    return group
