"""Middles and covariances that outliers do not move, and directions made of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, counted
from discreet.model.arrays import Floats, Ints

MOST_STEPS = 100
FLAT = 1e-10
"""A covariance is singular whose least eigenvalue is below this share of the largest."""


class RobustMoments(NamedTuple):
    """The middle and the covariance of the half of the records that lies closest together."""

    middle: Floats
    scatter: Floats


def least_determinant(points: Floats) -> RobustMoments:
    """The half of the records whose covariance has the least determinant (Rousseeuw), from three fixed starts.

    Every step takes the half that is nearest by the covariance of the half before, which never raises the determinant;
    starts that depend on no draw follow Hubert, Rousseeuw and Verdonck (2012).
    """
    records, columns = points.shape
    if records <= 2 * columns:
        raise InputError(
            f"A robust covariance of {counted(columns, 'column')} needs more than {2 * columns} records, and a stratum "
            f"or cluster has {records}.",
            hint='Merge strata, name fewer columns, or use algorithm="pppca".',
        )
    half = (records + columns + 1) // 2
    best: tuple[float, RobustMoments] | None = None
    for away in _starts(points):
        found = _settled(points, np.argsort(away, kind="stable")[:half], half)
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    if best is None:
        raise InputError(
            "The covariance of the middle half of the records is singular: in some column, or sum of columns, they "
            "hardly vary.",
            hint='Leave such columns out, or use algorithm="pppca".',
        )
    return best[1]


def _starts(points: Floats) -> list[Floats]:
    """How far records lie from the middle: column by column, by the directions in which they lie, and as they are."""
    middle = np.median(points, axis=0)
    away = points - middle
    spread = np.median(np.abs(away), axis=0)
    spread[spread == 0] = 1.0
    plain = (away**2).sum(axis=1)
    length = np.sqrt(plain)
    length[length == 0] = 1.0
    signs = away / length[:, None]
    _, axes = np.linalg.eigh(signs.T @ signs)
    along = away @ axes
    width = np.median(np.abs(along), axis=0)
    width[width == 0] = 1.0
    return [((away / spread) ** 2).sum(axis=1), ((along / width) ** 2).sum(axis=1), plain]


def _settled(points: Floats, chosen: Ints, half: int) -> tuple[float, RobustMoments] | None:
    """The half at which steps end, by the logarithm of its determinant; none where it is singular."""
    size, before, moments = np.inf, np.inf, RobustMoments(points[0], points[:0])
    for _ in range(MOST_STEPS):
        middle = points[chosen].mean(axis=0)
        scatter = np.atleast_2d(np.cov(points[chosen].T, bias=True))
        values = np.linalg.eigvalsh(scatter)
        if values[0] <= FLAT * values[-1]:
            return None
        size, moments = float(np.log(values).sum()), RobustMoments(middle, scatter)
        if size >= before - 1e-12:
            break
        before = size
        away = points - middle
        far = (away * np.linalg.solve(scatter, away.T).T).sum(axis=1)
        chosen = np.argsort(far, kind="stable")[:half]
    return size, moments


def without_sums(points: Floats) -> Floats:
    """Records along the axes in which they vary: columns that follow from others, or never vary, add none."""
    centred = points - points.mean(axis=0)
    values, axes = np.linalg.eigh(centred.T @ centred / len(points))
    return np.asarray(centred @ axes[:, values > FLAT * max(values[-1], 1e-300)])


def robust_scores(points: Floats) -> Floats:
    """Scores on the first principal component of the robust covariance; they grow with the sum of all columns."""
    varying = without_sums(points)
    if not varying.shape[1]:
        return np.zeros(len(points))
    moments = least_determinant(varying)
    scores = (varying - moments.middle) @ np.linalg.eigh(moments.scatter)[1][:, -1]
    return np.asarray(scores if scores @ points.sum(axis=1) >= 0 else -scores)


def robustly_scaled(points: Floats) -> Floats:
    """Points among which distances are those of Mahalanobis by the robust covariance."""
    varying = without_sums(points)
    if not varying.shape[1]:
        return points
    moments = least_determinant(varying)
    lower = np.linalg.cholesky(moments.scatter)
    return np.ascontiguousarray(np.linalg.solve(lower, (varying - moments.middle).T).T)
