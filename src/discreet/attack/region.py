"""Linear programs over withheld cells: all of them, or those around one cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Floats, Ints, ranges
from discreet.solve.program import program, run_listening

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

ZERO = 1e-9
"""Moves and multipliers below this share of the largest are nothing."""
DUAL = 1


class Region:
    """One program: some cells move, all others stay where they are.

    Parameters
    ----------
    columns
        Relations among all cells, one column per cell.
    cells
        Those that move, in order.
    closed
        Whether no relation ties them to any other cell, so that what they cannot do cannot be done.
    listen
        Called now and then while a program runs; what it raises stops the program.

    Attributes
    ----------
    rows, matrix
        The relations in which they stand, and these among them alone.
    """

    def __init__(self, columns: csc_array, cells: Ints, closed: bool, listen: Callable[[], None]) -> None:
        from scipy.sparse import csr_array

        # Only the columns of these cells are touched: there may be millions of others.
        first = columns.indptr[cells].astype(np.int64)
        count = columns.indptr[cells + 1] - first
        at, column = ranges(first, count), np.repeat(np.arange(len(cells)), count)
        rows, row = np.unique(columns.indices[at], return_inverse=True)
        self.cells, self.closed = cells, closed
        self.rows = rows.astype(np.int64)
        self.matrix = csr_array((columns.data[at], (row, column)), shape=(len(rows), len(cells)))
        self._highs = _model(self.matrix)
        self._listen = listen

    def solve(
        self, cells: Ints, way: Ints, aim: Floats, room: Floats, scale: float, toll: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Push cells up (0) or down (1): the largest sum of what is reached of their aims.

        Parameters
        ----------
        cells, way, aim
            Positions in the region, which way each is pushed, and how far.
        room
            How far each cell of the region can rise and fall.
        scale
            The unit of the program; each aim above it counts by its amount, each below it by the share reached.
        toll
            What moving each cell by one unit costs.

        Returns
        -------
        moves
            How far each cell of the region rises; less than zero where it falls.
        multipliers
            One for each of ``rows``.
        """
        n = len(self.cells)
        most = room.ravel() / scale
        cost = np.zeros(2 * n) if toll is None else np.tile(toll, 2)
        own, other = cells + way * n, cells + (1 - way) * n
        gain = np.maximum(scale / aim, 1.0)
        cost[own] = -gain
        cost[other] = 1.5 * gain  # dearer than the gain, so that no cell is said to rise and to fall
        most[own] = np.minimum(most[own], aim / scale)
        values, multipliers = _answer(self._highs, cost, most, self._listen)
        moves = (values[:n] - values[n:]) * scale
        moves[np.abs(moves) < ZERO * np.abs(moves).max(initial=0.0)] = 0.0
        multipliers[np.abs(multipliers) < ZERO * np.abs(multipliers).max(initial=0.0)] = 0.0
        return moves, multipliers


def around(matrix: csr_array, columns: csc_array, cell: int, size: int) -> Ints:
    """Cells near one cell, those in short relations first, in order; ``matrix`` is given by rows and by columns."""
    start, entries = matrix.indptr, matrix.indices
    seen = np.zeros(columns.shape[1], np.bool_)
    known = np.zeros(columns.shape[0], np.bool_)
    seen[cell] = True
    front, count = np.array([cell], np.int64), 1
    fronts = [front]
    while len(front) and count < size:
        first = columns.indptr[front].astype(np.int64)
        rows = np.unique(columns.indices[ranges(first, columns.indptr[front + 1] - first)])
        rows = rows[~known[rows]]
        known[rows] = True
        rows = rows[np.argsort(start[rows + 1] - start[rows], kind="stable")]
        found = entries[ranges(start[rows].astype(np.int64), (start[rows + 1] - start[rows]).astype(np.int64))]
        found = found[~seen[found]]
        _, at = np.unique(found, return_index=True)
        front = found[np.sort(at)][: size - count].astype(np.int64)
        seen[front] = True
        fronts.append(front)
        count += len(front)
    return np.sort(np.concatenate(fronts))


def _model(matrix: csr_array) -> Any:
    """Rises and falls of all cells as variables; dual simplex from the true table, which is always feasible."""
    from scipy.sparse import hstack

    both = hstack([matrix, -matrix]).tocsc()
    nothing = np.zeros(both.shape[1])
    return program(both, nothing, nothing, presolve="off", simplex_strategy=DUAL)


def _answer(highs: Any, cost: Floats, most: Floats, listen: Callable[[], None]) -> tuple[Floats, Floats]:
    import highspy

    columns = np.arange(len(cost), dtype=np.int32)
    # Every program starts afresh, so that its answer does not depend on those before.
    highs.clearSolver()
    highs.changeColsCost(len(cost), columns, cost)
    highs.changeColsBounds(len(cost), columns, np.zeros(len(cost)), most)
    run_listening(highs, listen)
    status = highs.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise InputError(
            f"The audit's solver stopped without an answer ({highs.modelStatusToString(status)}).",
            hint="Check the table for extreme values.",
        )
    solution = highs.getSolution()
    return np.asarray(solution.col_value), np.asarray(solution.row_dual)
