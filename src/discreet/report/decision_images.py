"""Pictures of decision-theoretic risk: how it rises with what is disclosed, and whose loss is largest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import InputError
from discreet.report.plots import BEST, INK, PALE, UNSAFE, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.measures.decision.policies import RiskCurve
    from discreet.measures.decision.risk import DecisionRisk
    from discreet.model.arrays import Floats


def risk_curve_image(curve: RiskCurve) -> str:
    """Risk and largest loss by how many attributes of every record are disclosed; infinite ones stand above all."""
    lines = (("mean loss (risk)", curve.risk, UNSAFE.tone, "o"), ("largest loss", curve.largest, BEST, "s"))
    top = _top(curve.risk, curve.largest)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for name, values, tone, mark in lines:
            shown = np.where(np.isfinite(values), values, 1.15 * top)
            axes.plot(curve.k, shown, color=tone, marker=mark, markersize=5, linewidth=1.2, label=name)
        if not (np.isfinite(curve.risk).all() and np.isfinite(curve.largest).all()):
            axes.axhline(1.15 * top, color=PALE, linewidth=0.9, linestyle=(0, (3, 2)), label="without end")
        axes.set_xticks(curve.k)
        axes.set_xlabel("attributes of every record that are disclosed (k)")
        axes.set_ylabel("loss")
        axes.set_ylim(0, 1.25 * top)
        axes.legend(loc="upper left", frameon=False)

    words = ", ".join(f"{k}: {risk:.4g}" for k, risk in zip(curve.k.tolist(), curve.risk.tolist(), strict=True))
    return drawn(draw, 3.2, f"Risk by the number of disclosed attributes: {words}.")


def decision_image(found: DecisionRisk, beside: DecisionRisk | None = None) -> str:
    """Losses of all records, the largest first; or beside those by another dictionary, record by record."""
    return _ranked(found) if beside is None else _scattered(found, beside)


def _ranked(found: DecisionRisk) -> str:
    loss = np.sort(found.loss)[::-1]
    top = _top(loss)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        shown = np.where(np.isfinite(loss), loss, 1.15 * top)
        axes.step(np.arange(1, len(loss) + 1), shown, where="mid", color=UNSAFE.tone, linewidth=1.4, label="loss")
        if np.isfinite(found.risk):
            axes.axhline(found.risk, color=INK, linewidth=0.9, linestyle=(0, (3, 2)), label="mean (risk)")
        axes.set_xlabel("records, the largest loss first")
        axes.set_ylabel("loss")
        axes.set_ylim(0, 1.25 * top)
        axes.legend(loc="upper right", frameon=False)

    endless = int((~np.isfinite(loss)).sum())
    words = f"largest {found.largest:.4g}, mean {found.risk:.4g} of {len(loss):,} records"
    return drawn(draw, 3.0, f"Losses of records: {words}{f', {endless:,} without end' if endless else ''}.")


def _scattered(found: DecisionRisk, beside: DecisionRisk) -> str:
    one, other = found.loss, beside.loss
    if len(one) != len(other):
        raise InputError(
            f"Risks of {len(one):,} and of {len(other):,} records do not stand beside each other.",
            hint="Give the risk of the same records by another dictionary.",
        )
    top = _top(one, other)
    above, below = int((other > one).sum()), int((other < one).sum())

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        x, y = (np.where(np.isfinite(values), values, 1.1 * top) for values in (one, other))
        axes.plot(x, y, linestyle="none", marker="o", markersize=4, color=UNSAFE.tone, alpha=0.6)
        axes.plot([0, 1.15 * top], [0, 1.15 * top], color=INK, linewidth=0.9, linestyle=(0, (3, 2)))
        axes.set_xlim(0, 1.15 * top)
        axes.set_ylim(0, 1.15 * top)
        axes.set_xlabel("loss")
        axes.set_ylabel("loss by the other dictionary")

    words = f"{above:,} of {len(one):,} records lose more by the other, {below:,} less"
    return drawn(draw, 3.6, f"Losses by two dictionaries: {words}.")


def _top(*values: Floats) -> float:
    """The largest finite number, at least something above nothing."""
    finite = np.concatenate([one[np.isfinite(one)] for one in values])
    return float(finite.max(initial=0.0)) or 1.0
