"""Distinct contributors and largest contributions of every cell, from records fed in one piece or in parts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from discreet.engine.cells import Above
from discreet.model.arrays import Bools, Codes, Ints, Status
from discreet.model.table import HOLDERS, NOBODY, Contributions, Holders

MOST_KEPT = 64


class ContributorRecords(NamedTuple):
    """All records of some contributors: finest cell, contributor, amounts, consent, request, value, identity.

    ``contributor`` numbers the contributors from 0; ``None`` says that every record is one. ``weighted``, ``waived``
    and ``requested`` are empty where the data have no such column. ``value`` is what each record adds to its cell,
    and ``identity`` stands for each numbered contributor; they are empty where nobody asks who contributes, the value
    only where it is what the rules look at.
    """

    leaf: Codes
    contributor: Ints | None
    contributors: int
    own: Ints
    weighted: Ints
    waived: Bools
    requested: Status
    value: Ints
    identity: Ints


class KnownRoles(NamedTuple):
    """What the records of some contributors say besides amounts: weights, consent, requests, and who they are."""

    weighted: bool
    waived: bool
    requested: bool
    named: bool


class ContributorLists(NamedTuple):
    """What is known of contributors within one finest cell, of all others per cell, and the holders of both."""

    finest: Ints
    cells: Ints
    held_finest: Ints
    held: Ints


def kept_of(top: int, lightest: float | None) -> int:
    """How many contributions a cell must keep to know its ``top`` largest once each counts as often as it weighs."""
    if lightest is None:
        return top
    return max(top, min(math.ceil(top / lightest), MOST_KEPT))


def contributions_of(
    parts: Iterator[ContributorRecords], above: Above, cells: int, top: int, kept: int, absolute: bool = False
) -> tuple[Contributions, Holders | None]:
    """Distinct contributors and largest contributions of every cell, and who they are where the records say so.

    Parameters
    ----------
    parts
        Records; all records of a contributor stand in one part.
    above
        Which cells each finest cell adds to.
    cells
        How many cells there are.
    top
        How many of the largest contributions to give.
    kept
        How many to keep meanwhile, see :func:`kept_of`.
    absolute
        Let a contributor's absolute sum count.
    """
    from discreet.engine.kernels import by_contributor, contributions, contributions_in_finest

    first = next(parts, None)
    if first is None:
        raise ValueError("There are no records.")
    known = KnownRoles(*(len(column) > 0 for column in (first.weighted, first.waived, first.requested, first.identity)))
    lists = nothing_known(len(above.start) - 1, cells, kept, known)
    merge = not above.signed
    for part in chain([first], parts):
        records = (part.leaf, part.own, part.weighted, part.waived, part.requested, part.value, part.identity)
        if merge and part.contributor is None:
            contributions_in_finest(*records, absolute, kept, lists.finest, lists.held_finest)
            continue
        if part.contributor is None:
            numbers = np.arange(len(part.leaf) + 1, dtype=np.int64)
            start, order = numbers, numbers[:-1]
        else:
            start, order = by_contributor(part.contributor, part.contributors)
        contributions(start, order, *records, *above, absolute, merge, kept, *lists)
    return merged_up(lists, above, top, kept, known)


def merged_up(
    lists: ContributorLists, above: Above, top: int, kept: int, known: KnownRoles
) -> tuple[Contributions, Holders | None]:
    """Contributions of every cell, once what finest cells know is entered into the cells above."""
    from discreet.engine.kernels import merge_up

    merge_up(above.start, above.cell, kept, *lists)
    return _finished(lists.cells, top, kept, known), _holders(lists)


def nothing_known(finest: int, cells: int, kept: int, like: KnownRoles) -> ContributorLists:
    """Empty lists for so many finest cells and cells."""
    from discreet.engine.kernels import REQUESTED, TOP, UNWAIVED

    sizes = (finest, cells)
    known = [np.zeros((size, TOP + kept * (2 if like.weighted else 1)), np.int64) for size in sizes]
    held = [np.zeros((size if like.named else 0, 2 * HOLDERS), np.int64) for size in sizes]
    for one in known:
        one[:, [UNWAIVED, REQUESTED, REQUESTED + 1]] = -1
    for one in held:
        one[:, :HOLDERS] = NOBODY
    return ContributorLists(*known, *held)


def _holders(lists: ContributorLists) -> Holders | None:
    from discreet.engine.kernels import COUNT

    if not len(lists.held):
        return None
    return Holders(lists.cells[:, COUNT].copy(), lists.held[:, :HOLDERS].copy(), lists.held[:, HOLDERS:].copy())


def _finished(known: Ints, top: int, kept: int, like: KnownRoles) -> Contributions:
    from discreet.engine.kernels import COUNT, NEGATIVE, NONZERO, OWN, REQUESTED, TOP, TOTAL, UNWAIVED, replicate

    largest = known[:, TOP : TOP + top].copy()
    own = largest.copy() if like.weighted else None
    if like.weighted:
        largest[:] = 0
        replicate(known, kept, largest)
    return Contributions(
        known[:, COUNT].copy(),
        known[:, TOTAL].copy(),
        largest,
        known[:, NEGATIVE] > 0,
        known[:, UNWAIVED].copy() if like.waived else None,
        known[:, REQUESTED : REQUESTED + 2].copy() if like.requested else None,
        known[:, NONZERO].copy(),
        own,
        None if own is None else known[:, OWN].copy(),
    )


def one_each(count: Ints, total: Ints, unit: int, top: int, weighted: bool) -> Contributions:
    """Contributions of a count where every record is a contributor of its own, as often as its weight says."""
    from discreet.engine.kernels import largest_of_ones

    negative = np.zeros(len(count), np.bool_)
    largest = largest_of_ones(total, unit, top)
    if not weighted:
        return Contributions(count, total, largest, negative, nonzero=count)
    own = largest_of_ones(count * unit, unit, top)
    return Contributions(count, total, largest, negative, nonzero=count, own=own, own_total=count * unit)
