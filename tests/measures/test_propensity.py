"""Propensity scores of files that are the same, far apart, or samples of one distribution."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.measures.propensity import propensity
from discreet.measures.values import ValuePair


def pair(before, after):
    return ValuePair(tuple(f"c{i}" for i in range(before.shape[1])), before, after)


def test_a_file_that_did_not_change_cannot_be_told():
    values = np.exp(np.random.default_rng(1).normal(size=(500, 3)))
    assert propensity(pair(values, values)).total < 1e-6


def test_a_file_a_thousand_deviations_away_is_told_apart():
    values = np.random.default_rng(2).normal(size=(500, 2))
    found = propensity(pair(values, values + 1000))
    assert found.separated
    assert found.total == pytest.approx(found.records / 4, rel=0.01)


def test_two_samples_of_one_distribution_have_a_quarter_of_the_terms():
    """200 runs; cubic in two columns, nine terms."""
    draw = np.random.default_rng(3)
    found = [propensity(pair(draw.normal(size=(400, 2)), draw.normal(size=(400, 2)))) for _ in range(200)]
    assert {one.terms for one in found} == {9}
    assert np.mean([one.total for one in found]) == pytest.approx(9 / 4, rel=0.15)
    assert np.mean([one.ratio for one in found]) == pytest.approx(1, rel=0.15)


def test_skewed_files_are_fitted_by_halved_steps():
    """Whole steps of Newton diverge here and claim that the files are told apart."""
    draw = np.random.default_rng(4)
    both = np.exp(0.8 * draw.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 2000))
    middle = both.mean(axis=0) + (both - both.mean(axis=0)) * 0.8
    found = propensity(pair(both, middle))
    assert not found.separated
    assert 5 < found.total < found.records / 8


def test_files_of_different_size():
    draw = np.random.default_rng(5)
    found = propensity(pair(draw.normal(size=(900, 2)), draw.normal(size=(300, 2))), degree=1)
    assert found.share == 0.75
    assert found.expected == pytest.approx(2 * 0.75 * 0.25)
    assert found.mean < 0.01


def test_columns_that_never_vary_and_too_many_terms():
    values = np.ones((50, 2))
    assert propensity(pair(values, values)).total == pytest.approx(0)
    wide = np.random.default_rng(6).normal(size=(50, 20))
    with pytest.raises(InputError, match="of degree 3 in 20 columns has 1,770 terms"):
        propensity(pair(wide, wide))
    with pytest.raises(InputError, match="degree=0 is not allowed"):
        propensity(pair(wide, wide), 0)
