"""Microaggregated columns: groups are large enough, and every value is that of its group, to the last digit."""

from __future__ import annotations

from itertools import pairwise
from math import isclose, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.claims.microaggregation import location_words, microaggregated_claim
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.group_locations import wrong_locations
from discreet.verify.records.paired import proved_bound
from discreet.verify.records.value_columns import stated_columns, stratum_numbers, whole_units

EACH = ("onedims", "univariate")
MOST_DECIMALS = 18
NEARLY = 1e-6
MILLION = 10**6


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
    points = np.stack([_standardised(step.before[name], empty[name]) for name in columns], axis=1)
    _check_distances(step, points, groups)
    _check_proof(step, points, groups[0])
    step.claims(microaggregated_claim(step.method, facts))
    step.verdict.prove(step.evidence.claim.statement, before)


def _standardised(column: Any, empty: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A column with mean 0 and variance 1 where it has values, and 0 elsewhere and where it never varies."""
    import pyarrow.compute as pc

    raw, there = np.asarray(pc.fill_null(column, 0).to_numpy()), ~empty
    found = np.zeros(len(raw))
    if there.any():
        # Large amounts with cents are apart by whole cents, and as floating-point numbers only nearly so.
        units = next((u for d in range(10) if (u := whole_units(raw[there], d)) is not None), raw[there])
        known = (units - units.min()).astype(np.float64)
        spread = float(np.sqrt(np.mean((known - known.mean()) ** 2)))
        found[there] = (known - known.mean()) / spread if spread > 0 else 0.0
    return found


def _check_distances(step: CheckedStep, points: NDArray[np.float64], groups: list[Any]) -> None:
    """The largest distance within a group is the stated one."""
    most = 0.0
    for place, group in enumerate(groups):
        seen = points[:, [place]] if step.evidence.facts["apart"] else points
        rows = np.flatnonzero(group >= 0)
        rows = rows[np.argsort(group[rows], kind="stable")]
        apart, ordered = 1, group[rows]
        while apart < len(rows):
            together = ordered[apart:] == ordered[:-apart]
            if not together.any():
                break
            one, other = seen[rows[apart:][together]], seen[rows[:-apart][together]]
            most = max(most, float(((one - other) ** 2).sum(axis=1).max()))
            apart += 1
    if not isclose(step.evidence.facts["widest"], sqrt(most), rel_tol=NEARLY, abs_tol=NEARLY):
        step.refuse("members of a group lie farther apart, or closer together, than stated")


def _check_proof(step: CheckedStep, points: NDArray[np.float64], group: Any) -> None:
    """Groups of two and three are as near to the best as stated, and losses on the way end where they should."""
    facts = step.evidence.facts
    best = step.method["algorithm"] == "optimal_2"
    if {"within", "bound", "odd_sets"} & set(facts) != ({"within", "bound", "odd_sets"} if best else set()):
        step.refuse("a bound is stated that the method does not prove, or none where it does")
        return
    if best and step.method["k"] != 2:
        step.refuse("groups of two and three are stated for another size")
    if "history" in facts and step.method["algorithm"] != "automaton":
        step.refuse("losses on the way are stated of a method that has none")
        return
    if not best and "history" not in facts:
        return
    inside = group >= 0
    size = np.bincount(group[inside])
    within = 0.0
    for column in points.T:
        middle = np.bincount(group[inside], column[inside]) / np.maximum(size, 1)
        within += float(((column[inside] - middle[group[inside]]) ** 2).sum())
    if "history" in facts:
        _check_history(step, within / max(float((points**2).sum()), 1e-300))
    if not best:
        return
    kinds = _kinds(step, points, group)
    price = np.where(inside, np.asarray(step.evidence.parts["records"]["price"]), 0)  # others are in no group
    bound = proved_bound(points, kinds, price, facts["odd_sets"])
    if bound is None or not facts["bound"] <= bound * (1 + NEARLY) + NEARLY**2:
        step.refuse("the prices do not prove the bound on the sum of squares")
    if not isclose(facts["within"], within, rel_tol=NEARLY, abs_tol=NEARLY**2):
        step.refuse("the sum of squares within groups is not what is stated")


def _kinds(step: CheckedStep, points: NDArray[np.float64], group: Any) -> Any:
    """Records that could share a group: of one stratum, with the same gaps."""
    kind = stratum_numbers(step)
    for name in step.evidence.facts["columns"]:
        gap = empty_fields(step.before[name], step.original.about(name).missing)
        kind = np.unique(2 * kind + gap, return_inverse=True)[1].ravel()
    return np.where(group >= 0, kind, -1 - np.arange(len(points)))


def _check_history(step: CheckedStep, end: float) -> None:
    """Losses never rise, and end with that of the groups."""
    stated = step.evidence.facts["history"]
    numbers = isinstance(stated, list) and stated and all(isinstance(one, float) for one in stated)
    if not numbers or any(not later <= earlier for earlier, later in pairwise(stated)):
        step.refuse("losses on the way are not stated, or rise")
    elif not isclose(stated[-1], end, rel_tol=NEARLY, abs_tol=NEARLY):
        step.refuse("losses on the way do not end with that of the groups")


def _columns(step: CheckedStep) -> list[str] | None:
    """The columns that were averaged."""
    facts, columns = step.evidence.facts, stated_columns(step, "averaged")
    if columns is None:
        return None
    if len(facts["decimals"]) != len(columns) or facts["apart"] != (step.method["algorithm"] in EACH):
        step.refuse("how groups were made is not what the method says")
    elif list(facts["strata"]) != list(step.original.strata):
        step.refuse("the strata are not those of the records")
    elif facts["weight"] != _weight(step):
        step.refuse("the weights are not those of the records, or means were to be made with or without them")
    else:
        return columns
    return None


def _weight(step: CheckedStep) -> str | None:
    """The column of weights where means are made with it, and nothing otherwise; none where there is not one."""
    if not step.method["weighted"]:
        return ""
    named = [name for name in step.before if step.original.about(name).role == "weight"]
    return named[0] if named and step.method["location"] == "mean" else None


def _groups(step: CheckedStep, columns: list[str], empty: dict[str, NDArray[np.bool_]]) -> list[Any] | None:
    """The groups, each of at least ``k`` records that lie in one stratum and have the same gaps."""
    parts = step.evidence.parts.get("records", {})
    many = len(columns) if step.evidence.facts["apart"] else 1
    names = [f"group_{place}" for place in range(many)]
    wanted = [*names, *(["price"] if step.method["algorithm"] == "optimal_2" else [])]
    if sorted(parts) != sorted(wanted) or any(len(parts[name]) != len(step.original) for name in wanted):
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
    wrong = _wrong_groups(step, before, after, group[rows], decimals, rows)
    if wrong is None:
        step.refuse("the published numbers are not whole in the stated unit", name)
        return None
    if wrong:
        what = location_words(step.method, step.evidence.facts)
        step.refuse(f"{counted(wrong, 'group', 'hold')} something else than the {what}", name)
    return _lost(before, after)


def _wrong_groups(
    step: CheckedStep, before: Any, after: Any, group: Any, decimals: int, rows: NDArray[np.int64]
) -> int | None:
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
    location = step.method["location"]
    if location not in ("mean", "median"):
        return int((differing | wrong_locations(step.method, exact, shown, start, size, digits, decimals)).sum())
    if location == "mean":
        weights = _weights(step)[rows]
        top, bottom = np.add.reduceat(exact.astype(object) * weights, start), np.add.reduceat(weights, start)
    else:
        ordered = exact[np.lexsort((exact, group))].astype(object)
        top, bottom = ordered[start + (size - 1) // 2] + ordered[start + size // 2], np.full(len(size), 2, object)
    # The nearest multiple of the unit; of two that are equally near, the upper one.
    apart = 2 * (shown[start].astype(object) * bottom * 10**digits - top * 10**decimals)
    most = bottom * 10**digits
    return int((differing | (apart > most) | (apart <= -most)).sum())


def _weights(step: CheckedStep) -> Any:
    """The weights of the records in millionths, or 1 for each."""
    if not step.method["weighted"]:
        return np.ones(len(step.original), object)
    raw = np.asarray(step.before[step.evidence.facts["weight"]].to_numpy(), np.float64)
    weights = np.array([round(weight * MILLION) for weight in raw.tolist()], object)
    if any(weight <= 0 for weight in weights):
        raise ValueError("weights of 0 or less")
    return weights


def _lost(before: Any, after: Any) -> float:
    # Differences of large whole numbers are exact, and the numbers themselves are not once they have a point.
    least = before.min() if before.dtype == after.dtype else 0
    before, after = (before - least).astype(np.float64), (after - least).astype(np.float64)
    if not len(before) or not before.std() > 0:
        return 0.0
    return float(((before - after) ** 2).sum() / ((before - before.mean()) ** 2).sum())
