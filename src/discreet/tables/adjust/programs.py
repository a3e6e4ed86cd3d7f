"""Linear and integer programs of adjustment: moves up and down of every cell, relations kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.solve.least_moves import GAP, in_blocks, least_absolute, least_squares
from discreet.solve.program import started
from discreet.tables.adjust.moves import FAR, MoveLimits

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SIMPLEX_UP_TO = 5_000
"""Programs of more free cells are solved by prices,"""
NETWORK_LIKE = 2.5
"""unless a cell stands in at most so many relations on average: the simplex method is fast on two-way tables."""


INTEGER_UP_TO = 500
"""Integer programs of more free cells must be asked for where cells stand in more relations: they run for minutes."""
EXPLAINED_UP_TO = 1_000
"""Where limits clash in such tables of more free cells, few directions are looked at, and by squares."""
QUICK_LOOK = 40
"""Newton steps in which a large program that has an answer shows it; a handful are usual."""
INSIDE = 1e-3
"""What the square of a move within the limits costs beside one of a move beyond them."""
NAMED = 0.01
"""Of a large program the cells are named that exceed their limits by at least this share of the most that one does."""


@dataclass
class BestMoves:
    """Moves of all cells in steps, what they cost, and for linear programs the price of each relation on the cells.

    ``bound`` is what the cost must be at least: with these directions, and from an integer program with any directions.
    """

    move: Floats
    cost: float
    price: Floats | None = None
    directions: Bools | None = None
    bound: float | None = None
    proven: bool = False


@dataclass(frozen=True)
class Row:
    """A further condition or objective: a linear form of the moves of some cells."""

    cells: Ints
    factor: Floats


class Programs:
    """All programs of one adjustment.

    Columns are moves up, then moves down, of the cells that may move; further columns are added by the programs.
    """

    def __init__(
        self, matrix: csr_array, moves: MoveLimits, kept: tuple[Row, ...] = (), everything: bool = False
    ) -> None:
        self.moves = moves
        movable = (moves.most_up > 0) | (moves.most_down > 0)
        movable[moves.unsafe] = True
        self.free = np.arange(len(movable)) if everything else np.flatnonzero(movable)
        self.place = np.full(matrix.shape[1], -1, np.int64)
        self.place[self.free] = np.arange(len(self.free))
        self.size = len(self.free)
        self.sets = kept
        self.relations = self._rows(matrix)
        self.iterations = self.nodes = self.solved = 0
        tangled = self.relations.nnz > NETWORK_LIKE * self.size
        self.large = tangled and self.size > SIMPLEX_UP_TO
        self.slow = tangled and self.size > EXPLAINED_UP_TO
        self.quick = self.size <= (INTEGER_UP_TO if tangled else SIMPLEX_UP_TO)
        self._warm: Any = None

    def _rows(self, matrix: csr_array) -> csr_array:
        from scipy.sparse import csr_array, vstack

        part = matrix[:, self.free].astype(np.float64)
        part = part[np.flatnonzero(np.diff(part.indptr) > 0)]
        extra = [self._form(row) for row in self.sets]
        return csr_array(vstack([part, *extra])) if extra else csr_array(part)

    def _form(self, row: Row) -> csr_array:
        """A linear form as a row over the cells that may move."""
        from scipy.sparse import csr_array

        place = self.place[row.cells]
        good = place >= 0
        data = (row.factor[good], (np.zeros(int(good.sum()), np.int64), place[good]))
        return csr_array(data, shape=(1, self.size))

    # ---- bounds of the columns -----------------------------------------------------------------------------

    def bounds(self, directions: Bools | None) -> tuple[Floats, Floats]:
        """Least and most of all columns; unsafe cells move as the directions say."""
        m = self.moves
        upper = np.concatenate((m.most_up[self.free], m.most_down[self.free]))
        lower = np.zeros(2 * self.size)
        if directions is not None:
            place = self.place[m.unsafe]
            up, down = place[directions], place[~directions]
            lower[up], upper[self.size + up] = m.least_up[directions], 0.0
            lower[self.size + down], upper[down] = m.least_down[~directions], 0.0
        return lower, upper

    # ---- linear programs -----------------------------------------------------------------------------------

    def cheapest(self, directions: Bools, gap: float = GAP) -> BestMoves | None:
        """Least weighted sum of absolute moves for given directions; ``None`` where there is none.

        Large programs are solved to within a gap by prices (:mod:`discreet.solve.least_moves`), others by the simplex
        method, which begins where the last one ended.
        """
        import highspy

        lower, upper = self.bounds(directions)
        if np.any(lower > upper):
            return None
        if self.large:
            return self._approached(directions, gap)
        if self._warm is None:
            cost = np.tile(self.moves.weight[self.free], 2)
            self._warm = started(self._model(cost, lower, upper))
        else:
            columns = np.arange(len(lower), dtype=np.int32)
            self._warm.changeColsBounds(len(lower), columns, lower, upper)
        self._warm.run()
        self.solved += 1
        info = self._warm.getInfo()
        self.iterations += int(max(info.simplex_iteration_count, 0))
        if self._warm.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._warm.getSolution()
        dual = np.array(solution.row_dual)
        price = np.asarray(self.relations.T @ dual)
        least = float(info.objective_function_value)
        return BestMoves(self._moves(np.array(solution.col_value)), least, price, directions, least)

    def _approached(self, directions: Bools, gap: float) -> BestMoves | None:
        """The same to within a gap, by prices; the first answer also tells whether there are any moves at all."""
        lower, upper = self._limits(directions)
        found = in_blocks(least_absolute, self.relations, lower, upper, self._weights(), gap=gap)
        self.solved += 1
        self.iterations += found.steps
        if not found.kept:
            return None
        price = np.asarray(self.relations.T @ found.price)
        return BestMoves(self._of_all(found.move), found.cost, price, directions, found.bound)

    def _limits(self, directions: Bools) -> tuple[Floats, Floats]:
        """Least and most move of every free cell, down being negative."""
        lower, upper = self.bounds(directions)
        return lower[: self.size] - upper[self.size :], upper[: self.size] - lower[self.size :]

    def _weights(self) -> Floats:
        """Weights above zero, as the solver by prices needs them."""
        weight = self.moves.weight[self.free]
        return np.maximum(weight, 1e-6 * float(weight.max(initial=1.0)) or 1.0)

    def _of_all(self, move: Floats) -> Floats:
        result = np.zeros(len(self.place))
        result[self.free] = move
        return result

    def _moves(self, columns: Floats) -> Floats:
        return self._of_all(columns[: self.size] - columns[self.size : 2 * self.size])

    def _model(self, cost: Floats, lower: Floats, upper: Floats, extra: Any = None, sides: Any = None) -> Any:
        """A model of moves that keep the relations; ``extra`` rows over all columns with lower and upper ``sides``."""
        import highspy
        from scipy.sparse import csc_array, csr_array, hstack, vstack

        both = hstack([self.relations, -self.relations])
        more = len(cost) - 2 * self.size
        if more:
            both = hstack([both, csr_array((both.shape[0], more))])
        low = high = np.zeros(both.shape[0])
        if extra is not None:
            both = vstack([both, extra])
            low, high = np.concatenate((low, sides[0])), np.concatenate((high, sides[1]))
        matrix = csc_array(both)
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        infinite = highspy.kHighsInf
        model.col_cost_ = cost
        model.col_lower_, model.col_upper_ = lower, np.where(upper >= FAR, infinite, upper)
        model.row_lower_, model.row_upper_ = low, high
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data.astype(np.float64)
        return model

    # ---- the price of what stands in the way ---------------------------------------------------------------

    def possible(self, directions: Bools) -> bool:
        """Whether moves that keep all limits are found within few steps: a quick look at large programs."""
        lower, upper = self._limits(directions)
        if np.any(lower > upper):
            return False
        return in_blocks(least_squares, self.relations, lower, upper, self._weights(), steps=QUICK_LOOK).kept

    def broken_limits(self, directions: Bools) -> Floats | None:
        """Where no moves keep all limits: by how much each cell exceeds its own when they are broken least in all.

        ``None`` where breaking limits does not help, because sums that are kept clash with the directions.

        Large programs break them with the least sum of squares, which takes seconds where a linear program takes hours.
        """
        return self._least_squared_excess(directions) if self.slow else self._least_excess(directions)

    def _least_squared_excess(self, directions: Bools) -> Floats:
        """Moves within the limits cost next to nothing, moves beyond them their square."""
        from scipy.sparse import csr_array, hstack

        lower, upper = self._limits(directions)
        lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
        down, up = np.full(self.size, -FAR), np.full(self.size, FAR)
        place = self.place[self.moves.unsafe]
        down[place[directions]], up[place[~directions]] = 0.0, 0.0
        both = csr_array(hstack([self.relations, self.relations]))
        weight = np.concatenate((np.full(self.size, INSIDE), np.ones(self.size)))
        found = least_squares(both, np.concatenate((lower, down)), np.concatenate((upper, up)), weight)
        excess = np.abs(found.move[self.size :])
        return self._of_all(np.where(excess > NAMED * excess.max(initial=0.0), excess, 0.0))

    def _least_excess(self, directions: Bools) -> Floats | None:
        import highspy
        from scipy.sparse import eye_array, hstack

        lower, upper = self.bounds(directions)
        short = np.maximum(lower - upper, 0)
        limit = np.maximum(upper, lower)
        columns = 2 * self.size
        one = eye_array(columns, format="csr")
        sides = (np.full(columns, -highspy.kHighsInf), np.where(limit >= FAR, highspy.kHighsInf, limit))
        cost = np.concatenate((np.zeros(columns), np.ones(columns)))
        low, high = np.concatenate((lower, np.zeros(columns))), np.full(2 * columns, FAR)
        place = self.place[self.moves.unsafe]
        against = np.where(directions, self.size + place, place)
        high[against] = 0.0  # no unsafe cell takes back what its level asks for
        highs = started(self._model(cost, low, high, hstack([one, -one]), sides))
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        excess = np.array(highs.getSolution().col_value)[columns:] + short
        result = np.zeros(len(self.place))
        result[self.free] = excess[: self.size] + excess[self.size :]
        return result

    # ---- integer programs ----------------------------------------------------------------------------------

    def best_directions(
        self,
        level: int,
        seconds: float | None,
        start: BestMoves | None,
        form: Row | None = None,
        goal: str = "cost",
    ) -> tuple[BestMoves | None, bool]:
        """Directions by an integer program, and whether the time struck.

        ``goal`` is the weighted sum of moves (``"cost"``), or of a linear form its least absolute value (``"least"``),
        its largest value (``"most"``), or the least absolute value of the form plus a constant (``"near:c"``).
        """
        import highspy
        from scipy.sparse import vstack

        m, size, count = self.moves, self.size, len(self.moves.unsafe)
        lower, upper = self.bounds(None)
        # An unsafe cell that nothing limits needs some limit for the choice of its direction to bind.
        wide = 50 * max(float(m.least_up.max(initial=1)), float(m.least_down.max(initial=1)))
        most = upper.copy()
        chosen = np.concatenate((self.place[m.unsafe], size + self.place[m.unsafe]))
        most[chosen] = np.minimum(most[chosen], wide)
        further = 1 if goal != "cost" else 0
        blocks = self._direction_rows(most, further)
        cost = np.concatenate((np.tile(m.weight[self.free], 2), np.zeros(count)))
        if further:
            assert form is not None
            blocks += self._form_rows(form, goal)
            cost = np.zeros(2 * size + count + 1)
            cost[-1] = 1.0 if goal != "most" else -1.0
        rise, fall = m.can_rise, m.can_fall
        lower = np.concatenate((lower, np.where(fall, 0.0, 1.0), np.full(further, -FAR if goal == "most" else 0.0)))
        upper = np.concatenate((most, np.where(rise, 1.0, 0.0), np.full(further, FAR)))
        if np.any(lower > upper):
            return None, False
        rows, low, high = zip(*blocks, strict=True)
        model = self._model(cost, lower, upper, vstack(rows), (np.concatenate(low), np.concatenate(high)))
        kinds = [highspy.HighsVarType.kContinuous] * (2 * size)
        kinds += [highspy.HighsVarType.kInteger] * count + [highspy.HighsVarType.kContinuous] * further
        model.integrality_ = kinds
        options: dict[str, Any] = {"mip_max_nodes": level, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-9}
        options["mip_feasibility_tolerance"] = 1e-9
        if seconds is not None:
            options["time_limit"] = seconds
        highs = started(model, **options)
        if start is not None and start.directions is not None and goal == "cost":
            self._begin_with(highs, start.move[self.free], start.directions)
        highs.run()
        info, status = highs.getInfo(), highs.getModelStatus()
        if status == highspy.HighsModelStatus.kTimeLimit:
            return None, True
        self.nodes += int(max(info.mip_node_count, 0))
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None, False
        found = np.array(highs.getSolution().col_value)
        directions = found[2 * size : 2 * size + count] > 0.5
        answer = BestMoves(
            self._moves(found),
            float(info.objective_function_value),
            directions=directions,
            bound=float(info.mip_dual_bound),
            proven=status == highspy.HighsModelStatus.kOptimal,
        )
        return answer, False

    def _begin_with(self, highs: Any, move: Floats, directions: Bools) -> None:
        """Tell the solver of moves that are known."""
        import highspy

        solution = highspy.HighsSolution()
        columns = np.maximum(move, 0), np.maximum(-move, 0), directions.astype(np.float64)
        solution.col_value = np.concatenate(columns).tolist()
        highs.setSolution(solution)

    def _direction_rows(self, most: Floats, further: int) -> list[tuple[Any, Floats, Floats]]:
        """Rows, least and most of the choice of a direction: up between its least move and the most, or else down.

        Columns are rises and falls of all cells, the directions, and as many ``further`` ones as stand behind them.
        """
        import highspy
        from scipy.sparse import csr_array, hstack

        m, size, count = self.moves, self.size, len(self.moves.unsafe)
        place, number = self.place[m.unsafe], np.arange(count)
        one, infinite = np.ones(count), np.full(count, highspy.kHighsInf)
        up = csr_array((one, (number, place)), shape=(count, 2 * size))
        down = csr_array((one, (number, size + place)), shape=(count, 2 * size))

        def rows(moves: csr_array, factor: Floats) -> Any:
            return hstack([moves, csr_array((factor, (number, number)), shape=(count, count + further))])

        return [
            (rows(up, -most[place]), -infinite, np.zeros(count)),
            (rows(up, -m.least_up), np.zeros(count), infinite),
            (rows(down, most[size + place]), -infinite, most[size + place]),
            (rows(down, m.least_down), m.least_down, infinite),
        ]

    def _form_rows(self, form: Row, goal: str) -> list[tuple[Any, Floats, Floats]]:
        """Rows, least and most that tie the last column to the value of a linear form, or to its absolute value."""
        import highspy
        from scipy.sparse import csr_array, hstack

        line = self._form(form)
        both = hstack([line, -line, csr_array((1, len(self.moves.unsafe)))])
        last = -csr_array(np.ones((1, 1)))
        if goal == "most":
            return [(hstack([both, last]), np.zeros(1), np.zeros(1))]
        constant = float(goal.split(":")[1]) if goal.startswith("near") else 0.0
        least = np.full(1, -highspy.kHighsInf)
        return [(hstack([sign * both, last]), least, np.full(1, -sign * constant)) for sign in (1.0, -1.0)]

    # ---- other objectives with given directions ------------------------------------------------------------

    def flattest(self, directions: Bools) -> BestMoves | None:
        """Least largest weighted move for given directions; ``cost`` is that move."""
        import highspy
        from scipy.sparse import csr_array, diags_array, hstack

        lower, upper = self.bounds(directions)
        weight = self.moves.weight[self.free]
        one = diags_array(weight, format="csr")
        extra = hstack([one, one, csr_array(-np.ones((self.size, 1)))])
        sides = (np.full(self.size, -highspy.kHighsInf), np.zeros(self.size))
        cost = np.zeros(2 * self.size + 1)
        cost[-1] = 1.0
        model = self._model(cost, np.append(lower, 0.0), np.append(upper, FAR), extra, sides)
        return self._answer(started(model), directions)

    def cheapest_below(self, directions: Bools, largest: float) -> BestMoves | None:
        """Least weighted sum of moves none of which, weighted, exceeds a largest one."""
        lower, upper = self.bounds(directions)
        weight = np.maximum(np.tile(self.moves.weight[self.free], 2), 1e-300)
        upper = np.maximum(np.minimum(upper, largest * (1 + 1e-9) / weight), lower)
        cost = np.tile(self.moves.weight[self.free], 2)
        return self._answer(started(self._model(cost, lower, upper)), directions)

    def smallest_squares(self, directions: Bools) -> BestMoves | None:
        """Least weighted sum of squared moves for given directions."""
        lower, upper = self._limits(directions)
        if np.any(lower > upper):
            return None
        found = in_blocks(least_squares, self.relations, lower, upper, self._weights())
        if not found.kept:
            return None
        return BestMoves(self._of_all(found.move), found.cost, directions=directions, bound=found.bound)

    def _answer(self, highs: Any, directions: Bools) -> BestMoves | None:
        import highspy

        highs.run()
        self.solved += 1
        info = highs.getInfo()
        self.iterations += int(max(info.simplex_iteration_count, 0))
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found, cost = np.array(highs.getSolution().col_value), float(info.objective_function_value)
        return BestMoves(self._moves(found), cost, directions=directions, bound=cost)
