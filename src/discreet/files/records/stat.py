"""Public records as SPSS and Stata files, with labels, codes for "unknown" and formats."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import Any

from discreet.errors import OutputError
from discreet.files.records.stat_columns import StatColumn, cut, stat_column
from discreet.files.records.stat_formats import SPSS, STATA, Program, cut_label, legal_names
from discreet.model.records import PublicRecords

LONGEST_TITLE = 60
STAMP = slice(92, 109)
"""Where an SPSS file states when it was written; the same records must give the same bytes."""


def write_sav(path: Path, records: PublicRecords) -> None:
    """Public records as an SPSS file."""
    columns, labels = _columns(records, SPSS)
    _write(
        "sav",
        path,
        columns,
        file_label=cut(records.name, LONGEST_TITLE),
        column_labels=labels,
        variable_value_labels={name: column.labels for name, column in columns.items() if column.labels},
        missing_ranges={name: column.missing for name, column in columns.items() if column.missing},
        variable_measure={
            plain: level
            for name, plain in zip(records.variables, columns, strict=True)
            if (level := records.info[name].measure)
        },
        variable_format={name: column.format for name, column in columns.items() if column.format},
    )
    data = path.read_bytes()
    path.write_bytes(data[: STAMP.start] + b"01 Jan 80" + b"00:00:00" + data[STAMP.stop :])


def write_dta(path: Path, records: PublicRecords) -> None:
    """Public records as a Stata file.

    Stata has labels for numbers only: labels of other codes stand in a variable of their own, last.
    """
    columns, labels = _columns(records, STATA)
    made = list(columns)
    for name, plain in zip(records.variables, made, strict=True):
        words = records.info[name].value_labels
        if columns[plain].is_text and words:
            beside = legal_names([*columns, f"{plain}_label"], STATA)[-1]
            columns[beside] = _label_column(records, name)
            labels[beside] = cut_label(f"label of {name}", STATA)
    _write(
        "dta",
        path,
        columns,
        file_label=cut_label(records.name, STATA),
        column_labels=labels,
        version=14,
        variable_value_labels={name: column.labels for name, column in columns.items() if column.labels},
        missing_user_values={name: column.letters for name, column in columns.items() if column.letters},
        variable_format={name: column.format for name, column in columns.items() if column.format},
    )
    data = path.read_bytes()
    stated = b"<timestamp>\x1101 Jan 1980 00:00</timestamp>"
    path.write_bytes(re.sub(rb"<timestamp>\x11.{17}</timestamp>", stated, data, count=1))


def _columns(records: PublicRecords, program: Program) -> tuple[dict[str, StatColumn], dict[str, str]]:
    """Variables by their names in the program, and their labels; a name that had to change stands in the label."""
    columns, labels = {}, {}
    for name, plain in zip(records.variables, legal_names(records.variables, program), strict=True):
        about = records.info[name]
        columns[plain] = stat_column(name, records.columns[name], about, program)
        label = about.label
        if plain != name:
            label = f"{label} [{name}]" if label else name
        if label:
            labels[plain] = cut_label(label, program)
    return columns, labels


def _label_column(records: PublicRecords, name: str) -> StatColumn:
    """The label of every code, or the code itself where it has none."""
    import pyarrow as pa

    encoded = records.columns[name].combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    labels = records.info[name].value_labels
    words = [
        cut(labels.get(code) or code, STATA.longest_text).replace("\0", "").rstrip(" ")
        for code in encoded.dictionary.to_pylist()
    ]
    return StatColumn(pa.chunked_array([pa.array(words, pa.string()).take(encoded.indices)]))


def _write(kind: str, path: Path, columns: dict[str, StatColumn], **options: Any) -> None:
    """Write a file and read its last record: the library overlooks some errors of a full disk."""
    import pyreadstat

    frame, rows = _frame(columns), len(next(iter(columns.values())).values)
    library: Any = pyreadstat
    try:
        getattr(library, f"write_{kind}")(frame, str(path), **options)
        read = getattr(library, f"read_{kind}")
        found, _ = read(
            str(path), output_format="dict", row_offset=rows - 1, row_limit=1, disable_datetime_conversion=True
        )
    except library.ReadstatError as error:
        raise OSError(errno.EIO, f"The file could not be written completely ({error})") from error
    except library.PyreadstatError as error:
        raise OutputError(f"The records cannot be written as a .{kind} file.", details=str(error)) from error
    if list(found) != list(columns) or any(len(column) != 1 for column in found.values()):
        raise OSError(errno.EIO, "The file could not be written completely")


def _frame(columns: dict[str, StatColumn]) -> Any:
    """A data frame of what is installed."""
    try:
        import polars
    except ModuleNotFoundError:
        import pandas

        return pandas.DataFrame(
            {
                name: pandas.Series(c.values, dtype=object) if isinstance(c.values, list) else c.values.to_pandas()
                for name, c in columns.items()
            }
        )
    return polars.DataFrame(
        [
            polars.Series(name, c.values, dtype=polars.Object)
            if isinstance(c.values, list)
            else polars.Series(name, polars.from_arrow(c.values.combine_chunks()))
            for name, c in columns.items()
        ]
    )
