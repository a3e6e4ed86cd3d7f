"""Sums of all cells from the finest ones, one variable at a time.

A finest cell lies in as many cells as its codes have combinations of codes above them, which grows with every variable.
Adding up one variable after the other visits every cell only once for each variable.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.engine.cells import DENSE_CELLS, LeafCells, code_space, require_cells, strides_of
from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints, ranges
from discreet.model.hierarchy import Hierarchy


def signed(hierarchies: Sequence[Hierarchy]) -> bool:
    """Whether some code subtracts another."""
    return any(hierarchy.signed for hierarchy in hierarchies)


def rolled_up_by_variable(leaf: LeafCells, hierarchies: Sequence[Hierarchy], modulus: int) -> LeafCells:
    """All cells above the finest ones, in canonical order: counts, sums and key sums.

    Parameters
    ----------
    leaf
        The finest cells.
    hierarchies
        Hierarchies of the variables.
    modulus
        What key sums are taken to; 0 for no modulus.
    """
    if all(hierarchy.level for hierarchy in hierarchies):
        return leaf  # no code lies above another
    shape = [len(h) for h in hierarchies]
    rows = [leaf.records, *([leaf.key_sum] if len(leaf.key_sum) else []), *leaf.sums]
    columns = np.ascontiguousarray(np.stack(rows, axis=1))
    keyed = bool(len(leaf.key_sum))
    space = code_space(shape)
    if space <= DENSE_CELLS and space <= 64 * max(len(leaf.keys), 1024):
        keys, columns = _dense(leaf.keys, columns, hierarchies, space, modulus, keyed)
    else:
        keys, columns = leaf.keys, columns
        for hierarchy, stride in zip(hierarchies, strides_of(shape), strict=True):
            keys, columns = _one_variable(keys, columns, hierarchy, stride, modulus, keyed, len(hierarchies))
    first = 1 + int(keyed)
    return LeafCells(
        keys,
        np.ascontiguousarray(columns[:, 0]),
        np.ascontiguousarray(columns[:, first:].T),
        np.ascontiguousarray(columns[:, 1]) if keyed else np.zeros(0, np.int64),
    )


def _dense(
    keys: Ints, columns: Ints, hierarchies: Sequence[Hierarchy], space: int, modulus: int, keyed: bool
) -> tuple[Ints, Ints]:
    whole = np.zeros((space, columns.shape[1]), np.int64)
    whole[keys] = columns
    shape = [len(h) for h in hierarchies]
    for hierarchy, size, stride in zip(hierarchies, shape, strides_of(shape), strict=True):
        start, above, sign = hierarchy.ancestors
        add_above(start, above, sign, size, stride, modulus, keyed, whole)
    return occupied_rows(whole)


def _one_variable(
    keys: Ints, columns: Ints, hierarchy: Hierarchy, stride: int, modulus: int, keyed: bool, variables: int
) -> tuple[Ints, Ints]:
    start, above, sign = hierarchy.ancestors
    code = (keys // stride) % len(hierarchy)
    lengths = np.diff(start)[code]
    if lengths.max(initial=1) == 1:
        return keys, columns
    require_cells(int(lengths.sum()), variables, 40 + 8 * columns.shape[1])
    where = ranges(start[code], lengths)
    found = np.repeat(keys - code * stride, lengths) + above[where].astype(np.int64) * stride
    order = np.argsort(found)
    ordered = found[order]
    first = np.flatnonzero(np.concatenate(([True], np.diff(ordered) != 0)))
    owner = np.repeat(np.arange(len(keys), dtype=np.int64), lengths)
    sums = np.zeros((len(first), columns.shape[1]), np.int64)
    ends = np.append(first, len(ordered))
    add_groups(ends, order, owner, sign[where].astype(np.int32), columns, modulus, keyed, sums)
    return ordered[first], sums


@kernel("void(i8[:,::1], i8, i8[:,::1], i8, i4, i8, b1)")
def _add(target: Ints, at: int, source: Ints, row: int, sign: int, modulus: int, keyed: bool) -> None:
    """Add a cell to one that contains it: counts and keys as they are, sums with their sign."""
    target[at, 0] += source[row, 0]
    first = 1
    if keyed:
        key = target[at, 1] + source[row, 1]
        target[at, 1] = key - modulus if modulus and key >= modulus else key
        first = 2
    for c in range(first, source.shape[1]):
        target[at, c] += sign * source[row, c]


@kernel("Tuple((i8[::1], i8[:,::1]))(i8[:,::1])")
def occupied_rows(whole: Ints) -> tuple[Ints, Ints]:
    """Cells that have records, and their rows."""
    used = 0
    for cell in range(len(whole)):
        used += whole[cell, 0] != 0
    keys, rows = np.empty(used, np.int64), np.empty((used, whole.shape[1]), np.int64)
    at = 0
    for cell in range(len(whole)):
        if whole[cell, 0] != 0:
            keys[at] = cell
            for c in range(whole.shape[1]):
                rows[at, c] = whole[cell, c]
            at += 1
    return keys, rows


@kernel("void(i8[::1], i4[::1], i4[::1], i8, i8, i8, b1, i8[:,::1])")
def add_above(
    start: Ints, above: Codes, sign: Codes, size: int, stride: int, modulus: int, keyed: bool, whole: Ints
) -> None:
    """Add cells with base codes of one variable to those of the codes above, where they lie."""
    for outer in range(0, len(whole), size * stride):
        for code in range(size):
            for at in range(start[code], start[code + 1]):
                if above[at] == code:
                    continue
                for inner in range(stride):
                    source = outer + code * stride + inner
                    if whole[source, 0]:
                        _add(whole, outer + above[at] * stride + inner, whole, source, sign[at], modulus, keyed)


@kernel("void(i8[::1], i8[::1], i8[::1], i4[::1], i8[:,::1], i8, b1, i8[:,::1])")
def add_groups(
    ends: Ints, order: Ints, owner: Ints, sign: Codes, columns: Ints, modulus: int, keyed: bool, sums: Ints
) -> None:
    """Add up the rows that belong to each group."""
    for group in range(len(sums)):
        for at in range(ends[group], ends[group + 1]):
            _add(sums, group, columns, owner[order[at]], sign[order[at]], modulus, keyed)
