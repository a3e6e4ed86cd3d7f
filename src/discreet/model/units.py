"""Exact values: integers in the smallest unit of a table.

A value of 12.35 in a table with two decimals is the integer 1235. Sums, rules, certificates and checks are
then integer arithmetic and need no tolerance, from cents to totals of 1e15.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import LARGEST, Floats, Ints

MOST_DECIMALS = 9
SIGNIFICANT_DIGITS = 10


def detect_decimals(values: Floats) -> int | None:
    """Least number of decimals that writes all values exactly, or ``None`` when more than nine are needed.

    Examples
    --------
    >>> detect_decimals(np.array([1.5, 2.25]))
    2
    """
    for decimals in range(MOST_DECIMALS + 1):
        scale = 10.0**decimals
        if np.array_equal(np.rint(values * scale) / scale, values):
            return decimals
    return None


def choose_decimals(values: Floats, name: str) -> int:
    """Decimals for a column: exact where possible, otherwise ten significant digits of its largest value."""
    exact = detect_decimals(values)
    largest = float(np.abs(values).max(initial=0.0))
    if exact is None:
        magnitude = int(np.ceil(np.log10(largest))) if largest > 0 else 0
        exact = min(max(0, SIGNIFICANT_DIGITS - magnitude), 15)
    total = float(np.abs(values).sum())
    if total * 10.0**exact >= LARGEST:
        raise InputError(
            f"Column {name!r} is too large for exact 64-bit sums with {exact} decimals.",
            hint="Give decimals= with fewer decimals, or express the column in a larger unit (thousands).",
        )
    return exact


def to_units(values: Any, decimals: int, name: str) -> Ints:
    """Values as integers in units of ``10 ** -decimals`` (rounded half to even)."""
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        ints = array.astype(np.int64)
        limit = LARGEST // 10**decimals
        if len(ints) and (int(ints.max()) > limit or int(ints.min()) < -limit):
            raise _too_large(name, decimals)
        result: Ints = ints * np.int64(10**decimals)
        return result
    if array.dtype.kind == "O":
        return np.array([decimal_to_units(item, decimals, name) for item in array], dtype=np.int64)
    scaled = np.rint(array.astype(np.float64) * 10.0**decimals)
    if len(scaled) and float(np.abs(scaled).max()) >= LARGEST:
        raise _too_large(name, decimals)
    return scaled.astype(np.int64)


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
        f"Column {name!r} holds values too large for exact 64-bit sums with {decimals} decimals.",
        hint="Give decimals= with fewer decimals, or express the column in a larger unit (thousands).",
    )
