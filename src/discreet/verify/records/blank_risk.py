"""Individual risks of records after fields were emptied, worked out again by code of the checker's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import complete_rows, rows_agreeing

if TYPE_CHECKING:
    import pyarrow as pa

NEARLY = 1 + 1e-9
WEIGHT = "\0weight"
Values = NDArray[np.float64]


def check_risk(
    step: CheckedStep, keys: Sequence[str], old: pa.Table, new: pa.Table, newly: NDArray[np.bool_], stratum: str
) -> bool:
    """Nobody is at a risk above the limit, and only those who were lost fields, but for a stated number of others.

    Gives whether the weights are such that risks can be worked out.
    """
    import pyarrow as pa

    facts, limit = step.evidence.facts, float(step.method["risk"])
    role = [name for name in step.original.names if step.original.about(name).role == "weight"]
    named = step.method["weight"]
    name = str(named) if named is not None and (named in step.before or named != "weight") else "".join(role[:1])
    column = step.before.get(name)
    if column is None or facts["weight"] != name:
        step.refuse("the weights are not those that the method names, or that the records have")
        return False
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        step.refuse("weights are not all numbers of at least one", name)
        return False
    weight = np.asarray(column.cast(pa.float64()).fill_null(np.nan).to_numpy(), np.float64)
    if not (weight >= 1).all() or np.isinf(weight).any():
        step.refuse("weights are not all numbers of at least one", name)
        return False
    added = pa.chunked_array([pa.array(weight)])
    before = _risks(step, keys, old.append_column(WEIGHT, added), stratum, limit) > limit * NEARLY
    after = int((_risks(step, keys, new.append_column(WEIGHT, added), stratum, limit) > limit * NEARLY).sum())
    if after:
        step.refuse(f"{counted(after, 'record', 'have')} a risk above the limit")
    others = int((newly.any(axis=1) & ~before).sum())
    if facts["unsafe"] != int(before.sum()) or facts["company"] != others:
        step.refuse("the numbers of records at risk, and of others that lost fields, are not those that are counted")
    return True


def _risks(step: CheckedStep, keys: Sequence[str], table: pa.Table, stratum: str, limit: float) -> Values:
    """The risk of every record, 0 where it is exempt; those below the limit for certain need not be exact."""
    missing = step.method["missing"]
    unknown = {name: step.original.about(name).missing for name in keys}
    chosen = [*keys, stratum]
    if missing == "any":
        return risk_of_groups(
            rows_agreeing(table, chosen, unknown), rows_agreeing(table, chosen, unknown, WEIGHT), limit
        )
    judged = np.ones(table.num_rows, np.bool_)
    if missing == "exempt":
        judged = complete_rows(table, keys, unknown)
    found = np.zeros(table.num_rows)
    rows = np.flatnonzero(judged)
    group = np.zeros(len(rows), np.int64)
    for name in chosen:
        values = table[name].take(rows).combine_chunks().dictionary_encode()
        values = values if hasattr(values, "indices") else values.chunk(0)
        place = np.asarray(values.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64) + 1
        _, group = np.unique(group * (len(values.dictionary) + 1) + place, return_inverse=True)
    weight = np.asarray(table[WEIGHT].to_numpy(), np.float64)[rows]
    count = np.asarray(np.bincount(group), np.float64)
    found[rows] = risk_of_groups(count[group], np.asarray(np.bincount(group, weight), np.float64)[group], limit)
    return found


def risk_of_groups(records: Values, weight: Values, limit: float) -> Values:
    """The mean of one over the number of persons: p times the integral of w^(f-1) / (p + q w) for w from 0 to 1.

    The integral of one more record follows from that of one fewer; that loses digits where p is large, and there the
    function is so smooth that 64 points give it exactly. More than one over the limit are never above it.
    """
    both, place = np.unique(np.stack((records, weight), axis=1), axis=0, return_inverse=True)
    point, share = np.polynomial.legendre.leggauss(64)
    point, share = (point + 1) / 2, share / 2
    found = np.zeros(len(both))
    for number, (f, total) in enumerate(both.tolist()):
        p = min(f / total, 1.0)
        if f * limit >= 1:
            found[number] = limit
        elif p > 0.4:
            found[number] = p * float((share * point ** (f - 1) / (p + (1 - p) * point)).sum())
        else:
            integral = -np.log(p) / (1 - p)
            for step in range(1, int(f)):
                integral = (1 / step - p * integral) / (1 - p)
            found[number] = p * integral
    return np.asarray(found[place.ravel()])
