"""Compiled loop that makes shares of the least cost hold for every group of records that could look alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel


@kernel("void(i8[::1], i8[::1], f8[::1], i8[::1], f8[::1], i8)")
def lower_shares(start: Any, who: Any, cost: Any, records: Any, share: Any, k: int) -> None:
    """Lower shares of cells where ``k`` records or more of a group could look alike for less than their shares.

    ``start`` delimits groups in ``who``, the cells that could look alike; ``cost`` is what a record of each loses then.
    The cheapest way is to take all whose share is above their cost, and the nearest others until there are ``k``.
    """
    for group in range(len(start) - 1):
        first, last = start[group], start[group + 1]
        size, above = 0, 0
        for at in range(first, last):
            size += records[who[at]]
            if share[who[at]] > cost[at]:
                above += 1
        if size < k or above == 0:
            continue
        excess = np.empty(last - first)
        for at in range(first, last):
            excess[at - first] = cost[at] - share[who[at]]
        taken, total, gains = 0, 0.0, 0.0
        for place in np.argsort(excess, kind="mergesort"):
            number = records[who[first + place]]
            if excess[place] > 0.0:
                if taken >= k:
                    break
                number = min(number, k - taken)
            else:
                gains -= excess[place] * number
            total += excess[place] * number
            taken += number
        if total < 0.0:
            kept = max(1.0 + total / gains - 1e-12, 0.0)
            for at in range(first, last):
                if excess[at - first] < 0.0:
                    share[who[at]] = cost[at] - excess[at - first] * kept
