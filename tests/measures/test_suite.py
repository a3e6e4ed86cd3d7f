"""Measures: what holds of all tables, odd tables, and brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.errors import InputError, ParameterError
from discreet.measures import Grid, deviance, rank_changes, rounding_bias, sample_risk, signed_rank, table_measures
from discreet.measures.association import between_variance, chi_square_of_independence
from discreet.measures.imputation import imputed

TABLES = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: st.tuples(*[arrays(np.int64, shape, elements=st.integers(0, 9)) for _ in range(2)])
)

NO_TOTAL = np.array([np.nan])


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_identical_tables_lose_nothing(pair):
    found = table_measures(pair[0], pair[0], groups=2)
    for name in ("hellinger", "absolute_distance", "relative_distance", "totals_absolute", "largest_change"):
        assert found[name].value == 0
    for name, measure in found.items():
        if name.endswith("_change") and not name.startswith("largest"):
            assert np.isnan(measure.value) or measure.value == 0
        if name.endswith("_ratio"):
            assert np.isnan(measure.value) or measure.value == 1
    assert found["signed_rank_p"].value == 1
    assert found["small_unchanged_share"].value == 100 or found["small_cells"].value == 0


@given(TABLES, st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_order_of_rows_and_columns_does_not_matter(pair, seed):
    rng = np.random.default_rng(seed)
    rows, columns = (rng.permutation(n) for n in pair[0].shape)
    moved = [table[rows][:, columns] for table in pair]
    one, two = table_measures(*pair, groups=2), table_measures(*moved, groups=2)
    for name in one:
        if name != "rank_changes":  # ties are broken by place
            assert two[name].value == pytest.approx(one[name].value, nan_ok=True, rel=1e-9, abs=1e-9)


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_undefined_measures_say_why(pair):
    for measure in table_measures(*pair).values():
        assert not np.isnan(measure.value) or measure.note


@given(TABLES)
@settings(max_examples=60, deadline=None)
def test_cells_left_out_count_as_zeros(pair):
    """Chi-square and between-row variance of a sparse grid are those of the full table, by their definitions."""
    original, published = pair
    full = Grid.of(original, published)
    there = (original.ravel() > 0) | (published.ravel() > 0)
    sparse = Grid(
        full.row[there], full.column[there], full.original[there], full.published[there], full.rows, full.columns
    )
    table = original.astype(float)
    if table.sum():
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            brute = np.nansum(np.where(expected > 0, (table - expected) ** 2 / expected, 0))
        for grid in (full, sparse):
            assert chi_square_of_independence(grid).original == pytest.approx(brute, abs=1e-9)
    filled = table.sum(axis=1) > 0
    if filled.sum() > 1:
        shares = table[filled] / table[filled].sum(axis=1, keepdims=True)
        brute = ((shares - table.sum(axis=0) / table.sum()) ** 2).sum(axis=0) / (filled.sum() - 1)
        for column, grid in product(range(table.shape[1]), (full, sparse)):
            assert between_variance(grid, column).variance.original == pytest.approx(brute[column], abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 14), st.booleans()), min_size=1, max_size=9), st.sampled_from([3, 4, 5]))
@settings(max_examples=60, deadline=None)
def test_rounding_bias_equals_all_outcomes_counted_out(cells, base):
    before = np.array([x for x, _ in cells])
    after = np.array([x if x % base == 0 else x - x % base + base * up for x, up in cells])
    used = [x % base for x in before.tolist() if x % base and 2 * (x % base) != base]
    chances = np.zeros(len(used) + 1)
    for outcome in product([0, 1], repeat=len(used)):
        hits = zip(used, outcome, strict=True)
        chance = np.prod([(max(r, base - r) if hit else min(r, base - r)) / base for r, hit in hits])
        chances[sum(outcome)] += chance
    found = rounding_bias(before, after, base)
    assert found.cells == len(used)
    likely = chances[chances <= chances[found.successes] * (1 + 1e-9)].sum()
    assert found.p == pytest.approx(likely, abs=1e-9)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_signed_ranks_equal_all_signs_counted_out(gaps):
    from scipy.stats import rankdata

    found = signed_rank(np.array(gaps), np.zeros(len(gaps)))
    changed = np.array([g for g in gaps if g])
    if not len(changed):
        assert found.p == 1
        return
    ranks = rankdata(np.abs(changed))
    sums = np.array([ranks[np.array(signs) > 0].sum() for signs in product([0, 1], repeat=len(changed))])
    assert found.statistic == ranks[changed > 0].sum()
    assert found.p == pytest.approx(min(1, 2 * min((sums <= found.statistic).mean(), (sums >= found.statistic).mean())))


def test_normal_signed_ranks_come_close_to_exact_ones():
    rng = np.random.default_rng(3)
    gaps = rng.normal(0.2, 1, 120)
    exact, normal = (signed_rank(gaps, 0 * gaps, method).p for method in ("exact", "normal"))
    assert normal == pytest.approx(exact, abs=0.01)


def test_deviance_of_a_saturated_model_is_nothing():
    table = np.random.default_rng(1).integers(0, 9, (3, 4, 2))
    assert deviance(table, [[0, 1, 2]]) == pytest.approx(0, abs=1e-9)
    assert deviance(table, [[0, 1], [1, 2]]) > deviance(table, [[0, 1], [1, 2], [0, 2]])


def test_rows_that_leave_nothing_are_filled_by_zero_and_counted():
    value, hidden = np.array([7.0, 0.0]), np.array([False, True])
    found = imputed(value, hidden, np.zeros(2, np.int64), np.array([5.0]), "row_mean")
    assert found.value.tolist() == [7, 0]
    assert found.short == 1


def test_weights_of_zero_fall_back_to_equal_parts():
    hidden = np.array([True, True])
    found = imputed(np.zeros(2), hidden, np.zeros(2, np.int64), np.array([8.0]), "weighted", np.zeros(2))
    assert found.value.tolist() == [4, 4]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: table_measures(np.ones((2, 3)), np.ones((2, 4))), InputError, "columns: 3 and 4"),
        (lambda: table_measures(np.ones((2, 3)), np.ones((3, 3))), InputError, "rows: 2 and 3"),
        (lambda: table_measures([[1.0, np.nan]], [[1.0, 2.0]]), InputError, "imputation"),
        (lambda: rank_changes(Grid.of([[1, 2]], [[1, 2]]), 3), ParameterError, "groups=3"),
        (lambda: rounding_bias([1, 2], [1, 3], 3), InputError, "multiple of 3"),
        (lambda: rounding_bias([1], [0], 1), ParameterError, "base=1"),
        (lambda: imputed(np.ones(1), np.ones(1, bool), np.zeros(1, int), NO_TOTAL, "row_mean"), InputError, "total"),
    ],
)
def test_bad_input_says_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_sample_uniques_are_matched_at_random():
    found = sample_risk([1, 1, 2, 0], [1, 4, 9, 2])
    assert found == (2, 1, 1.25)
    with pytest.raises(InputError, match="no cell more"):
        sample_risk([2], [1])


def test_signed_tables_are_measured_by_distances_only():
    found = table_measures([[1, -2], [3, 4]], [[1, -1], [3, 4]], groups=2)
    assert found["absolute_distance"].value == 0.25
    assert np.isnan(found["hellinger"].value)
    assert found["cramers_v_change"].note == "needs values of at least zero"


def test_zero_denominators_are_counted_and_never_divided_by():
    found = table_measures([[0, 4], [0, 0]], [[3, 4], [0, 1]], groups=2)
    assert found["relative_distance"].value == 0.0
    assert found["relative_distance"].skipped == 3
    assert "3 cells that were zero left out" in found["relative_distance"].note
    assert found["totals_relative"].skipped == 1
    assert np.isnan(found["cramers_v_change"].value)
    assert found["cramers_v_change"].note


def test_constant_rows_have_no_change_of_variance_and_say_so():
    found = table_measures([[2, 2, 2], [5, 5, 5]], [[3, 1, 2], [5, 5, 5]], groups=2)
    assert np.isnan(found["variance_change"].value)
    assert "constant rows" in found["variance_change"].note
    assert found["variance_change"].original == 0.0
    assert found["variance_change"].published == 0.5
