"""Checks of the parameters that the generators share."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from discreet.errors import InputError, counted

MOST_RECORDS = 2**31 - 1
"""Identifiers are 32-bit numbers."""


def whole_number(name: str, value: object, low: int, high: int | None = None) -> int:
    """Return `value` as an int, or say which whole numbers are allowed."""
    allowed = f"a whole number of at least {low:,}" + ("" if high is None else f" and at most {high:,}")
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputError(
            f"{name} must be {allowed}; a value of type {type(value).__name__} was given: {value!r}.",
            hint=f"Write it without a decimal point or quotes, for example {name}={max(low, 1)}.",
        )
    number = int(value)
    if number < low or (high is not None and number > high):
        raise InputError(f"{name} must be {allowed}; {number:,} was given.")
    return number


def share(name: str, value: object, high: float) -> float:
    """Return `value` as a float between 0 and `high`, both included."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0.0 <= float(value) <= high:
        raise InputError(f"{name} must be a number from 0 to {high}; {value!r} was given.")
    return float(value)


def level_counts(name: str, counts: object, most_codes: Sequence[int], most_children: Sequence[int]) -> tuple[int, ...]:
    """Return the number of codes at each level of a tree, checked against what its codes can spell.

    Parameters
    ----------
    name
        The parameter.
    counts
        What was given.
    most_codes
        For every level, how many codes there may be.
    most_children
        For every level, how many codes one parent may have.
    """
    if isinstance(counts, str) or not isinstance(counts, Sequence) or not 1 <= len(counts) <= len(most_codes):
        raise InputError(
            f"{name} must give the number of codes at 1 to {counted(len(most_codes), 'level')}, from the top; "
            f"{counts!r} was given.",
            hint=f"For example {name}=(3, 8, 20): 3 codes below the total, 8 below those, 20 at the end.",
        )
    above = 1
    checked: list[int] = []
    for level, count in enumerate(counts):
        most = min(most_codes[level], above * most_children[level])
        above = whole_number(f"{name}[{level}]", count, above, most)
        checked.append(above)
    return tuple(checked)
