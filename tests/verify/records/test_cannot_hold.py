"""What a format cannot hold is refused by the checker too, whatever the file says; and what it just can is not.

Writers refuse it first. A release that has such a file was put together by somebody else.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.model.records import PublicColumn, PublicRecords
from discreet.verify.formats.shown import Different
from discreet.verify.records import public_files, xlsx
from discreet.verify.records.published import GivenRecords
from discreet.verify.verdict import Verdict
from tests.files.records.test_limits import written

CANNOT = "the format cannot hold what the release gives"
LOWEST, HIGHEST = -1.7976931348623157e308, 1.7976931348623157e308
Ends = tuple[Any, Any]


def records(columns: Mapping[str, Any], **words: Any) -> PublicRecords:
    table = pa.table(dict(columns))
    return PublicRecords("records", table, {name: PublicColumn(**words) for name in table.column_names})


def alone(*codes: Any) -> dict[str, tuple[Ends, ...]]:
    """Codes for "unknown"."""
    return {"missing": tuple((code, code) for code in codes)}


def said(kind: str, given: PublicRecords, folder: Path) -> str:
    """The words in which the checker refuses whatever file there is."""
    shown = GivenRecords(given.name, given.columns, given.info)
    (folder / f"records.{kind}").write_bytes(b"whatever")
    check = public_files.CHECKS.get(f".{kind}", lambda _, shown: public_files.argus_files("records", shown))
    with pytest.raises(Different) as caught:
        check(folder / f"records.{kind}", shown)
    return str(caught.value)


REFUSED: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
    ("asc", {"x": ["a" * 101]}, {}),
    ("asc", {f"x{i}": ["a" * 100] for i in range(320)}, {}),
    ("asc", {"x": [1, None]}, {}),
    ("asc", {"x": ["", None, "a"]}, {}),
    ("asc", {"x": ["a", "b "]}, {}),
    ("asc", {"x": ["a", "b\nc"]}, {}),
    ("asc", {'x"y': ["a"]}, {}),
    ("asc", {"x\ny": ["a"]}, {}),
    ("asc", {"x": ["a"]}, alone('b"c')),
    ("asc", {"x": ["a"]}, alone("b\rc")),
    ("asc", {"x": ["a"]}, alone("b", "c", 'd"e')),
    ("asc", {"x": [1]}, alone("b\nc")),
    ("sav", {"x": [2**53 + 1]}, {}),
    ("dta", {"x": [-(2**53) - 1]}, {}),
    ("sav", {"x": pa.array([1], pa.timestamp("us"))}, {}),
    ("dta", {"x": pa.array([None, -999], pa.timestamp("us"))}, {}),
    ("sav", {"x": ["a", "b "]}, {}),
    ("dta", {"x": ["a", "b\0c"]}, {}),
    ("sav", {"x": ["a" * 32_768]}, {}),
    ("dta", {"x": ["a" * 2_001]}, {}),
    ("sav", {"x": ["", None]}, {}),
    ("sav", {"x": ["unknown 1"]}, alone("unknown 1")),
    ("sav", {"x": ["", "a"]}, alone("")),
    ("sav", {"x": list("abcd")}, alone(*"abcd")),
    ("sav", {"x": [1, 2, 3, 4]}, alone(1, 2, 3, 4)),
    ("sav", {"x": [1, 2, 7, 8, 11]}, {"missing": ((1, 3), (7, 9), (11, 11))}),
    ("dta", {"x": list(range(27))}, {"missing": ((0, 26),)}),
    ("xlsx", {"x": ["a" * 32_768]}, {}),
    ("xlsx", {"x": ["<r>a</r>"]}, {}),
    ("xlsx", {"<r>a</r>": ["a"]}, {}),
    ("xlsx", {"x": ["", None]}, {}),
    ("xlsx", {"x": pa.nulls(2**20, pa.int64())}, {}),
    ("xlsx", {f"x{i}": [1] for i in range(2**14 + 1)}, {}),
]


def _name(case: Any) -> str:
    kind, columns, words = case
    first, values = next(iter(columns.items()))
    return f"{kind}-{len(columns)}-{first[:9]!r}-{str(list(values[:4]))[:30]}-{str(words)[:40]}"


@pytest.mark.parametrize("case", REFUSED, ids=_name)
def test_what_a_format_cannot_hold_is_refused(case, tmp_path):
    kind, columns, words = case
    assert said(kind, records(columns, **words), tmp_path) == CANNOT


EDGES = (2**31 - 27, 2**31 - 28, -(2**31), 1 - 2**31, 1.5)
"""Numbers at the ends of those that Stata labels."""
MANY = [f"{number:02}" for number in range(1, 30)]
TEXTS: list[tuple[Sequence[str], Mapping[str, str]]] = [
    (["01", "02"], {"abc": "words"}),
    (["01", "02"], {"1": "words"}),
    (["01", "12"], {"12": "words"}),
    (["0", "1"], {"0": "none"}),
    ([*MANY, "1234"], {"01": "one"}),
    ([*MANY, "5678"], {"02": "two"}),
    (["9007199254740994", "1"], {"1": "one"}),
    (["9007199254740992", "1"], {"1": "one"}),
    (["-9007199254740994", "1"], {"1": "one"}),
    (["1.50", "1"], {"1": "one"}),
    (["-1", "2"], {"2": "two"}),
]
"""Texts that stand for numbers, or just do not."""

HELD: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
    ("asc", {"x": ["a" * 100]}, {}),
    ("asc", {**{f"x{i}": ["a" * 100] for i in range(319)}, "y": ["a" * 99]}, {}),
    ("asc", {"x": ["a", None]}, alone("b")),
    ("asc", {"x": [1.0, 2.0]}, {"missing": ((1, 999_999_999_999_999.0), (2, 1e15), (LOWEST, -4))}),
    ("asc", {"x": [1.0, 2.0]}, {"missing": ((-999_999_999_999_999.0, 1), (-1e15, 2), (4, HIGHEST))}),
    ("sav", {"x": [2**53, -(2**53)]}, {}),
    ("dta", {"x": [2**53, -(2**53)]}, {}),
    ("sav", {"x": ["a" * 32_767]}, {}),
    ("dta", {"x": ["a" * 2_000]}, {}),
    ("sav", {"x": ["a"]}, alone("a", "b", "c", "d")),
    ("sav", {"x": ["a"]}, alone("a", "unknown 1")),
    ("sav", {"x": ["eight888"]}, alone("eight888", "b", "c")),
    ("sav", {"x": [1, 2, 4]}, alone(1, 2, 3)),
    ("sav", {"x": [1, 2, 7]}, {"missing": ((1, 3), (7, 7))}),
    ("sav", {"x": [1, 2, 7]}, {"missing": ((1, 3), (7, 9))}),
    ("sav", {"x": [1.0, 3.0, 7.0]}, {"missing": ((1, 1.5), (3, 3), (5, 5))}),
    ("sav", {"x": [1.0, 3.0]}, {"missing": ((LOWEST, -1), (5, 5))}),
    ("sav", {"x": [1.0, 3.0]}, {"missing": ((4, HIGHEST), (-5, -5))}),
    *(("sav", {"x": [1.5, 2.0]}, {"format": form}) for form in ("%41.2f", "%40.17f", "%40.16f", "%40.2f", "%03.0f")),
    *(("dta", {"x": [1.5, 2.0]}, {"format": form}) for form in ("F8.2", "F2.2", "F2.3", "F5", "F3.2")),
    *(("dta", {"x": [float(code)]}, {"value_labels": {str(code): "words", "7": "seven"}}) for code in EDGES),
    *(("dta", {"x": [*codes, None]}, {"value_labels": labels}) for codes, labels in TEXTS),
    *(("sav", {"x": [*codes, None]}, {"value_labels": labels, "format": "N2"}) for codes, labels in TEXTS),
    ("xlsx", {"x": [dt.date(1900, 2, 28), dt.date(2000, 1, 1)], "y": [dt.date(1900, 3, 1), None]}, {}),
    ("xlsx", {"x": [dt.datetime(1900, 2, 28), None], "y": [dt.datetime(1900, 3, 1), None]}, {}),
    ("xlsx", {"x": [999_999_999_999_999, 1], "y": [1_000_000_000_000_000, -1_000_000_000_000_001]}, {}),
    ("xlsx", {"x": [1, 9, 5]}, {"missing": ((9, 9), (LOWEST, -1.7e308), (7, 8)), "value_labels": {"9": "?", "1": "a"}}),
    ("xlsx", {"x": [1, 9, 5]}, {"missing": ((8, 8), (-5, HIGHEST), (LOWEST, -5)), "value_labels": {"9": "?"}}),
    ("xlsx", {"x": [1, 9, 5]}, {"missing": ((LOWEST, 1.7e308),), "value_labels": {"9": "?", "5": ""}}),
    ("dta", {"x": list(range(26))}, {"missing": ((0, 25),)}),
    ("xlsx", {"x": ["a" * 32_767]}, {}),
    ("csv", {"x": [1e16, -1e16, 1e17, -1e17, 9_999_999_999_999_998.0, -5e15, 2.5, 3.0]}, {}),
    ("csv", {"x": ["", None, "a"], "y": ["=1", '"', ","]}, {}),
]


@pytest.mark.parametrize("case", HELD, ids=_name)
def test_what_a_format_just_holds_is_not(case, tmp_path):
    kind, columns, words = case
    assert written(tmp_path, kind, records(columns, **words)).stat().st_size


# ---- files that say something else ------------------------------------------------------------------------------

PEOPLE = records({"age": [30, 40, 50], "job": ["a", "b", "c"]})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"age,job", b"aga,job", "the names of the columns are not those of the release"),
        (b"age,job", b"agz,job", "the names of the columns are not those of the release"),
        (b"40,b", b"40,a", "one of the lines from 2 on is not what the release gives"),
        (b"40,b", b"40,z", "one of the lines from 2 on is not what the release gives"),
        (b"50,c\n", b"50,c\n60,d\n", "the file has more lines than there are records"),
        (b"50,c\n", b"50,c", "one of the lines from 2 on is not what the release gives"),
    ],
)
def test_a_csv_file_that_differs(old, new, message, tmp_path):
    path = written(tmp_path, "csv", PEOPLE)
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(Different) as caught:
        public_files.CHECKS[".csv"](path, GivenRecords("records", PEOPLE.columns, PEOPLE.info))
    assert str(caught.value) == message


@pytest.mark.parametrize("sign", [b"\0", b"\xff"])
def test_a_parquet_file_with_another_byte(sign, tmp_path):
    path = written(tmp_path, "parquet", PEOPLE)
    true = path.read_bytes()
    path.write_bytes(true[:20] + sign + true[21:])
    assert path.read_bytes() != true
    with pytest.raises(Different) as caught:
        public_files.CHECKS[".parquet"](path, GivenRecords("records", PEOPLE.columns, PEOPLE.info))
    assert str(caught.value) == "the file is not byte for byte what the release gives"


def refused(given: PublicRecords, folder: Path, files: Sequence[str]) -> list[str]:
    """What the checker says of the public files of a folder."""
    (folder / "public").mkdir()
    for file in files:
        (folder / "public" / file).write_bytes(b"whatever")
    verdict = Verdict()
    shown = GivenRecords(given.name, given.columns, given.info)
    names = frozenset(f"public/{file}" for file in files)
    public_files.check_public_files(verdict, folder, names, "records", shown)
    return [str(reason) for reason in verdict.refused]


def test_a_data_file_that_could_not_be_written_is_refused_in_its_folder(tmp_path):
    found = refused(records({"x": ["a" * 101]}), tmp_path, ["records.csv", "records.asc"])
    assert f"public: {CANNOT} (records.asc)" in found


def test_a_file_that_cannot_be_written_again_here_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(public_files, "find_spec", lambda _: None)
    found = refused(PEOPLE, tmp_path, ["records.csv", "records.xlsx"])
    assert "public: the file can be checked where discreet[xlsx] is installed only (records.xlsx)" in found


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_what_the_library_refuses_to_write_is_refused(kind, tmp_path, monkeypatch):
    import pyreadstat

    def refuse(*_: object, **__: object) -> None:
        raise pyreadstat.ReadstatError("no")

    monkeypatch.setattr(pyreadstat, f"write_{kind}", refuse)
    assert said(kind, PEOPLE, tmp_path) == CANNOT


def test_times_that_are_whole_milliseconds_are_held(tmp_path):
    moment = dt.datetime(2001, 5, 7, 3, 4, 5, 7000)
    for kind in ("sav", "dta"):
        assert written(tmp_path, kind, records({"x": pa.array([moment], pa.timestamp("us"))})).stat().st_size


@pytest.mark.parametrize(("lines", "holds"), [(2**20 - 1, True), (2**20, False)])
def test_more_lines_on_columns_than_a_sheet_has_are_refused(lines, holds, monkeypatch):
    """The first line has the names; there are 2 ** 20 in all."""

    class Sheet:
        def __getattr__(self, _: str) -> Callable[..., None]:
            return lambda *_: None

    class Book:
        def add_worksheet(self, _: str) -> Sheet:
            return Sheet()

        def add_format(self, _: object) -> None:
            return None

    monkeypatch.setattr(xlsx, "_told", lambda *_: repeat({0: ""}, lines))
    shown = GivenRecords("records", PEOPLE.columns.select(["age"]), PEOPLE.info)
    if holds:
        xlsx._sheet_of_columns(Book(), shown)
    else:
        with pytest.raises(Different, match=CANNOT):
            xlsx._sheet_of_columns(Book(), shown)
