"""What is written of a table beside its cells suffices to have the table again."""

from __future__ import annotations

import json

import numpy as np

import discreet as ds
from discreet import Table
from discreet.model.arrays import NO_UPPER
from discreet.model.layout import (
    FLAG,
    FLOAT,
    IDENTITY,
    LETTER,
    cell_columns,
    column_kinds,
    table_description,
    table_from,
)
from discreet.model.table import Holders

PER_CELL = (
    "value", "empty", "records", "weighted", "key_sum", "manual", "manual_lower", "manual_upper", "lower_bound",
    "upper_bound", "cost", "status",
)  # fmt: skip


def full_table() -> Table:
    """A table with every column that a cell may have."""
    small = ds.examples.small_table()
    upper = np.full(16, NO_UPPER)
    upper[3] = 999
    spec = small.spec.with_(where="size in [2, 1]", period="2024", weight="w", decimals=0)
    table = small.with_(
        spec=spec,
        decimals=1,
        shadow_decimals=1,
        weighted=np.arange(16) * 10,
        weight_decimals=1,
        key_sum=np.arange(16),
        key_modulus=10**15,
        upper_bound=upper,
        cost=np.linspace(0, 1.5, 16),
        holders=Holders(np.arange(16), np.tile([2**62 - 1, 0, -1], (16, 1)), np.arange(48).reshape(16, 3) - 20),
        notes=("made for a test",),
    )
    return table.marked({("food", "North"): "U", ("food", "East"): "P"}, protection=(1, 2.25)).assess(ds.PPercent(10))


def test_description_and_columns_give_the_same_table():
    table = full_table()
    description = json.loads(json.dumps(table_description(table)))
    columns = cell_columns(table, table.status, table.value, table.value)
    again = table_from(description, table.codes, {column.name: column.data for column in columns})
    assert again.spec.identity == table.spec.identity
    assert again.spec.name == table.spec.name
    assert [h.codes for h in again.spec.hierarchies] == [h.codes for h in table.spec.hierarchies]
    for name in PER_CELL:
        assert np.array_equal(getattr(again, name), getattr(table, name)), name
    for name in ("decimals", "shadow_decimals", "weight_decimals", "key_modulus", "slack", "from_records", "notes"):
        assert getattr(again, name) == getattr(table, name), name
    for name in ("unsafe", "hits", "lower", "upper", "sliding"):
        assert np.array_equal(getattr(again.assessment, name), getattr(table.assessment, name)), name
    for one, other in zip(again.contributions["holding"].columns, table.contributions["holding"].columns, strict=True):
        assert np.array_equal(one, other)


def test_every_column_has_the_kind_that_its_reader_expects():
    table = full_table()
    columns = cell_columns(table, table.status, table.value, table.value)
    kinds = column_kinds(table_description(table), [column.name for column in columns])
    assert kinds == {column.name: column.kind for column in columns}
    assert kinds["status"] == LETTER
    assert kinds["empty"] == FLAG
    assert kinds["cost"] == FLOAT
    assert kinds["value"] == kinds["holding_top1"] == kinds["upper_bound"] == 1
    assert kinds["contributors"] == 0


def test_no_variable_can_be_named_like_a_column():
    from discreet.model.spec import RESERVED

    table = full_table()
    names = [column.name for column in cell_columns(table, table.status, table.value, table.value)]
    assert [name for name in names if not RESERVED.fullmatch(name)] == []


def test_who_contributes_most_is_written_with_the_cells_and_read_back():
    table = full_table()
    assert table.holders is not None
    columns = {column.name: column for column in cell_columns(table, table.status, table.value, table.value)}
    assert {"holders", "holder1", "holder3", "own1", "own3"} <= set(columns)
    assert columns["holder2"].kind == IDENTITY
    assert columns["own2"].kind == table.decimals
    data = {name: column.data for name, column in columns.items()}
    again = table_from(table_description(table), table.codes, data)
    for name in ("count", "identity", "amount"):
        assert np.array_equal(getattr(again.holders, name), getattr(table.holders, name)), name
    without = table.with_(spec=table.spec.with_(holders=False), holders=None)
    columns = {c.name: c.data for c in cell_columns(without, table.status, table.value, table.value)}
    again = table_from(table_description(without), table.codes, columns)
    assert again.holders is None
    assert not again.spec.holders
