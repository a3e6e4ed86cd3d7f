"""Microaggregated columns: groups are large enough, and every value is that of its group, to the last digit."""

from __future__ import annotations

from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.claims.microaggregation import microaggregated_claim
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.value_columns import stated_columns, whole_units

EACH = ("onedims", "univariate")
MOST_DECIMALS = 18
NEARLY = 1e-6


def check_microaggregated(step: CheckedStep) -> None:
    """The stated columns hold the values of groups of at least ``k`` records."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    columns = _columns(step)
    if columns is None:
        return
    empty = {name: empty_fields(step.before[name], step.original.about(name).missing) for name in columns}
    groups = _groups(step, columns, empty)
    if groups is None:
        return
    lost, sizes = [], []
    for place, name in enumerate(columns):
        group = groups[place if facts["apart"] else 0]
        found = _check_column(step, name, group, empty[name], facts["decimals"][place])
        if found is None:
            return
        lost.append(found)
    for group in groups:
        sizes += np.unique(group[group >= 0], return_counts=True)[1].tolist()
    if (facts["groups"], facts["smallest"], facts["largest"]) != (len(sizes), min(sizes), max(sizes)):
        step.refuse("the groups are not as many, or not as large, as stated")
    stated = [*facts["losses"], facts["loss"]]
    if len(stated) != len(lost) + 1 or not all(
        isclose(a, b, rel_tol=NEARLY, abs_tol=NEARLY)
        for a, b in zip(stated, [*lost, float(np.mean(lost))], strict=True)
    ):
        step.refuse("the variation that was lost is not what is stated")
    step.claims(microaggregated_claim(step.method, facts))
    step.verdict.prove(step.evidence.claim.statement, before)


def _columns(step: CheckedStep) -> list[str] | None:
    """The columns that were averaged."""
    facts, columns = step.evidence.facts, stated_columns(step, "averaged")
    if columns is None:
        return None
    if len(facts["decimals"]) != len(columns) or facts["apart"] != (step.method["algorithm"] in EACH):
        step.refuse("how groups were made is not what the method says")
    elif list(facts["strata"]) != list(step.original.strata):
        step.refuse("the strata are not those of the records")
    else:
        return columns
    return None


def _groups(step: CheckedStep, columns: list[str], empty: dict[str, NDArray[np.bool_]]) -> list[Any] | None:
    """The groups, each of at least ``k`` records that lie in one stratum and have the same gaps."""
    parts = step.evidence.parts.get("records", {})
    many = len(columns) if step.evidence.facts["apart"] else 1
    names = [f"group_{place}" for place in range(many)]
    if sorted(parts) != sorted(names) or any(len(parts[name]) != len(step.original) for name in names):
        step.refuse("the groups of the records are not stated")
        return None
    groups = [np.asarray(parts[name]) for name in names]
    gaps = np.stack([empty[name] for name in columns], axis=1)
    if step.method["missing"] == "refuse" and gaps.any():
        step.refuse("records with gaps were grouped, and the method refuses them")
        return None
    for place, group in enumerate(groups):
        alone = gaps[:, place] if step.evidence.facts["apart"] else gaps.all(axis=1)
        if np.any((group < 0) != alone):
            step.refuse("a record with values has no group, or one without values has one")
            return None
        inside = group >= 0
        _, size = np.unique(group[inside], return_counts=True)
        few = int((size < int(step.method["k"])).sum())
        if few:
            step.refuse(f"{counted(few, 'group', 'have')} fewer than {step.method['k']} records")
            return None
        if not _alike(step, group, gaps):
            step.refuse("a group has records of several strata, or with different gaps")
            return None
    return groups


def _alike(step: CheckedStep, group: NDArray[Any], gaps: NDArray[np.bool_]) -> bool:
    """Whether all members of each group agree in strata and gaps."""
    import pyarrow as pa

    inside = group >= 0
    named = {"group": group[inside]}
    for place in range(gaps.shape[1]):
        named[f"gap {place}"] = gaps[inside, place]
    rows = np.flatnonzero(inside)
    for place, name in enumerate(step.original.strata):
        named[f"stratum {place}"] = step.before[name].combine_chunks().take(pa.array(rows))
    table = pa.table(named)
    kinds = table.group_by(table.column_names).aggregate([]).num_rows
    return bool(kinds == len(np.unique(group[inside])))


def _check_column(
    step: CheckedStep, name: str, group: NDArray[Any], empty: NDArray[np.bool_], decimals: Any
) -> float | None:
    """Every value is that of its group; the share of the variation that is lost."""
    import pyarrow.compute as pc

    old, new = step.before[name], step.changed[name]
    if str(old.type) not in ("int64", "double") or str(new.type) not in ("int64", "double"):
        step.refuse("a column is not one of numbers", name)
        return None
    if type(decimals) is not int or not 0 <= decimals <= MOST_DECIMALS:
        step.refuse("the decimals of a column are not stated", name)
        return None
    if step.method["decimals"] not in (None, decimals):
        step.refuse("a column has other decimals than the method says", name)
        return None
    kept = pc.equal(old.cast(new.type), new)
    same = np.asarray(pc.fill_null(kept, False).to_numpy(), np.bool_) | (
        np.asarray(old.is_null().to_numpy(), np.bool_) & np.asarray(new.is_null().to_numpy(), np.bool_)
    )
    if np.any(empty & ~same) or np.any(empty_fields(new, step.original.about(name).missing) & ~empty):
        step.refuse("an empty field changed, or a value became empty", name)
        return None
    there = np.flatnonzero(~empty)
    if not len(there):
        return 0.0
    rows = there[np.argsort(group[there], kind="stable")]
    before, after = (np.asarray(pc.fill_null(column, 0).to_numpy())[rows] for column in (old, new))
    wrong = _wrong_groups(before, after, group[rows], decimals, step.method["location"])
    if wrong is None:
        step.refuse("the published numbers are not whole in the stated unit", name)
        return None
    if wrong:
        step.refuse(f"{counted(wrong, 'group', 'hold')} something else than the {step.method['location']}", name)
    return _lost(before, after)


def _wrong_groups(before: Any, after: Any, group: Any, decimals: int, location: str) -> int | None:
    """How many groups do not hold what they should; all numbers as whole numbers of units."""
    shown, digits = (
        whole_units(after, decimals),
        next((d for d in range(10) if whole_units(before, d) is not None), None),
    )
    if shown is None or digits is None:
        return None
    exact = whole_units(before, digits)
    assert exact is not None
    start = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    size = np.diff(np.append(start, len(group)))
    differing = np.maximum.reduceat(shown, start) != np.minimum.reduceat(shown, start)
    if location == "mean":
        top, bottom = np.add.reduceat(exact.astype(object), start), size.astype(object)
    else:
        ordered = exact[np.lexsort((exact, group))].astype(object)
        top, bottom = ordered[start + (size - 1) // 2] + ordered[start + size // 2], np.full(len(size), 2, object)
    # The nearest multiple of the unit; of two that are equally near, the upper one.
    apart = 2 * (shown[start].astype(object) * bottom * 10**digits - top * 10**decimals)
    most = bottom * 10**digits
    return int((differing | (apart > most) | (apart <= -most)).sum())


def _lost(before: Any, after: Any) -> float:
    # Differences of large whole numbers are exact, and the numbers themselves are not once they have a point.
    least = before.min() if before.dtype == after.dtype else 0
    before, after = (before - least).astype(np.float64), (after - least).astype(np.float64)
    if not len(before) or not before.std() > 0:
        return 0.0
    return float(((before - after) ** 2).sum() / ((before - before.mean()) ** 2).sum())
