"""One image of a comparison: what each algorithm withholds, and what it leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.report.plots import SECONDARY, UNSAFE, WIDTH, _inline, _matplotlib, _style, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = (
    ("secondaries", "cells withheld besides"),
    ("secondary_value", "value withheld besides"),
    ("left open", "unsafe cells left open"),
    ("cpu_seconds", "seconds of processor"),
)


def comparison_image(rows: Sequence[Mapping[str, Any]], label: str) -> str:
    """Bars for every algorithm that was done: cells and value withheld besides, cells left open, and time.

    ``rows`` have ``algorithm``, ``secondaries``, ``secondary_value``, ``short``, ``recoverable_insiders`` and
    ``cpu_seconds``.
    """
    with _matplotlib():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, 0.9 + 0.34 * max(len(rows), 1)))
        for axes, (name, title) in zip(figure.subplots(1, len(PANELS), sharey=True), PANELS, strict=True):
            _panel(axes, rows, name)
            axes.set_title(title, fontsize=9)
            axes.ticklabel_format(axis="x", style="plain")
            axes.locator_params(axis="x", nbins=3)
            axes.xaxis.set_major_formatter("{x:,g}")
        return _inline(figure, label)


def _panel(axes: Axes, rows: Sequence[Mapping[str, Any]], name: str) -> None:
    y = range(len(rows))
    if name == "left open":
        # What an insider works out stands inside what is short, as far as levels were asked for.
        axes.barh(y, [row["short"] for row in rows], 0.66, label="short of level", **_style(SECONDARY))
        axes.barh(y, [row["recoverable_insiders"] for row in rows], 0.33, label="known to insiders", **_style(UNSAFE))
        axes.legend(frameon=False, fontsize=7, loc="lower right")
    else:
        axes.barh(y, [row[name] for row in rows], 0.66, **_style(SECONDARY))
    axes.set_yticks(list(y), [short(str(row["algorithm"]), 24) for row in rows])
    if not axes.yaxis_inverted():
        axes.invert_yaxis()
