"""Kernels of the hypercube engine."""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints, Status

NEW_CELL = 1e9
"""A new cell weighs more than all costs, where the fewest new cells are looked for."""
DIVISORS = 10
"""A demand that cannot be met is divided by 2, 3, ... up to this, and dropped at last."""
KEPT, TRUSTING, HOLLOW, REDUCED, LOST = 0, 1, 2, 3, 4
"""What became of a cell: protected as asked, against outsiders only, by corners of value zero, by less than its demand,
not at all."""

_LINES = "i4[::1], i8[::1], i8[::1], i8[::1], i8[::1]"
_CELLS = "b1[::1], b1[::1], b1[::1], i8[::1], f8[::1], f8[::1], f8[::1]"


@kernel("void(i8, i8, b1[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1])")
def touch(
    cell: int,
    spare: int,
    waiting: Bools,
    place_start: Ints,
    place: Ints,
    strides: Ints,
    first: Ints,
    line_start: Ints,
    line: Ints,
) -> None:
    """Mark all sub-tables that hold a cell, but one, as waiting."""
    if cell + 1 >= len(place_start):
        return
    dimensions = len(strides)
    low, high, at = np.zeros((3, dimensions), np.int64)
    for e in range(place_start[cell], place_start[cell + 1]):
        rest, offset, nothing = place[e], 0, False
        for k in range(dimensions):
            code = rest // strides[k]
            rest -= code * strides[k]
            low[k], high[k] = line_start[offset + code], line_start[offset + code + 1]
            at[k] = low[k]
            nothing |= low[k] == high[k]
            offset += first[dimensions + 1 + k]
        while not nothing:
            number = 0
            for k in range(dimensions):
                number = number * (first[k + 1] - first[k]) + line[at[k]] - first[k]
            if number != spare:
                waiting[number] = True
            k = dimensions - 1
            while k >= 0:
                at[k] += 1
                if at[k] < high[k]:
                    break
                at[k] = low[k]
                k -= 1
            if k < 0:
                break


@kernel("i8(i8, i8, i8)")
def _free_from(index: int, own: int, avoid: int) -> int:
    """The first index, from one on, that is neither the target's own nor to be avoided."""
    while index in (own, avoid):
        index += 1
    return index


@kernel(f"f8(i8, i8[::1], i8[::1], i8[::1], i8[::1], {_LINES}, {_CELLS}, b1, f8, f8, b1, b1, f8)")
def best_box(
    target: int,
    own: Ints,
    lines: Ints,
    avoid: Ints,
    chosen: Ints,
    grid: Codes,
    strides: Ints,
    start: Ints,
    code: Ints,
    dims: Ints,
    withheld: Bools,
    allowed: Bools,
    sole: Bools,
    holder: Ints,
    up: Floats,
    down: Floats,
    weight: Floats,
    careful: bool,
    need_up: float,
    need_down: float,
    width_only: bool,
    count_first: bool,
    margin: float,
) -> float:
    """Price of the cheapest box around a target (infinite where there is none); ``chosen`` gets its other indices.

    A box takes one other index in every dimension of ``dims``. ``own`` are the target's indices in the sub-table (0 is
    the total), ``avoid`` indices that must not be used. Corners turn their sign from one part to another, not between
    a part and its total. A ``careful`` search takes no corner that another single contributor fills.
    """
    active = len(dims)
    best = np.inf
    base = 0
    for k in range(len(own)):
        base += code[start[lines[k]] + own[k]] * strides[k]
    other, length = np.zeros(active, np.int64), np.zeros(active, np.int64)
    for a in range(active):
        k = dims[a]
        length[a] = start[lines[k] + 1] - start[lines[k]]
        other[a] = _free_from(0, own[k], avoid[k])
        if other[a] >= length[a]:
            return best
    while True:
        rise, fall, price, good = up[target], down[target], 0.0, True
        for corner in range(1, 1 << active):
            at, sign, total = base, 1, False
            for a in range(active):
                k = dims[a]
                if corner >> a & 1:
                    at += (code[start[lines[k]] + other[a]] - code[start[lines[k]] + own[k]]) * strides[k]
                    if other[a] > 0 and own[k] > 0:
                        sign = -sign
                    total |= other[a] == 0
                else:
                    total |= own[k] == 0
            cell = grid[at]
            if cell < 0 or not allowed[cell] or (careful and sole[cell] and holder[cell] != holder[target]):
                good = False
                break
            if sign > 0:
                rise, fall = min(rise, up[cell]), min(fall, down[cell])
            else:
                rise, fall = min(rise, down[cell]), min(fall, up[cell])
            if not withheld[cell]:
                price += weight[cell]
                if count_first:
                    price += NEW_CELL
                    if total:
                        price += margin
            if price >= best:
                good = False
                break
        if good and rise + fall > 0:
            if width_only:
                good = rise + fall >= need_up + need_down
            else:
                good = rise >= need_up and fall >= need_down
            if good:
                best = price
                for a in range(active):
                    chosen[dims[a]] = other[a]
                if price == 0.0:
                    return best
        a = active - 1
        while a >= 0:
            k = dims[a]
            other[a] = _free_from(other[a] + 1, own[k], avoid[k])
            if other[a] < length[a]:
                break
            other[a] = _free_from(0, own[k], avoid[k])
            a -= 1
        if a < 0:
            return best


@kernel("Tuple((i8, i8[::1]))(i8, i8[::1], i8[::1], i8[::1])")
def _lines_of(number: int, first: Ints, start: Ints, lines: Ints) -> tuple[int, Ints]:
    """Find the lines of a sub-table by its number; how many places it has, and the dimensions with several codes."""
    rest, size, active = number, 1, 0
    for k in range(len(lines) - 1, -1, -1):
        lines[k] = first[k] + rest % (first[k + 1] - first[k])
        rest //= first[k + 1] - first[k]
        size *= start[lines[k] + 1] - start[lines[k]]
        active += start[lines[k] + 1] - start[lines[k]] > 1
    dims = np.zeros(active, np.int64)
    a = 0
    for k in range(len(lines)):
        if start[lines[k] + 1] - start[lines[k]] > 1:
            dims[a] = k
            a += 1
    return size, dims


@kernel("i8(i8, i8[::1], i8[::1], i8[::1], i8[::1], i8[::1])")
def _place_of(i: int, lines: Ints, start: Ints, code: Ints, strides: Ints, own: Ints) -> int:
    """The place in the grid of a place in a sub-table; ``own`` gets its indices there."""
    at = 0
    for k in range(len(lines) - 1, -1, -1):
        n = start[lines[k] + 1] - start[lines[k]]
        own[k] = i % n
        at += code[start[lines[k]] + own[k]] * strides[k]
        i //= n
    return at


@kernel("i8[::1](i8, i8[::1], i8[::1], i8[::1], i8[::1], i4[::1], b1[::1], f8[::1], f8[::1], i8[::1])")
def _targets(
    size: int,
    lines: Ints,
    start: Ints,
    code: Ints,
    strides: Ints,
    grid: Codes,
    withheld: Bools,
    need_up: Floats,
    need_down: Floats,
    own: Ints,
) -> Ints:
    """Places of a sub-table that are withheld: large demands first, among equals the order of the cells."""
    places, key, count = np.empty(size, np.int64), np.empty(size, np.float64), 0
    for i in range(size):
        cell = grid[_place_of(i, lines, start, code, strides, own)]
        if cell >= 0 and withheld[cell]:
            places[count], key[count] = i, -(need_up[cell] + need_down[cell])
            count += 1
    return places[np.argsort(key[:count], kind="mergesort")]


@kernel(
    f"Tuple((i8, f8))(i8, f8, i8[::1], i8[::1], i8[::1], i8[::1], {_LINES}, {_CELLS}, b1[::1], f8[::1], f8[::1], b1,"
    " b1, b1, f8)"
)
def _first_box(
    target: int,
    share: float,
    own: Ints,
    lines: Ints,
    nowhere: Ints,
    chosen: Ints,
    grid: Codes,
    strides: Ints,
    start: Ints,
    code: Ints,
    dims: Ints,
    withheld: Bools,
    allowed: Bools,
    sole: Bools,
    holder: Ints,
    up: Floats,
    down: Floats,
    weight: Floats,
    solid: Bools,
    need_up: Floats,
    need_down: Floats,
    careful: bool,
    width_only: bool,
    count_first: bool,
    margin: float,
) -> tuple[int, float]:
    """What becomes of a target, and the price of its box: the first found of those that protect less and less."""
    asks_up, asks_down = need_up[target] * share, need_down[target] * share
    asks_nothing = asks_up == 0.0 and asks_down == 0.0
    careful = careful and sole[target]
    for step in range(DIVISORS + 3):
        if (step == 0 and not careful) or (1 < step < DIVISORS + 2 and asks_nothing):
            continue
        part = 1.0 / max(step, 1) if step <= DIVISORS else 0.0
        corners = solid if step < DIVISORS + 2 else allowed
        price = best_box(
            target, own, lines, nowhere, chosen, grid, strides, start, code, dims, withheld, corners, sole, holder, up,
            down, weight, step == 0, asks_up * part, asks_down * part, width_only, count_first, margin,
        )  # fmt: skip
        if price < np.inf:
            if step <= 1:
                return TRUSTING if step == 1 and careful else KEPT, price
            return HOLLOW if asks_nothing else REDUCED, price
    return LOST, np.inf


@kernel(
    "void(i8, i8, i8[::1], i8[::1], i8[::1], i4[::1], i8[::1], i8[::1], i8[::1], i8[::1], b1[::1], b1[::1], i8[::1],"
    " i8[::1], i8[::1], i8[::1], i8[::1])"
)
def _withhold_corners(
    number: int,
    at: int,
    own: Ints,
    lines: Ints,
    chosen: Ints,
    grid: Codes,
    strides: Ints,
    start: Ints,
    code: Ints,
    dims: Ints,
    withheld: Bools,
    waiting: Bools,
    first: Ints,
    place_start: Ints,
    place: Ints,
    line_start: Ints,
    line: Ints,
) -> None:
    """Withhold the corners of a box, and make the other sub-tables that hold them wait."""
    for corner in range(1, 1 << len(dims)):
        spot = at
        for a in range(len(dims)):
            if corner >> a & 1:
                k = dims[a]
                spot += (code[start[lines[k]] + chosen[k]] - code[start[lines[k]] + own[k]]) * strides[k]
        cell = grid[spot]
        if not withheld[cell]:
            withheld[cell] = True
            touch(cell, number, waiting, place_start, place, strides, first, line_start, line)


@kernel(
    f"i8(i8[::1], b1[::1], f8[::1], i4[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1],"
    f" {_CELLS}, b1[::1], f8[::1], f8[::1], b1, b1, b1, b1, f8, i1[::1])"
)
def sweep(
    order: Ints,
    waiting: Bools,
    share: Floats,
    grid: Codes,
    strides: Ints,
    first: Ints,
    start: Ints,
    code: Ints,
    place_start: Ints,
    place: Ints,
    line_start: Ints,
    line: Ints,
    withheld: Bools,
    allowed: Bools,
    sole: Bools,
    holder: Ints,
    up: Floats,
    down: Floats,
    weight: Floats,
    solid: Bools,
    need_up: Floats,
    need_down: Floats,
    careful: bool,
    double: bool,
    width_only: bool,
    count_first: bool,
    margin: float,
    state: Status,
) -> int:
    """Protect the withheld cells of the waiting sub-tables of ``order``, one after the other; how many boxes.

    ``share`` says for every sub-table which part of the demands counts there; ``state`` keeps the worst that became of
    every cell. Corners are ``solid`` cells; only where there is no such box at all, others (of value zero) are taken.
    Cells that are withheld on the way make other sub-tables wait.
    """
    lines, own = np.zeros_like(strides), np.zeros_like(strides)
    chosen, again, nowhere = np.zeros_like(strides), np.zeros_like(strides), np.full_like(strides, -1)
    boxes = 0
    for o in range(len(order)):
        number = order[o]
        if not waiting[number]:
            continue
        waiting[number] = False
        size, dims = _lines_of(number, first, start, lines)
        if len(dims) == 0:
            continue
        for i in _targets(size, lines, start, code, strides, grid, withheld, need_up, need_down, own):
            at = _place_of(i, lines, start, code, strides, own)
            target = grid[at]
            result, price = _first_box(
                target, share[number], own, lines, nowhere, chosen, grid, strides, start, code, dims, withheld, allowed,
                sole, holder, up, down, weight, solid, need_up, need_down, careful, width_only, count_first, margin,
            )  # fmt: skip
            for attempt in range(2):
                if attempt == 1:
                    if not (double and sole[target]) or result == LOST:
                        break
                    price = best_box(
                        target, own, lines, chosen, again, grid, strides, start, code, dims, withheld, solid, sole,
                        holder, up, down, weight, False, 0.0, 0.0, width_only, count_first, margin,
                    )  # fmt: skip
                    if price == np.inf:
                        result = max(result, TRUSTING)
                        break
                    chosen[:] = again
                if result == LOST or price == 0.0:
                    continue
                boxes += 1
                _withhold_corners(
                    number, at, own, lines, chosen, grid, strides, start, code, dims, withheld, waiting, first,
                    place_start, place, line_start, line,
                )  # fmt: skip
            state[target] = max(state[target], result)
    return boxes
