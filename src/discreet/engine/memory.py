"""Tabulation of records that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.engine.cells import LeafSums, RowFinder
from discreet.engine.contributions import ContributorRecords
from discreet.engine.encode import Records
from discreet.engine.plan import ColumnPlan
from discreet.model.spec import TableSpec
from discreet.model.table import Table


def tabulate_records(records: Records, spec: TableSpec) -> Table:
    """One table from encoded records."""
    plan = ColumnPlan(spec, records)
    columns = [records.amounts(column).summed for column in plan.summed]
    shape = tuple(len(h) for h in spec.hierarchies)
    amounts = spec.value is not None
    sums = LeafSums(shape, len(columns) + amounts, records.key_modulus, records.data.record_key is not None)
    for block in records.blocks(spec.by):
        parts = [column[block.span] for column in columns]
        if amounts:  # how many records have a value other than zero
            parts.append((parts[0] != 0).astype(np.int64))
        sums.add(block.cells, np.stack(parts) if parts else np.zeros((0, 0), np.int64), block.record_key)

    def feed(level: str, rows: RowFinder) -> Iterator[ContributorRecords]:
        own, weighted, _ = records.amounts(plan.watched)
        contributor, number = records.contributor() if level == "holding" else (None, 0)
        leaf = np.concatenate([rows(block.cells) for block in records.blocks(spec.by)])
        value = identity = np.zeros(0, np.int64)
        if plan.gives_values(level):
            value = records.amounts(spec.value).summed
        if plan.names_holders(level):
            identity = records.identities
        yield ContributorRecords(
            leaf, contributor, number, own, weighted, records.waived(), records.requested(), value, identity
        )

    leaf = sums.finish()
    if amounts:
        leaf = leaf._replace(sums=leaf.sums[:-1], nonzero=leaf.sums[-1])
    return plan.table(leaf, records.key_modulus, feed)
