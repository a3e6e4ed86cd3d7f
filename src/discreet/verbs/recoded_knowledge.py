"""What an intruder makes of original values before looking for them: the codes that the description of a file tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.record_set import with_identity
from discreet.model.arrays import Ints
from discreet.model.custodian import RecordCustodian, RecordStep
from discreet.model.records import RecordSet

if TYPE_CHECKING:
    import pyarrow as pa

OWN_CODES = (
    "records of a class got codes of their own, and several may fit a person; the intruder is taken to know which "
    "the person got, so that the class is found."
)


def as_recoded(custodian: RecordCustodian) -> RecordSet:
    """The original as whoever has it would write it down: in the codes of the released file.

    A column that something else was done to before is recoded value by value, as the values that were left were.
    """
    known = now = with_identity(custodian.original)
    touched: set[str] = set()
    for step in custodian.steps:
        changed = {name: step.changed[name] for name in step.changed.column_names}
        if _is_recoding(step):
            known = known.with_columns(
                {
                    name: followed(known[name], now[name], column) if name in touched else column
                    for name, column in changed.items()
                }
            )
        else:
            touched |= set(changed)
        now = now.with_columns(changed)
    return known


def coded_by_class(custodian: RecordCustodian) -> list[str]:
    """Columns in which one value became several codes."""
    steps = [
        step for step in custodian.steps if step.evidence.method.get("algorithm") == "local" and _is_recoding(step)
    ]
    return sorted({name for step in steps for name in step.changed.column_names})


def _is_recoding(step: RecordStep) -> bool:
    return step.evidence.claim.method in ("recode", "generalise")


def followed(known: pa.ChunkedArray, before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values recoded as a step recoded the same values; numbers that it did not see as the nearest that it saw."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = known.cast(before.type)
    seen = before.combine_chunks().dictionary_encode()
    there = np.asarray(pc.and_(before.is_valid(), after.is_valid()).to_numpy(), np.bool_)
    rows = np.flatnonzero(there)
    example = np.full(len(seen.dictionary), -1)
    example[np.asarray(seen.indices.fill_null(0))[rows]] = rows
    place = np.asarray(pc.fill_null(pc.index_in(known, value_set=seen.dictionary), -1).to_numpy())
    if _numbers(known.type):
        place = _nearest(known, seen.dictionary, example, place)
    row = np.where(place >= 0, example[place], -1) if len(example) else np.full(len(known), -1)
    found = after.combine_chunks().take(pa.array(row, mask=row < 0))
    return pa.chunked_array([found])


def _nearest(known: pa.ChunkedArray, values: pa.Array, example: Ints, place: Ints) -> Ints:
    """The place of the nearest value that has an example, for values that have none."""
    usable = np.flatnonzero(example >= 0)
    lost = np.flatnonzero(np.asarray(known.is_valid().to_numpy(), np.bool_) & ((place < 0) | (example[place] < 0)))
    if not len(usable) or not len(lost):
        return place
    numbers = np.asarray(values.take(usable).to_numpy(zero_copy_only=False), np.float64)
    usable, numbers = usable[np.argsort(numbers, kind="stable")], np.sort(numbers)
    asked = np.asarray(known.fill_null(0).to_numpy(), np.float64)[lost]
    above = np.clip(np.searchsorted(numbers, asked), 0, len(numbers) - 1)
    below = np.maximum(above - 1, 0)
    nearer = np.where(np.abs(numbers[below] - asked) <= np.abs(numbers[above] - asked), below, above)
    filled = place.copy()
    filled[lost] = usable[nearer]
    return filled


def _numbers(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
