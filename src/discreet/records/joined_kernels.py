"""Compiled loops of local recoding beside a population: cuts that leave enough records and units on every side.

Codes, scales and classes are those of ``mondrian_kernels``. A side without records publishes nothing: it needs nobody,
unless every unit must have a chance to be in the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.records.mondrian_kernels import LITTLE, lowest_above, width

CHILDREN = 1
"""The mark of a cut that takes all children of a node apart."""


@kernel("b1(i8, i8, f8[::1])")
def side_fits(records: int, units: int, limits: Any) -> bool:
    """Whether a side keeps the rules: least records, least units, least and greatest share of units in the file."""
    if records == 0:
        return bool(limits[2] <= 0)
    enough = records >= limits[0] and units >= limits[1]
    return bool(enough and limits[2] * units <= records <= limits[3] * units)


@kernel("Tuple((i8[::1], i8[::1], i8[::1]))(i8[::1], i8[::1], i8[::1])")
def joined_tally(code: Any, records: Any, units: Any) -> Any:
    """Codes that occur in the file or the population, in rising order, with the records and units of each."""
    order = np.argsort(code, kind="mergesort")
    seen, mine, theirs = np.empty(len(code), np.int64), np.zeros(len(code), np.int64), np.zeros(len(code), np.int64)
    many = 0
    for at in order:
        if many == 0 or seen[many - 1] != code[at]:
            seen[many] = code[at]
            many += 1
        mine[many - 1] += records[at]
        theirs[many - 1] += units[at]
    return seen[:many].copy(), mine[:many].copy(), theirs[:many].copy()


@kernel("f8(i8[::1], i8[::1], i8[::1], f8[::1], b1, f8[::1], i8[::1], i8[::1], f8[::1], i8[::1])")
def joined_cut_between(
    seen: Any,
    mine: Any,
    theirs: Any,
    limits: Any,
    line: bool,
    position: Any,
    parent: Any,
    depth: Any,
    loss: Any,
    cut: Any,
) -> float:
    """The best cut between two neighbours: what lies up to ``cut[1]`` goes apart. Gives the fall of the loss."""
    lo, hi, records, units = seen[0], seen[-1], mine.sum(), theirs.sum()
    whole = records * width(lo, hi, line, position, parent, depth, loss)
    best, below, below_units = LITTLE, 0, 0
    for i in range(len(seen) - 1):
        below += mine[i]
        below_units += theirs[i]
        if line and position[seen[i]] == position[seen[i + 1]]:
            continue  # one number, written in two ways: both intervals would hold it
        if not side_fits(below, below_units, limits) or not side_fits(records - below, units - below_units, limits):
            continue
        fall = whole - below * width(lo, seen[i], line, position, parent, depth, loss)
        fall -= (records - below) * width(seen[i + 1], hi, line, position, parent, depth, loss)
        if fall > best:
            best, cut[0], cut[1], cut[2] = fall, lo, seen[i], 0
    return best if best > LITTLE else 0.0


@kernel("i8(i8, i8, i8[::1])")
def child_under(node: Any, top: Any, parent: Any) -> Any:
    """The child of ``top`` under which a node stands; ``top`` itself where it is the node."""
    while node != top and parent[node] != top:
        node = parent[node]
    return node


@kernel("f8(i8[::1], i8[::1], i8[::1], f8[::1], b1, f8[::1], i8[::1], i8[::1], f8[::1], i8[::1])")
def joined_cut_of_children(
    seen: Any,
    mine: Any,
    theirs: Any,
    limits: Any,
    disjoint: bool,
    position: Any,
    parent: Any,
    depth: Any,
    loss: Any,
    cut: Any,
) -> float:
    """The best cut by children of the node above all: one of them goes apart, or each of them.

    With ``disjoint`` only each of them, so that no code stands above another.
    """
    top = lowest_above(np.int64(position[seen[0]]), np.int64(position[seen[-1]]), parent, depth)
    records, units, best, first = mine.sum(), theirs.sum(), LITTLE, 0
    all_fit, whole_fall = True, 0.0
    while first < len(seen):
        child = child_under(np.int64(position[seen[first]]), top, parent)
        last, inside, inside_units = first, 0, 0
        while last < len(seen) and child_under(np.int64(position[seen[last]]), top, parent) == child:
            inside += mine[last]
            inside_units += theirs[last]
            last += 1
        apart = width(seen[first], seen[last - 1], False, position, parent, depth, loss)
        fits = side_fits(inside, inside_units, limits)
        all_fit = all_fit and fits and not (disjoint and child == top)
        fall = inside * (loss[top] - apart)
        whole_fall += fall
        if not disjoint and fits and fall > best and side_fits(records - inside, units - inside_units, limits):
            best, cut[0], cut[1], cut[2] = fall, seen[first], seen[last - 1], 0
        first = last
    if all_fit and whole_fall > best:
        best, cut[0], cut[1], cut[2] = whole_fall, seen[0], seen[-1], CHILDREN
    return best if best > LITTLE else 0.0


@kernel(
    "void(i8[::1], i8[::1], i8[::1], i8[::1], f8[::1], b1, b1, f8[::1], i8[::1], i8[::1], f8[::1], f8[::1], i8[:, ::1])"
)
def best_joined_cuts(
    code: Any,
    records: Any,
    units: Any,
    start: Any,
    limits: Any,
    disjoint: bool,
    line: bool,
    position: Any,
    parent: Any,
    depth: Any,
    loss: Any,
    fall: Any,
    cut: Any,
) -> None:
    """For every class the cut by one key that lowers the loss most; ``fall`` is 0 where there is none."""
    other = np.zeros(3, np.int64)
    for c in range(len(start) - 1):
        mine = code[start[c] : start[c + 1]]
        fall[c] = 0.0
        if mine.min() == mine.max():
            continue
        seen, amount, people = joined_tally(mine, records[start[c] : start[c + 1]], units[start[c] : start[c + 1]])
        if line or not disjoint:
            fall[c] = joined_cut_between(seen, amount, people, limits, line, position, parent, depth, loss, cut[c])
        if not line:
            more = joined_cut_of_children(seen, amount, people, limits, disjoint, position, parent, depth, loss, other)
            if more > fall[c]:
                fall[c] = more
                cut[c, :] = other


@kernel("void(i8[::1], i8[::1], b1[::1], i8[:, ::1], f8[::1], i8[::1], i8[::1], i8[::1])")
def parts_of_cuts(
    code: Any, start: Any, tried: Any, cut: Any, position: Any, parent: Any, depth: Any, part: Any
) -> None:
    """The side of every combination in classes that are tried: 0 inside the cut, 1 outside, or the node of a child."""
    for c in range(len(start) - 1):
        if not tried[c]:
            continue
        if cut[c, 2] != CHILDREN:
            for at in range(start[c], start[c + 1]):
                part[at] = 0 if cut[c, 0] <= code[at] <= cut[c, 1] else 1
            continue
        top = lowest_above(np.int64(position[cut[c, 0]]), np.int64(position[cut[c, 1]]), parent, depth)
        for at in range(start[c], start[c + 1]):
            part[at] = child_under(np.int64(position[code[at]]), top, parent)
