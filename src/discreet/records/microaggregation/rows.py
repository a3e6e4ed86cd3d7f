"""Records in a row by a score, and rows cut into blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Floats, Ints
from discreet.records.microaggregation.robust import robust_scores

MOST_PROJECTED = 200_000_000
"""Directions times records of projection pursuit; in larger files only some records give a direction."""


def in_blocks(score: NDArray[Any], k: int) -> Ints:
    """The block of every record: ``k`` in the order of a score; the last one takes who is left."""
    order = np.argsort(score, kind="stable")
    block = np.empty(len(order), np.int64)
    block[order] = np.minimum(np.arange(len(order)) // k, max(len(order) // k - 1, 0))
    return block


def principal_scores(points: Floats) -> Floats:
    """Scores on the first principal component; the largest weight of a column is positive."""
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(np.atleast_2d(centred.T @ centred))
    first = axes[0]
    return np.asarray(centred @ (first * np.sign(first[np.argmax(np.abs(first))])))


def pursued_scores(points: Floats) -> Floats:
    """Scores in the direction, from the middle to a record, in which the median deviation of all records is largest.

    Projection pursuit (Croux and Ruiz-Gazen 1996): outliers do not turn it.
    """
    middle = np.median(points, axis=0)
    away = points - middle
    length = np.sqrt((away**2).sum(axis=1))
    best, chosen = -1.0, np.zeros(points.shape[1])
    candidates = np.flatnonzero(length > 0)
    few = max(MOST_PROJECTED // len(points), 200)
    if len(candidates) > few:  # records come in an order of their own, so that every part of it has its share
        candidates = candidates[np.linspace(0, len(candidates) - 1, few).astype(np.int64)]
    for record in candidates:
        direction = away[record] / length[record]
        along = points @ direction
        spread = float(np.median(np.abs(along - np.median(along))))
        if spread > best:
            best, chosen = spread, direction
    return np.asarray(points @ chosen)


def row_order(points: Floats) -> Floats:
    """Records as they come."""
    return np.arange(len(points), dtype=np.float64)


def sum_of_scores(points: Floats) -> Floats:
    """The sum of standardised values."""
    return np.asarray(points.sum(axis=1))


SCORES: dict[str, Callable[[Floats], Floats]] = {
    "simple": row_order,
    "sum": sum_of_scores,
    "pca": principal_scores,
    "pppca": pursued_scores,
    "mcdpca": robust_scores,
}
"""What records are put in a row by, for algorithms that cut a row into blocks."""
