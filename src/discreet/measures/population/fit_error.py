"""How far too high the estimates of a log-linear model are, by its own data (Skinner and Shlomo 2008).

Where the keys of a sample hang together more than a model has it, counts vary more around fitted means than Poisson
counts do, and estimates are too high; where the model follows the sample too closely they vary less, and estimates are
too low. The sums go over all cells of the table of keys, empty ones included, and there may be billions of them: what an
empty cell adds depends on its mean alone, so that cells are counted by the logarithm of their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.measures.population.cells import SampleCells
from discreet.model.arrays import Floats

ONE_BY_ONE = 2_000_000
"""Up to so many cells each is looked at."""
WIDTH = 0.01
"""Steps of the logarithm of means by which cells are counted beyond that."""
NOTHING = -46.0
"""Cells with a share below ``exp`` of this add nothing."""
SMALL = 0.05
"""The second measure is taken by its series for smaller arguments."""


class FitError(NamedTuple):
    """Error estimates of population uniques (B1) and matches (B2), and how far each varies by chance (sqrt of v).

    The variation is that of Poisson counts around means that are right, without what fitting adds to it.
    """

    uniques: float
    matches: float
    uniques_deviation: float
    matches_deviation: float

    @property
    def standardised(self) -> float:
        """The error of population uniques over its variation."""
        return self.uniques / self.uniques_deviation if self.uniques_deviation > 0 else 0.0


class _Slopes(NamedTuple):
    """First and second derivative by the mean of the chance to be unique, and to be matched."""

    unique: tuple[Floats, Floats]
    match: tuple[Floats, Floats]


def fit_errors(cells: SampleCells, mean: Floats, shares: Sequence[Floats]) -> FitError:
    """Error estimates of a fitted model.

    Parameters
    ----------
    cells
        The cells of the sample.
    mean
        The expected population count of each of them.
    shares
        For each part of the keys that the model fits by itself, the shares of its cells; the mean of a cell of the
        whole table is the number of persons times one share of each part.
    """
    pi = cells.fraction
    if pi == 1:
        return FitError(0.0, 0.0, 0.0, 0.0)
    everywhere, how_often = _all_means(cells.persons, shares)
    there = _beyond_empty(cells.count.astype(np.float64), mean, pi)
    empty = _empty(everywhere, pi)
    errors = [float(a.sum() + b @ how_often) for a, b in zip(there, empty, strict=True)]
    variances = [float(one @ how_often) for one in _variances(everywhere, pi)]
    return FitError(errors[0], errors[1], variances[0] ** 0.5, variances[1] ** 0.5)


def _empty(mean: Floats, pi: float) -> tuple[Floats, Floats]:
    """What each cell without records adds to both error estimates."""
    weight = mean * np.exp(-pi * mean)
    first, second = (weight * pi * mean * (one + two * mean / 2) for one, two in _slopes(mean, pi))
    return first, second


def _beyond_empty(count: Floats, mean: Floats, pi: float) -> tuple[Floats, Floats]:
    """What each cell with records adds beyond what it would if it were empty."""
    scatter = (count - 1) / (2 * pi) - mean  # ((count - pi mean)**2 - count - (pi mean)**2) / (2 pi count)
    weight = mean * np.exp(-pi * mean) * count
    first, second = (weight * (two * scatter - one) for one, two in _slopes(mean, pi))
    return first, second


def _variances(mean: Floats, pi: float) -> tuple[Floats, Floats]:
    """The variance of what each cell adds, for Poisson counts: both of its terms are uncorrelated."""
    weight = (mean * np.exp(-pi * mean)) ** 2
    first, second = (weight * (one**2 * pi * mean + two**2 * mean**2 / 2) for one, two in _slopes(mean, pi))
    return first, second


def _slopes(mean: Floats, pi: float) -> _Slopes:
    unseen = (1 - pi) * mean
    unique = np.exp(-unseen)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = (unique * (1 + unseen) - 1) / unseen**2
        two = (2 - unique * (unseen**2 + 2 * unseen + 2)) / unseen**3
    near = unseen < SMALL
    one[near], two[near] = _near_zero(unseen[near])
    c = 1 - pi
    return _Slopes((-c * unique, c**2 * unique), (c * one, c**2 * two))


def _near_zero(x: Floats) -> tuple[Floats, Floats]:
    """Derivatives of ``(1 - exp(-x)) / x`` by the series of it."""
    one, two = np.zeros(len(x)), np.zeros(len(x))
    factorial = 1.0
    for k in range(1, 10):
        factorial *= k + 1
        sign = (-1.0) ** k / factorial
        one += sign * k * x ** (k - 1)
        if k > 1:
            two += sign * k * (k - 1) * x ** (k - 2)
    return one, two


def _all_means(persons: float, shares: Sequence[Floats]) -> tuple[Floats, Floats]:
    """The means of all cells of the table, and how many cells have each."""
    if np.prod([float(len(share)) for share in shares]) <= ONE_BY_ONE:
        means = np.full(1, persons)
        for share in shares:
            means = np.multiply.outer(means, share).ravel()
        return means, np.ones(len(means))
    lowest, many = 0, np.ones(1)
    for share in shares:
        low, counts = _by_logarithm(share)
        lowest, many = lowest + low, np.convolve(many, counts)
        # what is far below any share that counts is cut off, so that the list of logarithms stays short
        cut = max(0, int(NOTHING / WIDTH) - lowest)
        lowest, many = lowest + min(cut, len(many) - 1), many[min(cut, len(many) - 1) :]
    places = lowest + np.arange(len(many))
    kept = many > 0
    return persons * np.exp(places[kept] * WIDTH), many[kept]


def _by_logarithm(share: Floats) -> tuple[int, Floats]:
    """Shares by the place of their logarithm, each divided between the two next to it; and the lowest place."""
    logs = np.log(share[share > np.exp(NOTHING)]) / WIDTH
    below = np.floor(logs)
    upper = logs - below
    place = below.astype(np.int64)
    lowest = int(place.min())
    counts = np.bincount(place - lowest, 1 - upper, int(place.max()) - lowest + 2)
    counts += np.bincount(place - lowest + 1, upper, len(counts))
    return lowest, counts
