"""Cubes: counts and key sums of all records by some variables, made once and added up for every table by those.

Both add up, so that a table made of a cube has the counts and keys that the records give, to the last bit. Where a cube
has far fewer cells than there are records, it is as much faster. What is told apart by the time of an answer is which
variables are in a cube, which everybody may know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from discreet.engine.cells import strides_of
from discreet.engine.column_files import Columns
from discreet.engine.column_kernels import add_looked_up, add_numbers, add_packed
from discreet.engine.column_universe import Selected

LEAST_RECORDS = 2_000_000
"""Fewer records are counted as fast as a cube is found."""
PER_CELL = 8
"""A cube has at most one cell for so many records: one of more is hardly faster than the records."""
MOST_CELLS = 2**20
"""Cells of a cube, whatever there are of records: a worker holds all its cubes in memory, 15 MB each at most."""
MOST_CUBES = 8
"""They are made at every start: eight of ten million records take a second."""
BLOCK = 2**18


@dataclass(frozen=True, eq=False)
class Cube:
    """Cells that have records: the code of each variable as the columns have it, and a counter as tables have it."""

    codes: Mapping[str, Any]
    packed: Any
    """Number of records above bit ``shift``, sum of their keys below."""
    shift: int

    def covers(self, names: Iterable[str], shift: int) -> bool:
        """Whether a table by some variables is a sum of these cells."""
        return shift == self.shift and all(name in self.codes for name in names)

    def counters(self, names: Sequence[str], look_ups: Sequence[Any], sizes: Sequence[int]) -> Any:
        """One counter for each combination of codes of a table.

        Parameters
        ----------
        names
            Variables of the table.
        look_ups
            For each, what a code of the columns is there; empty where it stays.
        sizes
            For each, how many codes it has there.
        """
        counters = np.zeros(prod(sizes), np.uint64)
        strides = [np.uint32(stride) for stride in strides_of(list(sizes))]
        cells = np.empty(min(BLOCK, len(self.packed)), np.uint32)
        for at in range(0, len(self.packed), BLOCK):
            stop = min(at + BLOCK, len(self.packed))
            mine = cells[: stop - at]
            for place, (name, look_up, stride) in enumerate(zip(names, look_ups, strides, strict=True)):
                column = self.codes[name][at:stop]
                if len(look_up):
                    add_looked_up(column, look_up * stride, place == 0, mine)
                else:
                    add_numbers(column, stride, place == 0, mine)
            add_packed(mine, self.packed[at:stop], counters)
        return counters


def cubes_of(columns: Columns) -> list[Cube]:
    """Cubes that were made of some columns."""
    found: list[Cube] = columns.kept.setdefault("cubes", [])
    return found


def whole(columns: Columns, universe: Selected) -> bool:
    """Whether a universe is all records."""
    return universe.bits is None and universe.records == len(columns)


def cube_of(columns: Columns, names: Sequence[str], counters: Any, shift: int) -> Cube | None:
    """A cube from counters of all records by the codes of some columns; none where it would have too many cells."""
    there = np.flatnonzero(counters)
    if len(there) * PER_CELL > len(columns):
        return None
    sizes = [len(columns.base_codes(name)) for name in names]
    places = np.unravel_index(there, sizes)
    codes = {
        name: np.ascontiguousarray(place, columns.codes(name).dtype) for name, place in zip(names, places, strict=True)
    }
    return Cube(codes, np.ascontiguousarray(counters[there]), shift)


def cube_variables(sizes: Mapping[str, int], most_variables: int, most_cells: int, records: int) -> list[list[str]]:
    """Sets of variables whose cubes answer many tables: from the smallest table on, each as wide as there is room.

    Parameters
    ----------
    sizes
        How many codes each variable has.
    most_variables, most_cells
        How many variables and cells a table has at most.
    records
        How many records there are.

    Examples
    --------
    >>> cube_variables({"sex": 2, "age": 101, "health": 5, "job": 90}, 2, 10**6, 10_000_000)
    [['age', 'health', 'job', 'sex']]
    >>> cube_variables({"sex": 2, "age": 101}, 2, 10**6, 1_000)
    []
    """
    if records < LEAST_RECORDS:
        return []
    room = min(records // PER_CELL, MOST_CELLS)
    names = sorted(sizes)
    width = min(most_variables, len(names))
    open_ = {
        frozenset(some)
        for some in combinations(names, width)
        if prod(sizes[name] + 1 for name in some) <= most_cells and prod(sizes[name] for name in some) <= room
    }
    found: list[list[str]] = []
    while open_ and len(found) < MOST_CUBES:
        cube = set(min(open_, key=lambda some: (prod(sizes[name] for name in some), sorted(some))))
        while wider := [
            (sum(some <= cube | {name} for some in open_), -sizes[name], name)
            for name in names
            if name not in cube and prod(sizes[one] for one in cube) * sizes[name] <= room
        ]:
            cube.add(max(wider)[2])
        found.append(sorted(cube))
        open_ = {some for some in open_ if not some <= cube}
    return found
