"""Compiled loops over networks: cells are arcs, relations nodes, and what adds up is a circulation."""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Floats, Ints, Status
from discreet.solve.flow import ORIGIN, UNREACHED, find_way, room_along, send_along
from discreet.solve.stream import Words, next_word, unit_draw


@kernel("int64(int64[::1], boolean[::1], int64)")
def leader(above: Ints, turned: Bools, node: int) -> int:
    """The first node of its group; afterwards the node stands below it at once, and ``turned`` is relative to it."""
    first, other = node, False
    while above[first] != first:
        other ^= turned[first]
        first = above[first]
    while above[node] != node:
        then, mine = above[node], turned[node]
        above[node], turned[node] = first, other
        other ^= mine
        node = then
    return first


@kernel("boolean(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def as_arcs(start: Ints, cell: Ints, sign: Ints, rows: Ints, tail: Ints, head: Ints) -> bool:
    """Write every cell as an arc between the relations ``rows`` that it stands in, if it can be done.

    Each cell must stand in at most two of them, with signs that become opposite when some relations are turned round;
    the first relation of a group that hangs together is not. The node behind the last stands for no relation.
    """
    outside = len(rows)
    count = np.zeros(len(tail), np.int8)
    signs = np.ones((2, len(tail)), np.int8)
    tail[:], head[:] = outside, outside
    for r in range(len(rows)):
        for e in range(start[rows[r]], start[rows[r] + 1]):
            c = cell[e]
            if abs(sign[e]) != 1 or count[c] == 2:
                return False
            signs[count[c], c] = sign[e]
            if count[c] == 0:
                tail[c] = r
            else:
                head[c] = r
            count[c] += 1
    above = np.arange(outside + 1)
    turned = np.zeros(outside + 1, np.bool_)
    for c in range(len(tail)):
        if count[c] < 2:
            continue
        one, two = leader(above, turned, tail[c]), leader(above, turned, head[c])
        differ = signs[0, c] == signs[1, c]
        if one == two:
            if turned[tail[c]] ^ turned[head[c]] != differ:
                return False
            continue
        differ ^= turned[tail[c]] ^ turned[head[c]]
        above[max(one, two)], turned[max(one, two)] = min(one, two), differ
    for c in range(len(tail)):
        leader(above, turned, tail[c])
        if (signs[0, c] > 0) == turned[tail[c]]:  # a positive sign is an arc that leaves the node
            tail[c], head[c] = head[c], tail[c]
    return True


@kernel("int64(int64, int64, int64, int64[::1], int64[::1], int64[::1], int64[::1])")
def _arc_between(node: int, came: int, step: int, begin: Ints, alive: Ints, arcs: Ints, rest: Ints) -> int:
    """The last arc of a node that lies between multiples, but for ``came``; -1 where there is none.

    Arcs that have come to a multiple are put behind those that are ``alive``.
    """
    k = alive[node] - 1
    while k >= 0:
        arc = arcs[begin[node] + k]
        if rest[arc] == 0 or rest[arc] == step:
            alive[node] -= 1
            arcs[begin[node] + k] = arcs[begin[node] + alive[node]]
            arcs[begin[node] + alive[node]] = arc
        elif arc != came:
            return int(arc)
        k -= 1
    return -1


@kernel(
    "int64(int64, uint64[::1], int64, int64, int64[::1], int64[::1], int64[::1], int64[::1], float64[::1], boolean)"
)
def _amount_round(
    step: int,
    state: Words,
    first: int,
    last: int,
    path_node: Ints,
    path_arc: Ints,
    tail: Ints,
    rest: Ints,
    weight: Floats,
    drawn: bool,
) -> int:
    """How far a cycle moves until one of its arcs comes to a multiple, in one direction or (below zero) the other."""
    up, down, cost = step, step, 0.0
    for d in range(first, last + 1):
        a = path_arc[d]
        if tail[a] == path_node[d - 1]:
            up, down = min(up, step - rest[a]), min(down, rest[a])
            cost += weight[a]
        else:
            up, down = min(up, rest[a]), min(down, step - rest[a])
            cost -= weight[a]
    rise = unit_draw(state) * (up + down) < down if drawn else cost <= 0.0
    return up if rise else -down


@kernel(
    "int64(int64, uint64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], float64[::1], "
    "boolean)"
)
def cancel_cycles(
    step: int,
    state: Words,
    tail: Ints,
    head: Ints,
    begin: Ints,
    alive: Ints,
    arcs: Ints,
    rest: Ints,
    weight: Floats,
    drawn: bool,
) -> int:
    """Round a circulation: move along cycles of arcs that lie between multiples until none is left.

    ``rest`` is how far each arc lies above a multiple; it becomes 0 or ``step``. Each cycle moves one way or the other:
    ``drawn`` with the chances that keep every arc's mean, otherwise the way that costs less. Node ``u`` has the arcs
    ``arcs[begin[u] : begin[u] + alive[u]]``. The answer is -1 where an arc cannot be part of any cycle.
    """
    nodes = len(alive)
    place = np.full(nodes, -1, np.int64)
    path_node = np.empty(nodes + 1, np.int64)
    path_arc = np.empty(nodes + 1, np.int64)
    cycles = 0
    for source in range(nodes):
        while True:
            depth = 0
            path_node[0], path_arc[0], place[source] = source, -1, 0
            ended = False
            while True:
                node = path_node[depth]
                arc = _arc_between(node, path_arc[depth], step, begin, alive, arcs, rest)
                if arc < 0:
                    if depth == 0 and alive[node] == 0:
                        ended = True
                        break
                    for d in range(depth + 1):
                        place[path_node[d]] = -1
                    return -1
                other = head[arc] if tail[arc] == node else tail[arc]
                depth += 1
                path_node[depth], path_arc[depth] = other, arc
                if place[other] < 0:
                    place[other] = depth
                    continue
                first = place[other] + 1
                amount = _amount_round(step, state, first, depth, path_node, path_arc, tail, rest, weight, drawn)
                broken = depth
                for d in range(first, depth + 1):
                    a = path_arc[d]
                    rest[a] += amount if tail[a] == path_node[d - 1] else -amount
                    if broken == depth and d < broken and (rest[a] == 0 or rest[a] == step):
                        broken = d
                cycles += 1
                keep = broken - 1
                for d in range(keep + 1, depth):
                    place[path_node[d]] = -1
                place[path_node[keep]] = keep
                depth = keep
            if ended:
                place[source] = -1
                break
    return cycles


@kernel("void(int64, int64, int64[::1], int64[::1], int64[::1])")
def _stay(arc: int, step: int, rest: Ints, ahead: Ints, back: Ints) -> None:
    """Take all room from an arc that has come to a multiple."""
    if rest[arc] == 0 or rest[arc] == step:
        ahead[arc], back[arc] = rest[arc], -rest[arc]


@kernel("int64(int64, uint64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int8[::1])")
def fair_coins(
    step: int,
    state: Words,
    order: Ints,
    tail: Ints,
    head: Ints,
    begin: Ints,
    arcs: Ints,
    rest: Ints,
    coin: Status,
) -> int:
    """Round a circulation arc by arc: a fair coin for each arc that is still between multiples, the rest follows.

    ``coin`` becomes 1 (up) or -1 (down) for the arcs that a coin was tossed for. The answer is -1 where what an arc
    needs cannot be sent round.
    """
    nodes = len(begin) - 1
    came, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    goal = np.zeros(nodes, np.bool_)
    # An arc between multiples has room both ways; one that has come to a multiple stays there.
    ahead, back = np.full(len(rest), step), np.zeros(len(rest), np.int64)
    for a in range(len(rest)):
        _stay(a, step, rest, ahead, back)
    picked = 0
    for arc in order:
        if rest[arc] == 0 or rest[arc] == step:
            continue
        up = (next_word(state) >> np.uint64(40)) & np.uint64(1) == np.uint64(1)
        coin[arc] = 1 if up else -1
        picked += 1
        need = step - rest[arc] if up else rest[arc]
        rest[arc] = step if up else 0
        _stay(arc, step, rest, ahead, back)
        if tail[arc] == head[arc]:
            continue
        source, sink = (head[arc], tail[arc]) if up else (tail[arc], head[arc])
        goal[sink] = True
        while need > 0:
            came[:] = UNREACHED
            came[source] = ORIGIN
            if find_way(tail, head, begin, arcs, ahead, back, rest, 0, goal, came, queue) < 0:
                return -1
            amount = room_along(sink, need, tail, head, came, ahead, back, rest)
            send_along(sink, amount, tail, head, came, rest)
            node = sink
            while came[node] >= 0:
                a = came[node]
                _stay(a, step, rest, ahead, back)
                node = tail[a] if head[a] == node else head[a]
            need -= amount
        goal[sink] = False
    return picked
