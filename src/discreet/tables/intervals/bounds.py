"""The interval of an adjusted value, and what can be told from it.

Source: Giessing and Dittrich (2006).

All numbers are whole units. The step of an interval is a power of ten near the distance of original and adjusted value.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log10

POWERS = ("ceil", "round", "floor")
LARGEST = 18


def exponent(distance: int, power: str) -> int:
    """The exponent of the step for a distance of at least one unit.

    Examples
    --------
    >>> exponent(37, "ceil"), exponent(37, "floor"), exponent(100, "ceil")
    (2, 1, 2)
    """
    below = len(str(distance)) - 1
    if power == "floor" or distance == 10**below:
        return below
    if power == "ceil":
        return below + 1
    return round(log10(distance))


def interval(original: int, adjusted: int, power: str, widened: bool, natural: bool) -> tuple[int, int, int]:
    """Least interval of multiples of the step around both values, and the step.

    A widened one reaches one step further on the side of the original; where that would take it below zero and values
    are ``natural`` (never negative), on the other side.

    Examples
    --------
    >>> interval(1234, 1271, "ceil", False, True)
    (1200, 1300, 100)
    >>> interval(40, 75, "ceil", True, True)
    (0, 200, 100)
    """
    step = 10 ** exponent(abs(original - adjusted), power)
    low = min(original, adjusted) // step * step
    high = -(-max(original, adjusted) // step) * step
    if widened:
        low, high = _widen(low, high, step, original < adjusted, natural)
    return low, high, step


def _widen(low: int, high: int, step: int, below: bool, natural: bool) -> tuple[int, int]:
    if below and not (natural and low - step < 0):
        return low - step, high
    return low, high + step


def further(low: int, high: int, step: int, below: bool, natural: bool) -> tuple[int, int]:
    """One step more, on the side that is asked for unless that would be below zero."""
    return _widen(low, high, step, below, natural)


def hull(adjusted: int, low: int, high: int, power: str, extra: int, natural: bool) -> tuple[int, int] | None:
    """Least and largest original that could have led to an adjusted value with this interval.

    ``extra`` is how many steps may have been added on either side. Originals are whole units other than the adjusted
    value.

    Examples
    --------
    >>> hull(1271, 1200, 1300, "ceil", 0, True), hull(1205, 1200, 1300, "ceil", 0, True)
    ((1200, 1300), (1216, 1300))
    """
    found = [ends for ends in _candidates(adjusted, low, high, power, extra, natural) if ends[0] <= ends[1]]
    if not found:
        return None
    return min(start for start, _ in found), max(end for _, end in found)


def _candidates(a: int, low: int, high: int, power: str, extra: int, natural: bool) -> Iterator[tuple[int, int]]:
    """Ranges of originals below and above the adjusted value, one for each step and way of widening."""
    for e in range(LARGEST + 1):
        step = 10**e
        if step > 10 * max(high - low, 1):
            break
        if low % step or high % step:
            continue
        nearest, furthest = _distances(e, power)
        for own in range(extra + 2):
            for other in range(extra + 2):
                # Below: the original decides on the lower end, the adjusted value on the upper one.
                start, end = low + own * step, low + (own + 1) * step - 1
                if -(-a // step) * step + other * step == high and _possible(own, other, extra, natural, start, step):
                    yield max(start, a - furthest, low), min(end, a - nearest, high)
                end = high - own * step
                start = end - step + 1
                if a // step * step - other * step == low and own + other <= extra + 1 and other <= extra:
                    yield max(start, a + nearest, low), min(end, a + furthest, high)


def _possible(own: int, other: int, extra: int, natural: bool, start: int, step: int) -> bool:
    """Whether so many steps were added below, on the original's side, and above."""
    if own + other > extra + 1:
        return False
    # The first widening goes below, unless there is no room for it; extra steps go either way.
    return other <= extra or (natural and start - (own + 1) * step < 0 and other <= extra + 1)


def _distances(e: int, power: str) -> tuple[int, int]:
    """Distances that lead to a step: at least, at most."""
    if power == "ceil":
        return (10 ** (e - 1) + 1 if e else 1), 10**e
    if power == "floor":
        return 10**e, 10 ** (e + 1) - 1
    # Round: exponents from e - 0.5 up to e + 0.5, as whole distances.
    least = 1 if e == 0 else int(10 ** (e - 0.5)) + 1
    return least, int(10 ** (e + 0.5))
