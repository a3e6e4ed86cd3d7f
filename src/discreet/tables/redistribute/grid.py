"""Where cells of a map lie: hexagons, or any areas with neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from discreet.errors import InputError, ParameterError, unknown_name
from discreet.model.arrays import Floats, Ints
from discreet.model.geography import Geography
from discreet.model.hierarchy import Hierarchy
from discreet.tables.redistribute.flow import Network, network_of

FAR = 2**30
"""Distance of cells that no path joins."""


class Geometry(Protocol):
    """Cells in their canonical order, and how far they are from each other."""

    def __len__(self) -> int:
        """How many cells there are."""

    def distances(self, rows: Ints, columns: Ints) -> Ints:
        """Steps from some cells to others."""

    def network(self) -> Network:
        """All places that a path may lead over, and which of them the cells are."""


@dataclass(frozen=True)
class HexGrid(Geography):
    """A grid of hexagons with a corner at the top.

    Size and origin are stated, not taken from the data: a grid that is fitted to the data gives its extremes away.

    Parameters
    ----------
    x, y
        Names of the columns of coordinates.
    size
        Width of a hexagon, in units of the coordinates.
    origin
        Centre of the hexagon (0, 0).
    """

    coordinates: ClassVar[bool] = True
    x: str
    y: str
    size: float
    origin: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", tuple(self.origin))
        if not (np.isfinite(self.size) and self.size > 0):
            raise ParameterError(f"size={self.size} must be greater than zero.", hint="Give the width of a hexagon.")
        if len(self.origin) != 2 or not np.isfinite(self.origin).all():
            raise ParameterError(f"origin={self.origin} must be two numbers.")

    @classmethod
    def fitted(cls, x: str, y: str, points: tuple[Floats, Floats], bins: int) -> HexGrid:
        """A grid with so many hexagons across the data, rounded outwards to round numbers; it warns."""
        if bins < 1:
            raise ParameterError(f"bins={bins} must be at least 1.")
        _refuse_missing(*points)
        width = float(np.ptp(points[0])) or float(np.ptp(points[1])) or 1.0
        size = _round_up(width / bins)
        corner = tuple(float(np.floor(float(np.min(axis)) / size) * size) for axis in points)
        warnings.warn(
            "The grid is fitted to the data, which says where its extremes lie. State size and origin for a release.",
            stacklevel=2,
        )
        return cls(x, y, size, (corner[0], corner[1]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The two columns of coordinates."""
        return (self.x, self.y)

    def codes_of(self, *coordinates: Floats) -> list[str]:
        """Codes such as ``h3:-2``, the axial coordinates of the hexagon of each record."""
        return [f"h{q}:{r}" for q, r in self.cells(*coordinates).tolist()]

    def hierarchy(self, codes: Sequence[str] = ()) -> Hierarchy:
        """Hexagons that occur, in the order of their coordinates, labelled by their centres, under a total."""
        cells = sorted({hexagon(code) for code in codes})
        radius = self.size / np.sqrt(3)
        labels = {
            f"h{q}:{r}": f"{self.origin[0] + radius * np.sqrt(3) * (q + r / 2):.10g}, "
            f"{self.origin[1] + radius * 1.5 * r:.10g}"
            for q, r in cells
        }
        return Hierarchy.flat(list(labels) or ["h0:0"], labels=labels)

    def cells(self, x: Floats, y: Floats) -> Ints:
        """Axial coordinates (q, r) of the hexagon of each point, one row a point.

        Examples
        --------
        >>> HexGrid("x", "y", 2.0).cells(np.array([0.0, 2.1]), np.array([0.0, 0.0])).tolist()
        [[0, 0], [1, 0]]
        """
        _refuse_missing(x, y)
        radius = self.size / np.sqrt(3)
        across, up = x - self.origin[0], y - self.origin[1]
        q = (across * np.sqrt(3) / 3 - up / 3) / radius
        r = (2 * up / 3) / radius
        return _rounded(q, r)


def hexagon(code: str) -> tuple[int, int]:
    """Axial coordinates that a code stands for."""
    q, _, r = code.removeprefix("h").partition(":")
    return int(q), int(r)


def _refuse_missing(x: Floats, y: Floats) -> None:
    missing = ~(np.isfinite(x) & np.isfinite(y))
    if missing.any():
        raise InputError(
            f"{int(missing.sum())} points have no coordinates, first in record {int(np.argmax(missing)) + 1}.",
            hint="Leave such records out with a filter, and say how many they are.",
        )


def _round_up(number: float) -> float:
    scale = 10.0 ** np.floor(np.log10(number))
    return float(next(step * scale for step in (1, 2, 2.5, 5, 10) if step * scale >= number * (1 - 1e-12)))


def _rounded(q: Floats, r: Floats) -> Ints:
    """The hexagon that holds a fractional position: the coordinate with the largest error follows from the others."""
    s = -q - r
    whole = [np.rint(axis) for axis in (q, r, s)]
    error = [np.abs(a - b) for a, b in zip(whole, (q, r, s), strict=True)]
    first = (error[0] > error[1]) & (error[0] > error[2])
    second = ~first & (error[1] > error[2])
    new_q = np.where(first, -whole[1] - whole[2], whole[0])
    new_r = np.where(second, -new_q - whole[2], whole[1])
    return np.stack([new_q, new_r], axis=1).astype(np.int64)


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

    def network(self) -> Network:
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
class Adjacency(Geography):
    """Areas with neighbours: grid squares, municipalities. A step leads to a neighbour.

    Parameters
    ----------
    codes
        The areas.
    pairs
        Pairs of neighbours, by code.
    """

    codes: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]

    def __init__(self, codes: Sequence[str], pairs: Sequence[tuple[str, str]]) -> None:
        object.__setattr__(self, "codes", tuple(codes))
        object.__setattr__(self, "pairs", tuple((str(a), str(b)) for a, b in pairs))
        if len(set(self.codes)) < len(self.codes):
            raise ParameterError("An area stands there twice.", hint="List each code once.")
        known = set(self.codes)
        for pair in self.pairs:
            for code in pair:
                if code not in known:
                    raise ParameterError(unknown_name("area", code, self.codes))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Records have codes already."""
        return ()

    def codes_of(self, *coordinates: Floats) -> list[str]:
        """Records have codes already."""
        return []

    def hierarchy(self, codes: Sequence[str] = ()) -> Hierarchy:
        """All areas under a total."""
        return Hierarchy.flat(self.codes)

    @cached_property
    def _ends(self) -> Ints:
        index = {code: at for at, code in enumerate(self.codes)}
        ends = np.array([[index[a], index[b]] for a, b in self.pairs], np.int64).reshape(-1, 2)
        return np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)

    def network(self) -> Network:
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
