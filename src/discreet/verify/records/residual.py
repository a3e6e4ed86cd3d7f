"""Residuals that were masked: both stages as they claim, and their sum is what is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.arrays import Floats
from discreet.model.claims.base import Claim
from discreet.model.claims.residual import residual_claim
from discreet.model.evidence import Evidence
from discreet.model.records import ColumnInfo
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.keyed_draws import drawn_fractions, identity_of
from discreet.verify.records.linked import right_share
from discreet.verify.records.value_columns import NEVER, stratum_numbers, whole_units
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

NOISE = ("gaussian", "local")
NEAR, LITTLE = 0.01, 1e-9
TRIED = 20_000
Units = dict[str, NDArray[Any]]
"""Exact whole numbers by column."""


def check_residual(step: CheckedStep) -> None:
    """The published numbers are those of the first stage and what the second gave back of the rest."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    names = list(facts["columns"])
    roles = [step.original.about(name).role for name in names]
    if not names or set(step.changed) != set(names) or any(role in NEVER for role in roles):
        step.refuse("other columns changed than the stated ones")
        return
    empty = {name: empty_fields(step.before[name], step.original.about(name).missing) for name in names}
    rows = {f"{stage}_value_{place}" for stage in ("first", "second") for place in range(len(names))}
    if not rows <= set(step.evidence.parts.get("records", {})):
        step.refuse("the values between the stages are not stated")
        return
    masked = _stated(step, "first", names)
    first = {name: _shown(step, name, masked[name], "first", place, empty) for place, name in enumerate(names)}
    _check_stage(step, "first", step.before, first, step.original.info)
    residual = _residual(step, names, masked, empty)
    if residual is None:
        return
    back = _stated(step, "second", names)
    if step.method["second"] in NOISE:
        _check_noise(step, names, masked, residual, back)
    else:
        info = {**step.original.info, **{n: replace(step.original.about(n), missing=()) for n in names}}
        places = list(enumerate(names))
        left = {n: _shown(step, n, residual[n], "residual", place, empty, gap=True) for place, n in places}
        last = {n: _shown(step, n, back[n], "second", place, empty, gap=True) for place, n in places}
        _check_stage(step, "second", {**step.before, **left}, last, info)
    _check_sums(step, names, masked, back, empty)
    _check_risk(step, names)
    drawn = _draws(step.method)
    if facts["drawn"] != drawn or type(facts["insecure"]) is not bool:
        step.refuse("it is not said whether the stages draw at random, or wrongly")
    elif step.key is not None and facts["insecure"] != (drawn and step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    step.claims(residual_claim(step.method, facts))
    step.verdict.prove(step.evidence.claim.statement, before)


def _draws(method: Mapping[str, Any]) -> bool:
    """Whether a method, or one of its stages, has a key."""
    stages = [method.get("first"), method.get("second")]
    inner = any(_draws(stage) for stage in stages if isinstance(stage, Mapping))
    if "first" in method:
        return inner or method["second"] in NOISE
    return "insecure_seed" in method


def _stated(step: CheckedStep, stage: str, names: list[str]) -> Units:
    rows = step.evidence.parts["records"]
    return {name: np.asarray(rows[f"{stage}_value_{place}"]).astype(object) for place, name in enumerate(names)}


def _shown(
    step: CheckedStep,
    name: str,
    units: NDArray[Any],
    stage: str,
    place: int,
    empty: Mapping[str, NDArray[np.bool_]],
    gap: bool = False,
) -> pa.ChunkedArray:
    """A column between the stages: units as numbers; what was empty stays, or is a gap."""
    import pyarrow as pa
    import pyarrow.compute as pc

    decimals, whole = step.evidence.facts[f"{stage}_decimals"][place], step.evidence.facts[f"{stage}_whole"][place]
    if type(decimals) is not int or not 0 <= decimals <= 18 or (whole and decimals):
        raise ValueError("decimals")
    values = pa.array(units.astype(np.int64) if whole else units.astype(np.int64) / 10.0**decimals)
    there = pa.array(~empty[name])
    old = step.before[name].combine_chunks()
    instead = pa.nulls(len(old), values.type) if gap else old.cast(values.type)
    return pa.chunked_array([pc.if_else(there, values, instead)])


def _check_stage(
    step: CheckedStep,
    stage: str,
    found: Mapping[str, pa.ChunkedArray],
    made: Mapping[str, pa.ChunkedArray],
    info: Mapping[str, ColumnInfo],
) -> None:
    """A stage is what its own method claims, by that method's own checker."""
    from discreet.verify.records.check import METHODS

    facts, stated = step.evidence.facts[stage], step.method[stage]
    method, kind = facts["method"], str(stated["method"])
    if kind not in METHODS or {**method, "columns": ()} != {**stated, "columns": ()}:
        step.refuse(f"the {stage} stage is not the one that the method names")
        return
    if kind != "mask_residual" and list(method["columns"]) != list(step.evidence.facts["columns"]):
        step.refuse(f"the {stage} stage is about other columns")
        return
    said = facts["claim"]
    claim = Claim(kind, str(said["statement"]), tuple(said["attackers"]), tuple(said["not_considered"]))
    own = {
        name.removeprefix(f"{stage}_"): rows
        for name, rows in step.evidence.parts["records"].items()
        if name.startswith(f"{stage}_") and not _is_value(name, stage)
    }
    evidence = Evidence(method, claim, facts=facts["facts"], parts={"records": own} if own else {})
    inner = CheckedStep(
        Verdict(),
        replace(step.original, info=info),
        found,
        made,
        evidence,
        step.earlier if stage == "first" else (),
        step.key,
    )
    METHODS[kind](inner)
    for refusal in inner.verdict.refused:
        step.refuse(f"{stage} stage: {refusal.message}", refusal.where)
    for text in inner.verdict.asserted:
        if text not in step.verdict.asserted:
            step.verdict.asserted.append(text)


def _is_value(name: str, stage: str) -> bool:
    """Whether a column holds values of this stage: those of stages within it have its name twice."""
    return name.removeprefix(f"{stage}_value_").isdigit()


def _exact(step: CheckedStep, name: str) -> tuple[NDArray[Any], int] | None:
    """A column as it was found, in its own units."""
    import pyarrow.compute as pc

    old = step.before[name]
    unknown = empty_fields(old, step.original.about(name).missing)
    values = np.asarray(pc.fill_null(old, 0).to_numpy()).copy()
    values[unknown] = 0
    for decimals in range(10):
        units = whole_units(values, decimals)
        if units is not None:
            return units.astype(object), decimals
    return None


def _residual(
    step: CheckedStep, names: list[str], masked: Units, empty: Mapping[str, NDArray[np.bool_]]
) -> Units | None:
    """What the first stage took away, or added, by exact numbers."""
    found: Units = {}
    sign = {"repair": 1, "reflect": -1}[step.method["sign"]]
    for place, name in enumerate(names):
        exact = _exact(step, name)
        decimals = step.evidence.facts["first_decimals"][place]
        if exact is None:
            step.refuse("a column is not one of numbers", name)
            return None
        units, own = exact
        most = max(own, decimals)
        if step.evidence.facts["residual_decimals"][place] != most:
            step.refuse("the residuals have other decimals than stated", name)
            return None
        left = sign * (units * 10 ** (most - own) - masked[name] * 10 ** (most - decimals))
        left[empty[name]] = 0
        found[name] = left
    return found


def _check_sums(
    step: CheckedStep, names: list[str], masked: Units, back: Units, empty: Mapping[str, NDArray[np.bool_]]
) -> None:
    """The published numbers are first stage plus second, rounded and cut as stated; gaps stayed."""
    import pyarrow.compute as pc

    facts = step.evidence.facts
    for place, name in enumerate(names):
        one, two = facts["first_decimals"][place], facts["second_decimals"][place]
        most, decimals = max(one, two), facts["decimals"][place]
        if decimals != (most if step.method["decimals"] is None else step.method["decimals"]):
            step.refuse("a column has other decimals than stated", name)
            return
        wanted = masked[name] * 10 ** (most - one) + back[name] * 10 ** (most - two)
        if decimals < most:
            coarse = 10 ** (most - decimals)
            wanted = (2 * wanted + coarse) // (2 * coarse)
        else:
            wanted = wanted * 10 ** (decimals - most)
        there = ~empty[name]
        below = (wanted < 0) & there if step.method["nonnegative"] else np.zeros(len(there), np.bool_)
        wanted[below] = 0
        if int(below.sum()) != facts["clipped"][place]:
            step.refuse("another number of values became zero than stated", name)
        new, old = step.changed[name], step.before[name]
        shown = whole_units(np.asarray(pc.fill_null(new, 0).to_numpy())[there], decimals)
        if shown is None or np.any(shown.astype(object) != wanted[there]):
            step.refuse("the published numbers are not the sums of both stages", name)
        same = new.combine_chunks().filter(~there).equals(old.cast(new.type).combine_chunks().filter(~there))
        if not same or np.any(empty_fields(new, step.original.about(name).missing) & there):
            step.refuse("an empty field changed, or a value became empty", name)


def _check_risk(step: CheckedStep, names: list[str]) -> None:
    """How many records are found again, and how many lie where they were."""
    facts = step.evidence.facts
    share, near = right_share(step.original, step.before, step.changed, names, TRIED, NEAR)
    if not isclose(share, facts["linked"], rel_tol=LITTLE, abs_tol=LITTLE) or near != facts["recreated"]:
        step.refuse("another number of records are found again, or lie where they were, than stated")
    if share > float(step.method["most_linked"]) + LITTLE:
        step.refuse("more records are found again than the method allows")
    if 2 * near > len(step.original):
        step.refuse(f"{counted(near, 'record')} of {len(step.original):,} lie where they were")


def _check_noise(step: CheckedStep, names: list[str], masked: Units, residual: Units, back: Units) -> None:
    """Noise has the moments of the residuals of its cell, by the draws of the key."""
    from scipy.special import ndtri

    cell = np.asarray(step.evidence.parts["records"].get("cell", ()))
    stratum = stratum_numbers(step)
    if len(cell) != len(step.original) or len(np.unique(cell)) != len(np.unique(np.stack([cell, stratum]), axis=1).T):
        step.refuse("the cells of the noise are not stated, or go beyond strata")
        return
    places = range(len(names))
    decimals = step.evidence.facts
    before = np.stack([_float(*(_exact(step, name) or ((), 0))) for name in names], axis=1)
    after = np.stack([_float(masked[names[i]], decimals["first_decimals"][i]) for i in places], axis=1)
    left = np.stack([_float(residual[names[i]], decimals["residual_decimals"][i]) for i in places], axis=1)
    noise = np.stack([_float(back[names[i]], decimals["second_decimals"][i]) for i in places], axis=1)
    if list(decimals["second_decimals"]) != list(decimals["residual_decimals"]):
        step.refuse("noise has other decimals than the residuals")
        return
    if step.key is None:
        step.verdict.take_for_granted("that noise was drawn with the moments of the residuals", "method")
        return
    version = int(step.method["version"])
    purpose = "residual noise/{}/1" if version == 1 else f"residual noise/{{}}/{version}/{version}"
    identity = identity_of(step.original)
    drawn = [drawn_fractions(identity, step.key.secret, purpose.format(name)) for name in names]
    normal = ndtri(np.stack(drawn, axis=1) + 2.0**-54)
    units = 10.0 ** -np.array(decimals["second_decimals"], np.float64)
    wrong = 0
    for number in np.unique(cell):
        rows = np.flatnonzero(cell == number)
        same = np.flatnonzero(stratum == stratum[rows[0]])
        if step.method["second"] == "gaussian":
            mean, spread = np.zeros(len(names)), _covariance(before[same]) - _covariance(after[same])
        else:
            near = rows if len(rows) >= len(names) + 3 else same
            mean, spread = left[near].mean(axis=0), _covariance(left[near])
        values, vectors = np.linalg.eigh(spread)
        wanted = mean + normal[rows] @ (vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T)
        # What numbers of this size leave open, and half a unit by rounding.
        slack = units * 0.5001 + 1e-7 * np.sqrt(np.maximum(values.max(initial=0.0), 0.0))
        wrong += int((np.abs(noise[rows] - wanted) > slack).any(axis=1).sum())
    if wrong:
        step.refuse(f"{counted(wrong, 'record', 'have')} other noise than the key draws")
    step.verdict.take_for_granted("that cells of the noise hold neighbouring records", "method")


def _float(units: Any, decimals: int) -> Floats:
    return np.asarray(units, np.float64) / 10.0**decimals


def _covariance(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    return np.asarray(centred.T @ centred / len(values))
