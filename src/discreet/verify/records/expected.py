"""What the public file must hold: from the original, the steps and the order of rows, by code of the checker's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import counted
from discreet.model.custodian import RecordCustodian
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

HIDDEN = frozenset({"identifier", "contributor", "record_key", "waiver", "request"})
"""Roles of columns that no public file may have."""
ENOUGH = 20
"""From so many records on, a column in which most stand alone is taken to name them."""


def expected_public(
    verdict: Verdict, custodian: RecordCustodian, last: Mapping[str, pa.ChunkedArray]
) -> pa.Table | None:
    """The public file: columns that may be seen, rows in the stated order, households numbered anew."""
    import pyarrow as pa

    rows, order = len(custodian.original), custodian.order
    before = len(verdict.refused)
    straight = np.arange(rows)
    if not np.array_equal(np.sort(order), straight):
        verdict.refuse("records", "the public rows are not the original ones, each once")
        return None
    if custodian.keeps_order and not np.array_equal(order, straight):
        verdict.refuse("records", "the rows are said to keep their order, and do not")
        return None
    columns: dict[str, Any] = {}
    for name in custodian.original.names:
        role = custodian.original.about(name).role
        if role in HIDDEN:
            continue
        column = last[name].combine_chunks().take(pa.array(order))
        columns[name] = _numbered(column) if role == "household" else column
    if not columns:
        verdict.refuse("records", "no column is left that may be seen")
        return None
    how = "in their order" if custodian.keeps_order else "in another order"
    verdict.prove(f"the public file has the {counted(rows, 'original record')}, each once, {how}", before)
    if not custodian.keeps_order:
        verdict.asserted.append("that the order of the rows was drawn at random")
    return pa.table(columns)


def _numbered(column: pa.Array) -> pa.Array:
    """Numbers in place of households, in the order in which they appear."""
    import pyarrow as pa

    numbers: dict[Any, int] = {}
    return pa.array([numbers.setdefault(value, len(numbers) + 1) for value in column.to_pylist()], pa.int64())


def refuse_names(verdict: Verdict, custodian: RecordCustodian, public: pa.Table) -> None:
    """Refuse columns that name people without being called identifiers: most of their values occur once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    before = len(verdict.refused)
    if public.num_rows < ENOUGH:
        return
    for name in public.column_names:
        role, kind = custodian.original.about(name).role, public[name].type
        open_to_doubt = role == "key" or (role == "" and not pa.types.is_boolean(kind))
        if not open_to_doubt:
            continue
        counts = public.select([name]).group_by([name]).aggregate([([], "count_all")]).filter(pc.field(name).is_valid())
        alone = pc.sum(pc.equal(counts["count_all"], 1)).as_py() or 0
        if 2 * alone > public.num_rows:
            verdict.refuse("records", "a column is nearly unique, and may name people", name)
    verdict.prove("no key and no column without a role is nearly unique", before)
