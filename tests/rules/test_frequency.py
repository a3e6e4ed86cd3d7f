"""Rules about numbers of contributors and about zeros, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.errors import NeedsError
from tests.rules.making import assessed, counts, magnitudes

SEX = ds.Hierarchy.flat(["f", "m"])


def ready_made(counts_column=None, **options):
    """Three cells and their total, ready-made."""
    import pyarrow as pa

    columns = {"sex": ["", "f", "m"], "value": [30, 20, 10]}
    if counts_column is not None:
        columns["contributors"] = counts_column
    return ds.Table.from_cells(pa.table(columns), by={"sex": SEX}, **options)


# ---- contributors --------------------------------------------------------------------------------------------


def test_fewer_than_n_contributors_are_unsafe_but_none_and_n_are_safe():
    table = magnitudes([], [100], [50, 50], [50, 40, 10])
    assert assessed(table, ds.MinContributors(3)) == [None, (30, 30), (30, 30), None]


def test_the_level_is_a_percentage_of_the_value_rounded_up():
    # 30 % of 101 are 30.3; 12.5 % are 12.625.
    assert assessed(magnitudes([101]), ds.MinContributors(3)) == [(31, 31)]
    assert assessed(magnitudes([101]), ds.MinContributors(3, range=12.5)) == [(13, 13)]
    assert assessed(magnitudes([101], decimals=2), ds.MinContributors(3, range=12.5)) == [(12.63, 12.63)]


def test_the_level_is_at_least_one_unit_and_ignores_the_sign_of_the_value():
    assert assessed(magnitudes([0], [-101]), ds.MinContributors(3)) == [(0, 1), (31, 31)]


def test_a_level_above_the_value_reaches_down_to_zero_only():
    assert assessed(magnitudes([10]), ds.MinContributors(3, range=200)) == [(10, 20)]


def test_n_of_one_finds_nothing():
    assert assessed(magnitudes([100]), ds.MinContributors(1), ds.MinFrequency(1)) == [None]


def test_too_few_contributors_are_unsafe_only_where_one_of_them_does_not_consent():
    table = magnitudes([60, 40], [60, 40], consent=[[True, True], [True, False]])
    assert assessed(table, ds.MinContributors(3)) == [None, (30, 30)]


def test_a_count_must_seem_possible_one_lower_and_as_high_as_n():
    table = counts({"sex": SEX}, {("f",): 1, ("m",): 2})
    found = table.assess(ds.MinFrequency(4)).assessment
    # Cells: total 3, f 1, m 2.
    assert found.lower.tolist() == [1, 1, 1]
    assert found.upper.tolist() == [1, 3, 2]


def test_a_weighted_count_must_seem_possible_by_the_percentage_as_well():
    """Two people who stand for 700: one more says little of an estimate."""
    weighted = np.array([700, 100, 600])
    table = counts({"sex": SEX}, {("f",): 1, ("m",): 1}, weighted=weighted)
    table = table.with_(spec=table.spec.with_(weight="w"), value=weighted)
    assert assessed(table, ds.MinFrequency(3)) == [(210, 210), (30, 30), (180, 180)]
    light = table.with_(value=np.array([2, 1, 1]))
    assert assessed(light, ds.MinFrequency(3)) == [(1, 1), (1, 2), (1, 2)]


# ---- frequency -----------------------------------------------------------------------------------------------


def weighted_turnover():
    """Two records of one firm each that stand for 2.5 and 7 firms."""
    return magnitudes([100], [60, 40]).with_(weighted=np.array([25, 70]), weight_decimals=1)


def test_frequency_is_the_number_of_records():
    assert assessed(weighted_turnover(), ds.MinFrequency(3)) == [(30, 30), (30, 30)]
    assert assessed(weighted_turnover(), ds.MinFrequency(2)) == [(30, 30), None]


def test_frequency_is_the_weighted_count_when_asked_for():
    assert assessed(weighted_turnover(), ds.MinFrequency(3, weighted=True)) == [(30, 30), None]
    assert assessed(magnitudes([60, 40]), ds.MinFrequency(3, weighted=True)) == [(30, 30)]


def test_the_argus_profile_always_looks_at_the_weighted_count():
    table = weighted_turnover().assess(ds.MinFrequency(3), profile="argus")
    assert table.assessment.unsafe.tolist() == [True, False]
    assert table.reasons(0) == ["low frequency: 2.5 (at least 3 needed)"]


def test_a_waiver_does_not_change_the_frequency():
    assert assessed(magnitudes([60, 40], consent=[[True, True]]), ds.MinFrequency(3)) == [(30, 30)]


def test_frequency_of_a_ready_made_table_is_its_contributors_or_its_count():
    assert assessed(ready_made([4, 2, 2]), ds.MinFrequency(3)) == [None, (6, 6), (3, 3)]
    assert assessed(ready_made(counts=True), ds.MinFrequency(15)) == [None, None, (1, 5)]
    with pytest.raises(NeedsError, match=r"number of records.*Please give from_cells a column 'contributors'"):
        ready_made().assess(ds.MinFrequency(3))


# ---- zeros ---------------------------------------------------------------------------------------------------


def test_a_zero_with_contributors_is_unsafe_upwards_and_an_empty_cell_is_safe():
    table = magnitudes([0, 0], [], [5], decimals=1)
    assert assessed(table, ds.ZeroUnsafe()) == [(0, 1), None, None]
    assert assessed(table, ds.ZeroUnsafe(range=2.5)) == [(0, 2.5), None, None]


def test_a_zero_in_a_count_is_unsafe_though_nobody_is_there():
    table = counts({"sex": SEX}, {("f",): 3})
    assert assessed(table, ds.ZeroUnsafe()) == [None, None, (0, 1)]
    assert assessed(table, ds.ZeroUnsafe(range=0.5)) == [None, None, (0, 1)]
    assert table.assess(ds.ZeroUnsafe()).reasons(2) == ["zero cell: it tells that nobody is here"]


def test_a_zero_that_everybody_knows_of_is_safe():
    no_bound = 2**62
    table = counts({"sex": SEX}, {("f",): 3}, upper_bound=np.array([no_bound, no_bound, 0]))
    assert assessed(table, ds.ZeroUnsafe()) == [None, None, None]


def test_counts_without_their_empty_cells_are_refused_because_the_list_of_cells_tells_the_zeros():
    table = counts({"sex": SEX}, {("f",): 3})
    table = table.at(np.array([0, 1]))
    with pytest.raises(NeedsError, match=r"needs the cells that nobody is in.*Please tabulate with cells='all'"):
        table.assess(ds.ZeroUnsafe())
    assert assessed(table.with_(from_records=False), ds.ZeroUnsafe()) == [None, None]
