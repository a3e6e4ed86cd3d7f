"""Columns of text as exact numbers, and columns of codes without trailing blanks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.files.argus.text import wrong_data
from discreet.model.units import MOST_DECIMALS

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.model.arrays import Ints

PATTERN = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]{1,2})?$"


def number_column(text: Any, file: str, name: str, lines: Ints | None = None, blank: bool = False) -> pa.Array:
    """Text as numbers: whole ones where all are, decimal ones where floats would lose digits, floats otherwise.

    Parameters
    ----------
    text
        An Arrow array of strings.
    file, name
        For errors.
    lines
        Line of each number in the file; 1, 2, 3 ... when left out.
    blank
        Whether empty fields are allowed; they become nulls.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(text)
    empty = pc.fill_null(pc.equal(text, ""), True)
    if pc.any(empty).as_py():
        if not blank:
            raise _bad(file, lines, int(np.argmax(empty.to_numpy(zero_copy_only=False))), name, "")
        text = pc.if_else(empty, pa.scalar(None, text.type), text)
    try:
        return text.cast(pa.int64())
    except pa.ArrowInvalid:
        pass
    good = pc.fill_null(pc.match_substring_regex(text, PATTERN), True)
    if not pc.all(good).as_py():
        row = int(np.argmin(good.to_numpy(zero_copy_only=False)))
        raise _bad(file, lines, row, name, str(text[row].as_py()))
    text = pc.replace_substring(text, ",", ".")
    floats = text.cast(pa.float64())
    values = floats.drop_null().to_numpy(zero_copy_only=False)
    if np.abs(values).max(initial=0.0) >= 1e18:
        raise _bad(file, lines, int(np.argmax(np.abs(np.nan_to_num(floats.to_numpy(zero_copy_only=False))))), name, "")
    digits = pc.max(pc.utf8_length(text)).as_py() or 0
    if digits <= 15:
        return floats
    try:
        return text.cast(pa.decimal128(38, MOST_DECIMALS))
    except pa.ArrowInvalid:  # exponents, or more decimals than a table can have: the floating-point numbers stand
        return floats


def _bad(file: str, lines: Ints | None, row: int, name: str, found: str) -> InputError:
    line = row + 1 if lines is None else int(lines[row])
    return wrong_data(file, line, name, found, "a number below 10^18 in size")


def code_column(text: Any) -> pa.Array:
    """Codes as a dictionary, trailing blanks dropped and leading ones kept."""
    import pyarrow.compute as pc

    encoded = text.dictionary_encode()
    trimmed = pc.utf8_rtrim(encoded.dictionary, characters=" ")
    return recoded(encoded.indices, trimmed)


def recoded(indices: Any, words: Any) -> pa.Array:
    """A dictionary column in which words that are the same stand once."""
    import pyarrow as pa

    once = words.dictionary_encode()
    places = once.indices.take(indices)
    return pa.DictionaryArray.from_arrays(places.cast(pa.int32()), once.dictionary)
