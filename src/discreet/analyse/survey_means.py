"""Weighted means of a survey with their variance by its design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError, counted
from discreet.model.arrays import Floats, Ints


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
