"""Cell keys for counts: the same records get the same change, in any table at any time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, counted
from discreet.jit import kernel
from discreet.model.arrays import Codes, Floats, Ints
from discreet.model.noise_table import FRACTIONS, NoiseTable

LISTED = 1 << 22
"""Noise tables with at most so many pairs of row and cell key are written out where there are more cells than pairs."""


class PerturbedCounts(NamedTuple):
    """Counts after the noise, and what made them: the row of the noise table and the cell key of each cell."""

    value: Ints
    change: Ints
    row: Ints
    cell_key: Ints


def cell_keys(key_sum: Ints, sum_modulus: int, table: NoiseTable) -> Ints:
    """Cell keys for a noise table from sums of record keys.

    Parameters
    ----------
    key_sum
        Sum of the record keys of each cell (``Table.key_sum``).
    sum_modulus
        What the sums were taken to (``Table.key_modulus``): 10**15 for fractional record keys, 0 for whole ones.
    table
        The noise table; whole record keys need a table with whole keys.

    Examples
    --------
    >>> table = NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}})
    >>> cell_keys(np.array([300, 511]), 0, table.quantised(256)).tolist()
    [44, 255]
    """
    if sum_modulus == 0:
        if table.modulus > 2**31:
            raise ParameterError(
                "Whole record keys need a noise table with whole cell keys.",
                hint="Use table.quantised(256) or as many keys as the record keys have.",
            )
        result: Ints = key_sum % table.modulus
        return result
    if sum_modulus != FRACTIONS:
        raise ParameterError(f"Sums of record keys are taken to 0 or {FRACTIONS}, not to {sum_modulus}.")
    if table.modulus == FRACTIONS:
        return key_sum
    wide = key_sum if table.modulus <= 2**13 else key_sum.astype(object)
    return (wide * table.modulus // FRACTIONS).astype(np.int64)


def perturbed_counts(count: Ints, cell_key: Ints, table: NoiseTable, *, threshold: int = 0) -> PerturbedCounts:
    """Counts with the changes that their cell keys stand for; empty cells stay empty.

    Parameters
    ----------
    count
        Number of records of each cell.
    cell_key
        Cell key of each cell, see :func:`cell_keys`.
    table
        The noise table.
    threshold
        Results below it become 0 (10 in the tables of the ONS).

    Examples
    --------
    >>> table = NoiseTable.from_probabilities({1: {-1: 0.5, 1: 0.5}, 2: {0: 1}})
    >>> perturbed_counts(np.array([0, 1, 1, 5]), np.array([7, 0, 5 * 10**14, 9]), table).value.tolist()
    [0, 0, 2, 5]
    """
    if table.step != 1:
        raise ParameterError("Counts need a noise table with whole changes.", hint="Make it with step=1.")
    if len(count) and count.min() < 0:
        raise InputError(
            f"{counted(int((count < 0).sum()), 'count', 'are')} below zero.",
            hint="Cell keys are for counts of records.",
        )
    if len(cell_key) != len(count):
        raise InputError(f"There are {counted(len(count), 'count')} and {counted(len(cell_key), 'cell key')}.")
    if len(cell_key) and (cell_key.min() < 0 or cell_key.max() >= table.modulus):
        raise InputError(f"Cell keys must lie in 0 .. {table.modulus - 1}.")
    rows = table.rows_of(count)
    key = np.ascontiguousarray(cell_key, np.int64)
    if len(table) * table.modulus <= min(len(count), LISTED):
        change = read_off(rows, key, listed(table.start, table.upper, table.change, table.modulus))
    else:
        change = looked_up(rows, key, table.start, table.upper, table.change)
    value = count + change
    if threshold:
        value[value < threshold] = 0
        change = value - count
    return PerturbedCounts(value, change, rows, cell_key)


def perturbed_weighted_counts(
    count: Ints, weighted: Ints, cell_key: Ints, table: NoiseTable, *, threshold: int = 0
) -> tuple[Ints, PerturbedCounts]:
    """Weighted counts: the perturbed number of records times the mean weight, in units of the weighted count.

    Examples
    --------
    >>> table = NoiseTable.from_probabilities({1: {0: 1}, 4: {1: 1}})
    >>> perturbed_weighted_counts(np.array([4]), np.array([600]), np.array([0]), table)[0].tolist()
    [750]
    """
    if np.any((count > 0) & (weighted <= 0)):
        raise InputError("A cell with records has a weighted count of zero or less.", hint="Weights must be positive.")
    found = perturbed_counts(count, cell_key, table, threshold=threshold)
    records = np.maximum(count, 1)
    whole, rest = np.divmod(weighted, records)
    # Rounded half up in whole numbers: no floating point between a count and its publication.
    result: Ints = whole * found.value + (2 * rest * found.value + records) // (2 * records)
    return result, found


def perturbed_means(total: Floats, count: Floats) -> Floats:
    """Means as the perturbed total over the perturbed count; not a number where nothing is left to count."""
    result: Floats = np.full(len(total), np.nan)
    np.divide(total, count, out=result, where=np.asarray(count) != 0)
    return result


@kernel("i4[:, ::1](i8[::1], i8[::1], i8[::1], i8)")
def listed(start: Ints, upper: Ints, change: Ints, modulus: int) -> Codes:
    """Change for every row and every cell key."""
    result = np.empty((len(start) - 1, modulus), np.int32)
    for row in range(len(start) - 1):
        at = start[row]
        for key in range(modulus):
            while at < start[row + 1] - 1 and key >= upper[at]:
                at += 1
            result[row, key] = change[at]
    return result


@kernel("i8[::1](i8[::1], i8[::1], i4[:, ::1])")
def read_off(rows: Ints, cell_key: Ints, changes: Codes) -> Ints:
    """Change of each cell from a list of all."""
    result = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        result[i] = changes[rows[i], cell_key[i]]
    return result


@kernel("i8[::1](i8[::1], i8[::1], i8[::1], i8[::1], i8[::1])")
def looked_up(rows: Ints, cell_key: Ints, start: Ints, upper: Ints, change: Ints) -> Ints:
    """Change of each cell: that of the first interval of its row whose upper limit exceeds the cell key."""
    result = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        low, high = start[rows[i]], start[rows[i] + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if cell_key[i] < upper[middle]:
                high = middle
            else:
                low = middle + 1
        result[i] = change[low]
    return result
