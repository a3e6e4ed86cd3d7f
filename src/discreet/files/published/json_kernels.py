"""Whole numbers as JSON, written at once: a list, or an object whose names are their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Ints

LONGEST = 20
"""Signs of a whole number of 64 bits."""


SHORT = 10**9
"""Below it numbers have 32 bits, and are divided in half the time."""


@kernel("i8(i8, u1[::1], i8)")
def _write_number(value: int, text: Any, at: int) -> int:
    """Write a number from a place on; where it ends."""
    size = np.uint64(value)
    if value < 0:
        text[at] = 45
        at += 1
        size = np.uint64(0) - size
    if size < np.uint64(SHORT):
        short: Any = np.uint32(size)
        digits = 1
        if short >= np.uint32(10_000):
            digits = 5 + (short >= np.uint32(100_000)) + (short >= np.uint32(1_000_000))
            digits += (short >= np.uint32(10_000_000)) + (short >= np.uint32(100_000_000))
        elif short >= np.uint32(1000):
            digits = 4
        elif short >= np.uint32(100):
            digits = 3
        elif short >= np.uint32(10):
            digits = 2
        for place in range(at + digits - 1, at - 1, -1):
            tenth = short // np.uint32(10)
            text[place] = np.uint8(48) + np.uint8(short - tenth * np.uint32(10))
            short = tenth
        return at + digits
    digits = 1
    rest = size // np.uint64(10)
    while rest:
        digits += 1
        rest //= np.uint64(10)
    for place in range(at + digits - 1, at - 1, -1):
        text[place] = np.uint8(48) + np.uint8(size % np.uint64(10))
        size //= np.uint64(10)
    return at + digits


@kernel("i8(i8[::1], u1[::1])")
def write_list(values: Ints, text: Any) -> int:
    """Write numbers as a JSON array; how long it is."""
    text[0] = 91
    at = 1
    for i in range(len(values)):
        at = _write_number(values[i], text, at)
        text[at] = 44
        at += 1
    at -= len(values) > 0
    text[at] = 93
    return at + 1


@kernel("i8(i8[::1], i8[::1], u1[::1])")
def write_by_place(places: Ints, values: Ints, text: Any) -> int:
    """Write numbers as a JSON object by their places; how long it is."""
    text[0] = 123
    at = 1
    for i in range(len(values)):
        text[at] = 34
        at = _write_number(places[i], text, at + 1)
        text[at] = 34
        text[at + 1] = 58
        at = _write_number(values[i], text, at + 2)
        text[at] = 44
        at += 1
    at -= len(values) > 0
    text[at] = 125
    return at + 1


def json_list(values: Ints) -> bytes:
    """Numbers as a JSON array."""
    text = np.empty(2 + (LONGEST + 1) * len(values), np.uint8)
    return text[: write_list(values, text)].tobytes()


def json_by_place(places: Ints, values: Ints) -> bytes:
    """Numbers as a JSON object by their places."""
    text = np.empty(2 + (2 * LONGEST + 4) * len(values), np.uint8)
    return text[: write_by_place(places, values, text)].tobytes()
