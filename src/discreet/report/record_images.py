"""Pictures of the report on a release of records: risks before and after, and what keys contribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.report.plots import OTHER, REQUIRED, UNSAFE, drawn, short
from discreet.report.record_risk import RiskPair, class_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEFORE, AFTER = "before", "after"


def histogram_image(pair: RiskPair) -> str:
    """How many records have which individual risk, before and after."""
    before, after = pair.before.histogram(), pair.after.histogram()
    names = class_names()

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _two_bars(axes, names, before, after)
        axes.set_ylabel("records")
        axes.set_xlabel("individual risk")
        limit = pair.before.question.threshold
        edge = next((i for i, name in enumerate(names) if name.startswith(f"{limit:g} to")), None)
        if edge is not None:
            axes.axvline(edge - 0.5, color="#1a2433", linewidth=0.9, linestyle=(0, (3, 2)))

    words = ", ".join(f"{name}: {b:,} before, {a:,} after" for name, b, a in zip(names, before, after, strict=True))
    return drawn(draw, 3.1, f"Records by individual risk. {words}.")


def contribution_image(pair: RiskPair) -> str:
    """What each key contributes to the scores of special uniques, before and after; empty where there are none."""
    if pair.before.suda is None or pair.after.suda is None or not pair.before.suda.score.any():
        return ""
    total = float(pair.before.suda.score.sum())
    first = pair.before.suda.contributions
    later = {
        name: share * float(pair.after.suda.score.sum()) / total
        for name, share in pair.after.suda.contributions.items()
    }
    order = sorted(first, key=lambda name: -first[name])

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        at = np.arange(len(order))
        bars = ((-0.2, first, UNSAFE.tone, ""), (0.2, later, OTHER, REQUIRED.hatch))
        for (shift, shares, tone, hatch), label in zip(bars, (BEFORE, AFTER), strict=True):
            width = [100 * shares[name] for name in order]
            axes.barh(at + shift, width, 0.38, color=tone, hatch=hatch, edgecolor="#1a2433", linewidth=0.6, label=label)
            for y, share in zip((at + shift).tolist(), width, strict=True):
                axes.annotate(f"{share:.0f}", (share, y), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(at, [short(name) for name in order])
        axes.invert_yaxis()
        axes.set_xlim(0, 112)
        axes.set_xlabel("per cent of all scores of the original file")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0 + 0.5 / len(order)), ncols=2, frameon=False)

    words = ", ".join(f"{name} {100 * first[name]:.0f} before, {100 * later[name]:.0f} after" for name in order)
    return drawn(draw, 1.2 + 0.42 * len(order), f"Contribution of keys in per cent: {words}.")


def _two_bars(axes: Axes, names: Sequence[str], before: Sequence[int], after: Sequence[int]) -> None:
    at = np.arange(len(names))
    bars = ((-0.2, before, UNSAFE.tone, "", BEFORE), (0.2, after, OTHER, REQUIRED.hatch, AFTER))
    for shift, counts, tone, hatch, label in bars:
        axes.bar(at + shift, counts, 0.38, color=tone, hatch=hatch, edgecolor="#1a2433", linewidth=0.6, label=label)
        for x, number in zip((at + shift).tolist(), counts, strict=True):
            if number:
                words = f"{number:,}" if number < 100_000 else f"{number / 1000:,.0f}k"
                axes.annotate(words, (x, number), (0, 3), textcoords="offset points", ha="center", fontsize=6.5)
    axes.set_xticks(at, [name.replace("up to ", "up to\n").replace(" to ", "\nto ") for name in names], fontsize=8)
    axes.set_ylim(0, 1.2 * max(1, *before, *after))
    axes.locator_params(axis="y", integer=True)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.spines["left"].set_visible(True)
    axes.tick_params(axis="x", length=0)
    axes.legend(frameon=False, ncols=2, loc="upper right")
