"""Exact values: integers in the smallest unit."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, ParameterError
from discreet.model.public import rounded_units
from discreet.model.units import (
    as_fraction,
    choose_decimals,
    decimal_to_units,
    decimals_of,
    detect_decimals,
    to_units,
    unit_text,
    units_up,
)


@settings(deadline=None)
@given(st.lists(st.integers(1 - 10**15, 10**15 - 1), min_size=1), st.integers(0, 6))
def test_decimal_numbers_of_fifteen_digits_survive_floating_point(units, decimals):
    values = np.array([float(unit_text(u, decimals)) for u in units])
    found = choose_decimals(values, "x")
    assert found <= decimals
    assert [u * 10**found for u in units] == [u * 10**decimals for u in to_units(values, found, "x").tolist()]


def test_sums_computed_in_floating_point_keep_their_cents():
    cents = np.array([1234567890.11, 2345678901.22, 3456789012.33, 0.07])
    total = 0.0
    for part in np.repeat(cents, 3):
        total += part
    assert detect_decimals(np.array([total, *cents])) == 6  # the total misses its cents by the last binary digits
    assert choose_decimals(np.array([total, *cents]), "x") == 2


def test_values_that_are_not_decimal_numbers_keep_ten_digits():
    assert choose_decimals(np.array([np.pi, np.e]), "x") == 9
    assert choose_decimals(np.array([1e12 * np.pi, 1 / 3]), "x") == 0


def test_columns_too_large_for_exact_sums_are_refused():
    with pytest.raises(InputError, match=r"Column 'x' is too large for exact 64-bit sums with 0 decimals.*larger unit"):
        choose_decimals(np.array([4e18, 4e18]), "x")
    with pytest.raises(InputError, match=r"Column 'x' holds values too large.*with 3 decimals"):
        to_units(np.array([10**16]), 3, "x")
    with pytest.raises(InputError, match=r"too large"):
        to_units(np.array([1e18]), 3, "x")
    with pytest.raises(InputError, match=r"too large"):
        decimal_to_units("99999999999999999999", 0, "x")


def test_whole_numbers_beyond_floating_point_stay_exact():
    assert to_units(np.array([2**53 + 1]), 2, "x").tolist() == [(2**53 + 1) * 100]


def test_decimal_numbers_beyond_floating_point_stay_exact():
    values = np.array([Decimal("1000000000000000.07"), Decimal("-3")], dtype=object)
    assert decimals_of(values, "x") == 2
    assert to_units(values, 2, "x").tolist() == [100000000000000007, -300]


@pytest.mark.parametrize(
    ("values", "decimals"), [([1, 2], 0), ([1.5, 2.25], 2), ([Decimal("1E+3")], 0), ([Decimal("2.50")], 1)]
)
def test_decimals_of_any_kind_of_column(values, decimals):
    assert decimals_of(np.array(values), "x") == decimals


@pytest.mark.parametrize("wrong", ["abc", "", "nan", "inf"])
def test_what_is_not_a_finite_number_is_refused(wrong):
    with pytest.raises(InputError, match=r"Column 'x' holds something that is not a finite number"):
        decimal_to_units(wrong, 2, "x")


@settings(deadline=None)
@given(st.decimals(-(10**9), 10**9, places=4), st.integers(0, 3))
def test_rounding_up_reaches_the_value_by_less_than_a_unit(value, decimals):
    for given_as in (np.array([float(value)]), np.array([value], dtype=object)):
        units = int(units_up(given_as, decimals, "x")[0])
        assert 0 <= units - value.scaleb(decimals) < 1


@pytest.mark.parametrize(
    ("units", "decimals", "text"),
    [(0, 0, "0"), (-5, 2, "-0.05"), (1235, 2, "12.35"), (10**17 + 7, 2, "1000000000000000.07")],
)
def test_units_are_written_as_decimal_numbers(units, decimals, text):
    assert unit_text(units, decimals) == text
    assert decimal_to_units(text, decimals) == units


def test_parameters_are_the_decimal_numbers_that_were_written():
    assert as_fraction(0.1) == Fraction(1, 10)
    assert as_fraction("12.5") == Fraction(25, 2)


@settings(deadline=None)
@given(st.lists(st.integers(-(10**12), 10**12), min_size=1))
def test_fewer_decimals_round_half_to_even(units):
    rounded = rounded_units(np.array(units, np.int64), 2, 0)
    assert rounded.tolist() == [int(Decimal(u).scaleb(-2).to_integral_value()) for u in units]


def test_more_decimals_than_fit_are_refused():
    assert rounded_units(np.array([7]), 0, 3).tolist() == [7000]
    with pytest.raises(ParameterError, match=r"too large to be written exactly with 15 decimals"):
        rounded_units(np.array([10**6]), 0, 15)
