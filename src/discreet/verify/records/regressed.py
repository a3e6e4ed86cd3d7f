"""Values drawn from regressions: what is said to be kept is kept, and where there is the key, its draws."""

from __future__ import annotations

from math import isclose
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import counted
from discreet.model.arrays import Floats, Ints
from discreet.model.claims.ipso import ipso_claim
from discreet.model.records import MissingRange
from discreet.verify.records.changed_columns import ChangedColumn, LandedUnits, changed_columns
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.drawn_regression import (
    NONE_LEFT,
    OwnRegression,
    drawn_columns,
    model_of,
    new_moments,
    own_regression,
)
from discreet.verify.records.keyed_draws import Words, drawn_normals, identity_of, purpose_of
from discreet.verify.records.synthesised import bytes_in_order
from discreet.verify.records.value_columns import NEVER, stated_columns, stratum_numbers
from discreet.verify.records.words import is_unknown

COUNTS = ("kept", "cut", "codes")
NEARLY, NEARLY_ZERO = 1e-4, 1e-7
"""What stated numbers may be off by: a share of them, and where they are nearly zero."""
SAME, SAME_DRAW = 1e-7, 1e-9
"""Of the size of residuals: what two ways of computing a moment, and a value, may differ by."""
LEAST_OPEN = 1e-3
"""The share of a column that given ones must leave open."""
LEAST_OPEN_RECORD = 1e-2
"""The share of a record's residual that a regression must leave open."""
BEYOND_CHANCE = 1e-20
"""Sums of squares that have a smaller chance are no draws of the stated size."""
BEYOND_EXPONENT = 45.0
"""Counts that have a smaller chance than e to minus this are no chance."""
MOST_STEPS = 1000


class RegressedRows(NamedTuple):
    """Rows with a regression of their own: which, with which columns, old and new values from their least on."""

    rows: Ints
    columns: list[str]
    least: list[int]
    old: Floats
    new: Floats


class RegressedFacts:
    """What regressions of all parts say together."""

    def __init__(self, columns: list[str]) -> None:
        self.explained = dict.fromkeys(columns, 0.0)
        self.least, self.fixed = 1.0, 0
        self.off = [0.0, 0.0]

    def add(self, part: RegressedRows, found: OwnRegression, said: Floats, covariance: Floats) -> None:
        """Take in a part, and what became of its moments."""
        spread = part.old.std(axis=0)
        for name, size, all_of_it in zip(part.columns, found.size, spread, strict=True):
            self.explained[name] = max(self.explained[name], float(1 - (size / all_of_it) ** 2))
        self.least = min(self.least, float(found.shares.min()))
        self.fixed = max(self.fixed, int((found.shares <= NONE_LEFT).sum()))
        before = found.left.T @ found.left / len(part.rows)
        apart = np.abs(covariance - before) / np.outer(found.size, found.size)
        self.off = [max(self.off[0], float((said / spread).max())), max(self.off[1], float(apart.max()))]


def check_regressed(step: CheckedStep) -> None:
    """The stated columns were replaced as stated; moments are kept where claimed; the key draws these values."""
    facts, before = step.evidence.facts, len(step.verdict.refused)
    columns = _columns(step)
    if columns is None:
        return
    found = changed_columns(step, columns)
    if found is None:
        return
    for place, (name, column) in enumerate(found.items()):
        _check_counts(step, name, column, place)
    identity = None if step.key is None else identity_of(step.original)
    parts = _parts(step, found)
    if parts is None or len(step.verdict.refused) > before:
        return
    model, facts_found = model_of(step), RegressedFacts(columns)
    checked = [(part, own_regression(part.old, model[part.rows])) for part in parts]
    for part, fit in checked:
        _check_part(step, found, part, fit, facts_found)
    _check_facts(step, facts_found)
    if identity is not None and len(step.verdict.refused) == before:
        _check_draws(step, found, checked, identity)
    step.claims(ipso_claim(step.method, facts))
    if step.key is None and step.method["variant"] != "fit":
        step.verdict.take_for_granted("that residuals were drawn at random", "method")
    followed = "" if step.key is None else " Every value is the one that the secret key draws."
    step.verdict.prove(step.evidence.claim.statement + followed, before)


# ---- what is stated --------------------------------------------------------------------------------------------------


def _columns(step: CheckedStep) -> list[str] | None:
    method, facts, columns = step.method, step.evidence.facts, stated_columns(step, "replaced")
    if columns is None:
        return None
    given = list(method["given"])
    lists = [facts[what] for what in (*COUNTS, "decimals", "explained")]
    counted_all = not any(facts["cut"]) and not any(facts["codes"])
    if len({*columns, *given}) < len(columns) + len(given) or not set(given) <= set(step.before):
        step.refuse("columns are given that are replaced, or that are not there")
    elif any(step.original.about(name).role in NEVER and step.original.about(name).role != "weight" for name in given):
        step.refuse("a column is given on which nothing depends")
    elif any(len(one) != len(columns) for one in lists) or len(facts["off"]) != 2:
        step.refuse("what is stated is not stated of every column")
    elif list(facts["strata"]) != list(step.original.strata):
        step.refuse("the strata are not those of the records")
    elif facts["moments"] is not (method["variant"] != "a" and counted_all):
        step.refuse("moments are said to be kept that are not, or the other way round")
    elif type(facts["insecure"]) is not bool or (step.key is not None and facts["insecure"] != step.key.insecure):
        step.refuse("it is not said whether draws came from a seed, or wrongly")
    else:
        return columns
    return None


def _check_counts(step: CheckedStep, name: str, column: ChangedColumn, place: int) -> None:
    """Values that are as before, and what cannot have been cut or moved away from codes."""
    there = ~column.empty
    kept, cut, codes = (step.evidence.facts[what][place] for what in COUNTS)
    if any(type(number) is not int or number < 0 for number in (kept, cut, codes)):
        step.refuse("what was kept, cut or moved aside is not counted", name)
        return
    larger, smaller = 10 ** max(column.finer, 0), 10 ** max(-column.finer, 0)
    stayed = int((column.old[there] * larger == column.new[there] * smaller).sum())
    if kept != stayed:
        step.refuse("another number of values is as before than stated", name)
    if stayed == int(there.sum()):
        step.refuse("no value changed", name)
    if step.method["nonnegative"] and (np.any(column.old[there] < 0) or np.any(column.new[there] < 0)):
        step.refuse("a column has values below zero, and shall have none", name)
    if cut > (int((column.new[there] == 0).sum()) + codes if step.method["nonnegative"] else 0):
        step.refuse("more values are said to be cut at zero than can be", name)
    if codes and not column.unknown:
        step.refuse("values are said to have been moved away from codes that there are none of", name)


def _parts(step: CheckedStep, columns: dict[str, ChangedColumn]) -> list[RegressedRows] | None:
    """Records of a stratum, with the same gaps."""
    gaps = np.stack([column.empty for column in columns.values()], axis=1)
    kinds, names = stratum_numbers(step), list(columns)
    if gaps.any():
        if len(names) > 1 and step.method["missing"] == "refuse":
            step.refuse("records with gaps were replaced, and the method refuses them")
            return None
        kinds = np.unique(np.column_stack([kinds, gaps]), axis=0, return_inverse=True)[1].ravel()
    found = []
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        chosen = [name for name, gap in zip(names, gaps[rows[0]], strict=True) if not gap]
        if chosen:
            least = [int(columns[name].old[rows].min()) for name in chosen]
            old = [(columns[name].old[rows] - low).astype(np.float64) for name, low in zip(chosen, least, strict=True)]
            new = [columns[name].shown(rows, low) for name, low in zip(chosen, least, strict=True)]
            found.append(RegressedRows(rows, chosen, least, np.stack(old, axis=1), np.stack(new, axis=1)))
    return found


# ---- what can be seen without the key --------------------------------------------------------------------------------


def _check_part(
    step: CheckedStep,
    columns: dict[str, ChangedColumn],
    part: RegressedRows,
    fit: OwnRegression,
    facts: RegressedFacts,
) -> None:
    """There are enough records, something is left open, and moments are kept as far as rounding lets them."""
    if len(part.rows) <= fit.rank + len(part.columns):
        step.refuse("a regression has no more records than columns")
        return
    if np.any(fit.size**2 <= LEAST_OPEN * (1 - SAME) * part.old.var(axis=0)):  # all equal ones among them
        step.refuse("given columns leave nothing open, so that values are nearly as they were")
        return
    open_share = 1 - (fit.directions * fit.directions).sum(axis=1)
    if step.method["variant"] != "a" and np.any(open_share < LEAST_OPEN_RECORD * (1 - NEARLY)):
        step.refuse("the regression follows a single record, whose values are nearly as they were")
    said, covariance = new_moments(fit, part.new)
    facts.add(part, fit, said, covariance)
    half = np.array([0.5 / 10.0 ** columns[name].finer for name in part.columns])
    variant = step.method["variant"]
    if step.evidence.facts["moments"]:
        if np.any(said > half + SAME * part.old.std(axis=0)):
            step.refuse("coefficients are not those of before", ", ".join(part.columns))
        # Rounding moves every value by half a unit at most, and so the length of a column.
        wanted = np.zeros_like(covariance) if variant == "fit" else fit.left.T @ fit.left / len(part.rows)
        spread = np.zeros_like(half) if variant == "fit" else fit.size
        loose = np.outer(half, spread) + np.outer(spread, half) + np.outer(half, half)
        loose += SAME * np.outer(fit.size, fit.size)
        if variant in ("c", "fit") and np.any(np.abs(covariance - wanted) > loose):
            step.refuse("covariances of residuals are not what they should be", ", ".join(part.columns))
    if variant in ("a", "b") and step.key is None:
        _check_sizes(step, part, fit, half)
    if variant != "fit" and step.key is None:
        _check_kept(step, part, fit, half)


def _check_sizes(step: CheckedStep, part: RegressedRows, fit: OwnRegression, half: Floats) -> None:
    """Residuals are about as large as stated: sums of squares that chance all but excludes were not drawn."""
    from scipy.stats import chi2

    free = len(part.rows) - (fit.rank if step.method["variant"] == "b" else 0)
    least, most = (np.sqrt(end) for end in (chi2.ppf(BEYOND_CHANCE, free), chi2.isf(BEYOND_CHANCE, free)))
    facts = step.evidence.facts
    for place, name in enumerate(part.columns):
        at = facts["columns"].index(name)
        if facts["cut"][at] or facts["codes"][at]:
            continue
        moved = part.new[:, place] - fit.says[:, place]
        total = float(np.sqrt((moved * moved).sum())) / fit.size[place]
        rounded = np.sqrt(len(part.rows)) * half[place] / fit.size[place] + 1e-6
        if total > most + rounded or total < least - rounded:
            step.refuse("residuals are larger or smaller than chance lets them be", name)


def _check_kept(step: CheckedStep, part: RegressedRows, fit: OwnRegression, half: Floats) -> None:
    """No more values are as before than chance lets stay: by the density of a normal residual, and Chernoff's bound."""
    open_share = np.maximum(1 - (fit.directions * fit.directions).sum(axis=1), LEAST_OPEN_RECORD)
    for place, name in enumerate(part.columns):
        same = part.new[:, place] == part.old[:, place]
        if step.method["nonnegative"]:
            same &= part.new[:, place] + part.least[place] != 0
        chance = 2 * half[place] / (fit.size[place] * np.sqrt(2 * np.pi * open_share))
        stayed, usual = float(same.sum()), float(np.minimum(chance, 1).sum())
        if stayed > usual and stayed * np.log(stayed / usual) - stayed + usual > BEYOND_EXPONENT:
            step.refuse("more values are as before than chance lets stay", name)


def _check_facts(step: CheckedStep, found: RegressedFacts) -> None:
    """Shares, eigenvalues and what rounding did are those that are stated."""
    facts = step.evidence.facts
    if not np.allclose(facts["explained"], list(found.explained.values()), rtol=0, atol=1e-5):
        step.refuse("given columns explain another share than stated")
    if not isclose(facts["least"], found.least, rel_tol=NEARLY, abs_tol=1e-9) or facts["fixed"] != found.fixed:
        step.refuse("combinations of columns are fixed more, or less, than stated")
    if not all(
        isclose(a, b, rel_tol=NEARLY, abs_tol=NEARLY_ZERO) for a, b in zip(facts["off"], found.off, strict=True)
    ):
        step.refuse("the regression changed otherwise than stated")


# ---- what the key draws ----------------------------------------------------------------------------------------------


def _check_draws(
    step: CheckedStep,
    columns: dict[str, ChangedColumn],
    checked: list[tuple[RegressedRows, OwnRegression]],
    identity: Words,
) -> None:
    """Every value is the one that the key draws, and what was cut or moved aside is counted."""
    assert step.key is not None
    facts, told = step.evidence.facts, _told(step, columns, identity)
    wrong = dict.fromkeys(columns, 0)
    counts = {name: np.zeros((2, 2), np.int64) for name in columns}
    for part, fit in checked:
        purposes = [purpose_of(step.method, f"ipso/{name}", *told) for name in part.columns]
        normals = np.stack([drawn_normals(identity[part.rows], step.key.secret, p) for p in purposes], axis=1)
        drawn = drawn_columns(fit, normals, step.method["variant"])
        for place, name in enumerate(part.columns):
            column, scale = columns[name], 10.0 ** columns[name].finer
            off = SAME_DRAW * fit.size[place] * scale
            # From the least value on, in whole units and what is left: sums with large numbers would lose digits.
            base, rest = divmod(part.least[place] * 10 ** max(column.finer, 0), 10 ** max(-column.finer, 0))
            above = drawn[:, place] * scale + rest / 10 ** max(-column.finer, 0)
            ends = [_landing(step, column, base, above + side * off) for side in (-1, 1)]
            new = column.new[part.rows]
            wrong[name] += int(((new < ends[0].units) | (new > ends[1].units)).sum())
            counts[name] += np.sort([[end.cut, end.codes] for end in ends], axis=0)
    for at, name in enumerate(columns):
        if wrong[name]:
            step.refuse(f"{counted(wrong[name], 'record', 'have')} another value than the key draws", name)
        stated = np.array([facts["cut"][at], facts["codes"][at]])
        if np.any(stated < counts[name][0]) or np.any(stated > counts[name][1]):
            step.refuse("another number of values was cut or moved aside than stated", name)


def _landing(step: CheckedStep, column: ChangedColumn, base: int, drawn: Floats) -> LandedUnits:
    """The nearest whole units, none below zero and none a code where these are not to be."""
    units = base + np.rint(drawn).astype(np.int64)
    low = units < 0 if step.method["nonnegative"] else np.zeros(len(units), np.bool_)
    units[low] = 0
    aside = 0
    if column.unknown:
        scale = 10.0 ** (column.digits + column.finer)
        codes = {int(u) for u in np.unique(units) if is_unknown(float(u) / scale, column.unknown)}
        for row in np.flatnonzero(np.isin(units, list(codes))):
            units[row] = _beside(int(units[row]), scale, column.unknown, step.method["nonnegative"])
            aside += 1
    return LandedUnits(units, int(low.sum()), aside)


def _beside(unit: int, scale: float, unknown: tuple[MissingRange, ...], floor: bool) -> int:
    """The nearest unit that is no code, of two the upper one."""
    for away in range(1, MOST_STEPS + 1):
        for tried in (unit + away, unit - away):
            if not is_unknown(tried / scale, unknown) and not (floor and tried < 0):
                return tried
    return unit


def _told(step: CheckedStep, columns: dict[str, ChangedColumn], identity: Words) -> list[Any]:
    """What the draws are for: the parameters, and a digest of identities and all values in the order of identities."""
    from hashlib import blake2b

    order = np.argsort(identity.astype(np.int64), kind="stable")
    parts = [identity[order].astype("<u8").tobytes()]
    parts += [np.where(column.empty, 0, column.old)[order].astype("<i8").tobytes() for column in columns.values()]
    for name in (*step.method["given"], *step.original.strata):
        parts += bytes_in_order(step.before[name], order)
    content = blake2b(b"".join(parts), digest_size=16).hexdigest()
    method = step.method
    return [list(columns), list(method["given"]), method["variant"], list(step.original.strata), content]
