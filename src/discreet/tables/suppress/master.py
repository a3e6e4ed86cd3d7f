"""The relaxation of the 0-1 program over which cells are withheld, as far as cuts are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Codes, Floats, Ints, pointers
from discreet.solve.program import started
from discreet.tables.suppress.cuts import Cut

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SAFE = 1e-6
"""Bounds that rest on the solver's tolerances are lowered by about this share; nothing closer can be proved."""
SLACK = 1e-6
STEPS = 60
"""Simplex iterations at most where it is tried out what settling a cell does."""
NO_LIMIT = 2**31 - 1


class Relaxed(NamedTuple):
    """A point of the relaxation, a proven bound, and what each cell would add to it at least (reduced costs).

    Reduced costs say this of cells that were ``free`` there, and nothing of settled ones.
    """

    point: Floats
    bound: float
    reduced: Floats
    free: Bools

    def settled(self, room: float) -> tuple[Bools, Bools]:
        """Cells to be published and to be withheld, because otherwise the bound would rise by more than the room."""
        return self.free & (self.reduced > room), self.free & (-self.reduced > room)


class CutProgram:
    """A warm linear program over shares of cells, with all cuts on them that are known.

    ``column`` says which column each cell has, where not all cells have one; cuts are on cells that have.
    """

    digits: ClassVar[int] = 6
    """Cuts whose coefficients agree to so many decimals are one."""

    def __init__(self, cost: Floats, lower: Floats, upper: Floats, column: Ints | None = None) -> None:
        import highspy

        self.cuts: list[Cut] = []
        self.solved = self.iterations = 0
        self._column = column
        self._keys: set[bytes] = set()
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(cost), 0
        model.col_cost_, model.col_lower_, model.col_upper_ = cost, lower, upper
        self._highs: Any = started(model, presolve="off")

    def add(self, cuts: list[Cut]) -> int:
        """Take in cuts that are not known; says how many."""
        fresh = []
        for cut in cuts:
            if (key := self._key(cut)) not in self._keys:
                self._keys.add(key)
                fresh.append(cut)
        if fresh:
            start, cell, coefficient = _entries(fresh)
            column = cell if self._column is None else self._column[cell].astype(np.int32)
            most = np.full(len(fresh), np.inf)
            self._highs.addRows(len(fresh), _right(fresh), most, len(column), start[:-1], column, coefficient)
            self.cuts += fresh
        return len(fresh)

    def _key(self, cut: Cut) -> bytes:
        return cut.cell.tobytes() + np.round(cut.coefficient, self.digits).tobytes()

    def _bound(self, columns: Ints, lower: Floats, upper: Floats) -> None:
        """Let the shares of columns lie between these."""
        self._highs.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)

    def _run(self) -> Any:
        """Solve the program, counting the work; what the solver says of its end."""
        self._highs.run()
        self.solved += 1
        self.iterations += int(self._highs.getInfo().simplex_iteration_count)
        return self._highs.getModelStatus()


class Master(CutProgram):
    """Cuts on the cells, with what prices of them prove."""

    def __init__(self, cost: Floats, settled: Bools) -> None:
        self.cost = cost
        self.lower = settled.astype(np.float64)
        self.upper = np.ones(len(cost))
        super().__init__(cost, self.lower, self.upper)
        self._idle = np.zeros(0, np.int64)
        self._low, self._high = self.lower.copy(), self.upper.copy()
        self._matrix: tuple[csr_array, csr_array, Floats] | None = None

    @property
    def free(self) -> Bools:
        """Cells that are not settled."""
        return self.upper > self.lower

    def fix(self, published: Bools, withheld: Bools) -> None:
        """Settle cells for good."""
        self.upper[published], self.lower[withheld] = 0.0, 1.0
        self.leave()

    def add(self, cuts: list[Cut]) -> int:
        """Take in cuts that are not known; says how many."""
        fresh = super().add(cuts)
        if fresh:
            self._matrix = None
            self._idle = np.concatenate((self._idle, np.zeros(fresh, np.int64)))
        return fresh

    def enter(self, lower: Floats, upper: Floats) -> None:
        """Look at a part of the tree, in which shares lie between these."""
        changed = np.flatnonzero((lower != self._low) | (upper != self._high))
        self._bound(changed, lower[changed], upper[changed])
        self._low, self._high = lower.copy(), upper.copy()

    def leave(self) -> None:
        """Look at the whole tree again."""
        self.enter(self.lower, self.upper)

    def relax(self) -> Relaxed:
        """Solve the relaxation; the bound is infinite where no point meets all cuts."""
        import highspy

        if self._run() == highspy.HighsModelStatus.kInfeasible:
            return Relaxed(self._low, np.inf, np.zeros(len(self.cost)), np.zeros(len(self.cost), np.bool_))
        solution = self._highs.getSolution()
        point = np.clip(np.asarray(solution.col_value), self._low, self._high)
        price, bound, reduced = self._proved(np.asarray(solution.row_dual), self._low, self._high)
        rows, _, right = self._known()
        slack = (rows @ point > right + SLACK) & (price <= 0)
        self._idle = np.where(slack, self._idle + 1, 0)
        return Relaxed(point, bound, reduced, self._high > self._low)

    def _proved(self, dual: Floats, lower: Floats, upper: Floats) -> tuple[Floats, float, Floats]:
        """Prices of cuts, the bound that they prove, and reduced costs.

        Any prices prove a bound, so that it does not rest on the solver's tolerances.
        """
        _, columns, right = self._known()
        price = np.maximum(dual, 0.0)
        reduced = self.cost - columns @ price
        return price, float(price @ right + np.minimum(reduced * lower, reduced * upper).sum()), reduced

    def probe(self, cell: int) -> tuple[float, float]:
        """What the relaxation costs at least when a cell is withheld, and when it is published, after a few steps."""
        import highspy

        highs, found = self._highs, []
        basis = highs.getBasis()
        highs.setOptionValue("simplex_iteration_limit", STEPS)
        for share in (1.0, 0.0):
            highs.changeColBounds(cell, share, share)
            if self._run() == highspy.HighsModelStatus.kInfeasible:
                found.append(np.inf)
            else:
                lower, upper = self._low.copy(), self._high.copy()
                lower[cell] = upper[cell] = share
                found.append(self._proved(np.asarray(highs.getSolution().row_dual), lower, upper)[1])
            highs.changeColBounds(cell, self._low[cell], self._high[cell])
            highs.setBasis(basis)
        highs.setOptionValue("simplex_iteration_limit", NO_LIMIT)
        return found[0], found[1]

    def purge(self, idle: int, least: float = 0.0) -> None:
        """Drop cuts that were slack in so many relaxations on end, where these are at least such a share of all."""
        found = np.flatnonzero(self._idle >= idle)
        if len(found) >= least * len(self.cuts):
            self._drop(found)

    def _known(self) -> tuple[csr_array, csr_array, Floats]:
        """All cuts by rows and by columns, and their right sides."""
        if self._matrix is None:
            rows = _rows(self.cuts, len(self.cost))
            self._matrix = rows, rows.T.tocsr(), _right(self.cuts)
        return self._matrix

    def _drop(self, rows: Ints) -> None:
        if len(rows):
            self._highs.deleteRows(len(rows), rows.astype(np.int32))
            gone = set(rows.tolist())
            self._keys -= {self._key(self.cuts[row]) for row in gone}
            self.cuts = [cut for row, cut in enumerate(self.cuts) if row not in gone]
            self._idle = np.delete(self._idle, rows)
            self._matrix = None


def _right(cuts: list[Cut]) -> Floats:
    return np.array([cut.right for cut in cuts], np.float64)


def _entries(cuts: list[Cut]) -> tuple[Codes, Codes, Floats]:
    """Where each cut begins, and cells and coefficients of all."""
    start = pointers(np.array([len(cut.cell) for cut in cuts], np.int64)).astype(np.int32)
    cell = np.concatenate([cut.cell for cut in cuts]).astype(np.int32)
    return start, cell, np.concatenate([cut.coefficient for cut in cuts])


def _rows(cuts: list[Cut], count: int) -> csr_array:
    from scipy.sparse import csr_array

    if not cuts:
        return csr_array((0, count))
    start, cell, coefficient = _entries(cuts)
    return csr_array((coefficient, cell, start), shape=(len(cuts), count))
