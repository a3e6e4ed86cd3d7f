"""Public records as csv: text as it is, numbers as short as they are exact, empty fields for gaps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.files.celltext import quoted, safe_code, write_text_columns
from discreet.files.records.texts import by_value
from discreet.model.records import PublicRecords

if TYPE_CHECKING:
    import pyarrow as pa


def write_csv(path: Path, records: PublicRecords) -> None:
    """Public records as a csv file with a line of names."""
    write_text_columns(path, records.variables, [record_text(records.columns[name]) for name in records.variables])


def record_text(column: pa.ChunkedArray) -> pa.Array:
    """A column as csv fields, quoted where csv asks for it; an empty text is told from a gap by its quotes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_string(kind):
        fields = by_value(column, lambda word: quoted(safe_code(word)) or '""')
    elif pa.types.is_floating(kind):
        fields = by_value(column, number_text)
    elif pa.types.is_boolean(kind):
        fields = pc.if_else(column, "true", "false").combine_chunks()
    else:
        fields = column.cast(pa.string()).combine_chunks()
    return pc.fill_null(fields, "")


def number_text(number: float) -> str:
    """A floating-point number in as few digits as say it exactly, without a point where it is whole."""
    text = repr(number)
    return text.removesuffix(".0")
