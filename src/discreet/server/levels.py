"""Levels of a variable: its hierarchy down to some depth, and which code every finer one becomes there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Ints
from discreet.model.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class VariableLevel:
    """A variable down to one depth of its hierarchy."""

    number: int
    hierarchy: Hierarchy
    recode: dict[str, str]
    """Finer codes, and the code of this level that each stands under."""

    @cached_property
    def depth(self) -> Ints:
        """Depth of every code; base codes count as the finest level, however short their branch is."""
        found = np.asarray(self.hierarchy.depth, np.int64).copy()
        found[self.hierarchy.base] = self.number
        return found

    @cached_property
    def finest(self) -> int:
        """How many codes there are at this level."""
        return int(self.hierarchy.base.sum())


def levels_of(variable: str, hierarchy: Hierarchy) -> tuple[VariableLevel, ...]:
    """All levels of a variable, the coarsest first; level 1 stands below the total.

    A hierarchy in which codes stand in several sums has one level only: what a coarser one is cannot be said.

    Raises
    ------
    InputError
        When the hierarchy has no total: answers and their margins would not add up to anything.
    """
    if hierarchy.total is None:
        raise InputError(
            f"The hierarchy of {variable!r} has no total.", hint="Declare one: tables of a server have margins."
        )
    deepest = int(hierarchy.depth.max(initial=1))
    whole = VariableLevel(deepest, hierarchy, {})
    parts = [code for grouping in hierarchy.groupings for code, _ in grouping.parts]
    parents = [grouping.parent for grouping in hierarchy.groupings]
    if deepest == 1 or len(set(parts)) < len(parts) or len(set(parents)) < len(parents):
        return (VariableLevel(1, hierarchy, {}),)
    return (*(_closed(hierarchy, number) for number in range(1, deepest)), whole)


def _closed(hierarchy: Hierarchy, number: int) -> VariableLevel:
    depth, parents, codes = hierarchy.depth, hierarchy.parents, hierarchy.codes
    keep = [code for code, deep in zip(codes, depth.tolist(), strict=True) if deep <= number]
    recode = {}
    for place in np.flatnonzero(hierarchy.base & (depth > number)).tolist():
        above = place
        while depth[above] > number:
            above = int(parents[above])
        recode[codes[place]] = codes[above]
    groupings = tuple(g for g in hierarchy.groupings if depth[hierarchy.index[g.parent]] < number)
    words = {code: hierarchy.labels[code] for code in keep if code in hierarchy.labels}
    closed = Hierarchy(groupings, hierarchy.total, tuple(keep), words, hierarchy.missing & frozenset(keep))
    return VariableLevel(number, closed, recode)
