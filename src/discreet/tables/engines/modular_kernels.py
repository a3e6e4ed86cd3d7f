"""Kernels of the modular engine: attackers on a two-way table, as flows between its rows and columns.

Row ``i`` (node ``i``) and column ``j`` (node ``rows + j``), 0 being the totals, are tied by cell ``(i, j)``. A cell
that rises sends flow from its row to its column if it is an inner cell or the grand total, otherwise the other way.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints

ENOUGH = 1 - 1e-9
ORIGIN, GOAL = 1, 2
VIOLATED = 1e-6
"""Cuts that a point misses by less are of no use."""


@kernel(
    "Tuple((f8[::1], i8[::1], i4[::1], f8[::1]))(i8[::1], b1[::1], i8[::1], i8[::1], f8[::1], i8, i8[:, ::1], f8[::1],"
    " f8[::1], f8[::1], b1[::1])"
)
def flows(
    line: Ints,
    inward: Bools,
    first: Ints,
    member: Ints,
    level: Floats,
    rows: int,
    cell: Ints,
    up: Floats,
    down: Floats,
    share: Floats,
    settled: Bools,
) -> tuple[Floats, Ints, Codes, Floats]:
    """How far each demand gets, at most to its level, and cuts for those that do not get there.

    Demand ``k`` is on cells of one line (node ``line[k]``), ``member[first[k]:first[k + 1]]``: their sum must be able
    to move, so that flow runs from the line to the other ends of these cells by other cells, or back (``inward``).
    ``cell`` is the array of the table's cells (-1 where there is none), ``share`` how much of its room each may use,
    ``settled`` which are withheld in any case. Cut ``k`` is ``coefficient @ x[cell] >= 1`` with the entries from
    ``start[k]`` to ``start[k + 1]``.
    """
    columns = cell.shape[1]
    nodes = rows + columns
    demands = len(line)
    reached = np.zeros(demands, np.float64)
    flow = np.zeros(len(up), np.float64)
    come_by, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    before = np.empty(nodes, np.int64)
    inside, first_side = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    start, cuts = np.zeros(2 * demands + 1, np.int64), 0
    out_cell, out_value = np.empty(256, np.int32), np.empty(256, np.float64)
    filled = 0
    role, shut = np.zeros(nodes, np.int8), np.zeros(len(up), np.bool_)
    for d in range(demands):
        need = level[d]
        role[:] = 0
        shut[:] = False
        for e in range(first[d], first[d + 1]):
            i, j = member[e] // columns, member[e] % columns
            role[rows + j if line[d] == i else i] = ORIGIN if inward[d] else GOAL
            shut[member[e]] = True
        role[line[d]] = GOAL if inward[d] else ORIGIN
        flow[:] = 0.0
        sent = 0.0
        while sent < need * ENOUGH:
            waiting, done, end = 0, 0, -1
            for v in range(nodes):
                come_by[v] = -1
                if role[v] == ORIGIN:
                    come_by[v] = -2
                    queue[waiting] = v
                    waiting += 1
            while done < waiting and end < 0:
                u = queue[done]
                done += 1
                for w in range(columns if u < rows else rows):
                    v, i, j = (rows + w, u, w) if u < rows else (w, w, u - rows)
                    c = cell[i, j]
                    if come_by[v] != -1 or c < 0 or shut[c]:
                        continue
                    forward = ((i == 0) == (j == 0)) == (u < rows)
                    room = min(up[c] if forward else down[c], need) * share[c] + (-flow[c] if forward else flow[c])
                    if room <= need * 1e-12:
                        continue
                    come_by[v] = 2 * c + (1 if forward else 0)
                    before[v] = u
                    if role[v] == GOAL:
                        end = v
                        break
                    queue[waiting] = v
                    waiting += 1
            if end < 0:
                break
            amount, v = need - sent, end
            while come_by[v] >= 0:
                c = come_by[v] >> 1
                if come_by[v] & 1:
                    amount = min(amount, min(up[c], need) * share[c] - flow[c])
                else:
                    amount = min(amount, min(down[c], need) * share[c] + flow[c])
                v = before[v]
            v = end
            while come_by[v] >= 0:
                flow[come_by[v] >> 1] += amount if come_by[v] & 1 else -amount
                v = before[v]
            sent += amount
        reached[d] = sent
        if sent >= need * ENOUGH:
            continue
        for side in range(2):
            if side == 0:
                for v in range(nodes):
                    inside[v] = come_by[v] != -1
                    first_side[v] = inside[v]
            else:
                # Nodes from which the goals can still be reached are outside, all others inside.
                waiting, done = 0, 0
                for v in range(nodes):
                    inside[v] = role[v] != GOAL
                    if not inside[v]:
                        queue[waiting] = v
                        waiting += 1
                while done < waiting:
                    u = queue[done]
                    done += 1
                    for w in range(columns if u < rows else rows):
                        v, i, j = (rows + w, u, w) if u < rows else (w, w, u - rows)
                        c = cell[i, j]
                        if not inside[v] or c < 0 or shut[c]:
                            continue
                        forward = ((i == 0) == (j == 0)) == (v < rows)
                        room = min(up[c] if forward else down[c], need) * share[c] + (-flow[c] if forward else flow[c])
                        if room > need * 1e-12:
                            inside[v] = False
                            queue[waiting] = v
                            waiting += 1
                same = True
                for v in range(nodes):
                    same &= inside[v] == first_side[v]
                if same:
                    break
            rest, begin = 1.0, filled
            for i in range(rows):
                for j in range(columns):
                    c = cell[i, j]
                    if c < 0 or shut[c] or inside[i] == inside[rows + j]:
                        continue
                    forward = ((i == 0) == (j == 0)) == inside[i]
                    given = min(up[c] if forward else down[c], need) / need
                    if given <= 0.0:
                        continue
                    if settled[c]:
                        rest -= given
                        continue
                    if filled == len(out_cell):
                        out_cell = np.concatenate((out_cell, np.empty(filled, np.int32)))
                        out_value = np.concatenate((out_value, np.empty(filled, np.float64)))
                    out_cell[filled], out_value[filled] = c, given
                    filled += 1
            have = 0.0
            if rest > 1e-9:
                for e in range(begin, filled):
                    out_value[e] = min(out_value[e] / rest, 1.0)
                    have += out_value[e] * share[out_cell[e]]
            if rest <= 1e-9 or have > 1 - VIOLATED:
                filled = begin
                continue
            cuts += 1
            start[cuts] = filled
    return reached, start[: cuts + 1], out_cell[:filled], out_value[:filled]
