"""Noise in place of residuals: normal numbers with the moments that a first stage took away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.model.arrays import Floats, Ints


def split_cells(points: Floats, identity: Ints, partitions: int) -> Ints:
    """The number of every record's cell: the largest cell is halved along its widest column until there are enough."""
    cells = [np.lexsort((identity, *points.T[::-1]))]
    while len(cells) < partitions:
        place = max(range(len(cells)), key=lambda i: (len(cells[i]), -i))
        rows = cells[place]
        if len(rows) < 2:
            break
        spread = points[rows].max(axis=0) - points[rows].min(axis=0)
        widest = int(np.argmax(spread))
        ordered = rows[np.lexsort((identity[rows], points[rows, widest]))]
        cells[place : place + 1] = [ordered[: len(rows) // 2], ordered[len(rows) // 2 :]]
    number = np.empty(len(points), np.int64)
    for place, rows in enumerate(cells):
        number[rows] = place
    return number


def root_of(covariance: Floats) -> tuple[Floats, int]:
    """The symmetric root of a covariance, and how many of its eigenvalues lay below zero and were cut."""
    values, vectors = np.linalg.eigh(covariance)
    negative = values < -1e-9 * max(1e-300, float(np.abs(values).max(initial=0.0)))
    root: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root, int(negative.sum())


def repaired_covariance(original: Floats, masked: Floats) -> Floats:
    """What a first stage took from the covariance."""
    both = (np.atleast_2d(np.cov(values, rowvar=False, bias=True)) for values in (original, masked))
    first, second = both
    return np.asarray(first - second)


def local_moments(residual: Floats, cell: Ints) -> list[tuple[Ints, Floats, Floats]]:
    """Rows, mean and covariance of every cell; those of all records where a cell has too few."""
    few = residual.shape[1] + 3
    pooled = residual.mean(axis=0), _covariance(residual)
    found = []
    for number in range(int(cell.max(initial=-1)) + 1):
        rows = np.flatnonzero(cell == number)
        own = (residual[rows].mean(axis=0), _covariance(residual[rows])) if len(rows) >= few else pooled
        found.append((rows, *own))
    return found


def _covariance(values: Floats) -> Floats:
    return np.atleast_2d(np.cov(values, rowvar=False, bias=True))


def noise_of(normal: Floats, moments: Sequence[tuple[Ints, Floats, Floats]]) -> tuple[Floats, int]:
    """Normal numbers with the moments of each cell, and how many eigenvalues were cut."""
    noise, cut = np.zeros_like(normal), 0
    for rows, mean, covariance in moments:
        root, negative = root_of(covariance)
        noise[rows] = mean + normal[rows] @ root
        cut += negative
    return noise, cut
