"""All rules together: every rule is evaluated, and a cell's level is the largest over those it breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any, SupportsIndex

import numpy as np

from discreet.errors import ParameterError, counted, unknown_name
from discreet.model.arrays import NO_LOWER, Bools, Ints
from discreet.model.table import DECLARED_SAFE, Assessment, CellStatus, Table
from discreet.rules.base import Finding, Rule, percent_of, refuse_too_large, rule_from_record, share_of

PROFILES = ("handbook", "argus")
ARGUS_TURN = {
    "dominance": 0,
    "max_share": 0,
    "p_percent": 0,
    "prior_posterior": 0,
    "request": 1,
    "min_contributors": 2,
    "min_frequency": 2,
    "zero_unsafe": 3,
}
"""In the ``argus`` profile a cell's level comes from the rules of the first turn that it breaks.

Rules that the program does not have are not in this list; their levels always count.
"""
MANUAL_RANGE = 20.0
MOST_RULES = 62


def assess_table(
    table: Table,
    rules: Sequence[Rule],
    profile: str = "handbook",
    missing_safe: bool = False,
    manual_range: float = MANUAL_RANGE,
    unrelated: Sequence[str] = (),
) -> Table:
    """The table with its unsafe cells found and their protection levels set."""
    if profile not in PROFILES:
        raise ParameterError(unknown_name("profile", str(profile), PROFILES))
    if len(rules) > MOST_RULES:
        raise ParameterError(
            f"{counted(len(rules), 'rule', 'are')} too many at once.", hint=f"Give at most {MOST_RULES} rules."
        )
    _refuse_range(manual_range, profile)
    mine = [rule for rule in rules if rule.applies_to(table)]
    exempt = _missing(table) if missing_safe else np.zeros(len(table), np.bool_)
    findings = [_without(rule, rule.evaluate_beside(table, profile, mine), exempt) for rule in mine]
    hits = np.zeros(len(table), np.int64)
    for bit, found in enumerate(findings):
        hits |= np.where(found.unsafe, np.int64(1) << bit, 0)
    if profile == "argus":
        findings = _argus_findings(table, mine, findings)
    lower, upper = np.zeros(len(table), np.int64), np.zeros(len(table), np.int64)
    for found in findings:
        lower = np.maximum(lower, np.where(found.unsafe, found.lower, 0))
        upper = np.maximum(upper, np.where(found.unsafe, found.upper, 0))
    least = _published_unit(table) if profile == "argus" else 1
    unsafe, lower, upper = _with_manual(table, hits > 0, lower, upper, manual_range, least)
    if unsafe.any():
        refuse_too_large(table, np.maximum(lower, upper))
        # Nobody can be made to believe less than what is known; but where only the lower side protects, it must do so.
        lower = np.where(upper > 0, np.minimum(lower, _room_below(table)), lower)
    return table.with_(
        assessment=Assessment(
            rules=tuple(rule.record() for rule in mine),
            profile=profile,
            options=_options(table, missing_safe, manual_range, unrelated),
            unsafe=unsafe,
            hits=hits,
            lower=lower,
            upper=upper,
            sliding=np.zeros(len(table), np.int64),
            on_weights=_resting(table, mine, profile, unsafe | exempt, {"weights": "ignore", "weighted": False}),
            on_zeros=_resting(table, mine, profile, unsafe | exempt, {"zeros": False}),
        )
    )


def reasons(table: Table, row: SupportsIndex) -> list[str]:
    """Why a cell is unsafe, in words for the custodian."""
    found, row = table.assessment, index(row)
    if found is None:
        return []
    said = [
        rule_from_record(record).words(table, row)
        for bit, record in enumerate(found.rules)
        if int(found.hits[row]) >> bit & 1
    ]
    if table.manual is not None and table.manual[row] == CellStatus.UNSAFE:
        said.append("marked unsafe by hand")
    return said


def _refuse_range(manual_range: float, profile: str) -> None:
    share_of(manual_range, "manual_range", "assess", high=1000, below_one=True)
    if manual_range < 1 and profile != "argus":
        raise ParameterError(
            f"assess: manual_range={manual_range!r} is less than one per cent, which protects next to nothing.",
            hint=f"Did you mean {100 * manual_range:g}? It is a percentage; profile='argus' takes smaller ones.",
        )


def _options(table: Table, missing_safe: bool, manual_range: float, unrelated: Sequence[str]) -> dict[str, Any]:
    """What was asked for besides the rules, as plain data."""
    found: dict[str, Any] = {"missing_safe": missing_safe, "manual_range": manual_range}
    names = [unrelated] if isinstance(unrelated, str) else list(unrelated)
    mine = [name for name in names if name in table.variables]
    return found | ({"unrelated": mine} if mine else {})


def _resting(
    table: Table, rules: Sequence[Rule], profile: str, settled: Bools, stricter: Mapping[str, Any]
) -> Bools | None:
    """Cells that are safe only because weights or zeros count; None where no rule lets them."""
    result = None
    for rule in rules:
        changes = {
            name: value for name, value in stricter.items() if hasattr(rule, name) and getattr(rule, name) != value
        }
        weighs = bool(table.spec.weight) or "zeros" in changes
        if not changes or not weighs or (table.spec.value is None and "zeros" in changes):
            continue
        if "weights" in changes and table.contributions[getattr(rule, "level", "holding")].own is None:
            continue
        # The other program looks at the weighted count whatever the rule says.
        judged = replace(rule, **changes).evaluate(table, "handbook" if "weighted" in changes else profile)
        result = (judged.unsafe & ~settled) if result is None else result | (judged.unsafe & ~settled)
    return result


def _without(rule: Rule, found: Finding, exempt: Bools) -> Finding:
    """Cells of unknown codes break no rule. Group disclosure has left them alone itself, but needs its partners."""
    return found if rule.kind == "group_disclosure" else Finding(found.unsafe & ~exempt, found.lower, found.upper)


def _argus_findings(table: Table, rules: Sequence[Rule], findings: Sequence[Finding]) -> list[Finding]:
    """Findings that count for the level: the first turn only, symmetric, at least one published unit."""
    last = 1 + max(ARGUS_TURN.values())
    first = np.full(len(table), last, np.int64)
    for rule, found in zip(rules, findings, strict=True):
        turn = ARGUS_TURN.get(rule.kind, last)
        first = np.where(found.unsafe, np.minimum(first, turn), first)
    result = []
    for rule, found in zip(rules, findings, strict=True):
        if rule.kind not in ARGUS_TURN:
            result.append(found)
            continue
        counts = found.unsafe & (first == ARGUS_TURN[rule.kind])
        level = np.maximum(found.upper, _published_unit(table))
        lower, upper = (found.lower, found.upper) if rule.kind == "zero_unsafe" else (level, level)
        result.append(Finding(counts, lower, upper))
    return result


def _published_unit(table: Table) -> int:
    """One in the last decimal that is published, in units of the table."""
    shown = table.decimals if table.spec.decimals is None else table.spec.decimals
    return int(10 ** max(table.decimals - shown, 0))


def _with_manual(
    table: Table, unsafe: Bools, lower: Ints, upper: Ints, manual_range: float, least: int
) -> tuple[Bools, Ints, Ints]:
    """Cells marked by hand are unsafe too; levels given by hand count where they are larger than the rules'."""
    if table.manual is None and not unsafe.any():
        return unsafe, lower, upper
    nothing = np.zeros(len(table), np.int64)
    by_hand = np.zeros(len(table), np.bool_) if table.manual is None else table.manual == CellStatus.UNSAFE
    if table.manual is not None:
        unsafe = unsafe & (table.manual != DECLARED_SAFE)
    unsafe = unsafe | by_hand
    usual = np.where(by_hand, np.maximum(percent_of(table.value, manual_range), least), 0)
    levels = []
    for given, computed in ((table.manual_lower, lower), (table.manual_upper, upper)):
        wanted = nothing if given is None else given
        wanted = np.where(wanted > 0, wanted, usual)
        levels.append(np.where(unsafe, np.maximum(computed, wanted), 0))
    return unsafe, levels[0], levels[1]


def _room_below(table: Table) -> Ints:
    """How far each value can fall before it meets what everybody knows; no more can be asked."""
    lower, _ = table.attacker_bounds()
    return np.where(lower == NO_LOWER, np.int64(2**62), table.value - lower)


def _missing(table: Table) -> Bools:
    result = np.zeros(len(table), np.bool_)
    for k, hierarchy in enumerate(table.spec.hierarchies):
        if hierarchy.missing:
            result |= np.isin(table.codes[:, k], [hierarchy.position(code) for code in hierarchy.missing])
    return result
