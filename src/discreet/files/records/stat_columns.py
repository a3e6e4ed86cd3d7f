"""Columns of public records as SPSS and Stata hold them: numbers or text, labels, codes for "unknown", formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from discreet.errors import OutputError, counted
from discreet.files.records.stat_formats import (
    MOST_DECIMALS,
    STATA,
    WIDEST,
    Program,
    is_of_numbers,
    moment_format,
    number_format,
    zero_padded,
)
from discreet.files.records.texts import distinct_values, refuse_empty_text
from discreet.model.records import MissingRange, PublicColumn, code_text, stands_for_unknown

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
LETTER = re.compile(r"\.[a-z]")
EXACT = 2**53
FROM_1582, FROM_1960 = 141_428, 3_653
"""Days from the first day that SPSS and Stata know to 1970-01-01."""
A_DAY = 86_400
MOST_CODES, LONGEST_CODE = 3, 8
"""SPSS has so many codes for "unknown" of a variable, and so many bytes in each of a text variable."""
OPEN = 1.7e308
"""Ends of ranges beyond this are open."""
LABELLED = range(-(2**31) + 1, 2**31 - 27)
"""Numbers that Stata has labels for."""


@dataclass
class StatColumn:
    """A variable; ``values`` is an Arrow column of floating-point numbers or text, or a list with letters in it."""

    values: Any
    format: str = ""
    labels: dict[Any, str] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)

    @property
    def is_text(self) -> bool:
        """Whether the variable holds text."""
        return not isinstance(self.values, list) and str(self.values.type) == "string"


def stat_column(name: str, column: pa.ChunkedArray, about: PublicColumn, program: Program) -> StatColumn:
    """A column as a program holds it; what it cannot hold is an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_boolean(kind):
        made = StatColumn(column.cast(pa.float64()), "F1.0" if program is not STATA else "")
        words = about.value_labels or {"false": "false", "true": "true"}
        made.labels = {float(code == "true"): text for code, text in sorted(words.items()) if code in ("true", "false")}
        return made
    if pa.types.is_date32(kind):
        days = column.cast(pa.int32()).cast(pa.int64())
        number = pc.add(days, FROM_1960) if program is STATA else pc.multiply(pc.add(days, FROM_1582), A_DAY)
        usual = "%td" if program is STATA else "DATE11"
        return StatColumn(number.cast(pa.float64()), moment_format(about.format, program, dates=True) or usual)
    if pa.types.is_timestamp(kind):
        return _times(name, column, about, program)
    if not pa.types.is_string(kind):
        return _numbers(name, column.cast(pa.float64()) if _whole(name, column, program) else column, about, program)
    distinct = distinct_values(column)
    width = _numeric_width(distinct, about, program)
    if width is not None:
        return _coded(name, column, about, program, width)
    refuse_empty_text(name, column, program.suffix)
    _refuse_text(name, distinct, program)
    return _text(name, column, distinct, about, program)


def _whole(name: str, column: pa.ChunkedArray, program: Program) -> bool:
    """Whether a column holds whole numbers; those that floating-point numbers cannot hold are an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_integer(column.type):
        return False
    ends = pc.min_max(column).as_py()
    if ends["min"] is not None and (ends["min"] < -EXACT or ends["max"] > EXACT):
        raise OutputError(
            f"Column {name!r} has more digits than a {program.suffix} file can hold.",
            hint="Make it text, or leave this format out; csv and Parquet hold all digits.",
        )
    return True


def _times(name: str, column: pa.ChunkedArray, about: PublicColumn, program: Program) -> StatColumn:
    import pyarrow as pa
    import pyarrow.compute as pc

    micro = column.cast(pa.int64())
    milli = pc.divide(micro, 1000)
    if not pc.all(pc.fill_null(pc.equal(pc.multiply(milli, 1000), micro), True)).as_py():
        raise OutputError(
            f"Column {name!r} has times finer than a thousandth of a second, which {program.suffix} files lack.",
            hint="Round them, or leave this format out.",
        )
    own = moment_format(about.format, program, dates=False)
    if program is STATA:
        return StatColumn(pc.add(milli, FROM_1960 * A_DAY * 1000).cast(pa.float64()), own or "%tc")
    shifted = pc.add(milli, FROM_1582 * A_DAY * 1000)
    seconds = pc.divide(shifted.cast(pa.float64()), 1000.0)
    even = pc.all(pc.fill_null(pc.equal(pc.floor(seconds), seconds), True)).as_py()
    return StatColumn(seconds, own or ("DATETIME20" if even else "DATETIME23.3"))


# ---- text -----------------------------------------------------------------------------------------------------


def _numeric_width(distinct: Sequence[str], about: PublicColumn, program: Program) -> int | None:
    """To how many digits codes are filled with zeros if the text stands for numbers: those of a format, or of labels.

    Nothing where it stands for text. Stata has labels for numbers only, so that labelled codes become numbers there.
    """
    numeric = is_of_numbers(about.format)
    if not distinct or not (numeric or (program is STATA and about.value_labels)):
        return None
    codes = [*distinct, *about.value_labels]
    codes = [code for code in codes if not (program is STATA and LETTER.fullmatch(code))]
    width = zero_padded(about.format)
    if not numeric:
        lengths = {len(code) for code in codes}
        width = lengths.pop() if len(lengths) == 1 and any(c != "0" and c.startswith("0") for c in codes) else 0
    return width if all(_is_number(code, width) for code in codes) else None


def _is_number(code: str, width: int) -> bool:
    """Whether a code is how a number is written, filled with zeros to a width."""
    if not NUMBER.fullmatch(code) or abs(float(code)) > EXACT:
        return False
    number = float(code)
    return code == (f"{int(number):0{width}d}" if number == int(number) else code_text(number))


def _coded(name: str, column: pa.ChunkedArray, about: PublicColumn, program: Program, width: int) -> StatColumn:
    """Numbers that are written as text."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    words = encoded.dictionary.to_pylist()
    form = about.format if is_of_numbers(about.format) else f"%0{width}.0f" if width else ""
    about = replace(about, format=form)
    lettered = sorted(word for word in words if LETTER.fullmatch(word))
    numbers = pa.array([None if word in lettered else float(word) for word in words], pa.float64())
    column_of_numbers = pa.chunked_array([numbers.take(encoded.indices)])
    made = _numbers(name, column_of_numbers, about, program, [word[1] for word in lettered])
    if lettered:
        made.values = [
            word[1] if word in lettered else value for word, value in zip(column.to_pylist(), made.values, strict=True)
        ]
    return made


def _refuse_text(name: str, distinct: Iterable[str], program: Program) -> None:
    for text in distinct:
        if text != text.rstrip(" ") or "\0" in text or len(text.encode()) > program.longest_text:
            raise OutputError(
                f"Column {name!r} has text that a {program.suffix} file cannot hold as it is.",
                hint=f"Text may not end in a blank and has at most {program.longest_text:,} bytes there. Change it, or "
                "leave this format out.",
            )


def _text(
    name: str, column: pa.ChunkedArray, distinct: Sequence[str], about: PublicColumn, program: Program
) -> StatColumn:
    if program is STATA:
        own = about.format if re.fullmatch(r"%-?[0-9]+s", about.format) else ""
        return StatColumn(column, own)
    made = StatColumn(column)
    most = program.longest_value_label
    # The variable is as wide as its longest value: what is wider has no place for its label, and no record has it.
    width = max((len(text.encode()) for text in distinct), default=0)
    made.labels = {
        code: cut(text, most)
        for code, text in sorted(about.value_labels.items())
        if code and text and (code.isascii() or len(code.encode()) <= width)
    }
    stated = [str(low) for low, _ in about.missing if isinstance(low, str)]
    if len(stated) < len(about.missing) or not _few_and_short(stated):
        stated = sorted(code for code in distinct if stands_for_unknown(code, about.missing))
    if not _few_and_short(stated):
        raise _too_many(name, len(stated), program)
    made.missing = stated
    return made


def _few_and_short(codes: Sequence[str]) -> bool:
    return len(codes) <= MOST_CODES and all(0 < len(code.encode()) <= LONGEST_CODE for code in codes)


def cut(text: str, most: int) -> str:
    """Text of at most so many bytes."""
    return text.encode()[:most].decode(errors="ignore")


# ---- numbers --------------------------------------------------------------------------------------------------


def _numbers(
    name: str, column: pa.ChunkedArray, about: PublicColumn, program: Program, lettered: Sequence[str] = ()
) -> StatColumn:
    """Numbers; ``lettered`` are letters of Stata that stand for gaps of the column."""
    made = StatColumn(column, number_format(about.format, program))
    most = program.longest_value_label
    words = {code: cut(text, most) for code, text in sorted(about.value_labels.items()) if text}
    labels = {float(code): text for code, text in words.items() if NUMBER.fullmatch(code)}
    made.labels = dict(sorted(labels.items()))
    if program is STATA:
        letters = {code[1]: text for code, text in words.items() if LETTER.fullmatch(code)}
        _letter_codes(name, made, about, letters, lettered)
        return made
    made.format = made.format or _usual_format(column)
    ranges = [ends for ends in (_as_range(ends) for ends in about.missing) if ends is not None]
    if not _spss_holds(ranges):
        found = sorted(v for v in distinct_values(column) if stands_for_unknown(v, about.missing))
        ranges = [(value, value) for value in found]
    if not _spss_holds(ranges):
        raise _too_many(name, len(ranges), program)
    made.missing = [{"lo": _end(low), "hi": _end(high)} for low, high in ranges]
    return made


def _as_range(ends: MissingRange) -> tuple[float, float] | None:
    """Ends as numbers; nothing where they are none, and no value of the column can be meant."""
    low, high = ends
    if isinstance(low, str):
        return (float(low), float(low)) if NUMBER.fullmatch(low) else None
    return float(low), float(high)


def _spss_holds(ranges: Sequence[tuple[float, float]]) -> bool:
    """SPSS has three codes for "unknown", or one range and one code."""
    wide = sum(low < high for low, high in ranges)
    return len(ranges) <= (MOST_CODES if not wide else 2) and wide <= 1


def _end(number: float) -> float:
    return number if abs(number) < OPEN else float("inf") if number > 0 else float("-inf")


def _usual_format(column: pa.ChunkedArray) -> str:
    """As many decimals as the numbers have."""
    texts = [code_text(value) for value in distinct_values(column)]
    decimals = max((len(text.partition(".")[2]) for text in texts if "e" not in text), default=0)
    decimals = MOST_DECIMALS if any("e" in text for text in texts) else min(decimals, MOST_DECIMALS)
    if not decimals:
        return f"F{min(WIDEST, max(8, *map(len, texts)) if texts else 8)}.0"
    return f"F{min(WIDEST, 20 + decimals)}.{decimals}"


def _letter_codes(
    name: str, made: StatColumn, about: PublicColumn, letters: dict[str, str], lettered: Sequence[str]
) -> None:
    """Codes for "unknown" become ``.a``, ``.b`` and so on, in rising order: Stata counts other numbers as known."""
    labels = made.labels
    if about.missing:
        numbers = set(distinct_values(made.values))
        codes = sorted(number for number in numbers | set(labels) if stands_for_unknown(number, about.missing))
        free = [letter for letter in ascii_lowercase if letter not in letters and letter not in lettered]
        if len(codes) > len(free):
            raise _too_many(name, len(codes), STATA)
        new = dict(zip(codes, free, strict=False))
        letters |= {letter: labels.pop(code, code_text(code)) for code, letter in new.items()}
        if any(code in numbers for code in new):
            made.values = [new.get(value, value) for value in made.values.to_pylist()]
    held = {int(code): text for code, text in labels.items() if code.is_integer() and int(code) in LABELLED}
    made.labels = {**held, **dict(sorted(letters.items()))}
    made.letters = sorted({*letters, *lettered})
    if made.letters and not isinstance(made.values, list):
        made.values = made.values.to_pylist()  # the library wants a column that could hold letters


def _too_many(name: str, count: int, program: Program) -> OutputError:
    return OutputError(
        f'Column {name!r} has {counted(count, "code")} for "unknown", which a {program.suffix} file cannot hold.',
        hint="SPSS holds three (of at most 8 bytes where they are text) or one range and one code, Stata 26. Recode "
        "them, or leave this format out.",
    )
