"""Columns of values that a step says it changed: which they are, where they are empty, and their exact units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.verify.records.context import CheckedStep

NEVER = ("identifier", "contributor", "record_key", "waiver", "request", "household", "weight")
"""Roles of columns that hold no values of anybody."""
EXACT = 2**53
"""Floating-point numbers hold all whole numbers below."""


def stated_columns(step: CheckedStep, done: str) -> list[str] | None:
    """The columns that the method names, or that have the role of numbers; ``done`` says what was done to them."""
    roles = {name: step.original.about(name).role for name in step.before}
    columns = list(step.method["columns"]) or [name for name, role in roles.items() if role == "numeric"]
    if not columns or len(set(columns)) < len(columns) or set(step.changed) != set(columns):
        step.refuse("other columns changed than the stated ones")
    elif list(step.evidence.facts["columns"]) != columns:
        step.refuse("the columns are not those that the method names, or that the records have")
    elif any(roles[name] in NEVER for name in columns):
        step.refuse(f"a column was {done} that holds no values")
    else:
        return columns
    return None


def stratum_numbers(step: CheckedStep) -> NDArray[np.int64]:
    """The number of every record's stratum, by the columns as the step found them."""
    import pyarrow.compute as pc

    kind = np.zeros(len(step.original), np.int64)
    for name in step.original.strata:
        column = step.before[name]
        values = pc.unique(column.drop_null())
        codes = np.asarray(pc.index_in(column, values).fill_null(-1).to_numpy(), np.int64) + 1
        kind = np.unique(kind * (len(values) + 1) + codes, return_inverse=True)[1].ravel()
    return kind


def whole_units(values: Any, decimals: Any, most: int = 18) -> NDArray[np.int64] | None:
    """Numbers as whole units of ``10 ** -decimals``; none where they are not whole in them.

    Whole numbers stand for whole units only: those of finer ones may not fit into 64 bits.
    """
    if type(decimals) is not int or not 0 <= decimals <= most:
        return None
    if values.dtype.kind == "i":
        return np.asarray(values, np.int64) if decimals == 0 else None
    scaled = np.rint(values * 10.0**decimals)
    if not np.all(np.isfinite(values)) or np.any(np.abs(scaled) >= EXACT) or np.any(scaled / 10.0**decimals != values):
        return None
    return np.asarray(scaled, np.int64)
