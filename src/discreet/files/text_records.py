"""Records with a decimal comma, in another encoding, or on a sheet of a workbook."""

from __future__ import annotations

import codecs
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.files.csv_rows import csv_rows
from discreet.files.foreign import workbook_rows
from discreet.files.frames import no_records, not_regular
from discreet.files.text_columns import marked_as_text
from discreet.model.microdata import Microdata

if TYPE_CHECKING:
    import pyarrow as pa

DECIMALS = (".", ",")


def read_text_records(
    path: Path, *, delimiter: str = ",", decimal: str = ".", encoding: str = "utf-8", sheet: str | None = None
) -> pa.Table:
    """All columns of a file as text, marked with how its numbers are written.

    Parameters
    ----------
    path
        A csv or xlsx file.
    delimiter, decimal, encoding
        Of a csv file. With a decimal comma, thousands may stand apart (``1.234,5``).
    sheet
        Of an xlsx file; its first when left out.

    Raises
    ------
    InputError
        When the file cannot be read that way.
    """
    if decimal not in DECIMALS:
        raise ParameterError(f"decimal={decimal!r} is not allowed.", hint="Use '.' or ','.")
    if not path.is_file():
        raise InputError(f"There is no file {path.name!r}.", hint=f"Check the name and the folder. Looked for: {path}")
    if path.suffix.lower() == ".xlsx":
        return marked_as_text(_sheet(path, sheet), ".")
    if sheet is not None:
        raise ParameterError("Only xlsx files have sheets.", hint="Leave sheet= out.")
    if path.suffix.lower() != ".csv" and path.suffix.lower() not in (".txt", ".tsv", ".asc", ""):
        raise ParameterError(
            f"decimal= and encoding= are for csv files, and {path.name!r} is none.", hint="Leave them out."
        )
    if decimal == delimiter:
        raise ParameterError(
            "A comma cannot both separate columns and begin decimals.", hint="Give delimiter=';', or decimal='.'."
        )
    return marked_as_text(_csv(path, delimiter, encoding), decimal)


def as_text(data: Microdata) -> pa.Table:
    """All columns of a file of records as text; see :meth:`discreet.Microdata.as_text`."""
    if not data.is_file:
        raise ParameterError("The records are no file.", hint="as_text() is for files.")
    return read_text_records(
        data.source, delimiter=data.delimiter, decimal=data.decimal, encoding=data.encoding, sheet=data.sheet
    )


def _csv(path: Path, delimiter: str, encoding: str) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ParameterError(
            f"There is no encoding {encoding!r}.", hint="Use 'utf-8', 'latin-1', 'cp1252' or 'utf-16', for example."
        ) from None
    try:
        with path.open(encoding=encoding, newline="") as stream:
            names = next(csv_rows([stream.readline().lstrip("\ufeff").rstrip("\r\n")], path.name, delimiter), [])
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(encoding=encoding, column_names=names, skip_rows=1),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
            ),
        )
    except UnicodeError:
        raise InputError(
            f"The file {path.name!r} is not {encoding} text.",
            hint="Give the encoding that it was written in: 'utf-8', 'latin-1', 'cp1252' or 'utf-16', for example.",
        ) from None
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            raise no_records() from None
        raise not_regular(path.name, error) from None
    if not table.num_rows:
        raise no_records()
    return table


def _sheet(path: Path, sheet: str | None) -> pa.Table:
    import pyarrow as pa

    rows = (row for row in workbook_rows(path, sheet) if any(item is not None for item in row))
    head = [_text(item) for item in next(rows, [])]
    while head and head[-1] is None:
        head.pop()
    if None in head:
        raise InputError(
            f"Column {head.index(None) + 1} of the sheet in {path.name!r} has no name.",
            hint="Let the first filled row hold the names of all columns, without lines above it.",
        )
    columns: list[list[str | None]] = [[] for _ in head]
    for row in rows:
        for place, column in enumerate(columns):
            column.append(_text(row[place]) if place < len(row) else None)
    if not columns or not columns[0]:
        raise no_records()
    return pa.table([pa.array(column, pa.string()) for column in columns], names=head)


def _text(item: Any) -> str | None:
    """A cell of a workbook as text; whole numbers have no decimals there, whatever the program stored."""
    if item is None or item == "":
        return None
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, float):
        return np.format_float_positional(item, trim="-")
    if isinstance(item, datetime) and item.time() == datetime.min.time():
        return item.date().isoformat()
    return item.isoformat() if isinstance(item, date) else str(item)
