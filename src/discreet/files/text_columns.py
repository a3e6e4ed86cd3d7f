"""Records that are held as text: which columns are numbers is decided when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

DECIMAL = b"discreet.decimal"
"""What the schema of such records says: the sign between whole numbers and decimals."""
COMMA = "^[+-]?([0-9]{1,3}([. '\u00a0\u202f][0-9]{3})+|[0-9]+)(,[0-9]+)?$"
"""Numbers with a decimal comma, thousands apart or not: 1234,5 or 1.234,5."""
THOUSANDS = "[. '\u00a0\u202f]"


def marked_as_text(table: pa.Table, decimal: str) -> pa.Table:
    """A table of text columns that says how its numbers are written."""
    return table.replace_schema_metadata({DECIMAL: decimal.encode()})


def is_text_table(source: Any) -> bool:
    """Whether records are held as text."""
    import pyarrow as pa

    return isinstance(source, pa.Table) and DECIMAL in (source.schema.metadata or {})


def with_numbers(table: pa.Table, codes: set[str]) -> pa.Table:
    """The same with columns as numbers where all their fields are, but for those that hold codes."""
    decimal = table.schema.metadata[DECIMAL].decode()
    for place, name in enumerate(table.column_names):
        if name not in codes:
            table = table.set_column(place, name, _as_numbers(table[name], decimal))
    return table.replace_schema_metadata(None)


def _as_numbers(column: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Text as numbers; where a field is none, the column stays text, and whoever needs numbers says so."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(column)
    if decimal == ",":
        if not pc.all(pc.match_substring_regex(text.drop_null(), COMMA), min_count=0).as_py():
            return column
        text = pc.replace_substring(pc.replace_substring_regex(text, THOUSANDS, ""), ",", ".")
    for kind in (pa.int64(), pa.float64()):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column
