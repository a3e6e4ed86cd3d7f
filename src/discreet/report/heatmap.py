"""The pattern of a table as a heat map: one box per cell, or one box per block of cells where there are too many.

Boxes of a kind that stand side by side are one stroke, so that ten thousand cells are a few paths. Colours come from
the page's style, light or dark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Codes, Ints
from discreet.report.page import trusted
from discreet.report.plots import short
from discreet.report.words import cells as cells_text
from discreet.report.words import count, percent

MOST_DOWN, MOST_ACROSS, MOST_BOXES = 250, 200, 10_000
"""Boxes of one image; more codes share boxes."""
WRAPPED = 50
"""Boxes of a line of a table with one variable."""
WIDTH, LEFT, TOP, TALL = 860, 128, 76, 620
LABEL = 13
"""Size of the image and room for a label, in pixels."""
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Upper ends of the classes of shares; the first is nothing."""
SHARE_NAMES = ("up to 10 %", "up to 25 %", "up to 50 %", "up to 75 %", "more than 75 %")
NO_CELL = ("b5", "no such cell")
GRID = 60
"""Up to so many boxes a side, lines between them can be seen."""


@dataclass(frozen=True, eq=False)
class Side:
    """One variable: its name, its codes in order, and their levels."""

    name: str
    codes: Sequence[str]
    depth: Ints


@dataclass(frozen=True)
class Heat:
    """The image, its key (class of a box and what it means), and in words what it shows."""

    image: str
    key: tuple[tuple[str, str], ...]
    caption: str


def heat_map(
    sides: Sequence[Side],
    codes: Codes,
    kind: Ints,
    kinds: Sequence[tuple[str, str]],
    counted: Bools,
    word: str = "withheld",
) -> Heat:
    """The pattern of a table.

    Parameters
    ----------
    sides
        Its variables; the first two span the image, and the others are counted together.
    codes
        One row per cell: the numbers of its codes.
    kind
        Which of ``kinds`` each cell is; below zero, it is left out.
    kinds
        Class in the page's style, and name.
    counted, word
        Which kinds the image is about, and what they are.
    """
    shown = kind >= 0
    kind = kind[shown]
    down, across, y, x = _places(sides, codes[shown].astype(np.int64))
    many = len(down.codes), len(across.codes)
    boxes = _boxes(*many)
    box = (y * boxes[0] // many[0]) * boxes[1] + x * boxes[1] // many[1]
    withheld = np.bincount(box, counted[kind], boxes[0] * boxes[1]).astype(np.int64)
    there = np.bincount(box, minlength=boxes[0] * boxes[1])
    single = bool(there.max(initial=0) <= 1)
    if single:
        colour = np.full(boxes[0] * boxes[1], -1, np.int64)
        colour[box] = kind
        key = tuple(kinds)
        used = set(np.unique(kind).tolist())
    else:
        share = withheld / np.maximum(there, 1)
        colour = np.where(there > 0, np.searchsorted(SHARES, share, side="left"), -1)
        colour = np.minimum(colour, len(SHARE_NAMES))
        key = ((f"s{0}", f"none {word}"), *((f"s{i}", name) for i, name in enumerate(SHARE_NAMES, start=1)))
        used = set(range(len(key)))
    words = _Words(word, int(withheld.sum()), len(kind), int(there.max(initial=0)))
    caption = words.caption(sides, down, across, single)
    grid = colour.reshape(boxes)
    rows = zip(*(number.reshape(boxes).sum(axis=1).tolist() for number in (withheld, there)), strict=True)
    said = [f"{found:,} of {of:,} {word}" for found, of in rows]
    named = [entry for i, entry in enumerate(key) if i in used]
    pointed = _pointed(grid, down, across, sorted(used)) if single and len(sides) == 2 else ""
    image = _drawn(grid, [name for name, _ in key], down, across, said, caption, pointed)
    return Heat(image, (*named, NO_CELL) if bool((grid < 0).any()) else tuple(named), caption)


def _boxes(down: int, across: int) -> tuple[int, int]:
    """How many boxes an image has downwards and across; both sides shrink alike where there are too many."""
    down, across = min(down, MOST_DOWN), min(across, MOST_ACROSS)
    shrink = min(1.0, (MOST_BOXES / (down * across)) ** 0.5) if down * across else 1.0
    return max(1, int(down * shrink)), max(1, int(across * shrink))


def _places(sides: Sequence[Side], codes: Ints) -> tuple[Side, Side, Ints, Ints]:
    """What spans the image, the longer side downwards, and where each cell lies."""
    if len(sides) == 1:
        number, none = codes[:, 0], np.zeros(0, np.int64)
        lines = -(-len(sides[0].codes) // WRAPPED)
        wrapped = Side(sides[0].name, [sides[0].codes[i * WRAPPED] for i in range(lines)], np.zeros(lines, np.int64))
        return wrapped, Side("", [""] * min(WRAPPED, len(sides[0].codes)), none), number // WRAPPED, number % WRAPPED
    one, two = (1, 0) if len(sides[1].codes) > len(sides[0].codes) else (0, 1)
    return sides[one], sides[two], codes[:, one], codes[:, two]


class _Words(NamedTuple):
    """What an image is about, and how many cells of a box and of the table."""

    word: str
    found: int
    cells: int
    most: int

    def caption(self, sides: Sequence[Side], down: Side, across: Side, single: bool) -> str:
        """What the image shows, in words."""
        said = f"{count(self.found)} of {cells_text(self.cells)} ({percent(self.found, self.cells)}) {self.word}. "
        if len(sides) == 1:
            return said + f"Codes of {down.name} line by line; each line names its first code."
        spanned = f"{down.name} downwards, {across.name} across, in the order of their codes"
        if single:
            return f"{said}One box per cell: {spanned}."
        rest = f"; {', '.join(side.name for side in sides[2:])} counted together" if len(sides) > 2 else ""
        box = f"Each box stands for up to {cells_text(self.most)}: {spanned}{rest}."
        return f"{said}{box} The stronger its colour, the more of them are {self.word}."


def _pointed(grid: Ints, down: Side, across: Side, used: Sequence[int]) -> str:
    """What the page's script says of the cell that somebody points at; nothing where boxes are too many to point at."""
    if max(grid.shape) > GRID or grid.shape != (len(down.codes), len(across.codes)):
        return ""
    place = {kind: number for number, kind in enumerate(used)} | {-1: len(used)}
    kinds = [[place[kind] for kind in line] for line in grid.tolist()]
    said = {"down": list(down.codes), "across": list(across.codes), "kinds": kinds}
    return "".join(f' data-{name}="{escape(json.dumps(what))}"' for name, what in said.items())


def _drawn(
    grid: Ints, classes: Sequence[str], down: Side, across: Side, rows: Sequence[str], label: str, pointed: str
) -> str:
    tall, wide = grid.shape
    top = TOP if across.name else 8
    box = (min((WIDTH - LEFT - 8) / wide, 22.0), min(max(TALL / tall, 3.2), 18.0))
    height = top + tall * box[1] + 8
    parts = [
        f'<svg role="img" class="heat"{pointed} aria-label="{escape(label)}" viewBox="0 0 {WIDTH} {height:.0f}">',
        *_labels(down, tall, box[1], top, False),
        *(_labels(across, wide, box[0], LEFT, True) if across.name else ()),
        f'<g transform="translate({LEFT} {top}) scale({box[0]:.4f} {box[1]:.4f})">',
    ]
    parts += [f'<path class="{name}" d="{_strokes(grid == number)}"/>' for number, name in enumerate(classes)]
    if tall <= GRID and wide <= GRID:
        lines = "".join(f"M0 {i}H{wide}" for i in range(1, tall)) + "".join(f"M{i} 0V{tall}" for i in range(1, wide))
        parts.append(f'<path class="lines" d="{lines}"/>')
    for i, text in enumerate(rows):
        first, last = -(-i * len(down.codes) // tall), -(-(i + 1) * len(down.codes) // tall) - 1
        name = down.codes[first] if last <= first else f"{down.codes[first]} to {down.codes[last]}"
        said = escape(f"{down.name} {name}: {text}")
        parts.append(f'<rect class="row" y="{i}" width="{wide}" height="1"><title>{said}</title></rect>')
    return trusted("".join([*parts, "</g></svg>"]))


def _strokes(which: Bools) -> str:
    """Boxes as strokes, neighbours in one."""
    edge = np.diff(np.pad(which, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    starts, ends = np.argwhere(edge == 1).tolist(), np.argwhere(edge == -1).tolist()
    return "".join(f"M{x} {y}.5h{end - x}" for (y, x), (_, end) in zip(starts, ends, strict=True))


def _labels(side: Side, boxes: int, size: float, start: float, upwards: bool) -> list[str]:
    """Names of codes beside the boxes: those of high levels first, others where there is room."""
    taken = np.zeros(int(boxes * size) + 2 * LABEL, np.bool_)
    made = []
    for i in np.argsort(side.depth, kind="stable").tolist():
        at = (i * boxes // len(side.codes) + 0.5) * size
        room = slice(int(at), int(at) + LABEL)
        if not side.codes[i] or taken[room].any():
            continue
        taken[room] = True
        name, place = escape(short(side.codes[i], 16)), start + at
        if upwards:
            made.append(f'<text transform="translate({place + 3:.1f} {TOP - 6}) rotate(-55)">{name}</text>')
        else:
            made.append(f'<text x="{LEFT - 7}" y="{place + 4:.1f}" text-anchor="end">{name}</text>')
    return made
