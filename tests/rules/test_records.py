"""What weights, holdings, waivers, requests, zeros and signs of records become before the rules look at them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError
from tests.rules.making import assessed

BY = {"cell": ds.Hierarchy.flat(["a"], total=None)}


def one_cell(**columns):
    """One cell of records; ``options`` of tabulate may stand among the columns."""
    options = {name: columns.pop(name) for name in ("top", "levels", "shadow", "absolute", "cells") if name in columns}
    roles = {role: role for role in ("contributor", "weight", "waiver", "request") if role in columns}
    frame = pa.table({"cell": ["a"] * len(columns["turnover"]), **columns})
    return ds.tabulate(frame, by=BY, value="turnover", **roles, **options)


def top_of(table, level="holding"):
    """Largest contributions in units of the value."""
    return (table.contributions[level].top[0] / 10**table.shadow_decimals).tolist()


# ---- weights -------------------------------------------------------------------------------------------------


def test_a_contribution_counts_as_often_as_its_weight():
    """100 stands for four firms: the rest of the cell is 470 - 100 - 100."""
    table = one_cell(turnover=[100, 10], weight=[4, 7], top=6)
    assert table.values.tolist() == [470]
    assert top_of(table) == [100, 100, 100, 100, 10, 10]
    assert assessed(table, ds.PPercent(10)) == [None]
    # Three of 100 each hold 63.8 % of the cell: 300 / 0.6 - 470 = 30.
    assert assessed(table, ds.Dominance(3, 60)) == [(30, 30)]
    assert assessed(one_cell(turnover=[100, 10]), ds.PPercent(10)) == [(10, 10)]


def test_the_last_part_of_a_weight_counts_partly():
    """A weight of 1.5 fills one place and half of the next, which the following contribution fills up."""
    table = one_cell(turnover=[100, 40], weight=[1.5, 2.0], top=4)
    assert table.values.tolist() == [230]
    assert top_of(table) == [100, 70, 40, 20]
    # 230 - 100 - 70 = 60
    assert assessed(table, ds.PPercent(50)) == [None]
    assert assessed(table, ds.PPercent(70)) == [(10, 10)]


def test_a_single_record_of_weight_one_and_a_half_is_unsafe():
    table = one_cell(turnover=[100], weight=[1.5])
    assert assessed(table, ds.PPercent(10)) == [(10, 10)]


def test_a_single_record_of_a_large_weight_is_left_to_the_rules_about_numbers():
    table = one_cell(turnover=[100], weight=[50])
    assert assessed(table, ds.PPercent(10), ds.Dominance(1, 70)) == [None]
    assert assessed(table, ds.MinContributors(3)) == [(1500, 1500)]
    assert assessed(table, ds.MinFrequency(3)) == [(1500, 1500)]
    assert assessed(table, ds.MinFrequency(3), profile="argus") == [None]


def test_levels_of_weighted_tables_are_as_exact_as_their_values():
    # X = 100.25: dominance of the first place, 100 / 0.9 - 100.25 = 10.861...
    table = one_cell(turnover=[100, 1], weight=[1.0, 0.25])
    assert table.decimals == 2
    assert assessed(table, ds.Dominance(1, 90)) == [(10.87, 10.87)]


# ---- holdings ------------------------------------------------------------------------------------------------


def test_records_of_a_holding_are_one_contribution():
    table = one_cell(turnover=[50, 50, 8], contributor=["x", "x", "y"], levels=("holding", "record"))
    assert top_of(table)[:2] == [100, 8]
    assert top_of(table, "record") == [50, 50, 8]
    assert assessed(table, ds.PPercent(10)) == [(10, 10)]
    assert assessed(table, ds.PPercent(10, level="record")) == [None]
    assert assessed(table, ds.MinContributors(3)) == [(33, 33)]
    assert assessed(table, ds.MinContributors(3, level="record")) == [None]
    assert assessed(table, ds.MinFrequency(3)) == [None]


def test_a_holding_with_weights_has_the_mean_weight_of_its_records():
    # 100 of weight 4 and 10 of weight 7: the holding has 110 and stands for 470, that is 4.27 times 110.
    table = one_cell(turnover=[100, 10, 30], weight=[4, 7, 1], contributor=["x", "x", "y"], top=5)
    assert table.values.tolist() == [500]
    assert top_of(table)[:4] == [110, 110, 110, 110]
    # The fifth place: 30 of the holding's 110, and of the one firm with 30 as much as fits, 80 / 110.
    assert top_of(table)[4] == pytest.approx(30 + 30 * 80 / 110, abs=0.5)


# ---- waivers and requests ------------------------------------------------------------------------------------


def test_one_record_without_consent_withdraws_the_consent_of_the_holding():
    table = one_cell(turnover=[60, 40, 3], contributor=["x", "x", "y"], waiver=[True, False, True])
    assert assessed(table, ds.PPercent(10)) == [(10, 10)]
    table = one_cell(turnover=[60, 40, 3], contributor=["x", "x", "y"], waiver=[True, True, False])
    assert assessed(table, ds.PPercent(10)) == [(1, 1)]  # the holding can work out the 3 of the other
    table = one_cell(turnover=[60, 40, 3], contributor=["x", "x", "y"], waiver=[True, True, True])
    assert assessed(table, ds.PPercent(10), ds.MinContributors(3)) == [None]


def test_a_request_of_one_record_is_a_request_of_its_holding():
    table = one_cell(turnover=[20, 20, 60], contributor=["x", "x", "y"], request=[1, 0, 0])
    assert assessed(table, ds.Request(30)) == [(30, 30)]
    table = one_cell(turnover=[20, 20, 60], contributor=["x", "x", "y"], request=[2, 0, 0])
    assert assessed(table, ds.Request(30, 40)) == [None]


# ---- signs, shadow, zeros ------------------------------------------------------------------------------------


def test_a_holding_whose_records_add_up_to_something_positive_is_not_negative():
    table = one_cell(turnover=[100, -40, 50, 4], contributor=["x", "x", "y", "z"])
    # Per holding 60, 50, 4.
    assert assessed(table, ds.PPercent(10)) == [(2, 2)]
    with pytest.raises(InputError, match="cannot take negative contributions; 1 cell"):
        one_cell(turnover=[100, -40, 50, 4]).assess(ds.PPercent(10))


def test_absolute_contributions_are_compared_in_their_own_units():
    table = one_cell(turnover=[100, -99, 5], absolute=True)
    assert table.values.tolist() == [6]
    assert top_of(table) == [100, 99, 5]
    assert assessed(table, ds.PPercent(10))[0][1] == 5


def test_the_rules_look_at_the_shadow_variable():
    table = one_cell(turnover=[500, 300, 200], staff=[90, 6, 4], shadow="staff")
    # Staff: the rest of 4 is short of 9 by 5, that is 5 % of the cell.
    assert assessed(table, ds.PPercent(10)) == [(50, 50)]
    assert assessed(table, ds.MinContributors(4)) == [(300, 300)]


def test_a_record_with_zero_is_a_contributor_who_hides_nobody():
    table = one_cell(turnover=[0, 0, 100])
    assert table.contributions["holding"].count.tolist() == [3]
    assert assessed(table, ds.MinContributors(3)) == [(30, 30)]
    assert assessed(table, ds.PPercent(10)) == [(10, 10)]


def test_zeros_of_counts_are_cells_only_when_all_cells_are_tabulated():
    frame = pa.table({"sex": ["f", "f", "m"], "region": ["n", "n", "s"]})
    by = {"sex": ds.Hierarchy.flat(["f", "m"]), "region": ds.Hierarchy.flat(["n", "s"])}
    table = ds.tabulate(frame, by=by, cells="all")
    found = assessed(table, ds.ZeroUnsafe())
    unsafe = [table.cell_name(row) for row, level in enumerate(found) if level == (0, 1)]
    assert unsafe == ["sex=f, region=s", "sex=m, region=n"]
