"""Numbers of recoded columns: their text, and whether they were rounded as stated."""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

WIDE = Context(prec=400)
RULES = ("even", "away")
NEARLY = 2.0**-40
"""Floating point is trusted to decide what is no nearer to a half than this share of a unit, and than it is fine."""
MOST_STEPS = 2.0**40


def as_text(value: Any) -> str:
    """A value as its code."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return plain_text(Decimal(repr(value)))
    return str(value)


def to_number(value: Any) -> Decimal:
    """A number as it is written."""
    try:
        return Decimal(repr(value) if isinstance(value, float) else str(value))
    except InvalidOperation:
        raise ValueError("no number") from None


def plain_text(number: Decimal) -> str:
    """A number without a needless point."""
    return str(int(number)) if number == int(number) else repr(float(number))


def multiple(number: Decimal | Fraction, unit: Decimal, ties: str) -> Decimal:
    """The multiple of a unit that is nearest to a number."""
    steps = Fraction(number) / Fraction(unit)
    whole = steps.numerator // steps.denominator
    rest = steps - whole
    half = Fraction(1, 2)
    if rest > half or (rest == half and ((whole % 2 == 1) if ties == "even" else steps > 0)):
        whole += 1
    return WIDE.multiply(Decimal(whole), unit)


def rounded_value(value: Any, base: Any, ties: str) -> Any:
    """What a value becomes when it is rounded to multiples of a number, as its own type."""
    made = multiple(to_number(value), to_number(base), ties)
    if isinstance(value, str):
        return f"{int(made)}" if made == int(made) else f"{made:f}".rstrip("0")
    return int(made) if isinstance(value, int) else float(made) + 0.0


def wrongly_rounded(old: pa.ChunkedArray, new: pa.ChunkedArray, base: Any, ties: str) -> int:
    """How many numbers are not the nearest multiple of their old value; gaps must stay gaps."""
    if new.type != old.type or not old.is_null().equals(new.is_null()) or ties not in RULES:
        return len(old)
    before, after = (np.asarray(column.drop_null().to_numpy()) for column in (old, new))
    if before.dtype.kind == "i":
        return _wrongly_whole(before, after, base, ties)
    sure = np.abs(before / base) < MOST_STEPS
    moved = np.abs(before - after) / base
    steps = np.rint(after / base)
    # A multiple is the floating-point number nearest to it: neighbours are not taken for it.
    near = np.abs(after / base - steps) <= np.abs(steps) * 2.0**-51
    # A number may lie half a step of floating point from the one that is written, and so may a multiple.
    doubt = NEARLY + (np.spacing(np.abs(before)) + np.spacing(np.abs(after))) / base
    sure &= near & (np.abs(moved - 0.5) > doubt)
    wrong = int((moved[sure] > 0.5).sum())
    doubtful = np.flatnonzero(~sure)
    pairs = {(before[i], after[i]) for i in doubtful.tolist()}
    bad = {pair for pair in pairs if rounded_value(float(pair[0]), base, ties) != float(pair[1])}
    wrong += sum((before[i], after[i]) in bad for i in doubtful.tolist()) if bad else 0
    return wrong + _not_multiples(after[sure], base)


def _not_multiples(after: np.ndarray, base: Any) -> int:
    """Numbers that are not the floating-point number of a multiple."""
    unit = to_number(base)
    distinct, many = np.unique(after, return_counts=True)
    steps = np.rint(distinct / base).astype(np.int64).tolist()
    return sum(
        int(number)
        for value, step, number in zip(distinct.tolist(), steps, many.tolist(), strict=True)
        if float(WIDE.multiply(Decimal(step), unit)) != value
    )


def _farthest(values: np.ndarray) -> int:
    """How far whole numbers lie from zero at most; the lowest of 64 bits has no opposite there."""
    return max(int(values.max()), -int(values.min())) if len(values) else 0


def _wrongly_whole(before: np.ndarray, after: np.ndarray, base: Any, ties: str) -> int:
    unit = to_number(base)
    if unit != int(unit) or max(_farthest(before), _farthest(after)) >= 2**61:
        return len(before)
    step = int(unit)
    moved = np.abs(before - after)
    wrong = (after % step != 0) | (2 * moved > step)
    halves = 2 * moved == step
    if ties == "even":
        wrong |= halves & ((after // step) % 2 != 0)
    else:
        wrong |= halves & (np.abs(after) < np.abs(before))
    return int(wrong.sum())
