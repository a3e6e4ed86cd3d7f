"""Least intervals of cells within which some cells can reach what they need: partial suppression as a linear program.

Every cell gets room to fall and to rise. For each need there must be changes of the cells, within that room and keeping
all relations, that move the cell as far as it needs. The room that costs least is a linear program with a copy of the
table for every need; it is solved by cuts instead. Given some room, one small program a need finds the changes that
exceed it least. Its prices say what room any answer must have at least (a cut), and the changes themselves say what
room would do: an answer from above. Cuts are looked for halfway between the best answer and the cheapest room that
keeps all cuts so far, so that every round brings these two nearer to each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.solve.program import equations_model, started

if TYPE_CHECKING:
    from scipy.sparse import csr_array

GAP = 1e-3
"""Room is near enough when it costs at most this share more than it must."""
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Needs:
    """Cells that must be able to move so far: number, direction (1 up, -1 down) and distance of each need."""

    cell: Ints
    direction: Ints
    distance: Floats

    def __len__(self) -> int:
        return len(self.cell)


@dataclass(frozen=True, eq=False)
class NarrowestRoom:
    """How far each cell may fall and rise, what that costs, what it must cost at least, and what it took.

    ``unreachable`` lists the needs that no room can satisfy; nothing is done for them. ``struck_at`` says after how
    many linear programs the work was ended early, ``None`` where it was not.
    """

    fall: Floats
    rise: Floats
    cost: float
    bound: float
    unreachable: Ints
    programs: int
    struck_at: int | None


def narrowest(
    matrix: csr_array,
    most_down: Floats,
    most_up: Floats,
    weight: Floats,
    needs: Needs,
    *,
    grid: float,
    programs: int,
    late: Callable[[], bool] = lambda: False,
) -> NarrowestRoom:
    """The room that costs least, to within a gap.

    Parameters
    ----------
    matrix
        Relations, one column per cell.
    most_down, most_up
        The most room that each cell may have; infinite where nothing limits it.
    weight
        What a unit of room costs each cell; above zero.
    needs
        What must be reached, each need for itself.
    grid
        Room is given in whole steps of this size.
    programs
        After so many linear programs the work ends with what it has.
    late
        Asked before every round of cuts; true ends the work.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> relation = csr_array(np.array([[1.0, 1.0, 1.0, -1.0]]))
    >>> needs = Needs(np.array([0, 1]), np.array([1, -1]), np.array([3.0, 2.0]))
    >>> limit = np.full(4, np.inf)
    >>> found = narrowest(relation, limit, limit, np.array([1.0, 1.0, 5.0, 5.0]), needs, grid=1.0, programs=100)
    >>> found.fall, found.rise
    (array([0., 3., 0., 0.]), array([3., 0., 0., 0.]))
    """
    return _RoomSearch(matrix, most_down, most_up, weight, needs, grid).run(programs, late)


class _RoomSearch:
    """Columns of the room are what cells may rise, then what they may fall."""

    def __init__(
        self, matrix: csr_array, most_down: Floats, most_up: Floats, weight: Floats, needs: Needs, grid: float
    ) -> None:
        self.grid = grid
        self.matrix, self.needs, self.size = matrix, needs, matrix.shape[1]
        self.by_cell = matrix.T.tocsr()
        self.most = np.concatenate((most_up, most_down))
        self.weight = np.tile(weight, 2)
        self.place = needs.cell + np.where(needs.direction > 0, 0, self.size)
        self.distance = np.minimum(needs.distance, self.most[self.place])
        self.reachable = self.distance >= needs.distance - NOTHING
        self.programs = 0
        self._exceeding: Any = None
        self._cheapest: Any = None

    def run(self, programs: int, late: Callable[[], bool]) -> NarrowestRoom:
        before = int(self.reachable.sum())
        best = self._one_after_the_other(self.own)
        if int(self.reachable.sum()) < before:  # without the room that was meant for what cannot be reached
            best = self._one_after_the_other(self.own)
        bound, spent, struck = 0.0, 0, False
        busy = np.ones(len(self.needs), np.bool_)
        self._begin()
        while True:
            low, bound = self._cheapest_room(bound)
            cost = float(self.weight @ best)
            if cost - bound <= GAP * cost:
                break
            spent = self.programs
            struck = spent >= programs or late()
            if struck:
                break
            reached, busy = self._round(0.5 * (low + best), busy & self.reachable)
            if reached is not None and float(self.weight @ reached) < cost:
                best = reached
        # The best so far lies between corners; from the cheapest room on there may be one with fewer intervals.
        tried = [self._whole(best), self._one_after_the_other(self.grid * np.floor(low / self.grid + 1e-6), whole=True)]
        best = min(tried, key=lambda room: float(self.weight @ room))
        cost = float(self.weight @ best)
        return NarrowestRoom(
            best[self.size :],
            best[: self.size],
            cost,
            min(bound, cost),
            np.flatnonzero(~self.reachable),
            self.programs,
            spent if struck else None,
        )

    def _round(self, room: Floats, busy: Bools) -> tuple[Floats | None, Bools]:
        """Cuts at some room: of the needs that brought one the last time, and of all where these bring none.

        Gives room that does for all needs, where all were looked at, and the needs that brought a cut.
        """
        reached, cut = room.copy(), np.zeros(len(self.needs), np.bool_)
        for some in (busy, self.reachable & ~busy):
            if cut.any():
                return None, cut
            for number in np.flatnonzero(some).tolist():
                changes, price = self._least_excess(number, room)
                assert changes is not None
                np.maximum(reached, changes, out=reached)
                cut[number] = self._cut(number, price, room)
        return reached, cut

    @property
    def own(self) -> Floats:
        """The room that cells need for their own moves."""
        room = np.zeros(2 * self.size)
        np.maximum.at(room, self.place[self.reachable], self.distance[self.reachable])
        return room

    def _whole(self, room: Floats) -> Floats:
        """Room in whole steps of the grid, as far as there is any."""
        return np.minimum(self.grid * np.maximum(np.ceil(room / self.grid - 1e-6), 0.0), self.most)

    def _one_after_the_other(self, room: Floats, whole: bool = False) -> Floats:
        """Room that suffices: need after need, the farthest first, each with the least that must be added for it."""
        room = np.maximum(room, self.own)
        for number in np.lexsort((np.arange(len(self.needs)), -self.distance)).tolist():
            if not self.reachable[number]:
                continue
            changes, _ = self._least_excess(number, room)
            if changes is None:
                self.reachable[number] = False
            else:
                room = np.maximum(room, self._whole(changes) if whole else changes)
        return room

    # ---- one need: the changes that exceed some room least ---------------------------------------------------

    def _least_excess(self, number: int, room: Floats) -> tuple[Floats | None, Floats]:
        """Changes of all cells that satisfy a need (rises, then falls), and the price of each relation.

        Columns are changes within the room, which are free, and changes beyond it.
        """
        import highspy

        place, size = int(self.place[number]), self.size
        lower = np.zeros(4 * size)
        upper = np.concatenate((room, np.maximum(self.most - room, 0.0)))
        cell = place % size
        upper[[cell, cell + size, cell + 2 * size, cell + 3 * size]] = 0.0
        lower[place] = upper[place] = self.distance[number]
        if self._exceeding is None:
            self._exceeding = self._model(lower, upper)
        else:
            self._exceeding.changeColsBounds(4 * size, np.arange(4 * size, dtype=np.int32), lower, upper)
        self._exceeding.run()
        self.programs += 1
        solution = self._exceeding.getSolution()
        price = np.array(solution.row_dual)
        if self._exceeding.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None, price
        column = np.array(solution.col_value)
        change = column[: 2 * size] + column[2 * size :]
        net = change[:size] - change[size:]
        return np.concatenate((np.maximum(net, 0.0), np.maximum(-net, 0.0))), price

    def _model(self, lower: Floats, upper: Floats) -> Any:
        from scipy.sparse import csc_array, hstack

        both = hstack([self.matrix, -self.matrix])
        cost = np.concatenate((np.zeros(2 * self.size), self.weight))
        return started(equations_model(csc_array(hstack([both, both])), lower, upper, cost=cost))

    # ---- all needs: the cheapest room that keeps the cuts ----------------------------------------------------

    def _begin(self) -> None:
        """A program of room alone, with the cuts that single relations give."""
        import highspy

        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = 0, 2 * self.size
        model.col_cost_ = self.weight
        model.col_lower_, model.col_upper_ = self.own, self.most
        model.row_lower_ = model.row_upper_ = np.zeros(0)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.zeros(2 * self.size + 1, np.int32)
        self._cheapest = started(model)
        for number in np.flatnonzero(self.reachable).tolist():
            cell = int(self.needs.cell[number])
            for relation in self.by_cell.indices[self.by_cell.indptr[cell] : self.by_cell.indptr[cell + 1]].tolist():
                span = slice(self.matrix.indptr[relation], self.matrix.indptr[relation + 1])
                self._add_cut(
                    number, self.matrix.indices[span].astype(np.int64), self.matrix.data[span].astype(np.float64)
                )

    def _cheapest_room(self, before: float) -> tuple[Floats, float]:
        import highspy

        self._cheapest.run()
        self.programs += 1
        if self._cheapest.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise AssertionError("The program of the cuts has no answer, though the room that was found keeps them.")
        low = np.array(self._cheapest.getSolution().col_value)
        return low, max(before, float(self._cheapest.getInfo().objective_function_value))

    def _cut(self, number: int, price: Floats, room: Floats) -> bool:
        """What the prices say of the room that any answer must have, where some room does not have it."""
        pull = np.asarray(self.by_cell @ price, np.float64)
        cells = np.flatnonzero(np.abs(pull) > NOTHING)
        return self._add_cut(number, cells, pull[cells], room)

    def _add_cut(self, number: int, cells: Ints, factor: Floats, room: Floats | None = None) -> bool:
        """Factors of cells that add up to nothing over any changes: the other cells must make up for the need."""
        cell = int(self.needs.cell[number])
        own = float(factor[cells == cell].sum()) * int(self.needs.direction[number])
        if abs(own) <= NOTHING:
            return False
        rest = cells != cell
        push = -np.sign(own) * factor[rest] / abs(own)
        column = np.where(push > 0, cells[rest], cells[rest] + self.size).astype(np.int32)
        size, wanted = np.abs(push), float(self.distance[number])
        if room is not None and float(size @ room[column]) >= wanted * (1 - 1e-7):
            return False
        self._cheapest.addRow(wanted, np.inf, len(column), column, size)
        return True
