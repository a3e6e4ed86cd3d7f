"""Tables that stand on an unseen one: what it must be like, and whether it settles all cycles of the set.

Tables that agree on what they share stand on one table without negative cells wherever a tree can join them so that
tables with a variable in common are joined through tables that have it too (Bernstein and Goodman 1981). Whether there
is such a tree is seen from the heaviest one; no code is shared with the search for cycles.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np

from discreet.model.table import CellStatus
from discreet.verify.known import Ground
from discreet.verify.relations import Meaning
from discreet.verify.verdict import Verdict

Level = tuple[str, frozenset[Any]]
"""A variable at one level of detail: the sets of base codes that its finest codes stand for."""


def check_unseen(verdict: Verdict, ground: Ground) -> None:
    """Unseen tables state nothing but values that are not negative, withheld in every cell."""
    for number in unseen_numbers(ground):
        table, first = ground.tables.tables[number], int(ground.first[number])
        status = ground.status[first : first + len(table)]
        stated = (table.lower_bound, table.upper_bound, table.holders, table.slack, table.assessment)
        if any(part is not None for part in stated) or table.contributions or table.empty.any():
            verdict.refuse("unseen", "an unseen table states more than values", table.name)
        if (table.value < 0).any() or (status != CellStatus.SECONDARY).any():
            verdict.refuse("unseen", "a cell of an unseen table is negative or not withheld", table.name)


def unseen_numbers(ground: Ground) -> list[int]:
    """Numbers of the tables that nobody publishes."""
    return [ground.present + i for i, earlier in enumerate(ground.already.tables) if earlier.unseen]


def has_open_cycle(ground: Ground) -> bool:
    """Whether tables of one value and universe form a cycle that no unseen table settles."""
    unseen = set(unseen_numbers(ground))
    groups: dict[Any, list[int]] = {}
    for number, table in enumerate(ground.tables):
        groups.setdefault(table.spec.identity, []).append(number)
    for members in groups.values():
        seen = [number for number in members if number not in unseen]
        linked = [u for u in members if u in unseen and _has_margins(ground, u, seen)]
        if len(seen) >= 3 and not _joined_by_a_tree(_levels(ground, [*seen, *linked])):
            return True
    return False


def _has_margins(ground: Ground, unseen: int, seen: list[int]) -> bool:
    """Whether an unseen table holds, for every table that has two of its variables or more, what that says of them."""
    behind = ground.tables.tables[unseen]
    first = int(ground.first[unseen])
    held = ground.cells[first : first + len(behind)]
    for number in seen:
        table = ground.tables.tables[number]
        shared = [v for v in table.variables if v in behind.spec.by]
        if len(shared) < 2:
            continue
        rows = np.ones(len(table), np.bool_)
        for k, (v, hierarchy) in enumerate(table.spec.by.items()):
            sums = {g.parent for g in hierarchy.groupings}
            wanted = [code not in sums if v in shared else code == hierarchy.total for code in hierarchy.codes]
            rows &= np.array(wanted, np.bool_)[table.codes[:, k]]
        start = int(ground.first[number])
        cells = ground.cells[start : start + len(table)][rows & ~table.empty]
        if not np.isin(cells, held).all():
            return False
    return True


def _levels(ground: Ground, numbers: list[int]) -> list[set[Level]]:
    """For each table its variables at every level of detail that some table has and that it is as fine as."""
    finest = [
        {v: _finest(ground.meaning, number, v) for v in ground.tables.tables[number].variables} for number in numbers
    ]
    known: dict[str, set[frozenset[Any]]] = {}
    for mine in finest:
        for v, blocks in mine.items():
            known.setdefault(v, set()).add(blocks)
    found: list[set[Level]] = []
    for mine in finest:
        found.append({(v, other) for v, blocks in mine.items() for other in known[v] if _refines(blocks, other)})
    for v, several in known.items():
        # Levels that do not lie within each other may hide a cycle: two loops over them count as one.
        if any(not _refines(a, b) and not _refines(b, a) for a, b in combinations(several, 2)):
            strange = [{(v, frozenset({"crossing", i})), (v, frozenset({"crossing", (i + 1) % 3}))} for i in range(3)]
            found += strange
    return found


def _finest(meaning: Meaning, number: int, variable: str) -> frozenset[Any]:
    """The sets of base codes behind the finest codes of a variable."""
    table = meaning.tables.tables[number]
    hierarchy = table.spec.by[variable]
    sums = {g.parent for g in hierarchy.groupings}
    return frozenset(meaning.base_codes(number, variable, code) for code in hierarchy.codes if code not in sums)


def _refines(fine: frozenset[Any], coarse: frozenset[Any]) -> bool:
    """Whether every set of the one lies within a set of the other, and both cover the same."""
    owner = {base: block for block in coarse for base in block}
    covered = {base for block in fine for base in block}
    return covered == owner.keys() and all(len({owner[base] for base in block}) == 1 for block in fine)


def _joined_by_a_tree(tables: list[set[Level]]) -> bool:
    """Whether a tree joins tables so that those with a level in common are joined through others that have it."""
    wanted = sum(times - 1 for times in Counter(level for mine in tables for level in mine).values())
    reached, weight = {0}, 0
    while len(reached) < len(tables):  # the heaviest tree, grown table by table
        pairs = ((len(tables[i] & tables[j]), i, j) for i in reached for j in range(len(tables)) if j not in reached)
        most, _, nearest = max(pairs)
        weight += most
        reached.add(nearest)
    return weight == wanted
