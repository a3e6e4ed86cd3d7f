"""Pictures of corrected estimates: how noise moves coefficients, and what the weights are like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.analyse.extrapolation import NO_NOISE
from discreet.report.plots import BEST, INK, OTHER, PALE, UNSAFE, drawn, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.analyse.results import CorrectedFit

ACROSS = 3
"""Coefficients in a line of the picture."""


def extrapolation_image(fit: CorrectedFit) -> str:
    """Coefficients by level of noise, and the curve on which they are carried back to none."""
    path = fit.path
    assert path is not None
    along = np.linspace(NO_NOISE, float(path.levels[-1]), 61)
    curves = path.at(along)
    lines = -(-len(fit.names) // ACROSS)

    def draw(figure: Figure) -> None:
        axes = np.atleast_1d(figure.subplots(lines, min(ACROSS, len(fit.names)), squeeze=False)).ravel()
        for place, name in enumerate(fit.names):
            one = axes[place]
            past, seen = along <= 0, along >= 0
            one.plot(along[seen], curves[seen, place], color=BEST, linewidth=1.2)
            one.plot(along[past], curves[past, place], color=BEST, linewidth=1.2, linestyle=(0, (3, 2)))
            one.plot(path.levels, path.coefficients[:, place], "o", color=INK, markersize=4)
            one.plot([NO_NOISE], [curves[0, place]], "D", color=UNSAFE.tone, markersize=6)
            one.axvline(0, color=PALE, linewidth=0.6)
            one.set_title(short(name), fontsize=9)
            one.set_xlabel("added noise; -1 is none at all")
        for one in axes[len(fit.names) :]:
            one.set_visible(False)

    words = ", ".join(
        f"{name} {path.coefficients[0, place]:.4g} with the noise of the file and {curves[0, place]:.4g} without"
        for place, name in enumerate(fit.names)
    )
    return drawn(draw, 2.4 * lines + 0.2, f"Coefficients by level of noise, carried back to none: {words}.")


def weights_image(fit: CorrectedFit) -> str:
    """How many records have which weight."""
    found = fit.weights
    assert found is not None

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        low, high = float(found.weights.min()), float(found.weights.max())
        edges = np.geomspace(low, high, 31) if high > low else np.array([low * 0.9, high * 1.1])
        edges[-1] = max(edges[-1], high)
        edges[0] = min(edges[0], low)
        axes.hist(found.weights, edges.tolist(), color=OTHER, edgecolor=INK, linewidth=0.5)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("weight: one over the probability of being kept")
        axes.set_ylabel("records")

    return drawn(draw, 3.0, f"Records by weight. {found!r}.")
