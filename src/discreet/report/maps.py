"""The image of a map before and after units moved; for the custodian only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import NeedsError
from discreet.model.arrays import Floats, Ints
from discreet.model.custodian import TableCustodian
from discreet.model.release import Release
from discreet.report.plots import _image

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ARROWS = 400
"""Up to so many moves are drawn as arrows."""
ARROW = {"arrowstyle": "-|>", "linewidth": 0.6, "color": "#b03a2e", "alpha": 0.6, "mutation_scale": 6, "shrinkA": 0}
LEGEND = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000)


def map_image(release: Release, label: str = "The map before and after units moved") -> str:
    """Hexagons before and after a re-distribution, side by side, with the moves; an inline ``svg`` element.

    Parameters
    ----------
    release
        A release of ``ds.Redistribute`` on a ``ds.HexGrid``.
    label
        Words for those who cannot see the image.
    """
    if not has_map(release.custodian):
        raise NeedsError(
            "The release has no hexagons to draw.",
            hint="Protect a table by={'place': ds.HexGrid(...)} by Redistribute.",
        )
    return custodian_map(release.custodian, label)


def has_map(custodian: TableCustodian) -> bool:
    """Whether a release is a map of hexagons."""
    return custodian.published is not None and "hexagons" in custodian.evidence[0].parts


def custodian_map(custodian: TableCustodian, label: str) -> str:
    """The image of the custodian's map."""
    parts = custodian.evidence[0].parts
    q, r = parts["hexagons"]["q"], parts["hexagons"]["r"]
    x, y = q + r / 2, r * np.sqrt(3) / 2
    table = custodian.tables.tables[0]
    assert custodian.published is not None
    before, after = (_by_place(custodian, values) for values in (table.value, custodian.published[0]))
    left, right, bottom, top = (float(end) for end in (x.min(), x.max(), y.min(), y.max())) if len(x) else (0.0,) * 4
    apart = right - left + 4
    moves = parts.get("moves")

    def draw(axes: Axes) -> None:
        most = float(np.log1p(max(before.max(initial=1), after.max(initial=1))))
        words = "after" if moves is None else "after, with moves"
        for shift, counts, title in ((0.0, before, "before"), (apart, after, words)):
            _hexagons(axes, x + shift, y, counts, most)
            axes.text((left + right) / 2 + shift, top + 1.5, title, ha="center")
        if moves is not None:
            pairs = dict.fromkeys(zip(moves["source"].tolist(), moves["target"].tolist(), strict=True))
            for source, target in list(pairs)[:MOST_ARROWS]:
                start, end = (x[source] + apart, y[source]), (x[target] + apart, y[target])
                axes.annotate("", end, start, arrowprops=ARROW)
        _legend(axes, (left + right + apart) / 2, bottom - 3, int(max(before.max(initial=1), 1)), most)
        axes.set_aspect("equal")
        axes.set_xlim(left - 1, right + apart + 1)
        axes.set_ylim(bottom - 5, top + 2.5)
        axes.set_axis_off()

    tall = (top - bottom + 7.5) / (2 * (right - left) + 6)
    return _image(draw, min(max(8.6 * tall, 2.0), 9.0), label)


def _by_place(custodian: TableCustodian, values: Ints) -> Ints:
    table = custodian.tables.tables[0]
    hierarchy = table.spec.hierarchies[0]
    rows = table.find(np.flatnonzero(hierarchy.base).astype(np.int32)[:, None])
    return np.where(rows >= 0, values[np.maximum(rows, 0)], 0)


def _hexagons(axes: Axes, x: Floats, y: Floats, counts: Ints, most: float) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import RegularPolygon

    there = np.flatnonzero(counts > 0)
    shapes = [RegularPolygon((float(x[i]), float(y[i])), 6, radius=1 / np.sqrt(3)) for i in there.tolist()]
    drawn = PatchCollection(shapes, cmap="Blues", edgecolor="#5a6675", linewidth=0.3)
    drawn.set_array(np.log1p(counts[there]))
    drawn.set_clim(0, most or 1.0)
    axes.add_collection(drawn)


def _legend(axes: Axes, x: float, y: float, largest: int, most: float) -> None:
    """A row of hexagons with the numbers of units that their shades stand for."""
    steps = np.array([step for step in LEGEND if step <= largest], np.int64)
    steps = steps[np.unique(np.linspace(0, len(steps) - 1, 5).round().astype(np.int64))]
    places: Floats = x + 3.0 * (np.arange(len(steps), dtype=np.float64) - (len(steps) - 1) / 2)
    _hexagons(axes, places, np.full(len(steps), y), steps, most)
    for place, step in zip(places.tolist(), steps.tolist(), strict=True):
        axes.text(place, y - 0.9, f"{step:,}", ha="center", va="top", fontsize=8)
