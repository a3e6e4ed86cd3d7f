"""Where cells of a map lie: hexagons, or any areas with neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.model.geography import Adjacency, HexGrid
from discreet.tables.redistribute.flow import PlaceNetwork, network_of

FAR = 2**30
"""Distance of cells that no path joins."""


class Geometry(Protocol):
    """Cells in their canonical order, and how far they are from each other."""

    def __len__(self) -> int:
        """How many cells there are."""

    def distances(self, rows: Ints, columns: Ints) -> Ints:
        """Steps from some cells to others."""

    def network(self) -> PlaceNetwork:
        """All places that a path may lead over, and which of them the cells are."""


@dataclass(frozen=True, eq=False)
class Hexagons:
    """Hexagons by their axial coordinates, in the order of the coordinates."""

    cells: Ints

    def __len__(self) -> int:
        return len(self.cells)

    def distances(self, rows: Ints, columns: Ints) -> Ints:
        """Edges crossed on the way, over empty hexagons too."""
        q = self.cells[rows, 0][:, None] - self.cells[columns, 0][None, :]
        r = self.cells[rows, 1][:, None] - self.cells[columns, 1][None, :]
        steps: Ints = np.maximum(np.maximum(np.abs(q), np.abs(r)), np.abs(q + r))
        return steps

    def network(self) -> PlaceNetwork:
        """All hexagons of the box around the cells: shortest paths need not leave it."""
        low = self.cells.min(axis=0)
        wide, high = (self.cells.max(axis=0) - low + 1).tolist()
        place = np.arange(wide * high).reshape(wide, high)
        pairs = [(place[:-1], place[1:]), (place[:, :-1], place[:, 1:]), (place[:-1, 1:], place[1:, :-1])]
        one = np.concatenate([a.ravel() for a, _ in pairs])
        two = np.concatenate([b.ravel() for _, b in pairs])
        node = (self.cells - low) @ np.array([high, 1])
        return network_of(np.concatenate([one, two]), np.concatenate([two, one]), wide * high, node)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Areas with neighbours. A step leads to a neighbour."""

    areas: Adjacency

    def __len__(self) -> int:
        return len(self.areas.codes)

    @cached_property
    def _ends(self) -> Ints:
        index = {code: at for at, code in enumerate(self.areas.codes)}
        ends = np.array([[index[a], index[b]] for a, b in self.areas.pairs], np.int64).reshape(-1, 2)
        return np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)

    def network(self) -> PlaceNetwork:
        """The areas themselves."""
        return network_of(self._ends[:, 0], self._ends[:, 1], len(self), np.arange(len(self)))

    def distances(self, rows: Ints, columns: Ints) -> Ints:
        """Steps between areas; a very large number where no path leads."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        ends = self._ends
        ones = np.ones(len(ends))
        graph = csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(len(self), len(self)))
        found = dijkstra(graph, directed=False, unweighted=True, indices=rows)[:, columns]
        return np.where(np.isfinite(found), found, FAR).astype(np.int64)


def occupied_hexagons(points: Ints) -> tuple[Hexagons, Ints, Ints]:
    """Hexagons with points, how many each has, and the hexagon of each point."""
    cells, number, count = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    return Hexagons(cells), count.astype(np.int64), number.ravel().astype(np.int64)


def coarser_grid(grid: HexGrid, x: Floats, y: Floats, works: Callable[[Hexagons, Ints], bool]) -> HexGrid | None:
    """The least coarser grid, in steps of a quarter, that works; none if there is none.

    ``works`` is told the occupied hexagons and the hexagon of each point.
    """
    size = grid.size
    for _ in range(60):
        size *= 1.25
        wider = HexGrid(grid.x, grid.y, float(f"{size:.4g}"), grid.origin)
        hexagons, _, number = occupied_hexagons(wider.cells(x, y))
        if works(hexagons, number):
            return wider
    return None
