"""Where moved values land: whole units, none of them a code for "unknown", sums as they were where asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.jit import kernel
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import NUMBER, MissingRange, code_text

MOST_STEPS = 1000
"""Units that a value moves at most to get away from codes for "unknown"."""


class Landing(NamedTuple):
    """How the values of a column land.

    ``finer`` is how many decimals more (or fewer, below 0) the published values have; ``step`` of how many units they
    are multiples; ``floor`` says that nothing lands below zero, ``zeros`` that zeros stay, ``sums`` that the sum stays.
    """

    name: str
    decimals: int
    finer: int
    step: int
    floor: bool
    zeros: bool
    sums: bool
    unknown: tuple[MissingRange, ...]

    def codes(self, units: Ints) -> Bools:
        """Where published units would be taken for a code that stands for "unknown"."""
        return unknown_numbers(units / 10.0 ** (self.decimals + self.finer), self.unknown)


class Landed(NamedTuple):
    """Published units, and how many were cut at zero, stayed zero, and were moved away from codes for "unknown".

    ``sums`` are those of :func:`effect_sums`.
    """

    units: Ints
    cut: int
    zeros: int
    codes: int
    sums: tuple[int, float, float, float, float]


@kernel("Tuple((i8, f8, f8, f8, f8))(i8[::1], i8[::1], i8, i8, i8)")
def effect_sums(old: Any, new: Any, larger: Any, smaller: Any, least: Any) -> Any:
    """How many values stayed; sums and sums of squares of old and new values, from the least of the column on.

    Old units times ``larger`` are new units times ``smaller``; one of the two is 1.
    """
    kept = 0
    before = before_squares = after = after_squares = 0.0
    for i in range(len(old)):
        one = np.float64(old[i] - least)
        if old[i] * larger == new[i] * smaller:
            kept += 1
            two = one
        else:
            two = np.float64(new[i] * smaller - least * larger) / larger
        before += one
        before_squares += one * one
        after += two
        after_squares += two * two
    return kept, before, before_squares, after, after_squares


def unknown_numbers(values: Floats, unknown: Sequence[MissingRange]) -> Bools:
    """Where numbers would be taken for codes that stand for "unknown".

    Examples
    --------
    >>> unknown_numbers(np.array([-1.0, 5.0, 99.0]), [(-9, -1), ("99", "99"), ("DK", "DK")]).tolist()
    [True, False, True]
    """
    found = np.zeros(len(values), np.bool_)
    for low, high in unknown:
        if not isinstance(low, str):
            found |= (values >= low) & (values <= high)
        elif NUMBER.fullmatch(low) and code_text(float(low)) == low:
            found |= values == float(low)
    return found


def landed(units: Ints, moves: Floats, how: Landing, least: int) -> Landed:
    """Whole units after moves; ``units`` are those of the column, ``moves`` are in the same unit."""
    scale = 10 ** abs(how.finer)
    if how.finer == 0:
        base, rest = units, moves
    elif how.finer > 0:
        base, rest = units * scale, moves * scale
    else:
        base = units // scale
        rest = ((units - base * scale) + moves) / scale
    if how.step > 1:  # all numbers are multiples, and stay so
        shift = np.rint(rest / how.step).astype(np.int64) * how.step
    else:
        shift = np.rint(rest).astype(np.int64)
    new = base + shift
    cut = stay = codes = 0
    if how.floor or how.zeros:
        kept_zero = units == 0 if how.zeros else np.zeros(len(new), np.bool_)
        low = (new < 0) & ~kept_zero if how.floor else np.zeros(len(new), np.bool_)
        new[low | kept_zero] = 0
        cut, stay = int(low.sum()), int(kept_zero.sum())
    if how.unknown:
        wrong = how.codes(new)
        new[wrong] = _beside_codes(new[wrong], how)
        codes = int(wrong.sum())
    if how.sums and not cut and not stay:
        new = _with_sum(new, base, rest, _nearest(_total(units), how.finer), how)
    larger, smaller = (scale, 1) if how.finer >= 0 else (1, scale)
    return Landed(new, cut, stay, codes, effect_sums(units, new, larger, smaller, least))


def _total(units: Ints) -> int:
    """An exact sum, also of numbers whose sum leaves 64 bits."""
    fits = max(int(units.max()), -int(units.min())) * len(units) < 2**62
    return int(units.sum()) if fits else sum(units.tolist())


def _nearest(total: int, finer: int) -> int:
    """A sum in the published unit; halves are rounded up."""
    scale: int = 10 ** abs(finer)
    return total * scale if finer >= 0 else (2 * total + scale) // (2 * scale)


def _beside_codes(new: Ints, how: Landing) -> Ints:
    """The nearest values that are no codes, of two the upper one."""
    found, open_ = new.copy(), np.arange(len(new))
    for steps in range(1, MOST_STEPS + 1):
        for side in (steps, -steps):
            tried = new[open_] + side * how.step
            good = ~how.codes(tried) & ((tried >= 0) if how.floor else True)
            found[open_[good]] = tried[good]
            open_ = open_[~good]
        if not len(open_):
            return found
    raise InputError(
        f'Noise made values of column {how.name!r} that stand for "unknown", and no other value is near.',
        hint="Name fewer codes as missing, empty the fields that hold them first, or give another amount=.",
    )


def _with_sum(new: Ints, base: Ints, rest: Floats, total: int, how: Landing) -> Ints:
    """Units whose sum is a given one: those that were rounded farthest the other way take one unit more, or less."""
    short = total - _total(new)
    side = 1 if short > 0 else -1
    if not short:
        return new
    free = ~how.codes(new + side) if how.unknown else np.ones(len(new), np.bool_)
    if how.floor:
        free &= new + side >= 0
    rows = np.flatnonzero(free)
    if len(rows) < abs(short):
        raise InputError(
            f"The sum of column {how.name!r} cannot be kept in so few values.",
            hint="Give more decimals=, or another how=.",
        )
    slack = side * (rest[rows] - (new[rows] - base[rows]))
    limit = np.partition(slack, len(rows) - abs(short))[len(rows) - abs(short)]
    new[rows[slack > limit]] += side
    # Of those that are rounded equally far, the first ones: rows stand in an order of who they are.
    new[rows[slack == limit][: abs(short) - int((slack > limit).sum())]] += side
    return new
