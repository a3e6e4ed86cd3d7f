"""Counts as whole numbers, whatever the unit of the tables beside them is.

The values of a system share one unit, the finest of all tables. Everybody knows that an unweighted count is a whole
number, not only a whole number of hundredths because a table beside it has two decimals. A search that keeps counts
whole works in whole persons or firms for them, and in the common unit for all other cells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Ints
from discreet.relations.system import System


class InWholeCounts(NamedTuple):
    """A system whose counts are in whole numbers, which cells these are, and how many units each cell's step has."""

    system: System
    whole: Bools
    unit: Ints


def whole_cells(system: System) -> Bools:
    """Cells that everybody knows to be whole numbers: unweighted counts."""
    whole = np.zeros(len(system), np.bool_)
    for table, cells in zip(system.tables, system.of, strict=True):
        if table.spec.value is None and not table.spec.weight:
            whole[cells] = True
    return whole


def in_whole_counts(system: System) -> InWholeCounts:
    """The system with unweighted counts in steps of one, so that amounts times ``unit`` are in units of the system."""
    whole = whole_cells(system)
    unit = np.where(whole, np.int64(10**system.decimals), np.int64(1))
    if system.decimals == 0 or not whole.any():
        return InWholeCounts(system, whole, np.ones(len(system), np.int64))

    def up(amounts: Ints) -> Ints:
        return -(-amounts // unit)

    found = system.relating.found
    matrix = found.matrix.copy()
    matrix.data = matrix.data * unit[matrix.indices]
    divisor = _common_divisors(matrix.data, matrix.indptr.astype(np.int64))
    matrix.data //= np.repeat(divisor, np.diff(matrix.indptr))
    rescaled = replace(
        system.related(matrix=matrix, slack=found.slack // divisor),
        value=system.value // unit,
        lower_level=up(system.lower_level),
        upper_level=up(system.upper_level),
        sliding_level=up(system.sliding_level),
        lower_bound=np.where(system.lower_bound > NO_LOWER, up(system.lower_bound), NO_LOWER),
        upper_bound=np.where(system.upper_bound < NO_UPPER, system.upper_bound // unit, NO_UPPER),
        insiders=replace(system.insiders, unit=unit),
    )
    return InWholeCounts(rescaled, whole, unit)


def _common_divisors(entries: Ints, start: Ints) -> Ints:
    """The greatest common divisor of the entries of each row; 1 for rows without any."""
    result = np.ones(len(start) - 1, np.int64)
    some = np.flatnonzero(np.diff(start))
    if len(some):
        result[some] = np.gcd.reduceat(entries, start[some])
    return result
