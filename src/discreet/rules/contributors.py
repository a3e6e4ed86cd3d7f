"""Contributors that stand in no cell of a table, as the rules see them: those of places of maps, and of regions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.model.table import Contributions
from discreet.rules.concentration import Concentration
from discreet.rules.frequency import MinContributors

ContributorRule = Concentration | MinContributors
"""A rule that asks for nothing but who contributes how much."""


def contributions_by_group(group: Ints, contributor: Ints, value: Ints, groups: int, top: int) -> Contributions:
    """Contributions of some groups, none below zero; who stands in a group twice counts once, with the sum.

    Parameters
    ----------
    group, contributor, value
        Group, identity and amount of each contribution.
    groups
        How many groups there are.
    top
        How many of the largest contributions to list.

    Examples
    --------
    >>> one = np.array([1, 1, 1])
    >>> found = contributions_by_group(one, np.array([7, 8, 7]), np.array([3, 4, 5]), 2, 2)
    >>> found.count.tolist(), found.total.tolist(), found.top.tolist()
    ([0, 2], [0, 12], [[0, 0], [8, 4]])
    """
    order = np.lexsort((contributor, group))
    group, contributor, value = group[order], contributor[order], value[order]
    first = np.ones(len(group), np.bool_)
    first[1:] = (np.diff(group) != 0) | (np.diff(contributor) != 0)
    starts = np.flatnonzero(first)
    owner = group[starts]
    held = np.add.reduceat(value, starts) if len(starts) else np.zeros(0, np.int64)
    count, total = np.bincount(owner, minlength=groups).astype(np.int64), np.zeros(groups, np.int64)
    np.add.at(total, owner, held)
    order = np.lexsort((-held, owner))
    owner, held = owner[order], held[order]
    rank = np.arange(len(owner)) - (np.cumsum(count) - count)[owner]
    top = min(top, max(int(count.max(initial=0)), 1))  # no more than somebody has
    largest = np.zeros((groups, top), np.int64)
    listed = rank < top
    largest[owner[listed], rank[listed]] = held[listed]
    some = np.bincount(owner[held > 0], minlength=groups).astype(np.int64)
    return Contributions(count, total, largest, np.zeros(groups, np.bool_), nonzero=some)


def broken_groups(
    group: Ints, contributor: Ints, value: Ints, groups: int, rules: Sequence[ContributorRule]
) -> list[Bools]:
    """For every rule the groups of contributions that break it."""
    top = max((rule.top for rule in rules if isinstance(rule, Concentration)), default=0)
    found = contributions_by_group(group, contributor, value, groups, top)
    return [rule.breaks(found) for rule in rules]
