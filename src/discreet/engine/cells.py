"""The cells of a table: sums of the finest cells, and all cells above them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, counted
from discreet.model.arrays import Codes, Ints, pointers, ranges
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import refuse_many_cells
from discreet.room import require

DENSE_CELLS = 2**25
MOST_CELLS = 10**8
SMALL = 2**26
"""Bytes that need not be asked for."""

RowFinder = Callable[[Ints], Codes]
"""Gives the row of each key."""


class LeafCells(NamedTuple):
    """Sums of the finest cells that have records, in canonical order."""

    keys: Ints
    records: Ints
    sums: Ints
    key_sum: Ints
    nonzero: Ints = np.zeros(0, np.int64)
    """Records whose value is not zero, where values are summed."""


def strides_of(shape: Sequence[int]) -> list[int]:
    """By how much a cell's key grows with each variable's code; an error when there are too many keys."""
    refuse_many_cells(shape)
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def code_space(shape: Sequence[int]) -> int:
    """How many combinations of codes there are."""
    return prod(int(n) for n in shape)


def row_finder(keys: Ints, shape: Sequence[int]) -> RowFinder:
    """Look-up of rows in sorted keys, for keys that are among them."""
    if code_space(shape) > DENSE_CELLS:
        return lambda wanted: np.searchsorted(keys, wanted).astype(np.int32)
    rows = np.zeros(code_space(shape), np.int32)
    rows[keys] = np.arange(len(keys), dtype=np.int32)
    return lambda wanted: rows[wanted]


@dataclass(eq=False)
class LeafSums:
    """Counts, sums and key sums of the finest cells; add records as often as needed, then :meth:`finish`."""

    shape: tuple[int, ...]
    columns: int
    modulus: int
    keyed: bool
    _parts: list[tuple[Ints, Ints]] = field(default_factory=list)
    _dense: Ints | None = None

    def __post_init__(self) -> None:
        if code_space(self.shape) <= DENSE_CELLS:
            self._dense = self._zeros(code_space(self.shape))

    def add(self, cells: Ints, columns: Ints, record_key: Ints) -> None:
        """Add records: keys of their finest cells, columns to sum (column x record), record keys."""
        from discreet.engine.kernels import accumulate

        if self._dense is not None:
            accumulate(cells, columns, record_key, self.modulus, self._dense)
            return
        keys, slot = np.unique(cells, return_inverse=True)
        part = self._zeros(len(keys))
        accumulate(slot.astype(np.int64), columns, record_key, self.modulus, part)
        self._parts.append((keys, part))

    def _zeros(self, cells: int) -> Ints:
        return np.zeros((cells, 1 + int(self.keyed) + self.columns), np.int64)

    def finish(self) -> LeafCells:
        """The finest cells of all records added so far."""
        from discreet.engine.kernels import occupied

        if self._dense is not None:
            return self._cells(*occupied(self._dense))
        keys = np.unique(np.concatenate([part[0] for part in self._parts]))
        whole = self._zeros(len(keys))
        for part_keys, part in self._parts:
            at = np.searchsorted(keys, part_keys)
            whole[at] += part
            if self.keyed and self.modulus:
                whole[at, 1] %= self.modulus
        return self._cells(keys, np.ascontiguousarray(whole.T))

    def _cells(self, keys: Ints, columns: Ints) -> LeafCells:
        first = 1 + int(self.keyed)
        return LeafCells(keys, columns[0], columns[first:], columns[1] if self.keyed else np.zeros(0, np.int64))


class Above(NamedTuple):
    """For every finest cell the cells that contain it (itself included), with signs."""

    start: Ints
    cell: Codes
    sign: Codes

    @property
    def signed(self) -> bool:
        """Whether some cell subtracts a finer one."""
        return bool(np.any(self.sign < 0))


def all_cells(leaves: Ints, hierarchies: Sequence[Hierarchy], every: bool) -> Ints:
    """Keys of all cells: those above some finest cell, or every combination of codes."""
    shape = [len(h) for h in hierarchies]
    space = code_space(shape)
    if every:
        if space > MOST_CELLS:
            raise InputError(
                f"All combinations of codes are {counted(space, 'cell')}, more than {MOST_CELLS:,}.",
                hint="Use cells='nonempty'.",
            )
        return np.arange(space, dtype=np.int64)
    keys = leaves
    for hierarchy, size, stride in zip(hierarchies, shape, strides_of(shape), strict=True):
        start, above, _ = hierarchy.ancestors
        code = (keys // stride) % size
        lengths = np.diff(start)[code]
        if lengths.max(initial=1) == 1:
            continue
        require_cells(int(lengths.sum()), len(hierarchies))
        where = ranges(start[code], lengths)
        found = np.repeat(keys - code * stride, lengths) + above[where].astype(np.int64) * stride
        keys = _distinct(found, space)
    return keys


def require_cells(entries: int, variables: int, bytes_each: int = 32) -> None:
    """Refuse sums that memory cannot hold, before anything is taken for them."""
    if entries * bytes_each > SMALL:
        require(
            entries * bytes_each,
            f"Adding up {entries:,} cells of a table by {counted(variables, 'variable')}",
            "Take variables out, close levels of hierarchies (recode), or make several smaller tables.",
        )


def _distinct(keys: Ints, space: int) -> Ints:
    if space > DENSE_CELLS:
        return np.unique(keys)
    there = np.zeros(space, np.bool_)
    there[keys] = True
    return np.flatnonzero(there)


def cells_above(leaves: Ints, cells: Ints, hierarchies: Sequence[Hierarchy]) -> Above:
    """Which cells each finest cell adds to."""
    shape = [len(h) for h in hierarchies]
    rows = row_finder(cells, shape)
    if all(hierarchy.level for hierarchy in hierarchies):
        return Above(np.arange(len(leaves) + 1, dtype=np.int64), rows(leaves), np.ones(len(leaves), np.int32))
    require_cells(_memberships(leaves, hierarchies, shape), len(hierarchies), bytes_each=16)
    parts = [_expand(leaves[a : a + 2**18], rows, hierarchies, shape) for a in range(0, max(len(leaves), 1), 2**18)]
    lengths = np.concatenate([part[0] for part in parts])
    return Above(pointers(lengths), np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts]))


def _memberships(leaves: Ints, hierarchies: Sequence[Hierarchy], shape: list[int]) -> int:
    """In how many cells the finest ones lie, all together; more than can be held is no problem here."""
    count = np.ones(len(leaves))
    for hierarchy, size, stride in zip(hierarchies, shape, strides_of(shape), strict=True):
        count *= np.diff(hierarchy.ancestors[0])[(leaves // stride) % size]
    return int(count.sum())


def _expand(
    leaves: Ints, rows: RowFinder, hierarchies: Sequence[Hierarchy], shape: list[int]
) -> tuple[Ints, Codes, Codes]:
    keys = np.zeros(len(leaves), np.int64)
    sign = np.ones(len(leaves), np.int32)
    owner = np.arange(len(leaves), dtype=np.int64)
    for hierarchy, size, stride in zip(hierarchies, shape, strides_of(shape), strict=True):
        start, above, signs = hierarchy.ancestors
        code = (leaves[owner] // stride) % size
        lengths = np.diff(start)[code]
        where = ranges(start[code], lengths)
        keys = np.repeat(keys, lengths) + above[where].astype(np.int64) * stride
        sign = np.repeat(sign, lengths) * signs[where]
        owner = np.repeat(owner, lengths)
    return np.bincount(owner, minlength=len(leaves)), rows(keys), sign


def rolled_up(leaf: LeafCells, above: Above, cells: int, modulus: int) -> LeafCells:
    """Counts and sums of all cells from the finest ones."""
    from discreet.engine.kernels import roll_up

    whole = LeafCells(
        np.zeros(0, np.int64),
        np.zeros(cells, np.int64),
        np.zeros((len(leaf.sums), cells), np.int64),
        np.zeros(cells if len(leaf.key_sum) else 0, np.int64),
        np.zeros(cells if len(leaf.nonzero) else 0, np.int64),
    )
    roll_up(
        above.start,
        above.cell,
        above.sign,
        leaf.records,
        leaf.nonzero,
        leaf.sums,
        leaf.key_sum,
        modulus,
        whole.records,
        whole.nonzero,
        whole.sums,
        whole.key_sum,
    )
    return whole
