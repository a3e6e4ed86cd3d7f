"""Bridge cuts: a withheld cell that is not unsafe must itself be able to move, or it would not be needed.

Prices ``u`` of the relations express a cell by others: ``(1 - r_i) y_i = sum_j r_j y_j`` with ``r = e_i - T' u``. When
cell ``i`` moves, another cell with ``r_j`` unequal to 0 moves as well, so that ``sum_j x_j >= x_i`` over those cells in
every pattern that has no needless cell. Capacity cuts do not see this: a small cell passes little on, of which a large
cell would have to be withheld only in part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import Bools, Floats
from discreet.solve.program import PRIMAL, program
from discreet.tables.suppress.cuts import LEAN, Cut, priced

if TYPE_CHECKING:
    from scipy.sparse import csc_array

VIOLATION = 0.02
"""Bridge cuts that are missed by less are not worth a row."""


class Bridges:
    """Finds violated bridge cuts with one linear program, in which only the objective changes from cell to cell."""

    def __init__(self, columns: csc_array) -> None:
        self.count = columns.shape[1]
        self.transposed = columns.T.tocsr()
        nothing = np.zeros(self.count)
        self._highs = program(columns, nothing, nothing, presolve="off", simplex_strategy=PRIMAL)
        self._index = np.arange(self.count, dtype=np.int32)
        self.solved = self.iterations = 0

    def cuts(self, x: Floats, settled: Bools) -> list[Cut]:
        """Violated cuts at a point, one a cell at most."""
        highs = self._highs
        share = np.where(settled, 1.0, np.maximum(x, LEAN))
        highs.changeColsBounds(self.count, self._index, -share, share)
        found = []
        for cell in np.flatnonzero((x > VIOLATION) & ~settled).tolist():
            highs.changeColCost(cell, -1.0)
            highs.run()
            self.solved += 1
            solution = highs.getSolution()
            highs.changeColCost(cell, 0.0)
            if solution.col_value[cell] >= x[cell] - VIOLATION:
                continue
            slope, denominator = priced(self.transposed, np.asarray(solution.row_dual), cell, 1.0)
            others = slope != 0
            others[cell] = False
            if slope[cell] == denominator or np.any(others & settled) or x[others].sum() > x[cell] - VIOLATION:
                continue
            cells = np.flatnonzero(others)
            coefficient = np.append(np.ones(len(cells)), -1.0)
            found.append(Cut(np.append(cells, cell), coefficient, 0.0))
        return found
