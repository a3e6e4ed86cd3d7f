"""Geography as a dimension: cells of a table that lie somewhere."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.errors import InputError, ParameterError, unknown_name
from discreet.model.arrays import Floats, Ints
from discreet.model.hierarchy import Hierarchy


class Geography(ABC):
    """Where the codes of a variable lie; stands in ``by`` in place of a hierarchy.

    ``coordinates`` says whether records have coordinates, which are turned into codes, or codes already.
    """

    coordinates: ClassVar[bool] = False

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns of coordinates; none where records have codes."""

    @abstractmethod
    def codes_of(self, *coordinates: Floats) -> list[str]:
        """The code of each record from its coordinates."""

    @abstractmethod
    def hierarchy(self, codes: Sequence[str] = ()) -> Hierarchy:
        """The codes under a total: those that occur, where they come from coordinates."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """The geography as plain data."""


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

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> homes = pa.table({"x": [0.0, 0.1, 5.0], "y": [0.0, 0.1, 0.0]})
    >>> ds.tabulate(homes, by={"place": ds.HexGrid("x", "y", size=1.0)}).value.tolist()
    [3, 2, 1]
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

    def record(self) -> dict[str, Any]:
        """The grid as plain data."""
        return {"kind": "hexagons", "x": self.x, "y": self.y, "size": self.size, "origin": list(self.origin)}

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
class Adjacency(Geography):
    """Areas with neighbours: grid squares, municipalities. A step leads to a neighbour.

    Parameters
    ----------
    codes
        The areas.
    pairs
        Pairs of neighbours, by code.

    Examples
    --------
    >>> import discreet as ds
    >>> squares = ds.Adjacency(["a", "b", "c"], [("a", "b"), ("b", "c")])
    >>> squares.hierarchy().base_codes
    ('a', 'b', 'c')
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

    def record(self) -> dict[str, Any]:
        """The areas as plain data."""
        return {"kind": "areas", "codes": list(self.codes), "pairs": [list(pair) for pair in self.pairs]}


def geography_from(record: Mapping[str, Any]) -> Geography:
    """A geography from plain data."""
    if record.get("kind") == "hexagons":
        x, y = (float(number) for number in record["origin"])
        return HexGrid(str(record["x"]), str(record["y"]), float(record["size"]), (x, y))
    if record.get("kind") == "areas":
        return Adjacency([str(code) for code in record["codes"]], [(str(a), str(b)) for a, b in record["pairs"]])
    raise InputError("A map lies on hexagons or areas, and the file says neither.", hint="Save the release again.")
