"""Tabulation of records that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.engine.cells import (
    ContributorRecords,
    LeafSums,
    all_cells,
    cells_above,
    contributions_of,
    leaf_rows,
    one_each,
    rolled_up,
)
from discreet.engine.encode import Records
from discreet.model.arrays import Codes, Ints
from discreet.model.spec import TableSpec
from discreet.model.table import Contributions, Table


def tabulate_records(records: Records, spec: TableSpec) -> Table:
    """One table from encoded records."""
    codes = np.ascontiguousarray(np.stack([records.codes(v, h) for v, h in spec.by.items()]))
    plan = ColumnPlan(spec, records.weight is not None)
    columns = plan.columns(records)
    record_key, modulus = records.record_key()
    shape = tuple(len(h) for h in spec.hierarchies)

    sums = LeafSums(shape, len(columns), modulus, bool(len(record_key)))
    sums.add(codes, columns, record_key)
    leaf = sums.finish()
    cells = all_cells(leaf.keys, spec.hierarchies, spec.cells == "all")
    above = cells_above(leaf.keys, cells, spec.hierarchies)
    whole = rolled_up(leaf, above, len(cells), modulus)

    amounts = records.amounts(plan.watched, spec.absolute)
    rows: Codes | None = None

    def contributions(level: str) -> Contributions:
        nonlocal rows
        if plan.plain_count(records):
            return one_each(whole.count, whole.sums[plan.total], 10 ** (amounts.decimals), spec.top)
        if rows is None:
            rows = leaf_rows(codes, leaf.keys, shape)
        part = _all_contributors(records, level, rows, amounts.own, amounts.weighted)
        weighted = records.weight is not None
        return contributions_of(part, above, whole.sums[plan.total], spec.top, weighted)

    return plan.table(
        records,
        cells,
        whole.count,
        whole.sums,
        whole.key_sum if len(record_key) else None,
        modulus,
        {level: contributions(level) for level in spec.levels},
    )


def _all_contributors(
    records: Records, level: str, rows: Codes, own: Ints, weighted: Ints
) -> Iterator[ContributorRecords]:
    contributor, number = records.contributor()
    if level == "record":
        contributor, number = np.arange(len(records), dtype=np.int64), len(records)
    yield ContributorRecords(rows, contributor, number, own, weighted, records.waived(), records.requested())


class ColumnPlan:
    """Which columns are summed for a spec, and how the sums become a table."""

    def __init__(self, spec: TableSpec, weighted: bool) -> None:
        self.spec = spec
        self.weighted = weighted
        self.watched = spec.shadow or spec.value
        self.names: list[tuple[str | None, bool]] = [(spec.value, False)]
        for wanted in [(self.watched, spec.absolute), *([(spec.cost, False)] if spec.cost else [])]:
            if wanted not in self.names:
                self.names.append(wanted)
        if weighted and (None, False) not in self.names:
            self.names.append((None, False))

    @property
    def total(self) -> int:
        """Which column the rules look at."""
        return self.names.index((self.watched, self.spec.absolute))

    def columns(self, records: Records) -> Ints:
        """The columns to sum, one a row."""
        return np.ascontiguousarray(
            np.stack([records.amounts(name, absolute).weighted for name, absolute in self.names])
        )

    def plain_count(self, records: Records) -> bool:
        """Whether contributors need no look at the records: a count with a contributor a record."""
        data = records.data
        return self.watched is None and not (data.contributor or data.waiver or data.request)

    def table(
        self,
        records: Records,
        cells: Ints,
        count: Ints,
        sums: Ints,
        key_sum: Ints | None,
        modulus: int,
        contributions: dict[str, Contributions],
    ) -> Table:
        """The finished table."""
        spec = self.spec
        amounts = records.amounts(spec.value)
        shape = [len(h) for h in spec.hierarchies]
        codes = np.empty((len(cells), len(shape)), np.int32)
        rest = cells.copy()
        for k in range(len(shape) - 1, -1, -1):
            rest, codes[:, k] = np.divmod(rest, shape[k])
        cost = None
        if spec.cost:
            cost = sums[self.names.index((spec.cost, False))] / 10.0 ** records.amounts(spec.cost).decimals
        weighted = sums[self.names.index((None, False))] if self.weighted else None
        shown = amounts.shown_decimals if spec.decimals is None else spec.decimals
        return Table(
            spec=spec.with_(weight=records.weight_name or False, decimals=shown),
            codes=codes,
            value=sums[0],
            decimals=amounts.decimals,
            empty=count == 0,
            shadow_decimals=records.amounts(self.watched, spec.absolute).decimals,
            contributions=contributions,
            records=count,
            weighted=weighted,
            weight_decimals=records.amounts(None).decimals if self.weighted else 0,
            key_sum=key_sum,
            key_modulus=modulus,
            cost=cost,
            source=records.data,
        )


