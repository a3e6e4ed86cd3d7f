"""How much one record can move a plot, and so how much noise it needs.

The records of two worlds differ in one value (or one record more). ``Delta2`` is the largest distance between what the
two would show, summed over all points: an attacker uses all of them. ``mu = Delta2 / a`` for noise of standard
deviation ``a``; plots add up by their squares (Gaussian differential privacy, Dong, Roth and Su 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, pi, sqrt

import numpy as np

from discreet.model.arrays import Floats
from discreet.report.safe_plots.request import FLAT, PlotRequest

NEIGHBOURS = {1: 2, 2: 6}
"""Records that one other can be the nearest of, by dimension (ties included)."""
SLACK = 1.001
"""Counting on a fine grid and trimming exact kernels differ by less than this."""


@dataclass(frozen=True)
class Influence:
    """What one record can do, and the noise against it; all on the scale of counts."""

    largest: float
    """Largest change of any one number, when a record is replaced."""
    delta2: float
    """Largest change of all numbers together (root of the sum of squares)."""
    noise: float
    """Standard deviation of the noise before smoothing."""

    @property
    def mu(self) -> float:
        """What an attacker has: signal over noise."""
        return self.delta2 / self.noise

    @property
    def likelihood(self) -> float:
        """How likely the neighbouring number is beside the true one, at worst, seen at one point."""
        return exp(-((self.largest / self.noise) ** 2) / 2)


def bins_influence(request: PlotRequest) -> Influence:
    """Influence on a histogram: two counts change by one each."""
    weight = request.largest_weight
    return Influence(weight, sqrt(2) * weight, request.noise * weight)


def kernels_influence(request: PlotRequest, width: tuple[float, ...]) -> Influence:
    """Influence on a density at the points of its grid."""
    dimension = 2 if request.kind in FLAT else 1
    peak, square = 1.0, 1.0
    for bandwidth, (low, high) in zip(width, request.spans, strict=True):
        step = (high - low) / (request.points - 1)
        peak /= sqrt(2 * pi) * bandwidth
        # Sum of squares of one kernel over the grid; the last factor is what the place between points can add.
        square *= (1 + 2.1 * exp(-((pi * bandwidth / step) ** 2))) / (2 * sqrt(pi) * bandwidth * step)
    one = sqrt(square)
    if request.local:
        near = NEIGHBOURS[dimension]
        delta2, changed, largest = (2 * near + sqrt(2)) * one * SLACK, near + 1, 2 * near + 1
    else:
        delta2, changed, largest = sqrt(2) * one * (SLACK if request.trim else 1.0), 1, 1
    weight = request.largest_weight
    least = max(changed * peak, delta2 / sqrt(2)) * weight
    return Influence(largest * peak * weight, delta2 * weight, request.noise * least)


def smoothed(numbers: Floats, times: int) -> Floats:
    """Averages over three neighbouring points of the first axis, so many times; at the ends over those there are.

    Added up one by one and not as a matrix, so that the digits do not depend on the number of threads.
    """
    divided = np.full((len(numbers), *(1 for _ in numbers.shape[1:])), 3.0)
    divided[[0, -1]] = 2.0
    for _ in range(times):
        total = numbers.copy()
        total[1:] += numbers[:-1]
        total[:-1] += numbers[1:]
        numbers = total / divided
    return numbers
