"""Methods that alter values: every cell is published, and what is claimed of the altered values holds exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools
from discreet.model.claims.altered import adjustment_claim, intervals_claim, rounding_claim
from discreet.model.claims.base import Claim
from discreet.model.evidence import Evidence
from discreet.model.table import CellStatus
from discreet.verify.bounds import bounds_of
from discreet.verify.certificates import check_certificates, read_certificates
from discreet.verify.cycles import has_open_cycle
from discreet.verify.evidence import check_claim
from discreet.verify.known import CommonKnowledge, Ground
from discreet.verify.proofs import check_levels, levels_of, name_cells, read_proofs
from discreet.verify.rules import Recheck
from discreet.verify.verdict import Verdict

Numbers = NDArray[Any]
NOTHING = np.zeros(0, np.int64)
FINEST = 18
"""Altered values have at most so many decimals."""
WITH_INTERVALS = ("intervals", "drop_add")
"""Methods that may publish intervals beside the values; their checks look at them."""


def check_altered(
    verdict: Verdict,
    ground: Ground,
    evidence: Evidence,
    rechecks: Sequence[Recheck],
    altering: Mapping[str, Check],
) -> None:
    """Check what a method that alters values claims."""
    fits = ground.finest <= evidence.decimals <= FINEST
    if not fits or ground.published is None or ground.already.together_with():
        verdict.refuse("altered", "the altered values do not fit the tables")
        return
    true = ground.scaled([table.value for table in ground.tables], evidence.decimals)
    published = ground.published.astype(true.dtype)
    name_cells(
        verdict,
        ground,
        np.flatnonzero(np.asarray(published != published[ground.twin], np.bool_)),
        "cells that mean the same are published differently",
        "altered",
    )
    if ground.intervals is not None and evidence.claim.method not in WITH_INTERVALS:
        verdict.refuse("altered", "intervals are published that no method vouches for")
    try:
        altering[evidence.claim.method](Altered(verdict, ground, evidence, rechecks, true, published))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        verdict.refuse("altered", f"what is stated of the method cannot be used ({type(error).__name__})")


class Marks(TypedDict):
    """What the wording of every claim depends on."""

    universes: bool
    insecure: bool


@dataclass(frozen=True, eq=False)
class Altered:
    """What is checked: a verdict to fill, the ground, the evidence, and true and published values in units."""

    verdict: Verdict
    ground: Ground
    evidence: Evidence
    rechecks: Sequence[Recheck]
    true: Numbers
    published: Numbers

    @property
    def marks(self) -> Marks:
        """What every claim depends on: several universes, and a seed in place of a key."""
        universes = len({table.spec.identity[1:] for table in self.ground.tables}) > 1
        return {"universes": universes, "insecure": bool(self.evidence.facts.get("insecure"))}

    def claims(self, allowed: Claim) -> int:
        """Check the wording of the claim; gives how much was refused before its content is looked at."""
        check_claim(self.verdict, allowed, self.evidence.claim)
        self.verdict.attackers += list(allowed.attackers)
        self.verdict.not_considered += list(self.evidence.claim.not_considered)
        return len(self.verdict.refused)

    def refuse_where(self, wrong: Numbers, message: str) -> None:
        """Refuse with the cells named where something is wrong."""
        cells = np.flatnonzero(np.asarray(wrong, np.bool_))
        name_cells(self.verdict, self.ground, cells, message, self.evidence.claim.method)

    def check_additive(self, true: bool = False) -> None:
        """Published values, or the true ones, add up in every relation."""
        words = "true" if true else "published"
        for relation in self.ground.relations.broken(self.true if true else self.published)[:20]:
            where = self.ground.relations.equation(relation) or self.ground.relations.text(relation)
            self.verdict.refuse(self.evidence.claim.method, f"{words} values do not add up", where)

    @property
    def empty(self) -> Bools:
        """Which cells are empty."""
        return np.concatenate([table.empty for table in self.ground.tables])


# ---- adjustment ---------------------------------------------------------------------------------------------


def check_adjustment(a: Altered) -> None:
    """Moves reach the levels, keep all limits, and leave the relations as they are."""
    verdict, ground, evidence, true, published = a.verdict, a.ground, a.evidence, a.true, a.published
    allowed = adjustment_claim(evidence.method, forced=bool(np.any(ground.status == CellStatus.FORCED)), **a.marks)
    before = a.claims(allowed)
    method, move = evidence.method, published - true
    a.check_additive()
    upper, lower = _needed(ground, evidence, a.rechecks)
    reached = np.asarray((move >= upper) | (-move >= lower), np.bool_)
    a.refuse_where(ground.unsafe & ~reached, "an unsafe cell moves less than its level")
    most, limit = method.get("most"), method.get("limit")
    if most is not None:
        times = Fraction(str(most))
        far = (move > _whole(upper, times)) | (-move > _whole(lower, times))
        a.refuse_where(ground.unsafe & far, "an unsafe cell moves further than allowed")
    if limit is not None:
        far = np.abs(move).astype(object) * 100 > np.abs(true).astype(object) * Fraction(str(limit))
        a.refuse_where(~ground.unsafe & far, "a cell moves further than allowed")
    zero = np.asarray((true == 0) & (method.get("zeros") != "movable"), np.bool_)
    fixed = (ground.status == CellStatus.FORCED) | _fixed(ground, str(method.get("fixed"))) | zero
    a.refuse_where(fixed & ~ground.unsafe & (move != 0), "a fixed cell moves")
    low, high = _bounds(ground, evidence.decimals)
    a.refuse_where((published < low) | (published > high), "a bound of a cell is broken")
    verdict.prove(f"{allowed.statement} ({counted(int(ground.unsafe.sum()), 'cell')})", before)


def _whole(level: Numbers, times: Fraction) -> Numbers:
    """The most whole units that so many times a level may be, at least the level itself."""
    return np.asarray(np.maximum(level, -((-level.astype(object) * times.numerator) // times.denominator)))


def _needed(ground: Ground, evidence: Evidence, rechecks: Sequence[Recheck]) -> tuple[Numbers, Numbers]:
    """How far each row must move up or down: its level, its sliding level, at least one unit."""
    levels = levels_of(ground, rechecks, evidence.decimals, np.arange(len(ground.unsafe)))
    least = np.maximum(levels.sliding, 1)
    return np.maximum(levels.upper, least), np.maximum(levels.lower, least)


def _fixed(ground: Ground, what: str) -> Bools:
    """Rows that the method says stay what they are: grand totals, or all rows above the lowest level."""
    parts = []
    for table in ground.tables:
        hierarchies = table.spec.hierarchies
        if what == "total":
            total = [-1 if h.total is None else h.index[h.total] for h in hierarchies]
            parts.append((table.codes == np.array(total)).all(axis=1))
        elif what == "margins":
            sums = [{g.parent for g in h.groupings} for h in hierarchies]
            above = [np.array([code in s for code in h.codes]) for h, s in zip(hierarchies, sums, strict=True)]
            parts.append(np.any([a[table.codes[:, k]] for k, a in enumerate(above)], axis=0))
        else:
            parts.append(np.zeros(len(table), np.bool_))
    return np.concatenate(parts)


def _bounds(ground: Ground, decimals: int) -> tuple[Numbers, Numbers]:
    """What everybody knows of each row, in units; as wide integers, for a bound may be missing."""
    low, high = [], []
    for table in ground.tables:
        scale = 10 ** (decimals - table.decimals)
        lower, upper = bounds_of(table)
        low.append(np.where(lower > NO_LOWER, lower.astype(object) * scale, -(10**60)))
        high.append(np.where(upper < NO_UPPER, upper.astype(object) * scale, 10**60))
    return np.concatenate(low), np.concatenate(high)


# ---- rounding -----------------------------------------------------------------------------------------------

ADDITIVE = ("controlled", "controlled_unbiased", "controlled_fifty_fifty", "semi")
NEAREST = ("conventional", "modified")


def check_rounding(a: Altered) -> None:
    """Multiples, additive, no further than stated, and far enough for every unsafe cell."""
    verdict, evidence, true, published = a.verdict, a.evidence, a.true, a.published
    method = evidence.method
    rule, text = str(method.get("rule")), str(method.get("base"))
    base = Fraction(text) * 10**evidence.decimals
    if base <= 0 or base.denominator != 1 or rule not in (*ADDITIVE, *NEAREST, "unbiased", "fifty_fifty"):
        verdict.refuse("round", "the base or the rule is not one that this checker knows")
        return
    step = int(base)
    reach = int(evidence.facts.get("reach", 1))
    levels = method.get("levels") is True
    allowed = rounding_claim(
        text,
        additive=rule in ADDITIVE,
        reach=reach,
        levels=levels,
        drawn=rule != "conventional",
        cycle=has_open_cycle(a.ground),
        secret=rule not in ("conventional", "controlled") or method.get("objective") == "random",
        **a.marks,
    )
    before = a.claims(allowed)
    away = np.abs(published - true)
    a.refuse_where(published % step != 0, "a value is not a multiple of the base")
    a.refuse_where(away >= reach * step, "a value is further away than stated")
    a.refuse_where(a.empty & (published != 0), "an empty cell got a value")
    if rule in NEAREST:
        a.refuse_where(2 * away > step, "a value is not the nearest multiple")
    if rule == "conventional":
        up = (2 * away == step) & (published < true)
        a.refuse_where(up, "a value halfway between multiples is not rounded up")
    if rule in ADDITIVE:
        a.check_additive()
        worst = int((away // step).max(initial=0))
        if worst != evidence.facts.get("worst_violation"):
            verdict.refuse("round", "the stated worst violation is not that of the published values")
    elif reach != 1:
        verdict.refuse("round", "a rule that takes neighbouring multiples states a longer reach")
    shown = 0
    if levels:
        ends = rounding_interval(true, published, step, reach, rule)
        shown = _check_proofs_within(a, *ends)
    verdict.prove(
        f"{allowed.statement} ({counted(shown, 'cell')} with "
        f"{counted(len(evidence.certificates), 'exact certificate')})",
        before,
    )


def _check_proofs_within(a: Altered, low: Numbers, high: Numbers) -> int:
    """Every unsafe cell reaches its levels in other tables that lie within what the publication tells of each cell."""
    verdict, ground, evidence, true = a.verdict, a.ground, a.evidence, a.true
    entries = read_certificates(verdict, ground, evidence.certificates)
    if entries is None:
        return 0
    targets = read_proofs(verdict, ground, evidence.proofs, len(entries.denominator), NOTHING)
    if targets is None:
        return 0
    known = CommonKnowledge.of(ground, evidence.decimals, None)
    rise, fall = (np.minimum(np.maximum(room, 0), NO_UPPER - 1).astype(np.int64) for room in (high - true, true - low))
    known = CommonKnowledge(np.minimum(known.rise, rise), np.minimum(known.fall, fall), known.step)
    before = len(verdict.refused)
    moved = check_certificates(verdict, ground, entries, known, targets.certificate, targets.row[targets.of])
    if len(verdict.refused) > before:
        return 0
    levels = levels_of(ground, a.rechecks, evidence.decimals, targets.row)
    check_levels(verdict, ground, entries, targets, levels, moved)
    return len(targets.row)


def rounding_interval(true: Numbers, published: Numbers, step: int, reach: int, rule: str) -> tuple[Numbers, Numbers]:
    """What a published multiple tells of the true value, for somebody who also knows which sums were hard to round."""
    if rule == "conventional":
        return -((step - 2 * published) // 2), (2 * published + step - 1) // 2
    if rule == "modified":
        return -((step - 2 * published) // 2), (2 * published + step) // 2
    distance = np.where(np.abs(published - true) < step, step, reach * step)
    return published - distance + 1, published + distance - 1


# ---- intervals ----------------------------------------------------------------------------------------------


def check_intervals(a: Altered) -> None:
    """Intervals hold both values, other values are true, and levels are kept against who knows all of them."""
    verdict, ground, evidence, true, published = a.verdict, a.ground, a.evidence, a.true, a.published
    allowed = intervals_claim(**a.marks, cycle=has_open_cycle(a.ground))
    before = a.claims(allowed)
    if ground.intervals is None:
        verdict.refuse("intervals", "there are no intervals")
        return
    low, high = (ends.astype(true.dtype) for ends in ground.intervals)
    outside = (true < low) | (true > high) | (published < low) | (published > high)
    a.refuse_where(outside, "an interval does not hold the true and the published value")
    differs = [low != low[ground.twin], high != high[ground.twin]]
    a.refuse_where(differs[0] | differs[1], "cells that mean the same have other intervals")
    a.check_additive()
    width = int((high - low)[_once(ground)].astype(object).sum())
    if Fraction(str(evidence.facts.get("width"))) * 10**evidence.decimals != width:
        verdict.refuse("intervals", "the stated width is not that of the intervals")
    shown = _check_proofs_within(a, low, high)
    verdict.prove(
        f"{allowed.statement} ({counted(shown, 'cell')}, {counted(len(evidence.certificates), 'exact certificate')})",
        before,
    )


def _once(ground: Ground) -> Bools:
    """One of the rows that mean the same: the first."""
    first = np.arange(len(ground.twin))
    while True:
        earlier = np.minimum(first, first[ground.twin])
        if np.array_equal(earlier, first):
            return np.asarray(first == np.arange(len(first)), np.bool_)
        first = earlier


Check = Callable[[Altered], None]
