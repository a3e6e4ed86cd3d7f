"""Which margins of a count table to withhold until they fix no protected entry any more (Onn 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from discreet.attack.uniqueness import EFFORT, Entry, EntryBounds, unique_entries
from discreet.errors import InputError
from discreet.model.arrays import Bools
from discreet.progress import checkpoint

Margin = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class MarginChoice:
    """Margins that may be published and those to withhold, as sets of axes, and what the former tell.

    ``disclosed`` is how many protected entries they still fix, or could not be decided: 0 unless nothing helps.
    """

    kept: tuple[Margin, ...]
    withheld: tuple[Margin, ...]
    entries: EntryBounds
    disclosed: int


def margins_to_withhold(
    table: npt.ArrayLike,
    family: Sequence[Sequence[int]] | None = None,
    *,
    protected: Bools | None = None,
    effort: int = EFFORT,
) -> MarginChoice:
    """Withhold margins, one after the other, until no protected entry is fixed by the rest.

    In each step the margin goes that leaves the fewest protected entries disclosed, and of those the smallest. Margins
    that were part of it stay. Greedy: fewer may do. An entry that is not decided within the effort counts as disclosed.

    Parameters
    ----------
    table
        The true counts.
    family
        Margins to be published as sets of axes; all pairs of axes when left out.
    protected
        Which entries must not be fixed; all that are not zero when left out.
    effort
        As in :func:`unique_entries`.

    Examples
    --------
    >>> found = margins_to_withhold([[2, 0], [1, 0]], [(0,), (1,)])
    >>> found.withheld, found.kept, found.disclosed
    (((0,),), ((1,),), 0)
    """
    counts = np.asarray(table)
    wanted = counts != 0 if protected is None else np.asarray(protected, np.bool_)
    if wanted.shape != counts.shape:
        raise InputError(f"protected= has the shape {wanted.shape}, the table {counts.shape}.")
    given = combinations(range(counts.ndim), 2) if family is None else family
    kept = _maximal([tuple(sorted(axes)) for axes in given])
    withheld: list[Margin] = []
    now = unique_entries(counts, kept, entries=wanted, effort=effort)
    while (left := _disclosed(now, wanted)) and kept != [()]:
        tried = []
        for number, margin in enumerate(kept):
            checkpoint("margins to withhold", number, len(kept))
            rest = _without(kept, margin)
            found = unique_entries(counts, rest, entries=wanted, effort=effort)
            size = int(np.prod([counts.shape[axis] for axis in margin]))
            tried.append((_disclosed(found, wanted), size, margin, rest, found))
        left, _, margin, kept, now = min(tried, key=lambda one: one[:3])
        withheld.append(margin)
    return MarginChoice(tuple(kept), tuple(withheld), now, left)


def _disclosed(found: EntryBounds, wanted: Bools) -> int:
    return int(((found.status != Entry.VARIES) & wanted).sum())


def _maximal(margins: Sequence[Margin]) -> list[Margin]:
    """Margins that are not part of another."""
    every = sorted(set(margins))
    return [one for one in every if not any(set(one) < set(other) for other in every)]


def _without(margins: Sequence[Margin], gone: Margin) -> list[Margin]:
    """The margins with one replaced by those that are part of it."""
    parts = combinations(gone, len(gone) - 1) if gone else ()
    return _maximal([*(margin for margin in margins if margin != gone), *parts]) or [()]
