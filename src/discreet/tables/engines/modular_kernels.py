"""Kernels of the modular engine: attackers on a two-way table, as flows between its rows and columns.

Row ``i`` (node ``i``) and column ``j`` (node ``rows + j``), 0 being the totals, are tied by cell ``(i, j)``. A cell
that rises sends flow from its row to its column if it is an inner cell or the grand total, otherwise the other way.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints
from discreet.solve.flow import ORIGIN, UNREACHED, find_way, room_along, send_along

ENOUGH = 1 - 1e-9
NO_ROOM = 1e-12
"""Room for less than this share of a level is rounding error."""
VIOLATED = 1e-6
"""Cuts that a point misses by less are of no use."""

_GRAPH = "i8[::1], i8[::1], i8[::1], i8[::1]"


@kernel(f"f8(f8, b1[::1], b1[::1], {_GRAPH}, f8[::1], f8[::1], f8[::1], i8[::1], i8[::1])")
def _sent(
    need: float,
    origin: Bools,
    goal: Bools,
    tail: Ints,
    head: Ints,
    begin: Ints,
    arcs: Ints,
    ahead: Floats,
    back: Floats,
    flow: Floats,
    came: Ints,
    queue: Ints,
) -> float:
    """How much of what is needed gets from the origins to the goals; ``came`` says what was reached at last."""
    flow[:] = 0.0
    sent = 0.0
    while sent < need * ENOUGH:
        for v in range(len(came)):
            came[v] = ORIGIN if origin[v] else UNREACHED
        end = find_way(tail, head, begin, arcs, ahead, back, flow, need * NO_ROOM, goal, came, queue)
        if end < 0:
            break
        amount = room_along(end, need - sent, tail, head, came, ahead, back, flow)
        send_along(end, amount, tail, head, came, flow)
        sent += amount
    return sent


@kernel("i8(f8, b1[::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[::1], b1[::1], b1[::1], i8, i4[::1], f8[::1])")
def _cut(
    need: float,
    inside: Bools,
    tail: Ints,
    head: Ints,
    up: Floats,
    down: Floats,
    share: Floats,
    shut: Bools,
    settled: Bools,
    begin: int,
    out_cell: Codes,
    out_value: Floats,
) -> int:
    """Write the cut of the cells that lead out of ``inside``; where it ends, or -1 if it is of no use."""
    rest, filled = 1.0, begin
    for c in range(len(tail)):
        if shut[c] or inside[tail[c]] == inside[head[c]]:
            continue
        given = min(up[c] if inside[tail[c]] else down[c], need) / need
        if given <= 0.0:
            continue
        if settled[c]:
            rest -= given
            continue
        out_cell[filled], out_value[filled] = c, given
        filled += 1
    if rest <= 1e-9:
        return -1
    have = 0.0
    for e in range(begin, filled):
        out_value[e] = min(out_value[e] / rest, 1.0)
        have += out_value[e] * share[out_cell[e]]
    return -1 if have > 1 - VIOLATED else filled


@kernel(
    "Tuple((f8[::1], i8[::1], i4[::1], f8[::1]))(i8[::1], b1[::1], i8[::1], i8[::1], f8[::1],"
    f" {_GRAPH}, f8[::1], f8[::1], f8[::1], b1[::1])"
)
def flows(
    line: Ints,
    inward: Bools,
    first: Ints,
    member: Ints,
    level: Floats,
    tail: Ints,
    head: Ints,
    begin: Ints,
    arcs: Ints,
    up: Floats,
    down: Floats,
    share: Floats,
    settled: Bools,
) -> tuple[Floats, Ints, Codes, Floats]:
    """How far each demand gets, at most to its level, and cuts for those that do not get there.

    Demand ``k`` is on cells of one line (node ``line[k]``), ``member[first[k]:first[k + 1]]``: their sum must be able
    to move, so that flow runs from the line to the other ends of these cells by other cells, or back (``inward``).
    Cells are arcs from ``tail`` to ``head``, ``share`` is how much of its room each may use, ``settled`` which are
    withheld in any case. Cut ``k`` is ``coefficient @ x[cell] >= 1`` with the entries from ``start[k]`` to
    ``start[k + 1]``.
    """
    nodes, cells, demands = len(begin) - 1, len(tail), len(line)
    reached = np.zeros(demands, np.float64)
    flow, ahead, back = np.empty(cells), np.empty(cells), np.empty(cells)
    came, other_came, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    origin, goal, nowhere = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    inside, shut = np.zeros(nodes, np.bool_), np.zeros(cells, np.bool_)
    start, cuts, filled = np.zeros(2 * demands + 1, np.int64), 0, 0
    out_cell, out_value = np.empty(max(256, cells), np.int32), np.empty(max(256, cells), np.float64)
    for d in range(demands):
        need = level[d]
        origin[:], goal[:], shut[:] = False, False, False
        for c in range(cells):
            ahead[c], back[c] = min(up[c], need) * share[c], min(down[c], need) * share[c]
        for c in member[first[d] : first[d + 1]]:
            goal[head[c] if tail[c] == line[d] else tail[c]] = True
            shut[c], ahead[c], back[c] = True, 0.0, 0.0
        origin[line[d]] = True
        if inward[d]:
            origin, goal = goal, origin
        reached[d] = _sent(need, origin, goal, tail, head, begin, arcs, ahead, back, flow, came, queue)
        if reached[d] >= need * ENOUGH:
            continue
        # Two cuts: around what the origins reach, and around all from which the goals can no longer be reached.
        for v in range(nodes):
            other_came[v] = ORIGIN if goal[v] else UNREACHED
        find_way(head, tail, begin, arcs, ahead, back, flow, need * NO_ROOM, nowhere, other_came, queue)
        for side in range(2):
            same = True
            for v in range(nodes):
                within = came[v] != UNREACHED if side == 0 else other_came[v] == UNREACHED
                same &= inside[v] == within
                inside[v] = within
            if side == 1 and same:
                break
            if filled + cells > len(out_cell):
                out_cell = np.concatenate((out_cell, np.empty(filled + cells, np.int32)))
                out_value = np.concatenate((out_value, np.empty(filled + cells, np.float64)))
            end = _cut(need, inside, tail, head, up, down, share, shut, settled, filled, out_cell, out_value)
            if end >= 0:
                cuts += 1
                start[cuts] = filled = end
    return reached, start[: cuts + 1], out_cell[:filled], out_value[:filled]
