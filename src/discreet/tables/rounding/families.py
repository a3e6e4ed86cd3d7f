"""How a very large table is cut into parts: families of neighbouring codes of its longest variable.

Cells of a family that agree in all other variables are a *line*. Every sum of the table either lies within one family
or is made of whole lines, so that families are independent of each other once the sums of all lines are fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.hierarchy import Hierarchy
from discreet.relations import System
from discreet.relations.interior import Interior

SHORTEST = 50
"""Lines of fewer cells on average leave too little choice: the worst violation grows."""


class Lines(NamedTuple):
    """For every free cell its line, and for every line its part."""

    line: Ints
    part: Ints


def lines(system: System, inner: Interior, most: int) -> Lines | None:
    """Lines of a table in parts of about ``most`` cells, or ``None`` where it does not fall into such parts."""
    if len(system.tables) != 1 or len(system.figure_of) or len(inner.cells) < len(inner.finest):
        return None
    table = system.tables.tables[0]
    codes = table.codes[system.home[inner.cells][:, 1]]
    variable = int(np.argmax([len(np.unique(codes[:, k])) for k in range(codes.shape[1])]))
    hierarchy = table.spec.hierarchies[variable]
    if not _is_tree(hierarchy):
        return None
    number = np.bincount(codes[:, variable], minlength=len(hierarchy))
    most = max(most, SHORTEST * -(-len(codes) // int((number > 0).sum())))
    most = -(-len(codes) // -(-len(codes) // most))  # parts of like size
    part = families(hierarchy, number, most)[codes[:, variable]]
    keys = np.column_stack((np.delete(codes, variable, axis=1), part))
    order = np.lexsort(keys.T)
    new = np.concatenate(([True], np.any(np.diff(keys[order], axis=0) != 0, axis=1)))
    line = np.empty(len(codes), np.int64)
    line[order] = np.cumsum(new) - 1
    if part.max() < 1 or len(line) < SHORTEST * (int(line.max()) + 1):
        return None
    return Lines(line, part[order[new]])


def families(hierarchy: Hierarchy, number: Ints, most: int) -> Ints:
    """The family of every base code (-1 for sums): neighbours under one parent that have at most ``most`` cells."""
    below: list[list[int]] = [[] for _ in range(len(hierarchy))]
    tops: list[int] = []
    for code, parent in enumerate(hierarchy.parents.tolist()):
        (tops if parent < 0 else below[parent]).append(code)
    within = number.astype(np.int64)
    order = np.argsort(-hierarchy.depth, kind="stable").tolist()
    for code in order:
        for child in below[code]:
            within[code] += within[child]
    family = np.full(len(hierarchy), -1, np.int64)
    found = 0
    waiting = [tops]
    while waiting:
        filled = most + 1  # the first sibling opens a family
        for code in waiting.pop():
            if within[code] > most and below[code]:
                waiting.append(below[code])
                filled = most + 1
                continue
            if filled + within[code] > most:
                found, filled = found + 1, 0
            filled += int(within[code])
            family[code] = found - 1
    for code in reversed(order):
        for child in below[code]:
            if family[code] >= 0:
                family[child] = family[code]
    return np.where(hierarchy.base, family, -1)


def _is_tree(hierarchy: Hierarchy) -> bool:
    """Whether every code stands in one sum and is one sum, nothing subtracted."""
    parents = [grouping.parent for grouping in hierarchy.groupings]
    parts = [code for grouping in hierarchy.groupings for code, _ in grouping.parts]
    plus = all(sign > 0 for grouping in hierarchy.groupings for _, sign in grouping.parts)
    return plus and len(set(parents)) == len(parents) and len(set(parts)) == len(parts)
