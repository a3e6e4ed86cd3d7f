"""Rank-swapped columns: values changed places in pairs, not farther than stated, and nothing else changed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.rank_swap import rank_swapped_claim
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.keyed_draws import Words, drawn_fractions, identity_of, purpose_of
from discreet.verify.records.value_columns import stated_columns, stratum_numbers

if TYPE_CHECKING:
    import pyarrow as pa

ORDERED = ("int64", "double", "date32[day]", "timestamp[us]")


class RankedColumn(NamedTuple):
    """A column before the exchange: numbers in its order, empty fields, and the partner and stratum of each row."""

    values: NDArray[Any]
    empty: NDArray[np.bool_]
    partner: Ints
    kinds: Ints


def check_rank_swapped(step: CheckedStep) -> None:
    """Every record took the value of its partner, whose rank was near enough, and gave it its own."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    columns = _columns(step)
    if columns is None:
        return
    earlier = [done for done in step.earlier if done.method["method"] == "rank_swap"]
    twice = [name for name in columns if any(name in done.facts["columns"] for done in earlier)]
    if twice:
        step.refuse("values were exchanged twice, which brings many back", ", ".join(twice))
    joint = bool(step.method["joint"])
    partners = _partners(step, 1 if joint else len(columns))
    if partners is None:
        return
    kinds = stratum_numbers(step)
    identity = None if step.key is None else identity_of(step.original)
    for place, name in enumerate(columns):
        partner = partners[0 if joint else place]
        old, new = step.before[name].combine_chunks(), step.changed[name].combine_chunks()
        if not old.take(partner).equals(new):  # another type is another value, too
            step.refuse("a record does not have the value of its partner", name)
        if str(old.type) not in ORDERED:
            step.refuse("values were exchanged that have no order", name)
            return
        if facts["kept"][place] != _kept(old, new):
            step.refuse("another number of records kept their value than stated", name)
        empty = empty_fields(step.before[name], step.original.about(name).missing)
        if joint and empty.any():
            step.refuse("columns with empty fields were exchanged together", name)
        if not joint or place == 0:
            _check_partners(step, name, RankedColumn(_numbers(old), empty, partner, kinds), identity)
    if all(kept == len(step.original) for kept in facts["kept"]):
        step.refuse("no value changed")
    if type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    step.claims(rank_swapped_claim(step.method, facts))
    if step.key is None:
        step.verdict.take_for_granted("that partners were drawn at random", "method")
    followed = "" if step.key is None else " Every partner is the one that the secret key draws."
    step.verdict.prove(step.evidence.claim.statement + followed, before)


def _columns(step: CheckedStep) -> list[str] | None:
    facts, columns = step.evidence.facts, stated_columns(step, "exchanged")
    if columns is None:
        return None
    if len(facts["kept"]) != len(columns) or not 0 < step.method["share"] <= 1:
        step.refuse("how records were exchanged is not what the method says")
    elif list(facts["strata"]) != list(step.original.strata):
        step.refuse("the strata are not those of the records")
    else:
        return columns
    return None


def _partners(step: CheckedStep, many: int) -> list[Any] | None:
    """The partner of every record; partners have each other."""
    parts = step.evidence.parts.get("records", {})
    names, rows = [f"partner_{place}" for place in range(many)], np.arange(len(step.original))
    if sorted(parts) != sorted(names) or any(len(parts[name]) != len(rows) for name in names):
        step.refuse("the partners of the records are not stated")
        return None
    found = [np.asarray(parts[name]) for name in names]
    for partner in found:
        if not np.array_equal(np.sort(partner), rows) or not np.array_equal(partner[partner], rows):
            step.refuse("records did not exchange their values in pairs")
            return None
    return found


def _check_partners(step: CheckedStep, name: str, column: RankedColumn, identity: Words | None) -> None:
    """Partners lie in one stratum and not too far apart; nobody is alone who need not be; the key draws them."""
    empty, partner, kinds = column.empty, column.partner, column.kinds
    if not np.array_equal(kinds[partner], kinds) or np.any(empty & (partner != np.arange(len(empty)))):
        step.refuse("partners lie in different strata, or have no value", name)
        return
    far = alone = other = 0
    fraction = (
        None if identity is None or step.key is None else drawn_fractions(identity, step.key.secret, _for(step, name))
    )
    for kind in np.unique(kinds):
        rows = np.flatnonzero((kinds == kind) & ~empty)
        reach = int(Fraction(str(step.method["share"])) * len(rows))
        far += _far(column, rows, reach)
        alone += _needlessly_alone(column, rows, reach)
        if identity is not None and fraction is not None:
            other += _not_drawn(column, rows, reach, identity.astype(np.int64), fraction)
    if far:
        step.refuse(f"{counted(far, 'record')} took a value from farther away than stated", name)
    if alone:
        step.refuse(f"{counted(alone, 'record')} kept a value that could have been exchanged", name)
    if other and not far and not alone:
        step.refuse(f"{counted(other, 'record', 'have')} another partner than the key draws", name)


def _for(step: CheckedStep, name: str) -> str:
    """What the draws of a column are for."""
    method = step.method
    told = float(method["share"]), bool(method["joint"]), list(step.original.strata)
    return purpose_of(method, f"rank swap/{name}", *told)


def _far(column: RankedColumn, rows: Ints, reach: int) -> int:
    """How many records have a partner that lies too far away; of equal values, the nearest ranks count."""
    mine, theirs = column.values[rows], column.values[column.partner[rows]]
    ordered = np.sort(mine)
    low, high = np.minimum(mine, theirs), np.maximum(mine, theirs)
    apart = np.searchsorted(ordered, high, side="left") - (np.searchsorted(ordered, low, side="right") - 1)
    return int((apart > reach).sum())


def _needlessly_alone(column: RankedColumn, rows: Ints, reach: int) -> int:
    """How many records have no partner although the next one without is near; of equal values, the farthest count."""
    ordered = np.sort(column.values[rows])
    alone = np.sort(column.values[rows[column.partner[rows] == rows]])
    low, high = np.searchsorted(ordered, alone[:-1], side="left"), np.searchsorted(ordered, alone[1:], side="right") - 1
    return int((high - low <= reach).sum())


def _not_drawn(column: RankedColumn, rows: Ints, reach: int, identity: Ints, fraction: Floats) -> int:
    """How many records have another partner than the draws give."""
    from discreet.verify.records.rank_kernels import drawn_partners

    if not reach or len(rows) < 2:
        return int((column.partner[rows] != rows).sum())
    order = rows[np.lexsort((identity[rows], column.values[rows]))]
    return int((column.partner[order] != order[drawn_partners(fraction[order], reach)]).sum())


def _numbers(column: pa.Array) -> NDArray[Any]:
    """Values as numbers, 0 for gaps; dates as days, times as microseconds."""
    import pyarrow as pa

    kinds = {"date32[day]": pa.int32(), "timestamp[us]": pa.int64()}
    plain = column.cast(kinds.get(str(column.type), column.type))
    return np.asarray(plain.fill_null(0).to_numpy(zero_copy_only=False))


def _kept(old: pa.Array, new: pa.Array) -> int:
    import pyarrow.compute as pc

    return len(old) - int(pc.sum(pc.fill_null(pc.not_equal(old, new), False)).as_py() or 0)
