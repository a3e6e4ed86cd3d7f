"""The 0-1 program over which cells are withheld, as far as cuts are known: its relaxation and itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints, pointers
from discreet.solve.program import started
from discreet.tables.suppress.cuts import Cut

if TYPE_CHECKING:
    from scipy.sparse import csr_array

IDLE = 8
"""A cut that was slack in so many rounds on end is dropped, while only the relaxation is solved."""
SLACK = 1e-6
SHARP = 1e-7
"""Integer programs are solved within this share of their optimum."""


class Relaxed(NamedTuple):
    """A point of the relaxation, a proven bound, and what each cell would add to it at least (reduced costs)."""

    point: Floats
    bound: float
    reduced: Floats


class Chosen(NamedTuple):
    """Patterns that meet all cuts, best first, a bound, and whether the best one is proved to be the best.

    Without patterns nothing meets all cuts.
    """

    patterns: list[Bools]
    bound: float
    nodes: int
    done: bool


class Master:
    """Cuts on the cells, with a warm linear program of them."""

    def __init__(self, cost: Floats, settled: Bools) -> None:
        import highspy

        self.cost = cost
        self.lower = settled.astype(np.float64)
        self.upper = np.ones(len(cost))
        self.cuts: list[Cut] = []
        self.purging = True
        self.iterations = 0
        self._idle = np.zeros(0, np.int64)
        self._keys: set[bytes] = set()
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(cost), 0
        model.col_cost_, model.col_lower_, model.col_upper_ = cost, self.lower, self.upper
        self._highs = started(model, presolve="off")
        self._index = np.arange(len(cost), dtype=np.int32)

    @property
    def free(self) -> Bools:
        """Cells that are not settled."""
        return self.upper > self.lower

    def fix(self, published: Bools, withheld: Bools) -> None:
        """Settle cells for good."""
        self.upper[published], self.lower[withheld] = 0.0, 1.0
        self._highs.changeColsBounds(len(self.cost), self._index, self.lower, self.upper)

    def add(self, cuts: list[Cut]) -> int:
        """Take in cuts that are not known; says how many."""
        fresh = []
        for cut in cuts:
            if (key := _key(cut)) not in self._keys:
                self._keys.add(key)
                fresh.append(cut)
        if fresh:
            rows, most = _rows(fresh, len(self.cost)), np.full(len(fresh), np.inf)
            self._highs.addRows(len(fresh), _right(fresh), most, rows.nnz, rows.indptr[:-1], rows.indices, rows.data)
            self.cuts += fresh
            self._idle = np.concatenate((self._idle, np.zeros(len(fresh), np.int64)))
        return len(fresh)

    def relax(self) -> Relaxed:
        """Solve the relaxation; drop cuts that have long been slack."""
        highs = self._highs
        highs.run()
        self.iterations += int(highs.getInfo().simplex_iteration_count)
        solution = highs.getSolution()
        point = np.clip(np.asarray(solution.col_value), self.lower, self.upper)
        price = np.maximum(np.asarray(solution.row_dual), 0.0)
        rows, right = _rows(self.cuts, len(self.cost)), _right(self.cuts)
        reduced = self.cost - rows.T @ price
        # Any prices prove this bound, so that it does not rest on the solver's tolerances.
        bound = float(price @ right + np.minimum(reduced * self.lower, reduced * self.upper).sum())
        slack = (rows @ point > right + SLACK) & (price <= 0)
        self._idle = np.where(slack, self._idle + 1, 0)
        if self.purging:
            self._drop(np.flatnonzero(self._idle >= IDLE))
        return Relaxed(point, bound, reduced)

    def _drop(self, rows: Ints) -> None:
        if len(rows):
            self._highs.deleteRows(len(rows), rows.astype(np.int32))
            gone = set(rows.tolist())
            self._keys -= {_key(self.cuts[row]) for row in gone}
            self.cuts = [cut for row, cut in enumerate(self.cuts) if row not in gone]
            self._idle = np.delete(self._idle, rows)

    def choose(
        self,
        incumbent: Bools,
        max_nodes: int,
        seconds: float | None,
        over: Callable[[], bool],
        among: Bools | None = None,
    ) -> Chosen:
        """Solve the 0-1 program of all cuts, or of patterns ``among`` some cells, starting from a pattern.

        ``over`` is asked all the time whether to stop, and may raise.
        """
        import highspy

        free = np.flatnonzero(self.free if among is None else self.free & among)
        if not len(free):
            return Chosen([self.lower > 0.5], float(self.cost @ self.lower), 0, True)
        options: dict[str, Any] = {"mip_rel_gap": SHARP, "mip_max_nodes": max_nodes}
        if seconds is not None:
            options["time_limit"] = max(seconds, 0.0)
        highs = started(self._program(free), **options)
        start = highspy.HighsSolution()
        start.col_value = incumbent[free].astype(np.float64).tolist()
        highs.setSolution(start)
        found: list[Floats] = []
        highs.cbMipImprovingSolution.subscribe(lambda event: found.append(np.array(event.data_out.mip_solution)))
        _run_while_not(highs, over)
        patterns = []
        for values in [np.asarray(highs.getSolution().col_value), *found[::-1]]:
            if len(values) == len(free):
                patterns.append(self.lower > 0.5)
                patterns[-1][free[values > 0.5]] = True
        status, info = highs.getModelStatus(), highs.getInfo()
        if status == highspy.HighsModelStatus.kInfeasible:
            return Chosen([], np.inf, int(info.mip_node_count), True)
        bound = float(self.cost @ self.lower) + float(info.mip_dual_bound)
        return Chosen(patterns, bound, int(info.mip_node_count), status == highspy.HighsModelStatus.kOptimal)

    def _program(self, free: Ints) -> Any:
        """The 0-1 program over the cells that are not settled."""
        import highspy

        rows = _rows(self.cuts, len(self.cost))
        right = _right(self.cuts) - rows @ self.lower
        rows = rows[:, free]
        useful = right > rows.minimum(0).sum(axis=1) + SLACK
        rows, right = rows[useful], right[useful]
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = rows.shape
        model.col_cost_ = self.cost[free]
        model.col_lower_, model.col_upper_ = np.zeros(len(free)), np.ones(len(free))
        model.row_lower_, model.row_upper_ = right, np.full(len(right), np.inf)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
        model.integrality_ = [highspy.HighsVarType.kInteger] * len(free)
        return model


def _run_while_not(highs: Any, over: Callable[[], bool]) -> None:
    """Solve; an error in a callback stops the solver, which would not pass it on, and is raised afterwards."""
    errors: list[BaseException] = []

    def ask(event: Any) -> None:
        try:
            if not errors and over():
                event.interrupt()
        except BaseException as error:
            errors.append(error)
            event.interrupt()

    highs.cbMipInterrupt.subscribe(ask)
    highs.run()
    if errors:
        raise errors[0]


def _key(cut: Cut) -> bytes:
    return cut.cell.tobytes() + np.round(cut.coefficient, 6).tobytes()


def _right(cuts: list[Cut]) -> Floats:
    return np.array([cut.right for cut in cuts], np.float64)


def _rows(cuts: list[Cut], count: int) -> csr_array:
    from scipy.sparse import csr_array

    if not cuts:
        return csr_array((0, count))
    start = pointers(np.array([len(cut.cell) for cut in cuts], np.int64)).astype(np.int32)
    cell = np.concatenate([cut.cell for cut in cuts]).astype(np.int32)
    return csr_array((np.concatenate([cut.coefficient for cut in cuts]), cell, start), shape=(len(cuts), count))
