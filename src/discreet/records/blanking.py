"""Which codes of records to blank so that every combination of codes occurs at least ``k`` times, at little cost.

A blank is a code of its own (0 here), so that what is claimed can be counted in the public file alone. Records with the
same codes are one *cell*; cells with fewer than ``k`` records are too small. Blanking a set of columns in all small
cells that agree elsewhere makes one *class* of them.

1. Sets of columns are tried from the cheapest to the dearest; among classes of one price the largest are taken first.
2. KeyCells then move to cheaper classes, with others where a class needs them, as long as that pays.
3. A bound says what any solution costs at least: a record must lose enough codes for ``k`` records to agree with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import checkpoint

Keys = NDArray[np.uint64]
DENSE = 2**25
"""KeyCells are counted in a table of up to so many places, and by sorting beyond."""
REACH = 2
"""KeyCells move to classes with so many blank columns or fewer when a pattern is improved."""
PASSES = 3
MOST_KEYS = 12
"""Sets of more columns are not looked at one by one."""


class ColumnSet(NamedTuple):
    """Columns that may be blank together, as bits, and what that costs per record."""

    bits: int
    columns: tuple[int, ...]
    cost: float


@dataclass(frozen=True, eq=False)
class KeyCells:
    """Distinct rows of codes.

    Parameters
    ----------
    codes
        A row per cell, 0 where it is blank.
    records
        Records of each cell.
    part
        What each code adds to the key of a row: rows are equal where their keys are. A blank adds nothing.
    """

    codes: Ints
    records: Ints
    part: Keys

    @property
    def key(self) -> Keys:
        """The key of each cell."""
        return np.asarray(self.part.sum(axis=1, dtype=np.uint64))


def cells_of(codes: Ints) -> tuple[KeyCells, Ints]:
    """The cells of some rows, and the cell of each row."""
    size = codes.max(axis=0, initial=0).astype(np.int64) + 1
    part = _parts(codes, size)
    _, first, cell, records = np.unique(
        part.sum(axis=1, dtype=np.uint64), return_index=True, return_inverse=True, return_counts=True
    )
    return KeyCells(codes[first], records.astype(np.int64), part[first]), cell.astype(np.int64)


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


def column_sets(weight: Sequence[float]) -> list[ColumnSet]:
    """All sets of columns, from the cheapest to the dearest; the empty one first."""
    numbers = range(len(weight))
    found = [
        ColumnSet(sum(1 << c for c in columns), columns, float(sum(weight[c] for c in columns)))
        for size in range(len(weight) + 1)
        for columns in combinations(numbers, size)
    ]
    return sorted(found, key=lambda one: (one.cost, one.bits))


def columns_to_blank(codes: Ints, k: int, weight: Sequence[float]) -> Ints:
    """Columns to blank in each row, as bits, so that all rows that are left occur at least ``k`` times.

    There must be ``k`` rows at least.
    """
    cells, cell = cells_of(codes)
    pattern = _Pattern(cells, k, column_sets(weight))
    pattern.fill()
    pattern.improve()
    bits, company = pattern.completed()
    found = bits[cell]
    for taken, number, columns in company:
        found[np.flatnonzero(cell == taken)[:number]] = columns
    return found


class _Members(NamedTuple):
    """Classes that small cells could be in: for each its key, and a run of members with the set each would blank."""

    key: Keys
    start: Ints
    class_at: Ints
    member: Ints
    blanked: Ints


class _Pattern:
    """The class of each small cell, made step by step."""

    def __init__(self, cells: KeyCells, k: int, sets: Sequence[ColumnSet]) -> None:
        self.k, self.sets = k, sets
        self.cells = cells
        self.small = np.flatnonzero(cells.records < k)
        self.records = cells.records[self.small]
        self.part = cells.part[self.small]
        self.key = np.asarray(self.part.sum(axis=1, dtype=np.uint64))
        blank = cells.codes[self.small] == 0
        self.blank = np.asarray(blank @ (1 << np.arange(blank.shape[1], dtype=np.int64)), np.int64)
        self.choice = np.full(len(self.small), -1, np.int64)
        self.class_key = np.zeros(len(self.small), np.uint64)
        large = cells.records >= k
        self.large_key, self.large_records = cells.key[large], cells.records[large]

    def fill(self) -> None:
        """Take classes from the cheapest sets of columns to the dearest, the largest first."""
        from discreet.records.blanking_kernels import take_classes

        for done, level in enumerate(_by_price(self.sets)):
            checkpoint("small groups", done, len(self.sets))
            free = np.flatnonzero(self.choice < 0)
            if not len(free):
                return
            # Cells that have gaps of their own may be in a class as they are.
            found = self._members(free, level if level == [0] else [0, *level])
            total = self._totals(found.key)
            size = total + np.bincount(found.class_at, self.records[found.member], len(found.key)).astype(np.int64)
            order = np.argsort(-size, kind="stable")
            class_of = self.choice.copy()
            class_of[self.choice >= 0] = 0
            chosen = np.full(len(self.small), -1, np.int64)
            take_classes(
                order[: int((size >= self.k).sum())],
                found.start,
                found.member,
                found.blanked,
                self.records,
                total,
                self.k,
                class_of,
                chosen,
            )
            taken = np.flatnonzero(chosen >= 0)
            self.choice[taken] = chosen[taken]
            self.class_key[taken] = found.key[class_of[taken]]

    def improve(self) -> None:
        """Move cells to cheaper classes while that pays."""
        from discreet.records.blanking_kernels import improve

        placed = np.flatnonzero(self.choice >= 0)
        if not len(placed):
            return
        near = [number for number, one in enumerate(self.sets) if len(one.columns) <= REACH]
        found = self._members(placed, near)
        keys, place = np.unique(np.concatenate((found.key, self.class_key[placed])), return_inverse=True)
        own = place[len(found.key) :]
        start = np.searchsorted(found.key, keys)
        start = np.append(found.start[start], len(found.member))
        class_at = place[: len(found.key)][found.class_at]
        class_of = np.full(len(self.small), -1, np.int64)
        class_of[placed] = own
        total = self._large_totals(keys)
        np.add.at(total, own, self.records[placed])
        price = np.array([one.cost for one in self.sets])
        for _ in range(PASSES):
            gain = (price[self.choice[found.member]] - price[found.blanked]) * self.records[found.member]
            worth = np.flatnonzero(gain > 0)
            order = worth[np.argsort(-gain[worth], kind="stable")]
            moved = improve(
                order,
                start,
                class_at,
                found.member,
                found.blanked,
                self.records,
                total,
                price,
                self.k,
                class_of,
                self.choice,
            )
            if not moved:
                break
        self.class_key[placed] = keys[class_of[placed]]

    def completed(self) -> tuple[Ints, list[tuple[int, int, int]]]:
        """Columns to blank in every cell, as bits; and of some cells, of how many records other columns.

        Small cells that found no class are left. Where they are ``k`` records or more, they are blank in all columns;
        where they are fewer, others keep them company.
        """
        bits = np.zeros(len(self.cells.records), np.int64)
        left = self.choice < 0
        bits[self.small[~left]] = np.array([one.bits for one in self.sets], np.int64)[self.choice[~left]]
        cells = self.small[left]
        nonblank = np.asarray((self.cells.codes != 0) @ self._columns, np.int64)
        bits[cells] = nonblank[cells]
        missing = self.k - int(self.records[left].sum())
        return bits, self._company(bits, nonblank, cells, missing) if len(cells) and missing > 0 else []

    @property
    def _columns(self) -> Ints:
        return 1 << np.arange(self.part.shape[1], dtype=np.int64)

    def _company(self, bits: Ints, nonblank: Ints, left: Ints, missing: int) -> list[tuple[int, int, int]]:
        """Records that join the cells that are left where that costs least: some of a class that can spare them.

        All of them keep the codes in which they agree.
        """
        price = np.zeros(1 << self.part.shape[1])
        price[[one.bits for one in self.sets]] = [one.cost for one in self.sets]
        codes = self.cells.codes
        others = np.setdiff1d(np.arange(len(bits)), left)
        _, first, group = np.unique(_released(self.cells, bits)[others], return_index=True, return_inverse=True)
        size = np.bincount(group, self.cells.records[others]).astype(np.int64)
        common = np.where((codes[left] == codes[left[0]]).all(axis=0), codes[left[0]], 0)
        shown = nonblank[others[first]] & ~bits[others[first]]
        kept = np.asarray(((codes[others[first]] == common) & (common != 0)) @ self._columns, np.int64) & shown
        taken = np.where(size >= self.k + missing, missing, size)
        cost = taken * price[shown & ~kept]
        for cell in left.tolist():
            cost = cost + self.cells.records[cell] * price[nonblank[cell] & ~kept]
        chosen = int(np.argmin(cost))
        bits[left] = nonblank[left] & ~kept[chosen]
        found, number = [], int(taken[chosen])
        for cell in others[group == chosen].tolist():
            here = min(number, int(self.cells.records[cell]))
            found.append((cell, here, int(nonblank[cell] & ~kept[chosen])))
            number -= here
        return found

    def _members(self, cells: Ints, level: Sequence[int]) -> _Members:
        """Classes that some small cells could be in with any of some sets of columns blank."""
        keys, member, blanked = [], [], []
        for number in level:
            one = self.sets[number]
            able = cells[self.blank[cells] & one.bits == 0]
            keys.append(self.key[able] - self.part[able][:, list(one.columns)].sum(axis=1, dtype=np.uint64))
            member.append(able)
            blanked.append(np.full(len(able), number, np.int64))
        every = np.concatenate(keys)
        order = np.argsort(every, kind="stable")
        key, start = np.unique(every[order], return_index=True)
        start = np.append(start, len(every)).astype(np.int64)
        class_at = np.repeat(np.arange(len(key), dtype=np.int64), np.diff(start))
        return _Members(key, start, class_at, np.concatenate(member)[order], np.concatenate(blanked)[order])

    def _totals(self, key: Keys) -> Ints:
        """Records that classes have already: large cells that look like them, and small ones that were put there."""
        total = self._large_totals(key)
        placed = self.choice >= 0
        place, known = _found(key, self.class_key[placed])
        np.add.at(total, place[known], self.records[placed][known])
        return total

    def _large_totals(self, key: Keys) -> Ints:
        total = np.zeros(len(key), np.int64)
        place, known = _found(key, self.large_key)
        np.add.at(total, place[known], self.large_records[known])
        return total


def _found(ordered: Keys, wanted: Keys) -> tuple[Ints, Bools]:
    """Places of keys among others that are in order, and which are there."""
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1).astype(np.int64)
    return place, ordered[place] == wanted


def _by_price(sets: Sequence[ColumnSet]) -> Iterator[list[int]]:
    """Numbers of the sets that cost the same, from the cheapest on; the first is the empty set alone."""
    level: list[int] = []
    for number, one in enumerate(sets):
        if level and one.cost > sets[level[-1]].cost:
            yield level
            level = []
        level.append(number)
    yield level


def _released(cells: KeyCells, bits: Ints) -> Keys:
    """Keys of the rows that are left of the cells."""
    shown = (bits[:, None] >> np.arange(cells.part.shape[1])) & 1 == 0
    return np.asarray(np.where(shown, cells.part, np.uint64(0)).sum(axis=1, dtype=np.uint64))


def least_costs(cells: KeyCells, k: int, sets: Sequence[ColumnSet]) -> Floats:
    """What blanks cost at least for a record of each cell, whatever is done.

    The rows that look like a record in the public file agree with it in all codes that it still has, and did so before.
    So it must lose codes until ``k`` records agree with it in the rest.
    """
    columns = cells.part.shape[1]
    bit = 1 << np.arange(columns, dtype=np.int64)
    nonblank = np.asarray((cells.codes != 0) @ bit, np.int64)
    open_ = np.flatnonzero(cells.records < k)
    least = np.zeros(len(cells.records))
    for one in sets:
        if not len(open_):
            break
        for kept in np.unique(nonblank[open_] & ~one.bits).tolist():
            mine = open_[(nonblank[open_] & ~one.bits == kept) & (nonblank[open_] & one.bits == one.bits)]
            if not len(mine):
                continue
            agree = _agreeing(cells, kept, mine)
            done = mine[agree >= k]
            least[done] = one.cost
            open_ = np.setdiff1d(open_, done, assume_unique=True)
    return least


def _agreeing(cells: KeyCells, kept: int, wanted: Ints) -> Ints:
    """For some cells how many records agree with them in some columns."""
    columns = [c for c in range(cells.part.shape[1]) if kept >> c & 1]
    key = cells.part[:, columns].sum(axis=1, dtype=np.uint64)
    asked, place = np.unique(key[wanted], return_inverse=True)
    at, known = _found(asked, key)
    count = np.bincount(at[known], cells.records[known], len(asked)).astype(np.int64)
    return np.asarray(count[place])
