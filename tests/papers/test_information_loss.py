"""Card 003-07: the measures of information loss, with its repaired formulas; cards 002 and 003-25 for the last ones."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.measures import (
    Grid,
    change_shares,
    deviance,
    interval_overlap,
    inverse_mean_square,
    noise_errors,
    percent_difference,
    rank_changes,
    rounding_bias,
    table_measures,
)
from discreet.measures.association import between_variance
from discreet.measures.distances import hellinger_rows, total_distance
from discreet.measures.imputation import imputed

BEFORE = np.array([[1, 4, 0, 7], [2, 2, 5, 3], [0, 1, 9, 6]])
AFTER = np.array([[0, 3, 0, 9], [3, 3, 6, 3], [0, 0, 9, 6]])


def test_the_example_of_imputation():
    value, hidden, row = np.array([400.0, 0, 0]), np.array([False, True, True]), np.zeros(3, np.int64)
    total = np.array([500.0])
    assert imputed(value, hidden, row, total, "row_mean").value.tolist() == [400, 50, 50]
    weighted = imputed(value, hidden, row, total, "weighted", np.array([0, 50, 10])).value
    assert weighted == pytest.approx([400, 83.33, 16.67], abs=5e-3)
    assert imputed(value, hidden, row, total, "zero").value.tolist() == [400, 0, 0]


def test_the_worked_example():
    found = table_measures(BEFORE, AFTER, base=3, groups=4)
    value = {name: measure.value for name, measure in found.items()}
    expected = {
        "hellinger": 0.610891,
        "relative_distance": 1.245238,
        "absolute_distance": 0.666667,
        "totals_relative_sum": 0.3125,
        "totals_absolute": 1.333333,
        "variance_change": 35.0,
        "cramers_v_change": 19.8097,
        "entropy_change": -16.1224,
        "deviance_ratio": 1.473183,
        "binomial_p": 0.436671,
        "small_cells": 4,
        "small_unchanged": 0,
        "rank_changes": 0,
    }
    assert {name: value[name] for name in expected} == pytest.approx(expected, abs=1e-4)
    for name in ("hellinger", "relative_distance", "absolute_distance", "deviance_ratio", "binomial_p"):
        assert value[name] == pytest.approx(expected[name], abs=1e-6)
    pairs = {
        "variance_change": (10, 13.5),
        "chi_square_change": (13.561508, 20.44),
        "cramers_v_change": (0.411727, 0.493288),
        "entropy_change": (3.061040, 2.567526),
        "deviance_ratio": (18.276621, 26.924807),
    }
    for name, pair in pairs.items():
        assert (found[name].original, found[name].published) == pytest.approx(pair, abs=1e-6)
    assert found["relative_distance"].skipped == 2


def test_rows_and_single_columns_of_the_worked_example():
    grid = Grid.of(BEFORE, AFTER)
    assert hellinger_rows(grid) == pytest.approx([0.773721, 0.351845, 0.707107], abs=1e-6)
    between = between_variance(grid, 3).variance
    assert tuple(between) == pytest.approx((0.0283681, 0.0781888), abs=1e-7)
    assert (between.ratio, between.change) == pytest.approx((2.756226, 175.6226), abs=1e-4)
    single = table_measures(BEFORE, AFTER, column=3, groups=4)["between_variance_ratio"].value
    assert single == pytest.approx(2.756226, abs=1e-6)
    assert total_distance(grid).absolute_mean == pytest.approx(4 / 3)
    assert deviance(AFTER, [[0], [1]]) == pytest.approx(26.924807, abs=1e-6)


def test_binomial_test_of_the_worked_example():
    test = rounding_bias(BEFORE, AFTER, 3)
    assert (test.cells, test.successes) == (7, 6)
    assert (test.p, test.doubled) == pytest.approx((0.436671, 0.526749), abs=1e-6)


def test_rank_changes_of_the_worked_row():
    grid = Grid.of([[1, 2, 3, 4, 5, 6]], [[3, 0, 3, 6, 3, 6]])
    assert rank_changes(grid, 3).overall == pytest.approx(100 / 3)


def test_stand_in_orders_swapping_and_rounding():
    """Signs on stand-in data: rounding raises variance, association and deviance; random rounding keeps the mean."""
    rng = np.random.default_rng(5)
    columns = np.exp(rng.normal(0, 1.48, 36))
    columns *= 6 / columns.mean()
    mean = columns * rng.gamma(12, 1 / 12, (1472, 1)) * rng.gamma(6, 1 / 6, (1472, 36))
    true = rng.poisson(mean)
    rest = true % 3
    rounded = true - rest + 3 * (rng.random(true.shape) < rest / 3)
    found = table_measures(true, rounded, base=3)
    for name in ("variance_change", "cramers_v_change", "between_variance_change"):
        assert found[name].value > 0
    assert found["deviance_ratio"].value > 1
    assert found["binomial_p"].value > 0.01
    assert found["small_unchanged"].value == 0
    expected = 4 / 3 * (rest != 0).mean()
    assert found["absolute_distance"].value == pytest.approx(expected, abs=0.02)


def test_stand_in_swapping_loses_other_things_than_rounding():
    """A tenth of the persons change places at random: variance and association fall, and rows change less."""
    rng = np.random.default_rng(6)
    columns = np.exp(rng.normal(0, 1.48, 36))
    columns *= 6 / columns.mean()
    true = rng.poisson(columns * rng.gamma(12, 1 / 12, (400, 1)) * rng.gamma(6, 1 / 6, (400, 36)))
    area, column = (np.repeat(i.ravel(), true.ravel()) for i in np.indices(true.shape))
    moved = rng.permutation(len(area))[: len(area) // 10]
    area[moved] = area[rng.permutation(moved)]
    swapped = np.zeros_like(true)
    np.add.at(swapped, (area, column), 1)
    rest = true % 3
    rounded = true - rest + 3 * (rng.random(true.shape) < rest / 3)
    swap, rounding = table_measures(true, swapped), table_measures(true, rounded, base=3)
    assert swap["variance_change"].value < 0
    assert swap["cramers_v_change"].value < 0
    assert swap["between_variance_ratio"].value < 1
    assert swap["hellinger"].value < rounding["hellinger"].value
    assert swap["small_unchanged_share"].value > 50
    assert rounding["small_unchanged_share"].value == 0


def test_overlap_of_intervals():
    """Card 002."""
    found = interval_overlap([[0, 1], [0, 1], [0, 2]], [[0, 1], [2, 3], [1, 3]])
    assert found.tolist() == [1, 0, 0.5]


def test_percent_differences_follow_from_the_published_inverse_mean_squares():
    """Card 003-25: the regression of log net worth; one percentage is cut off in print."""
    printed = [
        (-11.9974, -0.31, 718),
        (0.4336, -0.75, 94500),
        (0.1771, 0.04, 192901234),
        (0.0166, -1.56, 14907350),
        (-0.0931, 0.21, 26570305),
        (0.0154, -1.44, 20108990),
        (1.5196, -0.20, 107076),
        (0.0266, -1.33, 8025102),
    ]
    for original, percent, inverse in printed:
        published = original + inverse**-0.5
        assert inverse_mean_square(original, published) == pytest.approx(inverse)
        found = abs(float(percent_difference(original, published)))
        assert found == pytest.approx(abs(percent), abs=0.01 if percent == -1.44 else 0.006)
    # In the sign of the table: a coefficient that grew in size is negative.
    assert float(percent_difference(-11.9974, -12.0347)) == pytest.approx(-0.31, abs=0.005)
    assert inverse_mean_square(3, [3, 3]) == np.inf


def test_change_intervals_of_table_5a():
    """Card 003-26, repaired order of columns: 43 cells give 41, 1 and 1 of them."""
    before = np.full(43, 100.0)
    after = before + np.r_[np.full(41, 0.5), 1.5, 2.5]
    assert change_shares(before, after, 2).round(1).tolist() == [95.3, 2.3, 2.3]
    errors = noise_errors(before, after, np.r_[np.zeros(42), 2.0])
    assert errors.lowest == 1.25
