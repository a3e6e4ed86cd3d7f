"""Cells before and after as rows (usually areas) of distributions: what measures by Shlomo and Young (2006) work on."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError
from discreet.model.arrays import Floats, Ints


class Grid:
    """Cells of a table by row and column, before and after. Cells that are left out are zero before and after.

    Parameters
    ----------
    row, column
        Where each cell stands, from 0.
    original, published
        Its values.
    rows, columns
        How many there are.
    """

    def __init__(self, row: Ints, column: Ints, original: Floats, published: Floats, rows: int, columns: int) -> None:
        self.row, self.column = row, column
        self.original, self.published = original, published
        self.rows, self.columns = rows, columns
        for name, values in (("original", original), ("published", published)):
            if not np.isfinite(values).all():
                raise InputError(
                    f"The {name} table has cells without a number.",
                    hint="Fill withheld cells first: choose imputation='zero', 'row_mean' or 'weighted'.",
                )

    @classmethod
    def of(cls, original: npt.ArrayLike, published: npt.ArrayLike) -> Grid:
        """A grid from two tables of rows and columns.

        Examples
        --------
        >>> Grid.of([[1, 2], [3, 4]], [[1, 2], [3, 3]]).per_row(np.ones(4)).tolist()
        [2.0, 2.0]
        """
        first, second = np.asarray(original, np.float64), np.asarray(published, np.float64)
        if first.ndim != 2 or second.ndim != 2:
            raise InputError("A table needs rows and columns.", hint="Give two tables of the same shape.")
        for axis, name in enumerate(("rows", "columns")):
            if first.shape[axis] != second.shape[axis]:
                raise InputError(
                    f"The tables differ in their {name}: {first.shape[axis]} and {second.shape[axis]}.",
                    hint="Compare the same cells in the same order.",
                )
        rows, columns = first.shape
        row = np.repeat(np.arange(rows, dtype=np.int64), columns)
        return cls(row, np.tile(np.arange(columns, dtype=np.int64), rows), first.ravel(), second.ravel(), rows, columns)

    def __len__(self) -> int:
        return len(self.row)

    def per_row(self, values: Floats) -> Floats:
        """Sums over the cells of each row."""
        sums: Floats = np.bincount(self.row, values, self.rows).astype(np.float64)
        return sums

    def per_column(self, values: Floats) -> Floats:
        """Sums over the cells of each column."""
        sums: Floats = np.bincount(self.column, values, self.columns).astype(np.float64)
        return sums

    @cached_property
    def cells_in_row(self) -> Floats:
        """How many cells each row has."""
        return self.per_row(np.ones(len(self)))

    @cached_property
    def filled_rows(self) -> int:
        """Rows with a value in either table."""
        return int(((self.per_row(np.abs(self.original)) > 0) | (self.per_row(np.abs(self.published)) > 0)).sum())

    @cached_property
    def filled_columns(self) -> int:
        """Columns with a value in either table."""
        here, there = self.per_column(np.abs(self.original)), self.per_column(np.abs(self.published))
        return int(((here > 0) | (there > 0)).sum())

    @property
    def signed(self) -> bool:
        """Whether a value is below zero."""
        return bool(self.original.min(initial=0.0) < 0 or self.published.min(initial=0.0) < 0)
