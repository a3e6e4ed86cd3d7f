"""Individual risk: accurate for all counts and sampling fractions, and what is made of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import nbinom

from discreet.errors import InputError, ParameterError
from discreet.measures.individual_risk import (
    file_risk,
    high_beside_others,
    household_risk,
    individual_risk,
    risk_classes,
    threshold_for,
    threshold_for_rate,
)

COUNTS = [1, 2, 3, 4, 5, 8, 12, 13, 20, 50]
SHARES = [0.001, 0.01, 0.03, 0.1, 0.3, 0.499, 0.501, 0.7, 0.9, 0.99, 0.999]


def one(count: int, share: float) -> float:
    return float(individual_risk(count, count / share))


def by_quadrature(f: int, p: float) -> float:
    """The integral, with a break where its spike begins."""
    total, _ = quad(
        lambda u: np.exp((f - 1) * np.log(u) + f * np.log(p / (1 - (1 - p) * u))) if u > 0 else float(f == 1) * p,
        0,
        1,
        points=[1 - p],
        epsabs=0,
        epsrel=1e-11,
        limit=500,
    )
    return total


@pytest.mark.parametrize("f", COUNTS)
@pytest.mark.parametrize("p", SHARES)
def test_equals_the_integral(f: int, p: float) -> None:
    assert one(f, p) == pytest.approx(by_quadrature(f, p), rel=1e-8)


@pytest.mark.parametrize("f", [1, 2, 3, 7, 13, 40])
@pytest.mark.parametrize("p", [0.05, 0.3, 0.6, 0.95])
def test_equals_the_sum_over_the_negative_binomial_distribution(f: int, p: float) -> None:
    beyond = np.arange(0, 20_000)
    expected = float((nbinom.pmf(beyond, f, p) / (f + beyond)).sum())
    assert one(f, p) == pytest.approx(expected, rel=1e-10)


@given(st.integers(1, 3), st.floats(0.001, 0.9))
def test_closed_forms_agree(f: int, p: float) -> None:
    q = 1 - p
    closed = {
        1: -p * np.log(p) / q,
        2: p / q**2 * (p * np.log(p) + q),
        3: p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * np.log(p)),
    }
    assert one(f, p) == pytest.approx(closed[f], rel=1e-9)


@settings(deadline=None)
@given(st.integers(1, 2000), st.floats(1e-9, 1.0))
def test_lies_between_its_bounds_and_falls_with_the_count(f: int, p: float) -> None:
    risk = one(f, p)
    assert p / f * (1 - 1e-12) <= risk <= 1 / f * (1 + 1e-12)
    assert one(f + 1, p) < risk


@settings(deadline=None)
@given(st.integers(1, 20), st.floats(1, 1 + 1e-6))
def test_is_a_probability_to_the_last_digit(f: int, times: float) -> None:
    risk = float(individual_risk(f, f * times))
    assert risk <= 1 / f
    assert file_risk([risk]).largest == risk


@given(st.integers(1, 200), st.floats(1e-6, 0.999), st.floats(1.0001, 2))
def test_rises_with_the_sampling_fraction(f: int, p: float, times: float) -> None:
    assert one(f, p) <= one(f, min(1.0, p * times))


@pytest.mark.parametrize("f", [3, 4, 12, 13])
def test_has_no_step_where_the_way_of_computing_changes(f: int) -> None:
    for border in (0.5, 0.9):
        below, above = one(f, border - 1e-12), one(f, border + 1e-12)
        assert below == pytest.approx(above, rel=1e-11)


def test_behaves_at_the_ends() -> None:
    assert individual_risk([1, 2, 7], [1, 2, 7]).tolist() == [1, 1 / 2, 1 / 7]
    assert one(5, 1e-9) == pytest.approx(1e-9 / 4, rel=1e-6)
    assert one(1_000_000, 1e-6) == pytest.approx(1e-6 / 999_999, rel=1e-6)


def test_shapes_are_kept() -> None:
    assert individual_risk([[1, 2], [3, 4]], 10.0).shape == (2, 2)
    assert individual_risk(1, 10).shape == ()
    assert individual_risk([], []).shape == (0,)


@pytest.mark.parametrize("bad", [0, 1.5, float("nan"), float("inf")])
def test_counts_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(InputError, match="whole numbers from 1 on"):
        individual_risk([bad], [10])


@pytest.mark.parametrize("bad", [1.9, float("nan"), float("inf"), -3])
def test_weights_that_stand_for_fewer_than_the_records_are_refused(bad: float) -> None:
    with pytest.raises(InputError, match=r"1 sum of weights is below the number of records .* at least 1 each"):
        individual_risk([2, 1], [bad, 5])


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=20))
def test_household_risk_is_that_of_at_least_one_member(members: list[tuple[float, int]]) -> None:
    risk, home = [r for r, _ in members], [h for _, h in members]
    found = household_risk(risk, home)
    for place, (own, household) in enumerate(members):
        none = np.prod([1 - r for r, h in members if h == household])
        assert found[place] == pytest.approx(1 - none, abs=1e-12)
        assert found[place] >= own - 1e-12


def test_household_risk_keeps_small_risks() -> None:
    assert household_risk([1e-18, 1e-18], [0, 0]).tolist() == pytest.approx([2e-18, 2e-18], rel=1e-12)


def test_household_risk_needs_a_household_for_everybody() -> None:
    with pytest.raises(ParameterError, match="one risk and one household"):
        household_risk([0.1], [0, 1])


@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]), min_size=1, max_size=12), st.integers(0, 13))
def test_threshold_leaves_at_most_so_many_records_above_it(risks: list[float], most: int) -> None:
    values = np.array(risks)
    limit = threshold_for(risks, most)
    assert (values > limit).sum() <= most
    lower = values[values < limit]
    assert not len(lower) or (values > lower.max()).sum() > most


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1))
def test_threshold_for_a_rate_caps_the_mean(risks: list[float], rate: float) -> None:
    limit = threshold_for_rate(risks, rate)
    capped = float(np.minimum(risks, limit).mean())
    assert capped <= rate + 1e-12
    assert limit == 1.0 or capped == pytest.approx(rate, abs=1e-12)


def test_file_risk_sums_up() -> None:
    found = file_risk([1.0, 0.5, 0.0, 0.1], threshold=0.1)
    assert (found.records, found.expected, found.rate, found.largest, found.above) == (4, 1.6, 0.4, 1.0, 2)
    empty = file_risk([])
    assert (empty.records, empty.expected, empty.rate, empty.largest, empty.above) == (0, 0.0, 0.0, 0.0, 0)


def test_classes_include_their_upper_edge() -> None:
    assert risk_classes([0.1, 0.10001, 0.5], [0.1, 0.5]).tolist() == [1, 2]


def test_records_that_stand_out() -> None:
    assert high_beside_others([0.05] * 9 + [0.4]).tolist() == [False] * 9 + [True]
    assert not high_beside_others([0.3] * 10).any()
    assert not high_beside_others([0.001] * 9 + [0.09]).any()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: file_risk([0.1], threshold=1.5), r"threshold=1\.5 is not allowed\. Use a number from 0 to 1"),
        (lambda: file_risk([1.2]), r"probabilities\. Give numbers from 0 to 1, without gaps"),
        (lambda: file_risk([float("nan")]), "without gaps"),
        (lambda: threshold_for([0.1], -1), r"records=-1 is not allowed\. Use a number of records from 0 on"),
        (lambda: threshold_for_rate([0.1], 2), r"rate=2 is not allowed\. Use a share from 0 to 1"),
    ],
)
def test_bad_input_is_refused(call: object, words: str) -> None:
    with pytest.raises((InputError, ParameterError), match=words):
        call()  # type: ignore[operator]
