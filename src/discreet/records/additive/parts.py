"""Noise of records that get it together, worked out from values and normal draws wherever that is done."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, listed
from discreet.model.arrays import Floats, Ints
from discreet.records.additive import moves
from discreet.records.additive.moments import DependentColumn, centred
from discreet.records.additive.outlying import NoSpread, noise_factor


class PartToMove(NamedTuple):
    """Records that get noise together: whole units by column, and what was drawn for them with the key.

    ``how``, ``amount``, ``flag`` and ``beyond`` are those of :class:`discreet.AddNoise`. ``units`` are of the records
    without a gap. ``besides`` are draws of other kinds: places in a Latin hypercube, or the order of rotated records.
    ``names`` and ``where`` say what the columns and the records are called in errors.
    """

    how: str
    amount: float
    flag: str
    beyond: float
    names: list[str]
    where: str
    units: list[Ints]
    drawn: Floats
    besides: Ints | Floats | None


def moves_of(part: PartToMove) -> Floats:
    """How far the values of a part move, in the units of their columns: one row for each column."""
    if part.how == "proportional":
        return np.asarray(part.drawn * (part.amount**0.5 * np.stack(part.units)))
    middle = centred(_from_least(part.units))
    if part.how == "romm":
        found = np.empty_like(middle)
        order = np.asarray(part.besides)
        found[:, order] = moves.rotated(np.ascontiguousarray(middle[:, order]), part.drawn, part.amount)
        return found
    try:
        if part.how == "latin_hypercube":
            return moves.hypercube(middle, part.drawn, part.amount, np.asarray(part.besides))
        if part.how == "outliers":
            return np.asarray(moves.correlated(middle, part.drawn, part.amount) * _outlying(part))
        made: Floats = getattr(moves, part.how)(middle, part.drawn, part.amount)
    except DependentColumn as wrong:
        raise _dependent(part, wrong.place) from None
    return made


def _from_least(units: list[Ints]) -> Floats:
    """Columns of units less the least of each: exact where the numbers themselves are too large."""
    found = np.empty((len(units), len(units[0])))
    for row, column in zip(found, units, strict=True):
        row[:] = column - column.min()
    return found


def _outlying(part: PartToMove) -> Floats:
    """What the noise of every record is multiplied by; 0 for records that are no outliers."""
    try:
        return noise_factor(part.flag, np.column_stack(part.units).astype(np.float64), part.beyond)
    except NoSpread as wrong:
        raise InputError(
            f"More than half of the values of {part.names[wrong.place]!r}{part.where} are equal, so that "
            f'flag="{part.flag}" cannot say what lies far out.',
            hint='Leave the column out, or use flag="influence".',
        ) from None


def _dependent(part: PartToMove, place: int) -> InputError:
    what = "ranks" if part.how == "latin_hypercube" else "values"
    return InputError(
        f"The {what} of {part.names[place]!r}{part.where} follow from {listed(part.names[:place])}, so that the "
        "covariance of the columns is singular.",
        hint='Leave the column out and compute it from the published ones, or use how="independent" or "romm".',
    )
