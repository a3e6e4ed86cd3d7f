"""What local suppression works on: distinct rows of codes, what their blanks cost, and when a group is large enough.

Records with the same codes are one *cell*. A blank is code 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Bools, Floats, Ints

Keys = NDArray[np.uint64]
MOST_KEYS = 12
"""Sets of more columns are not looked at one by one."""
NEARLY = 1 - 1e-12


class ColumnSet(NamedTuple):
    """Columns that may be blank together, as bits, and what that costs per record on average."""

    bits: int
    columns: tuple[int, ...]
    cost: float


@dataclass(frozen=True, eq=False)
class BlankPrices:
    """What it costs to blank a field: the price of its code, times the weight of its record.

    Parameters
    ----------
    codes
        For every column the price of each of its codes; that of a blank, the first, is 0.
    weight
        Weights of the records; ``None`` where all are 1.
    """

    codes: tuple[Floats, ...]
    weight: Floats | None = None

    @classmethod
    def equal(cls, codes: Ints, column: Sequence[float]) -> BlankPrices:
        """One price for all codes of a column."""
        sizes = codes.max(axis=0, initial=0) + 1
        return cls(tuple(_but_for_blanks(np.full(int(n), p)) for n, p in zip(sizes, column, strict=True)))

    def some(self, columns: Sequence[int]) -> BlankPrices:
        """The prices of some columns."""
        return BlankPrices(tuple(self.codes[column] for column in columns), self.weight)

    def rows(self, chosen: Ints | slice) -> BlankPrices:
        """The prices of some records."""
        return BlankPrices(self.codes, None if self.weight is None else self.weight[chosen])

    def of(self, codes: Ints, mass: Floats | Ints) -> Floats:
        """What each field of some rows costs, for so many records as ``mass`` says, or their weight."""
        columns = [price[codes[:, place]] for place, price in enumerate(self.codes)]
        return np.ascontiguousarray(np.stack(columns, axis=1) * np.asarray(mass, np.float64)[:, None])

    def cost(self, before: Ints, blank: Bools) -> float:
        """What blanks cost in all."""
        total = 0.0
        for place, price in enumerate(self.codes):
            rows = np.flatnonzero(blank[:, place])
            each = price[before[rows, place]]
            total += float(each.sum() if self.weight is None else each @ self.weight[rows])
        return total


def _but_for_blanks(price: Floats) -> Floats:
    price[0] = 0.0
    return price


@dataclass(frozen=True, eq=False)
class LargeEnough:
    """When a group of records is large enough.

    Parameters
    ----------
    least
        For every number of records the least weight that they must have together, from 0 records on; infinite where no
        weight suffices. Groups of more records than there are entries are large enough.
    weight
        Weights of the records; ``None`` where each counts as 1.
    """

    least: Floats
    weight: Floats | None = None

    @classmethod
    def of(cls, k: int) -> LargeEnough:
        """``k`` records."""
        return cls(np.concatenate(([0.0], np.full(k - 1, np.inf))))

    @property
    def always(self) -> int:
        """So many records are enough, whatever their weight."""
        return len(self.least)

    def rows(self, chosen: Ints | slice) -> LargeEnough:
        """The same for some of the records."""
        return LargeEnough(self.least, None if self.weight is None else self.weight[chosen])

    def holds(self, records: Ints, mass: Floats) -> Bools:
        """Whether groups are large enough, by their numbers of records and their weights."""
        place = np.minimum(records, self.always - 1)
        return np.asarray((records >= self.always) | (mass >= self.least[place] * NEARLY))


@dataclass(frozen=True, eq=False)
class KeyCells:
    """Distinct rows of codes.

    Parameters
    ----------
    codes
        A row per cell, 0 where it is blank.
    records
        Records of each cell.
    mass
        Their weight, where weights say whether a group is large enough; else their number.
    price
        What it costs to blank each column in all records of the cell.
    part
        What each code adds to the key of a row: rows are equal where their keys are. A blank adds nothing.
    """

    codes: Ints
    records: Ints
    mass: Floats
    price: Floats
    part: Keys

    @property
    def key(self) -> Keys:
        """The key of each cell."""
        return np.asarray(self.part.sum(axis=1, dtype=np.uint64))


def cells_of(codes: Ints, prices: BlankPrices, enough: LargeEnough, times: Ints | None = None) -> tuple[KeyCells, Ints]:
    """The cells of some rows, and the cell of each row; ``times`` says for how many records a row stands."""
    size = codes.max(axis=0, initial=0).astype(np.int64) + 1
    part = _parts(codes, size)
    _, first, cell, records = np.unique(
        part.sum(axis=1, dtype=np.uint64), return_index=True, return_inverse=True, return_counts=True
    )
    cell, records = cell.astype(np.int64), records.astype(np.int64)
    if times is not None:
        records = np.bincount(cell, times, len(first)).astype(np.int64)
    mass = summed(cell, records, enough.weight)
    worth = summed(cell, records, prices.weight)
    price = prices.of(codes[first], worth)
    return KeyCells(codes[first], records, mass, price, np.ascontiguousarray(part[first])), cell


def summed(cell: Ints, records: Ints, weight: Floats | None) -> Floats:
    """The weight of the records of each cell, or their number."""
    return np.asarray(records if weight is None else np.bincount(cell, weight, len(records)), np.float64)


def _parts(codes: Ints, size: Ints) -> Keys:
    """Numbers whose sum over a row tells rows apart: digits of a mixed radix, or random ones where these overflow.

    Random numbers may meet by chance (one in 10**19 for a pair of rows). Whoever uses what is found counts again.
    """
    if np.prod(size.astype(np.float64)) < 2.0**63:
        stride = np.concatenate(([1], np.cumprod(size[:-1])))
        return np.asarray(codes * stride, np.uint64)
    random = np.random.default_rng(20_261_117)
    columns = []
    for column in range(codes.shape[1]):
        drawn = random.integers(1, 2**64 - 1, int(size[column]), np.uint64, endpoint=True)
        drawn[0] = 0
        columns.append(drawn[codes[:, column]])
    return np.stack(columns, axis=1)


def column_sets(price: Sequence[float]) -> list[ColumnSet]:
    """All sets of columns, from the cheapest to the dearest; the empty one first."""
    numbers = range(len(price))
    found = [
        ColumnSet(sum(1 << c for c in columns), columns, float(sum(price[c] for c in columns)))
        for size in range(len(price) + 1)
        for columns in combinations(numbers, size)
    ]
    return sorted(found, key=lambda one: (one.cost, one.bits))


def typical_prices(cells: KeyCells) -> list[float]:
    """What it costs to blank each column of a record on average, to say which sets of columns are cheap."""
    shown = np.maximum((cells.records[:, None] * (cells.codes != 0)).sum(axis=0), 1)
    # Rounded, so that columns of one price are worked on together.
    return [float(f"{price:.9g}") for price in (cells.price.sum(axis=0) / shown).tolist()]


def found_among(ordered: Keys, wanted: Keys) -> tuple[Ints, Bools]:
    """Places of keys among others that are in order, and which are there."""
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1).astype(np.int64)
    return place, ordered[place] == wanted


def least_costs(cells: KeyCells, enough: LargeEnough) -> Floats:
    """What blanks cost at least for all records of each cell, whatever is done.

    The rows that look like a record in the public file agree with it in all codes that it still has, and did so before.
    So it must lose codes until enough records agree with it in the rest.
    """
    columns = cells.part.shape[1]
    bit = 1 << np.arange(columns, dtype=np.int64)
    shown = np.asarray((cells.codes != 0) @ bit, np.int64)
    open_ = np.flatnonzero(~enough.holds(cells.records, cells.mass))
    least = np.zeros(len(cells.records))
    least[open_] = cells.price[open_].sum(axis=1)
    for one in column_sets([1.0] * columns):  # the empty set, too: of cells with gaps more may agree than look alike
        cost = cells.price[:, list(one.columns)].sum(axis=1)
        able = open_[(shown[open_] & one.bits == one.bits) & (cost[open_] < least[open_])]
        for kept in np.unique(shown[able] & ~one.bits).tolist():
            mine = able[shown[able] & ~one.bits == kept]
            done = mine[_agreeing(cells, kept, mine, enough)]
            least[done] = cost[done]
    return least


def _agreeing(cells: KeyCells, kept: int, wanted: Ints, enough: LargeEnough) -> Bools:
    """For some cells whether enough records agree with them in some columns."""
    columns = [c for c in range(cells.part.shape[1]) if kept >> c & 1]
    key = cells.part[:, columns].sum(axis=1, dtype=np.uint64)
    asked, place = np.unique(key[wanted], return_inverse=True)
    at, known = found_among(asked, key)
    count = np.bincount(at[known], cells.records[known], len(asked)).astype(np.int64)
    mass = np.asarray(np.bincount(at[known], cells.mass[known], len(asked)), np.float64)
    return np.asarray(enough.holds(count, mass)[place])
