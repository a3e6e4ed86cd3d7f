"""Estimates of several synthetic copies, on numbers that can be reckoned by hand."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ParameterError

ESTIMATES, VARIANCES = [10.0, 12.0, 11.0, 15.0], [2.0, 3.0, 2.0, 1.0]
# By hand: q = 12, b = (4 + 0 + 1 + 9) / 3 = 14/3, u = 2, m = 4.


def test_partly_synthetic_copies():
    found = ds.analyse.combine_copies(ESTIMATES, VARIANCES)
    assert found.estimates == 12
    assert found.between == pytest.approx(14 / 3)
    assert found.within == 2
    assert found.variances == pytest.approx(2 + 14 / 12)
    assert found.degrees == pytest.approx(3 * (1 + 2 / (14 / 12)) ** 2)
    low, high = found.interval(0.95)
    assert high - 12 == pytest.approx(2.0739 * found.standard_errors, rel=1e-3)  # t with 22.1 degrees
    assert low + high == pytest.approx(24)


def test_fully_synthetic_copies():
    found = ds.analyse.combine_copies(ESTIMATES, VARIANCES, kind="full")
    assert found.variances == pytest.approx(1.25 * 14 / 3 - 2)
    assert found.degrees == pytest.approx(3 * (1 - 2 / (1.25 * 14 / 3)) ** 2)
    assert not found.notes


def test_a_negative_variance_gives_way_to_the_one_within_copies():
    found = ds.analyse.combine_copies([[1.0, 5.0], [1.1, 9.0]], [[4.0, 1.0], [4.0, 1.0]], kind="full", ratio=0.5)
    assert found.variances.tolist() == pytest.approx([2.0, 1.5 * 8 - 1])
    assert np.isinf(found.degrees[0])
    assert found.notes == ("1 variance was negative, and the mean within copies stands in; more copies help.",)
    low, high = found.interval(0.9)
    assert high[0] - low[0] == pytest.approx(2 * 1.6448536 * np.sqrt(2))


def test_one_copy_is_enough_where_all_columns_come_from_one_model():
    found = ds.analyse.combine_copies([5.0], [2.0], kind="single")
    assert found.variances == 4
    assert np.isnan(found.between)
    assert ds.analyse.combine_copies([5.0, 7.0], [2.0, 2.0], kind="single", ratio=2).variances == 5


def test_copies_that_do_not_differ_have_the_variance_within():
    found = ds.analyse.combine_copies([3.0, 3.0], [1.0, 1.0])
    assert found.variances == 1
    assert np.isinf(found.degrees)


def test_the_intervals_of_partly_synthetic_copies_hold_the_truth():
    """A mean whose values were all drawn anew from the normal model, 5 copies, 400 files of 50."""
    draw = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        file = draw.normal(size=50)
        copies = draw.normal(file.mean(), file.std(ddof=1), (5, 50))
        found = ds.analyse.combine_copies(copies.mean(axis=1), copies.var(axis=1, ddof=1) / 50)
        low, high = found.interval()
        covered += low <= 0 <= high
    assert 0.93 <= covered / 400 <= 0.97


def test_a_frame_has_a_row_for_each_estimate():
    frame = ds.analyse.combine_copies([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]).to_frame()
    assert frame.to_pydict()["estimates"] == [2, 3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1.0], [1.0]), "Copies of the kind 'partial' need at least two, and there is 1"),
        (([1.0, 2.0], [1.0]), r"estimates of shape \(2,\) and variances of shape \(1,\)"),
        (([1.0, float("nan")], [1.0, 1.0]), "not finite, or variances are negative"),
        (([1.0, 2.0], [1.0, -1.0]), "not finite, or variances are negative"),
        ((["a", "b"], [1.0, 1.0]), "must be numbers, as many in each copy"),
        (([], []), "estimates of shape"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(ParameterError, match=message):
        ds.analyse.combine_copies(*given)


def test_bad_parameters():
    with pytest.raises(ParameterError, match="no kind 'half'"):
        ds.analyse.combine_copies(ESTIMATES, VARIANCES, kind="half")
    with pytest.raises(ParameterError, match="ratio=0 is not allowed"):
        ds.analyse.combine_copies(ESTIMATES, VARIANCES, ratio=0)
    with pytest.raises(ParameterError, match="confidence=2 is not allowed"):
        ds.analyse.combine_copies(ESTIMATES, VARIANCES).interval(2)
