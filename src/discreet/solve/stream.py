"""A stream of random numbers for compiled loops: cheap, and the same on every machine. It keeps no secret."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.jit import kernel

Words = NDArray[np.uint64]


@kernel("uint64(uint64[::1])")
def next_word(state: Words) -> Any:
    """The next of a stream of 64-bit numbers (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(2685821657736338717)


@kernel("float64(uint64[::1])")
def unit_draw(state: Words) -> float:
    """A number from 0 up to 1."""
    return float(next_word(state) >> np.uint64(11)) * 2.0**-53


@kernel("int64(uint64[::1], int64)")
def draw_below(state: Words, end: int) -> Any:
    """A whole number from 0 to below another."""
    return np.int64((next_word(state) >> np.uint64(33)) % np.uint64(end))
