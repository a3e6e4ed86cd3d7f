"""Compiled loops of the search for minimal sample uniques.

A *cell* is a combination of all keys that occurs. Cells that hold one record come first: only these can be unique in
anything. Sets of keys have numbers, in an order in which every set stands behind all of its subsets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

NOBODY, MANY = 0, -1


@kernel("void(i8[::1], i4[::1], i8, i8[::1])")
def extend(before: Any, codes: Any, size: int, after: Any) -> None:
    """Number combinations of one more column."""
    for cell in range(len(before)):
        after[cell] = before[cell] * size + codes[cell]


@kernel("void(i8[::1], i4[::1], i8, i8[::1])")
def extend_known(before: Any, codes: Any, size: int, after: Any) -> None:
    """The same, with -1 for every combination that has an empty field."""
    for cell in range(len(before)):
        known = before[cell] >= 0 and codes[cell] > 0
        after[cell] = before[cell] * size + codes[cell] if known else -1


@kernel("i8(i8[::1], i8[::1], i4[::1])")
def compact(keys: Any, table: Any, numbers: Any) -> int:
    """Number combinations without gaps, in place; -1 stays. ``table`` has a power of two places, twice as many as keys.

    Gives how many there are.
    """
    mask = len(table) - 1
    table[:] = -1
    many = 0
    for cell in range(len(keys)):
        key = keys[cell]
        if key < 0:
            continue
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        place = np.int64((mixed >> np.uint64(20)) & np.uint64(mask))
        while table[place] != -1 and table[place] != key:
            place = (place + 1) & mask
        if table[place] == -1:
            table[place] = key
            numbers[place] = many
            many += 1
        keys[cell] = numbers[place]
    return many


@kernel("i8(i8[::1], i8, i8, i4[::1], i4[::1])")
def unique_cells(keys: Any, many: int, single: int, owner: Any, found: Any) -> int:
    """List the cells of one record that no other cell agrees with; gives how many there are."""
    owner[:many] = NOBODY
    for cell in range(len(keys)):
        key = keys[cell]
        if key < 0:
            continue
        if owner[key] == NOBODY and cell < single:
            owner[key] = cell + 1
        else:
            owner[key] = MANY
    number = 0
    if many <= 8 * len(keys):
        for key in range(many):
            if owner[key] > 0:
                found[number] = owner[key] - 1
                number += 1
        return number
    for cell in range(single):
        if keys[cell] >= 0 and owner[keys[cell]] == cell + 1:
            found[number] = cell
            number += 1
    return number


@kernel("i8(i4[::1], i8, i8, i8[::1], i8[::1], f8, u8[:,::1], f8[::1], i8[::1], f8[:,::1])")
def keep_minimal(
    found: Any,
    number: int,
    place: int,
    smaller: Any,
    columns: Any,
    worth: float,
    unique: Any,
    score: Any,
    smallest: Any,
    parts: Any,
) -> int:
    """Mark cells as unique in a set of keys, and add its worth where they are in none of its subsets.

    ``place`` is the number of the set, ``smaller`` those of the set without one key each. Gives how many are minimal.
    """
    word, bit = place >> 6, np.uint64(1) << np.uint64(place & 63)
    minimal = 0
    for at in range(number):
        cell = found[at]
        fresh = True
        for subset in smaller:
            if unique[cell, subset >> 6] >> np.uint64(subset & 63) & np.uint64(1):
                fresh = False
                break
        unique[cell, word] |= bit
        if fresh:
            minimal += 1
            score[cell] += worth
            if smallest[cell] == 0 or smallest[cell] > len(columns):
                smallest[cell] = len(columns)
            for column in columns:
                parts[cell, column] += worth
    return minimal
