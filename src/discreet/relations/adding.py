"""Codes that add up although nobody said so: totals that are not declared, or go by a name of their own.

Who reads a table sees that a row is the sum of others, whatever it is called. A line is a combination of codes of the
other variables; a code is the sum of others when it is so in every line in which all of them are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table

NEAR = 1e-9
SEARCHED = 40
"""Up to so many codes, any of them are tried as parts, not only neighbours."""
TRIES = 20_000


class SumFound(NamedTuple):
    """A code, those that it is the sum of, and in how many lines that tells something."""

    parent: int
    parts: tuple[int, ...]
    lines: int


def found_sums(values: Floats, near: float = 0.0, once: bool = True) -> list[SumFound]:
    """Codes (rows) that are sums of others in every line (column); not a number where a value is not known.

    Every code is a part of one sum at most, and no code contains itself.

    Parameters
    ----------
    values
        One row per code, one column per line.
    near
        How far each value may be off.
    once
        Whether one line is enough for a code that is the sum of all others; two are asked for otherwise.

    Examples
    --------
    >>> found_sums(np.array([[10.0, 7.0], [4.0, 5.0], [6.0, 2.0]]))
    [SumFound(parent=0, parts=(1, 2), lines=2)]
    """
    free = np.ones(len(values), np.bool_)
    found: list[SumFound] = []
    size = np.nansum(np.abs(values), axis=1)
    screen = _Screen(values, near)
    # Small sums first: their parts are then out of the way of larger ones.
    for parent in np.argsort(size, kind="stable").tolist():
        others = np.flatnonzero(free & (np.arange(len(values)) != parent))
        for parts, whole in _candidates(screen, parent, others):
            lines = _holds(values, parent, parts, near)
            if lines >= (1 if whole and once else 2):
                found.append(SumFound(parent, tuple(parts.tolist()), lines))
                free[parts] = False
                break
    return found


def sum_of_all_others(values: Floats, near: float = 0.0) -> SumFound | None:
    """The code that is the sum of all others, where there is one: then parts that add up by chance mean nothing."""
    for parent in np.argsort(-np.nansum(np.abs(values), axis=1), kind="stable").tolist():
        parts = np.delete(np.arange(len(values)), parent)
        lines = _holds(values, parent, parts, near)
        if lines:
            return SumFound(parent, tuple(parts.tolist()), lines)
    return None


def undeclared_sums(table: Table, variable: int, once: bool) -> list[SumFound]:
    """Sums among the codes of a variable that are parts of nothing, by the true values of a table."""
    hierarchy = table.spec.hierarchies[variable]
    roots = top_codes(hierarchy)
    if len(roots) < 2:
        return []
    rest = np.delete(table.codes, variable, axis=1)
    _, line = np.unique(rest, axis=0, return_inverse=True)
    place = np.full(len(hierarchy), -1, np.int64)
    place[roots] = np.arange(len(roots))
    at = place[table.codes[:, variable]]
    values = np.zeros((len(roots), int(line.max(initial=0)) + 1))
    values[at[at >= 0], line.ravel()[at >= 0]] = table.value[at >= 0]
    near = 0.0 if table.slack is None else 0.5 if table.slack < 0 else float(table.slack)
    sums = [*found_sums(values, near, once), *_equal(values)]
    return [SumFound(int(roots[s.parent]), tuple(roots[list(s.parts)].tolist()), s.lines) for s in sums]


def _equal(values: Floats) -> list[SumFound]:
    """Codes that have the value of another in every line, in two lines at least that are not empty."""
    first: dict[bytes, int] = {}
    found = []
    for code, row in enumerate(values):
        lines = int((row != 0).sum())
        same = first.setdefault(row.tobytes(), code)
        if same != code and lines >= 2:
            found.append(SumFound(same, (code,), lines))
    return found


def top_codes(hierarchy: Hierarchy) -> Ints:
    """Codes that are parts of no other; more than one where there is no total."""
    return hierarchy.tops


def _holds(values: Floats, parent: int, parts: Ints, near: float) -> int:
    """In how many lines a sum is seen to hold; 0 where some line contradicts it."""
    whole, inner = values[parent], values[parts]
    known = ~np.isnan(whole)
    complete = known & ~np.isnan(inner).any(axis=0)
    shown = np.nansum(inner, axis=0)
    room = near * (len(parts) + 1) + NEAR * np.maximum(1.0, np.abs(np.where(known, whole, 0.0)))
    with np.errstate(invalid="ignore"):
        if np.any(complete & (np.abs(whole - shown) > room)):
            return 0
        if np.nanmin(values, initial=0.0) >= 0 and np.any(shown > whole + room):
            return 0
    tells = complete & ((inner != 0).sum(axis=0) >= 2)
    return int(tells.sum())


class _Screen:
    """Sums over all lines that are fully known, by which most sets of codes are ruled out at once."""

    def __init__(self, values: Floats, near: float) -> None:
        self.lines: Bools = np.asarray(~np.isnan(values).any(axis=0), np.bool_)
        self.known = values[:, self.lines]
        self.sums = self.known.sum(axis=1)
        self.near = near * int(self.lines.sum())

    def fits(self, sums: Floats, parent: int, parts: Ints | int) -> Bools:
        """Which sums of so many parts may be that of a code."""
        room = self.near * (np.asarray(parts) + 1) + NEAR * np.maximum(1.0, np.abs(self.sums[parent]))
        return np.asarray(np.abs(sums - self.sums[parent]) <= room, np.bool_)


def _candidates(screen: _Screen, parent: int, others: Ints) -> Iterator[tuple[Ints, bool]]:
    """Sets of codes that may be the parts of one, and whether they are all that are left."""
    if len(others) < 2:
        return
    if screen.fits(screen.sums[others].sum(), parent, len(others)):
        yield others, True
    behind = int(np.searchsorted(others, parent))
    for after in (others[behind:], others[:behind][::-1]) if screen.lines.any() else ():
        fits = screen.fits(np.cumsum(screen.sums[after]), parent, np.arange(1, len(after) + 1))
        yield from ((after[: n + 1], False) for n in np.flatnonzero(fits).tolist() if n >= 1)
    if len(others) <= SEARCHED:
        yield from ((parts, False) for parts in _subsets(screen.known, parent, others))


def _subsets(known: Floats, parent: int, others: Ints) -> Iterator[Ints]:
    """Any codes that add up to another in all lines that are fully known, by search; values must not be negative."""
    if known.shape[1] < 2 or (known < 0).any():
        return
    target = known[parent]
    room = NEAR * (1.0 + target)
    fit = [int(o) for o in others if np.all(known[o] <= target + room)]
    fit.sort(key=lambda o: -float(known[o].sum()))
    rest = np.cumsum(known[fit][::-1], axis=0)[::-1] if fit else known[:0]
    tries = 0

    def search(at: int, left: Floats, chosen: list[int]) -> Iterator[list[int]]:
        nonlocal tries
        tries += 1
        if np.all(left <= room):
            yield chosen
            return
        if at == len(fit) or tries > TRIES or np.any(rest[at] < left - room):
            return
        if np.all(known[fit[at]] <= left + room):
            yield from search(at + 1, left - known[fit[at]], [*chosen, fit[at]])
        yield from search(at + 1, left, chosen)

    for chosen in search(0, target, []):
        if len(chosen) >= 2:
            yield np.array(sorted(chosen), np.int64)
