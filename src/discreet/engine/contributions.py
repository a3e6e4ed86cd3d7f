"""Distinct contributors and largest contributions of every cell, from records fed in one piece or in parts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from discreet.engine.cells import Above
from discreet.model.arrays import Bools, Codes, Ints, Status
from discreet.model.table import Contributions

MOST_KEPT = 64


class ContributorRecords(NamedTuple):
    """All records of some contributors: finest cell, contributor, amounts, consent, request.

    ``contributor`` numbers the contributors from 0; ``None`` says that every record is one. ``weighted``, ``waived``
    and ``requested`` are empty where the data have no such column.
    """

    leaf: Codes
    contributor: Ints | None
    contributors: int
    own: Ints
    weighted: Ints
    waived: Bools
    requested: Status


def kept_of(top: int, lightest: float | None) -> int:
    """How many contributions a cell must keep to know its ``top`` largest once each counts as often as it weighs."""
    if lightest is None or lightest >= 1:
        return top
    return max(top, min(math.ceil(top / lightest), MOST_KEPT))


def contributions_of(
    parts: Iterator[ContributorRecords], above: Above, cells: int, top: int, kept: int, absolute: bool = False
) -> Contributions:
    """Distinct contributors and largest contributions of every cell.

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
    from discreet.engine.kernels import by_contributor, contributions, contributions_in_finest, merge_up

    known = leaves = first = None
    merge = not above.signed
    for part in parts:
        if known is None or leaves is None:
            first = part
            known = _nothing_known(cells, kept, part)
            leaves = _nothing_known(len(above.start) - 1, kept, part)
        records = (part.leaf, part.own, part.weighted, part.waived, part.requested)
        if merge and part.contributor is None:
            contributions_in_finest(*records, absolute, kept, leaves)
            continue
        if part.contributor is None:
            numbers = np.arange(len(part.leaf) + 1, dtype=np.int64)
            start, order = numbers, numbers[:-1]
        else:
            start, order = by_contributor(part.contributor, part.contributors)
        contributions(start, order, *records, *above, absolute, merge, kept, leaves, known)
    if known is None or leaves is None or first is None:
        raise ValueError("There are no records.")
    merge_up(above.start, above.cell, kept, leaves, known)
    return _finished(known, top, kept, first)


def _nothing_known(cells: int, kept: int, like: ContributorRecords) -> Ints:
    from discreet.engine.kernels import REQUESTED, TOP, UNWAIVED

    known = np.zeros((cells, TOP + kept * (2 if len(like.weighted) else 1)), np.int64)
    known[:, [UNWAIVED, REQUESTED, REQUESTED + 1]] = -1
    return known


def _finished(known: Ints, top: int, kept: int, like: ContributorRecords) -> Contributions:
    from discreet.engine.kernels import COUNT, NEGATIVE, REQUESTED, TOP, TOTAL, UNWAIVED, replicate

    largest = known[:, TOP : TOP + top].copy()
    if len(like.weighted):
        largest[:] = 0
        replicate(known, kept, largest)
    return Contributions(
        known[:, COUNT].copy(),
        known[:, TOTAL].copy(),
        largest,
        known[:, NEGATIVE] > 0,
        known[:, UNWAIVED].copy() if len(like.waived) else None,
        known[:, REQUESTED : REQUESTED + 2].copy() if len(like.requested) else None,
    )


def one_each(count: Ints, total: Ints, unit: int, top: int) -> Contributions:
    """Contributions of a count where every record is a contributor of its own, as often as its weight says."""
    largest = np.clip(total[:, None] - unit * np.arange(top), 0, unit)
    return Contributions(count, total, largest, np.zeros(len(count), np.bool_))
