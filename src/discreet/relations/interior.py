"""Interior cells: those that no relation explains by finer ones, and every other cell as a sum of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Bools, Ints
from discreet.relations.system import System

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Interior:
    """A system in terms of its interior cells.

    Parameters
    ----------
    finest
        Numbers of the cells that no relation explains by finer ones.
    cells
        Those of them that can take any values. Where a total has several definitions that do not imply each other,
        some of the finest cells depend on the rest.
    sums
        One row per cell, one column a free cell: values that add up are ``sums @ values[cells]``.
    """

    finest: Ints
    cells: Ints
    sums: csr_array


def interior(system: System) -> Interior:
    """Interior cells of a system.

    Examples
    --------
    >>> import discreet as ds
    >>> from discreet.relations import build_system
    >>> found = interior(build_system(ds.examples.small_table()))
    >>> len(found.cells), found.sums.shape
    (9, (16, 9))
    """
    from scipy.sparse import coo_array, csr_array

    size, matrix = len(system), system.matrix
    explains = _explaining(system)
    pivot = _explained(explains, size)
    cells = np.flatnonzero(~pivot)
    rows = np.flatnonzero(explains >= 0)
    part = matrix[rows].tocoo()
    total = explains[rows][part.coords[0]]
    own = part.coords[1] == total
    sign = np.zeros(size, np.int64)
    sign[total[own]] = part.data[own]
    data = np.concatenate((-part.data[~own] * sign[total[~own]], np.ones(len(cells), np.int64)))
    at = (np.concatenate((total[~own], cells)), np.concatenate((part.coords[1][~own], cells)))
    step = csr_array(coo_array((data, at), shape=(size, size)))
    sums = step
    while pivot[sums.indices].any():
        sums = step @ sums
        sums.eliminate_zeros()
    place = np.cumsum(~pivot) - 1
    sums = csr_array((sums.data, place[sums.indices], sums.indptr), shape=(size, len(cells)))
    ties = matrix[np.flatnonzero(explains < 0)] @ sums
    ties.eliminate_zeros()
    if not ties.nnz:
        return Interior(cells, cells, sums)
    free, onto = _untied(ties[np.flatnonzero(np.diff(ties.indptr))])
    return Interior(cells, cells[free], csr_array(sums @ onto))


def finest_cells(system: System) -> Ints:
    """Numbers of the cells that no relation explains by finer ones."""
    return np.flatnonzero(~_explained(system.parent, len(system)))


def _explained(explains: Ints, size: int) -> Bools:
    """Whether some relation explains a cell."""
    result = np.zeros(size, np.bool_)
    result[explains[explains >= 0]] = True
    return result


def _untied(ties: csr_array) -> tuple[Ints, csr_array]:
    """Columns that stay free when ties between columns hold, and all columns as sums of these."""
    from scipy.sparse import csr_array

    known: dict[int, dict[int, int]] = {}
    for row in range(ties.shape[0]):
        span = slice(ties.indptr[row], ties.indptr[row + 1])
        terms: dict[int, int] = {}
        for column, times in zip(ties.indices[span].tolist(), ties.data[span].tolist(), strict=True):
            for other, inner in known.get(column, {column: 1}).items():
                terms[other] = terms.get(other, 0) + int(times) * inner
        terms = {column: times for column, times in terms.items() if times}
        if not terms:
            continue
        pivot = max((c for c, times in terms.items() if abs(times) == 1), default=-1)
        if pivot < 0:
            raise InputError(
                "The relations tie cells to each other in multiples, so that no whole numbers can be chosen freely.",
                hint="Leave out one of the tables or equations that define the same totals.",
            )
        sign = terms.pop(pivot)
        mine = {column: -times * sign for column, times in terms.items()}
        for expression in known.values():
            if pivot in expression:
                times = expression.pop(pivot)
                for column, inner in mine.items():
                    expression[column] = expression.get(column, 0) + times * inner
        known[pivot] = mine
    free = np.array([c for c in range(ties.shape[1]) if c not in known], np.int64)
    place = {c: i for i, c in enumerate(free.tolist())}
    entries = [(c, place[c], 1) for c in free.tolist()]
    entries += [(c, place[o], t) for c, expression in known.items() for o, t in expression.items() if t]
    row_, column_, data = np.array(entries, np.int64).reshape(-1, 3).T
    return free, csr_array((data, (row_, column_)), shape=(ties.shape[1], len(free)))


def _explaining(system: System) -> Ints:
    """For every relation the cell that it explains by others, -1 where another relation explains that cell already.

    Relations between cells explain a coarser cell by finer ones, so that no cell is explained by itself.
    """
    parent = system.parent
    order = np.lexsort((np.arange(len(parent)), ~system.defining))
    order = order[parent[order] >= 0]
    first = order[np.unique(parent[order], return_index=True)[1]]
    result = np.full(len(parent), -1, np.int64)
    kept: Bools = np.zeros(len(parent), np.bool_)
    kept[first] = True
    result[kept] = parent[kept]
    return result
