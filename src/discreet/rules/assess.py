"""All rules together: every rule is evaluated, and a cell's level is the largest over those it breaks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.errors import ParameterError, unknown_name
from discreet.model.arrays import NO_LOWER, Bools, Ints
from discreet.model.table import Assessment, CellStatus, Table
from discreet.rules.base import Rule, percent_of, rule_from_record

PROFILES = ("handbook", "argus")
ARGUS_ORDER = ("dominance", "max_share", "p_percent", "prior_posterior", "request")
MANUAL_RANGE = 20.0


def assess_table(
    table: Table,
    rules: Sequence[Rule],
    profile: str = "handbook",
    missing_safe: bool = False,
    manual_range: float = MANUAL_RANGE,
) -> Table:
    """The table with its unsafe cells found and their protection levels set."""
    if profile not in PROFILES:
        raise ParameterError(unknown_name("profile", profile, PROFILES))
    if len(rules) > 62:
        raise ParameterError("More than 62 rules at once are not supported.")
    mine = [rule for rule in rules if rule.applies_to(table)]
    size = len(table)
    hits, lower, upper = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    exempt = _missing(table) if missing_safe else np.zeros(size, np.bool_)
    for bit, rule in enumerate(mine):
        found = rule.evaluate(table, profile)
        unsafe = found.unsafe & ~exempt
        hits |= np.where(unsafe, np.int64(1) << bit, 0)
        lower = np.maximum(lower, np.where(unsafe, found.lower, 0))
        upper = np.maximum(upper, np.where(unsafe, found.upper, 0))
    if profile == "argus":
        lower, upper = _argus_levels(table, mine, hits, lower, upper)
    unsafe = hits > 0
    unsafe, lower, upper = _with_manual(table, unsafe, lower, upper, manual_range)
    lower = np.minimum(lower, _room_below(table))
    return table.with_(
        assessment=Assessment(
            rules=tuple(rule.record() for rule in mine),
            profile=profile,
            options={"missing_safe": missing_safe, "manual_range": manual_range},
            unsafe=unsafe,
            hits=hits,
            lower=np.where(unsafe, lower, 0),
            upper=np.where(unsafe, upper, 0),
            sliding=np.zeros(size, np.int64),
        )
    )


def reasons(table: Table, row: int) -> list[str]:
    """Why a cell is unsafe, in words for the custodian."""
    found = table.assessment
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


def _argus_levels(
    table: Table, rules: Sequence[Rule], hits: Ints, lower: Ints, upper: Ints
) -> tuple[Ints, Ints]:
    """Symmetric levels of at least one published unit; concentration goes before frequency and zero."""
    one = 10 ** max(table.decimals - (table.spec.decimals or 0), 0)
    first = sum(1 << bit for bit, rule in enumerate(rules) if rule.kind in ARGUS_ORDER)
    concentrated = (hits & first) > 0
    level = np.zeros(len(table), np.int64)
    for bit, rule in enumerate(rules):
        counts = concentrated if rule.kind in ARGUS_ORDER else ~concentrated
        hit = ((hits >> bit) & 1).astype(np.bool_) & counts & (rule.kind != "zero_unsafe")
        if hit.any():
            level[hit] = np.maximum(level[hit], rule.evaluate(table, "argus").upper[hit])
    level = np.where((hits > 0) & (level > 0), np.maximum(level, one), level)
    only_zero = (hits > 0) & (level == 0)
    return np.where(only_zero, lower, level), np.where(only_zero, upper, level)


def _with_manual(
    table: Table, unsafe: Bools, lower: Ints, upper: Ints, manual_range: float
) -> tuple[Bools, Ints, Ints]:
    """Statuses and levels set by hand go before those of the rules."""
    if table.manual is None:
        return unsafe, lower, upper
    by_hand = table.manual == CellStatus.UNSAFE
    level = percent_of(table.value, manual_range)
    for given, computed in ((table.manual_lower, lower), (table.manual_upper, upper)):
        wanted = np.zeros(len(table), np.int64) if given is None else given
        computed[by_hand] = np.maximum(computed, np.where(wanted > 0, wanted, level))[by_hand]
    return unsafe | by_hand, lower, upper


def _room_below(table: Table) -> Ints:
    """How far each value can fall before it meets what everybody knows; no more can be asked."""
    lower, _ = table.attacker_bounds()
    return np.where(lower == NO_LOWER, np.int64(2**62), table.value - np.maximum(lower, NO_LOWER))


def _missing(table: Table) -> Bools:
    result = np.zeros(len(table), np.bool_)
    for k, hierarchy in enumerate(table.spec.hierarchies):
        if hierarchy.missing:
            result |= np.isin(table.codes[:, k], [hierarchy.position(code) for code in hierarchy.missing])
    return result
