"""Data frames and files of any kind come in as the same columns, and what is wrong with them is said."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as ds
from discreet.errors import DiscreetError, InputError, ParameterError
from discreet.files.frames import (
    column_names,
    exact_numbers,
    file_columns,
    flags,
    numbers,
    read_columns,
    to_frame,
)
from discreet.model.condition import parse_conditions

DATA = {"region": ["01", "02", "01", "10"], "size": [5, 12, 20, 9], "turnover": [1.5, 2.0, 4.25, 8.0]}
EMPTY_FIELDS = pa.table({"code": ["a", None, "b", "c"], "x": [1, 2, None, 4], "y": [0.5, None, 1.5, 2.5]})


def duckdb_relation():
    return duckdb.from_arrow(pa.table(DATA))


SOURCES = {
    "pandas": lambda _: pd.DataFrame(DATA),
    "pandas categories": lambda _: pd.DataFrame(DATA).astype({"region": "category"}),
    "polars": lambda _: pl.DataFrame(DATA),
    "polars lazy": lambda _: pl.LazyFrame(DATA),
    "pyarrow": lambda _: pa.table(DATA),
    "duckdb": lambda _: duckdb_relation(),
    "csv": lambda folder: csv_file(folder, "\n".join(["region,size,turnover", *(csv_line(i) for i in range(4))])),
    "parquet": lambda folder: parquet_file(folder, pa.table(DATA)),
}


def csv_line(i: int) -> str:
    return f"{DATA['region'][i]},{DATA['size'][i]},{DATA['turnover'][i]}"


def csv_file(folder: Path, text: str | bytes, name: str = "firms.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet_file(folder: Path, table: pa.Table) -> Path:
    path = folder / "firms.parquet"
    pq.write_table(table, path)
    return path


def refusal(call) -> DiscreetError:
    with pytest.raises(DiscreetError) as caught:
        call()
    return caught.value


# ---- in and out ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_gives_the_same_columns(tmp_path, kind):
    source = SOURCES[kind](tmp_path)
    assert column_names(source) == ["region", "size", "turnover"]
    table = read_columns(source, ["turnover", "region"], text=["region"], where=parse_conditions("size < 15"))
    assert table["region"].to_pylist() == ["01", "02", "10"]
    assert numbers(table, "turnover").tolist() == [1.5, 2.0, 8.0]


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_can_be_tabulated(tmp_path, kind):
    region = ds.Hierarchy.flat(["01", "02", "10"])
    table = ds.tabulate(SOURCES[kind](tmp_path), by={"region": region}, value="turnover")
    assert table.values.tolist() == [15.75, 5.75, 2.0, 8.0]


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_refuses_an_unknown_column(tmp_path, kind):
    error = refusal(lambda: read_columns(SOURCES[kind](tmp_path), ["turnovr"]))
    assert isinstance(error, InputError)
    assert "There is no column 'turnovr' in the " in error.message
    assert "Did you mean 'turnover'? Available: 'region', 'size', 'turnover'." in error.message


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("pyarrow", pa.Table), ("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("duckdb", duckdb.DuckDBPyRelation)],
)
def test_columns_go_out_as_any_kind_of_frame(backend, kind):
    frame = to_frame({"a": [1, 2], "b": ["x", None]}, backend)
    assert isinstance(frame, kind)
    assert read_columns(frame, ["b", "a"]).to_pydict() == {"b": ["x", None], "a": [1, 2]}


def test_another_kind_of_frame_is_refused():
    error = refusal(lambda: to_frame({"a": [1]}, "spark"))
    assert str(error) == "backend='spark' is not known. Use 'pyarrow', 'pandas', 'polars', 'duckdb'."


@pytest.mark.parametrize("source", [[1, 2], {"a": [1]}, 5])
def test_what_is_no_frame_is_refused(source):
    for call in (lambda: read_columns(source, ["a"]), lambda: column_names(source)):
        error = refusal(call)
        assert isinstance(error, ParameterError)
        assert error.message == f"Cannot read data from a {type(source).__name__}."
        assert "pandas, polars, pyarrow or duckdb" in error.hint


# ---- files ---------------------------------------------------------------------------------------------------------


def test_a_missing_file_is_named_with_its_place(tmp_path):
    error = refusal(lambda: read_columns(tmp_path / "none.csv", ["a"]))
    assert error.message == "There is no file 'none.csv'."
    assert str(tmp_path) in error.hint
    assert "There is no file" in refusal(lambda: read_columns(tmp_path, ["a"])).message


def test_an_empty_file_is_refused(tmp_path):
    assert refusal(lambda: read_columns(csv_file(tmp_path, ""), ["a"])).message == "The file 'firms.csv' is empty."


def test_a_file_with_a_header_only_has_no_records(tmp_path):
    for text in ("a,b", "a,b\n"):
        error = refusal(lambda text=text: read_columns(csv_file(tmp_path, text), ["a"]))
        assert error.message == "The data have no records."


def test_a_frame_without_records_is_refused():
    assert refusal(lambda: read_columns(pd.DataFrame({"a": []}), ["a"])).message == "The data have no records."


@pytest.mark.parametrize(
    "text", ["region,größe\nKöln,5\n".encode("latin-1"), b"region,size\nK\xf6ln,5\n"], ids=["header", "data"]
)
def test_a_file_that_is_not_utf8_is_refused(tmp_path, text):
    error = refusal(lambda: read_columns(csv_file(tmp_path, text), ["region"], text=["region"]))
    assert error.message == "The file 'firms.csv' is not UTF-8 text."
    assert "iconv -f LATIN1 -t UTF-8" in error.hint


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_wrong_delimiter_is_recognised(tmp_path, delimiter):
    path = csv_file(tmp_path, f"region{delimiter}size\nN{delimiter}5\n")
    error = refusal(lambda: read_columns(path, ["size"]))
    assert error.message == f"The file 'firms.csv' is separated by {delimiter!r}, not by ','."
    assert error.hint == f"Give delimiter={delimiter!r}."
    assert read_columns(path, ["size"], delimiter=delimiter)["size"].to_pylist() == [5]


def test_a_delimiter_is_one_character(tmp_path):
    error = refusal(lambda: read_columns(csv_file(tmp_path, "a;;b\n"), ["a"], delimiter=";;"))
    assert error.message == "delimiter=';;' is not allowed."


def test_lines_of_different_length_are_refused_without_showing_them(tmp_path):
    error = refusal(lambda: read_columns(csv_file(tmp_path, "a,b\n1,2\n3,4,777\n"), ["a"]))
    assert error.message == "The file 'firms.csv' is not a regular csv file."
    assert "777" not in str(error)


def test_a_damaged_parquet_file_is_refused(tmp_path):
    error = refusal(lambda: read_columns(csv_file(tmp_path, "not parquet", "firms.parquet"), ["a"]))
    assert error.message == "The file 'firms.parquet' is not a Parquet file that can be read."


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = csv_file(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n")
    assert file_columns(path) == ["a", "b"]
    assert read_columns(path, ["a"])["a"].to_pylist() == [1]


def test_names_and_fields_may_be_quoted(tmp_path):
    path = csv_file(tmp_path, '"legal form","a,b"\n"GmbH, Co",1\n')
    assert file_columns(path) == ["legal form", "a,b"]
    assert read_columns(path, ["legal form"])["legal form"].to_pylist() == ["GmbH, Co"]


@pytest.mark.parametrize("kind", ["csv", "pyarrow"])
def test_a_column_that_stands_twice_is_refused(tmp_path, kind):
    source = csv_file(tmp_path, "a,b,a\n1,2,3\n") if kind == "csv" else pa.table([[1], [2], [3]], names=["a", "b", "a"])
    error = refusal(lambda: read_columns(source, ["a"]))
    assert error.message.startswith("Column 'a' stands 2 times in the ")
    assert read_columns(csv_file(tmp_path, "a,b,a\n1,2,3\n"), ["b"])["b"].to_pylist() == [2]


def test_codes_in_files_keep_their_leading_zeros(tmp_path):
    path = csv_file(tmp_path, "code,x\n001,1\n,2\n")
    assert read_columns(path, ["code"], text=["code"])["code"].to_pylist() == ["001", None]


# ---- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"x": [1.0, np.nan, 2.0]}), "In column 'x' 1 value is empty, first in record 2."),
        (
            pl.DataFrame({"x": [1.0, float("nan"), 2.0]}),
            "In column 'x' 1 value is not finite, first in",
        ),
        (pl.DataFrame({"x": [1, None, None]}), "In column 'x' 2 values are empty, first in record 2."),
        (
            pd.DataFrame({"x": [1.0, 2.0, np.inf]}),
            "In column 'x' 1 value is not finite, first in record 3",
        ),
        (pa.table({"x": ["1", "2", "n/a"]}), "Column 'x' holds text where numbers are needed, first in record 3."),
        (pa.table({"x": pa.array([1, 2], pa.timestamp("s"))}), "Column 'x' holds text where numbers are needed"),
    ],
    ids=["NaN in pandas", "NaN in polars", "gaps", "infinite", "text", "dates"],
)
def test_what_is_not_a_number_is_refused_with_its_place(frame, message):
    error = refusal(lambda: numbers(read_columns(frame, ["x"]), "x"))
    assert isinstance(error, InputError)
    assert error.message.startswith(message)
    assert error.hint


def test_text_in_a_column_of_python_objects_is_refused_and_not_shown():
    error = refusal(lambda: read_columns(pd.DataFrame({"x": [1, "secret", 3.5], "y": [1, 2, 3]}), ["x", "y"]))
    assert error.message == "Column 'x' mixes text and numbers, or holds objects that are neither."
    assert "secret" not in str(error)
    assert "secret" in error.details


@pytest.mark.parametrize("text", ["1\nabc\n3", "1\n2\n-"])
def test_text_in_a_number_column_of_a_file_is_refused(tmp_path, text):
    table = read_columns(csv_file(tmp_path, f"x\n{text}\n"), ["x"])
    assert refusal(lambda: numbers(table, "x")).message.startswith("Column 'x' holds text where numbers are needed")


def test_whole_numbers_and_truth_values_keep_their_type():
    table = pa.table({"i": [1, 2], "b": [True, False], "d": [Decimal("1.25"), Decimal("2")]})
    assert numbers(table, "i").dtype == np.int64
    assert numbers(table, "b").tolist() == [True, False]
    assert numbers(table, "d").tolist() == [1.25, 2.0]


def test_flags_are_true_or_false():
    table = pa.table({"b": [True, False], "i": [1, 0], "x": [1, 2]})
    assert flags(table, "b").tolist() == [True, False]
    assert flags(table, "i").tolist() == [True, False]
    assert refusal(lambda: flags(table, "x")).message == "Column 'x' must hold true or false (or 1 and 0)."


def test_decimal_numbers_that_floats_cannot_hold_stay_exact():
    large = [Decimal("1000000000000000.07"), Decimal("0.01")]
    assert exact_numbers(pa.table({"x": large}), "x").tolist() == large
    assert exact_numbers(pa.table({"x": [Decimal("12.35")]}), "x").tolist() == [12.35]


def test_long_numbers_in_a_file_stay_exact_where_that_is_asked(tmp_path):
    path = csv_file(tmp_path, "x,y\n1000000000000000.07,1.5\n,2\n0.01,\n")
    table = read_columns(path, ["x", "y"], exact=["x", "y"])
    assert table["x"].to_pylist() == [Decimal("1000000000000000.07"), None, Decimal("0.01")]
    assert table["y"].to_pylist() == [1.5, 2.0, None]
    assert read_columns(path, ["x"])["x"].type == pa.float64()


# ---- filters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("x == 2", [1]),
        ("x != 2", [0, 3]),
        ("x < 2", [0]),
        ("x <= 2", [0, 1]),
        ("x > 2", [3]),
        ("x >= 2", [1, 3]),
        ("x > 1.5", [1, 3]),
        ("x in [1, 4, 7]", [0, 3]),
        ("x in [1.0, 2.5]", [0]),
        ("x not in [1, 7]", [1, 3]),
        ("y == 0.5", [0]),
        ("y in [0.5, 2.5]", [0, 3]),
        ("y not in [1, 1.5]", [0, 3]),
        ("code == 'a'", [0]),
        ("code != 'a'", [2, 3]),
        ("code > 'a'", [2, 3]),
        ("code in ['a', 'c']", [0, 3]),
        ("code not in ['a', 'z']", [2, 3]),
        (["x >= 1", "y < 2"], [0]),
    ],
)
def test_filters_keep_the_records_that_meet_them(where, kept):
    """A record whose field is empty meets no condition, not even a negative one."""
    table = EMPTY_FIELDS.append_column("row", [[0, 1, 2, 3]])
    found = read_columns(table, ["row"], where=parse_conditions(where))
    assert found["row"].to_pylist() == kept


@pytest.mark.parametrize("kind", ["dictionary", "large_string"])
def test_filters_look_into_text_of_every_kind(kind):
    column = pa.array(["N", "S", "N"])
    column = column.dictionary_encode() if kind == "dictionary" else column.cast(pa.large_string())
    table = pa.table({"region": column, "row": [0, 1, 2]})
    assert read_columns(table, ["row"], where=parse_conditions("region in ['N', 'W']"))["row"].to_pylist() == [0, 2]


def test_truth_values_compare_with_one_and_zero():
    table = pa.table({"flag": [True, False, None], "row": [0, 1, 2]})
    assert read_columns(table, ["row"], where=parse_conditions("flag == 1"))["row"].to_pylist() == [0]
    assert read_columns(table, ["row"], where=parse_conditions("flag in [0]"))["row"].to_pylist() == [1]


def test_text_filters_read_file_columns_as_text(tmp_path):
    path = csv_file(tmp_path, "code,x\n01,1\n1,2\n")
    assert read_columns(path, ["x"], where=parse_conditions("code == '01'"))["x"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("where", "holds"),
    [("code == 1", "text"), ("code in [1]", "text"), ("x == '1'", "numbers"), ("x in [1, 'a']", "numbers")],
)
def test_a_filter_of_the_wrong_kind_is_refused(where, holds):
    error = refusal(lambda: read_columns(EMPTY_FIELDS, ["x"], where=parse_conditions(where)))
    assert isinstance(error, ParameterError)
    assert f"which holds {holds}." in error.message
    assert error.hint == "Quote text values and leave numbers unquoted."


def test_dates_are_neither_text_nor_numbers():
    table = pa.table({"day": pa.array([0, 1], pa.date32())})
    for where in ("day == 1", "day == '2024-01-01'"):
        error = refusal(lambda where=where: read_columns(table, ["day"], where=parse_conditions(where)))
        assert "which holds neither text nor numbers (date32[day])." in error.message


def test_a_filter_that_nobody_meets_is_refused():
    error = refusal(lambda: read_columns(EMPTY_FIELDS, ["x"], where=parse_conditions(["x > 9", "code == 'a'"])))
    assert error.message == "No record meets the filter \"code == 'a' and x > 9\"."


def test_a_filter_on_an_unknown_column_is_refused():
    error = refusal(lambda: read_columns(EMPTY_FIELDS, ["x"], where=parse_conditions("cod == 'a'")))
    assert "There is no column 'cod' in the data. Did you mean 'code'?" in error.message


def test_row_groups_are_read_in_parts_and_come_out_in_order(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    from discreet.files import frames

    table = pa.table({"code": [f"c{k % 7}" for k in range(100)], "number": range(100)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=8)
    monkeypatch.setattr(frames, "PART", 20)
    assert frames._large_parts([8] * 13) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11], [12]]
    assert frames._large_parts([]) == []
    read = frames.read_columns(tmp_path / "x.parquet", ["code", "number"], text=["code"])
    assert read["code"].cast(pa.string()).to_pylist() == table["code"].to_pylist()
    assert read["number"].to_pylist() == table["number"].to_pylist()
