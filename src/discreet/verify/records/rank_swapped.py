"""Rank-swapped columns: values changed places in pairs, not farther than stated, and nothing else changed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.claims.rank_swap import rank_swapped_claim
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields

if TYPE_CHECKING:
    import pyarrow as pa

NEVER = ("identifier", "contributor", "record_key", "waiver", "request", "household", "weight")
ORDERED = ("int64", "double", "date32[day]", "timestamp[us]")


def check_rank_swapped(step: CheckedStep) -> None:
    """Every record took the value of its partner, whose rank was near enough, and gave it its own."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    columns = _columns(step)
    if columns is None:
        return
    joint = bool(step.method["joint"])
    partners = _partners(step, 1 if joint else len(columns))
    if partners is None:
        return
    kinds = _strata(step)
    for place, name in enumerate(columns):
        partner = partners[0 if joint else place]
        old, new = step.before[name].combine_chunks(), step.changed[name].combine_chunks()
        if new.type != old.type or not _same(old.take(partner), new):
            step.refuse("a record does not have the value of its partner", name)
        if str(old.type) not in ORDERED:
            step.refuse("values were exchanged that have no order", name)
            return
        if facts["kept"][place] != _kept(old, new):
            step.refuse("another number of records kept their value than stated", name)
        if not joint or place == 0:
            _check_reach(step, name, old, partner, kinds)
    step.claims(rank_swapped_claim(step.method, facts))
    step.verdict.take_for_granted("that partners were drawn at random", "method")
    step.verdict.prove(step.evidence.claim.statement, before)


def _columns(step: CheckedStep) -> list[str] | None:
    facts = step.evidence.facts
    roles = {name: step.original.about(name).role for name in step.before}
    columns = list(step.method["columns"]) or [name for name, role in roles.items() if role == "numeric"]
    if not columns or len(set(columns)) < len(columns) or set(step.changed) != set(columns):
        step.refuse("other columns changed than the stated ones")
    elif list(facts["columns"]) != columns or len(facts["kept"]) != len(columns):
        step.refuse("the columns are not those that the method names, or that the records have")
    elif any(roles[name] in NEVER for name in columns):
        step.refuse("a column was exchanged that holds no values")
    elif list(facts["strata"]) != list(step.original.strata) or not 0 < step.method["share"] <= 1:
        step.refuse("how records were exchanged is not what the method says")
    else:
        return columns
    return None


def _partners(step: CheckedStep, many: int) -> list[Any] | None:
    """The partner of every record; partners have each other."""
    parts = step.evidence.parts.get("records", {})
    found = [np.asarray(parts.get(f"partner_{place}", ())) for place in range(many)]
    rows = np.arange(len(step.original))
    if len(parts) != many or any(len(partner) != len(rows) for partner in found):
        step.refuse("the partners of the records are not stated")
        return None
    for partner in found:
        if partner.min() < 0 or partner.max() >= len(rows) or np.any(partner[partner] != rows):
            step.refuse("records did not exchange their values in pairs")
            return None
    return found


def _strata(step: CheckedStep) -> NDArray[np.int64]:
    """The number of every record's stratum."""
    import pyarrow.compute as pc

    kind = np.zeros(len(step.original), np.int64)
    for name in step.original.strata:
        column = step.before[name]
        values = pc.unique(column.drop_null())
        codes = np.asarray(pc.index_in(column, values).fill_null(-1).to_numpy(), np.int64) + 1
        kind = np.unique(kind * (len(values) + 1) + codes, return_inverse=True)[1].ravel()
    return kind


def _check_reach(step: CheckedStep, name: str, old: pa.Array, partner: Any, kinds: Any) -> None:
    """No two partners lie farther apart than stated, within one stratum; of equal values, the nearest ranks count."""
    empty = empty_fields(step.before[name], step.original.about(name).missing)
    if np.any(kinds[partner] != kinds) or np.any(empty & (partner != np.arange(len(empty)))):
        step.refuse("partners lie in different strata, or have no value", name)
        return
    values = _numbers(old)
    far = 0
    for kind in np.unique(kinds):
        rows = np.flatnonzero((kinds == kind) & ~empty)
        mine = values[rows]
        ordered = np.sort(mine)
        low, high = np.minimum(mine, values[partner[rows]]), np.maximum(mine, values[partner[rows]])
        apart = np.searchsorted(ordered, high, side="left") - (np.searchsorted(ordered, low, side="right") - 1)
        reach = int(Fraction(str(step.method["share"])) * len(rows))
        far += int((apart > reach).sum())
    if far:
        step.refuse(f"{counted(far, 'record')} took a value from farther away than stated", name)


def _numbers(column: pa.Array) -> NDArray[Any]:
    """Values as numbers, 0 for gaps; dates as days, times as microseconds."""
    import pyarrow as pa

    kinds = {"date32[day]": pa.int32(), "timestamp[us]": pa.int64()}
    plain = column.cast(kinds.get(str(column.type), column.type))
    return np.asarray(plain.fill_null(0).to_numpy(zero_copy_only=False))


def _same(one: pa.Array, other: pa.Array) -> bool:
    return bool(one.equals(other))


def _kept(old: pa.Array, new: pa.Array) -> int:
    import pyarrow.compute as pc

    return len(old) - int(pc.sum(pc.fill_null(pc.not_equal(old, new), False)).as_py() or 0)
