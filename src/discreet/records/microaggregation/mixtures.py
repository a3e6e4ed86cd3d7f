"""Clusters as normal distributions: the data say how many there are, and of which shape (Fraley and Raftery 2002)."""

from __future__ import annotations

from collections.abc import Iterable
from math import log, pi
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Floats, Ints

MOST_STEPS = 200
SETTLED = 1e-8
"""Steps end when the likelihood rises by less than this share of it."""
FLAT = 1e-8
"""Of the largest variance: a cluster that is flatter in some direction has a likelihood that means nothing."""
MOST_MODELLED = 10_000
"""Of more records, so many make the distributions; all are then put where they most likely come from."""
SHAPES = ("round", "along_axes", "same", "any")
"""Shapes of clusters: round and of one size; along the axes; any shape, the same for all; any shape, each its own."""


class Mixture(NamedTuple):
    """Several normal distributions with their shares, and how well they fit: more ``criterion`` is better."""

    shape: str
    shares: Floats
    middles: Floats
    scatters: Floats
    likelihood: float
    criterion: float


def parameters_of(shape: str, many: int, columns: int) -> int:
    """How many numbers a mixture of so many distributions has.

    Examples
    --------
    >>> [parameters_of(shape, 2, 3) for shape in SHAPES]
    [8, 13, 13, 19]
    """
    full = columns * (columns + 1) // 2
    of_scatters = {"round": 1, "along_axes": many * columns, "same": full, "any": many * full}[shape]
    return many - 1 + many * columns + of_scatters


def best_mixture(points: Floats, starts: Iterable[Ints]) -> Mixture | None:
    """The mixture with the best criterion (Schwarz's, as ``2 log L - parameters log n``); none where all are singular.

    ``starts`` are clusters that mixtures begin with, numbered from 0.
    """
    found = [fitted(points, start, shape) for start in starts for shape in SHAPES]
    real = [one for one in found if one is not None]
    return max(real, key=lambda one: one.criterion) if real else None


def fitted(points: Floats, start: Ints, shape: str) -> Mixture | None:
    """A mixture of one shape by expectation and maximisation, from some clusters; none where one becomes flat."""
    belongs, found = np.eye(int(start.max()) + 1)[start], None
    for _ in range(MOST_STEPS):
        before = found
        found = _maximised(points, belongs, shape)
        if found is None:
            return None
        joint = _log_densities(points, found.middles, found.scatters) + np.log(found.shares)
        peak = joint.max(axis=1)
        total = peak + np.log(np.exp(joint - peak[:, None]).sum(axis=1))
        likelihood = float(total.sum())
        parameters = parameters_of(shape, belongs.shape[1], points.shape[1])
        found = found._replace(likelihood=likelihood, criterion=2 * likelihood - parameters * log(len(points)))
        if before is not None and likelihood - before.likelihood <= SETTLED * abs(likelihood):
            break
        belongs = np.exp(joint - total[:, None])
    return found


def _maximised(points: Floats, belongs: Floats, shape: str) -> Mixture | None:
    """The distributions that are likeliest where records belong to them by some shares; none where one is flat."""
    mass = belongs.sum(axis=0)
    if mass.min() <= points.shape[1]:
        return None
    middles = belongs.T @ points / mass[:, None]
    scatters = _scatters(points, belongs, middles, mass, shape)
    return None if scatters is None else Mixture(shape, mass / len(points), middles, scatters, -np.inf, -np.inf)


def most_likely(points: Floats, mixture: Mixture) -> Ints:
    """The distribution that every record most likely comes from."""
    densities = _log_densities(points, mixture.middles, mixture.scatters)
    return np.asarray(np.argmax(densities + np.log(mixture.shares), axis=1), np.int64)


def _scatters(points: Floats, belongs: Floats, middles: Floats, mass: Floats, shape: str) -> Floats | None:
    """Covariances of all distributions; none where one is flat."""
    rows, columns = points.shape
    found = np.empty((len(middles), columns, columns))
    for place, middle in enumerate(middles):
        away = points - middle
        found[place] = (away * belongs[:, place, None]).T @ away
    if shape == "round":
        found[:] = np.eye(columns) * float(np.trace(found.sum(axis=0))) / (rows * columns)
    elif shape == "same":
        found[:] = found.sum(axis=0) / rows
    else:
        found /= mass[:, None, None]
        if shape == "along_axes":
            found *= np.eye(columns)
    values = np.linalg.eigvalsh(found)
    return found if values.min() > FLAT * max(float(values.max()), FLAT) else None


def _log_densities(points: Floats, middles: Floats, scatters: Floats) -> Floats:
    """Logarithms of the densities of every record in every distribution."""
    found = np.empty((len(points), len(middles)))
    for place, (middle, scatter) in enumerate(zip(middles, scatters, strict=True)):
        lower = np.linalg.cholesky(scatter)
        far = np.linalg.solve(lower, (points - middle).T)
        size = 2 * float(np.log(np.diagonal(lower)).sum()) + points.shape[1] * log(2 * pi)
        found[:, place] = -0.5 * ((far**2).sum(axis=0) + size)
    return found
