"""Directions of unsafe cells: several quick choices, the best of them, then flips where the prices promise a gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.tables.adjust.moves import MoveLimits
from discreet.tables.adjust.programs import BestMoves, Programs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROUNDS = 40
"""So many rounds of flips are tried at most,"""
FLIP_WORK = 500_000_000
"""and no more when simplex iterations times columns have come to this: some ten seconds."""
QUICK_WHEN_LARGE = 3
"""So many of the quick choices, the balanced ones and the alternating one, are tried on large tables."""
PASSES = 5
"""So many times balanced directions are gone through again."""
COARSE = 1e-2
"""How near the best of several directions is looked for where programs are solved by prices."""


def started(programs: Programs, matrix: csr_array) -> BestMoves | None:
    """The best of several quick choices, improved by flips; ``None`` where none of them allows any moves.

    Large programs try the first of them only, without flips.
    """
    tried = choices(matrix, programs.moves)
    if programs.large:
        tried = [chosen for chosen in tried[:QUICK_WHEN_LARGE] if programs.possible(chosen)]
    found = [programs.cheapest(chosen, COARSE) for chosen in tried]
    good = [answer for answer in found if answer is not None]
    if not good:
        return None
    best = min(good, key=lambda answer: answer.cost)
    if not programs.large:
        return improved(programs, best)
    # Where thousands of cells move, prices hold for no flip that is worth it: none brought a gain where it was tried.
    assert best.directions is not None
    return programs.cheapest(best.directions)


def choices(matrix: csr_array, moves: MoveLimits) -> list[Bools]:
    """Directions by quick rules: balanced over relations, alternating from the largest level down, all up, all down.

    A cell that can move one way only moves that way.
    """
    count = len(moves.unsafe)
    rise, fall = moves.can_rise, moves.can_fall
    order = np.lexsort((np.arange(count), -np.maximum(moves.least_up, moves.least_down)))
    alternating = np.zeros(count, np.bool_)
    alternating[order[::2]] = True
    balanced = _balanced(matrix, moves, order)
    made = [
        _balanced(matrix, moves, order, balanced),
        balanced,
        alternating,
        ~alternating,
        np.ones(count, np.bool_),
        np.zeros(count, np.bool_),
    ]
    return [np.where(rise & fall, chosen, rise) for chosen in made]


def _balanced(matrix: csr_array, moves: MoveLimits, order: Ints, before: Bools | None = None) -> Bools:
    """From the largest level down: the way that leaves the relations of a cell more even.

    Directions from ``before`` are gone through again and again, each cell with all the others as they stand.
    """
    columns = matrix.tocsc()
    left = np.zeros(matrix.shape[0])
    up = np.zeros(len(order), np.bool_) if before is None else before.copy()
    step = np.where(up, moves.least_up, -moves.least_down)
    if before is not None:
        left = np.asarray(columns[:, moves.unsafe] @ step, np.float64)
    rise, fall = moves.can_rise, moves.can_fall
    for _ in range(1 if before is None else PASSES):
        for i in order.tolist():
            cell = moves.unsafe[i]
            span = slice(columns.indptr[cell], columns.indptr[cell + 1])
            rows, sign = columns.indices[span], columns.data[span]
            others = left[rows] if before is None else left[rows] - sign * step[i]
            risen = np.abs(others + sign * moves.least_up[i]).sum()
            fallen = np.abs(others - sign * moves.least_down[i]).sum()
            up[i] = rise[i] and (not fall[i] or risen < fallen)
            step[i] = moves.least_up[i] if up[i] else -moves.least_down[i]
            left[rows] = others + sign * step[i]
    return up


def improved(programs: Programs, answer: BestMoves) -> BestMoves:
    """Flip the directions whose prices promise a gain, fewer at a time when that brings none."""
    moves, best = programs.moves, answer
    share = 1.0
    for _ in range(ROUNDS):
        if _enough(programs):
            break
        gain = _promised(programs, best)
        worth = np.flatnonzero(gain > 1e-9)
        if not len(worth):
            break
        take = worth[np.argsort(-gain[worth], kind="stable")][: max(1, int(share * len(worth)))]
        directions = best.directions.copy() if best.directions is not None else np.zeros(len(moves.unsafe), np.bool_)
        directions[take] ^= True
        found = programs.cheapest(directions)
        if found is not None and found.cost < best.cost - 1e-9:
            best, share = found, min(1.0, 2 * share)
        elif len(take) == 1:
            # The prices that are left belong to the best answer again.
            again = _one_by_one(programs, best, worth[np.argsort(-gain[worth], kind="stable")][1:30])
            if again is None:
                break
            best, share = again, 0.1
        else:
            share /= 4
    return best


def _one_by_one(programs: Programs, best: BestMoves, candidates: np.ndarray) -> BestMoves | None:
    for i in candidates.tolist():
        if _enough(programs):
            break
        assert best.directions is not None
        directions = best.directions.copy()
        directions[i] ^= True
        found = programs.cheapest(directions)
        if found is not None and found.cost < best.cost - 1e-9:
            return found
    return None


def _enough(programs: Programs) -> bool:
    return programs.iterations * programs.size > FLIP_WORK


def _promised(programs: Programs, answer: BestMoves) -> Floats:
    """What flipping each unsafe cell saves if the prices of the relations stayed what they are."""
    moves = programs.moves
    assert answer.price is not None
    assert answer.directions is not None
    price = np.zeros(len(programs.place))
    price[programs.free] = answer.price
    mine = price[moves.unsafe]
    weight = moves.weight[moves.unsafe]
    up, down = moves.least_up, moves.least_down
    now = np.where(answer.directions, (weight - mine) * up, (weight + mine) * down)
    then = np.where(answer.directions, (weight + mine) * down, (weight - mine) * up)
    possible = moves.can_rise & moves.can_fall
    return np.where(possible, now - then, 0.0)
