"""What readers who know noise, drop/add and swapping can tell of cells: the least and most that each can be.

Readers are taken to know parameters, but not the key. Where they could know more or less (how many records are behind a
cell, which households could move at all), they are taken to know more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Ints
from discreet.model.evidence import Parts
from discreet.model.table import Table
from discreet.relations import System

Numbers = NDArray[Any]
Ends = tuple[Numbers, Numbers]


class TableReading(NamedTuple):
    """A table as it is published, in units of its own, and its rows in what a method left behind."""

    table: Table
    value: Numbers
    rows: slice


def shown_tables(system: System, published: Ints) -> Iterator[tuple[TableReading, Ints, int]]:
    """Published tables of a system, with the numbers of their cells and how many units of the system make one."""
    first = 0
    for table, cells in zip(system.tables, system.of, strict=True):
        scale = 10 ** (system.decimals - table.decimals)
        rows = slice(first, first + len(table))
        first += len(table)
        yield TableReading(table, published[cells].astype(object) // scale, rows), cells, scale


def read_cells(system: System, published: Ints, told: Callable[[TableReading], Ends]) -> tuple[Ints, Ints]:
    """Ends of all cells of a system from those that ``told`` finds for one table, in its units.

    True values lie within what can be told of them; a reader who knows only part of a method's rounding may think of
    ends that are a unit too close, and these are moved out.
    """
    lower, upper = system.lower_bound.copy(), system.upper_bound.copy()
    for shown, cells, scale in shown_tables(system, published):
        low, high = told(shown)
        true = shown.table.value.astype(object)
        low, high = np.minimum(low, true) * scale, np.maximum(high, true) * scale
        lower[cells] = np.maximum(lower[cells].astype(object), np.maximum(low, NO_LOWER)).astype(np.int64)
        upper[cells] = np.minimum(upper[cells].astype(object), np.minimum(high, NO_UPPER)).astype(np.int64)
    return lower, upper


def moved_by_share(shown: Numbers, share: Fraction) -> Ends:
    """Whole numbers that moved by at most a share of themselves, rounded up, and came to what is shown.

    Examples
    --------
    >>> low, high = moved_by_share(np.array([0, 1, 2, 115], object), Fraction(1, 5))
    >>> low.tolist(), high.tolist()
    ([0, 1, 1, 96], [1, 2, 3, 144])
    """
    top, bottom = share.numerator, share.denominator
    low = np.where(shown > 0, (shown - 1) * bottom // (bottom + top) + 1, 0)
    high = -(-(shown + 1) * bottom // (bottom - top)) - 1
    return low, high


def moved_in_zone(shown: Numbers, least: Fraction, most: Fraction) -> Ends:
    """The same for numbers that moved by no less than another share of themselves, rounded up.

    Small numbers leave no choice: 1 is shown of 2 and more, but never of 1, which moves to 0 or 2.

    Examples
    --------
    >>> low, high = moved_in_zone(np.array([0, 1, 2, 115], object), Fraction(1, 10), Fraction(1, 5))
    >>> low.tolist(), high.tolist()
    ([0, 2, 1, 96], [1, 2, 3, 144])
    """
    top, bottom = least.numerator, least.denominator
    low, high = moved_by_share(shown, most)
    up = low - (-low * top // bottom) <= shown
    down = high + (-high * top // bottom) >= shown
    return (
        np.where(up, low, -(-shown * bottom // (bottom - top))),
        np.where(down, high, shown * bottom // (bottom + top)),
    )


def moved_above_share(shown: Numbers, share: Fraction) -> Ends:
    """The same for moves of at most the next whole number above the share."""
    top, bottom = share.numerator, share.denominator
    low = np.where(shown > 0, -(-(shown - 1) * bottom // (bottom + top)), 0)
    return np.where(shown > 0, np.maximum(low, 1), 0), (shown + 1) * bottom // (bottom - top)


# ---- swapping -----------------------------------------------------------------------------------------------


def after_exchange(shown: TableReading, area: str, profile: tuple[str, ...], parts: Parts, listing: list[str]) -> Ends:
    """What can have been in cells before households exchanged areas.

    Whole broad areas hold what they held. So do cells that are counted by nothing but the area and one variable that
    households were matched on: these know all persons of an area, because matched households are of one size.

    Parameters
    ----------
    shown
        The table of counts.
    area
        The variable that was exchanged.
    profile
        The variables on which households were matched.
    parts
        What the method left behind: ``altered`` with the members of households that could move, ``areas`` with the
        broad area of each one, ``moved`` with how many persons moved in every broad area at most.
    listing
        The areas, in the order of ``parts["areas"]``.
    """
    table, value = shown.table, shown.value
    low, high = np.full(len(table), NO_LOWER, object), np.full(len(table), NO_UPPER, object)
    broad = dict(zip(listing, parts["areas"]["broad"].tolist(), strict=True))
    whole, single = _whole_and_single(table, area, broad)
    # The largest households may match in all but their size; where that changed a cell, nobody is taken to know it.
    whole |= _matched_only(table, area, profile) & np.asarray(value == table.value, np.bool_)
    low[whole], high[whole] = value[whole], value[whole]
    movable = parts["altered"]["movable"][shown.rows]
    axis = table.variables.index(area)
    others = np.delete(table.codes, axis, axis=1)
    here = np.array([broad.get(code, -1) for code in table.spec.by[area].codes], np.int64)[table.codes[:, axis]]
    _, group = np.unique(np.column_stack([here, others]), axis=0, return_inverse=True)
    group = group.ravel()
    together = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    np.add.at(together, group[single], movable[single])
    moved = np.append(parts["moved"]["persons"], 0)[here]
    rows = single & ~whole
    low[rows] = (value - np.minimum(moved, movable))[rows]
    high[rows] = (value + np.minimum(moved, together[group] - movable))[rows]
    return low, high


def _whole_and_single(table: Table, area: str, broad: Mapping[str, int]) -> tuple[Bools, Bools]:
    """Rows that hold whole broad areas, and rows of one area each."""
    hierarchy = table.spec.by[area]
    members: dict[int, set[str]] = {}
    for code, number in broad.items():
        members.setdefault(number, set()).add(code)
    whole, single = [], []
    for code in hierarchy.codes:
        covered = {base for base, times in hierarchy.covered(code).items() if times}
        whole.append(all(members[broad[base]] <= covered for base in covered))
        single.append(covered == {code})
    at = table.codes[:, table.variables.index(area)]
    return np.array(whole, np.bool_)[at], np.array(single, np.bool_)[at]


def _matched_only(table: Table, area: str, profile: tuple[str, ...]) -> Bools:
    """Rows whose other codes cover everything, but for one variable that households were matched on."""
    parted, unmatched = np.zeros(len(table), np.int64), np.zeros(len(table), np.bool_)
    for k, (name, hierarchy) in enumerate(table.spec.by.items()):
        if name == area:
            continue
        every = set(hierarchy.base_codes)
        part = np.array([{b for b, times in hierarchy.covered(c).items() if times} != every for c in hierarchy.codes])
        rows = part[table.codes[:, k]]
        parted += rows
        unmatched |= rows & (name not in profile)
    return ~unmatched & (parted <= 1)
