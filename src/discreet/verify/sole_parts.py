"""Contributors who must be in a cell, although it names nobody: who alone fills one of the cells that it is made of.

From a cell down, over sums that hold exactly between cells without negative contributions, to parts that have one
contributor: that one has the part's value, at least, in the cell too.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Bools, Ints
from discreet.verify.relations import RowRelations


class SoleParts:
    """Parts of cells that a contributor without a name fills alone.

    Parameters
    ----------
    relations
        The sums.
    cells
        One number for each row; it agrees where rows mean the same.
    certain
        Rows without negative contributions.
    alone
        For each row the contributor who fills it and is not named, -1 where there is none.
    value
        Values of the rows.
    """

    def __init__(self, relations: RowRelations, cells: Ints, certain: Bools, alone: Ints, value: NDArray[Any]) -> None:
        self.relations, self.cells, self.certain, self.alone, self.value = relations, cells, certain, alone, value

    @cached_property
    def _sums(self) -> tuple[dict[int, list[int]], list[Ints]]:
        """For each cell the sums of which it is the total, and the rows of every sum that counts."""
        r = self.relations
        minus = np.bincount(r.relation[~r.positive], minlength=len(r))
        good = (minus == 1) & (r.allowed == 0)
        uncertain = np.zeros(int(self.cells.max(initial=-1)) + 1, np.bool_)
        uncertain[self.cells[~self.certain]] = True
        good[r.relation[uncertain[self.cells[r.row]]]] = False
        order = np.argsort(r.relation, kind="stable")
        ends = np.cumsum(np.bincount(r.relation, minlength=len(r)))
        members = np.split(order, ends[:-1])
        totals: dict[int, list[int]] = {}
        for i in np.flatnonzero(~r.positive & good[r.relation]).tolist():
            totals.setdefault(int(self.cells[r.row[i]]), []).append(int(r.relation[i]))
        return totals, [r.row[part[r.positive[part]]] for part in members]

    def spared(self, row: int, level: int) -> set[int]:
        """Who has more than half of a row, and so most of it, or more than a fall by ``level`` would leave."""
        if not (self.alone >= 0).any():
            return set()
        totals, parts = self._sums
        value = int(self.value[row])
        enough = min(value - level, value // 2)
        found: set[int] = set()
        waiting, seen = [int(self.cells[row])], {int(self.cells[row])}
        while waiting:
            for number in totals.get(waiting.pop(), ()):
                # Whatever lies below a part has no more than the part.
                for part in parts[number].tolist():
                    cell, amount = int(self.cells[part]), int(self.value[part])
                    if amount <= max(enough, 0) or cell in seen:
                        continue
                    seen.add(cell)
                    waiting.append(cell)
                    if self.alone[part] >= 0:
                        found.add(int(self.alone[part]))
        return found
