"""Cells as csv text: exact decimal numbers, and codes that no spreadsheet takes for a formula."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutputError
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Ints
from discreet.model.layout import FLAG, FLOAT, IDENTITY, LETTER, CellColumn
from discreet.model.table import CellStatus

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 250_000
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def refuse_markup(text: str) -> str:
    """The same text, unless xlsxwriter would take it for the inside of a cell and write it as markup, unescaped."""
    if text.startswith("<r>") and text.endswith("</r>"):
        raise OutputError(
            "A workbook cannot hold a text that begins with <r> and ends with </r>.",
            hint="Change the code or label, or leave 'xlsx' out of the formats.",
        )
    return text


def safe_code(code: str) -> str:
    """A code or name as text that a spreadsheet does not run: an apostrophe goes before what looks like a formula.

    One more goes before a code that has such an apostrophe itself, so that no two codes are written alike.
    """
    return "'" + code if code.lstrip("'").startswith(FORMULA) else code


def units_text(units: Ints, decimals: int, shown: Bools | None = None) -> pa.Array:
    """Integers in units as exact decimal numbers; empty where not shown or where a bound says nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    visible = (units > NO_LOWER) & (units < NO_UPPER)
    if shown is not None:
        visible &= shown
    magnitude = np.abs(np.where(visible, units, 0))
    if decimals == 0:
        text = pa.array(magnitude).cast(pa.string())
    else:
        whole, part = np.divmod(magnitude, np.int64(10**decimals))
        fraction = pc.utf8_lpad(pa.array(part).cast(pa.string()), decimals, "0")
        text = pc.binary_join_element_wise(pa.array(whole).cast(pa.string()), fraction, ".")
    sign = pa.array(np.where(visible & (units < 0), "-", "").tolist())
    text = pc.binary_join_element_wise(sign, text, "")
    return pc.if_else(pa.array(visible), text, "")


def column_text(column: CellColumn) -> pa.Array:
    """A column of the cell file as text."""
    import pyarrow as pa

    if column.kind == LETTER:
        letters = np.array([status.letter for status in CellStatus])
        return pa.array(letters[column.data].tolist())
    if column.kind == FLAG:
        return pa.array(np.where(column.data, "1", "0").tolist())
    if column.kind == FLOAT:
        return pa.array([repr(float(x)) for x in column.data])
    if column.kind == IDENTITY:
        return units_text(column.data, 0, shown=column.data >= 0)
    return units_text(column.data, column.kind)


def code_text_columns(codes: NDArray[np.int32], lists: Sequence[Sequence[str]]) -> list[pa.Array]:
    """Code columns as csv fields."""
    import pyarrow as pa

    result = []
    for k, listing in enumerate(lists):
        words = pa.array([quoted(safe_code(code)) for code in listing], pa.string())
        result.append(words.take(pa.array(codes[:, k])))
    return result


def write_text_columns(path: Path, names: Sequence[str], columns: Sequence[pa.Array]) -> None:
    """Write text columns as csv with a header. Fields must be safe and quoted already where csv asks for it."""
    import pyarrow.compute as pc

    with path.open("wb") as stream:
        stream.write((",".join(quoted(safe_code(name)) for name in names) + "\n").encode())
        for start in range(0, len(columns[0]), CHUNK):
            lines = pc.binary_join_element_wise(*(column.slice(start, CHUNK) for column in columns), ",")
            stream.write("\n".join([*lines.to_pylist(), ""]).encode())


def quoted(text: str) -> str:
    """A csv field, in quotes where it holds a separator, a quote or a line break."""
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text
