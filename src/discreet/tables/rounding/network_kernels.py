"""Compiled loops over networks: cells are arcs, relations nodes, and what adds up is a circulation."""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Floats, Ints, Status
from discreet.tables.rounding.kernels import Words, next_word, unit_draw

FAR = 2**62
"""A distance that no way has."""


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


@kernel("Tuple((int64[::1], int64[::1], int64[::1]))(int64[::1], int64[::1], int64)")
def arcs_of_nodes(tail: Ints, head: Ints, nodes: int) -> tuple[Ints, Ints, Ints]:
    """Where the arcs of each node begin, how many there are, and the arcs in their order; a loop stands once."""
    count = np.zeros(nodes, np.int64)
    for a in range(len(tail)):
        count[tail[a]] += 1
        count[head[a]] += tail[a] != head[a]
    begin = np.zeros(nodes + 1, np.int64)
    for v in range(nodes):
        begin[v + 1] = begin[v] + count[v]
    place = begin[:-1].copy()
    arcs = np.empty(begin[nodes], np.int64)
    for a in range(len(tail)):
        arcs[place[tail[a]]] = a
        place[tail[a]] += 1
        if tail[a] != head[a]:
            arcs[place[head[a]]] = a
            place[head[a]] += 1
    return begin, count, arcs


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


@kernel(
    "boolean(int64, int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], boolean[::1], int64[::1], int64[::1])"
)
def least_weight(
    step: int,
    tail: Ints,
    head: Ints,
    begin: Ints,
    arcs: Ints,
    weight: Ints,
    movable: Bools,
    rest: Ints,
    left: Ints,
) -> bool:
    """Round a circulation with the least weight: shortest ways from nodes with too much to nodes with too little.

    ``rest`` is how far each arc lies above a multiple, ``left`` where it goes: 0 or ``step``, wherever it is cheaper to
    begin with. What raising an arc costs is its ``weight``. Node potentials, under which no change is cheaper than
    nothing, prove the answer; it is ``False`` where arcs that are not ``movable`` leave no way or the proof fails.
    """
    nodes = len(begin) - 1
    much = np.zeros(nodes, np.int64)
    for a in range(len(tail)):
        much[head[a]] += left[a] - rest[a]
        much[tail[a]] -= left[a] - rest[a]
    for v in range(nodes):
        if much[v] % step != 0:
            return False
        much[v] //= step
    potential = np.zeros(nodes, np.int64)
    distance, came = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    done = np.empty(nodes, np.bool_)
    while True:
        wanted = False
        for v in range(nodes):
            distance[v], came[v], done[v] = (0 if much[v] > 0 else FAR), -1, False
            wanted |= much[v] > 0
        if not wanted:
            break
        while True:
            node, reach = -1, FAR
            for v in range(nodes):
                if not done[v] and distance[v] < reach:
                    node, reach = v, distance[v]
            if node < 0:
                return False
            done[node] = True
            if much[node] < 0:
                break
            for k in range(begin[node], begin[node + 1]):
                a = arcs[k]
                if not movable[a]:
                    continue
                if left[a] == 0 and tail[a] == node:
                    other, cost = head[a], weight[a]
                elif left[a] == step and head[a] == node:
                    other, cost = tail[a], -weight[a]
                else:
                    continue
                further = reach + cost + potential[node] - potential[other]
                if further < distance[other]:
                    distance[other], came[other] = further, a
        for v in range(nodes):
            potential[v] += min(distance[v], reach)
        much[node] += 1
        while came[node] >= 0:
            a = came[node]
            node = tail[a] if head[a] == node else head[a]
            left[a] = step - left[a]
        much[node] -= 1
    for a in range(len(tail)):
        reduced = weight[a] + potential[tail[a]] - potential[head[a]]
        if movable[a] and ((left[a] == 0 and reduced < 0) or (left[a] == step and reduced > 0)):
            return False
    return True


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
                came = path_arc[depth]
                arc = -1
                k = alive[node] - 1
                while k >= 0:
                    candidate = arcs[begin[node] + k]
                    if rest[candidate] == 0 or rest[candidate] == step:
                        alive[node] -= 1
                        arcs[begin[node] + k] = arcs[begin[node] + alive[node]]
                        arcs[begin[node] + alive[node]] = candidate
                    elif candidate != came:
                        arc = candidate
                        break
                    k -= 1
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
                up, down, cost = step, step, 0.0
                for d in range(first, depth + 1):
                    a = path_arc[d]
                    if tail[a] == path_node[d - 1]:
                        up, down = min(up, step - rest[a]), min(down, rest[a])
                        cost += weight[a]
                    else:
                        up, down = min(up, rest[a]), min(down, step - rest[a])
                        cost -= weight[a]
                if drawn:
                    rise = unit_draw(state) * (up + down) < down
                else:
                    rise = cost <= 0.0
                amount = up if rise else -down
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
    came = np.empty(nodes, np.int64)
    queue = np.empty(nodes, np.int64)
    picked = 0
    for arc in order:
        if rest[arc] == 0 or rest[arc] == step:
            continue
        up = (next_word(state) >> np.uint64(40)) & np.uint64(1) == np.uint64(1)
        coin[arc] = 1 if up else -1
        picked += 1
        need = step - rest[arc] if up else rest[arc]
        rest[arc] = step if up else 0
        if tail[arc] == head[arc]:
            continue
        source, sink = (head[arc], tail[arc]) if up else (tail[arc], head[arc])
        while need > 0:
            came[:] = -2
            came[source] = -1
            first, last = 0, 1
            queue[0] = source
            while first < last and came[sink] == -2:
                node = queue[first]
                first += 1
                for k in range(begin[node], begin[node + 1]):
                    a = arcs[k]
                    if rest[a] == 0 or rest[a] == step:
                        continue
                    other = head[a] if tail[a] == node else tail[a]
                    if came[other] == -2:
                        came[other] = a
                        queue[last] = other
                        last += 1
            if came[sink] == -2:
                return -1
            amount, node = need, sink
            while node != source:
                a = came[node]
                if head[a] == node:
                    amount, node = min(amount, step - rest[a]), tail[a]
                else:
                    amount, node = min(amount, rest[a]), head[a]
            node = sink
            while node != source:
                a = came[node]
                if head[a] == node:
                    rest[a] += amount
                    node = tail[a]
                else:
                    rest[a] -= amount
                    node = head[a]
            need -= amount
    return picked
