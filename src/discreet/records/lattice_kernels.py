"""Compiled loops of the search through a lattice of generalisations.

A *table* is a list of combinations of codes, each once, written as two whole numbers (``high`` and ``low``) whose
digits are the codes, with its number of records and its number of units of a population.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

MIXED = -7046029254386353131
"""An odd number with well-mixed bits, for hashing."""


@kernel("i8(i8[::1], i8[::1], i8[::1], i8[::1], b1, i8, i8, i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1])")
def rolled_up(
    high: Any,
    low: Any,
    records: Any,
    units: Any,
    in_high: bool,
    stride: int,
    size: int,
    step: Any,
    new_high: Any,
    new_low: Any,
    new_records: Any,
    new_units: Any,
    group: Any,
) -> int:
    """One column of a table a level up: ``step`` says what each of its codes becomes.

    ``group`` gets the new number of every combination; the answer is how many are left.
    """
    slots = 16
    while slots < 2 * len(high):
        slots *= 2
    place = np.full(slots, -1, np.int64)
    many = 0
    for i in range(len(high)):
        a, b = high[i], low[i]
        if in_high:
            digit = a // stride % size
            a += (step[digit] - digit) * stride
        else:
            digit = b // stride % size
            b += (step[digit] - digit) * stride
        mixed = (a * 31 + b) * MIXED
        mixed ^= mixed >> 29
        slot = mixed & (slots - 1)
        while place[slot] >= 0 and (new_high[place[slot]] != a or new_low[place[slot]] != b):
            slot = (slot + 1) & (slots - 1)
        found = place[slot]
        if found < 0:
            found = many
            place[slot] = many
            new_high[many], new_low[many], new_records[many], new_units[many] = a, b, 0, 0
            many += 1
        new_records[found] += records[i]
        new_units[found] += units[i]
        group[i] = found
    return many


@kernel("i8(i8[::1], i8[::1], i8[::1], i8[::1], i8, i8[::1], i8[::1], i8[::1])")
def rolled_pairs(
    group: Any, owner: Any, value: Any, count: Any, size: int, new_owner: Any, new_value: Any, new_count: Any
) -> int:
    """Pairs of a combination and a value after combinations became ``group``; the answer is how many are left."""
    slots = 16
    while slots < 2 * len(owner):
        slots *= 2
    place = np.full(slots, -1, np.int64)
    many = 0
    for i in range(len(owner)):
        mine = group[owner[i]]
        mixed = (mine * size + value[i]) * MIXED
        mixed ^= mixed >> 29
        slot = mixed & (slots - 1)
        while place[slot] >= 0 and (new_owner[place[slot]] != mine or new_value[place[slot]] != value[i]):
            slot = (slot + 1) & (slots - 1)
        found = place[slot]
        if found < 0:
            found = many
            place[slot] = many
            new_owner[many], new_value[many], new_count[many] = mine, value[i], 0
            many += 1
        new_count[found] += count[i]
    return many


@kernel("void(i8[::1], i8[::1], b1[::1], i8[::1], i8[::1], i8[::1], b1[:, :, ::1], b1[::1])")
def with_gaps(high: Any, low: Any, in_high: Any, stride: Any, size: Any, level: Any, gap: Any, found: Any) -> None:
    """Which combinations have an empty field, or a code that stands for "unknown"."""
    for i in range(len(high)):
        found[i] = False
        for j in range(len(stride)):
            word = high[i] if in_high[j] else low[i]
            if gap[j, level[j], word // stride[j] % size[j]]:
                found[i] = True


@kernel("f8(i8[::1], i8[::1], i8[::1], b1[::1], b1[::1], i8[::1], i8[::1], i8[::1], f8[:, :, ::1], f8)")
def price_of_suppression(
    high: Any,
    low: Any,
    records: Any,
    gone: Any,
    in_high: Any,
    stride: Any,
    size: Any,
    level: Any,
    cost: Any,
    whole: float,
) -> float:
    """What suppressed records lose more than they would by their codes; ``whole`` is what each of them loses."""
    price = 0.0
    for i in range(len(high)):
        if gone[i]:
            mine = whole
            for j in range(len(stride)):
                word = high[i] if in_high[j] else low[i]
                mine -= cost[j, level[j], word // stride[j] % size[j]]
            price += mine * records[i]
    return price
