"""How much memory a method takes, said before its work begins.

The figures were measured as the growth of the resident set while tables of 1,400 to 113,000 cells were protected
(``python -m benchmarks protect-memory``), and of up to 2.1 million (``suppression-scale``). They are rounded down: a
method is refused where it cannot end well, not where it might not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import counted
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.room import require

SMALL = 5e7
"""Bytes that are not worth a question."""
ENTRY = 100
"""Bytes for every entry of a relation, of all that is kept of it."""
MANY, OF_MANY = 10_000, 200
"""Of more unsafe cells than the first number each takes so many bytes only: they share certificates."""
ALIKE = 10
"""Of unsafe cells that differ there are at most so many for each finest cell: the others hold the same records."""


class Taken(NamedTuple):
    """Bytes that a method takes at all, for every cell, and for every unsafe cell."""

    fixed: int
    cell: int
    unsafe: int


TAKEN = {"suppress": Taken(0, 1_000, 12_000), "adjust": Taken(0, 1_300, 0), "round": Taken(15_000_000, 1_100, 0)}


def memory_needed(tables: TableSet, kind: str) -> int:
    """Bytes that a method takes for tables, about; 0 where nothing is known of it.

    Relations are counted, not made.
    """
    taken = TAKEN.get(kind)
    if taken is None:
        return 0
    total, unsafe = taken.fixed, 0
    for table in tables:
        unsafe += min(int(table.unsafe.sum()), ALIKE * _finest(table))
        total += ENTRY * _entries(table) + taken.cell * len(table)
    return total + taken.unsafe * min(unsafe, MANY) + (OF_MANY * max(unsafe - MANY, 0) if taken.unsafe else 0)


def require_memory(tables: TableSet, kind: str) -> None:
    """Refuse a method that needs more memory than there is.

    Raises
    ------
    ResourceError
        With what it needs and what is free.
    """
    needed = memory_needed(tables, kind)
    if needed > SMALL:
        cells = sum(len(table) for table in tables)
        require(
            needed,
            f"Protecting {counted(cells, 'cell')} by {kind!r}",
            "Give it more (ulimit -v, container), close levels of hierarchies (recode), or take variables out.",
        )


def _entries(table: Table) -> int:
    """Entries of all relations: every cell in every sum that it is a part or the total of."""
    return sum(
        int(np.diff(hierarchy.members[0])[table.codes[:, k]].sum())
        for k, hierarchy in enumerate(table.spec.hierarchies)
    )


def _finest(table: Table) -> int:
    """Cells that no other is a part of."""
    finest = np.ones(len(table), np.bool_)
    for k, hierarchy in enumerate(table.spec.hierarchies):
        finest &= hierarchy.base[table.codes[:, k]]
    return int(finest.sum())
