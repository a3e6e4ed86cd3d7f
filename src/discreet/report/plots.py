"""The images of the report: vector drawings that stay readable in print, in grey and without colour vision."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import missing_extra
from discreet.model.arrays import Ints
from discreet.model.table import Table
from discreet.report.deduction import Deduction
from discreet.report.numbers import TableNumbers, Tally
from discreet.report.page import PURPOSE, trusted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 8.6
"""Width of all images in inches."""
INK, PALE = "#1a2433", "#5a6675"


@dataclass(frozen=True)
class Fill:
    """How a kind of cell looks: a tone and a hatch, each enough to tell it from the others."""

    name: str
    tone: str
    hatch: str


UNSAFE = Fill("unsafe", "#b3361f", "")
SECONDARY = Fill("withheld besides", "#f2bd6b", "////")
PUBLISHED = Fill("published", "#e6ebf0", "")
EMPTY = Fill("empty", "#ffffff", "||")
BEST, OTHER = "#1f3f66", "#b9cce0"
REQUIRED = Fill("required to stay possible", OTHER, "////")
PAPER = "#ffffff"
FOLLOWS = {
    INK: "ink",
    PALE: "soft",
    UNSAFE.tone: "unsafe",
    SECONDARY.tone: "besides",
    PUBLISHED.tone: "published",
    BEST: "strong",
    OTHER: "mild",
    PAPER: "paper",
    "#000000": "ink",
}
"""Colours that the style of a page names: drawings of no others are light on light pages and dark on dark ones."""


STYLED = re.compile(r' style="[^"]*"| fill="#[0-9a-f]{6}"')
"""Where an element says its colours; in words, quotation marks are escaped."""
COLOUR = re.compile(r"#[0-9a-f]{6}")


def status_image(tables: Sequence[TableNumbers], label: str) -> str:
    """Shares of cells, and of value at the lowest level, by status: two bars per table."""
    rows = [
        row
        for t in tables
        for row in ((f"{short(t.table.name)}: cells", t.tally), (f"{short(t.table.name)}: value", t.base_value))
        if row[1].total
    ]

    def draw(axes: Axes) -> None:
        parts = [
            (PUBLISHED, [tally.published for _, tally in rows]),
            (UNSAFE, [tally.unsafe for _, tally in rows]),
            (SECONDARY, [tally.secondary for _, tally in rows]),
            (EMPTY, [tally.empty for _, tally in rows]),
        ]
        _stacked(axes, [name for name, _ in rows], [tally for _, tally in rows], parts)
        for fill, bars in zip((fill for fill, _ in parts), axes.containers, strict=True):
            _write_shares(axes, fill, bars)
        axes.set_xlim(0, 100)
        axes.set_xlabel("per cent of cells, or of the value of cells at the lowest level")

    return _image(draw, 0.9 + 0.34 * len(rows), label)


def level_image(numbers: TableNumbers, label: str) -> str:
    """Share of cells withheld, by the level of each variable."""
    levels = [level for level in numbers.levels if level.tally.total > level.tally.empty]

    def draw(axes: Axes) -> None:
        names = [f"{short(level.variable)}, level {level.depth}" for level in levels]
        parts = [
            (UNSAFE, [level.tally.unsafe for level in levels]),
            (SECONDARY, [level.tally.secondary for level in levels]),
        ]
        tallies = [Tally((0, *level.tally.cells[1:])) for level in levels]
        _stacked(axes, names, tallies, parts)
        shares = [100 * tally.withheld / tally.total for tally in tallies]
        for y, share in enumerate(shares):
            axes.annotate(f"{share:.1f}", (share, y), (5, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_xlim(0, max(10.0, 1.12 * max(shares, default=0)))
        axes.set_xlabel("per cent of the cells at that level that are not empty")

    return _image(draw, 0.9 + 0.3 * len(levels), label)


def width_image(deduction: Deduction, label: str) -> str:
    """How many cells are left with which width of interval, against their value."""
    classes = deduction.width_counts()

    def draw(axes: Axes) -> None:
        at = np.arange(len(classes))
        bars = [(UNSAFE, [u for _, u, _ in classes], -0.2), (SECONDARY, [o for _, _, o in classes], 0.2)]
        for fill, counts, shift in bars if deduction.kind == "withheld" else bars[:1]:
            axes.bar(at + shift, counts, 0.38, label=fill.name, **_style(fill))
            for x, n in zip((at + shift).tolist(), counts, strict=True):
                if n:
                    axes.annotate(f"{n:,}", (x, n), (0, 3), textcoords="offset points", ha="center", fontsize=8)
        axes.set_xticks(at, [_wrapped(name) for name, _, _ in classes])
        axes.set_xlabel("width of the interval, in per cent of the cell's value")
        axes.set_ylabel("cells")
        axes.set_ylim(0, 1.15 * max([1, *(n for _, *both in classes for n in both)]))
        axes.locator_params(axis="y", integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.spines["left"].set_visible(True)
        axes.tick_params(axis="x", length=0)
        _legend(axes)

    return _image(draw, 3.0, label)


def interval_image(table: Table, deduction: Deduction, at: Ints, label: str) -> str:
    """Required and remaining interval of some unsafe cells, around their value, which is not zero."""

    def draw(axes: Axes) -> None:
        value = np.abs(deduction.value[at])
        ends = [
            np.clip(100 * distance[at] / value, -1e6, 1e6)
            for distance in (
                -deduction.need_below,
                deduction.need_above,
                deduction.lower - deduction.value,
                deduction.upper - deduction.value,
            )
        ]
        required, left_over = (float(np.abs(np.concatenate(pair)).max()) for pair in (ends[:2], ends[2:]))
        limit = _round_limit(max(required, min(left_over, max(4 * required, 100.0))))
        left, right, low, high = (np.clip(e, -limit, limit) for e in ends)
        y = np.arange(len(at))
        axes.barh(y, right - left, 0.55, left, label=REQUIRED.name, **_style(REQUIRED))
        axes.hlines(y, low, high, color=INK, linewidth=1.8, label=_possible(deduction))
        for end, raw, marker in ((low, ends[2], "<"), (high, ends[3], ">")):
            beyond = np.abs(raw) > limit
            axes.plot(end[beyond], y[beyond], marker, color=INK, markersize=5, linestyle="none")
            axes.plot(end[~beyond], y[~beyond], "|", color=INK, markersize=10, markeredgewidth=1.8, linestyle="none")
        axes.axvline(0, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.set_yticks(y, [_cell(table, row) for row in deduction.rows[at].tolist()])
        axes.invert_yaxis()
        axes.set_xlim(-1.06 * limit, 1.06 * limit)
        axes.set_xlabel("distance from the value, in per cent of it (arrow heads: the interval goes on)")
        _legend(axes)

    return _image(draw, 1.05 + 0.27 * len(at), label)


def short(text: str, most: int = 34) -> str:
    """A name for an image: one line, cut where it is long."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def _possible(deduction: Deduction) -> str:
    return "left to the attacker" if deduction.realised else "proved to be possible"


def _cell(table: Table, row: int) -> str:
    codes = table.spec_codes(table.codes[row].tolist())
    return short(" × ".join(short(code, 18) for code in codes), 40)


def _round_limit(number: float) -> float:
    """A round number not below the given one."""
    limits = [size * 10.0**power for power in range(6) for size in (1.0, 1.5, 2.0, 3.0, 5.0)]
    return next((limit for limit in limits if limit >= max(number, 10.0)), 1e6)


def _wrapped(name: str) -> str:
    """A name on two lines, a number and its sign together."""
    head, _, rest = name.replace(" %", "\N{NO-BREAK SPACE}%").rpartition(" ")
    return "\n".join((head, rest)) if (head and len(name) > 9) else name


def _style(fill: Fill) -> dict[str, Any]:
    return {"color": fill.tone, "hatch": fill.hatch, "edgecolor": INK, "linewidth": 0.7}


def _stacked(
    axes: Axes, names: Sequence[str], tallies: Sequence[Tally], parts: Sequence[tuple[Fill, Sequence[int]]]
) -> None:
    """Stacked horizontal bars in per cent, the first name on top."""
    y = np.arange(len(names))
    total = np.array([tally.total for tally in tallies], np.float64)
    left = np.zeros(len(names))
    for fill, numbers in parts:
        share = 100 * np.array(numbers, np.float64) / total
        axes.barh(y, share, 0.66, left, label=fill.name, **_style(fill))
        left = left + share
    axes.set_yticks(y, list(names))
    axes.invert_yaxis()
    _legend(axes)


def _write_shares(axes: Axes, fill: Fill, bars: Any) -> None:
    """The share inside each part of a bar that has room for it."""
    for bar in bars:
        if bar.get_width() >= 5:
            x, y = bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height() / 2
            dark = fill is UNSAFE
            plate = None if dark else {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            text = f"{bar.get_width():.1f}"
            axes.text(x, y, text, ha="center", va="center", fontsize=8, color="white" if dark else INK, bbox=plate)


def _legend(axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    axes.legend(
        handles,
        names,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=len(names),
        frameon=False,
        borderaxespad=0.2,
        handlelength=2.2,
        handleheight=1.0,
        columnspacing=1.6,
    )


SETTINGS: Any = {
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "hatch.linewidth": 0.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "discreet",
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "ytick.left": False,
}
"""Own settings on top of the defaults: text stays text, names are never read as formulas, the same ids every time."""


def _image(draw: Callable[[Axes], None], height: float, label: str) -> str:
    """What ``draw`` puts on the axes, as an inline image with words for those who cannot see it."""
    return drawn(lambda figure: draw(figure.subplots()), height, label)


def drawn(draw: Callable[[Figure], None], height: float, label: str) -> str:
    """What ``draw`` puts on a figure, as an inline image with words for those who cannot see it."""
    with _matplotlib():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, height))
        draw(figure)
        return trusted(_inline(figure, label))


@contextmanager
def _matplotlib() -> Iterator[None]:
    """Settings of ours only, whatever the user's are; nothing of them stays."""
    try:
        import matplotlib
    except ImportError:
        raise missing_extra("matplotlib", "report", PURPOSE) from None
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the reader's browser has the glyphs
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def _named_colours(found: re.Match[str]) -> str:
    """The colours of an element by the names that the style of a page gives them."""
    said = COLOUR.sub(lambda colour: f"var(--{FOLLOWS[colour[0]]}, {colour[0]})", found[0])
    return re.sub(r'^ fill="(.*)"$', r' style="fill: \1"', said)  # names count in styles only


def _inline(figure: Figure, label: str) -> str:
    """The drawing as an ``svg`` element: without prologue and name spaces, with ids that no other image has."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    drawing = stream.getvalue()
    box = re.search(r'viewBox="([^"]*)"', drawing)
    start = drawing.index(">", drawing.index("<svg")) + 1
    body = re.sub(r'<g id="[^"]*"', "<g", drawing[start:])
    own = hashlib.sha256((label + body).encode()).hexdigest()[:8]
    body = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>i{own}", body)
    size = "0 0 1 1" if box is None else box[1]
    kind = ""
    if "<image" not in body and set(COLOUR.findall("".join(STYLED.findall(body)))) <= set(FOLLOWS):
        body, kind = STYLED.sub(_named_colours, body), ' class="follows"'
    return f'<svg role="img"{kind} aria-label="{escape(label)}" viewBox="{size}">{body}'
