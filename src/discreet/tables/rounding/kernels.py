"""Compiled loops of the rounding methods."""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Floats, Ints
from discreet.solve.stream import Words, next_word, unit_draw


@kernel("int64(int64, int64[::1], int64[::1], int64[::1])")
def violation(j: int, z: Ints, floor: Ints, ceil: Ints) -> int:
    """How far a sum lies outside of its multiples."""
    return int(max(0, floor[j] - z[j], z[j] - ceil[j]))


@kernel("Tuple((int64[::1], int64))(int64[::1], int64[::1], int64[::1], int64[::1])")
def counted_violations(rows: Ints, z: Ints, floor: Ints, ceil: Ints) -> tuple[Ints, int]:
    """How many sums lie how far outside, with room for twice as much, and the worst of them."""
    top = 0
    for j in rows:
        top = max(top, violation(j, z, floor, ceil))
    counts = np.zeros(2 * max(top, 1) + 64, np.int64)
    for j in rows:
        counts[violation(j, z, floor, ceil)] += 1
    return counts, top


@kernel("int64(int64, int64, int64, int64[::1], int64[::1], int64[::1], int64[::1])")
def recounted(j: int, move: int, top: int, counts: Ints, z: Ints, floor: Ints, ceil: Ints) -> int:
    """Move a sum and count its violation anew; the worst so far."""
    last = len(counts) - 1
    counts[min(violation(j, z, floor, ceil), last)] -= 1
    z[j] += move
    new = min(violation(j, z, floor, ceil), last)
    counts[new] += 1
    return max(top, new)


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
    counts, top = counted_violations(np.arange(len(z)), z, floor, ceil)
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
            old = violation(j, z, floor, ceil)
            now = z[j] + move * times[k]
            new = max(0, floor[j] - now, now - ceil[j])
            change += new * new - old * old
        if change > 0 and unit_draw(state) >= np.exp(-change / heat):
            continue
        x[i] += move
        for k in range(start[i], start[i + 1]):
            top = recounted(row[k], move * times[k], top, counts, z, floor, ceil)
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
