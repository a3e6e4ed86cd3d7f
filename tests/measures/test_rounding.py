"""Moments, chi-square and posteriors of rounding: card 003-05-effects-of-rounding, with its corrected formulas."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.measures import (
    chi_square_bounds,
    chi_square_constants,
    compare_rules,
    expected_chi_square,
    forecast_chi_square,
    moments,
    posterior,
    posterior_risk,
)
from discreet.measures.rounding import RULES
from discreet.tables.rounding.rules import up_by_rule


@pytest.mark.parametrize("base", range(2, 21))
def test_moments_are_those_of_the_table(base):
    assert moments("unbiased", base)[:3] == (F(base - 1, 2), F(base**2 - 1, 4), F(base**2 - 1, 6))
    half = moments("fifty_fifty", base)
    assert half[:3] == (F(base - 1, 2), F(base**2 - 1, 4), F((base - 1) * (2 * base - 1), 6))
    change = F(base**2 + 2, 12) if base % 2 == 0 else F(base**2 - 1, 12)
    assert moments("modified", base)[:3] == (F(base - 1, 2), F(base**2 - 1, 4), change)
    usual = moments("conventional", base)
    assert usual.mean_squared_change == change
    assert usual.mean == (F(base, 2) if base % 2 == 0 else F(base - 1, 2))
    assert usual.variance == (F(base**2, 4) if base % 2 == 0 else F(base**2 - 1, 4))
    assert half.chance_up == F(base - 1, 2 * base)


def test_constants_of_the_bounds_are_those_of_the_card():
    one = {r: chi_square_constants(r, 5)[0] for r in RULES}
    assert (one["conventional"], one["fifty_fifty"], one["unbiased"]) == (F(55, 48), F(385, 96), F(5, 2))
    assert [chi_square_constants(r, 5)[1] for r in ("conventional", "fifty_fifty", "unbiased")] == [
        F(2, 5),
        F(6, 5),
        F(4, 5),
    ]
    ten = {r: chi_square_constants(r, 10) for r in RULES}
    assert (ten["modified"][0], ten["fifty_fifty"][0], ten["unbiased"][0]) == (F(2465, 1134), F(24305, 2268), F(5))
    assert (ten["modified"][1], ten["fifty_fifty"][1], ten["unbiased"][1]) == (F(17, 20), F(57, 20), F(33, 20))


def test_expected_chi_square_lies_in_its_repaired_bounds():
    x = np.arange(1000)
    low, high = chi_square_bounds(x, 10, "unbiased")
    assert expected_chi_square(x, 10, "unbiased") / 1000 == pytest.approx(0.12072, abs=5e-6)
    assert (low / 1000, high / 1000) == pytest.approx((0.11409, 0.13043), abs=5e-6)
    for rule in RULES:
        low, high = chi_square_bounds(np.arange(99 * 7), 7, rule)
        assert low <= expected_chi_square(np.arange(99 * 7), 7, rule) <= high


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("base", range(2, 21))
def test_posteriors_add_up_to_one(rule, base):
    for published in (0, base, 7 * base):
        assert sum(posterior(published, base, rule).values()) == 1


def test_posteriors_are_the_corrected_ones_of_the_card():
    zero = posterior(0, 10, "unbiased")
    assert list(zero.values()) == [F(2 * (10 - r), 110) for r in range(10)]
    assert list(posterior(0, 10, "fifty_fifty").values()) == [F(2, 11)] + [F(1, 11)] * 9
    assert posterior(20, 10, "unbiased")[19] == F(9, 100)
    ten = posterior(10, 10, "unbiased")
    assert (ten[19], ten[10]) == (F(1, 100), F(1, 10))
    assert posterior(0, 10, "modified")[5] == F(1, 11)


def test_a_prior_counts():
    found = posterior(0, 10, "fifty_fifty", prior={3: 1, 4: 3})
    assert (found[3], found[4], found[5]) == (F(1, 4), F(3, 4), 0)


def test_posteriors_agree_with_simulation():
    rng = np.random.default_rng(5)
    x = rng.integers(0, 40, 200_000)
    up = up_by_rule("unbiased", x % 10, 10, rng.random(len(x)))
    behind = x[(x // 10 + up) * 10 == 20]
    for value, chance in posterior(20, 10, "unbiased").items():
        assert np.mean(behind == value) == pytest.approx(float(chance), abs=0.005)


def test_fifty_fifty_tells_nothing_beyond_the_base():
    assert posterior_risk(0, 10, "fifty_fifty").entropy_ratio == pytest.approx(1)
    assert posterior_risk(0, 10, "conventional").candidates == 4


def test_forecast_and_comparison():
    assert forecast_chi_square(504.5, 10, "unbiased") == pytest.approx(0.0327, abs=5e-5)
    assert forecast_chi_square(504.5, 10, "unbiased", "printed") == pytest.approx(0.0490, abs=1e-4)
    lines = compare_rules(np.arange(200), [5, 10])
    assert len(lines) == 8
    even = next(line for line in lines if line["base"] == 10 and line["rule"] == "conventional")
    assert even["bias"] == pytest.approx(0.5)


@pytest.mark.parametrize("base", [0, 1, 2.5, True])
def test_bases_that_do_nothing_are_refused(base):
    with pytest.raises(ParameterError, match="base"):
        moments("unbiased", base)
