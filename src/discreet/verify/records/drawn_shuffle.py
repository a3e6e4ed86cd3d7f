"""Numbers that decide on shuffled places, drawn a second time by code of the checker's own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Floats

LEAST = 1e-6
"""Eigenvalues of correlations, and directions of columns, are not smaller."""
LAST_BIT = 2.0**-54


class ShuffledStratum(NamedTuple):
    """Values of the shuffled columns, then of the given ones; where they are empty; whether ranks count."""

    values: list[NDArray[Any]]
    empty: list[NDArray[np.bool_]]
    by_rank: bool


def explained_shares(stratum: ShuffledStratum, many: int) -> Floats:
    """What share of each of the first columns the others explain."""
    return np.asarray(1 - np.diag(_conditional(_target(stratum), many)[1]))


def expected_numbers(stratum: ShuffledStratum, fractions: Floats, exact: bool, hypercube: bool = False) -> Floats:
    """The numbers in whose order values stand, from what the key draws for each record."""
    from scipy.special import ndtri

    many, target = fractions.shape[1], _target(stratum)
    slope, left = _conditional(target, many)
    scores = np.stack([_scored(v, e, stratum.by_rank) for v, e in zip(*stratum[:2], strict=True)], axis=1)
    noise = ndtri(_places(fractions) / (len(fractions) + 1)) if hypercube else ndtri(fractions + LAST_BIT)
    if exact:
        known = np.concatenate([np.ones((len(scores), 1)), scores], axis=1)
        noise = noise - known @ np.linalg.lstsq(known, noise, rcond=LEAST)[0]
    if exact or hypercube:
        noise = noise - noise.mean(axis=0) if hypercube else noise
        spread = np.linalg.cholesky(np.cov(noise, rowvar=False, bias=True).reshape(many, many))
        noise = noise @ np.linalg.inv(spread).T
    if hypercube:
        return _paired(noise, target)
    return np.asarray(scores[:, many:] @ slope + noise @ np.linalg.cholesky(left).T)


def _paired(straight: Floats, target: Floats) -> Floats:
    """Uncorrelated columns that get the correlations by which their ranks have the right ones, in three rounds."""
    size, sought = len(target), target
    for _ in range(3):
        places = _places(straight @ np.linalg.cholesky(_raised(sought)).T)
        found = np.corrcoef(places, rowvar=False).reshape(size, size)
        sought = np.where(np.eye(size, dtype=bool), 1.0, sought - 2 * np.sin(np.pi / 6 * found) + target)
    return np.asarray(straight @ np.linalg.cholesky(_raised(sought)).T)


def _places(values: Floats) -> Floats:
    """The rank of every value in its column, from 1 on; of equal ones the first comes first."""
    found = np.empty(values.shape)
    for column in range(values.shape[1]):
        found[np.argsort(values[:, column], kind="stable"), column] = np.arange(1, len(values) + 1)
    return found


def _conditional(target: Floats, many: int) -> tuple[Floats, Floats]:
    """Slopes on the given columns, and the covariance of what they leave."""
    inside, outside, between = target[:many, :many], target[many:, many:], target[:many, many:]
    if not len(outside):
        return np.zeros((0, many)), inside
    slope = np.linalg.inv(outside) @ between.T
    left = inside - between @ slope
    return slope, (left + left.T) / 2


def _target(stratum: ShuffledStratum) -> Floats:
    """Correlations of what is drawn, pair by pair over records that have both."""
    size = len(stratum.values)
    found = np.eye(size)
    numbers = [
        _middle_ranks(values, empty) if stratum.by_rank else _scored(values, empty, False)
        for values, empty in zip(stratum.values, stratum.empty, strict=True)
    ]
    for i in range(size):
        for j in range(i + 1, size):
            both = ~(stratum.empty[i] | stratum.empty[j])
            one, other = numbers[i][both], numbers[j][both]
            if both.sum() >= 3 and _varies(one) and _varies(other):
                found[i, j] = found[j, i] = np.clip(np.corrcoef(one, other)[0, 1], -1, 1)
    if stratum.by_rank:
        found = np.where(np.eye(size, dtype=bool), 1.0, 2 * np.sin(np.pi / 6 * found))
    return _raised(found)


def _raised(found: Floats) -> Floats:
    """Correlations that something can have: the same ones where they are."""
    roots, vectors = np.linalg.eigh(found)
    if roots.min() >= LEAST:
        return found
    raised = vectors @ np.diag(np.maximum(roots, LEAST)) @ vectors.T
    scale = np.sqrt(np.diag(raised))
    return np.asarray(raised / np.outer(scale, scale))


def _scored(values: NDArray[Any], empty: NDArray[np.bool_], by_rank: bool) -> Floats:
    """Mean 0 and variance 1 over what is there, 0 elsewhere and for columns that do not vary."""
    from scipy.special import ndtri

    found = np.zeros(len(values))
    known: Any = values[~empty]
    if len(known) and _varies(known):
        known = ndtri(_middle_ranks(values, empty)[~empty]) if by_rank else known.astype(np.float64)
        known = known - known[0]
        found[~empty] = (known - known.mean()) / known.std()
    return found


def _middle_ranks(values: NDArray[Any], empty: NDArray[np.bool_]) -> Floats:
    """Ranks less a half as shares of all that are there, the mean of them for equal values; one half elsewhere."""
    found = np.full(len(values), 0.5)
    if not empty.all():
        _, place, count = np.unique(values[~empty], return_inverse=True, return_counts=True)
        found[~empty] = ((np.cumsum(count) - count / 2) / len(place))[place]
    return found


def _varies(values: Floats) -> bool:
    return bool(values.max() > values.min())
