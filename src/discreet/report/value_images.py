"""Pictures of columns of numbers before and after: densities, quantiles, covariances, correlations and biplots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from discreet.errors import NeedsError, ParameterError, unknown_name
from discreet.measures.values import ValuePair, altered_numbers, value_pair
from discreet.model.arrays import Floats
from discreet.model.custodian import RecordCustodian
from discreet.model.release import Release
from discreet.report.plots import BEST, INK, OTHER, PALE, PAPER, SECONDARY, UNSAFE, drawn, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

ValueImage = Literal["densities", "quantiles", "covariances", "correlations", "biplot", "convergence"]
MOST_COLUMNS, BINS, DOTS = 12, 40, 500
BEFORE, AFTER = UNSAFE.tone, BEST
TONES = ((0.2, SECONDARY.tone), (0.05, OTHER), (0.0, PAPER))
"""Colours of changes of correlations, from so much on."""


def value_image(
    release: Release[RecordCustodian], kind: ValueImage = "densities", columns: Sequence[str] | None = None
) -> str:
    """Columns of numbers before and after, as an inline ``svg`` element.

    For the custodian: what was before must not be published.

    Parameters
    ----------
    kind
        ``"densities"``: how values are spread. ``"quantiles"``: quantiles after
        against those before. ``"covariances"``: ellipses of pairs of the first three columns.
        ``"correlations"``: by how much correlations changed. ``"biplot"``: records and columns on the first two
        principal components. ``"convergence"``: how the loss of learnt groups fell.
    columns
        Which columns; those that were altered and hold numbers where left out.

    Raises
    ------
    NeedsError
        When no such column was altered, or matplotlib is not installed.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> firms = ds.Microdata(pa.table({"x": [1, 2, 3, 7, 8, 9], "y": [2, 1, 4, 8, 6, 9]}), numeric=["x", "y"])
    >>> ds.protect(firms, ds.Microaggregate(k=3)).value_image("quantiles").startswith("<svg")
    True
    """
    if kind not in get_args(ValueImage):
        raise ParameterError(unknown_name("kind", str(kind), get_args(ValueImage)))
    custodian = release.custodian
    if not isinstance(custodian, RecordCustodian):
        raise NeedsError("Numbers are drawn of a release of records, and this is one of tables.")
    if kind == "convergence":
        return _convergence(custodian)
    names = altered_numbers(custodian) if columns is None else list(columns)
    if not names:
        raise NeedsError("No column of numbers was altered.", hint="Name columns: columns=[...].")
    pair = value_pair(custodian.original, custodian.released, names[:MOST_COLUMNS])
    if len(pair.before) < 2:
        raise NeedsError("There are fewer than two records without a gap in these columns.", hint="Name other columns.")
    if kind in ("covariances", "correlations", "biplot") and len(pair.names) < 2:
        raise NeedsError(f'"{kind}" needs two columns of numbers.', hint='Use "densities" or "quantiles".')
    return DRAWN[kind](pair)


def _convergence(custodian: RecordCustodian) -> str:
    """How the loss of groups fell, cycle by cycle, where an algorithm learns them."""
    histories = [step.evidence.facts["history"] for step in custodian.steps if step.evidence.facts.get("history")]
    if not histories:
        raise NeedsError(
            "No step of this release learns groups cycle by cycle.",
            hint='ds.Microaggregate(algorithm="automaton") does.',
        )
    losses = [float(loss) for loss in histories[-1]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot(range(1, len(losses) + 1), losses, color=AFTER, linewidth=1.3)
        axes.set_xlabel("cycle")
        axes.set_ylabel("loss of the best groups so far")

    return drawn(draw, 2.8, f"Loss by cycle: {losses[0]:.4g} at first, {losses[-1]:.4g} after {len(losses)} cycles.")


def densities(pair: ValuePair) -> str:
    """Histograms of all columns, each between its lowest and its highest percentile before."""

    def draw(axes: Axes, before: Floats, after: Floats) -> None:
        width = _linear_width(before)
        low, high = np.arcsinh(np.percentile(before, [0.5, 99.5]) / width)
        edges = np.sinh(np.linspace(low, high if high > low else low + 1, BINS + 1)) * width
        for values, tone, words in ((before, BEFORE, "before"), (after, AFTER, "after")):
            counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
            axes.stairs(100 * counts / len(values), edges, color=tone, linewidth=1.2, label=words)
        axes.set_ylabel("% of records", fontsize=7)
        axes.set_xscale("asinh", linear_width=width)
        _few_ticks(axes.xaxis, low, high, width)

    words = "Columns before and after, as histograms; what lies beyond 99 % of the values stands at the ends"
    return _panels(pair, draw, words)


def quantiles(pair: ValuePair) -> str:
    """Quantiles after against those before; on the line nothing changed."""
    at = np.concatenate([[0.1, 0.5], np.linspace(1, 99, 99), [99.5, 99.9]])

    def draw(axes: Axes, before: Floats, after: Floats) -> None:
        first, second = (np.percentile(values, at) for values in (before, after))
        ends = [min(first.min(), second.min()), max(first.max(), second.max())]
        axes.plot(ends, ends, color=PALE, linewidth=0.8)
        axes.plot(first, second, ".", color=AFTER, markersize=3)
        width = _linear_width(before)
        for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
            scale("asinh", linear_width=width)
            low, high = np.arcsinh(np.array(ends) / width)
            _few_ticks(axis, float(low), float(high), width)
        axes.set_xlabel("before", fontsize=7)
        axes.set_ylabel("after", fontsize=7)

    return _panels(pair, draw, "Quantiles after against quantiles before")


def covariances(pair: ValuePair) -> str:
    """Ellipses that hold 95 % of normal numbers with the covariance before and after, for pairs of the first three."""
    places = [(i, j) for i in range(min(3, len(pair.names))) for j in range(i)]

    def draw(figure: Figure) -> None:
        for place, axes in enumerate(np.atleast_1d(figure.subplots(1, len(places)))):
            i, j = places[place]
            chosen = _sample(len(pair.before))
            axes.plot(pair.before[chosen, j], pair.before[chosen, i], ".", color=OTHER, markersize=2)
            for values, tone, dashes in ((pair.before, BEFORE, "-"), (pair.after, AFTER, "--")):
                line = _ellipse(values[:, [j, i]])
                axes.plot(line[:, 0], line[:, 1], dashes, color=tone, linewidth=1.4)
            axes.set_xlabel(short(pair.names[j]), fontsize=8)
            axes.set_ylabel(short(pair.names[i]), fontsize=8)
            axes.tick_params(labelsize=6)

    return drawn(draw, 3.2, "Covariances before (whole line) and after (dashed), as ellipses over original records.")


def correlations(pair: ValuePair) -> str:
    """By how much each correlation changed."""
    first, second = (np.nan_to_num(np.corrcoef(v, rowvar=False)) for v in (pair.before, pair.after))
    change = np.asarray(np.round(np.atleast_2d(second - first), 6) + 0.0, np.float64)  # one zero

    def draw(figure: Figure) -> None:
        from matplotlib.patches import Rectangle

        axes = figure.subplots()
        names = [short(name) for name in pair.names]
        axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=7)
        axes.set_yticks(range(len(names)), names, fontsize=7)
        for i in range(len(names)):
            for j in range(len(names)):
                tone = next(tone for least, tone in TONES if abs(change[i, j]) >= least)
                axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=tone, edgecolor=PALE, linewidth=0.4))
                axes.annotate(f"{change[i, j]:+.2f}", (j, i), ha="center", va="center", fontsize=6, color=INK)
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.set_ylim(len(names) - 0.5, -0.5)

    worst = np.unravel_index(np.argmax(np.abs(change)), change.shape)
    words = f"largest change {change[worst]:+.3f}, {pair.names[worst[0]]} and {pair.names[worst[1]]}"
    return drawn(draw, 1.4 + 0.32 * len(pair.names), f"Changes of correlations: {words}.")


def biplot(pair: ValuePair) -> str:
    """Records and columns on the first two principal components of the original."""
    spread = pair.before.std(axis=0)
    scale, middle = np.where(spread > 0, spread, 1.0), pair.before.mean(axis=0)
    first, second = ((values - middle) / scale for values in (pair.before, pair.after))
    axes_before = np.linalg.svd(first, full_matrices=False)[2][:2].T

    def draw(figure: Figure) -> None:
        both = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, values, tone, words in zip(both, (first, second), (BEFORE, AFTER), ("before", "after"), strict=True):
            chosen, scores = _sample(len(values)), values @ axes_before
            axes.plot(scores[chosen, 0], scores[chosen, 1], ".", color=OTHER, markersize=3)
            own = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)[2][:2].T
            own = own * np.where((own * axes_before).sum(axis=0) < 0, -1.0, 1.0)
            reach = 0.8 * np.percentile(np.abs(scores), 99) / max(1e-9, float(np.abs(own).max()))
            for name, arrow in zip(pair.names, own * reach, strict=True):
                axes.plot([0, arrow[0]], [0, arrow[1]], color=tone, linewidth=1.1)
                axes.annotate(short(name), tuple(arrow), fontsize=6.5)
            axes.set_title(words, fontsize=8)

    return drawn(draw, 3.8, "Records and columns on the first two principal components, before and after.")


DRAWN: dict[str, Callable[[ValuePair], str]] = {
    "densities": densities,
    "quantiles": quantiles,
    "covariances": covariances,
    "correlations": correlations,
    "biplot": biplot,
}


def _panels(pair: ValuePair, draw: Callable[[Axes, Floats, Floats], None], words: str) -> str:
    """One small picture per column, three in a row."""
    across = min(3, len(pair.names))
    down = -(-len(pair.names) // across)

    def all_of(figure: Figure) -> None:
        panels = np.atleast_1d(figure.subplots(down, across)).ravel()
        for place, axes in enumerate(panels):
            if place >= len(pair.names):
                axes.set_axis_off()
                continue
            draw(axes, pair.before[:, place], pair.after[:, place])
            axes.set_title(short(pair.names[place]), fontsize=8)
            axes.tick_params(labelsize=6)
        if panels[0].get_legend_handles_labels()[0]:
            panels[0].legend(frameon=False, fontsize=7)

    return drawn(all_of, 2.3 * down, f"{words}: {', '.join(pair.names)}.")


def _linear_width(values: Floats) -> float:
    """Around zero a scale is linear up to here, and beyond like logarithms: columns of money have long tails."""
    return max(float(np.median(np.abs(values))), 1e-3 * float(np.abs(values).max()), 1e-9)


def _few_ticks(axis: Axis, low: float, high: float, width: float) -> None:
    """Three or four round numbers, evenly spread."""
    at = np.sinh(np.linspace(low, high, 4)) * width
    size = 10.0 ** np.floor(np.log10(np.maximum(np.abs(at), 1e-12)))
    at = np.unique(np.round(at / size) * size)
    axis.set_ticks(at, [f"{tick:,.6g}" for tick in at])
    axis.set_ticks([], minor=True)


def _ellipse(values: Floats) -> Floats:
    root = np.linalg.cholesky(np.cov(values, rowvar=False) + 1e-12 * np.eye(2) * max(1.0, float(values.var())))
    angle = np.linspace(0, 2 * np.pi, 100)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(values.mean(axis=0) + np.sqrt(5.991) * circle @ root.T)


def _sample(rows: int) -> slice:
    """Some of many records, evenly spread, so that drawings stay small."""
    return slice(None, None, max(1, rows // DOTS))
