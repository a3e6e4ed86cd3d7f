"""Ready-made tables: what can be given, what is computed, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

import discreet as ds
from discreet import Hierarchy, Table
from discreet.errors import DiscreetError, InputError, NeedsError, ParameterError
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.model.table import CellStatus
from discreet.relations import build_system
from tests.relations.random_tables import tables

REGION = Hierarchy.flat(["N", "S"])
SEX = Hierarchy.flat(["f", "m"])
DEEP = Hierarchy.from_nested({"N": ["n1", "n2"], "S": ["s1"]})
BY = {"region": REGION, "sex": SEX}
CELLS = {
    "region": ["", "", "", "N", "N", "N", "S", "S", "S"],
    "sex": ["", "f", "m"] * 3,
    "value": [36, 12, 24, 15, 5, 10, 21, 7, 14],
}


def cells(**columns: list[Any]) -> pa.Table:
    return pa.table({**CELLS, **columns})


def ready(
    by: dict[str, Hierarchy] | None = None, *, columns: dict[str, list[Any]] | None = None, **options: Any
) -> Table:
    return Table.from_cells(cells(**(columns or {})), by or BY, **options)


def one_way(*rows: tuple[Any, ...], names: str = "region value", **options: Any) -> Table:
    """A table of one variable, from rows."""
    frame = pa.table(dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True)))
    return Table.from_cells(frame, {"region": options.pop("hierarchy", REGION)}, **options)


def refusal(call) -> DiscreetError:
    with pytest.raises(DiscreetError) as caught:
        call()
    assert caught.value.hint, "every refusal says what to do next"
    return caught.value


# ---- what can be given ---------------------------------------------------------------------------------------------


def test_cells_stand_in_canonical_order_whatever_the_order_of_the_rows():
    shuffled = cells().take([4, 8, 0, 2, 6, 1, 3, 7, 5])
    table = Table.from_cells(shuffled, BY)
    assert table.value.tolist() == ready().value.tolist() == CELLS["value"]
    assert table.row(region="N", sex="m") == 5
    assert not table.from_records


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv", "semicolons", "parquet", "totals by name"])
def test_every_kind_of_source_gives_the_same_table(tmp_path: Path, kind: str):
    frame = cells().to_pandas()
    source: Any
    options = {}
    if kind == "pandas":
        source = frame
    elif kind == "polars":
        source = pl.DataFrame(CELLS)
    elif kind == "parquet":
        source = tmp_path / "cells.parquet"
        frame.to_parquet(source)
    elif kind == "totals by name":
        source = frame.replace({"": "Total"})
    else:
        source = tmp_path / "cells.csv"
        options = {} if kind == "csv" else {"delimiter": ";"}
        frame.to_csv(source, index=False, sep=options.get("delimiter", ","))
    table = Table.from_cells(source, BY, **options)
    assert table.value.tolist() == CELLS["value"]
    assert table.codes.tolist() == ready().codes.tolist()


def test_codes_may_be_numbers_and_gaps_are_totals():
    frame = pd.DataFrame({"year": [np.nan, 2024, 2025], "value": [5, 2, 3]})
    table = Table.from_cells(frame, {"year": Hierarchy.flat([2024, 2025])})
    assert table.view(year="2025").values.tolist() == [3.0]


def test_the_value_column_names_the_variable_unless_told():
    assert ready().spec.value == "value"
    assert ready(variable="turnover").spec.identity == ("turnover", "", "", "")
    frame = cells().rename_columns(["region", "sex", "turnover"])
    assert Table.from_cells(frame, BY, "turnover").spec.value == "turnover"


def test_spec_options_are_part_of_the_identity():
    table = ready(name="t", period="2024", where="size > 9", weight="w")
    assert table.name == "t"
    assert table.spec.identity == ("value", "size > 9", "2024", "w")


def test_counts_are_counts():
    table = ready(counts=True)
    assert table.spec.value is None
    assert int(table.assess(ds.MinFrequency(6)).unsafe.sum()) == 1


def test_negative_values_are_allowed():
    table = one_way(("", -1), ("N", -5), ("S", 4))
    assert ((table.attacker_bounds()[0] == NO_LOWER) == (table.value < 0)).all()


def test_decimals_are_found_or_given():
    found = one_way(("", 3.75), ("N", 1.5), ("S", 2.25))
    assert (found.decimals, found.spec.decimals) == (2, 2)
    assert found.value.tolist() == [375, 150, 225]
    assert one_way(("", 3), ("N", 1), ("S", 2), decimals=2).value.tolist() == [300, 100, 200]


def test_sums_computed_in_floating_point_add_up_to_the_cent():
    parts = [1234567.11, 2345678.22, 0.1, 0.2, 1e9 + 0.33]
    total = 0.0
    for part in parts:
        total += part
    codes = [f"c{i}" for i in range(len(parts))]
    table = one_way(("", total), *zip(codes, parts, strict=True), hierarchy=Hierarchy.flat(codes))
    assert table.decimals == 2
    assert table.value[0] == table.value[1:].sum()


@pytest.mark.parametrize("kind", ["csv", "decimal"])
def test_values_of_1e15_with_two_decimals_are_exact(tmp_path: Path, kind: str):
    values = ["2000000000000000.10", "1000000000000000.07", "1000000000000000.03"]
    source: Any = tmp_path / "cells.csv"
    if kind == "csv":
        source.write_text("region,value\n" + "".join(f"{r},{v}\n" for r, v in zip(["", "N", "S"], values, strict=True)))
    else:
        source = pa.table({"region": ["", "N", "S"], "value": [Decimal(v) for v in values]})
    table = Table.from_cells(source, {"region": REGION})
    assert table.decimals == 2
    assert table.value.tolist() == [200000000000000010, 100000000000000007, 100000000000000003]


def test_whole_numbers_beyond_floating_point_are_exact():
    assert one_way(("", 2**53 + 1), ("N", 2**53), ("S", 1)).value.tolist() == [2**53 + 1, 2**53, 1]


def test_an_empty_value_is_an_empty_cell():
    table = one_way(("", 5), ("N", 5), ("S", None))
    assert table.empty.tolist() == [False, False, True]
    assert table.columns()["status"] == ["?", "?", "E"]


def test_empty_cells_may_be_left_out():
    assert len(one_way(("", 5), ("N", 5))) == 2


def test_one_cell_is_a_table():
    table = one_way(("N", 5), hierarchy=Hierarchy.flat(["N", "S"], total=None))
    assert table.values.tolist() == [5.0]


# ---- statuses, levels, bounds, costs, keys -------------------------------------------------------------------------


def test_status_letters_of_both_kinds_are_read():
    table = one_way(
        ("", 15, "V"), ("a", 1, " u "), ("b", 2, "M"), ("c", 3, "P"), ("d", 4, "S"), ("e", 5, None), ("f", 0, "E"),
        names="region value status", hierarchy=Hierarchy.flat(list("abcdef")),
    )  # fmt: skip
    assert table.columns()["status"] == ["?", "U", "M", "P", "?", "?", "E"]
    assert table.assess().columns()["status"] == ["V", "U", "M", "P", "V", "V", "E"]
    assert table.empty.tolist() == [False] * 6 + [True]


def test_levels_are_rounded_up_and_bounds_inwards():
    table = one_way(
        ("", 30, None, None, None, None),
        ("N", 10, 0.5, 2.000000001, 7.2, 12.9),
        ("S", 20, 0, 3, None, 25),
        names="region value lower_protection upper_protection lower_bound upper_bound",
    )
    assert table.manual_lower.tolist() == [0, 1, 0]
    assert table.manual_upper.tolist() == [0, 3, 3]
    assert table.lower_bound.tolist() == [NO_LOWER, 8, NO_LOWER]
    assert table.upper_bound.tolist() == [NO_UPPER, 12, 25]
    assert table.attacker_bounds()[0].tolist() == [0, 8, 0]


def test_bounds_of_decimal_values_keep_their_decimals():
    table = one_way(("", 3.75, 3.75), ("N", 1.5, 1.4), ("S", 2.25, None), names="region value lower_bound")
    assert table.lower_bound.tolist() == [375, 140, NO_LOWER]


def test_given_levels_reach_the_assessment():
    table = one_way(
        ("", 30, "V", 0, 0), ("N", 10, "U", 4, 6), ("S", 20, "V", 0, 0),
        names="region value status lower_protection upper_protection",
    ).assess()  # fmt: skip
    assert table.assessment.lower.tolist() == [0, 4, 0]
    assert table.assessment.upper.tolist() == [0, 6, 0]


def test_costs_are_used_as_given():
    table = one_way(("", 30, 9.5), ("N", 10, 0), ("S", 20, 2), names="region value cost")
    assert build_system(table).cost("variable").tolist() == [9.5, 0.0, 2.0]


def test_a_cell_without_a_cost_is_refused_unless_it_is_empty():
    with pytest.raises(InputError, match="'cost' is empty in row 2"):
        one_way(("", 30, 9.5), ("N", 10, None), ("S", 20, 2), names="region value cost")
    table = one_way(("", 20, 9.5), ("N", None, None), ("S", 20, 2), names="region value cost")
    assert table.cost.tolist() == [9.5, 0.0, 2.0]


def test_record_keys_are_whole_numbers_or_fractions():
    whole = one_way(("", 3, 900), ("N", 1, 400), ("S", 2, 500), names="region value record_key")
    assert (whole.key_sum.tolist(), whole.key_modulus) == ([900, 400, 500], 0)
    parts = one_way(("", 3, 0.25), ("N", 1, 0.75), ("S", 2, 0.5), names="region value record_key")
    assert (parts.key_sum.tolist(), parts.key_modulus) == ([25 * 10**13, 75 * 10**13, 50 * 10**13], 10**15)


def test_contributors_and_largest_contributions_feed_the_rules():
    table = one_way(
        ("", 30, 9, 12, 8), ("N", 10, 4, 3, 3), ("S", 20, 5, 12, 7), names="region value contributors top1 top2"
    )
    found = table.contributions["holding"]
    assert found.count.tolist() == [9, 4, 5]
    assert found.top.tolist() == [[12, 8], [3, 3], [12, 7]]
    assert np.flatnonzero(table.assess(ds.PPercent(10)).unsafe).tolist() == [2]


def test_contributions_may_have_more_decimals_than_the_published_value():
    table = one_way(("", 30, 12.25), ("N", 10, 3.5), ("S", 20, 12.25), names="region value top1")
    assert (table.spec.decimals, table.decimals) == (0, 2)
    assert table.value.tolist() == [3000, 1000, 2000]
    assert table.contributions["holding"].top[:, 0].tolist() == [1225, 350, 1225]
    assert table.columns()["value"] == [30.0, 10.0, 20.0]


def test_contributors_are_counted_where_only_contributions_are_given():
    table = one_way(("", 30, 20, 10), ("N", 10, 10, None), ("S", 20, 20, None), names="region value top1 top2")
    assert table.contributions["holding"].count.tolist() == [2, 1, 1]


# ---- computed totals -----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(tables((1, 2, 3)))
def test_computed_totals_are_those_that_were_left_out(table: Table):
    finest = np.all(np.column_stack([h.base[table.codes[:, k]] for k, h in enumerate(table.spec.hierarchies)]), axis=1)
    keep = np.flatnonzero(finest & ~table.empty)
    columns = table.at(keep).columns()
    frame = pa.table({name: columns[name] for name in (*table.variables, "value")})
    again = Table.from_cells(frame, table.spec.by, compute_totals=True)
    there = np.flatnonzero(~table.empty)
    assert again.codes.tolist() == table.codes[there].tolist()
    assert again.value.tolist() == table.value[there].tolist()


def test_given_totals_are_kept_and_checked():
    inner = cells().slice(3)
    assert Table.from_cells(inner, BY, compute_totals=True).value.tolist() == CELLS["value"]
    wrong = pa.table({**CELLS, "value": [37, *CELLS["value"][1:]]})
    with pytest.raises(InputError, match=r"2 relations do not add up"):
        Table.from_cells(wrong, BY, compute_totals=True)


def test_a_total_of_empty_cells_is_empty():
    table = one_way(("n1", 5), ("n2", 0), ("s1", None), hierarchy=DEEP, compute_totals=True)
    empty = dict(zip(table.columns()["region"], table.empty.tolist(), strict=True))
    assert empty == {"Total": False, "N": False, "n1": False, "n2": False, "S": True, "s1": True}


def test_an_empty_total_without_finer_cells_stays():
    table = one_way(("n1", 5), ("n2", 2), ("S", 0), hierarchy=DEEP, compute_totals=True)
    assert table.columns()["region"] == ["Total", "N", "n1", "n2", "S"]


def test_computed_totals_have_no_status_bounds_or_levels_of_their_own():
    table = one_way(
        ("N", 10, "U", 4, 6, 2, 50, 3.5, 7),
        ("S", 20, "V", 0, 0, None, None, 1.5, 5),
        names="region value status lower_protection upper_protection lower_bound upper_bound cost record_key",
        compute_totals=True,
    )
    assert table.columns()["status"] == ["?", "U", "?"]
    assert table.manual_lower.tolist() == [0, 4, 0]
    assert table.lower_bound.tolist() == [NO_LOWER, 2, NO_LOWER]
    assert table.upper_bound.tolist() == [NO_UPPER, 50, NO_UPPER]
    assert table.cost.tolist() == [30.0, 3.5, 1.5]  # a computed total costs its value
    assert table.key_sum.tolist() == [12, 7, 5]


def test_fractions_of_record_keys_are_added_up_to_one():
    table = one_way(("N", 1, 0.75), ("S", 2, 0.5), names="region value record_key", compute_totals=True)
    assert table.key_sum.tolist() == [25 * 10**13, 75 * 10**13, 50 * 10**13]


def test_contributors_of_computed_totals_are_not_made_up():
    error = refusal(lambda: one_way(("N", 10, 4), ("S", 20, 5), names="region value contributors", compute_totals=True))
    assert isinstance(error, NeedsError)
    assert error.message == "1 total was computed, and who contributes to them is not known."
    assert "disjoint=True" in error.hint


def test_contributors_need_not_be_disjoint_when_all_totals_are_given():
    rows = [("", 30, 6), ("N", 10, 4), ("S", 20, 5)]
    table = one_way(*rows, names="region value contributors", compute_totals=True)
    assert table.contributions["holding"].count.tolist() == [6, 4, 5]


def test_disjoint_contributors_add_up_and_keep_the_largest():
    table = one_way(
        ("n1", 30, 3, 20, 8), ("n2", 40, 2, 25, 15), ("s1", 9, 1, 9, None),
        names="region value contributors top1 top2", hierarchy=DEEP, compute_totals=True, disjoint=True,
    )  # fmt: skip
    found = table.contributions["holding"]
    assert found.count.tolist() == [6, 5, 3, 2, 1, 1]  # Total, N, n1, n2, S, s1
    assert found.top.tolist() == [[25, 20], [25, 20], [20, 8], [25, 15], [9, 0], [9, 0]]
    assert found.total.tolist() == table.value.tolist() == [79, 70, 30, 40, 9, 9]
    assert not found.negative.any()


def test_disjoint_contributors_of_given_totals_stay_as_given():
    table = one_way(
        ("N", 70, 4, 25), ("n1", 30, 3, 20), ("n2", 40, 2, 25), ("s1", 9, 1, 9),
        names="region value contributors top1", hierarchy=DEEP, compute_totals=True, disjoint=True,
    )  # fmt: skip
    assert table.contributions["holding"].count.tolist() == [6, 4, 3, 2, 1, 1]


def test_contributions_that_are_subtracted_are_marked_as_negative():
    balance = Hierarchy.flat(["N", "S"]).with_grouping("N-S", ["N"], minus=["S"])
    table = one_way(
        ("N", 30, 3), ("S", 10, 2), names="region value contributors",
        hierarchy=balance, compute_totals=True, disjoint=True,
    )  # fmt: skip
    assert table.values.tolist() == [40.0, 30.0, 10.0, 20.0]
    assert table.contributions["holding"].negative.tolist() == [False, False, False, True]


def test_a_cell_without_finer_cells_cannot_be_computed():
    error = refusal(lambda: one_way(("N", 5), ("s1", 2), hierarchy=DEEP, compute_totals=True))
    assert error.message == "1 total has a value but no parts in the table, first region=N ('region: N = n1 + n2')."


def test_totals_too_large_for_64_bits_are_refused():
    error = refusal(lambda: one_way(("N", 2**61), ("S", 2**61), compute_totals=True))
    assert "too large for exact 64-bit sums" in error.message


# ---- slack ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("total", "slack", "holds"),
    [(3, None, True), (4, None, False), (4, 1, True), (5, 1, False), (4, 0.6, False), (4, "rounded", True),
     (5, "rounded", False)],
)  # fmt: skip
def test_a_stated_slack_is_how_far_sums_may_be_off(total, slack, holds):
    if holds:
        assert one_way(("", total), ("N", 1), ("S", 2), slack=slack).values[0] == total
    else:
        error = refusal(lambda: one_way(("", total), ("N", 1), ("S", 2), slack=slack))
        assert error.message.startswith("1 relation does not add up; the worst is 'region: Total = N + S' in table ")


def test_slack_is_in_units_of_the_value():
    table = one_way(("", 3.76), ("N", 1.5), ("S", 2.25), slack=0.01)
    assert table.slack == 1
    assert one_way(("", 3.76), ("N", 1.5), ("S", 2.25), slack="rounded").slack == -1


def test_half_a_unit_is_that_of_the_published_value():
    """Contributions with more decimals must not make the rounding of the values seem finer than it was."""
    table = one_way(("", 4, 1.25), ("N", 1, 0.75), ("S", 2, 1.25), names="region value top1", slack="rounded")
    assert (table.decimals, table.slack) == (0, -1)


def test_a_rounded_table_with_a_rounded_largest_contribution_is_accepted():
    table = one_way(("", 4, 3), ("N", 1, 1), ("S", 2, 3), names="region value top1", slack="rounded")
    assert table.contributions["holding"].top[:, 0].tolist() == [3, 1, 3]


@pytest.mark.parametrize("slack", [-1, True, "half", float("nan"), float("inf")])
def test_an_impossible_slack_is_refused(slack):
    error = refusal(lambda: ready(slack=slack))
    assert isinstance(error, ParameterError)
    assert error.message == f"slack={slack!r} is not allowed."


# ---- what is refused -----------------------------------------------------------------------------------------------


def test_a_table_that_does_not_add_up_names_the_worst_relation_only():
    value = [36, 12, 25, 15, 5, 10, 21, 7, 34]
    error = refusal(lambda: ready(columns={"value": value}, name="t"))
    assert error.message == "3 relations do not add up; the worst is 'sex: Total = f + m' at region=S in table 't'."
    assert "compute_totals=True" in error.hint
    assert error.details == "The parts less the total give 20."


def test_a_duplicate_cell_is_named_with_its_row():
    rows = [("", 3), ("N", 1), ("S", 2), ("N", 1)]
    error = refusal(lambda: one_way(*rows))
    assert error.message == "The cell region=N stands twice, the second time in row 4."
    error = refusal(lambda: one_way(("", 3), ("N", 1), ("S", 2), ("Total", 3)))
    assert error.message == "The cell region=Total stands twice, the second time in row 4."


def test_a_missing_subtotal_is_named():
    rows = [("", 9), ("n1", 4), ("n2", 3), ("S", 2), ("s1", 2)]
    error = refusal(lambda: one_way(*rows, hierarchy=DEEP))
    assert error.message == "1 total is missing, first the cell region=N."
    assert "compute_totals=True" in error.hint


def test_missing_totals_of_several_variables_are_counted():
    error = refusal(lambda: Table.from_cells(cells().slice(4, 2), BY))
    assert error.message == "3 totals are missing, first the cell region=Total, sex=f."


def test_a_difference_that_is_empty_may_be_absent():
    """Nobody lives outside N, so that the cell for the others does not exist."""
    others = Hierarchy.flat(["N", "S"]).with_grouping("exN", ["Total"], minus=["N"])
    assert len(one_way(("", 5), ("N", 5), hierarchy=others)) == 2
    error = refusal(lambda: one_way(("", 5), ("N", 3), ("S", 2), hierarchy=others))
    assert error.message == "1 total is missing, first the cell region=exN."


def test_totals_without_parts_are_named():
    error = refusal(lambda: one_way(("", 9), ("N", 7), ("S", 2), ("s1", 2), hierarchy=DEEP))
    assert error.message == "1 total has a value but no parts in the table, first region=N ('region: N = n1 + n2')."
    assert "leave their codes out of the hierarchy" in error.hint


def test_an_unknown_column_is_named():
    with pytest.raises(InputError, match=r"no column 'turnovr' in the data. Available: 'region', 'sex', 'value'"):
        ready(value="turnovr")
    with pytest.raises(InputError, match=r"no column 'reg' in the data. Did you mean 'region'"):
        Table.from_cells(cells(), {"reg": REGION, "sex": SEX})


def test_unknown_codes_are_listed_with_how_often_they_occur():
    rows = [("", 3), ("N", 1), ("S", 2), ("W", 0), ("X", 0), ("W", 0)]
    error = refusal(lambda: one_way(*rows))
    assert (
        error.message == "Variable 'region' has 2 codes that its hierarchy does not have: 'W' (2 cells), 'X' (1 cell)."
    )


def test_an_empty_code_needs_a_total_to_stand_for():
    no_total = Hierarchy.flat(["N", "S"], total=None)
    error = refusal(lambda: one_way(("", 3), (None, 1), ("S", 2), hierarchy=no_total))
    assert error.message == "Variable 'region' is empty in 2 cells, and its hierarchy has no total to stand for."


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            [36.0, float("inf"), *CELLS["value"][2:]],
            "In column 'value' 1 value is not finite, first in ",
        ),
        (
            [36.0, float("nan"), *CELLS["value"][2:]],
            "In column 'value' 1 value is not finite, first in ",
        ),
        (
            ["36", "twelve", *map(str, CELLS["value"][2:])],
            "Column 'value' holds text where numbers are needed, first in",
        ),
        ([None] * 9, "Column 'value' is empty in every cell."),
    ],
)
def test_values_must_be_finite_numbers(value, words):
    assert refusal(lambda: ready(columns={"value": value})).message.startswith(words)


def test_a_variable_named_like_a_column_is_refused():
    frame = pa.table({"status": ["", "N", "S"], "value": [3, 1, 2]})
    with pytest.raises(ParameterError, match=r"cannot be called 'status': the cell files have a column of that name"):
        Table.from_cells(frame, {"status": REGION})


def test_unknown_options_are_refused():
    error = refusal(lambda: ready(titl="x"))
    assert isinstance(error, ParameterError)
    assert "'titl'" in error.message


@pytest.mark.parametrize(
    ("names", "row", "words"),
    [
        ("contributors", 0, "1 cell has a value but no contributors, first region=S."),
        ("contributors", -1, "Column 'contributors' is not a whole number of at least 0 in row 3."),
        ("contributors", 1.5, "Column 'contributors' is not a whole number of at least 0 in row 3."),
        ("top1", 21, "1 cell has a largest contribution above the value, first region=S."),
        ("top1 top2", (12, 9), "1 cell has contributions above the value, first region=S."),
        ("top1 top2", (5, 9), "1 cell has top2 above top1, first region=S."),
        ("contributors top1 top2", (1, 9, 3), "1 cell has more contributions in top1, top2, ... than cont"),
        ("status", "Q", "Row 3: Status 'Q' is not known."),
        ("status", "E", "1 cell has status E but a value, first region=S."),
        ("lower_bound", 21, "1 cell lies below the lower bound, first region=S."),
        ("upper_bound", 19, "1 cell lies above the upper bound, first region=S."),
        ("lower_protection", -1, "Column 'lower_protection' is negative in row 3."),
        ("upper_protection", -0.5, "Column 'upper_protection' is negative in row 3."),
        ("cost", -2, "Column 'cost' is negative in row 3."),
        ("record_key", -3, "Column 'record_key' must hold fractions in [0, 1) or whole numbers of at least 0."),
        ("record_key", 1.5, "Column 'record_key' must hold fractions in [0, 1) or whole numbers of at least 0."),
    ],
)  # fmt: skip
def test_contradictions_are_named(names, row, words):
    row = row if isinstance(row, tuple) else (row,)
    sound = {"contributors": 5, "top1": 4, "top2": 2, "status": "V", "lower_bound": 0, "upper_bound": 99}
    others = tuple(sound.get(name, 0) for name in names.split())
    rows = [("", 30, *others), ("N", 10, *others), ("S", 20, *row)]
    assert refusal(lambda: one_way(*rows, names=f"region value {names}")).message.startswith(words)


@pytest.mark.parametrize("letter", ["U", "M", "P"])
def test_an_empty_cell_cannot_be_withheld_or_forced(letter):
    rows = [("", 10, "V"), ("N", 10, "V"), ("S", None, letter)]
    error = refusal(lambda: one_way(*rows, names="region value status"))
    assert error.message == "1 cell has status U, M or P but no value, first region=S."


def test_an_empty_cell_has_no_contributors():
    error = refusal(lambda: one_way(("", 10, 3), ("N", 10, 3), ("S", None, 1), names="region value contributors"))
    assert error.message == "1 cell is empty, but not without contributors, first region=S."


def test_counts_are_not_negative():
    error = refusal(lambda: one_way(("", 1), ("N", 3), ("S", -2), counts=True))
    assert error.message == "1 cell has a negative count, first region=S."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The file 'cells.csv' is empty."),
        ("region,value\n", "The data have no records."),
        ("region;value\n;3\nN;1\nS;2\n", "The file 'cells.csv' is separated by ';', not by ','."),
        ("region,value\n,3\nN,1\nK\xf6ln,2\n".encode("latin-1"), "The file 'cells.csv' is not UTF-8 text."),
        ("region,value\n,3\nN,1,9\nS,2\n", "The file 'cells.csv' is not a regular csv file."),
    ],
)
def test_files_that_cannot_be_used_are_refused(tmp_path: Path, text, words):
    path = tmp_path / "cells.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert refusal(lambda: Table.from_cells(path, {"region": REGION})).message == words


def test_messages_hold_no_values():
    """What a refusal says in public are names, codes and rows."""
    rows = [("", 777, 5), ("N", 555, 3), ("S", 222, 333)]
    for names in ("top1", "lower_bound"):
        assert not {"777", "555", "222", "333"} & set(str(refusal(
            lambda names=names: one_way(*rows, names=f"region value {names}"))).replace(",", " ").split())  # fmt: skip


# ---- whole ways ----------------------------------------------------------------------------------------------------


def test_what_was_read_can_be_protected_and_verified():
    table = ready(columns={"status": ["V"] * 4 + ["U"] + ["V"] * 4, "upper_protection": [0.0] * 4 + [2.0] + [0.0] * 4})
    released = ds.protect(table.assess(), ds.Suppress())
    assert released.verify().holds
    assert released.custodian.withheld(0)[table.row(region="N", sex="f")]


def test_large_tables_are_read_quickly_enough_to_be_useful():
    """Codes are looked up per code, not per cell: forty thousand cells of two hundred codes."""
    codes = [f"c{i}" for i in range(200)]
    h = Hierarchy.flat(codes)
    pairs = list(product(codes, codes))
    frame = pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "value": np.ones(len(pairs), np.int64)})
    table = Table.from_cells(frame, {"a": h, "b": h}, compute_totals=True)
    assert len(table) == 201**2
    assert table.value[0] == 40_000
    assert CellStatus(table.status[0]).letter == "V"


def test_cells_that_were_not_judged_are_left_to_the_rules():
    table = one_way(("", 15, "?"), ("N", 5, "U"), ("S", 10, "?"), names="region value status")
    assert table.assess().columns()["status"] == ["V", "U", "V"]
    again = ds.Table.from_cells(one_way(("", 5), ("N", 5)).to_frame(), by={"region": Hierarchy.flat(["N", "S"])})
    assert again.manual is None
    assert not again.assess().judged
