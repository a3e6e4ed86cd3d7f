"""Output checking of what one does not see at once: totals under any name, single parts, decimals, hidden content."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds

NAMES = st.sampled_from(["Total", "Insgesamt", "TOTAL", "To\u200btal", "totals", "Alles", "T", "0"])


@st.composite
def tables(draw):
    """A table of two variables with its margins under any names, some cells withheld, and the same with hierarchies."""
    shape = draw(st.tuples(st.integers(1, 3), st.integers(2, 3)))
    full = np.array([draw(st.integers(0, 9)) for _ in range(shape[0] * shape[1])]).reshape(shape)
    for axis in range(2):
        full = np.concatenate((full.sum(axis=axis, keepdims=True), full), axis=axis)
    names = [draw(NAMES), draw(NAMES)]
    rows, columns = ([names[k], *"abc"[: shape[k]]] for k in range(2))
    hidden = [[draw(st.sampled_from([False, False, True])) for _ in columns] for _ in rows]
    hidden[0][0] = False
    cells = [(i, j) for i in range(len(rows)) for j in range(len(columns))]
    cells = draw(st.permutations(cells))
    table = pa.table(
        {
            "r": [rows[i] for i, _ in cells],
            "s": [columns[j] for _, j in cells],
            "value": ["x" if hidden[i][j] else str(full[i, j]) for i, j in cells],
        }
    )
    by = {"r": ds.Hierarchy.flat(rows[1:], total=rows[0]), "s": ds.Hierarchy.flat(columns[1:], total=columns[0])}
    return table, by


@settings(max_examples=80, deadline=None)
@given(drawn=tables())
def test_nothing_passes_without_hierarchies_that_would_not_pass_with_them(drawn):
    table, by = drawn
    known = ds.check_output(table, by, counts=True)
    found = ds.check_output(table, list(by), counts=True)
    if not known.holds:
        assert not found.holds


@pytest.mark.parametrize("name", ["Insgesamt", "TOTAL", "Tot\u00adal", "Alles zusammen", "99"])
def test_a_total_is_found_by_adding_up_whatever_its_name(name):
    shown = pa.table(
        {
            "r": [name, "a", "b"] * 3,
            "s": ["2023"] * 3 + ["2024"] * 3 + ["2025"] * 3,
            "value": ["10", "4", "6", "9", "2", "7", "8", "x", "5"],
        }
    )
    by = {"r": None, "s": ds.Hierarchy.flat(["2023", "2024", "2025"])}
    found = ds.check_output(shown, by)
    assert not found.holds
    assert dict(zip(found.cells, found.recomputed.tolist(), strict=True))["r=a, s=2025"]
    assert any("is the sum of 2 others: it adds up in 2 lines" in text for text in found.verdict.asserted)


def test_where_no_total_is_found_nothing_is_called_proved():
    shown = pa.table({"r": ["Alles", "a", "b"], "value": ["10", "x", "x"]})
    assert [r.check for r in ds.check_output(shown, ["r"]).verdict.refused] == ["relations"]
    assert ds.check_output(shown, ["r"], total="Alles").holds
    denied = ds.check_output(shown, ["r"], total=None)
    assert denied.holds
    assert "that no code of r is the total of others" in denied.verdict.asserted


def test_subtotals_are_found_too():
    values = {"all": (60, 41, 50), "A": (10, 11, 12), "A1": (4, 5, 9), "A2": (6, 6, 3), "B": (50, 30, 38)}
    shown = {"r": [], "s": [], "value": []}
    for year in range(3):
        for code, numbers in values.items():
            shown["r"].append(code)
            shown["s"].append(f"y{year}")
            shown["value"].append("x" if (code, year) == ("A1", 2) else str(numbers[year]))
    found = ds.check_output(pa.table(shown), {"r": None, "s": ds.Hierarchy.flat(["y0", "y1", "y2"])})
    assert dict(zip(found.cells, found.recomputed.tolist(), strict=True))["r=A1, s=y2"]


def test_a_withheld_code_whose_only_parent_is_shown_is_known():
    by = {"r": ds.Hierarchy.from_nested({"A": ["a"], "B": ["b1", "b2"]})}
    shown = pa.table({"r": ["Total", "A", "a", "B", "b1", "b2"], "value": ["30", "10", "x", "20", "x", "x"]})
    found = ds.check_output(shown, by)
    assert [(r.check, r.where) for r in found.verdict.refused] == [("recomputed", "'r=a'")]
    assert dict(zip(found.cells, zip(found.lower, found.upper, found.recomputed, strict=True), strict=True))["r=a"] == (
        10,
        10,
        True,
    )
    one = pa.table({"r": ["Total", "a"], "value": ["30", "x"]})
    assert not ds.check_output(one, ["r"]).holds


@pytest.mark.parametrize(("text", "half"), [("10.0", 0.05), ("10", 0.5), ("10.00", 0.005)])
def test_half_a_unit_is_that_of_the_last_decimal_that_is_written(text, half):
    shown = pa.table({"r": ["Total", "a", "b"], "value": [text, "x", "x"]})
    found = ds.check_output(shown, ["r"], within="rounded")
    ends = dict(zip(found.cells, zip(found.lower, found.upper, strict=True), strict=True))
    assert ends["r=Total"] == pytest.approx((10 - half, 10 + half))


def test_other_columns_are_looked_at_where_cells_are_withheld(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("r,value,note,firms\nTotal,30,,9\na,x,,2\nb,x,,7\nc,10,,5\n")
    found = ds.check_output(path, ["r"])
    assert [r.message for r in found.verdict.refused] == ["column 'firms' holds numbers in 2 withheld cells"]
    assert "in the file: column 'note'" in found.verdict.not_considered
    path.write_text("r,value\nTotal,30\na,x,12\nb,x\nc,10\n")
    assert "right of the last column" in ds.check_output(path, ["r"]).summary()


def workbook(tmp_path, change=None):
    from openpyxl import Workbook

    book = Workbook()
    page = book.active
    for line in (["r", "value"], ["Total", 30], ["a", "x"], ["b", "x"], ["c", 10]):
        page.append(line)
    if change is not None:
        change(book, page)
    path = tmp_path / "table.xlsx"
    book.save(path)
    return path


def add_hidden_sheet(book, page):
    book.create_sheet("true values").sheet_state = "veryHidden"


def add_comment(book, page):
    from openpyxl.comments import Comment

    page["B3"].comment = Comment("12", "office")


def hide_row(book, page):
    page.append(["d", 5])
    page.row_dimensions[6].hidden = True


def hide_column(book, page):
    page.column_dimensions["B"].hidden = True


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (add_hidden_sheet, "1 sheet is hidden ('true values')"),
        (add_comment, "the file holds comments"),
        (hide_row, "rows or columns of a sheet are hidden"),
        (hide_column, "rows or columns of a sheet are hidden"),
    ],
)
def test_what_a_workbook_hides_is_found(tmp_path, change, words):
    assert ds.check_output(workbook(tmp_path), ["r"]).holds
    found = ds.check_output(workbook(tmp_path, change), ["r"])
    assert words in [r.message for r in found.verdict.refused]


def test_other_sheets_are_said_not_to_have_been_looked_at(tmp_path):
    found = ds.check_output(workbook(tmp_path, lambda book, page: book.create_sheet("more")), ["r"])
    assert "in the file: 1 other sheet ('more')" in found.verdict.not_considered


def test_small_counts_and_groups_in_one_category_are_named_where_nobody_asked():
    shown = pa.table(
        {
            "area": ["Total", "Total", "Total", "n", "n", "n", "s", "s", "s"],
            "state": ["Total", "ill", "well"] * 3,
            "value": [9, 5, 4, 4, 4, 0, 5, 1, 4],
        }
    )
    found = ds.check_output(shown, ["area", "state"], counts=True)
    assert found.holds
    assert "small counts (smallest= was not given): 1 cell shows 1 or 2" in found.verdict.not_considered
    assert any(
        "groups in one category" in text and text.endswith("2 cells hold one") for text in found.verdict.not_considered
    )
    asked = ds.check_output(shown, ["area", "state"], counts=True, classes=True)
    assert [r.check for r in asked.verdict.refused] == ["classes"]
