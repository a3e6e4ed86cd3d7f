"""Whoever edits a public file of records and renews the seal is found out, in every format."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

import discreet as ds
from tests.attack.forging import Target, random_bytes, reseal

FORMATS = ["parquet", "sav", "dta", "xlsx", "asc"]
SECRET = "7391"
Edit = Callable[[bytes], bytes]


def people() -> ds.Microdata:
    rows = 24
    table = pa.table(
        {
            "name": [f"Person {i}" for i in range(rows)],
            "sex": ["m", "f"] * 12,
            "age": [20, 30, 40, 99] * 6,
            "job title": ["cook", "smith", None] * 8,
            "income": [1000.5, 2000.0, None, 7.25] * 6,
            "weight": [1.5, 2.5] * 12,
        }
    )
    return ds.Microdata(
        table,
        identifier="name",
        sensitive=["sex", "job title"],
        numeric=["income"],
        weight="weight",
        labels={"age": "Age in years"},
        value_labels={"sex": {"m": "male", "f": "female"}, "age": {"99": "not said"}},
        missing_codes={"age": ["99"]},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("forged") / "out"
    release = ds.protect(people(), ds.Recode("job title", map={"cook": "crafts", "smith": "crafts"}))
    release.save(folder, formats=FORMATS)
    assert ds.check_folder(folder).holds
    return folder


# ---- SPSS and Stata ---------------------------------------------------------------------------------------------


class StatFile:
    """A file as the library reads it, to be changed and written as it was."""

    def __init__(self, data: bytes, kind: str, folder: Path) -> None:
        self.kind, self.path = kind, folder / f"forged.{kind}"
        self.path.write_bytes(data)
        read = getattr(pyreadstat, f"read_{kind}")
        self.columns, about = read(
            str(self.path), output_format="dict", user_missing=True, disable_datetime_conversion=True
        )
        self.options: dict[str, Any] = {
            "file_label": about.file_label or "",
            "column_labels": {name: text for name, text in about.column_names_to_labels.items() if text},
            "variable_value_labels": {name: dict(of) for name, of in about.variable_value_labels.items()},
            "variable_format": {
                name: form for name, form in about.original_variable_types.items() if self._own(name, form)
            },
        }
        if kind == "sav":
            self.options["missing_ranges"] = {name: list(of) for name, of in about.missing_ranges.items()}
        else:
            self.options |= {"version": 14, "missing_user_values": dict(about.missing_user_values)}

    def _own(self, name: str, form: str) -> bool:
        return not form.startswith("A") and not form.endswith("s") and form != "%10.0g"

    def written(self) -> bytes:
        lettered = self.options.get("missing_user_values", {})
        types = {
            name: pl.Object
            if name in lettered
            else pl.String
            if any(isinstance(value, str) for value in values)
            else pl.Float64
            for name, values in self.columns.items()
        }
        frame = pl.DataFrame(
            {
                name: pl.Series(name, [None if v == "" else v for v in values], dtype=types[name])
                for name, values in self.columns.items()
            }
        )
        getattr(pyreadstat, f"write_{self.kind}")(frame, str(self.path), **self.options)
        data = self.path.read_bytes()
        if self.kind == "sav":
            return data[:92] + b"01 Jan 8000:00:00" + data[109:]
        stamp = b"<timestamp>\x1101 Jan 1980 00:00</timestamp>"
        return re.sub(rb"<timestamp>\x11.{17}</timestamp>", stamp, data, count=1)


def rows(change: Callable[[list[Any]], list[Any]]) -> Callable[[StatFile], None]:
    def edit(file: StatFile) -> None:
        file.columns = {name: change(values) for name, values in file.columns.items()}

    return edit


def put(name: str, row: int, value: Any) -> Callable[[StatFile], None]:
    def edit(file: StatFile) -> None:
        file.columns[name][row] = value

    return edit


def exchanged(file: StatFile) -> None:
    file.columns["weight"] = file.columns["weight"][::-1]


def renamed(file: StatFile) -> None:
    file.columns = {"sex_7391" if name == "sex" else name: values for name, values in file.columns.items()}


STAT: dict[str, Callable[[StatFile], object]] = {
    "an extra column": lambda f: f.columns.update(secret=[7391.0] * 24),
    "a column less": lambda f: f.columns.pop("income"),
    "a column by another name": renamed,
    "a changed value": put("income", 0, 7391.0),
    "a value in place of a gap": lambda f: put("income", f.columns["income"].index(None), 7391.0)(f),
    "another label of a column": lambda f: f.options["column_labels"].update(age=SECRET),
    "a label for a column that has none": lambda f: f.options["column_labels"].update(weight=SECRET),
    "a label of a value that nobody has": lambda f: f.options["variable_value_labels"].update(weight={7391: "x"}),
    "another title": lambda f: f.options.update(file_label=SECRET),
    "another format": lambda f: f.options["variable_format"].update(weight="F9.3" if f.kind == "sav" else "%9.3f"),
    "an extra row": rows(lambda values: [*values, None]),
    "a row twice": rows(lambda values: [values[0], *values]),
    "a row less": rows(lambda values: values[1:]),
    "rows in another order": rows(lambda values: values[::-1]),
    "values exchanged between rows": exchanged,
}
ONLY_SAV: dict[str, Callable[[StatFile], object]] = {
    "a note": lambda f: f.options.update(note=[SECRET]),
    "a code for unknown": lambda f: f.options["missing_ranges"].update(weight=[1.5]),
}


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_a_file_that_is_written_again_as_it_is_holds(folder, kind, tmp_path):
    target = Target(folder, f"public/records.{kind}")
    assert StatFile(target.true, kind, tmp_path).written() == target.true


@pytest.mark.parametrize(
    ("kind", "name"),
    [*(("sav", name) for name in {**STAT, **ONLY_SAV}), *(("dta", name) for name in STAT)],
)
def test_a_forged_statistical_file_is_refused(folder, kind, name, tmp_path):
    target = Target(folder, f"public/records.{kind}")
    file = StatFile(target.true, kind, tmp_path)
    {**STAT, **ONLY_SAV}[name](file)
    data = file.written()
    assert data != target.true
    assert_refused(target, data)


def assert_refused(target: Target, data: bytes | None, file: str = "", message: str = "") -> None:
    verdict = target.check(data)
    assert not verdict.holds
    assert {refusal.check for refusal in verdict.refused} == {"public"}
    assert any((file or target.path.name) in str(refusal) for refusal in verdict.refused)
    assert any(message in str(refusal) for refusal in verdict.refused), verdict


# ---- bytes of any file ------------------------------------------------------------------------------------------

BYTES: dict[str, Edit] = {
    "bytes behind the end": lambda data: data + SECRET.encode(),
    "a zero behind the end": lambda data: data + b"\0",
    "bytes before the beginning": lambda data: SECRET.encode() + data,
    "cut short": lambda data: data[:-3],
    "empty": lambda data: b"",
    "twice": lambda data: data + data,
    "one bit": lambda data: data[:-2] + bytes([data[-2] ^ 1]) + data[-1:],
}
FILES = ["records.sav", "records.dta", "records.xlsx", "records.asc", "records.rda", "records_sex.cdl"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", BYTES)
def test_other_bytes_are_refused(folder, file, name):
    target = Target(folder, f"public/{file}")
    assert_refused(target, BYTES[name](target.true))


# ---- workbooks --------------------------------------------------------------------------------------------------


def members(data: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        content = {part.filename: book.read(part) for part in book.infolist()}
        known = {part.filename: (part.date_time, part.external_attr) for part in book.infolist()}
    change(content)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as book:
        for name, told in content.items():
            date, rights = known.get(name, ((1980, 1, 1, 0, 0, 0), 0))
            part = zipfile.ZipInfo(name, date)
            part.external_attr = rights
            book.writestr(part, told, zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def replaced(name: str, pattern: str, new: str) -> Callable[[dict[str, bytes]], None]:
    def change(content: dict[str, bytes]) -> None:
        text, count = re.subn(pattern, new, content[name].decode(), count=1)
        assert count == 1
        content[name] = text.encode()

    return change


RECORDS, COLUMNS = "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"
COMMENT = b'<comments xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>'
CELL = f'<c r="Z9" t="inlineStr"><is><t>{SECRET}</t></is></c>'
WORKBOOK: dict[str, Callable[[dict[str, bytes]], object]] = {
    "a changed number": replaced(RECORDS, r"<v>1.5</v>", f"<v>{SECRET}</v>"),
    "a changed text": replaced(RECORDS, r"<t>m</t>", "<t>f</t>"),
    "an extra column": replaced(RECORDS, r"</row>", f"{CELL}</row>"),
    "an extra row": replaced(RECORDS, r"</sheetData>", f'<row r="99">{CELL}</row></sheetData>'),
    "a row less": replaced(RECORDS, r'<row r="25".*?</row>', ""),
    "a row twice": replaced(RECORDS, r'(<row r="25".*?</row>)', r"\1\1"),
    "a hidden column": replaced(RECORDS, r"<sheetData>", '<cols><col min="1" max="1" hidden="1"/></cols><sheetData>'),
    "a formula": replaced(RECORDS, r"<v>1.5</v>", "<f>1+1</f><v>1.5</v>"),
    "another label of a column": replaced(COLUMNS, r"Age in years", SECRET),
    "another label of a value": replaced(COLUMNS, r"not said", SECRET),
    "a column that is not said to be altered": replaced(COLUMNS, r"<t>yes</t>", "<t>no</t>"),
    "another title": replaced("docProps/core.xml", r"<dc:title>records", f"<dc:title>{SECRET}"),
    "an author": replaced("docProps/core.xml", r"<dc:creator>", f"<dc:creator>{SECRET}"),
    "a hidden sheet": replaced("xl/workbook.xml", r'<sheet name="Columns"', '<sheet state="hidden" name="Columns"'),
    "an extra sheet": lambda c: c.update({"xl/worksheets/sheet3.xml": c[RECORDS]}),
    "comments": lambda c: c.update({"xl/comments1.xml": COMMENT}),
    "a sheet less": lambda c: c.pop(COLUMNS),
}


@pytest.mark.parametrize("name", WORKBOOK)
def test_a_forged_workbook_is_refused(folder, name):
    target = Target(folder, "public/records.xlsx")
    assert target.check(members(target.true, lambda content: None)).holds  # packed otherwise, it says the same
    assert_refused(target, members(target.true, WORKBOOK[name]))


def test_a_comment_of_the_archive_is_refused(folder):
    target = Target(folder, "public/records.xlsx")
    sink = io.BytesIO(target.true)
    with zipfile.ZipFile(sink, "a") as book:
        book.comment = SECRET.encode()
    assert_refused(target, sink.getvalue())


# ---- fixed fields -----------------------------------------------------------------------------------------------


def lines(change: Callable[[list[str]], list[str]]) -> Edit:
    return lambda data: "\n".join(change(data.decode().split("\n"))).encode()


def text(old: str, new: str) -> Edit:
    def edit(data: bytes) -> bytes:
        assert old in data.decode()
        return data.decode().replace(old, new, 1).encode()

    return edit


ARGUS: dict[str, tuple[str, Edit]] = {
    "asc: a changed value": ("records.asc", text("1000.50", "7391.00")),
    "asc: an extra column": ("records.asc", lines(lambda given: [f"{line}7" if line else line for line in given])),
    "asc: a blank at the end of a line": ("records.asc", lines(lambda given: [f"{given[0]} ", *given[1:]])),
    "asc: an extra row": ("records.asc", lines(lambda given: [given[0].replace("m", "f"), *given])),
    "asc: a row twice": ("records.asc", lines(lambda given: [given[0], *given])),
    "asc: a row less": ("records.asc", lines(lambda given: given[1:])),
    "asc: a blank last line": ("records.asc", lambda data: data + b"\n"),
    "asc: other line ends": ("records.asc", lambda data: data.replace(b"\n", b"\r\n")),
    "asc: another encoding": ("records.asc", lambda data: b"\xef\xbb\xbf" + data),
    "rda: another label": ("records.rda", text("Age in years", SECRET)),
    "rda: another code for unknown": ("records.rda", text('"99"', '"98"')),
    "rda: a code for unknown more": ("records.rda", text('"99"', f'"99" "{SECRET}"')),
    "rda: another place": ("records.rda", text("age 2 2", "age 1 2")),
    "rda: a comment": ("records.rda", lambda data: data + f"// {SECRET}\n".encode()),
    "rda: another variable": ("records.rda", lambda data: data + b"secret 1 2\n"),
    "rda: no weight": ("records.rda", text("  <WEIGHT>\n", "")),
    "rda: another file": ("records.rda", text("records_sex.cdl", "records_age.cdl")),
    "cdl: another label": ("records_sex.cdl", text("female", SECRET)),
    "cdl: an extra code": ("records_sex.cdl", lambda data: data + f"x,{SECRET}\n".encode()),
    "cdl: a code twice": ("records_sex.cdl", lambda data: data + data.split(b"\n")[0] + b"\n"),
    "cdl: a code less": ("records_sex.cdl", lambda data: data.split(b"\n", 1)[1]),
}


@pytest.mark.parametrize("name", ARGUS)
def test_a_forged_file_of_fixed_fields_is_refused(folder, name):
    file, edit = ARGUS[name]
    target = Target(folder, f"public/{file}")
    assert_refused(target, edit(target.true))


@pytest.mark.parametrize("file", ["records.asc", "records.rda", "records_sex.cdl", "records_age.cdl"])
def test_a_file_that_belongs_to_the_fixed_fields_must_be_there(folder, file):
    assert_refused(Target(folder, f"public/{file}"), None, file, "a file that belongs to the data file is missing")


@pytest.mark.parametrize(
    "file", ["records_weight.cdl", "records2.sav", "records.SAV", "other.asc", "records.zsav", "records.sas7bdat"]
)
def test_a_file_that_no_format_has_is_refused(folder, file):
    extra = folder / "public" / file
    sealed = [(path, path.read_bytes()) for path in sorted((folder / "custodian").glob("manifest.*"))]
    extra.write_bytes(SECRET.encode())
    try:
        reseal(folder)
        verdict = ds.check_folder(folder)
        assert "a public file is not one that the checker can read back" in str(verdict)
        assert not verdict.holds
    finally:
        extra.unlink()
        for path, content in sealed:
            path.write_bytes(content)


def test_the_verdict_says_which_columns_have_other_names(folder):
    asserted = ds.check_folder(folder).asserted
    for kind in ("sav", "dta"):
        assert f"records.{kind} names columns as its format allows: 'job title' is job_title" in asserted


SAMPLE = 6
"""Random changes of each file; ``random_forgeries`` takes any number."""


def random_forgeries(folder: Path, file: str, count: int, seed: int = 1) -> list[bytes]:
    """Changed files that the checker accepts: there should be none."""
    target, rng = Target(folder, f"public/{file}"), random.Random(seed)
    forged = [data for data in (random_bytes(target.true, rng) for _ in range(count)) if data != target.true]
    return [data for data in forged if target.check(data).holds]


@pytest.mark.parametrize("file", ["records.csv", "records.parquet", *FILES])
def test_random_changes_are_refused(folder, file):
    accepted = random_forgeries(folder, file, SAMPLE)
    assert file == "records.xlsx" or not accepted
    for data in accepted:  # a workbook may be packed otherwise, and says the same
        assert members(data, lambda content: None) == members(
            (folder / "public" / file).read_bytes(), lambda content: None
        )
