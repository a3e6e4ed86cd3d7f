"""What each step did to the records that rules call unsafe, for the custodian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import ProtectionError
from discreet.model.claims.recoding import recoded_columns
from discreet.model.records import RecordSet
from discreet.rules.records import RecordRule


class StepEffects:
    """Risk before and after each step: one sentence for every rule whose columns the step changed.

    Rules that look at the original beside the release have no finding for the original itself: everybody is found.
    """

    def __init__(self, rules: Sequence[RecordRule], original: RecordSet) -> None:
        self.rules, self.original = rules, original
        self.unsafe: dict[int, int] = {}
        self.guessed: dict[int, float] = {}
        self.notes: list[str] = []

    def add(self, method: Mapping[str, Any], before: RecordSet, after: RecordSet, changed: Sequence[str]) -> None:
        """Count before and after a step; what the step before has left is not counted again."""
        for place, rule in enumerate(self.rules):
            resolved = rule.resolved(before)
            about = getattr(resolved, "columns" if rule.compares else "keys", None)
            if not changed or (about is not None and not set(about) & set(changed)):
                continue
            if rule.compares:
                self._compare(place, resolved, method, before, after)
                continue
            earlier = self.unsafe.get(place)
            if earlier is None:
                earlier = int(resolved.evaluate(before).unsafe.sum())
            left = self.unsafe[place] = int(resolved.evaluate(after).unsafe.sum())
            self.notes.append(f"{step_said(method)}: unsafe records {earlier:,} to {left:,} ({rule_said(resolved)}).")

    def _compare(self, place: int, rule: Any, method: Mapping[str, Any], before: RecordSet, after: RecordSet) -> None:
        """The share of right guesses before and after a step; one that raises it above the limit is refused."""
        earlier = self.guessed.get(place)
        if earlier is None:
            earlier = rule.links(self.original, before).share
        left = self.guessed[place] = rule.links(self.original, after).share
        step = step_said(method)
        if left > rule.share and left > earlier:
            raise ProtectionError(
                f"Step {step} raises the share of right guesses from {earlier:.1%} to {left:.1%}; at most "
                f"{rule.share:.1%} are allowed.",
                hint="Leave the step out, or let it change more.",
            )
        self.notes.append(f"{step}: right guesses {earlier:.1%} to {left:.1%} (at most {rule.share:.1%}).")


def step_said(method: Mapping[str, Any]) -> str:
    """A step in few words: its method, and the columns where it is a recoding."""
    kind = str(method["method"])
    return f"{kind} {', '.join(recoded_columns(method))}" if kind == "recode" else kind


def rule_said(rule: RecordRule) -> str:
    """A rule in few words: its kind and its numbers."""
    plain = rule.record()
    numbers = [f"{n}={v:g}" for n, v in plain.items() if isinstance(v, int | float) and not isinstance(v, bool)]
    return ", ".join([str(plain["kind"]), *numbers])
