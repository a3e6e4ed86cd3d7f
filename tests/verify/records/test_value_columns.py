"""Whole units of columns, and columns that hold no values: what checks of numbers rest upon."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.verify.records.value_columns import whole_units
from tests.verify.records.test_forged_noise import NoiseForgery, refused

LARGE = 2.0**53


def test_numbers_in_whole_units():
    found = whole_units(np.array([1.25, -0.5, 0.0]), 2)
    assert found is not None
    assert found.tolist() == [125, -50, 0]
    assert whole_units(np.array([7, -3]), 0) is not None
    assert whole_units(np.array([1.25]), 1) is None
    assert whole_units(np.array([7, -3]), 1) is None


@pytest.mark.parametrize("decimals", [2.0, True, "2", None, -1, 3])
def test_decimals_that_are_none(decimals):
    assert whole_units(np.array([10.0]), decimals, most=2) is None


def test_the_most_decimals():
    assert whole_units(np.array([10.0]), 2, most=2) is not None


@pytest.mark.parametrize("value", [LARGE, -LARGE, np.inf, -np.inf, np.nan])
def test_a_number_that_is_not_exact(value):
    assert whole_units(np.array([1.0, value]), 0) is None
    assert whole_units(np.array([1.0, LARGE - 1]), 0) is not None


def test_one_of_several_columns_holds_no_values():
    def forge(f: NoiseForgery) -> None:
        original = f.custodian.original
        info = {**original.info, "y": replace(original.about("y"), role="weight")}
        f.custodian = replace(f.custodian, original=replace(original, info=info))

    refused(forge, "a column was given noise that holds no values")
