"""Who is in the cells of a system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.tableset import TableSet
from discreet.relations.identity import stands_alone
from discreet.relations.relating import Relating

if TYPE_CHECKING:
    from scipy.sparse import csr_array

EVERYBODY = None
"""Where nobody can be named, anybody may rule an alternative out."""


class Contributing(NamedTuple):
    """How many contributors every cell has, the largest of them, and what they contribute."""

    contributors: Ints
    holder: Ints
    own: Ints


@dataclass(frozen=True, eq=False)
class Insiders:
    """Who is in the cells of tables, worked out when somebody first asks: methods that only change values never do.

    ``figures`` is the number of last cells that stand in no table; nobody is in them. Amounts are whole numbers of
    ``unit`` where that is given for each cell.
    """

    tables: TableSet
    of: Sequence[Ints]
    size: int
    scales: Sequence[int]
    relating: Relating
    figures: int = 0
    unit: Ints | None = None

    @cached_property
    def found(self) -> Contributing:
        """All of it; where a cell stands in several tables, the table that knows most says it."""
        tables, of, size = self.tables, self.of, self.size
        width = max((t.holders.identity.shape[1] for t in tables if t.holders is not None), default=1)
        contributors = np.zeros(size + self.figures, np.int64)
        holder = np.full((size + self.figures, width), -1, np.int64)
        own = np.zeros((size + self.figures, width), np.int64)
        for table, cells in zip(tables, of, strict=True):
            if table.holders is None and "holding" in table.contributions:
                count = table.contributions["holding"].count
                if stands_alone(tables, size):
                    np.copyto(contributors[:size], count)
                    continue
                unknown = contributors[cells] == 0
                contributors[cells[unknown]] = count[unknown]
        sole = np.flatnonzero(contributors == 1)
        if len(sole):
            matrix = self.relating.found.matrix
            holder[sole, 0] = -2 - (_same_sole(matrix, contributors)[sole] if matrix.shape[0] else sole)
        for table, cells, scale in zip(tables, of, self.scales, strict=True):
            if table.holders is not None:
                known = table.holders.identity.shape[1]
                contributors[cells] = table.holders.count
                holder[cells, :known] = table.holders.identity
                own[cells, :known] = table.holders.amount * scale
        if self.unit is not None:
            own //= self.unit[:, None]
        return Contributing(contributors, holder, own)


def _same_sole(matrix: csr_array, contributors: Ints) -> Ints:
    """A number for the only contributor of each cell: a total with one contributor has it from one of its parts."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    negative = matrix.data < 0
    total = np.zeros(matrix.shape[0], np.bool_)
    total[row[negative & (contributors[matrix.indices] == 1)]] = True
    mixed = np.zeros(matrix.shape[0], np.bool_)
    mixed[row[contributors[matrix.indices] > 1]] = True
    mixed |= np.bincount(row[negative], minlength=matrix.shape[0]) != 1
    single = np.flatnonzero((total & ~mixed)[row] & (contributors[matrix.indices] == 1))
    nodes = matrix.shape[0] + matrix.shape[1]
    edges = coo_array(
        (np.ones(len(single), np.int8), (row[single], matrix.indices[single] + matrix.shape[0])), shape=(nodes, nodes)
    )
    labels = connected_components(edges, directed=False)[1][matrix.shape[0] :]
    return labels.astype(np.int64)
