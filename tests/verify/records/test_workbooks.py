"""Workbooks of records, which the checker puts together from their distinct cells, and what they could carry."""

from __future__ import annotations

import datetime as dt
import io
import random
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xlsxwriter

import discreet as ds
from discreet.errors import OutputError
from discreet.files.records.xlsx import write_xlsx
from discreet.model.records import PublicColumn, PublicRecords
from discreet.verify.formats.shown import Different
from discreet.verify.records import xlsx as module
from discreet.verify.records.published import GivenRecords

TEXTS = [" a", "b ", "<x>&\"'", "_x0041_", "\x01z", "a\nb", "=1+1", "é\u2028", "\r", "_", "x" * 300, "<r>", "</r>"]
MARKUP = '<r></is></c><c r="Z9"><f>HYPERLINK("http://example.org")</f></c><c r="Z8" t="inlineStr"><is></r>'
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), TEXTS),
    "early": (pa.date32(), [dt.date(1899, 5, 7), dt.date(2020, 5, 8)]),
    "day": (pa.date32(), [dt.date(1950, 5, 7), dt.date(2020, 5, 8)]),
    "moment": (pa.timestamp("us"), [dt.datetime(2001, 5, 7, 3, 4, 5, 7000), dt.datetime(2001, 5, 8)]),
    "exact": (pa.timestamp("us"), [dt.datetime(2001, 5, 7, 3, 4, 5, 7)]),
    "truth": (pa.bool_(), [True, False]),
    "amount": (pa.float64(), [0.1, 1e300, 1 / 3, -2.5, 12345678901234.5, 1e-9, 3.0]),
    "count": (pa.int64(), [1, -5, 10**17, 2**60 + 1]),
}


def written(table: pa.Table, folder: Path) -> tuple[Path, GivenRecords]:
    info = {name: PublicColumn(altered=False) for name in table.column_names}
    write_xlsx(folder / "records.xlsx", PublicRecords("records", table, info))
    return folder / "records.xlsx", GivenRecords("records", table, info)


@pytest.mark.parametrize("seed", range(12))
def test_the_checker_makes_the_same_bytes_of_awkward_values(seed: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "LINES", 3)
    draw = random.Random(seed)
    rows = draw.choice([1, 2, 10, 25])
    columns = {}
    for name, (kind, values) in COLUMNS.items():
        gaps = draw.choice([0.0, 0.1, 0.9])
        columns[name] = pa.array([None if draw.random() < gaps else draw.choice(values) for _ in range(rows)], kind)
    columns |= {f"more {k}": columns["text"] for k in range(3 * seed)}
    assert module.check_xlsx(*written(pa.table(columns), tmp_path)) is None


def test_rows_without_any_value_have_no_line(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([None, "x", None, None]), "b": pa.array([None, 1, None, None])})
    assert module.check_xlsx(*written(table, tmp_path)) is None


def test_a_text_that_would_be_markup_is_neither_written_nor_accepted(tmp_path: Path) -> None:
    table = pa.table({"text": [MARKUP, "plain"]})
    with pytest.raises(OutputError, match="cannot hold a text that begins with <r> and ends with </r>"):
        written(table, tmp_path)
    with xlsxwriter.Workbook(tmp_path / "forged.xlsx", {"constant_memory": True}) as book:
        book.add_worksheet("Records").write_string(1, 0, MARKUP)
    with zipfile.ZipFile(tmp_path / "forged.xlsx") as book:
        assert b"<f>HYPERLINK(" in book.read(module.RECORDS)  # that is what the library makes of it
    given = GivenRecords("records", table, {"text": PublicColumn(altered=False)})
    with pytest.raises(Different, match="the format cannot hold"):
        module.check_xlsx(tmp_path / "forged.xlsx", given)


def test_a_label_that_would_be_markup_is_not_written(tmp_path: Path) -> None:
    table = ds.examples.small_table()
    trade = table.spec.by["trade"]
    labelled = ds.Hierarchy.flat([code for code in trade.codes if code != trade.codes[0]], labels={"food": MARKUP})
    table = table.with_(spec=table.spec.with_(by={**table.spec.by, "trade": labelled}))
    release = ds.protect(table.assess(ds.PPercent(10)), ds.Suppress())
    with pytest.raises(OutputError, match="cannot hold a text that begins with <r> and ends with </r>"):
        ds.write_public(release.public.tables[0], tmp_path / "turnover.xlsx")


def test_a_verdict_says_that_a_workbook_is_packed_otherwise(tmp_path: Path) -> None:
    people = pa.table({"age": ["20", "20", "30", "30"], "sex": ["f", "f", "m", "m"]})
    release = ds.protect(ds.Microdata(people, keys=["age", "sex"]), ds.Recode("age", map={"20": "20", "30": "30+"}))
    release.save(tmp_path / "out", formats=["xlsx"])
    file = tmp_path / "out" / "public" / "records.xlsx"
    given = GivenRecords("records", release.public.records.columns, release.public.records.info)
    assert module.check_xlsx(file, given) is None
    sink = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(sink, "w") as new:
        for part in old.infolist():
            new.writestr(part, old.read(part), zipfile.ZIP_DEFLATED, 1)
    file.write_bytes(sink.getvalue())
    assert "not how this machine packs it" in str(module.check_xlsx(file, given))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_stand_in_no_public_file(number: float) -> None:
    given = GivenRecords("records", pa.table({"pay": [1.0, number, 2.0]}), {"pay": PublicColumn(altered=False)})
    with pytest.raises(Different, match="numbers that are not finite"):
        given.encoded("pay")
