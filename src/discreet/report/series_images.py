"""Pictures of linked time series: right guesses by distance, over releases, and how sure an intruder can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.report.plots import BEST, INK, OTHER, PALE, SECONDARY, UNSAFE, drawn, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.attack.series import SeriesLinks
    from discreet.attack.series_comparison import SeriesComparison, SeriesCurve

LINES = ((INK, "o"), (BEST, "s"), (UNSAFE.tone, "^"), (SECONDARY.tone, "D"), (PALE, "v"))
"""How lines of distances look, in their order."""
CERTAIN = 2.0
"""Gaps above this are drawn as one class."""


def series_image(found: SeriesComparison) -> str:
    """Shares of right guesses by distance with their intervals, and the most that any distance can get right."""
    every = list(found.found.items())
    at = np.arange(len(every))
    share = np.array([100 * one.share for _, one in every])
    ends = 100 * np.array([one.interval() for _, one in every])
    most = np.array([100 * min(one.distinct, one.tried) / max(one.tried, 1) for _, one in every])

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.barh(at, share, 0.55, color=UNSAFE.tone, edgecolor=INK, linewidth=0.6, label="right")
        axes.errorbar(share, at, xerr=np.abs(ends.T - share), fmt="none", ecolor=INK, elinewidth=1, capsize=3)
        axes.plot(most, at, linestyle="none", marker="|", markersize=16, color=INK, label="released series that differ")
        axes.set_yticks(at, [short(name) for name, _ in every])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.08 * max(1.0, float(ends.max()), float(most.max())))
        axes.set_xlabel("per cent of series that are linked rightly")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)

    words = ", ".join(f"{name} {one.share:.1%}" for name, one in every)
    return drawn(draw, 1.5 + 0.42 * len(every), f"Series that are linked rightly, by distance: {words}.")


def series_curve_image(curve: SeriesCurve) -> str:
    """Right links of every distance over several releases, and the cap of series that differ."""
    settings = list(curve.found)
    at = np.arange(len(settings), dtype=np.float64)
    lines = curve.shares()
    cap = 100 * curve.caps()

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (name, share) in enumerate(lines.items()):
            tone, mark = LINES[place % len(LINES)]
            axes.plot(at, 100 * share, color=tone, marker=mark, markersize=5, linewidth=1.2, label=short(name))
        axes.plot(at, cap, color=PALE, linewidth=1, linestyle=(0, (3, 2)), label="series that differ")
        axes.set_xticks(at, [short(str(one)) for one in settings])
        axes.set_xlabel(short(curve.name))
        axes.set_ylabel("per cent linked rightly")
        axes.set_ylim(0, 1.08 * max(1.0, float(cap.max()), *(100 * float(one.max()) for one in lines.values())))
        axes.legend(loc="best", frameon=False)

    words = "; ".join(f"{one}: {curve.found[one].worst.share:.1%} by the worst distance" for one in settings)
    return drawn(draw, 3.4, f"Series that are linked rightly over {curve.name}: {words}.")


def series_links_image(found: SeriesLinks) -> str:
    """How much nearer the nearest is than the next, of guesses that are right and of those that are wrong."""
    gap = np.minimum(found.gap, CERTAIN)
    right = found.chance >= 0.5
    edges = np.linspace(0.0, CERTAIN, 21)
    counts = [np.histogram(gap[which], edges)[0] for which in (right, ~right)]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        middle, wide = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
        axes.bar(middle, counts[0], 0.9 * wide, color=UNSAFE.tone, edgecolor=INK, linewidth=0.6, label="right")
        below = counts[0]
        axes.bar(middle, counts[1], 0.9 * wide, below, color=OTHER, edgecolor=INK, linewidth=0.6, label="wrong")
        axes.set_xlabel(
            f"how much farther the second nearest is, as a share of the distance ({CERTAIN:g} and more last)"
        )
        axes.set_ylabel("series")
        axes.locator_params(axis="y", integer=True)
        axes.legend(loc="best", frameon=False)

    wide = int((gap[right] >= 0.5).sum())
    words = f"{int(right.sum()):,} of {found.tried:,} guesses are right, {wide:,} of them with a gap of a half or more"
    return drawn(draw, 3.0, f"Right and wrong guesses by how sure an intruder can be: {words}.")
