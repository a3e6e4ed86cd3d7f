"""Kernels of the Gaussian elimination, exact in the field of the integers modulo a prime.

Relations have small whole coefficients, so that a prime of 31 bits tells all ranks as the rationals do, except with
negligible probability; products of two residues fit into 64 bits.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.typed import Dict

from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints

PRIME = 2**31 - 1


@kernel("int64(int64)")
def inverse(a: int) -> int:
    """The inverse of a residue, by Fermat."""
    result, power, exponent = 1, a % PRIME, PRIME - 2
    while exponent:
        if exponent & 1:
            result = result * power % PRIME
        power = power * power % PRIME
        exponent >>= 1
    return result


@kernel("void(int64[:], int64, int64)")
def _push(heap: Ints, size: int, item: int) -> None:
    """Put an item into a heap (least first) that holds ``size`` ones."""
    at = size
    while at > 0:
        up = (at - 1) // 2
        if heap[up] <= item:
            break
        heap[at] = heap[up]
        at = up
    heap[at] = item


@kernel("int64(int64[:], int64)")
def _pop(heap: Ints, size: int) -> int:
    """Take the least item from a heap that holds ``size`` ones."""
    top, item, at = int(heap[0]), heap[size - 1], 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = item
    return top


@kernel("Tuple((int64[:], int32[:], int32[:], int64[:]))(int32[:], int32[:], int64[:], int64, int64[:], int64)")
def circuits(
    start: Codes, row: Codes, value: Ints, rows: int, order: Ints, needed: int
) -> tuple[Ints, Codes, Codes, Ints]:
    """Basis of the columns, first come first in, and the circuits that the last ``needed`` columns close with it.

    Returns for every basis element its place in ``order`` and, for each circuit, the column that closes it, and the
    basis elements (by number) with their coefficients: entries ``(column, element, coefficient)``. A column that
    joins the basis closes no circuit.
    """
    count = len(order)
    step_of = np.full(rows, -1, np.int64)
    pivot_row = np.empty(rows, np.int64)
    diagonal_inverse = np.empty(rows, np.int64)
    basis = np.empty(rows, np.int64)
    weight = np.ones(rows, np.int64)
    l_start, u_start = np.zeros(rows + 1, np.int64), np.zeros(rows + 1, np.int64)
    l_row, l_value = np.empty(4 * rows + 16, np.int32), np.empty(4 * rows + 16, np.int64)
    u_step, u_value = np.empty(4 * rows + 16, np.int32), np.empty(4 * rows + 16, np.int64)
    out_column, out_element = np.empty(1024, np.int32), np.empty(1024, np.int32)
    out_value = np.empty(1024, np.int64)
    found = 0
    work, inside = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    heap, left = np.empty(rows + 1, np.int64), np.empty(rows, np.int64)
    y_step, y_value = np.empty(rows, np.int64), np.empty(rows, np.int64)
    rank = 0
    for place in range(count):
        column = order[place]
        size = waiting = known = 0
        for e in range(start[column], start[column + 1]):
            r = row[e]
            work[r] = value[e]
            inside[r] = True
            if step_of[r] >= 0:
                _push(heap, size, step_of[r])
                size += 1
            else:
                left[waiting] = r
                waiting += 1
        while size:
            step = _pop(heap, size)
            size -= 1
            r = pivot_row[step]
            factor = work[r]
            work[r] = 0
            inside[r] = False
            if factor == 0:
                continue
            y_step[known], y_value[known] = step, factor
            known += 1
            for e in range(l_start[step], l_start[step + 1]):
                s = l_row[e]
                work[s] = (work[s] - factor * l_value[e]) % PRIME
                if not inside[s]:
                    inside[s] = True
                    if step_of[s] >= 0:
                        _push(heap, size, step_of[s])
                        size += 1
                    else:
                        left[waiting] = s
                        waiting += 1
        best = -1
        for i in range(waiting):
            r = left[i]
            if work[r] and (best < 0 or weight[r] < weight[best] or (weight[r] == weight[best] and r < best)):
                best = r
        if best >= 0:
            scale = inverse(work[best])
            at = l_start[rank]
            if at + waiting > len(l_row):
                l_row = np.concatenate((l_row, np.empty(len(l_row) + waiting, np.int32)))
                l_value = np.concatenate((l_value, np.empty(len(l_value) + waiting, np.int64)))
            for i in range(waiting):
                r = left[i]
                if r != best and work[r]:
                    l_row[at], l_value[at] = r, work[r] * scale % PRIME
                    weight[r] += weight[best]
                    at += 1
            l_start[rank + 1] = at
            at = u_start[rank]
            if at + known > len(u_step):
                u_step = np.concatenate((u_step, np.empty(len(u_step) + known, np.int32)))
                u_value = np.concatenate((u_value, np.empty(len(u_value) + known, np.int64)))
            for i in range(known):
                u_step[at + i], u_value[at + i] = y_step[i], y_value[i]
            u_start[rank + 1] = at + known
            diagonal_inverse[rank] = scale
            step_of[best] = rank
            pivot_row[rank] = best
            basis[rank] = place
            rank += 1
        for i in range(waiting):
            work[left[i]] = 0
            inside[left[i]] = False
        if best >= 0 or place < count - needed:
            continue
        # The column depends on the basis: how, is found by going back through the steps.
        for i in range(known):
            work[y_step[i]] = y_value[i]
            inside[y_step[i]] = True
            _push(heap, i, -y_step[i])
        size = known
        while size:
            step = -_pop(heap, size)
            size -= 1
            y = work[step]
            work[step] = 0
            inside[step] = False
            if y == 0:
                continue
            share = y * diagonal_inverse[step] % PRIME
            if found == len(out_column):
                out_column = np.concatenate((out_column, np.empty(found, np.int32)))
                out_element = np.concatenate((out_element, np.empty(found, np.int32)))
                out_value = np.concatenate((out_value, np.empty(found, np.int64)))
            out_column[found], out_element[found], out_value[found] = place, step, (PRIME - share) % PRIME
            found += 1
            for e in range(u_start[step], u_start[step + 1]):
                s = u_step[e]
                work[s] = (work[s] - share * u_value[e]) % PRIME
                if not inside[s]:
                    inside[s] = True
                    _push(heap, size, -s)
                    size += 1
    return basis[:rank], out_column[:found], out_element[:found], out_value[:found]


@kernel("int64(int64, int64, int64)")
def series_key(x: int, y: int, z: int) -> int:
    """A number that cells in series share: the ratios of their coordinates in three random alternatives."""
    if x:
        scale = inverse(x)
        return (y * scale % PRIME) * PRIME + z * scale % PRIME
    if y:
        return -1 - z * inverse(y) % PRIME
    return -PRIME - 1 if z else -PRIME - 2


@kernel("int64[:](int64[:, :])")
def series_keys(moves: Ints) -> Ints:
    """For every cell the number that it shares with those in series with it, by its moves in three alternatives."""
    result = np.empty(len(moves), np.int64)
    for i in range(len(moves)):
        result[i] = series_key(moves[i, 0], moves[i, 1], moves[i, 2])
    return result


UNMOVED = -PRIME - 2
"""Key of a cell that moves in no alternative."""


@kernel(
    "Tuple((boolean[:], int64))(int64[:], int32[:], int64[:], int64, int64[:], boolean[:], boolean[:], int64[:, :])"
)
def eliminate(
    start: Ints,
    entry: Codes,
    value: Ints,
    closing: int,
    tested: Ints,
    shielded_row: np.ndarray,
    shielded_closing: np.ndarray,
    draw: Ints,
) -> tuple[np.ndarray, int]:
    """Publish rows one after the other unless that would reveal a shielded cell.

    Rows are the basis elements, each a combination of ``closing`` free columns: the value that it takes in an
    alternative when the free ones take theirs. ``tested`` lists rows in the order in which they are to be published;
    ``shielded_row`` and ``shielded_closing`` mark what must not become known. ``draw`` are three random values for
    every free column. Returns which rows were kept back, and how many exchanges were made.

    A row that is published takes the value 0 in all alternatives: one of its columns is then expressed by the others.
    """
    rows = len(start) - 1
    total = rows + closing
    begin, length, room = np.zeros(total, np.int64), np.zeros(total, np.int64), np.zeros(total, np.int64)
    pool_size = len(entry)
    column, coefficient = np.empty(2 * pool_size + 1024, np.int32), np.empty(2 * pool_size + 1024, np.int64)
    column[:pool_size] = entry
    coefficient[:pool_size] = value
    point = np.zeros((total, 3), np.int64)
    point[rows:] = draw
    head, count = np.full(closing, -1, np.int64), np.zeros(closing, np.int64)
    link, link_row = np.empty(2 * pool_size + 1024, np.int64), np.empty(2 * pool_size + 1024, np.int32)
    links = 0
    for r in range(rows):
        begin[r], length[r] = start[r], start[r + 1] - start[r]
        room[r] = length[r]
        for e in range(start[r], start[r + 1]):
            q = entry[e]
            for d in range(3):
                point[r, d] = (point[r, d] + value[e] * draw[q, d]) % PRIME
            link[links], link_row[links] = head[q], r
            head[q] = links
            count[q] += 1
            links += 1
    alive = np.ones(total, np.bool_)
    kept = np.zeros(rows, np.bool_)
    shield = Dict.empty(types.int64, types.int64)
    for r in range(rows):
        if shielded_row[r]:
            key = series_key(point[r, 0], point[r, 1], point[r, 2])
            shield[key] = shield.get(key, 0) + 1
    for q in range(closing):
        if shielded_closing[q]:
            key = series_key(point[rows + q, 0], point[rows + q, 1], point[rows + q, 2])
            shield[key] = shield.get(key, 0) + 1
    merged_column, merged_value = np.empty(closing, np.int32), np.empty(closing, np.int64)
    seen = np.full(total, -1, np.int64)
    exchanges = 0
    for number in range(len(tested)):
        j = tested[number]
        key = series_key(point[j, 0], point[j, 1], point[j, 2])
        if key == UNMOVED:
            alive[j] = False
            continue
        if shield.get(key, 0) > 0:
            kept[j] = True
            alive[j] = False
            for e in range(begin[j], begin[j] + length[j]):
                count[column[e]] -= 1
            continue
        q, factor = -1, 0
        for e in range(begin[j], begin[j] + length[j]):
            if q < 0 or count[column[e]] < count[q]:
                q, factor = column[e], coefficient[e]
        scale = inverse(factor)
        shift = np.empty(3, np.int64)
        for d in range(3):
            shift[d] = point[j, d] * scale % PRIME
        alive[j] = False
        exchanges += 1
        own = length[j]
        node = head[q]
        while node >= 0:
            i = link_row[node]
            node = link[node]
            if not alive[i] or seen[i] == number:
                continue
            seen[i] = number
            low, high = begin[i], begin[i] + length[i]
            while low < high:
                middle = (low + high) // 2
                if column[middle] < q:
                    low = middle + 1
                else:
                    high = middle
            if low == begin[i] + length[i] or column[low] != q:
                continue
            mine = coefficient[low]
            times = mine * scale % PRIME
            size = 0
            a, b = begin[i], begin[j]
            a_end, b_end = begin[i] + length[i], begin[j] + own
            while a < a_end or b < b_end:
                if b == b_end or (a < a_end and column[a] < column[b]):
                    merged_column[size], merged_value[size] = column[a], coefficient[a]
                    size += 1
                    a += 1
                elif a == a_end or column[b] < column[a]:
                    c = column[b]
                    merged_column[size] = c
                    merged_value[size] = (PRIME - times * coefficient[b] % PRIME) % PRIME
                    size += 1
                    b += 1
                    if links == len(link):
                        link = np.concatenate((link, np.empty(links, np.int64)))
                        link_row = np.concatenate((link_row, np.empty(links, np.int32)))
                    link[links], link_row[links] = head[c], i
                    head[c] = links
                    links += 1
                    count[c] += 1
                else:
                    c = column[a]
                    left = (coefficient[a] - times * coefficient[b]) % PRIME
                    if left:
                        merged_column[size], merged_value[size] = c, left
                        size += 1
                    else:
                        count[c] -= 1
                    a += 1
                    b += 1
            if size > room[i]:
                while pool_size + 2 * size > len(column):
                    column = np.concatenate((column, np.empty(len(column), np.int32)))
                    coefficient = np.concatenate((coefficient, np.empty(len(coefficient), np.int64)))
                begin[i], room[i] = pool_size, 2 * size
                pool_size += 2 * size
            column[begin[i] : begin[i] + size] = merged_column[:size]
            coefficient[begin[i] : begin[i] + size] = merged_value[:size]
            length[i] = size
            old = series_key(point[i, 0], point[i, 1], point[i, 2])
            for d in range(3):
                point[i, d] = (point[i, d] - mine * shift[d]) % PRIME
            if shielded_row[i] if i < rows else shielded_closing[i - rows]:
                shield[old] -= 1
                new = series_key(point[i, 0], point[i, 1], point[i, 2])
                shield[new] = shield.get(new, 0) + 1
        # The exchanged column is now a row of its own, in place of the published one.
        i = rows + q
        old = series_key(point[i, 0], point[i, 1], point[i, 2])
        for d in range(3):
            point[i, d] = (point[i, d] - shift[d]) % PRIME
        if shielded_closing[q]:
            shield[old] -= 1
            new = series_key(point[i, 0], point[i, 1], point[i, 2])
            shield[new] = shield.get(new, 0) + 1
        while pool_size + own > len(column):
            column = np.concatenate((column, np.empty(len(column), np.int32)))
            coefficient = np.concatenate((coefficient, np.empty(len(coefficient), np.int64)))
        begin[i], room[i] = pool_size, own
        size = 0
        for e in range(begin[j], begin[j] + own):
            c = column[e]
            count[c] -= 1
            if c == q:
                continue
            column[pool_size + size] = c
            coefficient[pool_size + size] = (PRIME - coefficient[e] * scale % PRIME) % PRIME
            size += 1
            if links == len(link):
                link = np.concatenate((link, np.empty(links, np.int64)))
                link_row = np.concatenate((link_row, np.empty(links, np.int32)))
            link[links], link_row[links] = head[c], i
            head[c] = links
            links += 1
            count[c] += 1
        length[i] = size
        pool_size += own
    return kept, exchanges
