"""What noise for magnitudes needs of every cell: contributors, their key sum, the largest and the range.

Every record lies in one finest cell, so that lists of finer cells can be merged: records are looked at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.engine.cells import LeafSums, all_cells, cells_above, row_finder
from discreet.engine.column_counts import AmountCells
from discreet.engine.protocol import OpenedRecords, SumsAmounts
from discreet.errors import NeedsError, ParameterError
from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints
from discreet.model.spec import TableSpec


class Magnifiers(NamedTuple):
    """Per cell, in the table's order and units: contributors, key sum, sum, largest contributions, largest, least.

    ``top`` holds the contributions (value times weight) that are largest by absolute value, largest first, with their
    signs; ``most`` and ``least`` are the largest and the smallest contribution.
    """

    contributors: Ints
    key_sum: Ints
    total: Ints
    top: Ints
    most: Ints
    least: Ints

    @property
    def spread(self) -> Ints:
        """Largest less smallest contribution."""
        result: Ints = self.most - self.least
        return result


def magnifiers_of(records: OpenedRecords, spec: TableSpec, top: int = 1, *, zeros: bool = False) -> Magnifiers:
    """Contributors of every cell of a magnitude table, as noise for magnitudes needs them.

    Parameters
    ----------
    records
        The opened records; they need record keys.
    spec
        The table, with a value.
    top
        How many of the largest contributions to keep.
    zeros
        Whether records with value 0 lend their record keys. They do not by default, so that a file with and one
        without such records give the same cell keys.
    """
    if spec.value is None:
        raise ParameterError("A table of counts has no contributions.", hint="Give value=.")
    if records.data.record_key is None:
        raise NeedsError("There are no record keys.", hint="Name their column: Microdata(record_key=).")
    if top < 1:
        raise ParameterError(f"top={top} must be at least 1.")
    leaves, finest = _finest(records, spec, top, zeros)
    cells = all_cells(leaves, spec.hierarchies, spec.cells == "all")
    above = cells_above(leaves, cells, spec.hierarchies)
    if above.signed:
        raise NeedsError(
            "Noise for magnitudes needs sums; this hierarchy has differences.", hint="Leave signed codes out."
        )
    whole = _empty(len(cells), top)
    merge_cells(above.start, above.cell, records.key_modulus, *finest, *whole)
    return whole


def _finest(records: OpenedRecords, spec: TableSpec, top: int, zeros: bool) -> tuple[Ints, Magnifiers]:
    """Keys of the finest cells, and their contributors: from an engine that has them, or record by record."""
    found = records.amounts_by_size(spec, top) if isinstance(records, SumsAmounts) else None
    if found is not None:
        return found.keys, _of_amounts(found, zeros)
    shape = tuple(len(h) for h in spec.hierarchies)
    sums = LeafSums(shape, 0, records.key_modulus, False)
    none = np.zeros((0, 0), np.int64)
    for some in records.keyed(spec):
        sums.add(some.cells, none, np.zeros(0, np.int64))
    leaves = sums.finish().keys
    rows = row_finder(leaves, shape)
    finest = _empty(len(leaves), top)
    for some in records.keyed(spec):
        enter_records(rows(some.cells), some.amount, some.record_key, records.key_modulus, zeros, *finest)
    return leaves, finest


def _of_amounts(found: AmountCells, zeros: bool) -> Magnifiers:
    from discreet.engine.column_kernels import AMOUNT, KEYS, LARGEST, LEAST, MOST, NONZERO, NONZERO_KEYS

    wanted = [NONZERO, KEYS if zeros else NONZERO_KEYS, AMOUNT, MOST, LEAST]
    count, key_sum, total, most, least = np.ascontiguousarray(found.known[:, wanted].T)
    return Magnifiers(count, key_sum, total, np.ascontiguousarray(found.known[:, LARGEST:]), most, least)


def _empty(cells: int, top: int) -> Magnifiers:
    fields = (np.zeros(cells, np.int64) for _ in range(5))
    count, key_sum, total, most, least = fields
    return Magnifiers(count, key_sum, total, np.zeros((cells, top), np.int64), most, least)


_CELLS = "i8[::1], i8[::1], i8[::1], i8[:,::1], i8[::1], i8[::1]"


@kernel("void(i8[:,::1], i8, i8)")
def _insert(top: Ints, cell: int, amount: int) -> None:
    """Put a contribution into a cell's list; of two equally large ones the positive stands first."""
    row = top[cell]
    at = len(row)
    while at > 0 and (abs(row[at - 1]) < abs(amount) or (row[at - 1] == -amount and amount > 0)):
        if at < len(row):
            row[at] = row[at - 1]
        at -= 1
    if at < len(row):
        row[at] = amount


@kernel(f"void(i4[::1], i8[::1], i8[::1], i8, b1, {_CELLS})")
def enter_records(
    leaf: Codes,
    amount: Ints,
    record_key: Ints,
    modulus: int,
    zeros: bool,
    count: Ints,
    key_sum: Ints,
    total: Ints,
    top: Ints,
    most: Ints,
    least: Ints,
) -> None:
    """Enter records into their finest cells; those with value 0 only lend their keys, where asked."""
    for i in range(len(leaf)):
        cell, x = leaf[i], amount[i]
        if x == 0 and not zeros:
            continue
        key = key_sum[cell] + record_key[i]
        key_sum[cell] = key - modulus if modulus and key >= modulus else key
        if x == 0:
            continue
        most[cell] = max(most[cell], x) if count[cell] else x
        least[cell] = min(least[cell], x) if count[cell] else x
        count[cell] += 1
        total[cell] += x
        _insert(top, cell, x)


@kernel(f"void(i8[::1], i4[::1], i8, {_CELLS}, {_CELLS})")
def merge_cells(
    start: Ints,
    above: Codes,
    modulus: int,
    count: Ints,
    key_sum: Ints,
    total: Ints,
    top: Ints,
    most: Ints,
    least: Ints,
    count_up: Ints,
    key_up: Ints,
    total_up: Ints,
    top_up: Ints,
    most_up: Ints,
    least_up: Ints,
) -> None:
    """Merge finest cells into all cells above them."""
    for leaf in range(len(count)):
        for at in range(start[leaf], start[leaf + 1]):
            cell = above[at]
            key = key_up[cell] + key_sum[leaf]
            key_up[cell] = key - modulus if modulus and key >= modulus else key
            if count[leaf] == 0:
                continue
            most_up[cell] = max(most_up[cell], most[leaf]) if count_up[cell] else most[leaf]
            least_up[cell] = min(least_up[cell], least[leaf]) if count_up[cell] else least[leaf]
            count_up[cell] += count[leaf]
            total_up[cell] += total[leaf]
            for k in range(top.shape[1]):
                if top[leaf, k] == 0:
                    break
                _insert(top_up, cell, top[leaf, k])
