"""Compiled loops of local recoding.

Codes of a key are numbered so that neighbours lie side by side: numbers by size, codes of a hierarchy in the order of
the tree. A negative code is empty or stands for "unknown", and a class has it throughout or not at all.

``position`` is the place of each code on a line, or its node in a tree, whose nodes have a parent, a depth and a loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

LITTLE = 1e-12
"""A fall of the loss that is no fall."""


@kernel("i8(i8, i8, i8[::1], i8[::1])")
def lowest_above(a: Any, b: Any, parent: Any, depth: Any) -> Any:
    """The lowest node above two nodes, which may be one of them."""
    while a != b:
        if depth[a] >= depth[b]:
            a = parent[a]
        else:
            b = parent[b]
    return a


@kernel("f8(i8, i8, b1, f8[::1], i8[::1], i8[::1], f8[::1])")
def width(lo: int, hi: int, line: bool, position: Any, parent: Any, depth: Any, loss: Any) -> float:
    """What the codes from ``lo`` to ``hi`` lose when they become one: their distance, or the loss of the node above."""
    if lo < 0:
        return 0.0
    if line:
        return float(position[hi] - position[lo])
    return float(loss[lowest_above(np.int64(position[lo]), np.int64(position[hi]), parent, depth)])


@kernel("Tuple((i8[::1], i8[::1]))(i8[::1], i8[::1])")
def tallied(code: Any, records: Any) -> Any:
    """Codes that occur, in rising order, and how many records have each."""
    lo, hi = code.min(), code.max()
    many = 0
    if hi - lo <= 8 * len(code) + 64:
        counts = np.zeros(hi - lo + 1, np.int64)
        for at in range(len(code)):
            counts[code[at] - lo] += records[at]
        seen, amount = np.empty(len(code), np.int64), np.empty(len(code), np.int64)
        for i in range(len(counts)):
            if counts[i] > 0:
                seen[many], amount[many] = i + lo, counts[i]
                many += 1
    else:
        order = np.argsort(code, kind="mergesort")
        seen, amount = np.empty(len(code), np.int64), np.zeros(len(code), np.int64)
        for i in range(len(code)):
            if many == 0 or seen[many - 1] != code[order[i]]:
                seen[many], amount[many] = code[order[i]], 0
                many += 1
            amount[many - 1] += records[order[i]]
    return seen[:many].copy(), amount[:many].copy()


@kernel("f8(i8[::1], i8[::1], i8, b1, f8[::1], i8[::1], i8[::1], f8[::1], i8[::1])")
def cut_between(
    seen: Any, amount: Any, least: int, line: bool, position: Any, parent: Any, depth: Any, loss: Any, cut: Any
) -> float:
    """The best cut between two neighbours: what lies up to ``cut[1]`` goes apart. Gives the fall of the loss."""
    lo, hi, total = seen[0], seen[-1], amount.sum()
    whole = total * width(lo, hi, line, position, parent, depth, loss)
    best, below = LITTLE, 0
    for i in range(len(seen) - 1):
        below += amount[i]
        above = total - below
        if below < least or above < least:
            continue
        fall = whole - below * width(lo, seen[i], line, position, parent, depth, loss)
        fall -= above * width(seen[i + 1], hi, line, position, parent, depth, loss)
        if fall > best:
            best, cut[0], cut[1] = fall, lo, seen[i]
    return best if best > LITTLE else 0.0


@kernel("f8(i8[::1], i8[::1], i8, f8[::1], i8[::1], i8[::1], f8[::1], i8[::1])")
def cut_of_child(
    seen: Any, amount: Any, least: int, position: Any, parent: Any, depth: Any, loss: Any, cut: Any
) -> float:
    """The best cut of what stands under one child of the node above all, with the rest left behind."""
    top = lowest_above(np.int64(position[seen[0]]), np.int64(position[seen[-1]]), parent, depth)
    total, best, first = amount.sum(), LITTLE, 0
    while first < len(seen):
        child, last, inside = np.int64(-1), first, 0
        while last < len(seen):
            node = np.int64(position[seen[last]])
            while node != top and parent[node] != top:
                node = parent[node]
            if last > first and node != child:
                break
            child = node
            inside += amount[last]
            last += 1
        if inside >= least and total - inside >= least:
            apart = width(seen[first], seen[last - 1], False, position, parent, depth, loss)
            # What is left keeps the node above all, or may even leave it; counting on that is not needed.
            fall = inside * (loss[top] - apart)
            if fall > best:
                best, cut[0], cut[1] = fall, seen[first], seen[last - 1]
        first = last
    return best if best > LITTLE else 0.0


@kernel("void(i8[::1], i8[::1], i8[::1], i8, b1, f8[::1], i8[::1], i8[::1], f8[::1], f8[::1], i8[:, ::1])")
def best_cuts(
    code: Any,
    records: Any,
    start: Any,
    least: int,
    line: bool,
    position: Any,
    parent: Any,
    depth: Any,
    loss: Any,
    fall: Any,
    cut: Any,
) -> None:
    """For every class the cut by one key that lowers the loss most, with ``least`` records on both sides.

    Codes from ``cut[c, 0]`` to ``cut[c, 1]`` are one side; ``fall`` is 0 where there is no cut.
    """
    other = np.zeros(2, np.int64)
    for c in range(len(start) - 1):
        mine = code[start[c] : start[c + 1]]
        fall[c] = 0.0
        if mine[0] < 0 or mine.min() == mine.max():
            continue
        seen, amount = tallied(mine, records[start[c] : start[c + 1]])
        if amount.sum() < 2 * least:
            continue
        fall[c] = cut_between(seen, amount, least, line, position, parent, depth, loss, cut[c])
        if not line:
            more = cut_of_child(seen, amount, least, position, parent, depth, loss, other)
            if more > fall[c]:
                fall[c], cut[c, 0], cut[c, 1] = more, other[0], other[1]


@kernel("i8(i8[::1], i8[::1], b1[::1], b1[::1], i8[::1], i8[::1])")
def divided(order: Any, start: Any, halved: Any, inside: Any, new_order: Any, new_start: Any) -> int:
    """Classes that are cut, in two: first the cells inside the cut, then the others. Gives how many there are."""
    place, found = 0, 0
    new_start[0] = 0
    for c in range(len(start) - 1):
        if not halved[c]:
            continue
        for half in range(2):
            for at in range(start[c], start[c + 1]):
                if inside[at] == (half == 0):
                    new_order[place] = order[at]
                    place += 1
            found += 1
            new_start[found] = place
    return found


@kernel("void(i8[:, ::1], i8[::1], i8[::1], i8[::1], i8[:, :, ::1], b1[::1])")
def inside_cuts(codes: Any, cells: Any, start: Any, key: Any, cut: Any, inside: Any) -> None:
    """Which cells of each class lie inside its cut by its key."""
    for c in range(len(start) - 1):
        low, high = cut[key[c], c, 0], cut[key[c], c, 1]
        for at in range(start[c], start[c + 1]):
            inside[at] = low <= codes[key[c], cells[at]] <= high


@kernel("void(i8[::1], i8[::1], i8[::1], i8[::1])")
def ends_of(code: Any, start: Any, lowest: Any, highest: Any) -> None:
    """The lowest and the highest code of every class."""
    for c in range(len(start) - 1):
        mine = code[start[c] : start[c + 1]]
        lowest[c], highest[c] = mine.min(), mine.max()
