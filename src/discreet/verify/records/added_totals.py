"""Totals that a step says it added up anew: they were sums of their parts before, and are sums of them afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.value_columns import NEVER, whole_units

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DECIMALS = 18


class ValuesInUnits(NamedTuple):
    """Numbers as whole units of ``10 ** -decimals``, 0 where there is no value."""

    units: NDArray[np.int64]
    decimals: int


def fields_that_stay(step: CheckedStep, name: str) -> NDArray[np.bool_]:
    """Where a column has no value before the step: gaps, codes for "unknown", and codes that the method keeps."""
    column = step.before[name]
    stays = empty_fields(column, step.original.about(name).missing)
    codes = np.array([float(code) for code in step.method["keep"]])
    stays |= np.isin(np.asarray(column.fill_null(0).to_numpy(), np.float64), codes) & ~stays
    return stays


def in_units(column: pa.ChunkedArray, stays: NDArray[np.bool_], least: int = 0) -> ValuesInUnits | None:
    """The values of a column in the coarsest unit that writes all of them, with at least so many decimals."""
    values = np.asarray(column.fill_null(0).to_numpy())
    if values.dtype.kind not in "if":
        return None
    values = np.where(stays, values.dtype.type(0), values)
    for decimals in range(least, MOST_DECIMALS + 1):
        found = whole_units(values, decimals)
        if found is not None:
            return ValuesInUnits(found, decimals)
    return None


def changed_columns(step: CheckedStep, more: Sequence[str] = ()) -> list[str] | None:
    """The columns that were changed themselves; totals follow from them, and nothing else changed."""
    roles = {name: step.original.about(name).role for name in step.before}
    totals = dict(step.method["totals"])
    named = [*step.method["columns"], *more]
    numeric = [name for name, role in roles.items() if role == "numeric" and name not in more]
    columns = list(dict.fromkeys([*(step.method["columns"] or numeric), *more]))
    columns = [name for name in columns if name not in totals]
    if not columns or set(named) & set(totals) or set(step.changed) != {*columns, *totals}:
        step.refuse("other columns changed than the stated ones")
    elif list(step.evidence.facts["columns"]) != columns:
        step.refuse("the columns are not those that the method names, or that the records have")
    elif any(roles[name] in NEVER for name in (*columns, *totals)):
        step.refuse("a column was changed that holds no values")
    elif any(str(step.changed[name].type) != str(step.before[name].type) for name in columns):
        step.refuse("a column has numbers of another kind than before")
    else:
        return columns
    return None


def same_where(step: CheckedStep, name: str, stays: NDArray[np.bool_]) -> bool:
    """Whether a column is as it was in some rows."""
    import pyarrow as pa

    rows = pa.array(np.flatnonzero(stays))
    old, new = (column.combine_chunks().take(rows) for column in (step.before[name], step.changed[name]))
    return bool(old.equals(new) or old.cast(new.type, safe=False).equals(new))


def check_totals(step: CheckedStep, changed: Sequence[str]) -> None:
    """Every total is the sum of its parts, before and after; one without a value stays so."""
    totals: Mapping[str, Sequence[str]] = step.method["totals"]
    for total, parts in totals.items():
        named = [(-1, part[1:]) if part.startswith("-") else (1, part) for part in parts]
        if not any(name in changed or name in totals for _, name in named):
            step.refuse("a total was added up of columns that did not change", total)
            continue
        stays = fields_that_stay(step, total)
        if not same_where(step, total, stays):
            step.refuse("a total without a value has one now", total)
            continue
        for when, columns in (("before", step.before), ("now", {**step.before, **step.changed})):
            wrong = _not_the_sum(step, columns, total, named, stays)
            if wrong is None:
                step.refuse("a total, or a part of it, holds what is no exact number", total)
                break
            if wrong:
                said = "was" if when == "before" else "is"
                step.refuse(f"a total {said} not the sum of its parts in {counted(wrong, 'record')}", total)


def _not_the_sum(
    step: CheckedStep,
    columns: Mapping[str, Any],
    total: str,
    parts: Sequence[tuple[int, str]],
    stays: NDArray[np.bool_],
) -> int | None:
    stated = in_units(columns[total], stays)
    added = [(sign, in_units(columns[name], fields_that_stay(step, name))) for sign, name in parts]
    if stated is None:
        return None
    most = stated.decimals
    for _, part in added:
        if part is None:
            return None
        most = max(most, part.decimals)
    # Numbers of Python, because sums in finer units may leave 64 bits.
    rest = stated.units.astype(object) * 10 ** (most - stated.decimals)
    for sign, part in added:
        assert part is not None
        rest = rest - sign * part.units.astype(object) * 10 ** (most - part.decimals)
    return int(np.sum((rest != 0) & ~stays))
