"""Numbers that depend on each other as some columns do, and not on the records (Muralidhar and Sarathy 2006)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Bools, Floats, Ints
from discreet.records.ordered_values import order_of

FLOOR = 1e-6
"""Least eigenvalue of a matrix of correlations; matrices of rank correlations need not have positive ones."""
ROUNDS = 3
"""How often the aim of a Latin hypercube sample is set right."""
NOTHING = 1e-12
"""Directions with a smaller share of the largest one are none."""


class Scores(NamedTuple):
    """A column as numbers of mean 0 and variance 1, as ranks around 0, and its places from the smallest value on.

    Both are 0 where the column is empty; ``order`` leaves these places out.
    """

    score: Floats
    rank: Floats
    order: Ints


def scores_of(values: NDArray[Any], empty: Bools, *, by_rank: bool) -> Scores:
    """Scores of a column: normal ones by rank (equal values share one), or the values themselves, standardised."""
    from scipy.special import ndtri

    there = np.flatnonzero(~empty)
    order = there[order_of(values[there])] if empty.any() else order_of(values)
    score, rank = np.zeros(len(values)), np.zeros(len(values))
    if not len(order):
        return Scores(score, rank, order)
    ordered = values[order]
    start = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    size = np.diff(np.append(start, len(order)))
    middle = (start + size / 2) / len(order)  # (rank - 1/2) / n, on average over equal values
    rank[order] = np.repeat(middle - 0.5, size)
    if by_rank:
        score[order] = np.repeat(ndtri(middle), size)
    else:
        score[order] = ordered.astype(np.float64) - float(ordered[len(ordered) // 2])
    return Scores(_standard(score, order), rank, order)


def _standard(score: Floats, order: Ints) -> Floats:
    """Mean 0 and variance 1 over some places; 0 where all are equal."""
    known = score[order]
    spread = known.std() if known.max() > known.min() else 0.0
    found = np.zeros(len(score))
    if spread > 0:
        found[order] = (known - known.mean()) / spread
    return found


def correlations(columns: list[Scores], there: list[Bools], *, by_rank: bool) -> Floats:
    """Correlations that draws must have: of normal numbers with these rank correlations, or of the scores as they are.

    Each pair is taken over the records that have both. A matrix that nothing can have is moved to one nearby.
    """
    from math import pi

    many = len(columns)
    found = np.eye(many)
    for i in range(many):
        for j in range(i):
            both = there[i] & there[j]
            one, other = (columns[k].rank if by_rank else columns[k].score for k in (i, j))
            found[i, j] = found[j, i] = _correlation(one, other, both)
    if by_rank:
        found = 2 * np.sin(pi * found / 6)
        np.fill_diagonal(found, 1.0)
    return _possible(found)


def _correlation(one: Floats, other: Floats, both: Bools) -> float:
    if not both.all():
        one, other = one[both], other[both]
    if len(one) < 3:
        return 0.0
    one, other = one - one.mean(), other - other.mean()
    size = float((one @ one) * (other @ other))
    return min(max(float(one @ other) / size**0.5, -1.0), 1.0) if size > 0 else 0.0


def _possible(matrix: Floats) -> Floats:
    """The same matrix where its eigenvalues are positive; otherwise with the small ones raised."""
    size, direction = np.linalg.eigh(matrix)
    if size[0] >= FLOOR:
        return matrix
    raised = (direction * np.maximum(size, FLOOR)) @ direction.T
    scale = 1 / np.sqrt(np.diag(raised))
    return np.asarray(raised * scale * scale[:, None])


class Dependence(NamedTuple):
    """How drawn numbers depend on the given columns, and the covariance of what is left."""

    slope: Floats
    left: Floats

    @property
    def explained(self) -> Floats:
        """The share of each column that the given ones explain."""
        return np.asarray(1 - np.diag(self.left))


def dependence(matrix: Floats, many: int) -> Dependence:
    """Of the first columns of a matrix of correlations on the others."""
    own, given, across = matrix[:many, :many], matrix[many:, many:], matrix[many:, :many]
    slope = np.asarray(np.linalg.solve(given, across) if len(given) else np.zeros((0, many)), np.float64)
    left = own - across.T @ slope
    return Dependence(slope, (left + left.T) / 2)


def drawn_numbers(scores: Floats, noise: Floats, on: Dependence, *, exact: bool) -> Floats:
    """Numbers for every record and shuffled column, whose order decides who gets which value.

    Parameters
    ----------
    scores
        Scores of the shuffled columns, then of the given ones.
    noise
        Independent normal draws, as many columns as are shuffled.
    on
        How numbers depend on the given columns.
    exact
        Make what is drawn uncorrelated with all scores and of the stated covariance, exactly and not on average.
    """
    many = noise.shape[1]
    if exact:
        noise = _without(noise, np.column_stack([np.ones(len(scores)), scores]))
        noise = np.linalg.solve(np.linalg.cholesky(noise.T @ noise / len(noise)), noise.T).T
    drawn = noise @ np.linalg.cholesky(on.left).T
    return np.asarray(drawn + scores[:, many:] @ on.slope)


def paired_numbers(scores: Floats, noise: Floats, wanted: Floats, *, exact: bool) -> Floats:
    """Numbers as a Latin hypercube sample has them: normal scores in drawn orders, paired so that ranks correlate.

    Iman and Conover (1982). Scores lose what correlation they have by chance and get the wanted one; turning them moves
    the correlations of their ranks a little, by which the aim is set right, so many rounds. ``scores`` are those of the
    shuffled columns; the sample is made uncorrelated with them where ``exact`` says so.
    """
    from scipy.special import ndtri

    rank = np.argsort(np.argsort(noise, axis=0, kind="stable"), axis=0)
    straight = ndtri((rank + 1) / (len(noise) + 1))
    if exact:
        straight = _without(straight, np.column_stack([np.ones(len(scores)), scores]))
    straight = straight - straight.mean(axis=0)
    straight = np.linalg.solve(np.linalg.cholesky(straight.T @ straight / len(noise)), straight.T).T
    aim = wanted
    for _ in range(ROUNDS):
        drawn = straight @ np.linalg.cholesky(_possible(aim)).T
        rank = np.argsort(np.argsort(drawn, axis=0, kind="stable"), axis=0)
        reached = 2 * np.sin(np.pi / 6 * np.atleast_2d(np.corrcoef(rank.T)))
        aim = aim + wanted - reached
        np.fill_diagonal(aim, 1.0)
    return np.asarray(straight @ np.linalg.cholesky(_possible(aim)).T)


def _without(noise: Floats, columns: Floats) -> Floats:
    """What is left of draws that columns do not explain. Twice, because rounding leaves a little the first time."""
    size, direction = np.linalg.eigh(columns.T @ columns)
    some = size > size[-1] * NOTHING
    basis = columns @ (direction[:, some] / np.sqrt(size[some]))
    for _ in range(2):
        noise = noise - basis @ (basis.T @ noise)
    return noise
