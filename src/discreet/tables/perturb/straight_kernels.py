"""From counters of the finest cells to noisy counts of all cells, in arrays of all combinations of codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints


@kernel("void(u8[::1], i8[::1], i8[::1], i8[::1], u8[::1])")
def spread_counters(counters: Any, sizes: Ints, starts: Ints, adds: Ints, whole: Any) -> None:
    """Put counters of the finest cells where these stand among all cells.

    ``sizes`` are the numbers of base codes of each variable; ``adds`` are what each adds to the number of a cell, one
    variable after the other from ``starts`` on.
    """
    last = len(sizes) - 1
    width = sizes[last]
    for line in range(len(counters) // width):
        above, rest = 0, line
        for k in range(last - 1, -1, -1):
            above += adds[starts[k] + rest % sizes[k]]
            rest //= sizes[k]
        for inner in range(width):
            whole[above + adds[starts[last] + inner]] = counters[line * width + inner]


@kernel("void(i8[::1], i4[::1], i8, i8, u8[::1])")
def add_counters_above(start: Ints, above: Codes, size: int, stride: int, whole: Any) -> None:
    """Add cells with base codes of one variable to those of the codes above; no code subtracts another."""
    if stride < 16:  # one cell after the other: a loop over so few is begun more slowly than it runs
        for first in range(0, len(whole), size * stride):
            for outer in range(first, first + stride):
                for code in range(size):
                    counter = whole[outer + code * stride]
                    for at in range(start[code], start[code + 1]):
                        if above[at] != code:
                            whole[outer + above[at] * stride] += counter
        return
    for outer in range(0, len(whole), size * stride):
        for code in range(size):
            for at in range(start[code], start[code + 1]):
                if above[at] == code:
                    continue
                source, target = outer + code * stride, outer + above[at] * stride
                for inner in range(stride):
                    whole[target + inner] += whole[source + inner]


@kernel("i8(u8, i8, i8[::1], i4[:,::1], i8, i8)")
def noisy_count(packed: Any, shift: int, row_of: Ints, changes: Codes, cycle: int, threshold: int) -> int:
    """What is published of a cell with this counter; the words are those of :func:`noisy_cells`."""
    bits = np.uint64(changes.shape[1]) - np.uint64(1)
    key = packed & ((np.uint64(1) << np.uint64(shift)) - np.uint64(1))
    if np.uint64(changes.shape[1]) & bits:
        key = key % np.uint64(changes.shape[1])
    else:  # a power of two: no division
        key = key & bits
    count: Any = np.int64(packed >> np.uint64(shift))
    last = len(row_of) - 1
    row: Any = row_of[min(count, last)]
    if cycle > 1 and count > last:
        row = len(changes) - cycle + (count - last - 1) % cycle
    value = count + changes[row, np.int64(key)]
    return 0 if value < threshold else value


@kernel("i8(u8[::1], i8, i8[::1], i8[::1], i4[:,::1], i8, i8, i8, i4[:,::1], i8[::1], b1[:,::1])")
def noisy_cells(
    whole: Any,
    shift: int,
    shape: Ints,
    row_of: Ints,
    changes: Codes,
    cycle: int,
    threshold: int,
    top: int,
    codes: Codes,
    values: Ints,
    occurs: Any,
) -> int:
    """Enter the codes and the noisy counts of all cells that are not zero then, and of the grand total; how many.

    Parameters
    ----------
    whole
        Counters of all cells: the number of records from bit ``shift`` on, the sum of their keys below.
    shift
        See there.
    shape
        How many codes each variable has.
    row_of
        Row of the noise table for each count from 0 on; larger counts have the last one, or one of the cycle.
    changes
        Change for each row and each cell key.
    cycle
        How many of the last rows are used in turn for larger counts.
    threshold
        Results below it become 0.
    top
        The cell of the grand total.
    codes, values
        Room for what is found.
    occurs
        Which codes of each variable are found; none yet.
    """
    inner, used = len(shape) - 1, 0
    width = shape[inner]
    above = np.zeros(len(shape), np.int32)
    for line in range(len(whole) // width):
        rest = line
        for k in range(inner - 1, -1, -1):
            above[k] = rest % shape[k]
            rest //= shape[k]
        for code in range(width):
            packed = whole[line * width + code]
            if packed == 0:
                continue
            value = noisy_count(packed, shift, row_of, changes, cycle, threshold)
            if value == 0 and line * width + code != top:
                continue
            for k in range(inner):
                codes[used, k] = above[k]
                occurs[k, above[k]] = True
            codes[used, inner] = code
            occurs[inner, code] = True
            values[used] = value
            used += 1
    return used
