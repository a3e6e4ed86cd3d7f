"""Fused loops over narrow columns: cell numbers of a block of records; counts and key sums in one counter a cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.engine.kernels import READ_ONLY
from discreet.jit import kernel
from discreet.model.arrays import Ints

NARROW = ("u1", "u2", "u4")


@kernel(*(f"void({READ_ONLY.format(kind)}, u4, b1, u4[::1])" for kind in NARROW))
def add_numbers(column: Any, stride: Any, first: bool, cells: Any) -> None:
    """Add a variable to the cell numbers of some records."""
    if first:
        for i in range(len(column)):
            cells[i] = np.uint32(column[i]) * stride
    else:
        for i in range(len(column)):
            cells[i] += np.uint32(column[i]) * stride


@kernel(*(f"void({READ_ONLY.format(kind)}, u4[::1], b1, u4[::1])" for kind in NARROW))
def add_looked_up(column: Any, look_up: Any, first: bool, cells: Any) -> None:
    """The same for a variable whose codes become others."""
    if first:
        for i in range(len(column)):
            cells[i] = look_up[column[i]]
    else:
        for i in range(len(column)):
            cells[i] += look_up[column[i]]


@kernel(*(f"void({READ_ONLY.format(kind)}, i8[::1], b1, i8[::1])" for kind in NARROW))
def add_positions(column: Any, positions: Ints, first: bool, keys: Ints) -> None:
    """Add a variable to the keys of the finest cells of some records."""
    if first:
        for i in range(len(column)):
            keys[i] = positions[column[i]]
    else:
        for i in range(len(column)):
            keys[i] += positions[column[i]]


@kernel(f"void({READ_ONLY.format('u1')}, i8, u4, u4[::1])")
def set_outside(bits: Any, begin: int, outside: Any, cells: Any) -> None:
    """Give records that a mask leaves out a cell of their own, whoever they are: no branch, no shorter way."""
    for i in range(len(cells)):
        at = np.uint64(begin + i)
        inside = (bits[at >> np.uint64(3)] >> (at & np.uint64(7))) & np.uint64(1)
        cells[i] = cells[i] if inside else outside


@kernel(f"i8({READ_ONLY.format('u1')}, i8, i8)")
def count_bits(bits: Any, begin: int, end: int) -> int:
    """How many records of a span a mask lets in."""
    found = 0
    for i in range(begin, end):
        found += (bits[i >> 3] >> np.uint8(i & 7)) & 1
    return found


@kernel("void(u4[::1], u8[::1])")
def count_records(cells: Any, counters: Any) -> None:
    """Count records by cell."""
    for i in range(len(cells)):
        counters[cells[i]] += np.uint64(1)


@kernel(*(f"void(u4[::1], {READ_ONLY.format(kind)}, u8, u8[::1])" for kind in NARROW))
def count_keyed(cells: Any, keys: Any, one: Any, counters: Any) -> None:
    """Count records and add their keys up, both in one counter: the count above ``one``, the keys below it.

    Four records far from each other are counted in turn: records in the order of their areas would wait for the counter
    of the one before.
    """
    far = len(cells) // 4
    second, third = 2 * far, 3 * far
    for i in range(far):
        counters[cells[i]] += one + np.uint64(keys[i])
        counters[cells[i + far]] += one + np.uint64(keys[i + far])
        counters[cells[i + second]] += one + np.uint64(keys[i + second])
        counters[cells[i + third]] += one + np.uint64(keys[i + third])
    for i in range(4 * far, len(cells)):
        counters[cells[i]] += one + np.uint64(keys[i])


LARGEST_AMOUNT = 2**62
RECORDS, AMOUNT, NONZERO, KEYS, NONZERO_KEYS, MOST, LEAST, LARGEST = range(8)
"""Columns of what is known of the amounts of a cell: records, their sum, how many are not zero, sums of keys of all and
of those, the largest and the smallest of those, and from the last one on the list of the largest."""


@kernel("void(i8[:,::1], i8, i8, b1)")
def _list(known: Ints, cell: int, amount: int, by_size: bool) -> None:
    """Put an amount into the list of a cell; of two equally large ones the positive stands first."""
    size, width = abs(amount) if by_size else amount, known.shape[1]
    at = width
    while at > LARGEST:
        other = known[cell, at - 1]
        if (abs(other) if by_size else other) > size or other == amount or (other == -amount and amount < 0):
            break
        if at < width:
            known[cell, at] = other
        at -= 1
    if at < width:
        known[cell, at] = amount


@kernel(*(f"void(u4[::1], {READ_ONLY.format('i8')}, {READ_ONLY.format(kind)}, b1, i8[:,::1])" for kind in NARROW))
def enter_amounts(cells: Any, amounts: Any, keys: Any, by_size: bool, known: Ints) -> None:
    """Enter records into their cells; ``keys`` may be empty.

    A list has the largest amounts above zero, or those of the largest size. Nothing depends on the order in which
    records come. There is no branch but for records that enter a list, which are few: which amounts are zero, no
    processor can guess.
    """
    keyed, last = len(keys) > 0, known.shape[1] - 1
    for i in range(len(cells)):
        cell: Any = np.int64(cells[i])
        amount = amounts[i]
        key = np.int64(keys[i]) if keyed else np.int64(0)
        counts = np.int64(amount != 0)
        known[cell, RECORDS] += 1
        known[cell, AMOUNT] += amount
        known[cell, NONZERO] += counts
        known[cell, KEYS] += key
        known[cell, NONZERO_KEYS] += key * counts
        high = amount if counts else -LARGEST_AMOUNT
        low = amount if counts else LARGEST_AMOUNT
        known[cell, MOST] = max(known[cell, MOST], high)
        known[cell, LEAST] = min(known[cell, LEAST], low)
        size, least = amount, known[cell, last]
        if by_size:
            size, least = abs(size), abs(least)
        if size >= least and size > 0:
            _list(known, cell, amount, by_size)


@kernel("void(u4[::1], u8[::1], u8[::1])")
def add_packed(cells: Any, packed: Any, counters: Any) -> None:
    """Add counters of finer cells to those of the cells that they belong to."""
    for i in range(len(cells)):
        counters[cells[i]] += packed[i]


@kernel("Tuple((i8[::1], i8[::1], i8[::1]))(u8[::1], i8, i8[::1], i8[::1], i8[::1])")
def occupied_counters(counters: Any, shift: int, sizes: Ints, starts: Ints, positions: Ints) -> tuple[Ints, Ints, Ints]:
    """Keys, counts and key sums of cells that have records.

    ``sizes`` are the numbers of codes of each variable; ``positions`` are what each code adds to the key of a cell, one
    variable after the other from ``starts`` on.
    """
    used = 0
    for cell in range(len(counters)):
        used += counters[cell] != 0
    keys, count, key_sum = np.empty(used, np.int64), np.empty(used, np.int64), np.empty(used, np.int64)
    below = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    last = len(sizes) - 1
    width = sizes[last]
    at = 0
    for line in range(len(counters) // width):
        above, known = 0, False
        for inner in range(width):
            packed = counters[line * width + inner]
            if packed == 0:
                continue
            if not known:
                rest = line
                for k in range(last - 1, -1, -1):
                    above += positions[starts[k] + rest % sizes[k]]
                    rest //= sizes[k]
                known = True
            keys[at] = above + positions[starts[last] + inner]
            count[at] = np.int64(packed >> np.uint64(shift))
            key_sum[at] = np.int64(packed & below)
            at += 1
    return keys, count, key_sum


@kernel(f"void({READ_ONLY.format('u4')}, i8[::1], u4[::1])")
def places_by_area(areas: Any, following: Ints, places: Any) -> None:
    """Where each record goes when records are put in the order of their areas; those of one area stay in their order.

    ``following`` is where the next record of each area goes, and moves on.
    """
    for i in range(len(areas)):
        places[i] = following[areas[i]]
        following[areas[i]] += 1
