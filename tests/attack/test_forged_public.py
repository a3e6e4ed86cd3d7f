"""Whoever edits a public file and renews the seal is found out, in every format, with the place."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.attack.forging import SUFFIXES, Target, json_file, json_tree, made, run

SAMPLE = 36
"""Random forgeries of each format; ``python -m tests.attack.forging`` makes 10,000."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return made(tmp_path_factory.mktemp("forged") / "out", "withheld", list(SUFFIXES))


def text(data: bytes, old: str, new: str) -> bytes:
    assert old in data.decode()
    return data.decode().replace(old, new, 1).encode()


def tree(change: Callable[[dict], object]) -> Callable[[bytes], bytes]:
    """A change of a JSON file that is written as before."""

    def edit(data: bytes) -> bytes:
        found = json_tree(data)
        assert json_file(found) == data
        change(found)
        return json_file(found)

    return edit


def table(change: Callable[[pa.Table], pa.Table]) -> Callable[[bytes], bytes]:
    """A change of a Parquet file that is written as before."""

    def edit(data: bytes) -> bytes:
        sink = io.BytesIO()
        pq.write_table(change(pq.read_table(io.BytesIO(data))), sink, compression="zstd")
        return sink.getvalue()

    return edit


def members(change: Callable[[dict[str, bytes]], object]) -> Callable[[bytes], bytes]:
    """A change of the members of a workbook."""

    def edit(data: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            content = {part.filename: book.read(part) for part in book.infolist()}
            dates = {part.filename: part.date_time for part in book.infolist()}
        change(content)
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as book:
            for name, told in content.items():
                book.writestr(zipfile.ZipInfo(name, dates.get(name, (1980, 1, 1, 0, 0, 0))), told, zipfile.ZIP_DEFLATED)
        return sink.getvalue()

    return edit


def with_secret_rows(given: pa.Table) -> pa.Table:
    """All cells again, with a value where none was shown."""
    at = given.schema.names.index("value")
    kind = given.schema.field(at)
    values = [7391 if value is None else value for value in given["value"].to_pylist()]
    return pa.concat_tables([given, given.set_column(at, kind, pa.array(values, kind.type))])


def replaced(name: str, old: bytes, new: bytes) -> Callable[[dict[str, bytes]], object]:
    def change(content: dict[str, bytes]) -> None:
        assert old in content[name]
        content[name] = content[name].replace(old, new, 1)

    return change


SHEET = "xl/worksheets/sheet1.xml"
INLINE = b'<row r="99"><c r="A99" t="inlineStr"><is><t>7391</t></is></c></row></sheetData>'
NAMED: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "parquet: a column": (
        "parquet",
        table(lambda t: t.append_column("secret", pa.array(["7391"] * t.num_rows))),
        "the column 'secret' is not one that the release has",
    ),
    "parquet: metadata": (
        "parquet",
        table(lambda t: t.replace_schema_metadata({**t.schema.metadata, "secret": "7391"})),
        "what the file says of itself (metadata)",
    ),
    "parquet: rows twice": ("parquet", table(with_secret_rows), "the file has 40 rows and not 20"),
    "sdmx-csv: a column": (
        "sdmx-csv",
        lambda data: b"".join(line + b",7391\n" for line in data.splitlines()),
        "line 1 is not what the published cells give",
    ),
    "sdmx-csv: a row twice": (
        "sdmx-csv",
        lambda data: data + text(data.splitlines(keepends=True)[-1], ",,Q\n", ",7391,A\n"),
        "line 22 is one too many",
    ),
    "jsonstat: extension": (
        "jsonstat",
        tree(lambda t: t["extension"].update(secret=7391)),
        "the entry extension.secret is not one that the release has",
    ),
    "jsonstat: note": (
        "jsonstat",
        tree(lambda t: t.update(note=["crafts, South: 7391"])),
        "the entry note.0 is not what the published cells give",
    ),
    "jsonstat: a label": (
        "jsonstat",
        tree(lambda t: t["dimension"]["trade"]["category"]["label"].update(wood="Wood (South: 7391)")),
        "the entry dimension.trade.category.label.wood is not what",
    ),
    "jsonstat: a key twice": (
        "jsonstat",
        lambda data: text(data, '"label":"turnover"', '"label":"South 7391","label":"turnover"'),
        "has the key 'label' twice",
    ),
    "sdmx-json: a second data set": (
        "sdmx-json",
        tree(
            lambda t: t["data"]["dataSets"].append({**t["data"]["dataSets"][0], "observations": {"0:0:0": [7391, 0]}})
        ),
        "the list data.dataSets has another length",
    ),
    "px: a note": (
        "px",
        lambda data: text(data, "\nDATA=", '\nNOTEX="South 7391";\nDATA='),
        "is not what the published cells give",
    ),
    "xlsx: a sheet": (
        "xlsx",
        members(lambda m: m.update({"xl/worksheets/sheet3.xml": m[SHEET]})),
        "the member 'xl/worksheets/sheet3.xml' is not one that the release has",
    ),
    "xlsx: an inline string": (
        "xlsx",
        members(replaced(SHEET, b"</sheetData>", INLINE)),
        "the member 'xl/worksheets/sheet1.xml' is not what the published cells give",
    ),
    "xlsx: a member": (
        "xlsx",
        members(lambda m: m.update({"xl/secret.txt": b"7391"})),
        "the member 'xl/secret.txt' is not one that the release has",
    ),
    "xlsx: the title": (
        "xlsx",
        members(replaced("docProps/core.xml", b"<dc:title>turnover", b"<dc:title>South 7391")),
        "the member 'docProps/core.xml' is not what the published cells give",
    ),
    "csv: leading zeros": (
        "csv",
        lambda data: text(data, "food,North,412.5", "food,North,0412.5"),
        "line 7 is not what the published cells give",
    ),
    "csv: quotes": (
        "csv",
        lambda data: text(data, "food,North,", '"food",North,'),
        "line 7 is not what the published cells give",
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_forged_file_is_refused_with_its_place(folder, name):
    form, edit, message = NAMED[name]
    target = Target(folder, f"public/turnover{SUFFIXES[form]}")
    assert target.check(target.true).holds
    verdict = target.check(edit(target.true))
    assert [refusal.check for refusal in verdict.refused] == ["public"]
    assert message in str(verdict.refused[0])
    assert target.path.name in str(verdict.refused[0])


@pytest.mark.parametrize("form", SUFFIXES)
def test_a_public_file_that_is_gone_or_empty_is_refused_where_it_is_needed(folder, form):
    target = Target(folder, f"public/turnover{SUFFIXES[form]}")
    assert not target.check(b"").holds
    # Releases without one of the other formats are releases; without csv they are none.
    assert target.check(None).holds == (form != "csv")


@cache
def figures(form: str) -> dict[str, int]:
    return dict(run(SAMPLE, seed=2027, formats=[form])[form])


@pytest.mark.parametrize("form", SUFFIXES)
def test_random_forgeries_are_refused(form):
    found = figures(form)
    assert found.get("accepted", 0) == 0, found
    assert found["refused"] >= SAMPLE * 0.8
    assert sum(found.values()) == SAMPLE


def test_a_workbook_that_was_packed_otherwise_says_the_same(folder):
    target = Target(folder, "public/turnover.xlsx")
    with zipfile.ZipFile(io.BytesIO(target.true)) as book:
        parts = [(part, book.read(part)) for part in book.infolist()]
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as book:
        for part, content in parts:
            book.writestr(part, content, zipfile.ZIP_DEFLATED, 1)
    assert sink.getvalue() != target.true
    assert target.check(sink.getvalue()).holds


def test_a_parquet_file_does_not_tell_by_its_version(folder):
    target = Target(folder, "public/turnover.parquet")
    named = b"parquet-cpp-arrow version "
    assert target.true.count(named) == 1
    assert pq.ParquetFile(io.BytesIO(target.true)).metadata.created_by == "parquet-cpp-arrow version 22.0.0"
    at = target.true.index(named) + len(named)
    forged = target.true[:at] + b"73.9.1" + target.true[at + 6 :]
    assert pq.read_table(io.BytesIO(forged)).num_rows == 20
    assert "was written in another way" in str(target.check(forged))
