"""Heat maps of tables: for the custodian with the reason why a cell is withheld, for the public without."""

from __future__ import annotations

import numpy as np

from discreet.model.arrays import Ints, Status
from discreet.model.hierarchy import Hierarchy
from discreet.model.public import PublicTable
from discreet.model.table import CellStatus, Table
from discreet.report.heatmap import Heat, Side, heat_map

KINDS = (
    ("b0", "published"),
    ("b1", "unsafe, withheld"),
    ("b2", "withheld besides"),
    ("b3", "empty"),
    ("b4", "published by force"),
)
"""Classes say nothing by themselves: the style is the same on public pages."""
KIND_OF = {
    CellStatus.SAFE: 0,
    CellStatus.UNSAFE: 1,
    CellStatus.SECONDARY: 2,
    CellStatus.EMPTY: 3,
    CellStatus.FORCED: 4,
}
HIDDEN = np.array([False, True, True, False, False])
PUBLIC_KINDS = (("b0", "published"), ("b1", "withheld"), ("b3", "empty"))
UNSAFE_KINDS = (("b0", "safe"), ("b1", "unsafe"), ("b3", "empty"))
PUBLIC_HIDDEN = np.array([False, True, False])


def pattern_heat(table: Table, status: Status) -> Heat:
    """The pattern of a table for its custodian."""
    kinds = np.array([KIND_OF[s] for s in sorted(KIND_OF)], np.int64)
    return heat_map(_sides(table), table.codes, kinds[status], KINDS, HIDDEN)


def unsafe_heat(table: Table) -> Heat:
    """Where the unsafe cells of a table are that publishes all of them, for its custodian."""
    kind = np.where(table.unsafe, 1, np.where(table.empty, 2, 0))
    return heat_map(_sides(table), table.codes, kind, UNSAFE_KINDS, PUBLIC_HIDDEN, "unsafe")


def public_heat(table: PublicTable) -> Heat:
    """Which cells of a table are published, from what the public sees of it."""
    kind = np.where(table.shown, 0, np.where(table.empty, 2, 1))
    sides = [
        Side(name, codes, np.zeros(len(codes), np.int64))
        for name, codes in zip(table.variables, table.code_lists, strict=True)
    ]
    return heat_map(sides, table.codes, kind, PUBLIC_KINDS, PUBLIC_HIDDEN)


def _sides(table: Table) -> list[Side]:
    return [Side(variable, hierarchy.codes, _depth(hierarchy)) for variable, hierarchy in table.spec.by.items()]


def _depth(hierarchy: Hierarchy) -> Ints:
    return hierarchy.depth.astype(np.int64)
