"""Card 003-25-utility-metrics: the worked battery, inverse squares, percent differences and how they hang together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.measures.file_pair import pair_files
from discreet.measures.matrix_battery import aligned_components, components, matrix_battery
from discreet.measures.model_changes import FittedModel, model_change
from discreet.measures.overlap import inverse_mean_square, percent_difference
from discreet.measures.statistic_changes import statistic_changes
from discreet.measures.values import ValuePair

BEFORE = np.array([[1, 2, 4], [2, 1, 5], [3, 5, 9], [4, 4, 7], [5, 7, 12], [7, 6, 15]], np.float64)
AFTER = np.array([[1, 3, 4], [2, 1, 6], [2, 5, 9], [4, 5, 7], [6, 7, 11], [7, 6, 16]], np.float64)
WORKED = {
    "X": (0.388889, 0.388889, 0.090741),
    "V": (1.148519, 0.811111, 0.119733),
    "R": (0.013243, 0.098973, 0.111895),
    "RF": (0.001046, 0.014248, 0.039537),
    "C": (0.006010, 0.065541, 0.071235),
    "F": (0.018106, 0.022078, 0.028439),
}
REGRESSION = {
    "intercept": (-11.9974, -12.0347, -0.31, 718),
    "intercept_se": (0.4336, 0.4369, -0.75, 94500),
    "age": (0.1771, 0.1770, 0.04, 192901234),
    "age_se": (0.0166, 0.0168, -1.56, 14907350),
    "age_sq": (-0.0931, -0.0929, 0.21, 26570305),
    "age_sq_se": (0.0154, 0.0157, -1.44, 20108990),
    "income": (1.5196, 1.5226, -0.20, 107076),
    "income_se": (0.0266, 0.0269, -1.33, 8025102),
}
RATIOS = {
    "mean": [
        (0.2011, -0.03, 307787011),
        (0.3115, 0.36, 816027.4),
        (0.1664, -1.00, 361589.2),
        (0.1930, 0.05, 92455621),
        (0.1854, 0.31, 3035122),
        (0.1737, -0.11, 25507601),
        (0.1245, -0.51, 2433795),
    ],
    "median": [
        (0.0783, -1.55, 677404),
        (0.1508, 0.73, 824946),
        (0.1796, 0.60, 855753),
        (0.1728, 0.10, 35856431),
        (0.1117, -1.17, 586292),
    ],
}


def pair(before, after):
    return ValuePair(tuple(f"c{i}" for i in range(before.shape[1])), before, after)


def files(before, after, names=("x", "y", "z")):
    tables = [pa.table(dict(zip(names, values.T, strict=True))) for values in (before, after)]
    return pair_files(*(read_record_set(ds.Microdata(table)) for table in tables), aligned=True)


@pytest.mark.parametrize("matrix", WORKED)
def test_the_worked_battery(matrix):
    line = matrix_battery(pair(BEFORE, AFTER))[matrix]
    assert (line.mse, line.mae, line.variation) == pytest.approx(WORKED[matrix], abs=1e-6)


def test_shares_of_the_worked_components():
    found = matrix_battery(pair(BEFORE, AFTER))
    assert found.shares == pytest.approx((0.921905, 0.065353, 0.012742), abs=1e-6)
    assert not found.unstable


def test_signs_by_column_sums_would_be_wrong():
    """The rule that the source might have used leaves the third component reversed."""
    parts = [components(np.corrcoef(values, rowvar=False)) for values in (BEFORE, AFTER)]
    turned = [one.loadings * np.where(one.loadings.sum(axis=0) < 0, -1, 1) for one in parts]
    shares = parts[0].eigenvalues / 3
    gap = turned[0] - turned[1]
    assert ((shares * gap**2).sum() / 9, (shares * abs(gap)).sum() / 9) == pytest.approx((0.001376, 0.014868), abs=1e-6)
    scores = [one.scores * np.where(one.loadings.sum(axis=0) < 0, -1, 1) for one in parts]
    gap = scores[0] - scores[1]
    assert ((shares * gap**2).sum() / 9, (shares * abs(gap)).sum() / 9) == pytest.approx((0.097018, 0.032804), abs=1e-6)


def test_the_same_file_has_no_distance():
    found = matrix_battery(pair(BEFORE, BEFORE))
    assert {(line.mse, line.mae, line.variation) for line in found.lines} == {(0.0, 0.0, 0.0)}
    assert inverse_mean_square(2.0, [2.0, 2.0]) == float("inf")
    changes = statistic_changes(files(BEFORE, BEFORE))
    assert {one.flag for one in changes} == {"same"}
    assert {one.inverse_mse for one in changes} == {float("inf")}


def test_a_turned_component_changes_nothing():
    parts = [components(np.corrcoef(values, rowvar=False)) for values in (BEFORE, AFTER)]
    turned = parts[1]._replace(loadings=parts[1].loadings * [-1, 1, -1], scores=parts[1].scores * [-1, 1, -1])
    for one, two in zip(aligned_components(*parts), aligned_components(parts[0], turned), strict=True):
        assert np.array_equal(one, two)


def test_the_unit_of_a_column():
    scale = np.array([1000.0, 1.0, 1.0])
    plain, scaled = (matrix_battery(pair(BEFORE * by, AFTER * by)) for by in (np.ones(3), scale))
    for name in ("R", "RF", "C", "F"):
        assert scaled[name][1:4] == pytest.approx(plain[name][1:4], rel=1e-9)
    for name in ("X", "V"):
        assert scaled[name].variation == pytest.approx(plain[name].variation)
        assert scaled[name].mse > 1.5 * plain[name].mse
        assert scaled[name].mae > 1.5 * plain[name].mae
    one, two = (statistic_changes(files(BEFORE * by, AFTER * by), statistics=["mean"])[1] for by in (1, 1000))
    assert one.percent == pytest.approx(two.percent)
    assert one.inverse_mse == pytest.approx(two.inverse_mse * 1e6)


@pytest.mark.parametrize("term", REGRESSION)
def test_printed_percentages_of_the_regression(term):
    original, _, percent, inverse = REGRESSION[term]
    found = 100 / (np.sqrt(inverse) * abs(original))
    assert found == pytest.approx(abs(percent), abs=0.01 if term == "age_sq_se" else 0.006)


def test_signs_of_the_regression_and_its_lines():
    """From numbers of four digits only three percentages come out; all signs do."""
    names = ("intercept", "age", "age_sq", "income")
    fits = [
        FittedModel(
            names,
            np.array([REGRESSION[name][side] for name in names]),
            np.array([REGRESSION[f"{name}_se"][side] for name in names]),
            100,
        )
        for side in (0, 1)
    ]
    lines = {line.term: line for line in model_change("net worth", *fits).lines}
    for name in names:
        assert np.sign(lines[name].percent) == np.sign(REGRESSION[name][2])
        assert np.sign(lines[name].error_percent) == np.sign(REGRESSION[f"{name}_se"][2])
    for name in ("intercept", "age_sq", "income"):
        assert lines[name].percent == pytest.approx(REGRESSION[name][2], abs=0.006)
    assert all(line.overlap > 0.9 for line in lines.values())


@pytest.mark.parametrize("statistic", RATIOS)
def test_printed_percentages_of_the_ratios(statistic):
    """Two thousands separators are misplaced in print; the percentages confirm the repair."""
    for original, percent, inverse in RATIOS[statistic]:
        assert 100 / (np.sqrt(inverse) * original) == pytest.approx(abs(percent), abs=0.006)


def test_the_median_of_net_worth_that_does_not_fit():
    """20-40 %: -1.02 % of 34,348 makes 0.0000081, and 0.0001 is printed."""
    released = 34348 * 1.0102
    assert float(percent_difference(34348, released)) == pytest.approx(-1.02)
    assert inverse_mean_square(34348, released) == pytest.approx(8.1e-6, rel=0.01)


@pytest.mark.parametrize(
    ("median", "percent", "inverse", "unit"),
    [
        (93098, 0.1, 0.0001, 0.0001),
        (7496, 1.01, 0.00017, 0.00001),
        (71605, -0.10, 0.00018, 0.00001),
        (159950, 0.03, 0.00040, 0.00001),
        (311146, -0.63, 0.0, 0.00001),
        (924127, 0.43, 0.0, 0.00001),
    ],
)
def test_the_other_medians_of_net_worth(median, percent, inverse, unit):
    """What the printed percentage implies lies within the rounding of the printed inverse square, and of itself."""
    half = 0.05 if percent == 0.1 else 0.005
    ends = [inverse_mean_square(median, median * (1 - (abs(percent) + side * half) / 100)) for side in (1, -1)]
    assert ends[0] <= inverse + unit / 2
    assert ends[1] >= inverse - unit / 2


def test_the_mean_of_net_worth():
    assert float(percent_difference(448230, 448230 + 1 / np.sqrt(0.00002))) == pytest.approx(-0.05, abs=0.001)


NUMBERS = hnp.arrays(np.float64, (6, 3), elements=st.integers(-20, 20).map(float))


@given(NUMBERS, NUMBERS)
@settings(max_examples=25, deadline=None)
def test_squares_are_at_least_the_squares_of_absolute_distances(before, after):
    before[0], after[0] = [21, 22, 23], [-21, 22, -23]
    for line in matrix_battery(pair(before, after)).lines:
        assert line.mse >= line.mae**2 - 1e-9 * max(1.0, line.mse)


def test_zeros_are_counted_and_not_divided_by():
    before = np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 5.0], [1.0, 1.0]])
    line = matrix_battery(pair(before, before + 1))["X"]
    assert line.skipped == 2
    assert line.variation == pytest.approx((1 / 1 + 1 / 2 + 1 / 4 + 1 / 5 + 1 + 1) / 6)
    zero = statistic_changes(files(np.array([[-1.0], [1.0]]), np.array([[0.0], [1.0]]), ("x",)), statistics=["mean"])[0]
    assert np.isnan(zero.percent)
    assert zero.flag == "from zero"


def test_several_releases_have_the_mean_of_squared_differences():
    releases = np.array([1.0, 1.5, 2.5])
    assert inverse_mean_square(2.0, releases) == pytest.approx(1 / np.mean((releases - 2.0) ** 2))
