"""Which universes are answered in which areas: none that is small, and no two that differ by few records.

A difference of two answers shows the records between their universes. It is worked out before anything is answered, for
all pairs of universes in all areas, so that there is nothing left to find by asking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from discreet.errors import ProtectionError, counted
from discreet.model.arrays import Bools, Ints
from discreet.model.condition import Condition
from discreet.model.hierarchy import Hierarchy
from discreet.server.catalogue import Catalogue

Counter = Callable[[tuple[Condition, ...]], Ints]
"""How many records of a universe each area has, the whole at the place of the total."""


def refused_areas(catalogue: Catalogue, areas: Hierarchy | None, count: Counter) -> dict[str, list[str]]:
    """Areas in which each universe is not answered.

    Universes are taken in the order of the catalogue: one is refused where it differs from one before it by some
    records, but by fewer than ``smallest_difference``; in either direction.

    Parameters
    ----------
    catalogue
        The universes and the policy.
    areas
        The hierarchy of the geography; ``None`` where there is none, and everything is one area.
    count
        Counts the records of a universe by area.

    Raises
    ------
    ProtectionError
        When a universe as a whole is too small, or too near to another one.
    """
    policy = catalogue.policy
    smallest = catalogue.geography.smallest if catalogue.geography is not None else 1
    top = 0 if areas is None else areas.index[str(areas.total)]
    found: dict[str, list[str]] = {}
    before: list[tuple[str, tuple[Condition, ...], Ints, Bools]] = []
    for name, where in catalogue.conditions.items():
        mine = count(where)
        if mine[top] < policy.smallest_universe:
            raise ProtectionError(
                f"Universe {name!r} has fewer than {counted(policy.smallest_universe, 'record')}.",
                hint="Take it out of the catalogue, or widen its conditions (smallest_universe of [policy]).",
            )
        refused = mine < smallest
        for other, its_where, its_count, its_refused in before:
            both = count((*where, *its_where))
            near = _near(mine - both, policy.smallest_difference) | _near(its_count - both, policy.smallest_difference)
            if near[top]:
                raise ProtectionError(
                    f"Universes {name!r} and {other!r} differ by some records, but by fewer than "
                    f"{policy.smallest_difference}.",
                    hint="Keep one of them: the difference of two answers would show those records.",
                )
            refused |= near & ~its_refused
        if areas is not None:
            refused = _in_twos(refused, mine, areas)
            found[name] = [areas.codes[i] for i in np.flatnonzero(refused).tolist()]
        else:
            found[name] = []
        before.append((name, where, mine, refused))
    return found


def _near(difference: Ints, least: int) -> Bools:
    return (difference > 0) & (difference < least)


def _in_twos(refused: Bools, count: Ints, areas: Hierarchy) -> Bools:
    """Refuse the smallest area beside one that is refused alone: the area above less all others would show it."""
    found = refused.copy()
    parents = areas.parents
    for parent in np.unique(parents[refused & (parents >= 0)]).tolist():
        beside = np.flatnonzero(parents == parent)
        if found[beside].sum() == 1 and len(beside) > 1:
            others = beside[~found[beside]]
            found[others[np.argmin(count[others])]] = True
    return found


def hidden_rows(codes: Ints, hierarchy: Hierarchy, refused: Sequence[str] | Mapping[str, object]) -> Bools:
    """Rows of a table whose area is refused."""
    gone = np.zeros(len(hierarchy), np.bool_)
    for code in refused:
        place = hierarchy.index.get(code)
        if place is not None:
            gone[place] = True
    return gone[codes]
