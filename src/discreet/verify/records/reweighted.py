"""Weights that were computed anew: they are what the published design gives, and nothing tells the old ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, isclose
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.model.arrays import Floats
from discreet.model.claims.reweighting import reweighted_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.expected import HIDDEN
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

Ratio = tuple[int, int]
"""An exact number: so many parts, of how many in one."""
SAME, NEARLY = 1e-12, 1e-5
"""What weights that are no plain quotients, and stated effects, may be off by."""
MANY_ALIKE = 5
"""So many equal adjustments in one group only tell the group."""
MULTIPLE = 1e-9
"""Numbers are multiples of others where quotients differ by less."""
SOME_KNOWN = 10
"""So many records, or all of fewer, whose old weights a column tells are no chance."""


class OwnWeights(NamedTuple):
    """Weights as they must be, whether to the last bit, and what follows for groups."""

    values: Floats
    exact: bool
    groups: int
    empty: int
    few: int
    lost: float
    total: float | None


def check_reweighted(step: CheckedStep) -> None:
    """Weights are what the method says of the published values, and neither they nor a column tell the old ones."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    name = _weight(step)
    if name is None:
        return
    old = np.asarray(step.original.columns[name].fill_null(0).to_numpy(), np.float64)
    new = np.asarray(step.changed[name].to_numpy(), np.float64)
    if np.any(~np.isfinite(old) | (old <= 0)):
        step.refuse("there are records without a weight", name)
        return
    wanted = _by_size(step, old) if step.method["size"] is not None else _by_group(step, old)
    if wanted is None:
        return
    off = new != wanted.values if wanted.exact else ~np.isclose(new, wanted.values, rtol=SAME, atol=0)
    if off.any():
        step.refuse("weights are not what the published values give", name)
    _check_facts(step, wanted, old, new)
    _check_telling(step, name, old, new)
    step.claims(reweighted_claim(step.method, facts))
    step.verdict.prove(step.evidence.claim.statement, before)


def check_weights_last(verdict: Verdict, custodian: RecordCustodian) -> None:
    """What weights were computed for is what is published: no later step changed it."""
    for number, done in enumerate(custodian.steps):
        method = done.evidence.method
        if method.get("method") == "reweight":
            used = {*method["by"], method["size"], *done.changed.column_names}
            later = {name for step in custodian.steps[number + 1 :] for name in step.changed.column_names}
            for name in sorted(used & later):
                verdict.refuse("reweight", "weights were computed for values that a later step changed", name)


def _weight(step: CheckedStep) -> str | None:
    """The column of weights, where the method may have its parameters."""
    method, facts = step.method, step.evidence.facts
    roles = {name: step.original.about(name).role for name in step.before}
    name = method["weight"]
    if name is None:
        name = next((one for one, role in roles.items() if role == "weight"), None)
    design = [*method["by"], *([] if method["size"] is None else [method["size"]])]
    grouped = method["size"] is None and method["how"] == "recalculate"
    besides = (
        (method["population"] and not grouped)
        or (method["times"] != 1 and not method["population"])
        or (method["size"] is None and (method["total"] is not None or method["least_size"] is not None))
        or (not grouped and (method["factors"] != "refuse" or method["empty"] != "refuse"))
        or (method["size"] is not None and method["how"] == "copy")
    )
    if name not in roles or set(step.changed) != {name} or facts["weight"] != name or roles[name] in HIDDEN:
        step.refuse("other columns changed than the weights")
    elif str(step.changed[name].type) != "double" or step.changed[name].null_count:
        step.refuse("the weights are no numbers, or not of all records", name)
    elif not design or bool(method["by"]) == (method["size"] is not None) or len(set(design)) < len(design):
        step.refuse("it is not stated what weights go by")
    elif name in design or any(roles.get(one, "household") in (*HIDDEN, "household") for one in design):
        step.refuse("weights go by a column that is not published")
    elif besides:
        step.refuse("the method has parameters that it may not have together")
    else:
        return str(name)
    return None


# ---- strata and clusters ---------------------------------------------------------------------------------------------


def _by_group(step: CheckedStep, old: Floats) -> OwnWeights | None:
    import pyarrow as pa

    method, names = step.method, list(step.method["by"])
    was = _counted(step.original.columns, names, old)
    now = pa.table({name: step.before[name] for name in names})
    many = {codes: sum(weights.values()) for codes, weights in _counted(now, names, np.ones(len(old))).items()}
    uneven = any(len(weights) > 1 for weights in was.values())
    if uneven and method["factors"] == "refuse":
        step.refuse("old weights differ within a group")
        return None
    rows = _codes(now, names)
    if method["how"] == "copy":
        if not set(many) <= set(was):
            step.refuse("there is no old weight for a published group")
            return None
        each = {codes: next(iter(was[codes])) for codes in many}
        return _result(rows, each, was, many, 0.0)
    totals = _totals(step, was, many)
    if totals is None:
        return None
    lost = [codes for codes in totals if codes not in many]
    if lost and method["empty"] == "refuse":
        step.refuse("no record is published in a group of the population")
        return None
    whole, gone = _sum(totals.values()), _sum(totals[codes] for codes in lost)
    left = (whole[0] * gone[1] - gone[0] * whole[1], whole[1] * gone[1])
    share = (gone[0] * whole[1]) / (gone[1] * whole[0])
    # Populations are multiplied by the whole one over that of the groups that are left.
    up = (whole[0] * left[1], whole[1] * left[0]) if lost else (1, 1)
    each = {c: (totals[c][0] * up[0]) / (totals[c][1] * up[1] * count) for c, count in many.items()}
    if method["factors"] != "keep":
        return _result(rows, each, totals, many, share)
    return _kept(step, rows, each, old)._replace(
        groups=len(totals), empty=len(lost), few=sum(n < 2 for n in many.values()), lost=share
    )


def _kept(step: CheckedStep, rows: list[Any], each: Mapping[Any, float], old: Floats) -> OwnWeights:
    """Every record has the mean of its group times its adjustment by the mean adjustment of its group."""
    first = _codes(step.original.columns, step.method["by"])
    sums: dict[Any, list[float]] = {}
    for codes, weight in zip(first, old.tolist(), strict=True):
        sums.setdefault(codes, []).append(weight)
    mean = {codes: fsum(weights) / len(weights) for codes, weights in sums.items()}
    factor = [weight / mean[codes] for codes, weight in zip(first, old.tolist(), strict=True)]
    owners: dict[str, list[Any]] = {}
    for codes, one in zip(first, factor, strict=True):
        owners.setdefault(f"{one:.9g}", []).append(codes)
    if len(mean) > 1 and any(len(some) >= MANY_ALIKE and len(set(some)) == 1 for some in owners.values()):
        step.refuse("an adjustment that records keep tells the group that they were in")
    there: dict[Any, list[float]] = {}
    for codes, one in zip(rows, factor, strict=True):
        there.setdefault(codes, []).append(one)
    usual = {codes: fsum(some) / len(some) for codes, some in there.items()}
    values = np.array([each[codes] * one / usual[codes] for codes, one in zip(rows, factor, strict=True)])
    return OwnWeights(values, False, 0, 0, 0, 0.0, None)


def _result(
    rows: list[Any], each: Mapping[Any, float], known: Mapping[Any, Any], many: Mapping[Any, int], lost: float
) -> OwnWeights:
    values = np.array([each[codes] for codes in rows], np.float64)
    few = sum(count < 2 for count in many.values())
    return OwnWeights(values, True, len(known), len(known) - len(many), few, lost, None)


def _totals(
    step: CheckedStep, was: Mapping[Any, Mapping[float, int]], many: Mapping[Any, int]
) -> dict[Any, Ratio] | None:
    """The population of every group, exactly."""
    method = step.method
    if method["population"]:
        if len(method["by"]) != 1:
            step.refuse("populations are stated by the codes of several columns")
            return None
        named = {str(codes[0]): codes for codes in many}
        top, bottom = float(method["times"]).as_integer_ratio()
        found = {}
        for code, size in method["population"].items():
            parts, of = float(size).as_integer_ratio()
            found[named.get(code, (code,))] = (parts * top, of * bottom)
    else:
        found = {}
        for codes, weights in was.items():
            ratios = [(weight.as_integer_ratio(), count) for weight, count in weights.items()]
            found[codes] = _sum((parts * count, of) for (parts, of), count in ratios)
    if not set(many) <= set(found):
        step.refuse("there is no population for a published group")
        return None
    return found


def _sum(ratios: Any) -> Ratio:
    """An exact sum; what is not a whole number has a power of two below, or a product of few."""
    parts, of = 0, 1
    for more, by in ratios:
        if of % by == 0:
            parts += more * (of // by)
        elif by % of == 0:
            parts, of = parts * (by // of) + more, by
        else:
            parts, of = parts * by + more * of, of * by
    return parts, of


def _counted(table: pa.Table, names: Sequence[str], weights: Floats) -> dict[Any, dict[float, int]]:
    """How often each weight stands in every group."""
    import pyarrow as pa

    keyed = {str(place): table[name] for place, name in enumerate(names)}
    counts = pa.table({**keyed, "weight": weights}).group_by([*keyed, "weight"]).aggregate([([], "count_all")])
    found: dict[Any, dict[float, int]] = {}
    codes = zip(*(counts[place].to_pylist() for place in keyed), strict=True)
    for one, weight, many in zip(codes, counts["weight"].to_pylist(), counts["count_all"].to_pylist(), strict=True):
        found.setdefault(one, {})[weight] = many
    return found


def _codes(table: pa.Table, names: Sequence[str]) -> list[Any]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


# ---- sizes -----------------------------------------------------------------------------------------------------------


def _by_size(step: CheckedStep, old: Floats) -> OwnWeights | None:
    method, column = step.method, step.before[step.method["size"]]
    if str(column.type) not in ("int64", "double") or column.null_count:
        step.refuse("sizes are no numbers, or not of all records")
        return None
    sizes = np.asarray(column.to_numpy(), np.float64)
    least = method["least_size"]
    sizes = sizes if least is None else np.where(sizes < least, least, sizes)
    if not np.all(sizes > 0):
        step.refuse("a size is zero or below")
        return None
    total = method["total"]
    if total is None:
        first = np.asarray(step.original.columns[method["size"]].to_numpy(), np.float64)
        total = fsum(weight * size for weight, size in zip(old.tolist(), first.tolist(), strict=True))
    values = np.array([total / len(sizes) / size for size in sizes.tolist()])
    return OwnWeights(values, False, len(sizes), 0, 0, 0.0, float(total))


# ---- what is stated, and what tells ----------------------------------------------------------------------------------


def _check_facts(step: CheckedStep, wanted: OwnWeights, old: Floats, new: Floats) -> None:
    facts = step.evidence.facts
    if (facts["groups"], facts["empty"], facts["few"]) != (wanted.groups, wanted.empty, wanted.few):
        step.refuse("there are other numbers of groups, or of empty ones, than stated")
    if not isclose(facts["lost"], wanted.lost, rel_tol=1e-9, abs_tol=1e-12):
        step.refuse("another share of the population has no record than stated")
    sums = isclose(facts["before"], fsum(old), rel_tol=SAME) and isclose(facts["after"], fsum(new), rel_tol=SAME)
    total = facts["total"] is None if wanted.total is None else isclose(facts["total"], wanted.total, rel_tol=SAME)
    if not sums or not total:
        step.refuse("sums of weights, or of sizes, are not the stated ones")
    effects = [1 + float(np.var(weights)) / float(np.mean(weights)) ** 2 for weights in (old, new)]
    if len(facts["effects"]) != 2 or not np.allclose(facts["effects"], effects, rtol=NEARLY):
        step.refuse("design effects are not the stated ones")


def _check_telling(step: CheckedStep, name: str, old: Floats, new: Floats) -> None:
    """Neither the new weights nor another column are a multiple of the old weights, or of one by them."""
    import pyarrow as pa

    if _multiple(new, old):
        step.refuse("the weights are those of before, or a multiple of them", name)
    for other, column in step.before.items():
        about = step.original.about(other)
        numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if other == name or not numeric or about.role in (*HIDDEN, "household"):
            continue
        values = np.asarray(column.to_numpy(), np.float64)
        if _multiple(np.where(empty_fields(column, about.missing), np.nan, values), old):
            step.refuse("a column tells what the old weights were", other)


def _multiple(values: Floats, old: Floats) -> bool:
    """Whether numbers are one multiple of the old weights, or of one by them, gaps and zeros aside."""
    some = np.flatnonzero(np.isfinite(values) & (values != 0))
    if len(some) < min(SOME_KNOWN, len(old)):
        return False
    values, old = values[some], old[some]
    if old.min() == old.max():
        return False
    for quotient in (values / old, values * old):
        if np.abs(quotient - quotient[0]).max() <= MULTIPLE * abs(float(quotient[0])):
            return True
    return False
