"""Tables: finding cells, marking them, looking at them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet import Hierarchy, Table, TableSpec
from discreet.errors import InputError, ParameterError
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.model.table import CellStatus, cell_numbers, unit_number


@pytest.fixture
def table() -> Table:
    return ds.examples.small_table()


def sparse_table() -> Table:
    """Two by two codes without totals, of which one combination does not occur."""
    sex, age = Hierarchy.flat(["f", "m"], total=None), Hierarchy.flat(["young", "old"])
    return Table(
        spec=TableSpec({"sex": sex, "age": age}, "income"),
        codes=np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]], np.int32),
        value=np.array([-250, 1250, -1500, 300, 300]),
        decimals=2,
        empty=np.zeros(5, np.bool_),
    )


# ---- finding ------------------------------------------------------------------------------------------------------


def test_a_variable_left_out_stands_at_its_total(table):
    assert table.cell_name(table.row(trade="food")) == "trade=food, region=Total"
    assert table.row() == 0
    assert table.row(trade="retail", region="South") == 7


def test_a_variable_without_a_total_must_be_named():
    with pytest.raises(ParameterError, match=r"'sex' has no total; name one of its codes"):
        sparse_table().row(age="young")


def test_unknown_variables_and_codes_are_named(table):
    with pytest.raises(ParameterError, match=r"no variable 'regionn' in table 'turnover'. Did you mean 'region'"):
        table.row(regionn="South")
    with pytest.raises(InputError, match=r"no code 'Sout' in the hierarchy. Did you mean 'South'"):
        table.row(region="Sout")


def test_a_cell_that_does_not_occur_is_said_to_be_empty():
    with pytest.raises(InputError, match=r"has no cell \('m', 'old'\): it is empty"):
        sparse_table().row(sex="m", age="old")


def test_rows_of_absent_cells_are_minus_one():
    wanted = np.array([[1, 2], [0, 2], [1, 1]], np.int32)
    assert sparse_table().find(wanted).tolist() == [-1, 2, 4]
    assert sparse_table().at(np.zeros(0, np.int64)).find(wanted).tolist() == [-1, -1, -1]


def test_cell_numbers_follow_the_order_of_the_codes():
    codes = np.array([[0, 0], [0, 4], [1, 0], [2, 3]], np.int32)
    assert cell_numbers(codes, (3, 5)).tolist() == [0, 4, 5, 13]


def test_too_many_possible_cells_are_refused():
    with pytest.raises(InputError, match=r"2000000000 x 2000000000 x 2 possible cells is too large"):
        cell_numbers(np.zeros((0, 3), np.int32), (2_000_000_000, 2_000_000_000, 2))


# ---- what cells are ------------------------------------------------------------------------------------------------


def test_values_are_units_with_a_decimal_point():
    assert sparse_table().values.tolist() == [-2.5, 12.5, -15.0, 3.0, 3.0]
    assert unit_number(1250, 2) == 12.5
    assert unit_number(1250, 0) == 1250


def test_a_table_without_negative_values_is_known_to_have_none(table):
    lower, upper = table.attacker_bounds()
    assert (lower == 0).all()
    assert (upper == NO_UPPER).all()
    sparse = sparse_table()
    assert ((sparse.attacker_bounds()[0] == NO_LOWER) == (sparse.value < 0)).all()


def test_given_bounds_replace_what_everybody_knows(table):
    lower, upper = np.full(16, NO_LOWER), np.full(16, NO_UPPER)
    lower[3], upper[4] = 5, 1000
    found = table.with_(lower_bound=lower, upper_bound=upper).attacker_bounds()
    assert found[0].tolist() == [0, 0, 0, 5, *[0] * 12]
    assert found[1][4] == 1000


@pytest.mark.parametrize(("letter", "status"), [("V", 1), ("S", 1), ("s", 1), ("u", 2), ("M", 3), ("P", 4), ("E", 0)])
def test_status_letters(letter, status):
    assert CellStatus.from_letter(letter) == status


@pytest.mark.parametrize("letter", ["", "X", "VV"])
def test_other_letters_are_refused(letter):
    with pytest.raises(InputError, match=f"Status '{letter}' is not known. Use V"):
        CellStatus.from_letter(letter)


# ---- marking -------------------------------------------------------------------------------------------------------


def test_marks_count_before_the_rules(table):
    assessed = table.marked({("retail", "South"): "P", ("food", "North"): "U"}).assess(ds.PPercent(10))
    assert CellStatus(assessed.status[7]).letter == "P"
    assert np.flatnonzero(assessed.unsafe).tolist() == [table.row(trade="food", region="North")]


def test_a_mark_can_be_taken_back(table):
    marked = table.marked({("retail", "South"): "P"}).marked({("retail", "South"): "V"}).assess(ds.PPercent(10))
    assert np.flatnonzero(marked.unsafe).tolist() == [7]


def test_an_assessed_table_cannot_be_marked(table):
    with pytest.raises(ParameterError, match=r"assessed already.*Mark cells first, then call assess"):
        table.assess(ds.PPercent(10)).marked({("food", "North"): "U"})


def test_a_given_pattern_does_not_make_an_unsafe_cell_safer(table):
    pattern = table.with_(manual=np.full(len(table), CellStatus.SECONDARY, np.int8)).assess(ds.PPercent(10))
    assert pattern.status[7] == CellStatus.UNSAFE
    assert set(np.delete(pattern.status, 7)) == {CellStatus.SECONDARY}


def test_only_cells_with_negative_contributions_have_no_known_floor(table):
    holding = table.contributions["holding"]
    signed = table.with_(contributions={"holding": replace(holding, negative=table.value == 40)})
    assert (table.attacker_bounds()[0] == 0).all()
    assert ((signed.attacker_bounds()[0] == NO_LOWER) == (table.value == 40)).all()


def test_levels_by_hand_are_never_rounded_down(table):
    marked = table.marked({("food", "North"): "U"}, protection=(0.5, 2.2))
    row = table.row(trade="food", region="North")
    assert (marked.manual_lower[row], marked.manual_upper[row]) == (1, 3)
    exact = sparse_table().marked({("f", "young"): "U"}, protection=(0.07, 0.1 + 0.2))
    assert (exact.manual_lower[1], exact.manual_upper[1]) == (7, 30)


@pytest.mark.parametrize("protection", [(-1, 2), (2, -0.1), (float("nan"), 1), (1, float("inf"))])
def test_impossible_levels_are_refused(table, protection):
    with pytest.raises(ParameterError, match=r"protection=.* is not allowed.*neither can be negative"):
        table.marked({("food", "North"): "U"}, protection=protection)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({("food",): "U"}, "has 2 codes, .* has 1"),
        ({("food", "North"): "M"}, "cannot be marked 'M' by hand. Use 'U', 'P' or 'V'"),
        ({("food", "North"): "E"}, "cannot be marked 'E' by hand"),
    ],
)
def test_impossible_marks_are_refused(table, cells, words):
    with pytest.raises(ParameterError, match=words):
        table.marked(cells)


# ---- looking -------------------------------------------------------------------------------------------------------


def test_a_view_holds_the_cells_with_the_given_codes(table):
    north = table.view(region="North")
    assert [north.cell_name(i) for i in range(len(north))] == [
        "trade=Total, region=North",
        "trade=retail, region=North",
        "trade=food, region=North",
        "trade=crafts, region=North",
    ]
    assert north.values.tolist() == [250.0, 120.0, 90.0, 40.0]


def test_views_take_several_codes_and_variables(table):
    part = table.view(region=["North", "South"], trade="food")
    assert part.values.tolist() == [90.0, 150.0]
    assert part.contributions["holding"].count.tolist() == [9, 9]
    assert len(part.view(region="East")) == 0


def test_a_view_keeps_what_the_rules_said(table):
    part = table.assess(ds.PPercent(10)).view(region="South", trade="retail")
    assert part.unsafe.tolist() == [True]
    assert part.columns()["status"] == ["U"]


def test_views_name_what_is_unknown(table):
    with pytest.raises(ParameterError, match=r"no variable 'area'"):
        table.view(area="North")
    with pytest.raises(InputError, match=r"no code 'Nort'"):
        table.view(region="Nort")


def test_codes_that_are_numbers_can_be_viewed_by_number():
    years = Hierarchy.flat([2024, 2025])
    frame = pa.table({"year": ["", "2024", "2025"], "value": [5, 2, 3]})
    table = ds.Table.from_cells(frame, {"year": years})
    assert table.view(year=2024).values.tolist() == [2.0]


def test_columns_are_plain_lists(table):
    columns = table.assess(ds.PPercent(10)).columns()
    assert list(columns) == [
        "trade", "region", "value", "contributors", "status", "lower_protection", "upper_protection",
    ]  # fmt: skip
    assert columns["status"].count("U") == 1
    assert columns["value"][7] == 200
    assert isinstance(columns["value"][7], int)


def test_text_shows_counts_and_the_first_cells(table):
    lines = str(table.assess(ds.PPercent(10))).splitlines()
    assert lines[0] == "Table turnover: 16 cells by trade x region (15 safe, 1 unsafe)"
    assert lines[1].split() == [
        "trade", "region", "value", "contributors", "status", "lower_protection", "upper_protection",
    ]  # fmt: skip
    assert lines[-1] == "... 4 more cells (to_frame() shows all)"
    assert len(lines) == 2 + 12 + 1
    assert repr(table) == str(table)


def test_numbers_are_aligned_to_the_right_with_thousands_separated():
    frame = pa.table({"r": ["", "a", "b"], "value": [1234567, 7, 1234560]})
    lines = str(ds.Table.from_cells(frame, {"r": Hierarchy.flat(["a", "b"])}, name="t")).splitlines()
    assert lines[1:] == [
        "r          value  status",
        "Total  1,234,567  ?",
        "a              7  ?",
        "b      1,234,560  ?",
    ]


def test_html_escapes_codes_and_names():
    frame = pa.table({"r": ["", "<b>&", "x"], "value": [3.5, 1.25, 2.25]})
    table = ds.Table.from_cells(frame, {"r": Hierarchy.flat(["<b>&", "x"])}, name="<script>alert(1)</script>")
    html = table._repr_html_()
    assert "<script>" not in html
    assert "<strong>&lt;script&gt;alert(1)&lt;/script&gt;: 3 cells by r</strong>" in html
    assert '&lt;b&gt;&amp;</span></th><td class="n">1.25</td>' in html
    assert html.count("<tr>") == 4


def test_html_of_a_large_table_says_how_much_is_not_shown():
    codes = [f"c{i}" for i in range(40)]
    frame = pa.table({"r": ["", *codes], "value": [40, *[1] * 40]})
    html = ds.Table.from_cells(frame, {"r": Hierarchy.flat(codes)})._repr_html_()
    assert html.count("<tr>") == 1 + 25
    assert "16 more rows (pivot().to_frame() shows all)" in html
