"""Which universes are answered in which areas: none that is small, and none that others leave few records of.

A difference of two answers shows the records between their universes, and so does any sum and difference of more than
two. It is worked out before anything is answered, for all universes in all areas, so that there is nothing left to find
by asking. Records are told apart by the universes that they belong to: those of one and the same set of universes are
an *atom*, and everything that answers can show is made of atoms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from discreet.engine.column_files import Columns
from discreet.engine.column_universe import universe_of
from discreet.errors import ParameterError, ProtectionError, counted
from discreet.model.arrays import Bools, Ints
from discreet.model.condition import Condition
from discreet.model.hierarchy import Hierarchy
from discreet.server.catalogue import Catalogue

MOST_UNIVERSES = 20
"""Universes of one data set; their joint memberships are counted."""
MOST_SMALL = 12
"""Small atoms of one area whose unions are looked at one by one; a universe that leaves more is refused there."""
BLOCK = 2**20


class Atoms:
    """How many records of each atom each area has; which universes each atom belongs to.

    Parameters
    ----------
    members
        Which atoms (columns) belong to which universes (rows).
    counts
        Records of atoms (columns) in areas (rows).
    """

    def __init__(self, members: Bools, counts: Ints) -> None:
        self.members = members
        self.counts = counts

    def of(self, universe: int) -> Ints:
        """How many records of a universe each area has."""
        found: Ints = self.counts[:, self.members[universe]].sum(axis=1)
        return found


def count_atoms(columns: Columns, universes: Iterable[tuple[Condition, ...]], areas: Hierarchy | None) -> Atoms:
    """Count the atoms of some universes in all areas of a hierarchy, or in the whole.

    Parameters
    ----------
    columns
        The records.
    universes
        Conditions of each universe.
    areas
        The hierarchy of the geography; ``None`` where there is none, and everything is one area.
    """
    bits = []
    for where in universes:
        inside = np.zeros(len(columns), np.bool_)
        if where:
            for part in universe_of(columns, where).parts():
                if part.inside is None:
                    inside[part.span] = True
                else:
                    inside[part.span][part.inside] = True
        else:
            inside[:] = True
        bits.append(inside)
    if len(bits) > MOST_UNIVERSES:
        raise ParameterError(
            f"The catalogue has {len(bits) - 1} universes, and {MOST_UNIVERSES - 1} can be audited together.",
            hint="Leave some out, or let variables take their place: everything else is a dimension of tables.",
        )
    many = np.zeros(2 ** len(bits), np.bool_)
    for at in range(0, len(columns), BLOCK):
        many[_numbers(bits, at)] = True
    atoms = np.flatnonzero(many)
    place = np.cumsum(many) - 1
    base = np.zeros((1 if areas is None else int(areas.base.sum()), len(atoms)), np.int64)
    area = None if areas is None else columns.codes(str(columns.manifest.geography.variable))  # type: ignore[union-attr]
    for at in range(0, len(columns), BLOCK):
        number = place[_numbers(bits, at)]
        if area is not None:
            number = np.asarray(area[at : at + BLOCK], np.int64) * len(atoms) + number
        base += np.bincount(number, minlength=base.size).reshape(base.shape)
    members = (atoms[None, :] >> np.arange(len(bits))[:, None] & 1).astype(np.bool_)
    return Atoms(members, base if areas is None else _rolled_up(columns, areas, base))


def _numbers(bits: Sequence[Bools], at: int) -> Ints:
    """The atom of each record of a block, as the universes that it belongs to."""
    found = np.zeros(len(bits[0][at : at + BLOCK]), np.int64)
    for k, inside in enumerate(bits):
        found |= inside[at : at + BLOCK].astype(np.int64) << k
    return found


def _rolled_up(columns: Columns, areas: Hierarchy, base: Ints) -> Ints:
    """Counts of all areas from those of the finest ones."""
    found = np.zeros((len(areas), base.shape[1]), np.int64)
    for number, code in enumerate(columns.base_codes(str(columns.manifest.geography.variable))):  # type: ignore[union-attr]
        found[areas.index[code]] = base[number]
    for place in np.argsort(-areas.depth, kind="stable").tolist():
        if not areas.base[place]:
            codes = areas.covered(areas.codes[place])
            found[place] = found[[areas.index[code] for code in codes]].sum(axis=0)
    return found


def refused_areas(catalogue: Catalogue, areas: Hierarchy | None, atoms: Atoms) -> dict[str, list[str]]:
    """Areas in which each universe is not answered.

    Universes are taken in the order of the catalogue: one is refused in an area where it has few records, or where it
    and those before it, added and subtracted, leave some records but fewer than ``smallest_difference``.

    Parameters
    ----------
    catalogue
        The universes and the policy.
    areas
        The hierarchy of the geography; ``None`` where there is none, and everything is one area.
    atoms
        The counts.

    Raises
    ------
    ProtectionError
        When a universe as a whole is too small, or leaves too few records beside others.
    """
    policy = catalogue.policy
    smallest = catalogue.geography.smallest if catalogue.geography is not None else 1
    top = 0 if areas is None else areas.index[str(areas.total)]
    accepted = np.zeros((len(atoms.counts), len(atoms.members)), np.bool_)
    found: dict[str, list[str]] = {}
    for number, name in enumerate(catalogue.conditions):
        mine = atoms.of(number)
        if mine[top] < policy.smallest_universe:
            raise ProtectionError(
                f"Universe {name!r} has fewer than {counted(policy.smallest_universe, 'record')}.",
                hint="Take it out of the catalogue, or widen its conditions (smallest_universe of [policy]).",
            )
        near = _near(atoms, atoms.counts, accepted, number, policy.smallest_difference)
        if near[top]:
            raise ProtectionError(
                f"Universe {name!r} and those before it, added and subtracted, leave some records, but fewer than "
                f"{policy.smallest_difference}.",
                hint="Take it out of the catalogue: the difference of answers would show those records.",
            )
        refused = near | (mine < smallest)
        if areas is not None:

            def shows_few(together: Ints, number: int = number, mine: Ints = mine) -> bool:
                joint = atoms.counts[together].sum(axis=0, keepdims=True)
                both: Bools = np.atleast_2d(accepted[together].any(axis=0))
                near = _near(atoms, joint, both, number, policy.smallest_difference)
                return bool(mine[together].sum() < smallest or near[0])

            refused = _not_alone(refused, mine, areas, shows_few)
        if refused[top]:
            raise ProtectionError(
                f"Universe {name!r} can be answered for no area.", hint="Take it out of the catalogue, or widen it."
            )
        accepted[:, number] = ~refused
        found[name] = [] if areas is None else [areas.codes[i] for i in np.flatnonzero(refused).tolist()]
    return found


def _near(atoms: Atoms, counts: Ints, accepted: Bools, number: int, least: int) -> Bools:
    """Areas (rows of counts) in which a universe and those accepted before leave few records."""
    members = tuple(map(tuple, atoms.members.tolist()))
    capped = np.minimum(counts, least)
    small = ((capped > 0) & (capped < least)).any(axis=1)
    found = np.zeros(len(counts), np.bool_)
    for place in np.flatnonzero(small).tolist():
        others = tuple(np.flatnonzero(accepted[place]).tolist())
        found[place] = _shows_few(members, tuple(capped[place].tolist()), (*others, number), least)
    return found


@lru_cache(maxsize=65536)
def _shows_few(
    members: tuple[tuple[bool, ...], ...], counts: tuple[int, ...], universes: tuple[int, ...], least: int
) -> bool:
    """Whether sums and differences of some universes show a set of few records; counts are cut at ``least``."""
    count = np.array(counts, np.int64)
    there = np.flatnonzero(count > 0)
    rows = np.array(members, np.float64)[list(universes)][:, there]
    count = count[there]
    new = rows[-1] > 0
    for other in rows[:-1] > 0:
        for left in (new & ~other, other & ~new):
            if 0 < count[left].sum() < least:
                return True
    small = np.flatnonzero(count < least)
    if len(small) > MOST_SMALL:
        return True
    rank = np.linalg.matrix_rank(rows)
    for size in range(1, len(small) + 1):
        for chosen in combinations(small.tolist(), size):
            if count[list(chosen)].sum() < least:
                wanted = np.zeros(len(count))
                wanted[list(chosen)] = 1.0
                if np.linalg.matrix_rank(np.vstack([rows, wanted])) == rank:
                    return True
    return False


def _not_alone(refused: Bools, count: Ints, areas: Hierarchy, shows_few: Callable[[Ints], bool]) -> Bools:
    """Refuse more areas beside refused ones, the smallest first, until those together show nothing either.

    The area above, less all others that are answered, tells of the refused ones together.
    """
    found = refused.copy()
    parents = areas.parents
    for parent in np.unique(parents[refused & (parents >= 0)]).tolist():
        beside = np.flatnonzero(parents == parent)
        for place in beside[np.argsort(count[beside], kind="stable")].tolist():
            mine = beside[found[beside]]
            if len(mine) > 1 and not shows_few(mine):
                break
            found[place] = True
    return _with_below(found, areas)


def _with_below(refused: Bools, areas: Hierarchy) -> Bools:
    """An area in a refused one is refused: all of them together would show it."""
    found = refused.copy()
    for place in np.argsort(areas.depth, kind="stable").tolist():
        parent = int(areas.parents[place])
        if parent >= 0 and found[parent]:
            found[place] = True
    return found


__all__ = ["Atoms", "count_atoms", "refused_areas"]
