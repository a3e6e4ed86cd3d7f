"""Cells of a table from encoded records, fed in one piece or in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Bools, Codes, Ints, pointers, ranges
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Contributions, cell_keys

DENSE_CELLS = 2**25
MOST_CELLS = 10**8


class LeafCells(NamedTuple):
    """Sums of the finest cells that have records, in canonical order."""

    keys: Ints
    count: Ints
    sums: Ints
    key_sum: Ints


@dataclass(eq=False)
class LeafSums:
    """Counts, sums and key sums of the finest cells; add records as often as needed, then :meth:`finish`."""

    shape: tuple[int, ...]
    columns: int
    modulus: int
    keyed: bool
    _parts: list[LeafCells] = field(default_factory=list)
    _dense: LeafCells | None = None

    @property
    def _strides(self) -> Ints:
        return np.array([int(np.prod(self.shape[k + 1 :], dtype=np.int64)) for k in range(len(self.shape))], np.int64)

    def add(self, codes: Codes, columns: Ints, record_key: Ints) -> None:
        """Add records: codes (variable x record), columns to sum (column x record), record keys."""
        from discreet.engine.kernels import accumulate

        space = float(np.prod([float(n) for n in self.shape]))
        if space <= DENSE_CELLS:
            if self._dense is None:
                self._dense = self._zeros(int(space), np.zeros(0, np.int64))
            _, count, sums, key_sum = self._dense
            accumulate(codes, self._strides, columns, record_key, self.modulus, count, sums, key_sum)
            return
        keys, slot = np.unique(cell_keys(codes.T, self.shape), return_inverse=True)
        part = self._zeros(len(keys), keys)
        flat = slot.astype(np.int32).reshape(1, -1)
        accumulate(
            flat, np.ones(1, np.int64), columns, record_key, self.modulus, part.count, part.sums, part.key_sum
        )
        self._parts.append(part)

    def _zeros(self, size: int, keys: Ints) -> LeafCells:
        return LeafCells(
            keys,
            np.zeros(size, np.int64),
            np.zeros((self.columns, size), np.int64),
            np.zeros(size if self.keyed else 0, np.int64),
        )

    def finish(self) -> LeafCells:
        """The finest cells of all records added so far."""
        if self._dense is not None:
            _, count, sums, key_sum = self._dense
            used = np.flatnonzero(count)
            return LeafCells(
                used,
                count[used],
                np.ascontiguousarray(sums[:, used]),
                key_sum[used] if self.keyed else key_sum,
            )
        if len(self._parts) == 1:
            return self._parts[0]
        keys = np.unique(np.concatenate([part.keys for part in self._parts]))
        whole = self._zeros(len(keys), keys)
        for part in self._parts:
            at = np.searchsorted(keys, part.keys)
            whole.count[at] += part.count
            whole.sums[:, at] += part.sums
            if self.keyed:
                whole.key_sum[at] += part.key_sum
                if self.modulus:
                    whole.key_sum[at] %= self.modulus
        return whole


class Above(NamedTuple):
    """For every finest cell the cells that contain it (itself included), with signs."""

    start: Ints
    cell: Codes
    sign: Codes


def all_cells(leaves: Ints, hierarchies: Sequence[Hierarchy], every: bool) -> Ints:
    """Keys of all cells: those above some finest cell, or every combination of codes."""
    shape = [len(h) for h in hierarchies]
    space = float(np.prod([float(n) for n in shape]))
    if every:
        if space > MOST_CELLS:
            raise InputError(
                f"All combinations of codes are {space:,.0f} cells, more than {MOST_CELLS:,}.",
                hint="Use cells='nonempty'.",
            )
        return np.arange(int(space), dtype=np.int64)
    keys = leaves
    for k, hierarchy in enumerate(hierarchies):
        stride = int(np.prod(shape[k + 1 :], dtype=np.int64))
        start, above, _ = hierarchy.ancestors
        code = (keys // stride) % shape[k]
        lengths = np.diff(start)[code]
        if lengths.max(initial=1) == 1:
            continue
        where = ranges(start[code], lengths)
        keys = np.unique(np.repeat(keys - code * stride, lengths) + above[where].astype(np.int64) * stride)
    return keys


def cells_above(leaves: Ints, cells: Ints, hierarchies: Sequence[Hierarchy]) -> Above:
    """Which cells each finest cell adds to."""
    shape = [len(h) for h in hierarchies]
    if all(np.diff(h.ancestors[0]).max(initial=1) == 1 for h in hierarchies):
        rows = np.searchsorted(cells, leaves).astype(np.int32)
        return Above(np.arange(len(leaves) + 1, dtype=np.int64), rows, np.ones(len(leaves), np.int32))
    parts = [_expand(leaves[a : a + 2**18], cells, hierarchies, shape) for a in range(0, max(len(leaves), 1), 2**18)]
    lengths = np.concatenate([part[0] for part in parts])
    return Above(pointers(lengths), np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts]))


def _expand(
    leaves: Ints, cells: Ints, hierarchies: Sequence[Hierarchy], shape: list[int]
) -> tuple[Ints, Codes, Codes]:
    keys = np.zeros(len(leaves), np.int64)
    sign = np.ones(len(leaves), np.int32)
    owner = np.arange(len(leaves), dtype=np.int64)
    for k, hierarchy in enumerate(hierarchies):
        stride = int(np.prod(shape[k + 1 :], dtype=np.int64))
        start, above, signs = hierarchy.ancestors
        code = (leaves[owner] // stride) % shape[k]
        lengths = np.diff(start)[code]
        where = ranges(start[code], lengths)
        keys = np.repeat(keys, lengths) + above[where].astype(np.int64) * stride
        sign = np.repeat(sign, lengths) * signs[where]
        owner = np.repeat(owner, lengths)
    return np.bincount(owner, minlength=len(leaves)), np.searchsorted(cells, keys).astype(np.int32), sign


def rolled_up(leaf: LeafCells, above: Above, cells: int, modulus: int) -> LeafCells:
    """Counts and sums of all cells from the finest ones."""
    from discreet.engine.kernels import roll_up

    whole = LeafCells(
        np.zeros(0, np.int64),
        np.zeros(cells, np.int64),
        np.zeros((len(leaf.sums), cells), np.int64),
        np.zeros(cells if len(leaf.key_sum) else 0, np.int64),
    )
    roll_up(
        above.start,
        above.cell,
        above.sign,
        leaf.count,
        leaf.sums,
        leaf.key_sum,
        modulus,
        whole.count,
        whole.sums,
        whole.key_sum,
    )
    return whole


class ContributorRecords(NamedTuple):
    """All records of some contributors: finest cell, contributor, amounts, consent, request."""

    leaf: Codes
    contributor: Ints
    contributors: int
    own: Ints
    weighted: Ints
    waived: Bools
    requested: np.ndarray


def contributions_of(
    parts: Iterator[ContributorRecords], above: Above, total: Ints, top: int, weighted: bool
) -> Contributions:
    """Distinct contributors and largest contributions of every cell; each part holds whole contributors."""
    from discreet.engine.kernels import by_contributor, contributions, replicate

    cells = len(total)
    count = np.zeros(cells, np.int64)
    largest = np.zeros((cells, top), np.int64)
    largest_weighted = np.zeros((cells, top), np.int64)
    negative = np.zeros(cells, np.bool_)
    unwaived = requested = None
    for part in parts:
        if len(part.waived) and unwaived is None:
            unwaived = np.full(cells, -1, np.int64)
        if len(part.requested) and requested is None:
            requested = np.full((cells, 2), -1, np.int64)
        start, order = by_contributor(part.contributor, part.contributors)
        contributions(
            start,
            order,
            part.leaf,
            above.start,
            above.cell,
            above.sign,
            part.own,
            part.weighted,
            part.waived,
            part.requested,
            count,
            largest,
            largest_weighted,
            negative,
            np.zeros(0, np.int64) if unwaived is None else unwaived,
            np.full((cells, 2), -1, np.int64) if requested is None else requested,
        )
    if weighted:
        replicate(largest, largest_weighted)
    return Contributions(count, total, largest, negative, unwaived, requested)


def one_each(count: Ints, total: Ints, unit: int, top: int) -> Contributions:
    """Contributions of a count where every record is a contributor of its own."""
    largest = (count[:, None] > np.arange(top)).astype(np.int64) * unit
    return Contributions(count, total, largest, np.zeros(len(count), np.bool_))


def leaf_rows(codes: Codes, leaves: Ints, shape: tuple[int, ...]) -> Codes:
    """Row of each record's finest cell."""
    keys = cell_keys(codes.T, shape)
    space = float(np.prod([float(n) for n in shape]))
    if space <= DENSE_CELLS:
        row = np.zeros(int(space), np.int32)
        row[leaves] = np.arange(len(leaves), dtype=np.int32)
        return row[keys]
    return np.searchsorted(leaves, keys).astype(np.int32)
