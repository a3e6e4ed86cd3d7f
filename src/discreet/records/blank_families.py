"""Blanks under which every combination of several sets of columns is in enough records; a blank is a code of its own.

Sets are protected one after the other until a round over all of them changes nothing: that round is the proof. Blanks
that later ones made superfluous are taken back. All columns at once protect every set, too, and are taken where that is
cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import checkpoint
from discreet.records.blank_cells import MOST_KEYS, BlankPrices, KeyCells, LargeEnough, cells_of, summed
from discreet.records.blank_strict import Blanked, strictly_blanked
from discreet.records.blanking import ClassPattern, bits_as_columns

DENSE = 2**24
"""Combinations are counted in a table of up to so many places, and by sorting beyond."""
MOST_PLACES = 2**25
"""Places of all tables together up to which superfluous blanks are looked for."""
ColumnTable = tuple[tuple[int, ...], int]
"""Columns, and how many records every combination of their codes must be in."""


def family_blanked(codes: Ints, tables: Sequence[ColumnTable], prices: BlankPrices) -> Blanked:
    """Blanks after which every combination of the columns of each table is in enough records."""
    family = _Family(codes, tables, prices)
    least = family.least()
    family.protect()
    family.take_back()
    blank = family.blank()
    most = max(k for _, k in tables)
    if codes.shape[1] <= MOST_KEYS and len(codes) >= most:
        cost = prices.cost(codes, blank)
        if family.whole_could_be_cheaper(most, cost):
            whole = strictly_blanked(codes, prices, LargeEnough.of(most)).blank
            blank = whole if prices.cost(codes, whole) < cost else blank
    return Blanked(blank, least)


class _Family:
    """Distinct rows of codes, and what is shown of them so far."""

    def __init__(self, codes: Ints, tables: Sequence[ColumnTable], prices: BlankPrices) -> None:
        self.codes, self.tables, self.prices = codes, tables, prices
        # Large tables first: what they need protects their parts.
        self.order = sorted(tables, key=lambda table: -len(table[0]))
        self.size = codes.max(axis=0, initial=0).astype(np.int64) + 1
        cells, self.cell = cells_of(codes, prices, LargeEnough.of(2))
        self.cells = cells
        self._take(cells)
        self.counted: dict[tuple[int, ...], Ints] = {}

    def _take(self, cells: KeyCells) -> None:
        self.rows, self.times, self.price = cells.codes, cells.records, cells.price
        self.worth = summed(self.cell, self.times, self.prices.weight)
        self.shown = np.ascontiguousarray(self.rows.copy())

    def _split(self) -> None:
        """From now on every record by itself: some of equal ones are to become blank."""
        self.shown = np.ascontiguousarray(self.shown[self.cell])
        self.rows, self.cell = self.codes, np.arange(len(self.codes))
        self.times = np.ones(len(self.codes), np.int64)
        self.worth = summed(self.cell, self.times, self.prices.weight)
        self.price = self.prices.of(self.rows, self.worth)

    def blank(self) -> Bools:
        """Which codes of the records are blank."""
        return np.asarray(((self.shown == 0) & (self.rows != 0))[self.cell])

    def _groups(self, rows: Ints, columns: Sequence[int]) -> tuple[Ints, int]:
        """A number for the combination of each row, and how many there are."""
        if np.prod(self.size[list(columns)].astype(np.float64)) > DENSE:
            group = np.zeros(len(rows), np.int64)
            for column in columns:
                _, group = np.unique(group * self.size[column] + rows[:, column], return_inverse=True)
            return group.astype(np.int64), int(group.max(initial=0)) + 1
        group, many = np.zeros(len(rows), np.int64), 1
        for column in columns:
            group, many = group * self.size[column] + rows[:, column], many * int(self.size[column])
        return group, many

    def _like(self, rows: Ints, columns: Sequence[int]) -> Ints:
        """How many records have the combination of each row."""
        group, many = self._groups(rows, columns)
        return np.asarray(np.bincount(group, self.times, many).astype(np.int64)[group])

    # ---- what it costs at least -----------------------------------------------------------------------------------

    def least(self) -> float:
        """What blanks cost at least: a record must lose codes of every table until enough agree with it in the rest."""
        found = np.zeros(len(self.rows))
        for done, (columns, k) in enumerate(self.tables):
            checkpoint("the least cost", done, len(self.tables))
            found = np.maximum(found, self._least_of(columns, k))
        self.counted.clear()
        return float(found.sum())

    def _counts(self, columns: tuple[int, ...]) -> Ints:
        if columns not in self.counted:
            self.counted[columns] = self._like(self.rows, columns)
        return self.counted[columns]

    def _least_of(self, columns: tuple[int, ...], k: int) -> Floats:
        least = np.zeros(len(self.rows))
        small = np.flatnonzero(self._counts(columns) < k)
        if not len(small) or len(columns) > MOST_KEYS:
            return least
        gaps = self.rows[small][:, list(columns)] == 0
        pattern = np.asarray(gaps @ (1 << np.arange(len(columns), dtype=np.int64)), np.int64)
        for gap in np.unique(pattern).tolist():
            mine = small[pattern == gap]
            full = tuple(column for place, column in enumerate(columns) if not gap >> place & 1)
            cheapest = self.price[mine][:, list(full)].sum(axis=1)
            for number in range(len(full)):
                for gone in combinations(full, number):
                    cost = self.price[mine][:, list(gone)].sum(axis=1)
                    left = tuple(column for column in full if column not in gone)
                    good = (cost < cheapest) & (self._counts(left)[mine] >= k)
                    cheapest = np.where(good, cost, cheapest)
            least[mine] = cheapest
        return least

    # ---- blanks ---------------------------------------------------------------------------------------------------

    def protect(self) -> None:
        """Blank codes, table by table, until a round over all tables finds nothing to do."""
        clean: set[ColumnTable] = set()
        while len(clean) < len(set(self.order)):
            for done, table in enumerate(self.order):
                if table in clean:
                    continue
                checkpoint("combinations of keys", done, len(self.order))
                changed = self._protect_one(*table)
                clean = {other for other in clean if not set(other[0]) & changed}
                clean.add(table)  # a table is protected right after its turn

    def _protect_one(self, columns: tuple[int, ...], k: int) -> set[int]:
        """Blank what is rare in one table; gives the columns with new blanks."""
        part = self.shown[:, list(columns)]
        small = self._like(self.shown, columns) < k
        if not small.any():
            return set()
        # Rows that are neither rare nor blank have no part in what happens to the others.
        rows = np.flatnonzero(small | (part == 0).any(axis=1))
        pattern, cell = self._pattern(rows, columns, k)
        if pattern.alone():
            if len(self.rows) < len(self.codes):
                self._split()
            rows = np.arange(len(self.rows))
            pattern, cell = self._pattern(rows, columns, k)
        blank = bits_as_columns(pattern.completed(cell), len(columns))
        for place, column in enumerate(columns):
            self.shown[rows[blank[:, place]], column] = 0
        return {column for place, column in enumerate(columns) if blank[:, place].any()}

    def _pattern(self, rows: Ints, columns: Sequence[int], k: int) -> tuple[ClassPattern, Ints]:
        prices = BlankPrices(self.prices.some(columns).codes, self.worth[rows])
        enough = LargeEnough.of(k)
        shown = np.ascontiguousarray(self.shown[rows][:, list(columns)])
        cells, cell = cells_of(shown, prices, enough, self.times[rows])
        pattern = ClassPattern(cells, enough)
        pattern.fill()
        pattern.improve()
        return pattern, cell

    def take_back(self) -> None:
        """Show codes again where every table stays as it must be: later blanks made some superfluous."""
        from discreet.records.family_kernels import show_again

        sizes = [int(np.prod(self.size[list(columns)].astype(np.float64))) for columns, _ in self.tables]
        row, column = np.nonzero((self.shown == 0) & (self.rows != 0))
        if sum(sizes) > MOST_PLACES or not len(row):
            return
        count = np.concatenate(
            [self._table_counts(columns, size) for (columns, _), size in zip(self.tables, sizes, strict=True)]
        )
        stride = np.zeros((len(self.tables), self.rows.shape[1]), np.int64)
        for number, (columns, _) in enumerate(self.tables):
            step = 1
            for one in reversed(columns):
                stride[number, one] = step
                step *= int(self.size[one])
        dearest = np.argsort(-self.price[row, column], kind="stable")
        show_again(
            np.ascontiguousarray(row[dearest]),
            np.ascontiguousarray(column[dearest]),
            np.ascontiguousarray(self.rows),
            self.shown,
            self.times,
            stride,
            np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64),
            np.array([k for _, k in self.tables], np.int64),
            count,
        )

    def _table_counts(self, columns: Sequence[int], size: int) -> Ints:
        group = np.zeros(len(self.shown), np.int64)
        for column in columns:
            group = group * self.size[column] + self.shown[:, column]
        return np.bincount(group, self.times, size).astype(np.int64)

    def whole_could_be_cheaper(self, k: int, cost: float) -> bool:
        """Whether all columns at once may cost less: every rare record without a gap loses a code at least."""
        cells = self.cells
        rare = (cells.records < k) & (cells.codes != 0).all(axis=1)
        return float(cells.price[rare].min(axis=1, initial=np.inf).sum()) < cost
