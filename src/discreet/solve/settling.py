"""A kernel that works out moves from relations, exactly, one unknown at a time."""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Ints


@kernel("b1(i4[::1], i4[::1], i8[::1], i8, i8[::1], b1[::1])")
def settle(start: Codes, index: Codes, sign: Ints, rows: int, amount: Ints, unknown: Bools) -> bool:
    """Work out unknown amounts from the relations, exactly; says whether all relations then hold.

    A relation with one unknown amount gives that amount. Amounts must be small enough for 64 bits.
    """
    total = np.zeros(rows, np.int64)
    open_ = np.zeros(rows, np.int32)
    entries = len(index)
    by_row = np.zeros(rows + 1, np.int32)
    for e in range(entries):
        by_row[index[e] + 1] += 1
    for r in range(rows):
        by_row[r + 1] += by_row[r]
    listing = np.empty(entries, np.int32)
    signs = np.empty(entries, np.int64)
    fill = by_row[:-1].copy()
    for k in range(len(start) - 1):
        for e in range(start[k], start[k + 1]):
            row = index[e]
            listing[fill[row]] = k
            signs[fill[row]] = sign[e]
            fill[row] += 1
            if unknown[k]:
                open_[row] += 1
            else:
                total[row] += sign[e] * amount[k]
    stack = np.empty(rows + entries, np.int32)
    depth = 0
    for r in range(rows):
        if open_[r] == 1:
            stack[depth] = r
            depth += 1
    while depth:
        depth -= 1
        row = stack[depth]
        if open_[row] != 1:
            continue
        for at in range(by_row[row], by_row[row + 1]):
            k = listing[at]
            if unknown[k]:
                if total[row] % signs[at]:
                    return False
                unknown[k] = False
                amount[k] = -total[row] // signs[at]
                for e in range(start[k], start[k + 1]):
                    other = index[e]
                    total[other] += sign[e] * amount[k]
                    open_[other] -= 1
                    if open_[other] == 1:
                        stack[depth] = other
                        depth += 1
                break
    return not (open_.any() or total.any())
