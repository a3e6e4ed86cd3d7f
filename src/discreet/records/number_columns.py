"""Columns of numbers, also those that hold them as text: intervals, and rounding that is exact in decimals."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import MissingRange, stands_for_unknown
from discreet.parallel import by_rows
from discreet.records.code_changes import CodedColumn, number_text, taken_by_rows

if TYPE_CHECKING:
    import pyarrow as pa

EXACT_FLOATS, MOST_WHOLE = 2**53, 2**62
"""Whole numbers from here on are not all held by floating-point numbers, and by 64-bit integers with room to spare."""
SURE_QUOTIENTS = 2.0**50


class NumberColumn(NamedTuple):
    """Numbers of a column, 0 where there is none; ``aside`` says where it is empty or unknown."""

    numbers: Ints | Floats
    aside: Bools

    @property
    def whole(self) -> bool:
        """Whether the column holds whole numbers, as such or as text."""
        return bool(self.numbers.dtype.kind == "i")


def unknown_rows(column: pa.ChunkedArray, missing: tuple[MissingRange, ...]) -> pa.ChunkedArray | None:
    """Where a column has codes that stand for "unknown"; nothing where it has none."""
    import pyarrow as pa

    if not missing:
        return None
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    known = [value is not None and stands_for_unknown(value, missing) for value in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(known, pa.bool_()).take(encoded.indices)]) if any(known) else None


def number_column(column: pa.ChunkedArray, name: str, missing: tuple[MissingRange, ...]) -> NumberColumn:
    """The numbers of a column; what is no number is counted and refused."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, unknown = column.type, unknown_rows(column, missing)
    if unknown is not None:
        column = pc.if_else(unknown, pa.scalar(None, kind), column)
    if pa.types.is_string(kind):
        good = pc.match_substring_regex(column, r"^-?[0-9]+(\.[0-9]+)?$")
        wrong = pc.sum(pc.invert(good)).as_py() or 0
        if wrong:
            raise InputError(
                f"{counted(wrong, 'value')} of column {name!r} {'is' if wrong == 1 else 'are'} no number.",
                hint="Recode them with map= first, or correct them.",
            )
        whole = not (pc.any(pc.match_substring(column, ".")).as_py() or False)
        column = column.cast(pa.int64() if whole else pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"Column {name!r} holds {kind}, not numbers.", hint="Recode it with map= or level=.")
    aside = np.asarray(column.is_null().to_numpy(), np.bool_)
    return NumberColumn(pc.fill_null(column, 0).to_numpy(), aside)


def in_intervals(
    column: pa.ChunkedArray, coded: CodedColumn, begins: Sequence[float], names: Sequence[str]
) -> pa.ChunkedArray:
    """The name of the interval that each number lies in; codes for "unknown" stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = number_column(column, coded.name, coded.missing)
    names = names or interval_names(begins, found.whole)
    place = np.concatenate(by_rows(partial(_interval, np.array(begins, np.float64)), found.numbers))
    changed = taken_by_rows(pa.array(list(names), pa.string()), pa.array(place, mask=found.aside))
    unknown = unknown_rows(column, coded.missing)
    return changed if unknown is None else pc.if_else(unknown, coded.changed(coded.codes), changed)


def _interval(begins: Floats, numbers: Ints | Floats) -> Ints:
    return np.searchsorted(begins, numbers.astype(np.float64), side="right")


def interval_names(begins: Sequence[float], whole: bool) -> tuple[str, ...]:
    """Names of the intervals that begin at some numbers.

    Examples
    --------
    >>> interval_names([15, 16, 65], whole=True)
    ('<15', '15', '16-64', '65+')
    >>> interval_names([0.5, 1], whole=False)
    ('<0.5', '0.5 to <1', '1+')
    """
    texts = [number_text(begin) for begin in begins]
    between = []
    for i in range(len(begins) - 1):
        if whole and begins[i] == int(begins[i]) and begins[i + 1] == int(begins[i + 1]):
            last = number_text(begins[i + 1] - 1)
            between.append(texts[i] if last == texts[i] else f"{texts[i]}-{last}")
        else:
            between.append(f"{texts[i]} to <{texts[i + 1]}")
    return (f"<{texts[0]}", *between, f"{texts[-1]}+")


def exact(number: float | str) -> Fraction:
    """A number as it is written in decimals.

    Examples
    --------
    >>> exact(0.1), exact("2.50")
    (Fraction(1, 10), Fraction(5, 2))
    """
    return Fraction(Decimal(repr(number) if isinstance(number, float) else str(number)))


def nearest_multiple(number: Fraction, unit: Fraction, ties: str) -> int:
    """How many units come nearest to a number; halves go to the even multiple, or away from zero.

    Examples
    --------
    >>> [nearest_multiple(Fraction(n), Fraction(10), "even") for n in (14, 15, 25, -15)]
    [1, 2, 2, -2]
    >>> [nearest_multiple(Fraction(n), Fraction(10), "away") for n in (14, 15, 25, -25)]
    [1, 2, 3, -3]
    """
    if ties == "even":
        return round(number / unit)
    size = abs(number / unit)
    up = int(size + Fraction(1, 2))
    return up if number >= 0 else -up


def written(number: Fraction, kind: Any) -> Any:
    """A number as a column of a type holds it; text has no needless point."""
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return int(number)
    if pa.types.is_floating(kind):
        return float(number)
    if number.denominator == 1:
        return str(number.numerator)
    places = 0
    while (number * 10**places).denominator != 1:
        places += 1
    return f"{Decimal((number * 10**places).numerator).scaleb(-places):f}"


def rounded(column: pa.ChunkedArray, coded: CodedColumn | None, base: float, ties: str, name: str) -> pa.ChunkedArray:
    """A column rounded to multiples of a number; ``coded`` is given where codes for "unknown" or text stand in it."""
    import pyarrow as pa

    unit = exact(base)
    if coded is not None:
        # Refuses what is no number before any is rounded.
        number_column(column, name, coded.missing)
        new = [
            value
            if coded.is_unknown(value)
            else written(nearest_multiple(exact(value), unit, ties) * unit, column.type)
            for value in coded.values
        ]
        return coded.changed(new, column.type)
    found = number_column(column, name, ())
    if pa.types.is_integer(column.type):
        if unit.denominator != 1:
            raise ParameterError(
                f"Column {name!r} holds whole numbers, and base={base:g} is none.", hint="Give a whole number."
            )
        whole = partial(_whole_multiples, int(unit), ties, name)
        result: Ints | Floats = np.concatenate(by_rows(whole, np.asarray(found.numbers, np.int64)))
    else:
        floating = partial(_float_multiples, unit, ties)
        result = np.concatenate(by_rows(floating, np.asarray(found.numbers, np.float64)))
    return pa.chunked_array([pa.array(result, column.type, mask=found.aside)])


def _whole_multiples(base: int, ties: str, name: str, numbers: Ints) -> Ints:
    if len(numbers) and max(int(numbers.max()), -int(numbers.min())) + base >= MOST_WHOLE:
        raise InputError(
            f"Column {name!r} holds numbers too large to be rounded exactly to multiples of {base:,}.",
            hint="Express the column in a larger unit (thousands).",
        )
    down, rest = np.divmod(numbers, base)
    up = (2 * rest > base) | ((2 * rest == base) & ((down % 2 == 1) if ties == "even" else numbers > 0))
    result: Ints = (down + up) * base
    return result


def _float_multiples(unit: Fraction, ties: str, numbers: Floats) -> Floats:
    """Quotients that floating point is sure of, and exact ones for the few that lie near a half."""
    quotient = numbers / float(unit)
    below = np.floor(quotient)
    near = np.floor(quotient + 0.5)
    size = np.abs(quotient)
    unsure = (np.abs(quotient - below - 0.5) <= 1e-9 + size * 1e-15) | (size >= SURE_QUOTIENTS)
    made = near * float(unit.numerator) / float(unit.denominator)
    unsure |= np.abs(near) * float(unit.numerator) >= EXACT_FLOATS
    if unsure.any():
        distinct, place = np.unique(numbers[unsure], return_inverse=True)
        slow = [float(nearest_multiple(exact(value), unit, ties) * unit) for value in distinct.tolist()]
        made[unsure] = np.array(slow)[place]
    result: Floats = made + 0.0  # one zero
    return result
