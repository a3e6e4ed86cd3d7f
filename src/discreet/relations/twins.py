"""Twins: cells that hold the same records, made one cell.

Where all but one part of a total are empty, that part and the total are one cell in disguise: a relation of two cells
says so. Sparse tables of many variables consist of little else (30 records in 12 variables fill 110,000 cells, of
which fewer than 1,000 differ). A search over one cell of each kind finds the same alternatives with far less work:
whatever is true of the one is true of its twins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.relations.build import distinct_rows
from discreet.relations.insiders import Insiders
from discreet.relations.relating import Relating, Relations
from discreet.relations.system import System

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LONGEST = 4
"""Sums over finest cells may have so many times the entries of the relations that they stand for."""


class Twins(NamedTuple):
    """A system of which twins are one cell, and which of its cells each cell of the whole system is.

    ``first`` is for each of its cells the first that it stands for, and ``several`` whether it stands for more.
    """

    system: System
    cell: Ints
    first: Ints
    several: Bools


def twin_labels(system: System) -> Ints:
    """A number for each cell, equal for twins, in order of first appearance.

    Twins are equal in all that is known of them, too: who is in them, what protection they need, and what bounds
    everybody knows; so that what is found of one of them holds for all without a further look.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    matrix, size = system.matrix, len(system)
    start = matrix.indptr.astype(np.int64)
    two = (np.diff(start) == 2) & (system.slack == 0) & (system.origin[:, 1] >= 0)
    first = start[:-1][two]
    opposite = matrix.data[first] == -matrix.data[first + 1]
    one, other = matrix.indices[first[opposite]], matrix.indices[first[opposite] + 1]
    alike = _alike(system, one, other)
    one, other = one[alike], other[alike]
    edges = coo_array((np.ones(len(one), np.int8), (one, other)), shape=(size, size))
    label = connected_components(edges, directed=False)[1].astype(np.int64)
    _, appears, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(appears), np.int64)
    rank[np.argsort(appears, kind="stable")] = np.arange(len(appears))
    return rank[inverse]


def _alike(system: System, one: Ints, other: Ints) -> Bools:
    """Whether pairs of cells agree in all that matters to attackers and methods."""
    names = ("value", "empty", "unsafe", "forced", "given", "known", "now", "lower_level", "upper_level")
    more = ("sliding_level", "lower_bound", "upper_bound", "contributors", "without_negative")
    result = np.ones(len(one), np.bool_)
    for name in (*names, *more):
        column = getattr(system, name)
        result &= column[one] == column[other]
    for column in (system.holder, system.own):
        result &= (column[one] == column[other]).all(axis=1)
    return result


def with_twins_as_one(system: System, label: Ints) -> Twins:
    """The system with one cell for all cells of the same number (see :func:`twin_labels`)."""
    _, first, count = np.unique(label, return_index=True, return_counts=True)
    first = first.astype(np.int64)
    of = tuple(label[cells] for cells in system.of)
    relations = _relations(system, label, len(first))
    relating = Relating(lambda: relations)
    old = system.insiders
    insiders = Insiders(
        old.tables,
        of,
        len(first) - old.figures,
        old.scales,
        relating,
        old.figures,
        None if old.unit is None else old.unit[first],
    )
    names = ("value", "empty", "unsafe", "forced", "given", "known", "lower_level", "upper_level", "sliding_level")
    columns = {name: getattr(system, name)[first] for name in (*names, "lower_bound", "upper_bound")}
    merged = replace(
        system,
        of=of,
        relating=relating,
        insiders=insiders,
        known_by=tuple((name, np.unique(label[cells])) for name, cells in system.known_by),
        **columns,
    )
    return Twins(merged, label, first, count > 1)


def _relations(system: System, label: Ints, size: int) -> Relations:
    """Relations between the cells that are left, each once; those between twins say nothing any more."""
    from scipy.sparse import csr_array

    found = system.relating.found
    old = found.matrix
    # A copy: entries of the same cell are added up in place.
    matrix = csr_array((old.data.copy(), label[old.indices], old.indptr.copy()), shape=(old.shape[0], size))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    keep, slack = distinct_rows(matrix, found.defining, found.slack)
    parent, origin = found.parent[keep], found.origin[keep].copy()
    between = origin[:, 1] == -1  # of equations between variables the sample is a cell, not a row of a table
    origin[between, 3] = label[origin[between, 3]]
    return Relations(
        matrix[keep],
        found.defining[keep],
        origin,
        np.where(parent >= 0, label[parent], -1),
        slack,
    )


def in_finest_cells(system: System) -> System:
    """The system with every total as a sum of finest cells, in place of the relations that define it step by step.

    Where few records fill many cells, all that can move is the few finest ones. A search that sees this has as many
    unknowns as there are of these, not a chain of relations for every path between them. Relations that say more (of
    linked tables, for example) stay, and a system in which the sums would be long stays as it is.
    """
    from scipy.sparse import csr_array, vstack

    found = system.relating.found
    defining = np.flatnonzero(found.defining)
    matrix = found.matrix[defining]
    total, chosen = _explained(matrix, found.parent[defining])
    if found.slack[defining].any() or not len(chosen):
        return system
    finest = _sums_of_finest(matrix[chosen], total, LONGEST * matrix.nnz)
    if finest is None:
        return system
    rest = np.setdiff1d(np.arange(len(defining)), chosen)
    rows = csr_array(vstack([(finest - _itself(len(system)))[total], matrix[rest] @ finest]))
    rows.eliminate_zeros()
    rows.sort_indices()
    order = defining[np.concatenate((chosen, rest))]
    keep, slack = distinct_rows(rows, np.ones(len(order), np.bool_), found.slack[order])
    return system.related(
        matrix=rows[keep],
        defining=np.ones(len(keep), np.bool_),
        origin=found.origin[order][keep],
        parent=found.parent[order][keep],
        slack=slack,
    )


def _explained(matrix: csr_array, parent: Ints) -> tuple[Ints, Ints]:
    """Cells that a row explains by others, and the first such row of each."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    explains = np.flatnonzero((matrix.indices == parent[row]) & (matrix.data == -1))
    total, first = np.unique(parent[row[explains]], return_index=True)
    return total, row[explains[first]]


def _sums_of_finest(matrix: csr_array, total: Ints, most: int) -> csr_array | None:
    """Every cell as a sum of finest ones, a row each; nothing where these rows have more than ``most`` entries.

    Row ``k`` of the matrix explains ``total[k]`` by others, which may be explained by further rows.
    """
    from scipy.sparse import csr_array

    size = matrix.shape[1]
    place = csr_array((np.ones(len(total), np.int64), (total, np.arange(len(total)))), shape=(size, len(total)))
    steps = csr_array(_itself(size) + place @ matrix)
    steps.eliminate_zeros()
    for _ in range(size.bit_length() + 1):
        further = csr_array(steps @ steps)
        further.eliminate_zeros()
        if further.nnz > most + size:
            return None
        if abs(further - steps).sum() == 0:
            return further
        steps = further
    return None


def _itself(size: int) -> csr_array:
    """Every cell as itself."""
    from scipy.sparse import csr_array

    every = np.arange(size)
    return csr_array((np.ones(size, np.int64), (every, every)), shape=(size, size))
