"""The lattice of generalisations as a picture: every combination of levels that was judged, and why one was taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from discreet.model.claims.generalised import MEASURES
from discreet.report.page import trusted
from discreet.report.words import count

WIDTH, LEFT, ROW, RADIUS = 860, 130, 54, 6
"""Size of the image, room for labels, height of a row and size of a dot, in pixels."""
MOST_LINES = 150
"""Lattices of up to so many nodes have lines between neighbours."""
BEST = 5
"""So many nodes stand in the table."""


@dataclass(frozen=True)
class LatticeLine:
    """One node in the table of the best."""

    levels: str
    loss: str
    suppressed: str
    chosen: bool


@dataclass(frozen=True)
class LatticePicture:
    """The image, what it shows in words, and the nodes that lose least."""

    image: str
    caption: str
    measure: str
    best: tuple[LatticeLine, ...]


def lattice_picture(method: Mapping[str, Any], facts: Mapping[str, Any]) -> LatticePicture | None:
    """The picture of a search, from what a release keeps of it; nothing where the nodes are not kept.

    Nodes of the same height (levels gone up, all keys together) stand in a row, the lowest at the bottom. Full dots
    keep the rules, open ones do not, and the one with a ring was taken.
    """
    nodes: Sequence[Sequence[Any]] = facts.get("table", ())
    if not nodes:
        return None
    place = _places([tuple(node[0]) for node in nodes], sum(facts["heights"]))
    chosen = tuple(facts["levels"])
    parts = [*_labels(sum(facts["heights"])), *(_lines(place) if len(nodes) <= MOST_LINES else ())]
    good = sum(bool(node[3]) for node in nodes)
    for levels, suppressed, loss, feasible in nodes:
        x, y = place[tuple(levels)]
        kind = "keeps" if feasible else "breaks"
        words = f"{_words(facts['keys'], levels)}: {count(suppressed)} suppressed, loss {loss:.4g}"
        parts.append(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"><title>{escape(words)}</title></circle>'
        )
    x, y = place[chosen]
    parts.append(f'<circle class="taken" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS + 5}"/>')
    tall = (sum(facts["heights"]) + 1) * ROW
    caption = (
        f"{count(len(nodes))} combinations of levels were judged; {count(good)} keep the rules (full dots). "
        f"The one with a ring loses least of these: {_words(facts['keys'], chosen)}."
    )
    head = f'<svg role="img" class="lattice follows" aria-label="{escape(caption)}" viewBox="0 0 {WIDTH} {tall}">'
    return LatticePicture(
        trusted("".join([head, *parts, "</svg>"])), caption, MEASURES[method["metric"]][0], _best(method, facts, chosen)
    )


def _words(keys: Sequence[str], levels: Sequence[int]) -> str:
    return ", ".join(f"{key} {level}" for key, level in zip(keys, levels, strict=True))


def _places(nodes: Sequence[tuple[int, ...]], top: int) -> dict[tuple[int, ...], tuple[float, float]]:
    """Where every node stands: in the row of its height, spread evenly."""
    rows: dict[int, list[tuple[int, ...]]] = {}
    for node in sorted(nodes):
        rows.setdefault(sum(node), []).append(node)
    found = {}
    for height, row in rows.items():
        for number, node in enumerate(row):
            x = LEFT + (WIDTH - LEFT - 20) * (number + 0.5) / len(row)
            found[node] = (x, (top - height + 0.5) * ROW)
    return found


def _labels(top: int) -> list[str]:
    texts = []
    for height in range(top + 1):
        y = (top - height + 0.5) * ROW + 4
        words = f"{height} levels up" if height != 1 else "1 level up"
        texts.append(f'<text x="0" y="{y:.1f}">{words if height else "as it is"}</text>')
    return texts


def _lines(place: Mapping[tuple[int, ...], tuple[float, float]]) -> list[str]:
    """Lines from every node to those a level above."""
    lines = []
    for node, (x, y) in place.items():
        for key in range(len(node)):
            above = place.get(tuple(level + (i == key) for i, level in enumerate(node)))
            if above is not None:
                lines.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{above[0]:.1f}" y2="{above[1]:.1f}"/>')
    return lines


def _best(method: Mapping[str, Any], facts: Mapping[str, Any], chosen: tuple[int, ...]) -> tuple[LatticeLine, ...]:
    """The nodes that keep the rules and lose least."""
    how = MEASURES[method["metric"]][1]
    good = sorted((node for node in facts["table"] if node[3]), key=lambda node: (node[2], sum(node[0]), list(node[0])))
    return tuple(
        LatticeLine(_words(facts["keys"], node[0]), f"{node[2]:{how}}", count(node[1]), tuple(node[0]) == chosen)
        for node in good[:BEST]
    )
