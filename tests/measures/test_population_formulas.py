"""The risk of sample uniques by the mean, spread and sampling fraction of their cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom, poisson

from discreet.errors import InputError
from discreet.measures import cell_risk, individual_risk, unique_risk

MEANS, SPREADS, FRACTIONS = st.floats(0, 5), st.floats(0, 1e5), st.floats(1e-3, 1)


def by_summation(f: int, mu: float, a: float, pi: float, power: int = 1) -> float:
    """The mean of one over the population count, to a power, by adding up its distribution."""
    others = np.arange(400_000)
    if a == 0:
        chance = poisson.pmf(others, mu * (1 - pi) / pi)
    else:
        chance = nbinom.pmf(others, 1 / a + f, (mu + 1 / a) / (mu / pi + 1 / a))
    return float((chance / (f + others) ** power).sum())


@pytest.mark.parametrize("f", [1, 2, 3, 10, 60])
@pytest.mark.parametrize(("mu", "a", "pi"), [(0.4, 0.5, 0.1), (2.0, 1e-3, 0.3), (0.05, 30.0, 0.05), (1.3, 0.25, 0.02)])
def test_risk_of_every_count_is_the_sum_over_its_distribution(f: int, mu: float, a: float, pi: float) -> None:
    assert float(cell_risk(f, mu, a, pi)) == pytest.approx(by_summation(f, mu, a, pi), rel=1e-9)


@pytest.mark.parametrize(
    ("mu", "a", "pi"), [(0.4, 0.5, 0.1), (0.4, 0.0, 0.1), (1e-9, 0.0, 0.5), (9.0, 0.0, 0.01), (2.0, 3.0, 0.2)]
)
def test_squares_of_uniques_are_the_sum_over_their_distribution(mu: float, a: float, pi: float) -> None:
    found = unique_risk(mu, a, pi)
    assert float(found.match) == pytest.approx(by_summation(1, mu, a, pi), rel=1e-9)
    assert float(found.square) == pytest.approx(by_summation(1, mu, a, pi, 2), rel=1e-8)


def test_squares_of_weights_alone_and_of_crowded_cells() -> None:
    others = np.arange(100_000)
    assert float(unique_risk(0, np.inf, 0.1).square) == pytest.approx(
        float((0.1 * 0.9**others / (1 + others) ** 2).sum())
    )
    for mu in (499.0, 501.0):  # both sides of where the series takes over
        assert float(unique_risk(mu, 0, 0.5).square) == pytest.approx(by_summation(1, mu, 0, 0.5, 2), rel=1e-8)


@given(MEANS, SPREADS, FRACTIONS)
def test_uniques_are_matched_and_nothing_is_above_one(mu: float, a: float, pi: float) -> None:
    found = unique_risk(mu, a, pi)
    assert 0 <= found.unique <= found.match <= 1
    assert found.match**2 <= found.square * (1 + 1e-12) <= found.match * (1 + 1e-9)


@given(st.integers(1, 50), MEANS, SPREADS, FRACTIONS)
def test_shared_keys_never_exceed_one_over_their_count(f: int, mu: float, a: float, pi: float) -> None:
    assert 0 < float(cell_risk(f, mu, a, pi)) <= 1 / f


@pytest.mark.parametrize("f", [1, 2, 7, 40])
def test_infinite_spread_is_individual_risk(f: int) -> None:
    assert float(cell_risk(f, 1.0, np.inf, 0.05)) == pytest.approx(float(individual_risk(f, f / 0.05)), rel=1e-6)


def test_deviations_are_those_of_independent_cells() -> None:
    found = unique_risk([0.4, 0.2], 0.0, 0.1)
    uniques, matches = found.deviations()
    drawn = 1 + np.random.default_rng(1).poisson(np.array([0.4, 0.2]) * 9, (200_000, 2))
    assert uniques == pytest.approx(float((drawn == 1).sum(axis=1).std()), rel=0.01)
    assert matches == pytest.approx(float((1 / drawn).sum(axis=1).std()), rel=0.01)


@pytest.mark.parametrize("fraction", [0.0, 1.5, float("nan")])
def test_fractions_outside_of_their_range_are_refused(fraction: float) -> None:
    with pytest.raises(InputError, match=r"Sampling fractions must be above 0 and at most 1\."):
        unique_risk(1.0, 1.0, fraction)
    with pytest.raises(InputError, match=r"Sampling fractions must be above 0 and at most 1\."):
        cell_risk(1, 1.0, 1.0, fraction)


def test_negative_means_and_counts_that_are_not_whole_are_refused() -> None:
    with pytest.raises(InputError, match=r"Means and spreads of cells must not be negative\."):
        unique_risk(-1.0, 1.0, 0.1)
    with pytest.raises(InputError, match=r"Means and spreads of cells must not be negative\."):
        cell_risk(1, 1.0, -1.0, 0.1)
    with pytest.raises(InputError, match=r"Counts of records must be whole numbers from 1 on\."):
        cell_risk(1.5, 1.0, 1.0, 0.1)
