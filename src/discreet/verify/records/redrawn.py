"""Values drawn anew: the right records, within the bounds, as round as before, and the ones that the key draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.claims.redrawing import redrawn_claim
from discreet.verify.records.added_totals import changed_columns, check_totals, fields_that_stay, in_units, same_where
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.expected import HIDDEN
from discreet.verify.records.keyed_draws import Words, drawn_fractions, identity_of, purpose_of
from discreet.verify.records.redrawn_values import MoneyModel, check_values, roundness
from discreet.verify.records.value_columns import whole_units

Rows = NDArray[np.bool_]
NEARLY = 1e-9
"""Records count as equally unusual within this share."""


class MoneyField(NamedTuple):
    """A column in whole units before and after, and where its values can be drawn anew."""

    old: NDArray[np.int64]
    new: NDArray[np.int64]
    decimals: int
    stays: Rows
    able: Rows


def check_redrawn(step: CheckedStep) -> None:
    """Only values of chosen records changed, as far as they may; the records are those that the method says."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    columns = changed_columns(step)
    if columns is None or not _stated_well(step, columns):
        return
    why = np.asarray(step.evidence.parts.get("records", {}).get("chosen", ()))
    if len(why) != len(step.original) or len(step.evidence.parts["records"]) > 1 or not np.isin(why, range(4)).all():
        step.refuse("which records were chosen is not stated")
        return
    fields = [_field(step, name) for name in columns]
    money = {name: field for name, field in zip(columns, fields, strict=True) if field is not None}
    if len(money) < len(columns):
        return
    for name, field in money.items():
        _check_bounds(step, name, field, why)
    identity = None if step.key is None else identity_of(step.original)
    _check_chosen(step, money, why, identity)
    if facts["drawn"] != [int((field.new != field.old).sum()) for field in money.values()]:
        step.refuse("another number of values was drawn anew than stated")
    sure = True
    if identity is not None and len(step.verdict.refused) == before:
        sure = _check_drawn(step, money, why, identity)
    check_totals(step, columns)
    step.claims(redrawn_claim(step.method, facts))
    if step.key is None or not sure:
        step.verdict.take_for_granted("that values were drawn at random", "method")
    followed = " Every value is the one that the secret key draws." if step.key is not None and sure else ""
    step.verdict.prove(step.evidence.claim.statement + followed, before)


def _stated_well(step: CheckedStep, columns: list[str]) -> bool:
    """Whether the method may have its parameters, and the facts about the records are so."""
    facts, method, before = step.evidence.facts, step.method, len(step.verdict.refused)
    done = [name for e in step.earlier if e.method["method"] == "redraw" for name in e.facts["columns"]]
    twice = [name for name in columns if name in done]
    if twice:
        step.refuse("values were drawn anew twice, and lie outside their bounds", ", ".join(twice))
    if not 0 < method["least"] <= method["most"] < 1:
        step.refuse("the bounds are none that the method may have")
    if list(facts["strata"]) != list(step.original.strata):
        step.refuse("the strata are not those of the records")
    identified = any(step.original.about(name).role == "identifier" for name in step.original.names)
    if facts["identified"] is not identified:
        step.refuse("it is not said whether records have an identifier, or wrongly")
    if type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    predicted = {*columns, *method["totals"]} & set(method["predictors"])
    if predicted or any(step.original.about(name).role in HIDDEN for name in method["predictors"]):
        step.refuse("a predictor is none that the method may have")
    return len(step.verdict.refused) == before


def _field(step: CheckedStep, name: str) -> MoneyField | None:
    stays = fields_that_stay(step, name)
    old = in_units(step.before[name], stays)
    values = np.asarray(step.changed[name].fill_null(0).to_numpy())
    new = None if old is None else whole_units(np.where(stays, values.dtype.type(0), values), old.decimals)
    if old is None or new is None:
        step.refuse("values have no exact unit, or more decimals than before", name)
        return None
    able = ~stays & (np.floor(step.method["least"] * np.abs(old.units).astype(np.float64)) >= 1)
    return MoneyField(old.units, new, old.decimals, stays, able)


def _check_bounds(step: CheckedStep, name: str, field: MoneyField, why: NDArray[Any]) -> None:
    drawn = field.able & (why > 0)
    if not same_where(step, name, ~drawn):
        step.refuse("a value changed that was not to be drawn anew", name)
        return
    old, new = field.old[drawn], field.new[drawn]
    size = np.abs(old).astype(np.float64)
    limit = np.floor(step.method["least"] * size)
    far = int((np.abs(new - old) > np.floor(step.method["most"] * size)).sum())
    if far:
        step.refuse(f"{counted(far, 'value')} moved farther than any bound", name)
    elif np.any(new == old):
        step.refuse("a value of a chosen record stayed", name)
    elif np.any(roundness(old, limit) != roundness(new, limit)):
        step.refuse("a value is not as round as it was, which tells that it was altered", name)


def _check_chosen(step: CheckedStep, money: dict[str, MoneyField], why: NDArray[Any], identity: Words | None) -> None:
    """Unusual records, flagged ones, and camouflage: as many as stated, and the right ones."""
    method, facts = step.method, step.evidence.facts
    able = np.logical_or.reduce([field.able for field in money.values()])
    unusual, flagged, beside = why == 1, why == 2, why == 3
    if np.any((why > 0) & ~able):
        step.refuse("a record was chosen that has nothing to draw anew")
    if [facts["unusual"], facts["flagged"], facts["camouflage"]] != [
        int(part.sum()) for part in (unusual, flagged, beside)
    ]:
        step.refuse("another number of records was chosen than stated")
    if int(unusual.sum()) != min(int(method["unusual"]), int(able.sum())):
        step.refuse("another number of unusual records was chosen than the method says")
    elif unusual.any():
        score = _scores(step, list(method["by"]) or list(money))
        others = score[able & ~unusual]
        if len(others) and others.max() > score[unusual].min() * (1 + NEARLY):
            step.refuse("a record was not chosen that is more unusual than one that was")
    marked = _flags(step)
    if marked is None:
        return
    if not np.array_equal(flagged, marked & able & ~unusual):
        step.refuse("the flagged records are not those that were chosen")
    rest = able & ~unusual & ~flagged
    if int(beside.sum()) != min(int(method["camouflage"]), int(rest.sum())):
        step.refuse("another number of records was chosen as camouflage than the method says")
    elif identity is not None and step.key is not None and beside.any():
        chance = drawn_fractions(identity, step.key.secret, purpose_of(step.method, "redraw/camouflage"))
        if np.any(chance[rest & ~beside] < chance[beside].max()):
            step.refuse("the camouflage is not the one that the key draws")


def _scores(step: CheckedStep, names: list[str]) -> NDArray[np.float64]:
    """The distance from the median by the median distance, in the column where it is largest."""
    found = np.zeros(len(step.original))
    for name in names:
        stays = fields_that_stay(step, name)
        values = np.asarray(step.before[name].fill_null(0).to_numpy(), np.float64)
        if stays.all():
            continue
        apart = np.abs(values - np.median(values[~stays]))
        usual = np.median(apart[~stays])
        apart[stays] = 0
        found = np.maximum(found, apart / (usual if usual > 0 else apart[~stays].mean()))
    return found


def _flags(step: CheckedStep) -> Rows | None:
    name = step.method["flags"]
    if name is None:
        return np.zeros(len(step.original), np.bool_)
    if step.original.about(name).role not in HIDDEN:
        step.refuse("a public column tells which records were altered", name)
        return None
    return np.array([bool(value) for value in step.before[name].to_pylist()], np.bool_)


def _check_drawn(step: CheckedStep, money: dict[str, MoneyField], why: NDArray[Any], identity: Words) -> bool:
    """Every value is the one that the key draws; the answer says whether all could be looked at."""
    assert step.key is not None
    before = {name: field.old / 10.0**field.decimals for name, field in money.items()}
    after = {name: field.new / 10.0**field.decimals for name, field in money.items()}
    model = MoneyModel(step, before, after, {name: field.stays for name, field in money.items()}, identity)
    clipped, unsure = [], 0
    told = float(step.method["least"]), float(step.method["most"])
    for name, field in money.items():
        rows = np.flatnonzero(field.able & (why > 0))
        share, chance = (
            drawn_fractions(identity, step.key.secret, purpose_of(step.method, f"redraw/{name}/{what}", *told))[rows]
            for what in ("bound", "value")
        )
        share = share * (step.method["most"] - step.method["least"]) + step.method["least"]
        size = np.abs(field.old[rows]).astype(np.float64)
        most = np.floor(share * size).astype(np.int64)
        least = np.floor(step.method["least"] * size)
        if np.any(np.abs(field.new[rows] - field.old[rows]) > most):
            step.refuse("a value moved farther than the bound that the key draws", name)
            return True
        found = check_values(
            model.of(name, rows), field.old[rows], field.new[rows], most, least, chance, field.decimals
        )
        clipped.append(found.clipped)
        unsure += found.unsure
        if found.other:
            step.refuse(f"{counted(found.other, 'value', 'are')} not what the key draws", name)
    if not unsure and step.evidence.facts["clipped"] != clipped:
        step.refuse("another number of values lies at a bound than stated")
    return not unsure
