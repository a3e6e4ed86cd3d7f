"""Estimates put together over synthetic copies, and survey means, against hand-computed numbers."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError


def test_copies_that_agree_have_the_normal_interval():
    found = ds.analyse.combined_estimate([5.0] * 4, [0.25] * 4)
    assert found.freedom == inf
    low, high = found.interval()
    assert (low, high) == pytest.approx((5 - 1.959964 * 0.5, 5 + 1.959964 * 0.5), abs=1e-6)


def test_means_of_strata_by_hand():
    draw = np.random.default_rng(1)
    y, w, h = draw.normal(5, 2, 30), draw.uniform(1, 9, 30), np.repeat([0, 1, 2], 10)
    found = ds.analyse.survey_mean(y, w, strata=h)
    z = w * (y - found.estimate) / w.sum()
    by_hand = sum(10 / 9 * ((z[h == s] - z[h == s].mean()) ** 2).sum() for s in range(3))
    assert found.estimate == pytest.approx(np.average(y, weights=w))
    assert found.variance == pytest.approx(by_hand)


def test_means_of_clusters_by_hand():
    draw = np.random.default_rng(2)
    y, w, c = draw.normal(5, 2, 24), draw.uniform(1, 9, 24), np.repeat(list("abcd"), 6)
    found = ds.analyse.survey_mean(y, w, clusters=c)
    z = w * (y - found.estimate) / w.sum()
    sums = np.array([z[c == code].sum() for code in "abcd"])
    assert found.variance == pytest.approx(4 / 3 * ((sums - sums.mean()) ** 2).sum())
    plain = ds.analyse.survey_mean(y, np.ones(24))
    assert plain.variance == pytest.approx(y.var(ddof=1) / 24)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ds.analyse.combined_estimate([1.0], [1.0]), InputError, "1 estimate cannot say how much copies"),
        (lambda: ds.analyse.combined_estimate([1, 2], [1]), InputError, "not one number each of every copy"),
        (lambda: ds.analyse.combined_estimate([1, 2], [1, -1]), InputError, "not one number each of every copy"),
        (lambda: ds.analyse.combined_estimate([1, 2], [1, 1]).interval(2), ParameterError, "confidence=2"),
        (lambda: ds.analyse.survey_mean([1, 2], [1]), InputError, "not one of each for every record"),
        (lambda: ds.analyse.survey_mean([1, 2], [1, -1]), InputError, "weights lie below zero"),
        (
            lambda: ds.analyse.survey_mean([1, 2, 3], [1, 1, 1], strata=["a", "a", "b"]),
            InputError,
            "one record or cluster only in 1 group",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
