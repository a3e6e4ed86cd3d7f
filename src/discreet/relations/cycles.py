"""Tables that share more than their cells: a x b, b x c and a x c stand on one table by all three variables.

Where the variables of a set form no cycle, tables without negative cells that agree on what they share always stand on
such a table, so that their relations say everything (Beeri, Fagin, Maier and Yannakakis 1983). Where they form a cycle,
an attacker who knows that the table behind them has no negative cell knows more than the relations say.

A variable at several levels of detail counts as several, of which the finer ones bring the coarser ones with them.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Codes
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.relations.identity import merged_hierarchies

Corner = tuple[str, bytes]
"""A variable at one level of detail."""


class Cycle(NamedTuple):
    """Tables of one value and universe whose variables form a cycle.

    ``by`` are the variables in it, each with a hierarchy that has the codes of all these tables; nothing where the
    codes of a variable do not lie within each other, so that no such table can be named.
    """

    tables: tuple[int, ...]
    by: dict[str, Hierarchy] | None


def cycles(tables: TableSet) -> list[Cycle]:
    """The cycles of a set, one for each value and universe that has any."""
    numbers: dict[tuple[str, ...], list[int]] = {}
    for number, table in enumerate(tables):
        numbers.setdefault(table.spec.identity, []).append(number)
    if all(len(members) < 3 for members in numbers.values()):
        return []
    merged = merged_hierarchies(tables)
    found = []
    for identity, members in numbers.items():
        if len(members) >= 3:
            mine = {v: h for (universe, v), h in merged.items() if universe == identity[1:]}
            cycle = _cycle([tables.tables[number] for number in members], members, mine)
            found += [] if cycle is None else [cycle]
    return found


def _cycle(members: list[Table], numbers: list[int], merged: dict[str, Hierarchy]) -> Cycle | None:
    levels = [{v: _blocks(h, merged[v]) for v, h in table.spec.by.items()} for table in members]
    known: dict[str, list[Codes]] = {}
    for mine in levels:
        for v, blocks in mine.items():
            known.setdefault(v, []).append(blocks)
    nested = all(_within(a, b) or _within(b, a) for several in known.values() for a in several for b in several)
    corners = [
        {(v, other.tobytes()) for v, blocks in mine.items() for other in known[v] if _within(blocks, other)}
        for mine in levels
    ]
    core = reduced(corners)
    if not core:
        return None
    inside = tuple(numbers[i] for i in core)
    if not nested or any(h.total is None for i in core for h in members[i].spec.hierarchies):
        return Cycle(inside, None)
    by = {v: _finest([members[i].spec.by[v] for i in core if v in members[i].spec.by]) for v, _ in _shared(core)}
    return Cycle(inside, by)


def reduced(corners: list[set[Corner]]) -> dict[int, set[Corner]]:
    """What is left of tables when corners of one table only, and tables within others, are taken away in turn.

    Nothing is left where there is no cycle (Graham, and Yu and Ozsoyoglu).
    """
    left = {i: set(mine) for i, mine in enumerate(corners)}
    while True:
        times = Counter(corner for mine in left.values() for corner in mine)
        smaller = {i: {corner for corner in mine if times[corner] > 1} for i, mine in left.items()}
        kept: dict[int, set[Corner]] = {}
        for i, mine in sorted(smaller.items(), key=lambda item: -len(item[1])):
            if mine and not any(mine <= other for other in kept.values()):
                kept[i] = mine
        if len(kept) == 1:
            return {}
        if kept == left:
            return dict(sorted(kept.items()))
        left = kept


def _shared(core: dict[int, set[Corner]]) -> list[Corner]:
    """Corners of a core, each variable once."""
    found = {corner[0]: corner for mine in core.values() for corner in sorted(mine)}
    return list(found.values())


def _blocks(own: Hierarchy, merged: Hierarchy) -> Codes:
    """For every base code of all tables the first one under the same code of this hierarchy; -1 where there is none.

    Codes that are no plain sums leave gaps, so that they do not lie within others.
    """
    starts, base, sign = merged.cover
    result = np.full(len(merged), -1, np.int32)
    for position in np.flatnonzero(own.base).tolist():
        at = merged.index[own.codes[position]]
        mine = slice(starts[at], starts[at + 1])
        if (sign[mine] > 0).all():
            result[base[mine]] = base[mine][0]
    return result


def _within(fine: Codes, coarse: Codes) -> bool:
    """Whether every block of the one lies within a block of the other, and they cover the same codes."""
    if not np.array_equal(fine < 0, coarse < 0):
        return False
    at = np.flatnonzero(fine >= 0)
    return bool(np.array_equal(coarse[fine[at]], coarse[at]))


def _finest(hierarchies: list[Hierarchy]) -> Hierarchy:
    """The hierarchy with most base codes; a flat one where all have the same."""
    finest = max(hierarchies, key=lambda h: int(h.base.sum()))
    if all(set(h.base_codes) == set(finest.base_codes) for h in hierarchies):
        return Hierarchy.flat(finest.base_codes, total=finest.total)
    return finest


def has_open_cycle(tables: TableSet) -> bool:
    """Whether some cycle of a set has no table behind it in the set."""
    return bool(cycles(tables))
