"""Least moves that keep relations, for millions of cells: squared or absolute, within limits of each cell.

Both are solved by prices of the relations. Given prices, every cell for itself takes the move that costs it least, and
the prices are right when these moves keep the relations. Newton's method finds them: only cells strictly inside their
limits enter its equations, which conjugate gradients solve without ever building a matrix. Absolute moves have kinks,
so they are approached by a sequence of such problems, each near the answer of the last (proximal points). Any prices
bound the least cost from below, which tells how near the answer is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Floats, Ints
from discreet.parallel import shared
from discreet.progress import checkpoint
from discreet.relations.components import components

if TYPE_CHECKING:
    from scipy.sparse import csr_array

UNLIMITED = 1e14
"""Moves of this size count as not limited."""
GAP = 1e-4
"""Absolute moves are near enough when their cost exceeds what it must be at least by this share."""
NEAR_ENOUGH = 1e-6
"""Relations count as kept when what is missing is so small a share of the moves that are asked for."""
DAMPING = 10.0
NEWTON, NEWTON_ALONE, CONJUGATE, PROXIMAL = 60, 300, 500, 60
FIRST_STEP = 16.0
"""The first proximal step allows moves of so many times the mean level."""


@dataclass(frozen=True, eq=False)
class LeastMoves:
    """Moves of all cells, what they cost, what they must cost at least, and the price of each relation.

    ``kept`` is false where no moves were found that keep the relations.
    """

    move: Floats
    cost: float
    bound: float
    price: Floats
    kept: bool
    steps: int

    @property
    def gap(self) -> float:
        """By which share the cost exceeds its bound."""
        return (self.cost - self.bound) / max(self.cost, 1e-300)


@dataclass
class _State:
    """Prices, the moves that follow from them, which cells are inside their limits, and what relations miss."""

    price: Floats
    move: Floats
    inside: Bools
    missing: Floats
    value: float = 0.0

    @property
    def off(self) -> float:
        return float(np.linalg.norm(self.missing))


class _Problem:
    """Relations by cell, and limits of each cell."""

    def __init__(self, matrix: csr_array, lower: Floats, upper: Floats) -> None:
        columns = matrix.tocsc()
        self.start, self.row = columns.indptr.astype(np.int64), columns.indices.astype(np.int64)
        self.times = columns.data.astype(np.float64)
        self.relations, self.cells = matrix.shape
        self.lower, self.upper = lower, upper
        self.asked = np.clip(np.zeros(self.cells), lower, upper)
        self.size = float(np.linalg.norm(self.asked))
        self.steps = 0

    def at(self, price: Floats, centre: Floats, pull: Floats, dead: Floats) -> _State:
        """What follows from prices; ``pull`` is how far a price moves a cell, ``dead`` what it must overcome."""
        state = _State(price, np.empty(self.cells), np.empty(self.cells, np.bool_), np.empty(self.relations))
        state.value = _respond(
            self.start, self.row, self.times, price, centre, pull, dead, self.lower, self.upper,
            state.move, state.inside, state.missing,
        )  # fmt: skip
        return state

    def newton(self, state: _State, centre: Floats, pull: Floats, dead: Floats, wanted: float, most: int) -> _State:
        """Better and better prices until what relations miss is at most what is wanted."""
        direction = np.empty(self.relations)
        typical = float(pull.mean())
        for _ in range(most):
            off = state.off
            if off <= wanted:
                break
            cells = np.flatnonzero(state.inside)
            damping = typical * (DAMPING * min(1.0, off / self.size) + 1e-8)
            accuracy = min(0.05, max(1e-4, 0.3 * wanted / off))
            _conjugate(
                self.start, self.row, self.times, pull, cells, damping, state.missing, direction, accuracy, CONJUGATE
            )
            rise, length = float(-(state.missing @ direction)), 1.0
            while True:
                tried = self.at(state.price + length * direction, centre, pull, dead)
                enough = state.value + 1e-4 * length * rise - 1e-12 * abs(state.value)
                if tried.value >= enough or length < 1e-9:
                    break
                length /= 2
            state = tried
            self.steps += 1
        return state


def least_squares(
    matrix: csr_array,
    lower: Floats,
    upper: Floats,
    weight: Floats,
    *,
    steps: int = NEWTON_ALONE,
) -> LeastMoves:
    """Moves with the least weighted sum of squares that keep relations and limits.

    Parameters
    ----------
    matrix
        Relations, one column per cell.
    lower, upper
        Limits of the move of each cell.
    weight
        What the square of a move costs; above zero.
    steps
        Newton's method ends after so many, whether relations are kept or not.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> relation = csr_array(np.array([[1.0, 1.0, -1.0]]))
    >>> least_squares(relation, np.array([3.0, -9, -9]), np.array([9.0, 9, 9]), np.ones(3)).move.round(6)
    array([ 3. , -1.5,  1.5])
    """
    problem = _Problem(matrix, lower, upper)
    nothing = np.zeros(problem.cells)
    pull = 0.5 / weight
    wanted = NEAR_ENOUGH * problem.size
    state = problem.at(np.zeros(problem.relations), nothing, pull, nothing)
    state = problem.newton(state, nothing, pull, nothing, wanted, steps)
    cost = float(weight @ state.move**2)
    return LeastMoves(state.move, cost, state.value, state.price, state.off <= wanted, problem.steps)


def least_absolute(
    matrix: csr_array,
    lower: Floats,
    upper: Floats,
    weight: Floats,
    *,
    gap: float = GAP,
) -> LeastMoves:
    """Moves with the least weighted sum of absolute values that keep relations and limits, to within a gap.

    Parameters
    ----------
    matrix, lower, upper
        As in :func:`least_squares`.
    weight
        What a unit of each move costs; above zero.
    gap
        By which share the cost may exceed what it must be at least. With a wide gap relations are kept less exactly.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> relation = csr_array(np.array([[1.0, 1.0, -1.0]]))
    >>> found = least_absolute(relation, np.array([3.0, -9, -9]), np.array([9.0, 9, 9]), np.array([1.0, 2, 1]))
    >>> round(found.cost, 3), round(found.bound, 3)
    (6.0, 6.0)
    """
    problem = _Problem(matrix, lower, upper)
    if problem.size == 0:
        return LeastMoves(problem.asked, 0.0, 0.0, np.zeros(problem.relations), True, 0)
    asked = np.abs(problem.asked)
    step = FIRST_STEP * float((weight * asked).sum() / weight[asked > 0].sum())
    centre, price = problem.asked, np.zeros(problem.relations)
    enough = max(NEAR_ENOUGH, 0.02 * gap)
    precision, finest = 1e-2, 0.1 * enough
    best, cost, move, kept = -np.inf, np.inf, centre, False
    for number in range(PROXIMAL):
        pull, dead = step / weight, np.full(problem.cells, step)
        before = problem.steps
        state = problem.newton(
            problem.at(price, centre, pull, dead), centre, pull, dead, precision * problem.size, NEWTON
        )
        price, centre, move = state.price, state.move, state.move
        cost = float(weight @ np.abs(move))
        best = max(best, _cost_at_least(problem, price, weight))
        checkpoint("least moves", number, PROXIMAL)
        kept = state.off <= enough * problem.size
        if kept and cost - best <= gap * cost:
            return LeastMoves(move, cost, best, price, True, problem.steps)
        precision = max(precision / 2, finest)
        if problem.steps - before < 2 * NEWTON // 3:
            step *= 2
    return LeastMoves(move, cost, best, price, kept, problem.steps)


class _MovesApart(NamedTuple):
    """A problem that no relation ties to others."""

    matrix: csr_array
    lower: Floats
    upper: Floats
    weight: Floats


def _solved(solve: Callable[..., LeastMoves], options: dict[str, Any], block: _MovesApart) -> LeastMoves:
    return solve(*block, **options)


def in_blocks(
    solve: Callable[..., LeastMoves], matrix: csr_array, lower: Floats, upper: Floats, weight: Floats, **options: Any
) -> LeastMoves:
    """Solve the connected components of a problem each for itself; the answer is that of the whole.

    They are solved in threads, or shared out as :func:`discreet.parallel.shared` does it.

    Parameters
    ----------
    solve
        :func:`least_squares` or :func:`least_absolute`.
    matrix, lower, upper, weight
        The problem.
    options
        Handed on.
    """
    count, block = components(matrix, np.arange(matrix.shape[1]))
    if count == 1:
        return solve(matrix, lower, upper, weight, **options)
    rows = np.full(matrix.shape[0], -1, np.int64)
    some = np.flatnonzero(np.diff(matrix.indptr) > 0)
    rows[some] = block[matrix.indices[matrix.indptr[some]]]
    asked = np.unique(block[(lower > 0) | (upper < 0)]).tolist()
    order = [(np.flatnonzero(rows == b), np.flatnonzero(block == b)) for b in asked]

    def alone(part: tuple[Ints, Ints]) -> _MovesApart:
        relations, cells = part
        return _MovesApart(matrix[relations][:, cells], lower[cells], upper[cells], weight[cells])

    with closing(shared(partial(_solved, solve, options), alone, order, "least moves")) as results:
        found = list(results)
    move, price = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[0])
    for (relations, cells), one in zip(order, found, strict=True):
        move[cells], price[relations] = one.move, one.price
    cost, bound = sum(one.cost for one in found), sum(one.bound for one in found)
    return LeastMoves(move, cost, bound, price, all(one.kept for one in found), sum(one.steps for one in found))


def _cost_at_least(problem: _Problem, price: Floats, weight: Floats) -> float:
    """What moves must cost at least, by prices that are made small enough for cells without a limit."""
    pulled = _pulls(problem.start, problem.row, problem.times, price) / weight
    free_up, free_down = problem.upper >= UNLIMITED, problem.lower <= -UNLIMITED
    largest = max(float(np.where(free_up, pulled, 0).max()), float(np.where(free_down, -pulled, 0).max()), 1.0)
    pulled = pulled / largest * weight
    ends = [problem.asked, np.where(free_down, problem.asked, problem.lower)]
    ends.append(np.where(free_up, problem.asked, problem.upper))
    return float(np.min([weight * np.abs(y) - pulled * y for y in ends], axis=0).sum())


@kernel(
    "float64(int64[::1], int64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], "
    "float64[::1], float64[::1], float64[::1], boolean[::1], float64[::1])"
)
def _respond(
    start: Ints,
    row: Ints,
    times: Floats,
    price: Floats,
    centre: Floats,
    pull: Floats,
    dead: Floats,
    lower: Floats,
    upper: Floats,
    move: Floats,
    inside: Bools,
    missing: Floats,
) -> float:
    """The move of every cell at prices, whether it is inside its limits, what relations miss; and the dual value."""
    missing[:] = 0.0
    value = 0.0
    for j in range(len(centre)):
        pulled = 0.0
        for e in range(start[j], start[j + 1]):
            pulled += times[e] * price[row[e]]
        to = centre[j] + pull[j] * pulled
        free = True
        if to > dead[j]:
            to -= dead[j]
        elif to < -dead[j]:
            to += dead[j]
        else:
            to, free = 0.0, False
        if to <= lower[j]:
            to, free = lower[j], False
        elif to >= upper[j]:
            to, free = upper[j], False
        move[j], inside[j] = to, free
        away = to - centre[j]
        value += (dead[j] * abs(to) + 0.5 * away * away) / pull[j] - pulled * to
        if to != 0.0:
            for e in range(start[j], start[j + 1]):
                missing[row[e]] += times[e] * to
    return value


@kernel("float64[::1](int64[::1], int64[::1], float64[::1], float64[::1])")
def _pulls(start: Ints, row: Ints, times: Floats, price: Floats) -> Floats:
    """How strongly prices pull at every cell."""
    pulled = np.zeros(len(start) - 1)
    for j in range(len(pulled)):
        for e in range(start[j], start[j + 1]):
            pulled[j] += times[e] * price[row[e]]
    return pulled


@kernel(
    "int64(int64[::1], int64[::1], float64[::1], float64[::1], int64[::1], float64, float64[::1], float64[::1], "
    "float64, int64)"
)
def _conjugate(
    start: Ints,
    row: Ints,
    times: Floats,
    pull: Floats,
    cells: Ints,
    damping: float,
    missing: Floats,
    answer: Floats,
    accuracy: float,
    most: int,
) -> int:
    """Conjugate gradients for the prices that make up for what is missing, by the cells inside their limits."""
    size = len(missing)
    diagonal = np.full(size, damping)
    for k in range(len(cells)):
        j = cells[k]
        for e in range(start[j], start[j + 1]):
            diagonal[row[e]] += pull[j] * times[e] * times[e]
    answer[:] = 0.0
    rest = -missing
    scaled = rest / diagonal
    along = scaled.copy()
    product = np.empty(size)
    length, first = 0.0, 0.0
    for i in range(size):
        length += rest[i] * scaled[i]
        first += rest[i] * rest[i]
    for number in range(most):
        for i in range(size):
            product[i] = damping * along[i]
        for k in range(len(cells)):
            j = cells[k]
            pulled = 0.0
            for e in range(start[j], start[j + 1]):
                pulled += times[e] * along[row[e]]
            pulled *= pull[j]
            for e in range(start[j], start[j + 1]):
                product[row[e]] += times[e] * pulled
        curve = 0.0
        for i in range(size):
            curve += along[i] * product[i]
        if curve <= 0.0:
            return number
        step = length / curve
        left = 0.0
        for i in range(size):
            answer[i] += step * along[i]
            rest[i] -= step * product[i]
            left += rest[i] * rest[i]
        if left <= accuracy * accuracy * first:
            return number + 1
        new = 0.0
        for i in range(size):
            scaled[i] = rest[i] / diagonal[i]
            new += rest[i] * scaled[i]
        turn = new / length
        length = new
        for i in range(size):
            along[i] = scaled[i] + turn * along[i]
    return most
