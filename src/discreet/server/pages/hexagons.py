"""Areas as hexagons: one for each, in the order of their list, coloured by fifths of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, cos, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Floats, Ints

RADIUS = 20.0
CLASSES = 5


class Hexagon(NamedTuple):
    """A hexagon of a map: its outline, its class, its words."""

    outline: str
    shade: int
    words: str


class HexagonMap(NamedTuple):
    """A map as a drawing: its size, its hexagons, and what its colours mean."""

    width: int
    height: int
    hexagons: tuple[Hexagon, ...]
    key: tuple[tuple[int, str], ...]


def hexagon_map(areas: Sequence[tuple[str, float]]) -> HexagonMap | None:
    """Draw areas; those that stand side by side in their list lie side by side. Nothing where there are none."""
    if not areas:
        return None
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
        corners = (
            (x + RADIUS * 0.96 * cos(pi / 6 + i * pi / 3), y + RADIUS * 0.96 * sin(pi / 6 + i * pi / 3))
            for i in range(6)
        )
        outline = "M" + "L".join(f"{a:.1f},{b:.1f}" for a, b in corners) + "Z"
        found.append(Hexagon(outline, int(shades[k]), f"{name}: {number:,.0f}"))
    height = RADIUS * 2 + step_y * (ceil(len(areas) / across) - 1) + 4
    return HexagonMap(ceil(step_x * (across + 0.5) + 4), ceil(height), tuple(found), _key(numbers, shades))


def _key(numbers: Floats, shades: Ints) -> tuple[tuple[int, str], ...]:
    found = []
    for shade in np.unique(shades).tolist():
        mine = numbers[shades == shade]
        low, high = f"{mine.min():,.0f}", f"{mine.max():,.0f}"
        found.append((int(shade), low if low == high else f"{low} to {high}"))
    return tuple(found)
