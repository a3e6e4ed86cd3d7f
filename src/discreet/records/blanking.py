"""Which codes of records to blank so that every combination of codes is in enough records, at little cost.

A blank is a code of its own (0 here), so that what is claimed can be counted in the public file alone. Records with the
same codes are one *cell*; blanking a set of columns in all small cells that agree elsewhere makes one *class* of them.

1. Sets of columns are tried from the cheapest to the dearest; among classes of one price the largest are taken first.
2. Cells then move to cheaper classes, with others where a class needs them, as long as that pays.
3. In small files a linear program says where cells had best be (``blank_programs.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import checkpoint
from discreet.records.blank_cells import (
    ColumnSet,
    KeyCells,
    Keys,
    LargeEnough,
    column_sets,
    found_among,
    typical_prices,
)

REACH = 2
"""Cells move to classes with so many blank columns or fewer when a pattern is improved."""
PASSES = 3


class _Members(NamedTuple):
    """Classes that small cells could be in: for each its key, and a run of members with what each would blank."""

    key: Keys
    start: Ints
    class_at: Ints
    member: Ints
    blanked: Ints


class ClassPattern:
    """The class of each small cell, made step by step; ``choice`` are its blank columns as bits, -1 without a class."""

    def __init__(self, cells: KeyCells, enough: LargeEnough) -> None:
        self.cells, self.enough = cells, enough
        self.sets = column_sets(typical_prices(cells))
        large = enough.holds(cells.records, cells.mass)
        self.small = np.flatnonzero(~large)
        self.records, self.mass = cells.records[self.small], cells.mass[self.small]
        self.price = np.ascontiguousarray(cells.price[self.small])
        self.part = cells.part[self.small]
        self.key = np.asarray(self.part.sum(axis=1, dtype=np.uint64))
        self.blank = np.asarray((cells.codes[self.small] == 0) @ self._columns, np.int64)
        self.choice = np.full(len(self.small), -1, np.int64)
        self.class_key = np.zeros(len(self.small), np.uint64)
        self.large_key = cells.key[large]
        self.large_records, self.large_mass = cells.records[large], cells.mass[large]

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
            total, weight = self._totals(found.key)
            size = total + np.bincount(found.class_at, self.records[found.member], len(found.key)).astype(np.int64)
            heavy = weight + np.bincount(found.class_at, self.mass[found.member], len(found.key))
            order = np.argsort(-size, kind="stable")
            order = order[self.enough.holds(size[order], heavy[order])]
            class_of = np.where(self.choice >= 0, 0, -1)
            chosen = np.full(len(self.small), -1, np.int64)
            take_classes(
                order,
                found.start,
                found.member,
                found.blanked,
                self.records,
                self.mass,
                total,
                weight,
                self.enough.least,
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
        start = np.append(found.start[np.searchsorted(found.key, keys)], len(found.member))
        class_at = place[: len(found.key)][found.class_at]
        class_of = np.full(len(self.small), -1, np.int64)
        class_of[placed] = own
        total, weight = self.large_totals(keys)
        np.add.at(total, own, self.records[placed])
        np.add.at(weight, own, self.mass[placed])
        would = blank_prices(self.price, found.member, found.blanked)
        for _ in range(PASSES):
            gain = blank_prices(self.price, found.member, self.choice[found.member]) - would
            worth = np.flatnonzero(gain > 0)
            order = worth[np.argsort(-gain[worth], kind="stable")]
            moved = improve(
                order,
                start,
                class_at,
                found.member,
                found.blanked,
                self.records,
                self.mass,
                total,
                weight,
                self.price,
                self.enough.least,
                class_of,
                self.choice,
            )
            if not moved:
                break
        self.class_key[placed] = keys[class_of[placed]]

    def cost(self) -> float:
        """What the blanks of the small cells cost; those without a class are taken to be wholly blank."""
        choice = np.where(self.choice < 0, (1 << self.price.shape[1]) - 1, self.choice)
        return float(blank_prices(self.price, np.arange(len(self.small)), choice).sum())

    def place(self, choice: Ints, keys: Keys) -> None:
        """Put cells into classes with these columns blank and these keys; the rest of them (-1) is placed anew."""
        self.choice, self.class_key = choice, np.where(choice >= 0, keys, np.uint64(0))
        self.fill()
        self.improve()

    def every_class(self) -> tuple[Ints, Keys]:
        """The class of each small cell with each set of columns blank, -1 where it has no code to blank; their keys."""
        every = np.zeros((len(self.small), len(self.sets)), np.uint64)
        able = np.zeros(every.shape, np.bool_)
        for number, one in enumerate(self.sets):
            every[:, number] = self.key - self.part[:, list(one.columns)].sum(axis=1, dtype=np.uint64)
            able[:, number] = self.blank & one.bits == 0
        keys, place = np.unique(every, return_inverse=True)
        return np.ascontiguousarray(np.where(able, place.reshape(every.shape), -1).astype(np.int64)), keys

    def alone(self) -> bool:
        """Whether cells are left that are too few to be a class of their own."""
        left = self.choice < 0
        number, mass = np.array([self.records[left].sum()]), np.array([self.mass[left].sum()])
        return bool(left.any() and not self.enough.holds(number, mass)[0])

    def completed(self, cell: Ints) -> Ints:
        """Columns to blank in every record, as bits; ``cell`` is the cell of each.

        Small cells that found no class are left. Where they are enough records, they are blank in all columns; where
        they are fewer, others keep them company.
        """
        bits = np.zeros(len(self.cells.records), np.int64)
        left = self.choice < 0
        bits[self.small[~left]] = self.choice[~left]
        nonblank = np.asarray((self.cells.codes != 0) @ self._columns, np.int64)
        cells = self.small[left]
        bits[cells] = nonblank[cells]
        found = bits[cell]
        if self.alone():
            for taken, number, columns in self._company(bits, nonblank, cells):
                found[np.flatnonzero(cell == taken)[:number]] = columns
            lonely = np.isin(cell, cells)
            found[lonely] = bits[cell[lonely]]
        return found

    @property
    def _columns(self) -> Ints:
        return 1 << np.arange(self.cells.part.shape[1], dtype=np.int64)

    def _company(self, bits: Ints, nonblank: Ints, left: Ints) -> list[tuple[int, int, int]]:
        """Records that join the cells that are left where that costs least: some of a class that can spare them.

        All of them keep the codes in which they agree.
        """
        codes, each = self.cells.codes, self.cells.price / self.cells.records[:, None]
        missing = self.enough.always - int(self.cells.records[left].sum())
        others = np.setdiff1d(np.arange(len(bits)), left)
        _, first, group = np.unique(_released(self.cells, bits)[others], return_index=True, return_inverse=True)
        size = np.bincount(group, self.cells.records[others]).astype(np.int64)
        common = np.where((codes[left] == codes[left[0]]).all(axis=0), codes[left[0]], 0)
        shown = nonblank[others[first]] & ~bits[others[first]]
        kept = np.asarray(((codes[others[first]] == common) & (common != 0)) @ self._columns, np.int64) & shown
        taken = np.where(size >= self.enough.always + missing, missing, size)
        cost = taken * blank_prices(each, others[first], shown & ~kept)
        for cell in left.tolist():
            cost = cost + blank_prices(self.cells.price, np.full(len(kept), cell), nonblank[cell] & ~kept)
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
            blanked.append(np.full(len(able), one.bits, np.int64))
        every = np.concatenate(keys)
        order = np.argsort(every, kind="stable")
        key, start = np.unique(every[order], return_index=True)
        start = np.append(start, len(every)).astype(np.int64)
        class_at = np.repeat(np.arange(len(key), dtype=np.int64), np.diff(start))
        return _Members(key, start, class_at, np.concatenate(member)[order], np.concatenate(blanked)[order])

    def _totals(self, key: Keys) -> tuple[Ints, Floats]:
        """Records that classes have already: large cells that look like them, and small ones that were put there."""
        total, weight = self.large_totals(key)
        placed = self.choice >= 0
        place, known = found_among(key, self.class_key[placed])
        np.add.at(total, place[known], self.records[placed][known])
        np.add.at(weight, place[known], self.mass[placed][known])
        return total, weight

    def large_totals(self, key: Keys) -> tuple[Ints, Floats]:
        total, weight = np.zeros(len(key), np.int64), np.zeros(len(key))
        place, known = found_among(key, self.large_key)
        np.add.at(total, place[known], self.large_records[known])
        np.add.at(weight, place[known], self.large_mass[known])
        return total, weight


def blank_prices(price: Floats, cells: Ints, bits: Ints) -> Floats:
    """What it costs to blank columns, as bits, in cells."""
    found = np.zeros(len(cells))
    for column in range(price.shape[1]):
        found += np.where((bits >> column) & 1 == 1, price[cells, column], 0.0)
    return found


def _by_price(sets: Sequence[ColumnSet]) -> Iterator[list[int]]:
    """Numbers of the sets that cost the same, from the cheapest on; the first is the empty set alone."""
    yield [0]
    level: list[int] = []
    for number, one in enumerate(sets[1:], 1):
        if level and one.cost > sets[level[-1]].cost * (1 + 1e-9):
            yield level
            level = []
        level.append(number)
    if level:
        yield level


def _released(cells: KeyCells, bits: Ints) -> Keys:
    """Keys of the rows that are left of the cells."""
    shown = ~bits_as_columns(bits, cells.part.shape[1])
    return np.asarray(np.where(shown, cells.part, np.uint64(0)).sum(axis=1, dtype=np.uint64))


def bits_as_columns(bits: Ints, columns: int) -> Bools:
    """Which columns bits stand for, for each row."""
    return np.asarray((bits[:, None] >> np.arange(columns)) & 1 == 1)
