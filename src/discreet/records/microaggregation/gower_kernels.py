"""MDAV by the distance of Gower: columns of numbers by their range, categories by whether they are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

NOBODY = -1


@kernel("f8(f8[:,::1], i8[:,::1], i8, f8[::1], i8[::1])")
def gower_distance(points: Any, codes: Any, record: int, centre: Any, usual: Any) -> float:
    """The distance of a record from somewhere, times the number of columns."""
    total = 0.0
    for c in range(points.shape[1]):
        total += abs(points[record, c] - centre[c])
    for c in range(codes.shape[1]):
        total += codes[record, c] != usual[c]
    return total


@kernel("i8(f8[:,::1], i8[:,::1], i8[::1], i8, f8[::1], i8[::1])")
def _farthest(points: Any, codes: Any, left: Any, many: int, centre: Any, usual: Any) -> int:
    found, most = NOBODY, -1.0
    for i in range(many):
        away = gower_distance(points, codes, left[i], centre, usual)
        if away > most:
            found, most = left[i], away
    return found


@kernel("void(f8[:,::1], i8[:,::1], i8[::1], i8, i8[:,::1], f8[::1], i8[::1])")
def _middle(points: Any, codes: Any, left: Any, many: int, counts: Any, centre: Any, usual: Any) -> None:
    """Means of the columns of numbers, and the most frequent category of each other column; the first of equal ones."""
    centre[:] = 0.0
    for i in range(many):
        for c in range(points.shape[1]):
            centre[c] += points[left[i], c] / many
    for c in range(codes.shape[1]):
        counts[c] = 0
        for i in range(many):
            counts[c, codes[left[i], c]] += 1
        usual[c] = np.argmax(counts[c])


@kernel("i8(f8[:,::1], i8[:,::1], i8[::1], i8, i8, i8, i8, i8[::1])")
def _take(points: Any, codes: Any, left: Any, many: int, seed: int, k: int, number: int, group: Any) -> int:
    """Make a group of a record and those nearest to it; give back how many are left."""
    away = np.empty(many)
    for i in range(many):
        away[i] = -1.0 if left[i] == seed else gower_distance(points, codes, left[i], points[seed], codes[seed])
    order = np.argsort(away, kind="mergesort")
    for i in range(k):
        group[left[order[i]]] = number
    kept = 0
    for i in range(many):
        if group[left[i]] == NOBODY:
            left[kept] = left[i]
            kept += 1
    return kept


@kernel("i8[::1](f8[:,::1], i8[:,::1], i8, b1)")
def gower_mdav(points: Any, codes: Any, k: int, pair: bool) -> Any:
    """The group of every record; points lie between 0 and 1, codes from 0 on."""
    records = len(points)
    group, left, many = np.full(records, NOBODY, np.int64), np.arange(records), records
    kinds = 1
    for c in range(codes.shape[1]):
        kinds = max(kinds, codes[:, c].max() + 1)
    counts = np.zeros((codes.shape[1], kinds), np.int64)
    centre, usual = np.zeros(points.shape[1]), np.zeros(codes.shape[1], np.int64)
    groups = 0
    while many >= (3 * k if pair else 2 * k):
        _middle(points, codes, left, many, counts, centre, usual)
        seed = _farthest(points, codes, left, many, centre, usual)
        other = _farthest(points, codes, left, many, points[seed], codes[seed])
        many = _take(points, codes, left, many, seed, k, groups, group)
        groups += 1
        if pair:
            if group[other] != NOBODY:
                other = _farthest(points, codes, left, many, points[seed], codes[seed])
            many = _take(points, codes, left, many, other, k, groups, group)
            groups += 1
    if pair and many >= 2 * k:
        _middle(points, codes, left, many, counts, centre, usual)
        seed = _farthest(points, codes, left, many, centre, usual)
        many = _take(points, codes, left, many, seed, k, groups, group)
        groups += 1
    group[group == NOBODY] = groups
    return group
