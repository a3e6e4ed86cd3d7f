"""Columns of numbers as whole units, and back without loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import InputError, counted
from discreet.model.arrays import Bools, Ints
from discreet.model.units import detect_decimals

if TYPE_CHECKING:
    import pyarrow as pa

WHOLE_LIMIT, FLOAT_LIMIT = 2**62, 2**53
"""Whole numbers from here on are not held by 64-bit integers, and by floating-point numbers, without care."""


@dataclass(frozen=True, eq=False)
class ExactColumn:
    """A column in units of ``10 ** -decimals``, 0 where it is empty; ``whole`` says how it came."""

    units: Ints
    gaps: Bools
    decimals: int
    whole: bool

    def moved_by(self, moves: Ints, name: str) -> pa.ChunkedArray:
        """The same column after moves in units; empty fields stay empty."""
        import pyarrow as pa

        units = self.units + moves
        refuse_large(units, self.whole, self.decimals, name)
        values = units if self.whole else units.astype(np.float64) / 10.0**self.decimals
        return pa.chunked_array([pa.array(values, mask=self.gaps)])


def exact_units(column: pa.ChunkedArray, name: str) -> ExactColumn:
    """A column of numbers in its smallest unit.

    Raises
    ------
    InputError
        For what is no number, and for numbers that are not whole in any unit of at most nine decimals.

    Examples
    --------
    >>> import pyarrow as pa
    >>> exact = exact_units(pa.chunked_array([[1.25, None, 3.0]]), "x")
    >>> exact.units.tolist(), exact.decimals, exact.moved_by(np.array([1, 0, -1]), "x").to_pylist()
    ([125, 0, 300], 2, [1.26, None, 2.99])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = pa.types.is_integer(column.type)
    if not whole and not pa.types.is_floating(column.type):
        raise InputError(
            f"Column {name!r} holds {column.type}, not numbers.",
            hint=f"Columns of csv files are text unless they are called numbers: Microdata(numeric=[{name!r}]).",
        )
    gaps = np.asarray(column.is_null().to_numpy(), np.bool_)
    raw = pc.fill_null(column, 0).to_numpy()
    decimals = 0 if whole else detect_decimals(raw)
    if decimals is None:
        raise InputError(
            f"Column {name!r} has numbers of more than nine decimals, which have no exact unit.",
            hint="Round the column to what was measured, to cents for example.",
        )
    scaled = raw if whole else np.rint(raw * 10.0**decimals)
    if not whole and len(scaled) and np.abs(scaled).max() >= FLOAT_LIMIT:
        raise _too_large(name, decimals)
    units: Ints = scaled.astype(np.int64)
    refuse_large(units, whole, decimals, name)
    return ExactColumn(units, gaps, decimals, whole)


def refuse_large(units: Ints, whole: bool, decimals: int, name: str) -> None:
    """Refuse units that a column of whole, or of floating-point, numbers does not hold exactly."""
    if len(units) and max(int(units.max()), -int(units.min())) >= (WHOLE_LIMIT if whole else FLOAT_LIMIT):
        raise _too_large(name, decimals)


def _too_large(name: str, decimals: int) -> InputError:
    return InputError(
        f"Column {name!r} holds numbers too large to be changed exactly with {counted(decimals, 'decimal')}.",
        hint="Express the column in a larger unit (thousands), or round it.",
    )
