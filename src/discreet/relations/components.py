"""Connected components: cells that no relation ties together can be looked at one group at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import Codes, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def components(matrix: csr_array, cells: Ints) -> tuple[int, Codes]:
    """Connected components of some cells, tied by the relations in which they stand together.

    The graph has relations and cells as its nodes and the entries of the matrix as its edges, so that memory grows
    with the entries and not with the pairs of cells in a relation.

    Parameters
    ----------
    matrix
        Relations, one column per cell.
    cells
        Numbers of the cells; all others count as known, so that they tie nothing together.

    Returns
    -------
    count
        How many components there are; a cell in no relation is one of its own.
    label
        For each of ``cells`` the number of its component, in order of first appearance.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> matrix = csr_array(np.array([[1, 1, -1, 0, 0], [0, 0, 1, -1, 1]]))
    >>> components(matrix, np.array([0, 1, 3, 4]))
    (2, array([0, 0, 1, 1], dtype=int32))
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if not len(cells):
        return 0, np.zeros(0, np.int32)
    part = matrix[:, cells]
    rows, columns = part.shape
    nodes = rows + columns
    start = np.concatenate((part.indptr, np.full(columns, part.indptr[-1], part.indptr.dtype)))
    graph = csr_array((np.ones(part.nnz, np.int8), part.indices + rows, start), shape=(nodes, nodes))
    _, label = connected_components(graph, directed=False)
    _, first, number = np.unique(label[rows:], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    return len(first), rank[number]
