"""How a reader would fill withheld cells: three ways (Shlomo and Young 2006)."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from discreet.errors import InputError, ParameterError, counted, listed
from discreet.model.arrays import Bools, Floats, Ints

Imputation = Literal["zero", "row_mean", "weighted"]
WAYS: tuple[str, ...] = get_args(Imputation)


class Filled(NamedTuple):
    """Values with the withheld cells filled, and how many rows had less than nothing left for them (filled by zero)."""

    value: Floats
    short: int


def check_imputation(way: str | None, withheld: int) -> None:
    """Refuse an unknown way, and none where cells are withheld."""
    if way is None and withheld:
        raise ParameterError(
            f"{counted(withheld, 'cell', 'are')} withheld, and measures need numbers.",
            hint="Choose imputation='zero', 'row_mean' (what is left of the row in equal parts) or 'weighted' "
            "(in proportion to the columns).",
        )
    if way is not None and way not in WAYS:
        raise ParameterError(f"imputation={way!r} is not known.", hint=f"Use {listed(WAYS)}.")


def imputed(
    value: Floats, withheld: Bools, row: Ints, row_total: Floats, way: Imputation, weight: Floats | None = None
) -> Filled:
    """Fill withheld cells from what is left of their rows.

    Parameters
    ----------
    value
        Values of the cells; those of withheld ones are not looked at.
    withheld
        Which cells to fill.
    row
        The row that each cell stands in.
    row_total
        Totals of the rows, as published.
    way
        ``"zero"``, ``"row_mean"`` or ``"weighted"``.
    weight
        For ``"weighted"``: the mean (or total) of each cell's column. Where a row's weights are all zero, equal parts.

    Examples
    --------
    >>> value, hidden, row = np.array([400.0, 0, 0]), np.array([False, True, True]), np.zeros(3, np.int64)
    >>> imputed(value, hidden, row, np.array([500.0]), "weighted", np.array([0, 50, 10])).value.round(2).tolist()
    [400.0, 83.33, 16.67]
    """
    check_imputation(way, int(withheld.sum()))
    shown = np.where(withheld, 0.0, value)
    if way == "zero" or not withheld.any():
        return Filled(shown, 0)
    rows = len(row_total)
    if np.isnan(row_total[row[withheld]]).any():
        raise InputError(
            "A row with withheld cells has no total.", hint="Give the total, an estimate of it, or imputation='zero'."
        )
    left = row_total - np.bincount(row, shown, rows)
    touched = np.bincount(row, withheld, rows) > 0
    short = int((touched & (left < 0)).sum())
    left = np.maximum(left, 0.0)
    part = withheld.astype(np.float64)
    if way == "weighted":
        if weight is None:
            raise ParameterError("imputation='weighted' needs a weight for every cell.", hint="Give column means.")
        weighted = np.where(withheld, np.maximum(np.asarray(weight, np.float64), 0.0), 0.0)
        part = np.where((np.bincount(row, weighted, rows) > 0)[row], weighted, part)
    whole = np.bincount(row, part, rows)[row]
    filled = shown.copy()
    filled[withheld] = (left[row] * part / np.where(whole > 0, whole, 1.0))[withheld]
    return Filled(filled, short)
