"""The risk of records before and after, as the report on a release of records shows it."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.measures.record_risk import RiskQuestion, measure_risk, weights_from_one
from discreet.measures.risk_result import EDGES, RecordRisk
from discreet.model.custodian import RecordCustodian
from discreet.model.records import HOUSEHOLD, KEY, SENSITIVE, WEIGHT, RecordSet
from discreet.report.words import percent, plain_number

MOST_SETS = 1_000
"""Sets of keys that a report counts; it takes smaller sets where there are more."""
CLASSES = (0.01, 0.05, 0.1, 0.5, 1.0)
"""Upper ends of the classes between which records moved."""
WORST = 12


@dataclass(frozen=True)
class RiskPair:
    """The risk of the records as they came and as they are published, by the same question."""

    before: RecordRisk
    after: RecordRisk
    notes: tuple[str, ...]


@dataclass(frozen=True)
class RiskLine:
    """One number before and after, and what an intruder must know for it."""

    what: str
    before: str
    before_share: str
    after: str
    after_share: str
    knows: str


@dataclass(frozen=True)
class KeyLine:
    """What one key contributes before and after: to the scores of special uniques, and to unsafe combinations."""

    name: str
    before: str
    after: str
    unsafe_before: str
    unsafe_after: str


@dataclass(frozen=True)
class MoveLine:
    """Records of one class of risk before, by their class after."""

    name: str
    counts: tuple[int, ...]


def risk_pair(custodian: RecordCustodian) -> RiskPair | None:
    """The risk before and after; nothing where nobody has named a key."""
    rule: dict[str, Any] = next((dict(rule) for rule in custodian.rules if rule.get("kind") == "k_anonymity"), {})
    original, released = custodian.original, custodian.released
    keys = original.with_role(KEY) or tuple(rule.get("keys") or ())
    if not keys:
        return None
    notes = []
    weight = next(iter(original.with_role(WEIGHT)), None)
    if weight is not None and not (_usable(original, weight) and _usable(released, weight)):
        notes.append(f"Weights in {weight!r} cannot be used for individual risk: some are missing or below 1.")
        weight = None
    question = RiskQuestion(
        keys=keys,
        sensitive=tuple(name for name in original.with_role(SENSITIVE) if name not in keys),
        weight=weight,
        household=next(iter(original.with_role(HOUSEHOLD)), None),
        k=int(rule.get("k", 3)),
        size=_size(len(keys)),
        missing=rule.get("missing", "category"),
    )
    before, after = (measure_risk(records, question) for records in (original, released))
    return RiskPair(before, after, tuple(dict.fromkeys((*notes, *before.notes, *after.notes))))


def _usable(records: RecordSet, weight: str) -> bool:
    """Whether weights say how many persons a record stands for."""
    try:
        weights_from_one(records, weight)
    except DiscreetError:
        return False
    return True


def _size(keys: int) -> int:
    """The most keys of a set that the report counts: three, and fewer where there are many keys."""
    return max(size for size in (1, 2, 3) if size == 1 or sum(comb(keys, s) for s in range(1, size + 1)) <= MOST_SETS)


def risk_lines(pair: RiskPair) -> list[RiskLine]:
    """All findings, those of the published file beside those of the original."""
    after = {one.measure: one for one in pair.after.findings}
    lines = []
    for one in pair.before.findings:
        now = after.get(one.measure)
        lines.append(
            RiskLine(
                one.what,
                plain_number(one.number),
                percent(one.number, pair.before.records),
                "–" if now is None else plain_number(now.number),
                "–" if now is None else percent(now.number, pair.after.records),
                one.knows,
            )
        )
    return lines


def key_lines(pair: RiskPair) -> list[KeyLine]:
    """Keys by what they contribute before."""
    columns = pair.before.columns("keys")
    shares = [{} if one.suda is None else one.suda.contributions for one in (pair.before, pair.after)]
    keys = pair.before.question.keys
    unsafe = [{name: sum(n) for name, n in one.tables.by_key(keys).items()} for one in (pair.before, pair.after)]
    return [
        KeyLine(
            name,
            *("–" if name not in share else percent(share[name], 1) for share in shares),
            *(f"{counts[name]:,}" for counts in unsafe),
        )
        for name in columns["key"]
    ]


def worst_sets(pair: RiskPair) -> list[tuple[str, int, int]]:
    """The sets of keys with most records at risk before, and how many are left."""
    after = {one.keys: one.records for one in pair.after.tables.sets}
    worst = [one for one in pair.before.tables.worst()[:WORST] if one.records]
    return [(" × ".join(one.keys), one.records, after[one.keys]) for one in worst]


def moves(pair: RiskPair) -> list[MoveLine]:
    """From which class of risk to which records moved."""
    before, after = (
        np.minimum(np.searchsorted(CLASSES, np.nan_to_num(one.individual)), len(CLASSES) - 1)
        for one in (pair.before, pair.after)
    )
    table = np.zeros((len(CLASSES), len(CLASSES)), np.int64)
    np.add.at(table, (before, after), 1)
    return [MoveLine(name, tuple(row)) for name, row in zip(class_names(CLASSES), table.tolist(), strict=True)]


def class_names(edges: tuple[float, ...] = EDGES) -> list[str]:
    """Words for classes of risk."""
    lower = (0.0, *edges)
    return [f"up to {edges[0]:g}", *(f"{low:g} to {high:g}" for low, high in zip(lower[1:], edges[1:], strict=False))]


def remaining(pair: RiskPair) -> list[str]:
    """What is left after all steps, in sentences."""
    found = [
        f"{plain_number(one.number)} ({percent(one.number, pair.after.records)}): {one.what}. "
        f"An intruder must know {one.knows}."
        for one in pair.after.findings
        if one.number
    ]
    return found or ["No record is set apart by any measure of this page."]
