"""What each cell is and holds, as bytes: the same for the same cell in every table and order of categories."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from discreet.model.hierarchy import Hierarchy
from discreet.relations.identity import merged_hierarchies
from discreet.relations.system import System

WIDTH = 16


def cell_marks(system: System) -> NDArray[np.uint8]:
    """One row of bytes a cell: what it sums (value variable, universe, base codes per variable) and its value.

    A code that sums everything says nothing, so that a cell has the same mark in a table without that variable.
    """
    identity = np.zeros((len(system), WIDTH), np.uint8)
    merged = merged_hierarchies(system.tables)
    for number in range(len(system.tables) - 1, -1, -1):
        table, cells = system.tables.tables[number], system.of[number]
        mine = np.tile(_digest(repr(table.spec.identity)), (len(table), 1))
        for k, variable in enumerate(table.variables):
            whole = merged[table.spec.identity[1:], variable]
            mine ^= _code_marks(variable, table.spec.by[variable], whole)[table.codes[:, k]]
        identity[cells] = mine
    return np.hstack((identity, _contents(system)))


def _code_marks(variable: str, hierarchy: Hierarchy, whole: Hierarchy) -> NDArray[np.uint8]:
    marks = np.zeros((len(hierarchy), WIDTH), np.uint8)
    for i, code in enumerate(hierarchy.codes):
        if whole.total is None or not whole.same(code, whole.total):
            marks[i] = _digest(repr((variable, sorted(whole.covered(code).items()))))
    return marks


def _contents(system: System) -> NDArray[np.uint8]:
    """Values with as few decimals as they need, so that the unit of the table does not matter."""
    value, decimals = system.value.copy(), np.full(len(system), system.decimals, np.int64)
    for _ in range(system.decimals):  # so many times at most
        round_ = value % 10 == 0
        value[round_] //= 10
        decimals[round_] -= 1
    return np.column_stack((value, decimals)).astype("<i8").view(np.uint8).reshape(len(system), 16)


def _digest(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(hashlib.blake2b(text.encode(), digest_size=WIDTH).digest(), np.uint8)
