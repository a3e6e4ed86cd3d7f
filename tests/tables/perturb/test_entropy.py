"""Rows of largest entropy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import ParameterError
from discreet.tables.perturb.entropy import Conditions, row_of_largest_entropy, variance_range


def test_rows_have_mean_zero_the_variance_and_no_forbidden_result():
    table = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2)
    for value in range(1, 9):
        row = table.row(value)
        assert row.probability.sum() == pytest.approx(1, abs=1e-14)
        assert abs(row.mean) < 1e-8
        assert abs(row.variance - 3) < 1e-6
        assert not set((value + row.change).astype(int)) & {1, 2}
        assert (value + row.change >= 0).all()
    assert table.forbidden == [1, 2]
    assert table.row(1000).value == 8


def test_an_impossible_variance_is_refused_with_the_least_that_works():
    with pytest.raises(ParameterError, match=r"row for 1 allows 2 to 5\..* least V .* is 2\."):
        ds.NoiseTable.maximum_entropy(D=5, V=1.5, js=2)
    least = ds.NoiseTable.maximum_entropy(D=5, V=2, js=2, mode="exact", monotone=False)
    assert least.row(1).probability == pytest.approx([2 / 3, 1 / 3])
    assert least.row(2).probability == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize("D", [3, 5, 8])
def test_rows_1_and_2_need_a_variance_of_2_and_row_1_allows_d(D):
    """Card 004, check 5, with js = 2: an error that names the row, its least and its largest variance."""
    for row in (1, 2):
        least, largest = variance_range(Conditions(_changes(row, D, 2), 1.0, 0.0, False, False))
        assert least == pytest.approx(2, abs=1e-9)
        assert largest == pytest.approx(row * D, abs=1e-9)
    for mode in ("at_most", "exact", "lower_stay"):
        with pytest.raises(ParameterError, match=rf"V=1\.9 is impossible: the row for 1 allows 2 to {D}\."):
            ds.NoiseTable.maximum_entropy(D=D, V=1.9, js=2, mode=mode, monotone=False)
        ds.NoiseTable.maximum_entropy(D=D, V=2, js=2, mode=mode, monotone=False)
    with pytest.raises(ParameterError, match=rf"row for 1 allows 2 to {D}\."):
        ds.NoiseTable.maximum_entropy(D=D, V=D + 0.1, js=2, mode="exact", monotone=False)


def test_the_least_variance_is_that_of_the_formula():
    for js in range(4):
        formula = max((i * (js + 1 - i) for i in range(1, js + 1)), default=0)
        rows = [variance_range(Conditions(_changes(i, 6, js), 1.0, 0.0, False, False))[0] for i in range(1, js + 2)]
        assert max(rows) == pytest.approx(formula, abs=1e-9)


def _changes(value: int, D: int, js: int) -> np.ndarray:
    results = np.array([r for r in range(max(value - D, 0), value + D + 1) if not 1 <= r <= js])
    return (results - value).astype(float)


def test_a_variance_above_the_largest_is_refused_where_it_must_be_met():
    with pytest.raises(ParameterError, match="row for 1 allows 2 to 5"):
        ds.NoiseTable.maximum_entropy(D=5, V=5.5, js=2, mode="exact")
    assert ds.NoiseTable.maximum_entropy(D=5, V=5, js=2, mode="exact", monotone=False).row(
        1
    ).probability == pytest.approx([5 / 6, 1 / 6])


def test_staying_has_at_least_its_probability_and_is_lowered_when_asked():
    kept = ds.NoiseTable.maximum_entropy(D=5, V=3, p_stay=0.7)
    assert kept.row(9).stay >= 0.7 - 1e-9
    assert kept.row(9).variance <= 3 + 1e-9
    tight = ds.NoiseTable.maximum_entropy(D=2, V=1.5, p_stay=0.7)
    assert tight.row(9).variance < 1.5 - 1e-3
    lowered = ds.NoiseTable.maximum_entropy(D=2, V=1.5, p_stay=0.7, mode="lower_stay")
    assert lowered.row(9).variance == pytest.approx(1.5, abs=1e-8)
    assert lowered.row(9).stay < 0.7


def test_settings_may_differ_from_row_to_row():
    table = ds.NoiseTable.maximum_entropy(D=2, V=[1.1, 1.2, 1.3, 1.4], js=1, monotone=False, mode="exact")
    assert [table.row(i).variance for i in range(1, 5)] == pytest.approx([1.1, 1.2, 1.3, 1.4], abs=1e-9)
    with pytest.raises(ParameterError, match="3 entries; the table has 4 rows"):
        ds.NoiseTable.maximum_entropy(D=2, V=[1, 2, 3], js=1)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"D": 2, "V": 1, "js": 2}, "js=2 must be less than D=2"),
        ({"D": 0, "V": 1}, "D=0"),
        ({"D": 2, "V": -1}, "V=-1"),
        ({"D": 2, "V": 1, "p_stay": 1.0}, "p_stay=1.0"),
        ({"D": 2, "V": 1, "mode": "often"}, "mode='often'"),
        ({"D": 2, "V": 1, "values": [3, 2]}, "values="),
    ],
)
def test_bad_parameters_are_refused(given_, words):
    with pytest.raises(ParameterError, match=words):
        ds.NoiseTable.maximum_entropy(**given_)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(0, 3),
    st.floats(0.05, 0.95),
    st.integers(1, 8),
    st.booleans(),
    st.sampled_from([0.0, 0.1, 0.3]),
)
def test_no_other_row_that_satisfies_the_conditions_has_more_entropy(D, js, share, value, monotone, stay):
    """A small step from the answer towards any corner of the feasible set never raises the entropy."""
    from scipy.optimize import linprog

    js = min(js, D - 1)
    change = _changes(value, D, js)
    free = Conditions(change, 1.0, stay if 0 in change else 0.0, monotone, True)
    least, largest = variance_range(free)
    if np.isnan(least) or largest - least < 1e-3:
        return
    variance = least + share * (largest - least)
    conditions = free._replace(variance=variance)
    p = row_of_largest_entropy(conditions)
    assert p.sum() == pytest.approx(1)
    assert change @ p == pytest.approx(0, abs=1e-9)
    assert change**2 @ p == pytest.approx(variance, abs=1e-8)
    inequality = []
    if 0 in change:
        zero = int(np.flatnonzero(change == 0)[0])
        assert p[zero] >= conditions.stay - 1e-9
        if monotone:
            assert (np.diff(p[: zero + 1]) >= -1e-9).all()
            inequality = [np.eye(len(p))[k] - np.eye(len(p))[k + 1] for k in range(zero)]
    lower = np.where(change == 0, conditions.stay, 0.0)
    # The entropy is concave: p is best when no feasible q has more of its linearisation at p.
    slope = np.log(np.maximum(p, 1e-300))
    best = linprog(
        slope,
        A_ub=np.array(inequality) if inequality else None,
        b_ub=np.zeros(len(inequality)) if inequality else None,
        A_eq=np.stack([np.ones(len(p)), change, change**2]),
        b_eq=[1, 0, variance],
        bounds=list(zip(lower, np.ones(len(p)), strict=True)),
    )
    assert best.status == 0
    assert slope @ p <= best.fun + 1e-5
