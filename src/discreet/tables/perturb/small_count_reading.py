"""What a reader who knows that small inner cells became zero or the base can tell of published counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.attack.whole import whole_steps
from discreet.methods.outcome import Reading, Whole
from discreet.model.arrays import NO_UPPER, Bools, Ints
from discreet.model.inner import inner_codes
from discreet.model.table import Table
from discreet.relations import System

KNOWS = "the base, that only inner cells below it changed, to zero or to it, and that the total is kept to half a base"
UNSEEN = (
    "readers who work back to the cells of all variables together, which no table shows, beyond how many lie in each "
    "published cell"
)
CHOSEN = "what the way in which cells are chosen to rise makes more likely"


def read_small_counts(system: System, published: Ints, base: int, fixed: Sequence[Sequence[Any]]) -> Reading:
    """What is told of each cell.

    Parameters
    ----------
    system
        Cells and relations.
    published
        Rounded counts of all cells.
    base
        The rounding base.
    fixed
        Inner cells that earlier publications fixed: nothing is told of cells that hold one of them.
    """
    listing = inner_codes(system.tables)
    unit = 10**system.decimals
    lower, upper = system.lower_bound.copy(), system.upper_bound.copy()
    whole = int(np.prod([len(codes) for codes in listing.values()]))
    seen = any(set(table.variables) == set(listing) for table in system.tables)
    for table, cells in zip(system.tables, system.of, strict=True):
        size, plain = _inner_cells(table, listing)
        plain &= ~_holds_fixed(table, listing, fixed)
        shown = published[cells] // unit
        low, high = _told(shown, size, base)
        if not fixed:
            # As many cells rise as keep the total of all inner cells to within half a base.
            grand = size == whole
            low = np.where(grand, np.maximum(low, shown - base // 2), low)
            high = np.where(grand, np.minimum(high, shown + base // 2), high)
        lower[cells] = np.where(plain, np.maximum(lower[cells], low * unit), lower[cells])
        high = np.where(high >= NO_UPPER // unit, NO_UPPER, high * unit)
        upper[cells] = np.where(plain, np.minimum(upper[cells], high), upper[cells])
    beyond = (CHOSEN,) if seen else (UNSEEN, CHOSEN)
    return Reading(lower, upper, KNOWS, beyond, Whole(whole_steps(system)))


def _told(shown: Ints, size: Ints, base: int) -> tuple[Ints, Ints]:
    """The least and most of a cell of so many inner cells.

    An inner cell that shows nothing held less than the base, one that shows the base at least one and no more than it,
    any other what it shows.
    """
    risen = np.minimum(size, shown // base)
    low = shown - (base - 1) * risen
    at_zero = np.minimum(size - (shown > 0), NO_UPPER // (2 * base))
    high = shown + (base - 1) * at_zero
    alone = (size == 1) & (shown > base)
    return np.where(alone, shown, low), np.where(alone, shown, high)


def _inner_cells(table: Table, listing: dict[str, tuple[str, ...]]) -> tuple[Ints, Bools]:
    """How many inner cells each cell of a table can have, and whether it is a plain sum of them."""
    size, plain = np.ones(len(table), np.int64), np.ones(len(table), np.bool_)
    for variable, codes in listing.items():
        if variable not in table.spec.by:
            size *= len(codes)
            continue
        start, _, sign = table.spec.by[variable].cover
        mine = table.codes[:, table.variables.index(variable)]
        size *= np.diff(start)[mine]
        below = np.concatenate(([0], np.cumsum(sign < 0)))
        plain &= (below[start[1:]] == below[start[:-1]])[mine]
    return size, plain


def _holds_fixed(table: Table, listing: dict[str, tuple[str, ...]], fixed: Sequence[Sequence[Any]]) -> Bools:
    """Cells that hold an inner cell which an earlier publication fixed."""
    result = np.zeros(len(table), np.bool_)
    variables = list(listing)
    for *words, _ in fixed:
        inside = np.ones(len(table), np.bool_)
        for variable, hierarchy in table.spec.by.items():
            start, base, _ = hierarchy.cover
            word = hierarchy.index[words[variables.index(variable)]]
            holds = np.add.reduceat(np.append(base == word, False), start[:-1]) > 0
            holds &= np.diff(start) > 0
            inside &= holds[table.codes[:, table.variables.index(variable)]]
        result |= inside
    return result
