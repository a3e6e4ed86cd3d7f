"""A public table as a cube: every variable a dimension, cells by their place in it."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from discreet.model.arrays import LARGEST, Ints
from discreet.model.public import PublicTable
from discreet.model.units import unit_text

MEASURE = "measure"
"""Dimension that tells values from the ends of intervals, where a method publishes both."""


def stacked(table: PublicTable) -> PublicTable:
    """The same table with the ends of intervals as cells of their own; unchanged where there are none."""
    if table.lower is None or table.upper is None:
        return table
    name = MEASURE
    while name in table.variables:
        name += "_"
    size = len(table)
    codes = np.column_stack([np.repeat(table.codes, 3, axis=0), np.tile(np.arange(3, dtype=np.int32), size)])
    return replace(
        table,
        variables=(*table.variables, name),
        code_lists=(*table.code_lists, ("value", "lower", "upper")),
        labels=(*table.labels, {}),
        parents=(*table.parents, (-1, -1, -1)),
        codes=codes.astype(np.int32),
        value=np.column_stack([table.value, table.lower, table.upper]).ravel(),
        shown=np.repeat(table.shown, 3),
        empty=np.repeat(table.empty, 3),
        lower=None,
        upper=None,
    )


def sizes(table: PublicTable) -> list[int]:
    """Number of codes of every dimension."""
    return [len(codes) for codes in table.code_lists]


def place_numbers(table: PublicTable) -> Ints:
    """Where each cell stands in a cube whose places have numbers of 64 bits, the last dimension running fastest."""
    size = sizes(table)
    found: Ints = np.zeros(len(table), np.int64)
    for k in range(len(size)):
        found *= size[k]
        found += table.codes[:, k]
    return found


def places(table: PublicTable) -> list[int]:
    """Where each cell stands in the cube, the last dimension running fastest."""
    size = sizes(table)
    if prod(size) <= LARGEST:
        found: list[int] = place_numbers(table).tolist()
        return found
    steps = [prod(size[k + 1 :]) for k in range(len(size))]
    return [sum(c * s for c, s in zip(row, steps, strict=True)) for row in table.codes.tolist()]


def dense_rows(table: PublicTable) -> Ints:
    """For every place of the cube the row of its cell, -1 where the table has none."""
    rows = np.full(prod(sizes(table)), -1, np.int64)
    rows[place_numbers(table)] = np.arange(len(table))
    return rows


def value_texts(table: PublicTable) -> list[str | None]:
    """Values as exact decimal numbers; nothing where none is shown."""
    if table.decimals == 0 and table.shown.all():
        return [str(value) for value in table.value.tolist()]
    pairs = zip(table.value.tolist(), table.shown.tolist(), strict=True)
    return [unit_text(value, table.decimals) if shown else None for value, shown in pairs]


def label_of(table: PublicTable, k: int, code: str) -> str:
    """Words for a code of the k-th variable; the code itself where it has none."""
    return str(table.labels[k].get(code, code))


def parents_of(table: PublicTable, k: int) -> tuple[int, ...]:
    """What each code of the k-th variable stands under; -1 at the top."""
    return table.parents[k] if table.parents else (-1,) * len(table.code_lists[k])
