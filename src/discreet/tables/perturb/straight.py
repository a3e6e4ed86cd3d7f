"""Cell keys for plain counts on a straight way: from counters to the public table, with nothing kept on the way.

The public table is the one that ``protect`` gives, cell by cell and code by code; what a release has besides it, for
the custodian, is not made. Counts, key sums and noise are those of all other ways; only plain counts come this way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from discreet.engine.cells import strides_of
from discreet.engine.column_counts import PackedCells
from discreet.model.arrays import Bools, Codes, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.noise_table import NoiseTable
from discreet.model.public import PublicTable
from discreet.model.spec import default_name
from discreet.tables.perturb.cell_key import LISTED, listed
from discreet.tables.perturb.cell_key_method import CellKey
from discreet.tables.perturb.straight_kernels import add_counters_above, noisy_cells, spread_counters

MOST_CELLS = 2**20
"""Cells, empty ones included, up to which a table goes straight; larger ones are seldom worth an array of all."""


class _OccurringCodes(NamedTuple):
    """Codes of cells of one variable as numbers in a list; the list, its words, and what each code stands under."""

    numbers: Codes
    codes: tuple[str, ...]
    labels: Mapping[str, str]
    parents: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class StraightVariable:
    """What is worked out of a hierarchy once."""

    hierarchy: Hierarchy

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Words for its codes, as public tables have them."""
        return dict(self.hierarchy.labels)

    @cached_property
    def top(self) -> int:
        """The code of its total."""
        return self.hierarchy.index[str(self.hierarchy.total)]

    @cached_property
    def fits(self) -> bool:
        """Whether there is one total of all codes, and no code subtracts another."""
        hierarchy = self.hierarchy
        return hierarchy.total is not None and not hierarchy.signed and hierarchy.tops.tolist() == [self.top]

    def listing(self, codes: Codes, used: Bools) -> _OccurringCodes:
        """Codes of cells in a list of those that occur and of what stands above them."""
        hierarchy, parents = self.hierarchy, self.hierarchy.parents
        above = parents[used]
        while len(above := above[(above >= 0) & ~used[above]]):
            used[above] = True
            above = parents[above]
        if used.all():
            return _OccurringCodes(codes, hierarchy.codes, self.labels, hierarchy.listed_parents)
        number = (np.cumsum(used) - 1).astype(np.int32)
        kept = np.flatnonzero(used)
        words = tuple(hierarchy.codes[i] for i in kept.tolist())
        labels = {word: self.labels[word] for word in words if word in self.labels}
        stands_under = np.where(parents[kept] >= 0, number[parents[kept]], -1)
        return _OccurringCodes(number[codes], words, labels, tuple(stands_under.tolist()))


class StraightNoise:
    """The noise table of a method, written out: the change of each row and each cell key.

    Parameters
    ----------
    method
        The method; see :meth:`fits`.
    """

    def __init__(self, method: CellKey) -> None:
        table = method.table
        self.threshold, self.cycle = int(method.threshold), table.cycle
        self.row_of: Ints = table.rows_of(np.arange(int(table.values[-1]) + 1))
        self.changes = listed(table.start, table.upper, table.change, table.modulus)

    @staticmethod
    def fits(method: object) -> bool:
        """Whether a method changes plain counts and nothing else, by record keys that the records bring."""
        if type(method) is not CellKey or method.additive is not None or method.identifier is not None:
            return False
        table: NoiseTable = method.table
        rows = table.values.tolist()
        whole = all(value == int(value) for value in rows) and int(rows[-1]) < LISTED and table.step == 1
        return whole and len(table) * table.modulus <= LISTED


def straight_counts(
    variables: Mapping[str, StraightVariable], packed: PackedCells, noise: StraightNoise, period: str = ""
) -> PublicTable:
    """The public table of counts with noise.

    Parameters
    ----------
    variables
        The variables of the table, in their order.
    packed
        Counters of its finest cells, with whole record keys.
    noise
        The noise.
    period
        Which period the table is about.
    """
    shape = [len(one.hierarchy) for one in variables.values()]
    strides, sizes = strides_of(shape), [len(one.distinct) for one in packed.numbered]
    adds = [one.distinct * stride for one, stride in zip(packed.numbered, strides, strict=True)]
    whole = np.zeros(prod(shape), np.uint64)
    starts = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
    spread_counters(packed.counters, np.array(sizes, np.int64), starts, np.concatenate(adds), whole)
    for one, size, stride in zip(variables.values(), shape, strides, strict=True):
        start, above, _ = one.hierarchy.ancestors
        add_counters_above(start, above, size, stride, whole)
    top = sum(one.top * stride for one, stride in zip(variables.values(), strides, strict=True))
    codes, value = np.empty((len(whole), len(shape)), np.int32), np.empty(len(whole), np.int64)
    occurs = np.zeros((len(shape), max(shape)), np.bool_)
    used = noisy_cells(
        whole,
        packed.shift,
        np.array(shape, np.int64),
        noise.row_of,
        noise.changes,
        noise.cycle,
        noise.threshold,
        top,
        codes,
        value,
        occurs,
    )
    return _public(variables, codes[:used].copy(), value[:used].copy(), occurs, period)


def _public(
    variables: Mapping[str, StraightVariable], codes: Codes, value: Ints, occurs: Bools, period: str
) -> PublicTable:
    lists = []
    for k, one in enumerate(variables.values()):
        found = one.listing(codes[:, k], occurs[k, : len(one.hierarchy)])
        if found.codes is not one.hierarchy.codes:
            codes[:, k] = found.numbers
        lists.append(found)
    return PublicTable(
        name=default_name(None, variables),
        variables=tuple(variables),
        code_lists=tuple(found.codes for found in lists),
        labels=tuple(found.labels for found in lists),
        codes=codes,
        value=value,
        decimals=0,
        shown=np.ones(len(value), np.bool_),
        empty=np.zeros(len(value), np.bool_),
        altered=True,
        parents=tuple(found.parents for found in lists),
        measure="",
        period=period,
    )
