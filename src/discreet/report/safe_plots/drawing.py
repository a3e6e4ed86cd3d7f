"""How a safe plot looks: its values, the band of its noise, and its legend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import Floats
from discreet.report.plots import BEST, INK, OTHER, PALE, drawn, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.report.safe_plots.result import SafePlot


def plot_image(plot: SafePlot) -> str:
    """The drawing of a plot, with words for those who cannot see it."""
    draw = {"histogram": _histogram, "density": _density, "box": _box}.get(plot.request.kind, _flat)

    def figure_of(figure: Figure) -> None:
        axes = figure.subplots()
        draw(axes, plot)
        axes.set_xlabel(short(plot.request.variables[0]))
        axes.set_title(plot.legend, fontsize=8, color=PALE, loc="left")

    height = 1.8 if plot.request.kind == "box" else 4.4 if len(plot.axes) > 1 else 3.2
    return drawn(figure_of, height, f"{plot.legend} Values within the band around them are noise.")


def _axis(plot: SafePlot, axis: int = 0) -> Floats:
    found: Floats = 10.0 ** plot.axes[axis] if plot.request.log else plot.axes[axis]
    return found


def _scaled(axes: Axes, plot: SafePlot) -> None:
    if plot.request.log:
        axes.set_xscale("log")
        if len(plot.axes) > 1:
            axes.set_yscale("log")


def _histogram(axes: Axes, plot: SafePlot) -> None:
    edges, counts = _axis(plot), np.maximum(plot.values, 0)  # below 0 in the numbers, never in the drawing
    axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=OTHER, edgecolor=INK, linewidth=0.6, label="count")
    low, high = np.maximum(plot.values - plot.band, 0), np.maximum(plot.values + plot.band, 0)
    axes.vlines((edges[:-1] + edges[1:]) / 2, low, high, color=INK, linewidth=1, label="band of noise, 95 %")
    axes.set_ylabel("count, with noise")
    _scaled(axes, plot)
    axes.legend(loc="best", frameon=False)


def _density(axes: Axes, plot: SafePlot) -> None:
    at = _axis(plot)
    low, high = np.maximum(plot.values - plot.band, 0), np.maximum(plot.values + plot.band, 0)
    axes.fill_between(at, low, high, color=OTHER, label="band of noise, 95 %")
    axes.plot(at, np.maximum(plot.values, 0), color=BEST, linewidth=1.4, label="density")
    axes.set_ylabel("density, with noise")
    _scaled(axes, plot)
    axes.legend(loc="best", frameon=False)


def _box(axes: Axes, plot: SafePlot) -> None:
    assert plot.quantiles is not None
    q = plot.quantiles
    at, low, high = (10.0**one if plot.request.log else one for one in (q.values, q.low, q.high))
    axes.hlines(0, at[0], at[4], color=INK, linewidth=1)
    axes.barh(0, at[3] - at[1], 0.5, at[1], color=OTHER, edgecolor=INK, linewidth=0.8, label="25 to 75 %")
    axes.vlines(at[2], -0.25, 0.25, color=BEST, linewidth=2.4, label="median")
    axes.hlines([0.38] * len(at), low, high, color=PALE, linewidth=3, label="bands of noise, 95 %")
    axes.set_yticks([])
    axes.set_ylim(-0.5, 0.6)
    _scaled(axes, plot)
    axes.legend(loc="best", frameon=False, ncols=3)


def _flat(axes: Axes, plot: SafePlot) -> None:
    first, second = _axis(plot, 0), _axis(plot, 1)
    if plot.classes is None:
        shown, levels = np.maximum(plot.values, 0), 12
        drawn_as = axes.contourf(first, second, shown.T, levels, cmap="Greys")
    else:
        inside = plot.classes.max() - plot.classes
        drawn_as = axes.contourf(first, second, inside.T, np.arange(-0.5, inside.max() + 1), cmap="Greys")
    axes.figure.colorbar(drawn_as, ax=axes, label="density, with noise" if plot.classes is None else "class")
    axes.set_ylabel(short(plot.request.variables[1]))
    _scaled(axes, plot)
