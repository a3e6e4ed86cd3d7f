"""What each step did to the records that rules call unsafe, for the custodian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.model.claims.recoding import recoded_columns
from discreet.model.records import RecordSet
from discreet.rules.records import RecordRule


class StepEffects:
    """Unsafe records before and after each step: one sentence for every rule whose columns the step changed."""

    def __init__(self, rules: Sequence[RecordRule]) -> None:
        self.rules = rules
        self.unsafe: dict[int, int] = {}
        self.notes: list[str] = []

    def add(self, method: Mapping[str, Any], before: RecordSet, after: RecordSet, changed: Sequence[str]) -> None:
        """Count before and after a step; what the step before has left is not counted again."""
        for place, rule in enumerate(self.rules):
            resolved = rule.resolved(before)
            keys = getattr(resolved, "keys", None)
            if not changed or (keys is not None and not set(keys) & set(changed)):
                continue
            earlier = self.unsafe.get(place)
            if earlier is None:
                earlier = int(resolved.evaluate(before).unsafe.sum())
            left = self.unsafe[place] = int(resolved.evaluate(after).unsafe.sum())
            self.notes.append(f"{step_said(method)}: unsafe records {earlier:,} to {left:,} ({rule_said(resolved)}).")


def step_said(method: Mapping[str, Any]) -> str:
    """A step in few words: its method, and the columns where it is a recoding."""
    kind = str(method["method"])
    return f"{kind} {', '.join(recoded_columns(method))}" if kind == "recode" else kind


def rule_said(rule: RecordRule) -> str:
    """A rule in few words: its kind and its numbers."""
    plain = rule.record()
    numbers = [f"{n}={v:g}" for n, v in plain.items() if isinstance(v, int | float) and not isinstance(v, bool)]
    return ", ".join([str(plain["kind"]), *numbers])
