"""Pairs of ranks that exchange their values, and the order of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

WORD = 64
DIGIT = 11


@kernel("i8(u8)")
def _ones(word: Any) -> Any:
    """How many bits of a word are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel("i8(u8, i8)")
def _nth_one(word: Any, number: int) -> Any:
    """The place of the set bit of a word that has ``number`` set ones below it."""
    place, width = 0, 32
    while width:
        below = _ones(word & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))
        if below <= number:
            number -= below
            word >>= np.uint64(width)
            place += width
        width >>= 1
    return place


@kernel("void(u8[::1], i4[::1], i8)")
def _take_out(free: Any, counts: Any, rank: int) -> None:
    """One rank is free no longer; ``counts`` are a binary indexed tree over words of free ranks."""
    free[rank // WORD] &= ~(np.uint64(1) << np.uint64(rank % WORD))
    place = rank // WORD + 1
    while place < len(counts):
        counts[place] -= 1
        place += place & -place


@kernel("i8(u8[::1], i4[::1], i8, i8)")
def _nth_free(free: Any, counts: Any, number: int, step: int) -> Any:
    """The free rank that has ``number`` free ones below it; ``step`` is the largest power of two in the tree."""
    word = 0
    while step:
        further = word + step
        if further < len(counts) and counts[further] <= number:
            word = further
            number -= counts[further]
        step >>= 1
    return word * WORD + _nth_one(free[word], number)


@kernel("i8[::1](f8[::1], i8)")
def paired_ranks(fraction: Any, reach: int) -> Any:
    """The partner of every rank, itself where it has none; at most ``reach`` apart.

    From the lowest rank on, whoever is free takes one of the free ranks among the next ``reach``, all of them equally
    likely: its fraction says which. The farthest of them is always free, so that at most the last rank stays alone.
    """
    many = len(fraction)
    partner = np.arange(many)
    words = (many + WORD - 1) // WORD
    free, counts = np.full(words, ~np.uint64(0), np.uint64), np.empty(words + 1, np.int32)
    for place in range(words + 1):
        counts[place] = (place & -place) * WORD  # ranks above the last one are never asked for
    step = 1
    while step * 2 <= words:
        step *= 2
    near = min(reach, many - 1)  # free ranks above this one and within reach
    below = 0  # ranks up to this one that nobody took before their turn: they stay in the tree, and are passed over
    for rank in range(many):
        if (free[rank // WORD] >> np.uint64(rank % WORD)) & np.uint64(1):
            below += 1
            if near > 0:
                chosen = _nth_free(free, counts, below + min(int(fraction[rank] * near), near - 1), step)
                _take_out(free, counts, chosen)
                partner[rank], partner[chosen] = chosen, rank
                near -= 1
        if rank + 1 + reach < many:
            near += 1
        if rank + 1 < many and (free[(rank + 1) // WORD] >> np.uint64((rank + 1) % WORD)) & np.uint64(1):
            near -= 1
    return partner


@kernel("u8[::1](u8[::1], i8, i8)")
def sorted_by_digits(key: Any, low: int, high: int) -> Any:
    """Numbers in the order of their bits from ``low`` to below ``high``; those that agree in them keep their order.

    Digit by digit from the lowest on; digits in which all numbers agree cost one look.
    """
    here, there = key, np.empty_like(key)
    mask = np.uint64((1 << DIGIT) - 1)
    while low < high:
        by = np.uint64(low)
        start = np.zeros(1 << DIGIT, np.int64)
        for i in range(len(here)):
            start[(here[i] >> by) & mask] += 1
        if start.max() < len(here):
            total = 0
            for digit in range(len(start)):
                total, start[digit] = total + start[digit], total
            for i in range(len(here)):
                digit = (here[i] >> by) & mask
                there[start[digit]] = here[i]
                start[digit] += 1
            here, there = there, here
        low += DIGIT
    return here


@kernel("void(i8[::1], u8[::1], u8[::1], u8)")
def settle_runs(order: Any, key: Any, value: Any, bits: Any) -> None:
    """Sort runs of places whose keys agree above some bits by their values; equal values keep their order."""
    first = 0
    for place in range(1, len(order) + 1):
        if place < len(order) and key[place] >> bits == key[first] >> bits:
            continue
        low, high = value[order[first]], value[order[first]]
        for i in range(first + 1, place):
            low, high = min(low, value[order[i]]), max(high, value[order[i]])
        if low != high:
            run = order[first:place].copy()
            order[first:place] = run[np.argsort(value[run], kind="mergesort")]
        first = place
