"""Areas as hexagons: one for each, in the order of their list, coloured by fifths of their numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, cos, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Floats, Ints

RADIUS = 20.0
CLASSES = 5
MOST_AREAS = 1_400
"""Areas of one map: more could not be told apart, and would weigh too much."""


MOST_SINGLE = 200
"""Of more areas, those of a class are one shape, and have their words from a script when somebody points at the map: a
thousand shapes with words take a browser longer than all the rest of the page."""


class Hexagon(NamedTuple):
    """A hexagon of a map: where it lies, its class, its words."""

    x: str
    y: str
    shade: int
    words: str


def _corners() -> list[complex]:
    return [RADIUS * 0.96 * complex(cos(pi / 6 + i * pi / 3), sin(pi / 6 + i * pi / 3)) for i in range(6)]


def _sides() -> str:
    """The outline from the middle of a hexagon on, in steps."""
    corners = _corners()
    steps = [corners[0], *(b - a for a, b in pairwise(corners))]
    first, *rest = (f"{step.real:.1f},{step.imag:.1f}" for step in steps)
    return f"m{first}" + "".join(f"l{step}" for step in rest) + "z"


SIDES = _sides()


class HexagonMap(NamedTuple):
    """A map as a drawing: its size, the outline of all hexagons, where they lie, and what its colours mean."""

    width: int
    height: int
    outline: str
    hexagons: tuple[Hexagon, ...]
    key: tuple[tuple[int, str], ...]
    left_out: int = 0
    """Areas that are not drawn, because there are too many."""

    @property
    def shapes(self) -> tuple[tuple[int, str], ...]:
        """All hexagons of each class as one shape, where there are many; none where each has a shape of its own."""
        if len(self.hexagons) <= MOST_SINGLE:
            return ()
        found: dict[int, list[str]] = {}
        for one in self.hexagons:
            found.setdefault(one.shade, []).append(f"M{one.x},{one.y}{SIDES}")
        return tuple((shade, "".join(parts)) for shade, parts in sorted(found.items()))

    @property
    def words(self) -> str:
        """Where all hexagons lie and their words, as a script reads them."""
        return json.dumps([(int(one.x), int(one.y), one.words) for one in self.hexagons], separators=(",", ":"))


def hexagon_map(areas: Sequence[tuple[str, float]]) -> HexagonMap | None:
    """Draw areas; those that stand side by side in their list lie side by side. Nothing where there are none."""
    if not areas:
        return None
    left_out, areas = max(0, len(areas) - MOST_AREAS), areas[:MOST_AREAS]
    across = ceil(sqrt(1.4 * len(areas)))
    numbers = np.array([number for _, number in areas])
    cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, CLASSES + 1)[1:-1]))
    shades = np.searchsorted(cuts, numbers, side="left")
    step_x, step_y = RADIUS * sqrt(3), RADIUS * 1.5
    found = []
    for k, (name, number) in enumerate(areas):
        down, along = divmod(k, across)
        along = along if down % 2 == 0 else across - 1 - along  # back and forth, so that neighbours stay neighbours
        x = step_x * (along + 0.5 + 0.5 * (down % 2)) + 2
        y = RADIUS + step_y * down + 2
        found.append(Hexagon(f"{x:.0f}", f"{y:.0f}", int(shades[k]), f"{name}: {number:,.0f}"))
    outline = "M" + "L".join(f"{corner.real:.1f},{corner.imag:.1f}" for corner in _corners()) + "Z"
    height = RADIUS * 2 + step_y * (ceil(len(areas) / across) - 1) + 4
    width = ceil(step_x * (across + 0.5) + 4)
    return HexagonMap(width, ceil(height), outline, tuple(found), _key(numbers, shades), left_out)


def _key(numbers: Floats, shades: Ints) -> tuple[tuple[int, str], ...]:
    found = []
    for shade in np.unique(shades).tolist():
        mine = numbers[shades == shade]
        low, high = f"{mine.min():,.0f}", f"{mine.max():,.0f}"
        found.append((int(shade), low if low == high else f"{low} to {high}"))
    return tuple(found)
