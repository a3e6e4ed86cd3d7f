"""Records that cannot be read end in words that say what to do next."""

from __future__ import annotations

import io

import pytest
import xlsxwriter

import discreet as ds
from discreet.errors import InputError


def refusal(data: ds.Microdata) -> InputError:
    with pytest.raises(InputError) as error:
        ds.protect(data, ds.Recode("a", top=1))
    return error.value


def test_a_workbook_by_another_name_is_told_from_text(tmp_path):
    content = io.BytesIO()
    with xlsxwriter.Workbook(content) as book:
        book.add_worksheet().write(0, 0, "a")
    (tmp_path / "people.csv").write_bytes(content.getvalue())
    error = refusal(ds.Microdata(tmp_path / "people.csv"))
    assert error.message == "The file 'people.csv' is a workbook, and is not read here."


@pytest.mark.parametrize(
    ("encoding", "command"), [("latin-1", "iconv -f LATIN1 -t UTF-8"), ("utf-16", "iconv -f UTF-16 -t UTF-8")]
)
def test_another_encoding_is_named_with_the_way_out(tmp_path, encoding, command):
    (tmp_path / "people.csv").write_bytes("a,straße\n1,Köln\n".encode(encoding))
    error = refusal(ds.Microdata(tmp_path / "people.csv"))
    assert error.message == "The file 'people.csv' is not UTF-8 text."
    assert command in error.hint
    assert f"Microdata('people.csv', encoding={encoding!r})" in error.hint


@pytest.mark.parametrize(
    ("values", "comma"),
    [(["1,5", "2"], True), (["1.234,50", "-7,25"], True), (["1,5", "n/a"], False), (["x", "y"], False)],
)
def test_a_decimal_comma_is_told_from_text(tmp_path, values, comma):
    lines = "".join(f"{value};1\n" for value in values)
    (tmp_path / "people.csv").write_text(f"income;a\n{lines}", encoding="utf-8")
    error = refusal(ds.Microdata(tmp_path / "people.csv", delimiter=";", numeric=["income", "a"]))
    assert error.message == "Column 'income' is to hold numbers, and holds text."
    assert ("decimal=','" in error.hint) == comma
    assert ("Remove the text" in error.hint) != comma


def test_a_table_of_such_a_column_says_the_same(tmp_path):
    (tmp_path / "firms.csv").write_text("region;turnover\nN;1,5\nS;2,25\n", encoding="utf-8")
    data = ds.Microdata(tmp_path / "firms.csv", delimiter=";")
    with pytest.raises(InputError) as error:
        ds.tabulate(data, by={"region": ds.Hierarchy.flat(["N", "S"])}, value="turnover")
    assert "decimal comma" in error.value.hint
