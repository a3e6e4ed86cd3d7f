"""Fused loops over records. Each cell's distinct contributors and largest contributions are found from
(cell, contributor) sums at every level; lists of finer cells are never merged.
"""

from __future__ import annotations

import numpy as np

from discreet.engine.jit import kernel
from discreet.model.arrays import Codes, Ints


@kernel("void(i4[:,::1], i8[::1], i8[:,::1], i8[::1], i8, i8[::1], i8[:,::1], i8[::1])")
def accumulate(
    codes: Codes,
    strides: Ints,
    columns: Ints,
    record_key: Ints,
    modulus: int,
    count: Ints,
    sums: Ints,
    key_sum: Ints,
) -> None:
    """Count records and sum columns and record keys per finest cell, in one pass."""
    variables, records = codes.shape
    for i in range(records):
        cell = 0
        for k in range(variables):
            cell += codes[k, i] * strides[k]
        count[cell] += 1
        for c in range(columns.shape[0]):
            sums[c, cell] += columns[c, i]
        if len(record_key):
            key = key_sum[cell] + record_key[i]
            key_sum[cell] = key - modulus if modulus and key >= modulus else key


@kernel("void(i8[::1], i4[::1], i4[::1], i8[::1], i8[:,::1], i8[::1], i8, i8[::1], i8[:,::1], i8[::1])")
def roll_up(
    start: Ints,
    above: Codes,
    sign: Codes,
    count: Ints,
    sums: Ints,
    key_sum: Ints,
    modulus: int,
    count_up: Ints,
    sums_up: Ints,
    key_up: Ints,
) -> None:
    """Add finest cells up into all cells that contain them."""
    for leaf in range(len(count)):
        for at in range(start[leaf], start[leaf + 1]):
            cell = above[at]
            count_up[cell] += count[leaf]
            for c in range(sums.shape[0]):
                sums_up[c, cell] += sign[at] * sums[c, leaf]
            if len(key_sum):
                key = key_up[cell] + key_sum[leaf]
                key_up[cell] = key - modulus if modulus and key >= modulus else key


@kernel("Tuple((i8[::1], i8[::1]))(i8[::1], i8)")
def by_contributor(contributor: Ints, contributors: int) -> tuple[Ints, Ints]:
    """Records ordered by contributor: (start of each contributor, record numbers)."""
    start = np.zeros(contributors + 1, np.int64)
    for c in contributor:
        start[c + 1] += 1
    for c in range(contributors):
        start[c + 1] += start[c]
    place = start[:-1].copy()
    order = np.empty(len(contributor), np.int64)
    for i in range(len(contributor)):
        order[place[contributor[i]]] = i
        place[contributor[i]] += 1
    return start, order


@kernel("void(i8[:,::1], i8[:,::1], i8, i8, i8)")
def _insert(top: Ints, weighted: Ints, cell: int, amount: int, weighted_amount: int) -> None:
    """Put one contribution into a cell's list of the largest."""
    last = top.shape[1] - 1
    if amount <= top[cell, last]:
        return
    at = last
    while at > 0 and top[cell, at - 1] < amount:
        top[cell, at] = top[cell, at - 1]
        weighted[cell, at] = weighted[cell, at - 1]
        at -= 1
    top[cell, at] = amount
    weighted[cell, at] = weighted_amount


@kernel(
    "void(i8[::1], i8[::1], i4[::1], i8[::1], i4[::1], i4[::1], i8[::1], i8[::1], b1[::1], i1[::1], "
    "i8[::1], i8[:,::1], i8[:,::1], b1[::1], i8[::1], i8[:,::1])"
)
def contributions(
    start: Ints,
    order: Ints,
    leaf: Codes,
    up_start: Ints,
    above: Codes,
    sign: Codes,
    amount: Ints,
    weighted_amount: Ints,
    waived: np.ndarray,
    request: np.ndarray,
    count: Ints,
    top: Ints,
    top_weighted: Ints,
    negative: np.ndarray,
    unwaived: Ints,
    requested: Ints,
) -> None:
    """Contributor by contributor: sum the records per cell at every level, then enter the sums into the cells."""
    cells = len(count)
    sums = np.zeros(cells, np.int64)
    weighted = np.zeros(cells, np.int64)
    seen = np.zeros(cells, np.bool_)
    touched = np.empty(cells, np.int64)
    for c in range(len(start) - 1):
        n = 0
        all_waived = len(waived) > 0
        asked = 0
        for at in range(start[c], start[c + 1]):
            record = order[at]
            if len(waived) > 0 and not waived[record]:
                all_waived = False
            if len(request) > 0:
                asked = max(asked, request[record])
            for u in range(up_start[leaf[record]], up_start[leaf[record] + 1]):
                cell = above[u]
                if not seen[cell]:
                    seen[cell] = True
                    touched[n] = cell
                    n += 1
                sums[cell] += sign[u] * amount[record]
                weighted[cell] += sign[u] * weighted_amount[record]
        for t in range(n):
            cell = touched[t]
            count[cell] += 1
            if sums[cell] < 0:
                negative[cell] = True
            _insert(top, top_weighted, cell, sums[cell], weighted[cell])
            if len(unwaived) > 0 and not all_waived:
                unwaived[cell] = max(unwaived[cell], sums[cell])
            if asked > 0:
                requested[cell, asked - 1] = max(requested[cell, asked - 1], sums[cell])
            sums[cell] = 0
            weighted[cell] = 0
            seen[cell] = False


@kernel("void(i8[:,::1], i8[:,::1])")
def replicate(top: Ints, weighted: Ints) -> None:
    """Largest contributions of the population: a contribution of weight w counts w times, the last one partly."""
    cells, length = top.shape
    for cell in range(cells):
        filled = 0.0
        share = np.zeros(length, np.float64)
        for i in range(length):
            if top[cell, i] <= 0:
                break
            left = weighted[cell, i] / top[cell, i]
            while left > 1e-12 and filled < length - 1e-12:
                place = int(filled + 1e-12)
                part = min(left, place + 1 - filled)
                share[place] += part * top[cell, i]
                filled += part
                left -= part
        for i in range(length):
            top[cell, i] = int(np.rint(share[i]))


