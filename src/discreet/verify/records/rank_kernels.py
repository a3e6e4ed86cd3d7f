"""Partners of ranks, drawn a second time by code of the checker's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel


@kernel("i8[::1](f8[::1], i8)")
def drawn_partners(fraction: Any, reach: int) -> Any:
    """Partners by draws: from the lowest rank on, one of the free ranks within reach, as the fraction says.

    Free ranks are counted block by block, and then one by one.
    """
    many = len(fraction)
    size = int(np.sqrt(many)) + 1
    free, partner = np.ones(many, np.bool_), np.arange(many)
    in_block = np.zeros(many // size + 1, np.int64)
    for rank in range(many):
        in_block[rank // size] += 1
    for rank in range(many):
        if not free[rank]:
            continue
        free[rank] = False
        in_block[rank // size] -= 1
        # Whoever is below has had its turn, and nobody took a rank beyond this reach but the last ones.
        last = min(rank + reach, many - 1)
        candidates, block = 0, rank // size
        while (block + 1) * size <= last + 1:
            candidates += in_block[block]
            block += 1
        for other in range(max(block * size, rank + 1), last + 1):
            candidates += free[other]
        if candidates == 0:
            continue
        wanted = min(int(fraction[rank] * candidates), candidates - 1)
        block = rank // size
        while in_block[block] <= wanted:
            wanted -= in_block[block]
            block += 1
        chosen = block * size
        while not free[chosen] or wanted > 0:
            wanted -= free[chosen]
            chosen += 1
        free[chosen] = False
        in_block[chosen // size] -= 1
        partner[rank], partner[chosen] = chosen, rank
    return partner
