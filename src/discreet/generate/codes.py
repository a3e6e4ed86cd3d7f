"""Trees of codes that look like official classifications: uneven, with short branches and single children."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.generate.draws import Draws, Integers

TOTAL = "Total"


@dataclass(frozen=True)
class CodeTree:
    """The codes of one variable.

    Attributes
    ----------
    parents
        Every code but the total with its parent, parents before children, children side by side.
    labels
        A label for every code, the total included.
    """

    parents: dict[str, str]
    labels: dict[str, str]

    @property
    def leaves(self) -> list[str]:
        """The codes without children, in tree order."""
        inner = set(self.parents.values())
        return [code for code in self.parents if code not in inner]

    @classmethod
    def flat(cls, labels: dict[str, str]) -> CodeTree:
        """Codes directly below the total."""
        return cls(dict.fromkeys(labels, TOTAL), {TOTAL: TOTAL, **labels})

    @classmethod
    def nested(cls, groups: dict[str, tuple[str, dict[str, str]]]) -> CodeTree:
        """Two levels, from ``{group: (label, {code: label})}``; a group without codes is a leaf."""
        parents: dict[str, str] = {}
        labels = {TOTAL: TOTAL}
        for group, (label, members) in groups.items():
            parents[group] = TOTAL
            labels[group] = label
            for code, member_label in members.items():
                parents[code] = group
                labels[code] = member_label
        return cls(parents, labels)


class CodePlace(NamedTuple):
    """Where a code stands in its tree; all numbers from 0."""

    level: int
    in_level: int
    below_parent: int


Spelling = Callable[[str, CodePlace], str]
"""Spells a code from its parent's code and its place."""


def grow_tree(
    name: str,
    counts: Sequence[int],
    spell: Spelling,
    most_children: Sequence[int],
    label: Callable[[str, int], str],
    *,
    stop_early: bool,
) -> CodeTree:
    """Grow a tree with the given number of codes at every level.

    One parent in eight has a single child and, where `stop_early` says so, one in eight none. The shape
    depends on the arguments only and not on a seed: all surveys of one setting share their classifications.

    Parameters
    ----------
    name
        The name of the random stream of the shape.
    counts
        The number of codes at every level below the total, not falling.
    spell
        Spells a code.
    most_children
        For every level, how many codes one parent may have there.
    label
        Makes the label of a code at a level.
    stop_early
        Whether branches may end above the lowest level.
    """
    draws = Draws(0, f"tree/{name}")
    children: dict[str, list[str]] = {}
    level_codes = [TOTAL]
    for level, count in enumerate(counts):
        numbers = _children_per_parent(draws, level, len(level_codes), count, most_children[level], stop_early)
        next_codes: list[str] = []
        for parent, number in zip(level_codes, numbers.tolist(), strict=True):
            children[parent] = [
                spell(parent, CodePlace(level, len(next_codes) + below, below)) for below in range(number)
            ]
            next_codes += children[parent]
        level_codes = next_codes

    parents: dict[str, str] = {}
    labels = {TOTAL: TOTAL}

    def visit(parent: str, level: int) -> None:
        for code in children.get(parent, ()):
            parents[code] = parent
            labels[code] = label(code, level)
            visit(code, level + 1)

    visit(TOTAL, 0)
    return CodeTree(parents, labels)


def _children_per_parent(draws: Draws, level: int, parents: int, count: int, most: int, stop_early: bool) -> Integers:
    """Split the codes of a level over the parents above it."""
    order = draws.order(f"order {level}", parents)
    special = parents // 8
    single = order[:special]
    stopped = order[special : 2 * special] if stop_early else order[:0]
    ordinary = order[special + len(stopped) :]
    low = np.zeros(parents, dtype=np.int64)
    high = np.full(parents, most, dtype=np.int64)
    low[ordinary] = min(2, most, (count - len(single)) // len(ordinary))
    low[single] = 1
    # The short branches give way where the level would not fit otherwise.
    if len(single) + most * len(ordinary) >= count:
        high[single] = 1
        high[stopped] = 0
    uniform = draws.uniform(f"weight {level}", parents)
    weights = 1 + np.floor(99.0 * uniform * uniform).astype(np.int64)
    return apportion(count, weights, low, high)


def apportion(total: int, weights: Integers, low: Integers, high: Integers) -> Integers:
    """Split a whole number in proportion to weights, each part between its bounds.

    The bounds must leave room: ``low.sum() <= total <= high.sum()``.
    """
    parts = low.copy()
    while (rest := total - int(parts.sum())) > 0:
        open_weights = np.where(parts < high, weights, 0)
        extra = np.minimum(rest * open_weights // int(open_weights.sum()), high - parts)
        if not extra.any():
            heaviest = np.argsort(-open_weights, kind="stable")[: min(rest, np.count_nonzero(open_weights))]
            extra[heaviest] = 1
        parts += extra
    return parts
