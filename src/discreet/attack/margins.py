"""What row and column totals of a two-way table tell of its hidden cells, in time linear in rows and columns.

Bounds are those of Fréchet, exact for whole and for real numbers. Source: Lu, Li and Wu (2006), with
procedures corrected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError, listed
from discreet.model.arrays import Bools, Floats, Ints

Kind = Literal["existence", "upward", "downward", "approximation"]
KINDS: tuple[str, ...] = get_args(Kind)
SURE = 1e-9
"""Share of the total by which a real number must lie beyond a threshold."""


@dataclass(frozen=True, eq=False)
class Disclosed:
    """Disclosed cells as index sets: whole ``rows`` and ``columns``, and single cells (``row``, ``column``).

    ``zero_rows`` and ``zero_columns`` are those whose total is zero: their cells are trivially known.
    """

    kind: str
    shape: tuple[int, int]
    rows: Ints
    columns: Ints
    row: Ints
    column: Ints
    zero_rows: Ints
    zero_columns: Ints

    def __len__(self) -> int:
        m, n = self.shape
        whole = len(self.rows) * n + len(self.columns) * (m - len(self.rows))
        alone = ~np.isin(self.row, self.rows) & ~np.isin(self.column, self.columns)
        return int(whole + alone.sum())

    def mask(self) -> Bools:
        """All disclosed cells as a table; for tables that fit into memory."""
        found: Bools = np.zeros(self.shape, np.bool_)
        found[self.rows] = True
        found[:, self.columns] = True
        found[self.row, self.column] = True
        return found

    @property
    def pattern(self) -> str:
        """Where the cells lie, in words."""
        if not len(self):
            return "none"
        if len(self.rows) or len(self.columns):
            return f"{len(self.rows):,} whole rows and {len(self.columns):,} whole columns"
        return "one row" if len(np.unique(self.row)) == 1 else "one column"


def margin_bounds(rows: npt.ArrayLike, columns: npt.ArrayLike, i: int, j: int) -> tuple[float, float]:
    """Least and largest value of a cell, given its margins.

    Examples
    --------
    >>> margin_bounds([37, 2, 3], [21, 18, 3], 0, 0)
    (16, 21)
    """
    r, c, total, _ = _checked(rows, columns)
    low = max(0, (r[i] + c[j] - total).item())
    return low, min(r[i].item(), c[j].item())


def two_way_disclosure(
    rows: npt.ArrayLike, columns: npt.ArrayLike, kind: Kind, threshold: float | None = None
) -> Disclosed:
    """Cells that the margins of a non-negative two-way table disclose.

    Parameters
    ----------
    rows, columns
        Row and column totals, whole or real numbers.
    kind
        ``"existence"``: the cell is above zero for certain. ``"upward"``: above the threshold. ``"downward"``: below
        the threshold. ``"approximation"``: its interval is narrower than the threshold. All are strict.
    threshold
        Needed for all kinds but the first.

    Raises
    ------
    InputError
        When margins are negative or their sums differ.

    Examples
    --------
    >>> found = two_way_disclosure([37, 2, 3], [21, 18, 3], "downward", 3)
    >>> found.rows.tolist(), found.columns.tolist(), len(found)
    ([1], [], 3)
    """
    tau = _threshold(kind, threshold)
    r, c, total, slack = _checked(rows, columns)
    none = np.zeros(0, np.int64)
    whole_rows, whole_columns, row, column = none, none, none, none
    if kind in ("existence", "upward"):
        row, column = _above(r, c, total, tau, slack)
    else:
        whole_rows, whole_columns = np.flatnonzero(r < tau - slack), np.flatnonzero(c < tau - slack)
    if kind == "approximation":
        row, column = _above(r, c, total, 0, slack)
        narrow = total - np.maximum(r[row], c[column]) < tau - slack
        row, column = row[narrow], column[narrow]
    return Disclosed(
        kind,
        (len(r), len(c)),
        whole_rows,
        whole_columns,
        row,
        column,
        np.flatnonzero(r == 0),
        np.flatnonzero(c == 0),
    )


def disclosed_by_bounds(
    lower: npt.ArrayLike, upper: npt.ArrayLike, kind: Kind, threshold: float | None = None
) -> Bools:
    """The same four kinds from bounds of any table, of more dimensions or with cells published besides.

    Bounds are the attacker's, for instance those of :func:`discreet.attack.unique_entries`; patterns of whole rows and
    columns need not hold there.
    """
    tau = _threshold(kind, threshold)
    low, up = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    found = {"existence": low > 0, "upward": low > tau, "downward": up < tau, "approximation": up - low < tau}
    return np.asarray(found[kind], np.bool_)


def _threshold(kind: str, threshold: float | None) -> float:
    if kind not in KINDS:
        raise ParameterError(f"kind={kind!r} is not known.", hint=f"Use {listed(KINDS)}.")
    if kind == "existence":
        if threshold not in (None, 0):
            raise ParameterError("Existence has the threshold 0.", hint="Use kind='upward' for another one.")
        return 0
    if threshold is None:
        raise ParameterError(f"kind={kind!r} needs a threshold.", hint="Give threshold=.")
    if not np.isfinite(threshold) or threshold < 0 or (threshold == 0 and kind != "upward"):
        raise ParameterError(f"threshold={threshold!r} is not allowed.", hint="Give a number above 0.")
    return threshold


def _above(r: Floats | Ints, c: Floats | Ints, total: float, tau: float, slack: float) -> tuple[Ints, Ints]:
    """Cells whose lower bound lies above a threshold: they stand in one row or in one column."""
    i, j = int(np.argmax(r)), int(np.argmax(c))
    along_row = np.flatnonzero(r[i] + c - total > tau + slack)
    if not len(along_row):
        return along_row, along_row
    if len(along_row) > 1:
        return np.full(len(along_row), i, np.int64), along_row
    along_column = np.flatnonzero(r + c[j] - total > tau + slack)
    return along_column, np.full(len(along_column), j, np.int64)


def _checked(rows: npt.ArrayLike, columns: npt.ArrayLike) -> tuple[Floats | Ints, Floats | Ints, float, float]:
    """Margins, their total and by how much real numbers must exceed a threshold."""
    r, c = np.asarray(rows), np.asarray(columns)
    if r.ndim != 1 or c.ndim != 1 or not len(r) or not len(c):
        raise InputError("Margins are two lists of totals.", hint="Give row totals and column totals.")
    whole = r.dtype.kind in "iu" and c.dtype.kind in "iu"
    kind: type[np.int64] | type[np.float64] = np.int64 if whole else np.float64
    r, c = r.astype(kind), c.astype(kind)
    if not (np.isfinite(r).all() and np.isfinite(c).all()) or r.min() < 0 or c.min() < 0:
        raise InputError("Margins must be numbers of at least zero.", hint="Signed tables need linear programs.")
    total = r.sum().item()
    slack = 0.0 if whole else SURE * total
    if abs(total - c.sum().item()) > slack:
        raise InputError("Row totals and column totals have different sums.", hint="Correct the margins.")
    return r, c, total, slack
