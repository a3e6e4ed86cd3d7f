"""Estimates from several partially synthetic copies of a file, put together, and survey means to be put together."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Floats, Ints


@dataclass(frozen=True)
class CombinedEstimate:
    """An estimate from several copies.

    Parameters
    ----------
    estimate
        The mean of the estimates from the copies.
    variance
        Its variance: that within copies and, divided by their number, that between them.
    between, within
        The variance between estimates of the copies, and the mean of theirs.
    freedom
        Degrees of freedom of the t distribution; infinite where copies agree.
    copies
        How many there are.

    Examples
    --------
    >>> found = combined_estimate([1, 2, 3, 4, 5], [1, 1, 1, 1, 1])
    >>> found.estimate, found.between, found.variance, found.freedom
    (3.0, 2.5, 1.5, 36.0)
    """

    estimate: float
    variance: float
    between: float
    within: float
    freedom: float
    copies: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Both ends of a confidence interval."""
        from scipy.special import ndtri, stdtrit

        if not 0 < confidence < 1:
            raise ParameterError(f"confidence={confidence!r} is not allowed.", hint="Give a number between 0 and 1.")
        tail = 1 - (1 - confidence) / 2
        reach = float(ndtri(tail) if self.freedom == inf else stdtrit(self.freedom, tail)) * self.variance**0.5
        return self.estimate - reach, self.estimate + reach


def combined_estimate(estimates: ArrayLike, variances: ArrayLike) -> CombinedEstimate:
    """Put estimates from partially synthetic copies together (Reiter 2003).

    It is not the rule for files whose gaps were filled in several times, which counts what differs between copies
    ``1 + 1/m`` times and not ``1/m`` times.

    Examples
    --------
    >>> low, high = combined_estimate([10.2, 9.8, 10.0], [0.04, 0.05, 0.03]).interval()
    >>> round(low, 2), round(high, 2)
    (9.53, 10.47)
    """
    found, spread = np.asarray(estimates, np.float64), np.asarray(variances, np.float64)
    if found.ndim != 1 or found.shape != spread.shape or not np.isfinite([found, spread]).all() or (spread < 0).any():
        raise InputError(
            "Estimates and variances are not one number each of every copy, or some are none.",
            hint="Give finite numbers, variances not below zero.",
        )
    if len(found) < 2:
        raise InputError(
            f"{counted(len(found), 'estimate')} cannot say how much copies differ.", hint="Give two or more copies."
        )
    between, within = float(found.var(ddof=1)), float(spread.mean())
    share = between / len(found)
    # Without variance within copies, all of it lies between them.
    freedom = inf if share == 0 else (len(found) - 1) * (1 + within / share) ** 2
    return CombinedEstimate(float(found.mean()), share + within, between, within, freedom, len(found))


@dataclass(frozen=True)
class SurveyMean:
    """A weighted mean, and its variance by the design."""

    estimate: float
    variance: float


def survey_mean(
    values: ArrayLike,
    weights: ArrayLike,
    strata: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> SurveyMean:
    """A weighted mean with its variance by linearisation, as if records, or clusters, were drawn with replacement.

    Parameters
    ----------
    values, weights
        One of each for every record.
    strata
        The stratum of every record, as published; one for all where left out, as of samples in proportion to size.
    clusters
        The cluster of every record, as published; each record is one where left out.

    Examples
    --------
    >>> found = survey_mean([1, 3, 10, 14], [2, 2, 1, 1], strata=["a", "a", "b", "b"])
    >>> round(found.estimate, 4), round(found.variance, 4)
    (5.3333, 0.8889)
    """
    value, weight = np.asarray(values, np.float64), np.asarray(weights, np.float64)
    if value.ndim != 1 or value.shape != weight.shape or not len(value):
        raise InputError("Values and weights are not one of each for every record.", hint="Give one of each.")
    if not np.isfinite(value).all() or not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() <= 0:
        raise InputError("Some values or weights are no finite numbers, or weights lie below zero.")
    estimate = float((weight * value).sum() / weight.sum())
    score = weight * (value - estimate) / weight.sum()
    stratum = np.zeros(len(value), np.int64) if strata is None else np.unique(strata, return_inverse=True)[1].ravel()
    unit = np.arange(len(value)) if clusters is None else np.unique(clusters, return_inverse=True)[1].ravel()
    # A cluster that lies in several published strata counts as one in each.
    both, place = np.unique(stratum * (int(unit.max()) + 1) + unit, return_inverse=True)
    sums = np.asarray(np.bincount(place.ravel(), score), np.float64)
    return SurveyMean(estimate, _between(sums, both // (int(unit.max()) + 1)))


def _between(sums: Floats, stratum: Ints) -> float:
    many = np.bincount(stratum)
    single = int((many == 1).sum())
    if single:
        raise InputError(
            f"There is one record or cluster only in {counted(single, 'group')} of the published strata, so that there "
            "is no variance within.",
            hint="Merge strata.",
        )
    used = many > 0
    mean = np.bincount(stratum, sums)[used] / many[used]
    square = np.bincount(stratum, sums**2)[used] - many[used] * mean**2
    return float((many[used] / (many[used] - 1) * square).sum())
