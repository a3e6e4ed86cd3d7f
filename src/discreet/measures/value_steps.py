"""Risk and loss of numbers after every step of a release of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from discreet.engine.record_set import with_identity
from discreet.measures.values import il1, value_pair
from discreet.model.custodian import RecordCustodian
from discreet.model.records import RecordSet
from discreet.rules.linkage import MaxLinked


class StepLine(NamedTuple):
    """Numbers after a step: how many records are found again by them, and how far they are from the original."""

    step: str
    linked: float
    il1: float


def step_lines(custodian: RecordCustodian, names: Sequence[str]) -> list[StepLine]:
    """One line for every step that changed any of these columns."""
    original = with_identity(custodian.original)
    records, lines = original, list[StepLine]()
    for number, step in enumerate(custodian.steps):
        changed = {name: step.changed[name] for name in step.changed.column_names}
        records = records.with_columns(changed)
        if set(changed) & set(names):
            lines.append(_line(f"{number + 1} {step.evidence.claim.method}", original, records, names))
    return lines


def _line(step: str, original: RecordSet, records: RecordSet, names: Sequence[str]) -> StepLine:
    linked = MaxLinked(columns=tuple(names)).links(original, records).share
    return StepLine(step, linked, il1(value_pair(original, records, names)))
