"""Survey means against hand-computed numbers."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InputError


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
    ("call", "message"),
    [
        (lambda: ds.analyse.survey_mean([1, 2], [1]), "not one of each for every record"),
        (lambda: ds.analyse.survey_mean([1, 2], [1, -1]), "weights lie below zero"),
        (
            lambda: ds.analyse.survey_mean([1, 2, 3], [1, 1, 1], strata=["a", "a", "b"]),
            "one record or cluster only in 1 group",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
