"""Public records as workbooks, written a second time."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path
from typing import Any

from discreet.verify.formats.shown import Different
from discreet.verify.formats.xlsx import same_workbook
from discreet.verify.records.published import GivenRecords
from discreet.verify.records.words import code_of, is_unknown

CELL = 32_767
"""Characters that a cell holds."""
SURE = 15
"""Digits of a number that a workbook holds as one."""


def check_xlsx(path: Path, published: GivenRecords) -> None:
    """A workbook is member for member what the release gives."""
    import xlsxwriter

    if published.table.num_rows >= 2**20 or published.table.num_columns > 2**14:
        raise Different("the format cannot hold what the release gives")
    sink = io.BytesIO()
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(sink, options) as book:
        book.set_properties({"created": dt.datetime(1980, 1, 1), "title": published.name})
        _sheet_of_records(book, published)
        _sheet_of_columns(book, published)
    same_workbook(sink.getvalue(), path.read_bytes(), "release gives")


def _sheet_of_records(book: Any, published: GivenRecords) -> None:
    sheet, bold = book.add_worksheet("Records"), book.add_format({"bold": True})
    sheet.freeze_panes(1, 0)
    for place, name in enumerate(published.names):
        sheet.write_string(0, place, name, bold)
    cells, styles = [], []
    for name in published.names:
        values, form = _cells(published, name)
        cells.append(values)
        styles.append(book.add_format({"num_format": form}) if form else None)
    for row in range(published.table.num_rows):
        for place, style in enumerate(styles):
            value = cells[place][row]
            if value is None:
                continue
            if isinstance(value, str):
                sheet.write_string(row + 1, place, value, style)
            elif isinstance(value, bool):
                sheet.write_boolean(row + 1, place, value)
            elif isinstance(value, dt.date):
                sheet.write_datetime(row + 1, place, value, style)
            else:
                sheet.write_number(row + 1, place, value)


def _cells(published: GivenRecords, name: str) -> tuple[list[Any], str]:
    """What stands in the cells of a column, and how it is shown."""
    kind, values = published.kind(name), published.values(name)
    distinct = published.distinct(name)
    if kind == "string":
        if any(len(text) > CELL for text in distinct) or ("" in distinct and None in values):
            raise Different("the format cannot hold what the release gives")
        return values, "@"
    if kind == "date32[day]":
        if any((value.year, value.month) < (1900, 3) for value in distinct):
            return [None if value is None else value.isoformat() for value in values], ""
        return values, "yyyy-mm-dd"
    if kind == "timestamp[us]":
        if any((value.year, value.month) < (1900, 3) or value.microsecond % 1000 for value in distinct):
            return [None if value is None else value.isoformat(sep=" ") for value in values], ""
        return values, "yyyy-mm-dd hh:mm:ss.000"
    if kind == "bool":
        return values, ""
    long = {value: code_of(value) for value in distinct if _digits(value) > SURE}
    return [long.get(value, value) for value in values], ""


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
                if len(text) > CELL or row >= 2**20:
                    raise Different("the format cannot hold what the release gives")
                if text:
                    sheet.write_string(row, place, text, plain)
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
