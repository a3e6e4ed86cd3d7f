"""Public records as workbooks, written a second time."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.verify.formats.shown import Different
from discreet.verify.formats.xlsx import MARKED, same_workbook
from discreet.verify.records.published import GivenRecords, joined
from discreet.verify.records.words import code_of, is_unknown

CELL = 32_767
"""Characters that a cell holds."""
SURE = 15
"""Digits of a number that a workbook holds as one."""
LINES = 100_000
"""Rows that are put together at a time."""
RECORDS = "xl/worksheets/sheet1.xml"
CELL_TEXT = re.compile(r'<c r="A[0-9]+"(?: s="[0-9]+")?(.*?</c>)', re.DOTALL)
CANNOT = "the format cannot hold what the release gives"


def check_xlsx(path: Path, published: GivenRecords) -> str | None:
    """A workbook is member for member what the release gives; the answer is what nobody can check of it."""
    if published.table.num_rows >= 2**20 or published.table.num_columns > 2**14:
        raise Different(CANNOT)
    columns = [_column(published, name) for name in published.names]
    return same_workbook(_workbook(published, columns), path.read_bytes(), "release gives")


@dataclass
class SheetColumn:
    """A column of the sheet: its distinct cells, which of them each record has, and how they are shown."""

    cells: list[Any]
    places: NDArray[np.int64]
    form: str
    style: Any = None

    def write(self, sheet: Any, row: int, place: int, value: Any) -> None:
        """Let the library write a cell."""
        if isinstance(value, str):
            sheet.write_string(row, place, value, self.style)
        elif isinstance(value, bool):
            sheet.write_boolean(row, place, value)
        elif isinstance(value, dt.date):
            sheet.write_datetime(row, place, value, self.style)
        elif value is not None:
            sheet.write_number(row, place, value)

    def filled(self) -> NDArray[np.bool_]:
        """Which records have something in this column."""
        return np.array([value is not None for value in self.cells], np.bool_)[self.places]


def _column(published: GivenRecords, name: str) -> SheetColumn:
    values, places = published.encoded(name)
    cells, form = _cells(published.kind(name), values)
    return SheetColumn(cells, np.asarray(places.to_numpy(), np.int64), form)


def _workbook(published: GivenRecords, columns: list[SheetColumn]) -> bytes:
    """The workbook: the library writes a few rows of the records, which decide on all that stands around them."""
    made = io.BytesIO()
    with _book(made) as book:
        book.set_properties({"created": dt.datetime(1980, 1, 1), "title": published.name})
        _sheet_of_samples(book, published, columns)
        _sheet_of_columns(book, published)
    sink = io.BytesIO()
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(sink, "w") as new:
        for part in old.infolist():
            content = old.read(part)
            if part.filename == RECORDS:
                head, _, _ = content.partition(b"</row>")
                _, end, tail = content.rpartition(b"</sheetData>")
                content = b"".join((head, b"</row>", *_rows(columns), end, tail))
            new.writestr(part, content)
    return sink.getvalue()


def _book(sink: io.BytesIO) -> Any:
    import xlsxwriter

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    return xlsxwriter.Workbook(sink, options)


def _sheet_of_samples(book: Any, published: GivenRecords, columns: list[SheetColumn]) -> None:
    """Names of columns, the first row in which each of them has something, and the last row of all."""
    sheet, bold = book.add_worksheet("Records"), book.add_format({"bold": True})
    sheet.freeze_panes(1, 0)
    for place, name in enumerate(published.names):
        sheet.write_string(0, place, _safe(name), bold)
    filled = [column.filled() for column in columns]
    rows = {int(np.argmax(some)) for some in filled if some.any()}
    rows |= {int(np.flatnonzero(some)[-1]) for some in filled if some.any()}
    for column in columns:
        column.style = book.add_format({"num_format": column.form}) if column.form else None
    for row in sorted(rows):
        for place, column in enumerate(columns):
            column.write(sheet, row + 1, place, column.cells[column.places[row]])


def _rows(columns: list[SheetColumn]) -> Iterator[bytes]:
    """All records as rows of the sheet; one without any cell has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.large_string()
    nothing, begin, close, end = (pa.scalar(text, kind) for text in ("", '<row r="', '">', "</row>"))
    texts = [pa.array(_fragments(column), kind) for column in columns]
    before = [pa.scalar(f'<c r="{_letters(place)}', kind) for place in range(len(columns))]
    some = np.logical_or.reduce([column.filled() for column in columns])
    for start in range(0, len(some), LINES):
        rows = np.flatnonzero(some[start : start + LINES]) + start
        number = pa.array(rows + 2).cast(kind)
        cells = []
        for column, text, first in zip(columns, texts, before, strict=True):
            # A gap makes the whole of the cell a gap, which the row then passes over.
            cells.append(pc.binary_join_element_wise(first, number, text.take(pa.array(column.places[rows])), nothing))
        options = {"null_handling": "skip"}
        yield joined(pc.binary_join_element_wise(begin, number, close, *cells, end, nothing, **options))


def _fragments(column: SheetColumn) -> list[str | None]:
    """What stands behind the place of a cell, for the distinct cells of a column."""
    style = "" if column.style is None else f' s="{column.style._get_xf_index()}"'
    found: list[str | None] = [None] * len(column.cells)
    others = []
    for number, value in enumerate(column.cells):
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[number] = f'"><v>{value:.16G}</v></c>'
        elif value is not None:
            others.append(number)
    for number, text in zip(others, _written(column, others), strict=True):
        found[number] = f'"{style if column.form else ""}{text}'
    return found


def _written(column: SheetColumn, numbers: list[int]) -> list[str]:
    """Texts, dates and truths as the library writes them, behind where they stand and how they are shown."""
    if not numbers:
        return []
    sink = io.BytesIO()
    plain = replace(column, style=None)
    with _book(sink) as book:
        sheet = book.add_worksheet()
        plain.style = book.add_format({"num_format": column.form}) if column.form else None
        for row, number in enumerate(numbers):
            plain.write(sheet, row, 0, column.cells[number])
    with zipfile.ZipFile(sink) as made:
        text = made.read(RECORDS).decode()
    return [found[1] for found in CELL_TEXT.finditer(text)]


def _letters(place: int) -> str:
    """The name of a column of a sheet: A to Z, AA and so on."""
    name, left = "", place + 1
    while left:
        left, sign = divmod(left - 1, 26)
        name = chr(ord("A") + sign) + name
    return name


def _safe(text: str) -> str:
    """The same text, unless it is too long or the library would take it for the inside of a cell."""
    if len(text) > CELL or MARKED.fullmatch(text):
        raise Different(CANNOT)
    return text


def _cells(kind: str, values: list[Any]) -> tuple[list[Any], str]:
    """What stands in the cells of some distinct values, and how it is shown."""
    known = [value for value in values if value is not None]
    if kind == "string":
        if "" in known and None in values:
            raise Different(CANNOT)
        return [None if value is None else _safe(value) for value in values], "@"
    if kind == "date32[day]":
        if any((value.year, value.month) < (1900, 3) for value in known):
            return [None if value is None else value.isoformat() for value in values], ""
        return values, "yyyy-mm-dd"
    if kind == "timestamp[us]":
        if any((value.year, value.month) < (1900, 3) or value.microsecond % 1000 for value in known):
            return [None if value is None else value.isoformat(sep=" ") for value in values], ""
        return values, "yyyy-mm-dd hh:mm:ss.000"
    if kind == "bool":
        return values, ""
    return [code_of(value) if value is not None and _digits(value) > SURE else value for value in values], ""


def _digits(number: float) -> int:
    mantissa = code_of(number).split("e")[0]
    return len("".join(sign for sign in mantissa if sign.isdigit()).lstrip("0"))


def _sheet_of_columns(book: Any, published: GivenRecords) -> None:
    sheet = book.add_worksheet("Columns")
    sheet.freeze_panes(1, 0)
    sheet.set_column(0, 1, 30)
    bold, plain = book.add_format({"bold": True}), book.add_format({"num_format": "@"})
    for place, text in enumerate(["column", "label", "altered", "code", "meaning", "unknown", "note"]):
        sheet.write_string(0, place, text, bold)
    row = 1
    for name in published.names:
        for line in _told(published, name):
            for place, text in line.items():
                if row >= 2**20:
                    raise Different(CANNOT)
                if text:
                    sheet.write_string(row, place, _safe(text), plain)
            row += 1


def _told(published: GivenRecords, name: str) -> list[dict[int, str]]:
    """Lines on one column: places and texts."""
    about = published.info[name]
    first = {0: name, 1: about.label, 2: "yes" if about.altered else "no"}
    if published.kind(name) in ("int64", "double") and any(_digits(v) > SURE for v in published.distinct(name)):
        first[6] = f"Numbers of more than {SURE} digits are written as text, so that none is lost."
    lines = [first]
    for code in sorted(about.value_labels):
        lines.append({0: name, 3: code, 4: about.value_labels[code]})
        if is_unknown(code, about.missing):
            lines[-1][5] = "yes"
    for low, high in about.missing:
        if low != high:
            lines.append({0: name, 3: f"{_edge(low)} to {_edge(high)}", 5: "yes"})
        elif _edge(low) not in about.value_labels:
            lines.append({0: name, 3: _edge(low), 5: "yes"})
    return lines


def _edge(end: Any) -> str:
    if not isinstance(end, str) and abs(end) >= 1.7e308:
        return "lowest" if end < 0 else "highest"
    return code_of(end)
