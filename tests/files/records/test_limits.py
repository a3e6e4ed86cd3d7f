"""What a format cannot hold is refused with words, or written in a way that it can; nothing changes silently."""

from __future__ import annotations

import datetime as dt
import sys

import openpyxl
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

import discreet as ds
from discreet.errors import OutputError, ParameterError
from discreet.files.records import RECORD_FORMATS
from discreet.files.records.stat_formats import SPSS, STATA, legal_names, number_format
from discreet.files.records.xlsx import MOST_ROWS
from discreet.model.records import PublicColumn, PublicRecords
from discreet.verify.records import public_files
from discreet.verify.records.published import GivenRecords
from discreet.verify.records.stat import variable_names


def records(columns: dict, **words) -> PublicRecords:
    table = pa.table(columns)
    return PublicRecords("records", table, {name: PublicColumn(**words) for name in table.column_names})


def written(folder, kind: str, given: PublicRecords):
    """The file, after the checker wrote it a second time and found it the same."""
    path = folder / f"records.{kind}"
    RECORD_FORMATS[kind].write(path, given)
    shown = GivenRecords(given.name, given.columns, given.info)
    if kind == "asc":
        for file, content in public_files.argus_files("records", shown).items():
            assert (folder / file).read_bytes() == content
    else:
        public_files.CHECKS[f".{kind}"](path, shown)
    return path


EVERYTHING = {
    "text": ["a", "=1+1", None, "é日"],
    "whole": [1, -5, None, 2**53],
    "float": [0.1, 1e-7, None, -123456.789],
    "truth": pa.array([True, False, None, True]),
    "day": pa.array([dt.date(2020, 2, 29), dt.date(1901, 1, 1), None, dt.date(1990, 12, 31)]),
    "time": pa.array(
        [dt.datetime(2020, 1, 2, 3, 4, 5, 123000), dt.datetime(1999, 1, 1), None, None], pa.timestamp("us")
    ),
    "empty": pa.array([None] * 4, pa.string()),
    "nothing": pa.array([None] * 4, pa.float64()),
}


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_every_type_is_read_back_by_others(tmp_path, kind):
    path = written(tmp_path, kind, records(EVERYTHING))
    found, _ = getattr(pyreadstat, f"read_{kind}")(str(path), output_format="dict")
    assert found["text"] == ["a", "=1+1", "", "é日"]
    assert list(found["whole"]) == [1, -5, None, 2**53]
    assert list(found["v_float"]) == EVERYTHING["float"]
    assert list(found["truth"]) == [1, 0, None, 1]
    assert list(found["day"]) == EVERYTHING["day"].to_pylist()
    assert list(found["time"])[1:] == EVERYTHING["time"].to_pylist()[1:]
    assert abs(found["time"][0] - EVERYTHING["time"][0].as_py()) < dt.timedelta(milliseconds=0.5)


def test_every_type_is_read_back_from_a_workbook(tmp_path):
    path = written(tmp_path, "xlsx", records(EVERYTHING, label="words", value_labels={"a": "@SUM(1)"}))
    book = openpyxl.load_workbook(path)
    names, *rows = book["Records"].iter_rows(values_only=True)
    found = dict(zip(names, zip(*rows, strict=True), strict=True))
    assert list(found["text"]) == EVERYTHING["text"]
    assert [day and day.date() for day in found["day"]] == EVERYTHING["day"].to_pylist()
    assert list(found["truth"]) == [True, False, None, True]
    assert list(found["whole"]) == [1, -5, None, str(2**53)]
    assert list(found["float"]) == EVERYTHING["float"]
    assert {cell.data_type for row in book["Records"].iter_rows() for cell in row} <= {"s", "n", "b", "d", "inlineStr"}
    heads, *lines = book["Columns"].iter_rows(values_only=True)
    assert heads[:5] == ("column", "label", "altered", "code", "meaning")
    assert [line[0] for line in lines].count("text") == 2
    assert "@SUM(1)" in [line[4] for line in lines]
    assert "Numbers of more than 15 digits are written as text" in str(
        [line[6] for line in lines if line[0] == "whole"]
    )


def test_every_type_is_written_in_fixed_fields(tmp_path):
    lines = written(tmp_path, "asc", records(EVERYTHING)).read_text(encoding="utf-8").splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[0].startswith("a   ")
    assert "0.1000000" in lines[0]
    assert "2020-02-29" in lines[0]


@pytest.mark.parametrize(
    ("kind", "columns", "words", "message"),
    [
        ("sav", {"x": ["a "]}, {}, "'x' has text that a .sav file cannot hold as it is"),
        ("sav", {"x": ["a" * 32_768]}, {}, "'x' has text that a .sav file cannot hold as it is"),
        ("dta", {"x": ["a" * 2_001]}, {}, "'x' has text that a .dta file cannot hold as it is"),
        ("sav", {"x": ["", None]}, {}, "empty text beside gaps, and a .sav file"),
        ("xlsx", {"x": ["", None]}, {}, "empty text beside gaps, and a .xlsx file"),
        ("asc", {"x": ["", None]}, {}, "empty text beside gaps, and a .asc file"),
        ("dta", {"x": [2**53 + 1]}, {}, "'x' has more digits than a .dta file can hold"),
        ("sav", {"x": pa.array([1], pa.timestamp("us"))}, {}, "'x' has times finer than a thousandth of a second"),
        ("sav", {"x": [1, 2, 3, 4]}, {"missing": ((1, 1), (2, 2), (3, 3), (4, 4))}, "'x' has 4 codes for \"unknown\""),
        ("sav", {"x": ["unknown 1"]}, {"missing": (("unknown 1", "unknown 1"),)}, "'x' has 1 code for \"unknown\""),
        ("dta", {"x": list(range(30))}, {"missing": ((0, 29),)}, "'x' has 30 codes for \"unknown\""),
        ("xlsx", {"x": ["a" * 32_768]}, {}, "'x' has text of 32,768 characters; a cell of Excel holds 32,767"),
        ("asc", {"x": ["a" * 101]}, {}, "'x' is 101 characters wide; a field of an .asc file has at most 100"),
        ("asc", {"x": ["a\nb"]}, {}, "'x' has text that an .asc file cannot hold as it is"),
        ("asc", {"x": [1, None]}, {}, "The last record is empty"),
        ("asc", {'x"y': ["a"]}, {}, "cannot hold the name"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_with_words(tmp_path, kind, columns, words, message):
    with pytest.raises(ds.DiscreetError) as error:
        RECORD_FORMATS[kind].write(tmp_path / f"records.{kind}", records(columns, **words))
    assert message in error.value.message
    assert error.value.hint


def test_more_records_than_a_sheet_has_rows_are_refused(tmp_path):
    given = records({"x": pa.nulls(MOST_ROWS, pa.int64())})
    with pytest.raises(OutputError, match=r"There are 1,048,576 records with 1 column; a sheet of Excel has 1,048,576"):
        RECORD_FORMATS["xlsx"].write(tmp_path / "records.xlsx", given)


NAMES = ["age", "Age", "a b", "a_b", "1st", "état", "ALL", "_n", "x" * 70, "x" * 71, "", "a.", "größe.in.cm", "str8"]


@pytest.mark.parametrize(("program", "stata"), [(SPSS, False), (STATA, True)])
def test_names_are_made_legal_and_unique_the_same_way_twice(tmp_path, program, stata):
    found = legal_names(NAMES, program)
    assert found == variable_names(NAMES, stata)
    assert len({name.lower() for name in found}) == len(NAMES)
    assert found[:2] == ["age", "Age_2"]
    assert found[5] == "état"
    path = written(tmp_path, program.suffix[1:], records({name: [1.5] for name in NAMES}, label="Words"))
    _, about = getattr(pyreadstat, f"read_{program.suffix[1:]}")(str(path))
    assert about.column_names == found
    assert about.column_names_to_labels["Age_2"] == "Words [Age]"
    assert about.column_names_to_labels["age"] == "Words"


@pytest.mark.parametrize("length", [1, 8, 9, 255, 256, 1999, 2000])
@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_long_text_comes_back(tmp_path, kind, length):
    path = written(tmp_path, kind, records({"x": ["a" * length, "b", None]}))
    found, _ = getattr(pyreadstat, f"read_{kind}")(str(path), output_format="dict")
    assert found["x"] == ["a" * length, "b", ""]


@pytest.mark.parametrize(
    ("given", "spss", "stata"),
    [
        ("F8.2", "F8.2", "%8.2f"),
        ("F5", "F5", "%5.0f"),
        ("N3", "N3", "%03.0f"),
        ("%03.0f", "N3", "%03.0f"),
        ("%9.2f", "F9.2", "%9.2f"),
        ("%9.0g", "", "%9.0g"),
        ("DOLLAR9.2", "DOLLAR9.2", ""),
        ("%td", "", ""),
        ("A8", "", ""),
        ("BEST12.", "", ""),
        ("", "", ""),
    ],
)
def test_formats_are_said_in_the_words_of_the_other_program(given, spss, stata):
    assert (number_format(given, SPSS), number_format(given, STATA)) == (spss, stata)


def test_open_ends_of_ranges_survive(tmp_path):
    pyreadstat.write_sav(
        pl.DataFrame({"x": [-5.0, 3.0] * 3, "y": [1.0, 2.0] * 3}),
        str(tmp_path / "in.sav"),
        missing_ranges={"x": [{"lo": float("-inf"), "hi": -1.0}]},
    )
    release = ds.protect(ds.Microdata(tmp_path / "in.sav"), ds.Recode("y", top=1), keep_order=True)
    release.save(tmp_path / "out", formats=["sav", "xlsx", "asc", "parquet"])
    assert ds.check_folder(tmp_path / "out").holds
    _, about = pyreadstat.read_sav(str(tmp_path / "out/public/records.sav"), user_missing=True)
    assert about.missing_ranges == {"x": [{"lo": float("-inf"), "hi": -1.0}]}


def test_durations_stay_numbers(tmp_path):
    pyreadstat.write_sav(
        pl.DataFrame({"lasted": [30 * 3600.0, 60.0], "y": [1.0, 2.0]}),
        str(tmp_path / "in.sav"),
        variable_format={"lasted": "TIME8"},
    )
    release = ds.protect(ds.Microdata(tmp_path / "in.sav"), ds.Recode("y", top=1), keep_order=True)
    assert release.public.records.columns["lasted"].to_pylist() == [108_000, 60]
    assert release.public.records.info["lasted"].format == "TIME8"


def test_public_records_are_written_alone(tmp_path):
    release = ds.protect(ds.Microdata(pa.table({"x": [1, 2]})), ds.Recode("x", top=1))
    assert release.public.write(tmp_path / "safe.sav").is_file()
    release.public.write(tmp_path / "safe.asc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["safe.asc", "safe.rda", "safe.sav"]
    with pytest.raises(ParameterError, match="does not say which format is meant"):
        release.public.write(tmp_path / "safe.txt")


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_the_bytes_do_not_depend_on_the_library_of_frames(tmp_path, kind, monkeypatch):
    columns = {**EVERYTHING, "coded": ["1", "9", None, "2"]}
    given = records(columns, value_labels={"1": "one", "9": "?"}, missing=(("9", "9"),))
    first = written(tmp_path, kind, given).read_bytes()
    monkeypatch.setitem(sys.modules, "polars", None)
    assert written(tmp_path, kind, given).read_bytes() == first
