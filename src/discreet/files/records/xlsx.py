"""Public records as Excel workbooks: a sheet of records, and one that says what the columns are."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import OutputError, counted
from discreet.files.celltext import refuse_markup
from discreet.files.records.texts import distinct_values, refuse_empty_text
from discreet.model.records import PublicRecords, code_text, stands_for_unknown

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS, MOST_COLUMNS, MOST_TEXT = 1_048_576, 16_384, 32_767
EXACT_DIGITS = 15
"""Excel keeps so many digits of a number; longer ones are written as text."""
FIRST_DAY = date(1900, 3, 1)
"""Excel has a day in February 1900 that never was; columns with earlier dates are written as text."""
OPEN = 1.7e308
HEADING = ("column", "label", "altered", "code", "meaning", "unknown", "note")
DIGITS_NOTE = f"Numbers of more than {EXACT_DIGITS} digits are written as text, so that none is lost."
ROWS_AT_A_TIME = 50_000


def write_xlsx(path: Path, records: PublicRecords) -> None:
    """Public records as a workbook. Every text is written as text, never as a formula."""
    import xlsxwriter

    _refuse_too_large(records)
    # Put together in memory, because xlsxwriter leaves errors of a full disk to whoever collects its garbage.
    content = io.BytesIO()
    options = {"strings_to_formulas": False, "strings_to_urls": False, "constant_memory": True}
    try:
        with xlsxwriter.Workbook(content, options) as book:
            book.set_properties({"created": datetime(1980, 1, 1), "title": records.name})
            _records(book, records)
            _columns(book, records)
    except xlsxwriter.exceptions.XlsxFileError as error:  # the folder for temporary files is full
        raise OSError(errno.EIO, str(error)) from error
    path.write_bytes(content.getvalue())


def _refuse_too_large(records: PublicRecords) -> None:
    if len(records) + 1 > MOST_ROWS or len(records.variables) > MOST_COLUMNS:
        raise OutputError(
            f"There are {counted(len(records), 'record')} with {counted(len(records.variables), 'column')}; a sheet of "
            f"Excel has {MOST_ROWS:,} rows, one of them for the names, and {MOST_COLUMNS:,} columns.",
            hint="Leave 'xlsx' out of the formats.",
        )


def _records(book: Any, records: PublicRecords) -> None:
    sheet = book.add_worksheet("Records")
    sheet.freeze_panes(1, 0)
    bold = book.add_format({"bold": True})
    for place, name in enumerate(records.variables):
        sheet.write_string(0, place, _short(name, name), bold)
    writers = [_writer(book, sheet, name, records.columns[name]) for name in records.variables]
    for start in range(0, len(records), ROWS_AT_A_TIME):
        part = records.columns.slice(start, ROWS_AT_A_TIME)
        columns = [part[name].to_pylist() for name in records.variables]
        for row, values in enumerate(zip(*columns, strict=True), start=start + 1):
            for place, (value, write) in enumerate(zip(values, writers, strict=True)):
                if value is not None:
                    write(row, place, value)


def _writer(book: Any, sheet: Any, name: str, column: pa.ChunkedArray) -> Any:
    """What writes a value of a column into a cell."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind):
        refuse_empty_text(name, column, ".xlsx")
        style = book.add_format({"num_format": "@"})
        return lambda row, place, text: sheet.write_string(row, place, _short(text, name), style)
    if pa.types.is_boolean(kind):
        return sheet.write_boolean
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        days = pa.types.is_date32(kind)
        if not _are_days_of_excel(column, days):
            return lambda row, place, moment: sheet.write_string(row, place, str(moment))
        style = book.add_format({"num_format": "yyyy-mm-dd" if days else "yyyy-mm-dd hh:mm:ss.000"})
        return lambda row, place, moment: sheet.write_datetime(row, place, moment, style)

    def write_number(row: int, place: int, number: float) -> None:
        text = code_text(number)
        if _is_long(text):
            sheet.write_string(row, place, text)
        else:
            sheet.write_number(row, place, number)

    return write_number


def _are_days_of_excel(column: pa.ChunkedArray, days: bool) -> bool:
    """Whether Excel can hold all dates or times of a column."""
    values = distinct_values(column)
    if days:
        return all(value >= FIRST_DAY for value in values)
    return all(value.date() >= FIRST_DAY and value.microsecond % 1000 == 0 for value in values)


def _is_long(text: str) -> bool:
    digits = text.partition("e")[0].strip("-").replace(".", "").lstrip("0")
    return len(digits) > EXACT_DIGITS


def _short(text: str, name: str) -> str:
    if len(text) > MOST_TEXT:
        raise OutputError(
            f"Column {name[:60]!r} has text of {counted(len(text), 'character')}; a cell of Excel holds {MOST_TEXT:,}.",
            hint="Shorten it, or leave 'xlsx' out of the formats.",
        )
    return refuse_markup(text)


def _columns(book: Any, records: PublicRecords) -> None:
    """What the columns are: their labels, the meaning of their codes, and what stands for "unknown"."""
    sheet = book.add_worksheet("Columns")
    sheet.freeze_panes(1, 0)
    sheet.set_column(0, 1, 30)
    bold, plain = book.add_format({"bold": True}), book.add_format({"num_format": "@"})
    for place, text in enumerate(HEADING):
        sheet.write_string(0, place, text, bold)
    row = 0
    for name in records.variables:
        for line in _lines(records, name):
            row += 1
            if row >= MOST_ROWS:
                raise OutputError(
                    "The columns have more labels than a sheet of Excel has rows.",
                    hint="Leave 'xlsx' out of the formats.",
                )
            for place, text in enumerate(line):
                if text:
                    sheet.write_string(row, place, _short(text, name), plain)


def _lines(records: PublicRecords, name: str) -> Iterator[tuple[str, ...]]:
    about, column = records.info[name], records.columns[name]
    is_number = str(column.type) in ("int64", "double")
    long = is_number and any(_is_long(code_text(value)) for value in distinct_values(column))
    yield name, about.label, "yes" if about.altered else "no", "", "", "", DIGITS_NOTE if long else ""
    for code, text in sorted(about.value_labels.items()):
        yield name, "", "", code, text, "yes" if stands_for_unknown(code, about.missing) else ""
    for low, high in about.missing:
        codes = [_end(low)] if low == high else [_end(low), _end(high)]
        if len(codes) > 1 or codes[0] not in about.value_labels:
            yield name, "", "", " to ".join(codes), "", "yes"


def _end(end: Any) -> str:
    if isinstance(end, str) or abs(end) < OPEN:
        return code_text(end)
    return "highest" if end > 0 else "lowest"
