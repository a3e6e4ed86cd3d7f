"""Clusters of records, each of at least so many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.records.microaggregation.mixtures import MOST_MODELLED, best_mixture, most_likely
from discreet.records.microaggregation.robust import without_sums
from discreet.records.microaggregation.rows import in_blocks, principal_scores

MOST_STEPS = 100
MOST_DIRECTIONS = 3
"""Mixtures start as parts of rows along so many directions."""


class RecordClusters(NamedTuple):
    """The cluster of every record, and how many were too small and joined another one."""

    cluster: Ints
    joined: int


def clustered(points: Floats, many: int, k: int, *, mixture: bool = False) -> RecordClusters:
    """Clusters around means, or as normal distributions, of at least ``k`` records each.

    Nothing is drawn. A cluster that is too small joins the one whose middle is nearest.
    """
    many = min(many, len(points) // k)
    if many <= 1:
        return RecordClusters(np.zeros(len(points), np.int64), 0)
    found = _normal(points, many) if mixture else _around_means(points, many, principal_scores(points))
    return _joined(points, found, k)


def _around_means(points: Floats, many: int, score: Floats) -> Ints:
    """Clusters around means; they start as equal parts of the row by a score."""
    cluster = in_blocks(score, len(points) // many)
    for _ in range(MOST_STEPS):
        middles, numbers = _middles(points, cluster)
        away = np.stack([((points - middle) ** 2).sum(axis=1) for middle in middles], axis=1)
        new = numbers[np.argmin(away, axis=1)]
        if np.array_equal(new, cluster):
            break
        cluster = new
    return np.unique(cluster, return_inverse=True)[1].ravel().astype(np.int64)


def _normal(points: Floats, most: int) -> Ints:
    """Clusters as normal distributions, at most so many; they start as parts of a row, and as clusters around means.

    Rows are those along each of the first directions in which records vary: one alone may miss how they lie. Directions
    in which nothing varies are left out. Where no mixture can be made, all records are one cluster.
    """
    varying = without_sums(points)
    if not varying.shape[1]:
        return np.zeros(len(points), np.int64)
    few = varying
    if len(varying) > MOST_MODELLED:  # records come in an order of their own, so that every part of it has its share
        few = varying[np.linspace(0, len(varying) - 1, MOST_MODELLED).astype(np.int64)]
    rows = few.T[::-1][:MOST_DIRECTIONS]  # the direction in which records vary most stands last
    starts = [np.zeros(len(few), np.int64)]
    for many in range(2, most + 1):
        for score in rows:
            starts += [in_blocks(score, len(few) // many), _around_means(few, many, score)]
    found = best_mixture(few, starts)
    return np.zeros(len(points), np.int64) if found is None else most_likely(varying, found)


def _joined(points: Floats, cluster: Ints, k: int) -> RecordClusters:
    """The same clusters, where small ones join the nearest."""
    joined = 0
    while True:
        numbers, size = np.unique(cluster, return_counts=True)
        if len(numbers) == 1 or size.min() >= k:
            return RecordClusters(np.unique(cluster, return_inverse=True)[1].ravel().astype(np.int64), joined)
        middles, numbers = _middles(points, cluster)
        small = int(np.argmin(size))
        away = ((middles - middles[small]) ** 2).sum(axis=1)
        away[small] = np.inf
        cluster = np.where(cluster == numbers[small], numbers[np.argmin(away)], cluster)
        joined += 1


def _middles(points: Floats, cluster: Ints) -> tuple[Floats, Ints]:
    numbers, place = np.unique(cluster, return_inverse=True)
    size = np.bincount(place.ravel())
    sums = np.stack([np.bincount(place.ravel(), column) for column in points.T], axis=1)
    return sums / size[:, None], numbers
