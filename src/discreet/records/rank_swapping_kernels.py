"""Pairs of ranks that exchange their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel


@kernel("i8(i8[::1], i8)")
def _free_from(next_free: Any, rank: int) -> int:
    """The first free rank from one on; ways that were gone are shortened."""
    root = rank
    while next_free[root] != root:
        root = next_free[root]
    while next_free[rank] != root:
        next_free[rank], rank = root, next_free[rank]
    return root


@kernel("i8[::1](f8[::1], i8)")
def paired_ranks(fraction: Any, reach: int) -> Any:
    """The partner of every rank, itself where it has none; at most ``reach`` apart.

    From the lowest rank on, whoever is free takes the rank that its fraction points to among the next ``reach``; where
    that is taken, the next free one above, and where there is none within reach, the nearest free one.
    """
    many = len(fraction)
    partner, next_free = np.arange(many), np.arange(many + 1)
    for rank in range(many):
        if next_free[rank] != rank:
            continue
        next_free[rank] = rank + 1
        last = min(rank + reach, many - 1)
        if last == rank:
            continue
        chosen = _free_from(next_free, rank + 1 + int(fraction[rank] * (last - rank)))
        if chosen > last:
            chosen = _free_from(next_free, rank + 1)
        if chosen > last:
            continue
        next_free[chosen] = chosen + 1
        partner[rank], partner[chosen] = chosen, rank
    return partner
