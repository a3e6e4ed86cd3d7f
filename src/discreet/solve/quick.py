"""Small linear programs solved by a compiled dual simplex method: most cells need no more than a hundred neighbours.

The program is that of :mod:`discreet.solve.small`, and the answer is made exact in the same way. Where the tableau does
not lead to an exact answer, nothing is found, and a larger neighbourhood or the general solver has to look.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints, Status
from discreet.solve.neighbourhood import nearest, program_of
from discreet.solve.settling import settle
from discreet.solve.small import COST_RANGE, EXACT, FAR, FEWER_CELLS, KEEP_OFF, LEAST_ROOM, ZERO

TINY, ROUNDING = 1e-9, 1e-12
MOST_WORK = 4_000_000
"""Entries of the tableau that are looked at before the general solver is called: it is faster where many cells move."""
NONE, FOUND, UNKNOWN = 0, 1, 2


@kernel("f8[:,::1](f8[:,::1], i8, i8, i8, i8, i8[::1], i4[::1], i8[::1], i8[::1])")
def _opened(
    table: Floats,
    number: int,
    row: int,
    width: int,
    n: int,
    row_start: Ints,
    row_cell: Codes,
    row_sign: Ints,
    column_of: Ints,
) -> Floats:
    """The tableau with a relation written into its row ``number``; it grows where it has to."""
    if number == len(table):
        larger = np.empty((2 * len(table), table.shape[1]))
        larger[:number] = table
        table = larger
    table[number, :width] = 0.0
    for e in range(row_start[row], row_start[row + 1]):
        for way in range(2):
            column = column_of[row_cell[e] + way * n]
            if column >= 0:
                table[number, column] = row_sign[e] if way == 0 else -row_sign[e]
    return table


@kernel("i8(i4[::1], i4[::1], i8[::1], i8, i8, f8, f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], i8[::1])")
def cheapest(
    start: Codes,
    index: Codes,
    sign: Ints,
    rows: int,
    at: int,
    direction: float,
    up: Floats,
    down: Floats,
    rise: Floats,
    fall: Floats,
    moves: Floats,
    effort: Ints,
) -> int:
    """The cheapest moves that keep all relations when cell ``at`` moves by one in a direction: FOUND, NONE or UNKNOWN.

    Cells rise by at most ``up`` at a charge of ``rise`` and fall by at most ``down`` at ``fall``. All charges are
    positive, so that standing still is dual feasible, and every pivot repairs one relation or bound at the least
    charge. Cells with little room go to their bounds on the way without a pivot. A relation enters the tableau when one
    of its cells moves: most never do.
    """
    effort[0] += 1
    n = len(start) - 1
    row_start = np.zeros(rows + 1, np.int64)
    for e in range(len(index)):
        row_start[index[e] + 1] += 1
    for i in range(rows):
        row_start[i + 1] += row_start[i]
    row_cell, row_sign = np.empty(len(index), np.int32), np.empty(len(index), np.int64)
    fill = row_start[:-1].copy()
    for k in range(n):
        for e in range(start[k], start[k + 1]):
            row_cell[fill[index[e]]] = k
            row_sign[fill[index[e]]] = sign[e]
            fill[index[e]] += 1
    cost, room = np.empty(2 * n), np.empty(2 * n)
    high = np.zeros(2 * n, np.bool_)
    name, column_of = np.empty(2 * n, np.int64), np.full(2 * n, -1, np.int64)
    width = 0
    for way in range(2):
        for k in range(n):
            most = up[k] if way == 0 else down[k]
            if k != at and most > 0.0:
                cost[width] = rise[k] if way == 0 else fall[k]
                room[width] = most
                name[width] = k + way * n
                column_of[k + way * n] = width
                width += 1
    table = np.empty((min(rows, 32), width))
    place = np.full(rows, -1, np.int64)
    value, top = np.zeros(rows), np.zeros(rows)
    basic = np.full(rows, -1, np.int64)
    used = np.empty(width, np.int64)
    opened = 0
    for e in range(start[at], start[at + 1]):
        if place[index[e]] < 0:
            place[index[e]] = opened
            table = _opened(table, opened, index[e], width, n, row_start, row_cell, row_sign, column_of)
            opened += 1
        value[place[index[e]]] -= sign[e] * direction
    answer = UNKNOWN
    work = 0
    while work < MOST_WORK:
        row, gap = -1, TINY
        for i in range(opened):
            off = -value[i] if value[i] < 0.0 else value[i] - top[i]
            if off > gap:
                row, gap = i, off
        if row < 0:
            answer = FOUND
            break
        effort[1] += 1
        below = value[row] < 0.0
        work += width + opened
        count = 0
        for j in range(width):
            if table[row, j] != 0.0:
                used[count] = j
                count += 1
        column = -1
        while True:
            column, least, size = -1, np.inf, 0.0
            for u in range(count):
                j = used[u]
                a = table[row, j]
                if below != high[j]:
                    a = -a
                if a > TINY:
                    ratio = abs(cost[j]) / a
                    if ratio < least or (ratio == least and a > size):
                        column, least, size = j, ratio, a
            if column < 0:
                break
            cell = name[column] % n
            for e in range(start[cell], start[cell + 1]):
                if place[index[e]] < 0:
                    place[index[e]] = opened
                    table = _opened(table, opened, index[e], width, n, row_start, row_cell, row_sign, column_of)
                    opened += 1
            if room[column] * size >= gap - TINY:
                break
            # Going all the way to the other bound is not enough: it goes there, and the search continues.
            far = -room[column] if high[column] else room[column]
            for i in range(opened):
                if table[i, column] != 0.0:
                    value[i] -= table[i, column] * far
            high[column] = not high[column]
            gap -= room[column] * size
        if column < 0:
            answer = NONE
            break
        pivot = table[row, column]
        bound = 0.0 if below else top[row]
        step = (value[row] - bound) / pivot
        for i in range(opened):
            if table[i, column] != 0.0:
                value[i] -= table[i, column] * step
        entering = step + (room[column] if high[column] else 0.0)
        charge = cost[column]
        for u in range(count):
            j = used[u]
            table[row, j] /= pivot
            cost[j] -= charge * table[row, j]
        for i in range(opened):
            factor = table[i, column]
            if i != row and factor != 0.0:
                work += count
                for u in range(count):
                    j = used[u]
                    new = table[i, j] - factor * table[row, j]
                    table[i, j] = new if abs(new) > ROUNDING else 0.0
                table[i, column] = -factor / pivot
        table[row, column] = 1.0 / pivot
        cost[column] = -charge / pivot
        gone, limit, who = basic[row], top[row], name[column]
        basic[row], top[row], value[row] = who, room[column], entering
        column_of[who] = -1
        if gone < 0:
            # A relation that holds from now on leaves no column behind.
            width -= 1
            if column != width:
                for i in range(opened):
                    table[i, column] = table[i, width]
                cost[column], room[column] = cost[width], room[width]
                high[column], name[column] = high[width], name[width]
                column_of[name[width]] = column
        else:
            room[column], high[column], name[column] = limit, not below, gone
            column_of[gone] = column
    if answer != FOUND:
        return answer
    moves[:] = 0.0
    moves[at] = direction
    for i in range(opened):
        if basic[i] >= 0:
            if basic[i] < n:
                moves[basic[i]] += value[i]
            else:
                moves[basic[i] - n] -= value[i]
    for j in range(width):
        if high[j]:
            if name[j] < n:
                moves[name[j]] += room[j]
            else:
                moves[name[j] - n] -= room[j]
    return answer


@kernel(
    "b1(i4[::1], i4[::1], i4[::1], i8[::1], i8, i8, i8, i8, f8[::1], f8[::1], f8[::1], i8[::1], i8[::1], i8[::1],"
    "i8[::1])"
)
def exact_amounts(
    cells: Codes,
    start: Codes,
    index: Codes,
    sign: Ints,
    rows: int,
    at: int,
    direction: int,
    level: int,
    moves: Floats,
    up: Floats,
    down: Floats,
    value: Ints,
    lower: Ints,
    upper: Ints,
    amount: Ints,
) -> bool:
    """The moves in whole units, where cells at their bounds and the relations give them and all bounds are kept."""
    n = len(cells)
    unknown = np.zeros(n, np.bool_)
    total, largest = 0.0, 1
    for k in range(n):
        amount[k] = 0
        size = abs(moves[k])
        total += size
        if k == at:
            amount[k] = direction * level
        elif size > ZERO:
            near = ZERO * max(1.0, size)
            c = cells[k]
            if abs(moves[k] - up[k]) <= near and up[k] < FAR:
                amount[k] = upper[c] - value[c]
            elif abs(moves[k] + down[k]) <= near and down[k] < FAR:
                amount[k] = lower[c] - value[c]
            else:
                unknown[k] = True
    for e in range(len(sign)):
        largest = max(largest, abs(sign[e]))
    if total * level * largest >= EXACT or not settle(start, index, sign, rows, amount, unknown):
        return False
    for k in range(n):
        c = cells[k]
        if k == at or amount[k] == 0:
            continue
        new = value[c] + amount[k]
        if (lower[c] > NO_LOWER and new < lower[c]) or (upper[c] < NO_UPPER and new > upper[c]):
            return False
    return True


@kernel("Tuple((f8[::1], f8[::1]))(i4[::1], i8, i8[::1], i8[::1], i8[::1])")
def _rooms(cells: Codes, level: int, value: Ints, lower: Ints, upper: Ints) -> tuple[Floats, Floats]:
    """How far cells can rise and fall, in multiples of the level."""
    up, down = np.empty(len(cells)), np.empty(len(cells))
    for k in range(len(cells)):
        c = cells[k]
        up[k] = FAR if upper[c] >= NO_UPPER else min((float(upper[c]) - value[c]) / level, FAR)
        down[k] = FAR if lower[c] <= NO_LOWER else min((value[c] - float(lower[c])) / level, FAR)
    return up, down


@kernel("void(b1, f8, i4[::1], f8[::1], b1[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[::1])")
def _charge(
    again: bool,
    heaviest: float,
    cells: Codes,
    cost: Floats,
    withheld: Bools,
    up: Floats,
    down: Floats,
    moves: Floats,
    rise: Floats,
    fall: Floats,
) -> None:
    """What cells are charged for rising and falling; ``again`` such that the last moves are charged their price."""
    n = len(cells)
    for k in range(n):
        c = cells[k]
        scaled = cost[c] * (KEEP_OFF if withheld[c] else 1.0) / heaviest * COST_RANGE
        scaled += FEWER_CELLS * (1.0 + 0.5 * k / n)
        if again:
            size = abs(moves[k])
            if size <= ZERO:
                size = min(max(up[k], down[k]), 1.0)
            rise[k] = fall[k] = scaled / max(size, LEAST_ROOM)
        else:
            rise[k] = scaled / min(max(up[k], LEAST_ROOM), 1.0)
            fall[k] = scaled / min(max(down[k], LEAST_ROOM), 1.0)


@kernel("f8(i4[::1], f8[::1], f8[::1], b1[::1])")
def _price(cells: Codes, moves: Floats, cost: Floats, withheld: Bools) -> float:
    """What the cells that move cost, but for those that are withheld already."""
    price = 0.0
    for k in range(len(cells)):
        if abs(moves[k]) > ZERO and not withheld[cells[k]]:
            price += cost[cells[k]]
    return price


@kernel("Tuple((i4[::1], i8[::1], f8))(i4[::1], i8[::1], f8[::1], b1[::1])")
def _in_order(cells: Codes, amount: Ints, cost: Floats, withheld: Bools) -> tuple[Codes, Ints, float]:
    """Cells that move in the order of their numbers, their amounts, and what those cost that are not withheld yet."""
    moved = 0
    for k in range(len(cells)):
        if amount[k] != 0:
            moved += 1
    moved_cells, by = np.empty(moved, np.int32), np.empty(moved, np.int64)
    moved, price = 0, 0.0
    for k in np.argsort(cells, kind="mergesort"):
        if amount[k] != 0:
            moved_cells[moved] = cells[k]
            by[moved] = amount[k]
            if not withheld[cells[k]]:
                price += cost[cells[k]]
            moved += 1
    return moved_cells, by, price


_GRAPH = "i4[::1], i4[::1], i8[::1], i4[::1], i4[::1], i8[::1]"
_SCRATCH = "f8[::1], i1[::1], i1[::1], f8[::1], i4[::1], i4[::1]"


@kernel(
    "Tuple((i4[::1], i8[::1], f8))(i8, i8, i8, i4[::1], f8, f8, i8, f8[::1], b1[::1], i8[::1], i8[::1], i8[::1],"
    "i4[::1], i4[::1], i8[::1], i4[::1], i8[::1])"
)
def quick_among(
    target: int,
    direction: int,
    level: int,
    chosen: Codes,
    for_certain: float,
    budget: float,
    rounds: int,
    cost: Floats,
    withheld: Bools,
    value: Ints,
    lower: Ints,
    upper: Ints,
    cell_start: Codes,
    cell_row: Codes,
    coefficient: Ints,
    place: Codes,
    effort: Ints,
) -> tuple[Codes, Ints, float]:
    """Cells, amounts and cost of an exact alternative among chosen cells; no cells where none was found.

    The cost is then ``for_certain`` where there is none among them, and not a number where this solver does not know.
    The arguments are those of :class:`discreet.solve.local.LocalPrograms`; ``effort`` counts programs and pivots.
    """
    no_cells, no_amounts = np.empty(0, np.int32), np.empty(0, np.int64)
    cells, start, index, sign = program_of(target, chosen, cell_start, cell_row, coefficient, place)
    n = len(cells)
    if n == 0:
        return no_cells, no_amounts, for_certain
    rows = 0
    for e in range(len(index)):
        rows = max(rows, index[e] + 1)
    up, down = _rooms(cells, level, value, lower, upper)
    heaviest, at = 1e-300, -1
    for k in range(n):
        c = cells[k]
        if c == target:
            at = k
        heaviest = max(heaviest, cost[c] * KEEP_OFF if withheld[c] else cost[c])
    rise, fall, moves = np.empty(n), np.empty(n), np.empty(n)
    best_moves, best_price = np.empty(0, np.int64), np.inf
    amount = np.empty(n, np.int64)
    for again in range(rounds + 1):
        _charge(again > 0, heaviest, cells, cost, withheld, up, down, moves, rise, fall)
        found = cheapest(start, index, sign, rows, at, float(direction), up, down, rise, fall, moves, effort)
        if again == 0 and found != FOUND:
            return no_cells, no_amounts, for_certain if found == NONE else np.nan
        if found != FOUND:
            break
        price = _price(cells, moves, cost, withheld)
        if price >= budget or price >= best_price * (1 - 1e-9):
            break
        if not exact_amounts(
            cells, start, index, sign, rows, at, direction, level, moves, up, down, value, lower, upper, amount
        ):
            break
        best_moves, best_price = amount.copy(), price
        if price == 0.0:
            break
    if len(best_moves) == 0:
        return no_cells, no_amounts, np.inf
    moved_cells, by, best_price = _in_order(cells, best_moves, cost, withheld)
    if best_price >= budget:
        return no_cells, no_amounts, np.inf
    return moved_cells, by, best_price


@kernel(
    "Tuple((i4[::1], i8[::1], f8))(i8, i8, i8, i8, i8, f8, f8, i8, f8[::1], f8[::1], f8[::1], f8[::1], b1[::1],"
    f"b1[::1], i8[::1], i8[::1], i8[::1], {_GRAPH}, {_SCRATCH}, i8[::1])"
)
def quick_alternative(
    target: int,
    direction: int,
    level: int,
    most: int,
    measure: int,
    budget: float,
    step: float,
    rounds: int,
    cost: Floats,
    weight: Floats,
    room: Floats,
    headroom: Floats,
    movable: Bools,
    withheld: Bools,
    value: Ints,
    lower: Ints,
    upper: Ints,
    cell_start: Codes,
    cell_row: Codes,
    coefficient: Ints,
    row_start: Codes,
    row_cell: Codes,
    row_coefficient: Ints,
    distance: Floats,
    rises: Status,
    opened: Status,
    key: Floats,
    item: Codes,
    place: Codes,
    effort: Ints,
) -> tuple[Codes, Ints, float]:
    """The same in the neighbourhood of a cell; minus infinity where all cells within reach were looked at."""
    chosen = nearest(
        target, direction, most, measure, budget, step, float(level), weight, room, headroom, movable,
        cell_start, cell_row, coefficient, row_start, row_cell, row_coefficient, distance, rises, opened, key, item,
    )  # fmt: skip
    for_certain = -np.inf if len(chosen) < most else np.inf
    return quick_among(
        target, direction, level, chosen, for_certain, budget, rounds, cost, withheld, value, lower, upper,
        cell_start, cell_row, coefficient, place, effort,
    )  # fmt: skip
