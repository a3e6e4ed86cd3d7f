"""Exact values: integers in the smallest unit of a table.

A value of 12.35 in a table with two decimals is the integer 1235. Sums, rules, certificates and checks are
then integer arithmetic and need no tolerance, from cents to totals of 1e15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.errors import InputError, counted
from discreet.model.arrays import LARGEST, Floats, Ints

MOST_DECIMALS = 9
SIGNIFICANT_DIGITS = 10
SHOWN_DIGITS = 6
MANY_DECIMALS = 4
"""Columns with more are looked at: they may hold fractions such as thirds, which no decimals write."""
SURE_DIGITS = 15
"""Floating point holds decimal numbers of so many digits without loss, and noise shows behind them."""
PIECE = 2**16
FLOATING_NOISE = 2.0**-48
"""Noise of sums in floating point, relative to their size: 16 times the distance between neighbours."""
MOST_NOISE = 0.1
"""Noise must stay far below a unit to be told from digits."""


def detect_decimals(values: Floats) -> int | None:
    """Least number of decimals that writes all values exactly, or ``None`` when more than nine are needed.

    Examples
    --------
    >>> detect_decimals(np.array([1.5, 2.25]))
    2
    """
    return _exact_decimals(partial(_pieces, values))


def choose_decimals(values: Floats, name: str) -> int:
    """Decimals for a column: exact where possible, otherwise ten significant digits of its largest value."""
    return choose_decimals_of(partial(_pieces, values), name)


def choose_decimals_of(pieces: Callable[[], Iterable[Floats]], name: str) -> int:
    """Decimals for a column that comes in pieces; ``pieces()`` goes through all of them anew.

    Sums of decimal numbers that were computed in floating point miss the decimal number by a few of the last
    binary digits; such noise does not count. Numbers of at most fifteen digits are taken as they are.
    """
    spans = [(float(np.abs(piece).max(initial=0.0)), float(np.abs(piece).sum())) for piece in pieces()]
    largest = max((span[0] for span in spans), default=0.0)
    return chosen_decimals(
        name, largest, sum(span[1] for span in spans), _exact_decimals(pieces), lambda: _near_decimals(pieces, largest)
    )


def chosen_decimals(
    name: str, largest: float, total: float, exact: int | None, near_decimals: Callable[[], int | None]
) -> int:
    """Decimals for a column of which the largest and the sum of absolute values are known.

    ``exact`` decimals write all values, where any do; ``near_decimals`` finds those that do but for noise.
    """
    if exact is None or largest * 10.0**exact >= 10.0**SURE_DIGITS:
        near = near_decimals()
        exact = exact if near is None else near
    if exact is None:
        magnitude = int(np.ceil(np.log10(largest))) if largest > 0 else 0
        exact = min(max(0, SIGNIFICANT_DIGITS - magnitude), 15)
    if total * 10.0**exact >= LARGEST:
        raise InputError(
            f"Column {name!r} is too large for exact 64-bit sums with {counted(exact, 'decimal')}.",
            hint="Express the column in a larger unit (thousands), or round it.",
        )
    return exact


def _exact_decimals(pieces: Callable[[], Iterable[Floats]]) -> int | None:
    with np.errstate(over="ignore"):
        for decimals in range(MOST_DECIMALS + 1):
            scale = 10.0**decimals
            if all(np.array_equal(np.rint(piece * scale) / scale, piece) for piece in pieces()):
                return decimals
    return None


def _near_decimals(pieces: Callable[[], Iterable[Floats]], largest: float) -> int | None:
    """Least number of decimals that writes all values but for the noise of floating-point sums."""
    for decimals in range(MOST_DECIMALS + 1):
        scale = 10.0**decimals
        if largest * scale * FLOATING_NOISE > MOST_NOISE:
            return None
        if all(_near(piece * scale) for piece in pieces()):
            return decimals
    return None


def written_exactly(pieces: Iterable[Floats], decimals: int) -> bool:
    """Whether so many decimals write values exactly, but for the noise of floating-point sums.

    Examples
    --------
    >>> written_exactly([np.array([0.1 + 0.2])], 1), written_exactly([np.array([1 / 3])], 10)
    (True, False)
    """
    return all(_near(piece * 10.0**decimals) for piece in pieces)


def sensible_decimals(largest: float) -> int:
    """Decimals to publish values with that no number of decimals writes exactly: six digits of the largest.

    Examples
    --------
    >>> sensible_decimals(2.0), sensible_decimals(1234.5), sensible_decimals(8e9)
    (5, 2, 0)
    """
    digits = int(np.floor(np.log10(largest))) + 1 if largest > 0 else 0
    return min(max(SHOWN_DIGITS - digits, 0), SHOWN_DIGITS)


def _near(scaled: Floats) -> bool:
    return bool(np.all(np.abs(np.rint(scaled) - scaled) <= np.abs(scaled) * FLOATING_NOISE))


def _pieces(values: Floats) -> Iterable[Floats]:
    """Pieces that stay in the cache, so that too few decimals are found out early."""
    return (values[start : start + PIECE] for start in range(0, len(values), PIECE))


def to_units(values: Any, decimals: int, name: str) -> Ints:
    """Values as integers in units of ``10 ** -decimals`` (rounded half to even)."""
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        limit = LARGEST // 10**decimals
        if len(array) and (int(array.max()) > limit or int(array.min()) < -limit):
            raise _too_large(name, decimals)
        result: Ints = array.astype(np.int64) * np.int64(10**decimals)
        return result
    if array.dtype.kind == "O":
        return np.array([decimal_to_units(item, decimals, name) for item in array], dtype=np.int64)
    with np.errstate(over="ignore"):
        scaled = np.rint(array.astype(np.float64) * 10.0**decimals)
    if len(scaled) and float(np.abs(scaled).max()) >= LARGEST:
        raise _too_large(name, decimals)
    return scaled.astype(np.int64)


def decimals_of(values: Any, name: str) -> int:
    """Decimals of a column of integers, decimal numbers or floating-point numbers."""
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        return 0
    if array.dtype.kind == "O":
        exponents = [Decimal(str(item)).normalize().as_tuple().exponent for item in array]
        return max([0, *(-exponent for exponent in exponents if isinstance(exponent, int))])
    return choose_decimals(array.astype(np.float64, copy=False), name)


def rounded_up(level: float, decimals: int) -> int:
    """A level as the least number of units that reaches it (protection must not get lost in rounding).

    Examples
    --------
    >>> rounded_up(0.5, 0), rounded_up(0.3, 1), rounded_up(0.1 + 0.2, 1)
    (1, 3, 3)
    """
    return int(units_up(np.array([level], np.float64), decimals, "protection")[0])


def units_up(values: Any, decimals: int, name: str) -> Ints:
    """Values as integers in units, rounded up but for the noise of floating-point numbers."""
    array = np.asarray(values)
    near = to_units(array, decimals, name)
    if array.dtype.kind in "iub":
        return near
    scaled = array.astype(np.float64) * 10.0**decimals
    short = scaled - near > np.maximum(np.abs(scaled), 1.0) * FLOATING_NOISE
    return near + short.astype(np.int64)


def decimal_to_units(value: Any, decimals: int, name: str = "value") -> int:
    """One number, written in any way, as an integer number of units."""
    try:
        scaled = Decimal(str(value)).scaleb(decimals)
        units = int(scaled.to_integral_value())
    except (InvalidOperation, ValueError, OverflowError):
        raise InputError(f"Column {name!r} holds something that is not a finite number.") from None
    if abs(units) > LARGEST:
        raise _too_large(name, decimals)
    return units


def from_units(units: Ints, decimals: int) -> Floats:
    """Integers in units as floating-point numbers, for display and costs."""
    result: Floats = units.astype(np.float64) / 10.0**decimals
    return result


def unit_text(units: int, decimals: int) -> str:
    """An integer number of units as the decimal number it stands for.

    Examples
    --------
    >>> unit_text(-1235, 2)
    '-12.35'
    """
    if decimals == 0:
        return str(units)
    sign = "-" if units < 0 else ""
    digits = str(abs(units)).rjust(decimals + 1, "0")
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"


def as_fraction(number: float | int | str | Fraction) -> Fraction:
    """A parameter as the exact decimal number that its author wrote (0.1 is one tenth)."""
    return number if isinstance(number, Fraction) else Fraction(str(number))


def _too_large(name: str, decimals: int) -> InputError:
    return InputError(
        f"Column {name!r} holds values too large for exact 64-bit sums with {counted(decimals, 'decimal')}.",
        hint="Express the column in a larger unit (thousands), or round it.",
    )
