"""Compiled loops of the rounding methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.jit import kernel
from discreet.model.arrays import Floats, Ints, Status

Words = NDArray[np.uint64]


@kernel("uint64(uint64[::1])")
def next_word(state: Words) -> Any:
    """The next of a stream of 64-bit numbers (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(2685821657736338717)


@kernel("float64(uint64[::1])")
def unit_draw(state: Words) -> float:
    return float(next_word(state) >> np.uint64(11)) * 2.0**-53


@kernel(
    "int64(int64, uint64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "int64[::1], int64[::1], int64[::1], float64, float64, int64[::1])"
)
def anneal(
    steps: int,
    state: Words,
    start: Ints,
    row: Ints,
    times: Ints,
    x: Ints,
    low: Ints,
    high: Ints,
    movable: Ints,
    z: Ints,
    floor: Ints,
    ceil: Ints,
    hot: float,
    cold: float,
    best: Ints,
) -> int:
    """Search rounded values whose worst sum lies as near as possible to its own neighbouring multiples.

    ``x`` are multiples of the free cells in ``low`` to ``high``; column ``i`` stands in sums ``row`` with ``times``;
    ``z`` are the sums, to lie in ``floor`` to ``ceil``. One cell moves one step at a time; energy is the sum of squared
    violations. The best ``x`` found goes into ``best``; the answer is its worst violation.
    """
    size = 1
    for j in range(len(z)):
        size = max(size, floor[j] - z[j], z[j] - ceil[j])
    size = 2 * size + 64
    counts = np.zeros(size, np.int64)
    top = 0
    for j in range(len(z)):
        v = max(0, floor[j] - z[j], z[j] - ceil[j])
        counts[v] += 1
        top = max(top, v)
    found = top
    best[:] = x
    if len(movable) == 0:
        return found
    cooling = (cold / hot) ** (1.0 / max(steps, 1))
    heat = hot
    for _ in range(steps):
        if found == 0:
            break
        heat *= cooling
        i = movable[next_word(state) % np.uint64(len(movable))]
        if high[i] - low[i] == 1:
            move = 1 if x[i] == low[i] else -1
        else:
            move = 1 if next_word(state) & np.uint64(1) else -1
            if x[i] + move < low[i] or x[i] + move > high[i]:
                continue
        change = 0
        for k in range(start[i], start[i + 1]):
            j = row[k]
            old = max(0, floor[j] - z[j], z[j] - ceil[j])
            now = z[j] + move * times[k]
            new = max(0, floor[j] - now, now - ceil[j])
            change += new * new - old * old
        if change > 0 and unit_draw(state) >= np.exp(-change / heat):
            continue
        x[i] += move
        for k in range(start[i], start[i + 1]):
            j = row[k]
            old = max(0, floor[j] - z[j], z[j] - ceil[j])
            z[j] += move * times[k]
            new = min(max(0, floor[j] - z[j], z[j] - ceil[j]), size - 1)
            counts[min(old, size - 1)] -= 1
            counts[new] += 1
            top = max(top, new)
        while top > 0 and counts[top] == 0:
            top -= 1
        if top < found:
            found = top
            best[:] = x
    return found


@kernel(
    "int64(int64, uint64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "int64[::1], float64[::1], int64, float64, float64)"
)
def cheaper(
    steps: int,
    state: Words,
    start: Ints,
    row: Ints,
    times: Ints,
    x: Ints,
    low: Ints,
    movable: Ints,
    z: Ints,
    floor_ceil: Ints,
    weight: Floats,
    worst: int,
    hot: float,
    cold: float,
) -> int:
    """Anneal towards less weight: a cell goes from one of its multiples to the other while no sum lies further out.

    Cells ``movable`` stand at ``low`` or one above; sums may lie ``worst`` beyond their own multiples.
    """
    half = len(z)
    moved = 0
    if len(movable) == 0:
        return moved
    cooling = (cold / hot) ** (1.0 / max(steps, 1))
    heat = hot
    for _ in range(steps):
        heat *= cooling
        i = movable[next_word(state) % np.uint64(len(movable))]
        move = 1 if x[i] == low[i] else -1
        dearer = move * weight[i]
        if dearer > 0.0 and unit_draw(state) >= np.exp(-dearer / heat):
            continue
        good = True
        for k in range(start[i], start[i + 1]):
            j = row[k]
            now = z[j] + move * times[k]
            if now < floor_ceil[j] - worst or now > floor_ceil[half + j] + worst:
                good = False
                break
        if good:
            x[i] += move
            moved += 1
            for k in range(start[i], start[i + 1]):
                z[row[k]] += move * times[k]
    return moved


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
