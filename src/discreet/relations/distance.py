"""How many relations lie between cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def distance_in_relations(matrix: csr_array, sources: Ints) -> Ints:
    """For every cell how many relations lead to the nearest source.

    Cells in a relation with a source are at distance 1, cells in a relation with those at 2, and so on; sources are at
    0. What no relation leads to is one further than the furthest that one does.

    Parameters
    ----------
    matrix
        Relations, one column per cell.
    sources
        Numbers of the cells to start from.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> matrix = csr_array(np.array([[-1, 1, 1, 0, 0, 0], [0, 0, -1, 1, 1, 0]]))
    >>> distance_in_relations(matrix, np.array([0])).tolist()
    [0, 1, 1, 2, 2, 3]
    """
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    distance = np.full(matrix.shape[1], -1, np.int64)
    distance[sources] = 0
    opened = np.zeros(matrix.shape[0], np.bool_)
    furthest = 0
    while True:
        reached = np.zeros(matrix.shape[0], np.bool_)
        reached[row[distance[matrix.indices] == furthest]] = True
        reached &= ~opened
        opened |= reached
        cells = matrix.indices[reached[row]]
        cells = cells[distance[cells] < 0]
        if not len(cells):
            break
        furthest += 1
        distance[cells] = furthest
    distance[distance < 0] = furthest + 1
    return distance
