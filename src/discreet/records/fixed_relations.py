"""Relations between columns that hold in every record, and would show in which records values were altered."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from discreet.errors import InputError, listed
from discreet.model.records import HOUSEHOLD, NEVER_PUBLIC, RecordSet
from discreet.records.value_columns import empty_rows

EXACT, INVOLVED = 1e-10, 1e-6
"""What is left of a combination of columns that is fixed, and the least part of a column in it."""
MORE_RECORDS = 5
"""Fewer records than columns and so many more fit some relation by chance."""


def refuse_fixed_relations(records: RecordSet, changing: Collection[str], totals: Collection[str]) -> None:
    """Refuse to change columns that follow from others in all records (a sum, a multiple) and are no totals.

    Records in which the relation holds no more would be the altered ones, for everybody to see.
    """
    import pyarrow as pa

    kinds = {name: records[name].type for name in records.names}
    names = [
        name
        for name, kind in kinds.items()
        if (pa.types.is_integer(kind) or pa.types.is_floating(kind))
        and name not in totals
        and records.about(name).role not in (*NEVER_PUBLIC, HOUSEHOLD)
    ]
    known = ~np.logical_or.reduce([empty_rows(records, name) for name in names])
    values = [np.asarray(records[name].fill_null(0).to_numpy(), np.float64)[known] for name in names]
    varying = [(name, column) for name, column in zip(names, values, strict=True) if len(column) and np.ptp(column) > 0]
    if int(known.sum()) < len(varying) + MORE_RECORDS or not varying:
        return
    matrix = np.stack([(column - column.mean()) / column.std() for _, column in varying], axis=1)
    # The directions of the small matrix of all products would lose half of the digits; those of the triangle do not.
    _, sizes, directions = np.linalg.svd(np.linalg.qr(matrix, mode="r"))
    for size, direction in zip(sizes, directions, strict=True):
        together = [name for (name, _), part in zip(varying, direction, strict=True) if abs(part) > INVOLVED]
        if size <= EXACT * np.sqrt(len(matrix)) and set(together) & set(changing):
            raise InputError(
                f"Columns {listed(together)} follow from each other in all records, and would no longer in the altered "
                "ones, which everybody could see.",
                hint='Name sums in totals={"income": ["wage", "rent"]}, or leave one of the columns out of the file.',
            )
