"""Public records as μ-ARGUS reads them: a file of fixed fields, its description and lists of codes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import OutputError, counted
from discreet.files.argus.rda import MOST_WIDTH, ArgusMetadata, RdaVariable, metadata_text
from discreet.files.argus.text import LONGEST_LINE
from discreet.files.hrc import write_labels
from discreet.files.records.stat_formats import STATA, legal_names
from discreet.files.records.texts import by_value, distinct_values, refuse_empty_text
from discreet.model.records import (
    HOUSEHOLD,
    WEIGHT,
    MissingRange,
    PublicColumn,
    PublicRecords,
    code_text,
    stands_for_unknown,
)

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX, DESCRIPTION, CODES = ".asc", ".rda", ".cdl"
MOST_MISSING = 2
"""ARGUS has so many codes for "unknown" of a variable."""
SIGNS = "9XZ#?"
"""Missing codes are made of these, the first that is free."""
LINES = 200_000


@dataclass
class Field:
    """A column as text, how wide it is, and what stands for its gaps."""

    texts: pa.Array
    width: int
    is_number: bool
    decimals: int
    missing: tuple[str, ...]
    unknown: tuple[MissingRange, ...]
    empty: str


def write_asc(path: Path, records: PublicRecords) -> None:
    """Public records as a file of fixed fields, with its ``.rda`` and a ``.cdl`` for every column with labels."""
    base = path.name.removesuffix(SUFFIX)
    fields, metadata, lists = _laid_out(records, base)
    _write_lines(path, fields)
    description = metadata_text(metadata)
    path.with_name(f"{base}{DESCRIPTION}").write_text(description, encoding="utf-8", newline="\n")
    for file, labels in lists.items():
        write_labels(labels, path.with_name(file))


def safe_metadata(records: PublicRecords) -> ArgusMetadata:
    """What the ``.rda`` of public records says."""
    return _laid_out(records, records.name)[1]


def _laid_out(records: PublicRecords, base: str) -> tuple[list[Field], ArgusMetadata, dict[str, dict[str, str]]]:
    """The fields of a record, their description, and lists of labels by the names of their files."""
    plain = legal_names(records.variables, STATA)
    fields, variables, lists, start = [], [], {}, 1
    for name, short in zip(records.variables, plain, strict=True):
        about = records.info[name]
        field = _field(name, records.columns[name], about)
        labels = {code: _one_line(text) for code, text in sorted(about.value_labels.items()) if code.strip()}
        file = f"{base}_{short}{CODES}" if labels else ""
        if labels:
            lists[file] = labels
        fields.append(field)
        variables.append(_variable(name, start, field, records.columns[name], about, file))
        start += field.width
    if start > LONGEST_LINE:
        raise OutputError(
            f"A record has {counted(start - 1, 'character')}; an .asc file holds {LONGEST_LINE:,} in a line.",
            hint="Leave 'asc' out of the formats, or leave columns out.",
        )
    return fields, ArgusMetadata(tuple(variables)), lists


def _write_lines(path: Path, fields: list[Field]) -> None:
    import pyarrow.compute as pc

    with path.open("wb") as stream:
        line = ""
        for start in range(0, len(fields[0].texts), LINES):
            parts = []
            for field in fields:
                pad = pc.utf8_lpad if field.is_number else pc.utf8_rpad
                parts.append(pad(field.texts.slice(start, LINES), field.width))
            lines = pc.binary_join_element_wise(*parts, "").to_pylist()
            stream.write("".join(f"{line}\n" for line in lines).encode())
            line = lines[-1]
        if not line.strip(" "):
            raise OutputError(
                "The last record is empty, and readers of .asc files pass over a blank last line.",
                hint="Leave the record out, or leave 'asc' out of the formats.",
            )


def _field(name: str, column: pa.ChunkedArray, about: PublicColumn) -> Field:
    """Values as text; what a field cannot hold as it is is an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    decimals, gap, empty = 0, "", ""
    if is_number:
        values = distinct_values(column)
        ranges = about.missing
        strange = {value for value in values if stands_for_unknown(value, ranges)} if ranges else set[Any]()
        decimals = max((_decimals(value) for value in values if value not in strange), default=0)
        single = [code_text(low) for low, high in about.missing if low == high]
        if single and not strange:
            gap = single[0]  # nothing else in the column is unknown, so that gaps may have the code
        texts = by_value(column, lambda value: code_text(value) if value in strange else _fixed(value, decimals))
    else:
        if pa.types.is_string(column.type):
            refuse_empty_text(name, column, SUFFIX)
        texts = by_value(column, code_text)
        gap = empty = _code_for_gaps(texts, column, about)
    texts = pc.fill_null(texts, gap)
    missing, unknown = _missing(column, about.missing, is_number)
    missing = (*missing, empty) if empty else missing
    words = texts.unique().to_pylist()
    width = max(map(len, [*words, *missing]))
    if width > MOST_WIDTH:
        raise OutputError(
            f"Column {name!r} is {counted(width, 'character')} wide; a field of an .asc file has at most {MOST_WIDTH}.",
            hint="Shorten it, or leave 'asc' out of the formats.",
        )
    if any(word != word.rstrip(" ") or set(word) & set("\n\r\0") for word in words):
        raise OutputError(
            f"Column {name!r} has text that an .asc file cannot hold as it is.",
            hint="Text may not end in a blank or span lines. Change it, or leave 'asc' out of the formats.",
        )
    return Field(texts, max(width, 1), is_number, decimals, missing, unknown, empty)


def _code_for_gaps(texts: pa.Array, column: pa.ChunkedArray, about: PublicColumn) -> str:
    """The missing code that stands for empty fields of a column of codes, which no record, label or other code has.

    μ-ARGUS reads no variable of codes without a missing code, so that there is one in columns without gaps, too.
    Nothing where two missing codes are there already: it knows no third.
    """
    codes, _ = _missing(column, about.missing, False)
    if len(codes) == MOST_MISSING or (codes and not column.null_count):
        return ""
    words = {word for word in texts.unique().to_pylist() if word is not None}
    width = max(map(len, words), default=0) or 1
    taken = words | set(about.value_labels) | set(codes)
    for code in (*(sign * width for sign in SIGNS), SIGNS[0] * (width + 1)):
        if code not in taken and not stands_for_unknown(code, about.missing):
            return code
    return ""


def _decimals(value: Any) -> int:
    """Digits behind the point."""
    text = code_text(value)
    if "e" in text:
        return max(0, -int(Decimal(text).as_tuple().exponent))
    return len(text.partition(".")[2])


def _fixed(value: Any, decimals: int) -> str:
    """A number with so many digits behind the point, exactly."""
    text = code_text(value)
    if "e" in text:
        return f"{Decimal(text):.{decimals}f}"
    if not decimals:
        return text
    whole, _, part = text.partition(".")
    return f"{whole}.{part.ljust(decimals, '0')}"


def _variable(
    name: str, start: int, field: Field, column: pa.ChunkedArray, about: PublicColumn, labels: str
) -> RdaVariable:
    return RdaVariable(
        name,
        start,
        field.width,
        field.missing,
        recodeable=str(column.type) in ("string", "bool"),
        labels=labels,
        numeric=field.is_number,
        decimals=field.decimals or None,
        weight=about.role == WEIGHT,
        household=about.role == HOUSEHOLD,
        truncable=about.truncable,
        label=_one_line(about.label),
        format=_one_line(about.format),
        unknown=field.unknown,
        empty=field.empty,
    )


def _missing(
    column: pa.ChunkedArray, missing: tuple[MissingRange, ...], is_number: bool
) -> tuple[tuple[str, ...], tuple[MissingRange, ...]]:
    """The two codes for "unknown" that ARGUS knows, and all of them where these are not all."""
    as_they_are = [low for low, high in missing if low == high and (is_number or isinstance(low, str))]
    if len(as_they_are) == len(missing) <= MOST_MISSING:
        return tuple(_no_quotes(code_text(code)) for code in as_they_are), ()
    codes = sorted({code_text(value) for value in distinct_values(column) if stands_for_unknown(value, missing)})
    return tuple(_no_quotes(code) for code in codes[:MOST_MISSING]), missing


def _no_quotes(code: str) -> str:
    if '"' in code:
        raise OutputError(
            'A code for "unknown" has a quotation mark, which an .rda file cannot hold.', hint="Recode it."
        )
    return code


def _one_line(text: str) -> str:
    """Words that stand in one line between quotation marks."""
    return re.sub(r"[\r\n\t]+", " ", text.replace('"', "'")).strip()
