"""A picture of attacks on records: how often each is right, beside guessing at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.attack.record_audit import RecordAudit
from discreet.report.plots import UNSAFE, drawn, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def attacks_image(audit: RecordAudit) -> str:
    """Shares of right guesses with their intervals, the worst attack first; a line where chance alone would be."""
    found = audit.findings
    names = [short(one.attack) for one in found]
    at = np.arange(len(found))
    share = np.array([100 * one.share for one in found])
    ends = 100 * np.array([one.interval() for one in found])
    chance = np.array([100 * one.baseline for one in found])

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.barh(at, share, 0.55, color=UNSAFE.tone, edgecolor="#1a2433", linewidth=0.6, label="right")
        around = np.abs(ends.T - share)
        axes.errorbar(share, at, xerr=around, fmt="none", ecolor="#1a2433", elinewidth=1, capsize=3)
        axes.plot(chance, at, linestyle="none", marker="|", markersize=16, color="#1a2433", label="at random")
        if audit.most is not None:
            axes.axvline(100 * audit.most, color="#1a2433", linewidth=0.9, linestyle=(0, (3, 2)), label="limit")
        axes.set_yticks(at, names)
        axes.invert_yaxis()
        axes.set_xlim(0, max(1.0, 1.12 * float(ends.max())))
        axes.set_xlabel("per cent of attempts that are right")
        axes.legend(loc="lower right", frameon=False)

    words = ", ".join(f"{one.attack} {one.share:.1%} (at random {one.baseline:.1%})" for one in found)
    return drawn(draw, 1.2 + 0.42 * len(found), f"Right guesses by attack: {words}.")
