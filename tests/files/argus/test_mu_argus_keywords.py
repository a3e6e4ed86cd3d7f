"""Every keyword of μ-ARGUS metadata means something, and what nobody knows is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError
from discreet.files.argus.rda import metadata_text, read_metadata

RDA = """TOWN 1 4 "9999" "9998"
    <RECODABLE>
    <IDLEVEL> 1
    <SUPPRESSPRIORITY> 60
    <TRUNCABLE>
SEX 5 1 "9"
    <RECODABLE>
    <IDLEVEL> 2
    <SUPPRESSWEIGHT> 0
AGE 6 2 "99"
    <RECODABLE>
    <IDLEVEL> 3
JOB 8 1 "9"
    <RECODABLE>
    <IDLEVEL> 0
    <SUPPRESSWEIGHT> 10
    <RELATED> "sex"
"""
LINES = ["1101 1341", "1102 2 72", "2201 9999", "9999 1349"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "people.asc").write_text("".join(f"{line.replace(' ', '', 1)}\n" for line in LINES), encoding="ascii")
    (tmp_path / "people.rda").write_text(RDA, encoding="ascii")
    return tmp_path


def test_metadata_are_found_beside_the_records(files):
    assert ds.read_argus(files / "people.asc").microdata.keys == ("TOWN", "SEX", "AGE")
    (files / "people.asc").rename(files / "safe.saf")
    (files / "people.rda").rename(files / "SAFE.RDS")
    assert ds.read_argus(files / "safe.saf").microdata.keys == ("TOWN", "SEX", "AGE")


def test_records_without_metadata_and_metadata_without_records_are_told_apart(files):
    with pytest.raises(ds.DiscreetError) as error:
        ds.read_argus(files / "people.rda")
    assert error.value.message == "'people.rda' is a file of metadata, and the records are asked for."
    assert error.value.hint == "Give the records first: read_argus('people.asc', 'people.rda')."
    (files / "other.asc").write_text("1\n", encoding="ascii")
    with pytest.raises(InputError) as error:
        ds.read_argus(files / "other.asc")
    assert error.value.message == "There are no metadata beside 'other.asc'."
    assert "other.rda and other.rds" in error.value.hint


def test_levels_and_importance_are_those_of_the_metadata(files):
    read = ds.read_argus(files / "people.asc")
    assert read.levels == {"TOWN": 1, "SEX": 2, "AGE": 3}
    assert ds.level_combinations(read.levels) == [("TOWN", "SEX", "AGE")]
    assert read.importance == {"TOWN": 60.0, "SEX": 0.01, "AGE": 50.0}  # nothing costs nothing; 50 where none is stated
    assert ds.LocalSuppress(2, importance=read.importance).importance["TOWN"] == 60.0


def test_keys_that_are_all_worth_the_same_need_no_importance(files):
    text = RDA.replace("<SUPPRESSPRIORITY> 60", "<SUPPRESSPRIORITY> 50").replace("<SUPPRESSWEIGHT> 0", "")
    (files / "people.rda").write_text(text, encoding="ascii")
    assert ds.read_argus(files / "people.asc").importance == {}


def test_digits_that_may_be_dropped_are_levels_of_a_hierarchy(files):
    data = ds.read_argus(files / "people.asc").microdata
    tree = data.hierarchies["TOWN"]
    assert set(tree.codes) == {"Total", "1", "11", "110", "1101", "1102", "2", "22", "220", "2201", "9999"}
    release = ds.protect(data.with_(keys="TOWN"), ds.Recode("TOWN", level=2), keep_order=True)
    assert release.public.records.shown()["TOWN"] == ["11", "11", "22", "9999"]
    assert release.verify().holds


def test_codes_of_several_lengths_have_no_digits_to_drop(files):
    (files / "people.asc").write_text("1101134111\n  12134111\n", encoding="ascii")
    assert "TOWN" not in ds.read_argus(files / "people.asc").microdata.hierarchies


def test_metadata_are_written_as_they_were_read(files):
    first = read_metadata(files / "people.rda")
    assert first["TOWN"].truncable
    assert first["JOB"].related == "sex"
    (files / "again.rda").write_text(metadata_text(first), encoding="utf-8")
    assert read_metadata(files / "again.rda") == first


def test_labels_and_missing_codes_meet_codes_at_the_right_of_their_field(tmp_path):
    (tmp_path / "r.rda").write_text(
        'REGION 1 3 "9"\n <RECODABLE>\n <IDLEVEL> 1\n <CODELIST> "r.cdl"\nX 4 1 "8"\n <RECODABLE>\n', encoding="ascii"
    )
    (tmp_path / "r.asc").write_text("  1a\n 12b\n  98\n", encoding="ascii")
    (tmp_path / "r.cdl").write_text("1,North\n12,South\n13,Isle\n9,unknown\n", encoding="ascii")
    records = read_record_set(ds.read_argus(tmp_path / "r.asc").microdata)
    assert records.columns["REGION"].to_pylist() == ["  1", " 12", "  9"]
    about = records.about("REGION")
    assert dict(about.value_labels) == {"  1": "North", " 12": "South", "13": "Isle", "  9": "unknown"}
    assert about.missing == (("  9", "  9"),)
    assert records.about("X").missing == (("8", "8"),)


def test_truncable_is_told_to_change_nothing_in_tables(tmp_path):
    (tmp_path / "t.rda").write_text("A 1 1\n <RECODEABLE>\n <TRUNCABLE>\nX 2 2\n <NUMERIC>\n", encoding="ascii")
    (tmp_path / "t.asc").write_text("1 5\n", encoding="ascii")
    assert any("<TRUNCABLE>" in note for note in ds.read_argus(tmp_path / "t.asc").notes)


# ---- names in front ---------------------------------------------------------------------------------------------

FREE = """<SEPARATOR> ","
<NAMESINFRONT>
SEX 1 "9"
  <RECODABLE>
  <IDLEVEL> 1
INCOME 8 "-1"
  <NUMERIC>
"""


def free(folder: Path, content: bytes, text: str = FREE) -> ds.Microdata:
    (folder / "free.rda").write_text(text, encoding="ascii")
    (folder / "free.csv").write_bytes(content)
    return ds.read_argus(folder / "free.csv").microdata


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_of_names_says_where_the_columns_stand(tmp_path, end):
    data = free(tmp_path, end.join([b"income,note,Sex", b"12.5,x,1", b"-1,y,9", b""]))
    assert read_record_set(data).columns.to_pydict() == {"SEX": ["1", "9"], "INCOME": [12.5, None]}
    assert read_metadata(tmp_path / "free.rda").names_in_front
    again = metadata_text(read_metadata(tmp_path / "free.rda"))
    assert again.startswith('<SEPARATOR> ","\n<NAMESINFRONT>\n')


def test_a_semicolon_is_taken_where_no_separator_is_stated(tmp_path):
    data = free(tmp_path, b"SEX;INCOME\n1;2\n", FREE.partition("\n")[2])
    assert read_record_set(data).columns.to_pydict() == {"SEX": ["1"], "INCOME": [2]}
    assert any("a semicolon is taken" in note for note in read_metadata(tmp_path / "free.rda").notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"SEX,WAGE\n1,2\n", "free.csv, line 1: 'INCOME' is not among the names in front of the records."),
        (b"SEX,INCOME,sex\n1,2,3\n", "free.csv, line 1: 'SEX' stands twice among the names in front of the records."),
        (b"SEX,INCOME\n", "free.csv, line 2: there is no record."),
        (b"SEX,INCOME\n1,2\n1,2,3\n", "free.csv, line 3: found '3 fields'"),
        (b"SEX,INCOME\n1,2\n1,rich\n", "free.csv, line 3: what stands in 'INCOME' cannot be read"),
    ],
)
def test_names_in_front_that_do_not_fit_are_refused(tmp_path, content, message):
    with pytest.raises(InputError) as error:
        free(tmp_path, content)
    assert error.value.message.startswith(message)


# ---- what is wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("A 1 2\n  <IDLEVL> 1\n", 2, "found '<IDLEVL>'; expected a keyword", "Did you mean <IDLEVEL>? Otherwise take"),
        ("A 1 2\n  <XYZZY>\n", 2, "found '<XYZZY>'; expected a keyword of an .rda file", "Take the line out if it"),
        ('A 1 2 "999"\n  <IDLEVEL> 1\n', 1, "the missing code '999' of A", ""),
        ("A 1 2\n  <RELATED> B\n", 1, "found '<RELATED> B of A'; expected the name of another variable", "There are:"),
        ("A 1 2\n  <RELATED> A\nB 3 1\n", 1, "found '<RELATED> A of A'", "There are: 'B'."),
        ('A 1 2 "99"\n  <EMPTY> "98"\n', 1, "found '<EMPTY> 98 of A'; expected one of its missing codes", ""),
        ("A 1 2\n  <SUPPRESSPRIORITY> much\n", 2, "expected a whole number from 0 to 1000000", ""),
        ("A 1 2\n  <TRUNCABLE> 2\n", 2, "expected <TRUNCABLE> without arguments", ""),
        ("<NAMESINFRONT> yes\nA 2\n", 1, "expected <NAMESINFRONT> without arguments", ""),
    ],
)
def test_bad_metadata_are_named_with_their_line(tmp_path, text, line, message, hint):
    (tmp_path / "bad.rda").write_text(text, encoding="ascii")
    with pytest.raises(InputError) as error:
        read_metadata(tmp_path / "bad.rda")
    assert error.value.message.startswith(f"bad.rda, line {line}: ")
    assert message in error.value.message
    assert hint in error.value.hint


def test_a_missing_code_that_is_too_long_is_noted_in_metadata_of_tables(tmp_path):
    (tmp_path / "tau.rda").write_text('A 1 2 "999"\n  <RECODEABLE>\n', encoding="ascii")
    notes = read_metadata(tmp_path / "tau.rda").notes
    assert notes == ("tau.rda: the missing code '999' of A is longer than its field.",)
