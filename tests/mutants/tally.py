"""How many weakenings were noticed, of all and of those that change anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass

from tests.mutants.store import KILLED
from tests.mutants.weaken import Key

LEAST = 0.95
"""So many must be noticed of those that change anything."""


@dataclass(frozen=True)
class Tally:
    """What became of some weakenings.

    ``listed`` survivors have a reason why nothing changes with them; ``new`` ones have none.
    """

    outcomes: Counter[str]
    untried: int
    listed: int
    new: tuple[Key, ...]

    @classmethod
    def of(cls, found: Mapping[Key, str | None], listed: Container[Key]) -> Tally:
        """Count outcomes; ``None`` stands for a weakening that was not tried."""
        tried = {key: outcome for key, outcome in found.items() if outcome is not None}
        alive = [key for key, outcome in tried.items() if outcome != KILLED]
        new = tuple(key for key in alive if key not in listed)
        return cls(Counter(tried.values()), len(found) - len(tried), len(alive) - len(new), new)

    @property
    def plain_rate(self) -> float:
        """Killed of all that were tried."""
        return self.outcomes[KILLED] / max(self.outcomes.total(), 1)

    @property
    def rate(self) -> float:
        """Killed of those that were tried and change anything."""
        return self.outcomes[KILLED] / max(self.outcomes.total() - self.listed, 1)

    def good(self, *, partial: bool) -> bool:
        """Whether no survivor lacks a reason and, unless only some were asked for, all were tried and enough killed."""
        return not self.new and (partial or (not self.untried and self.rate >= LEAST))

    def __str__(self) -> str:
        untried = f", {self.untried} not tried" if self.untried else ""
        return (
            f"{self.outcomes.total()} weakenings {dict(self.outcomes)}{untried}: {self.rate:.1%} killed of those that "
            f"change anything, {self.plain_rate:.1%} of all; survivors: {self.listed} listed, {len(self.new)} not"
        )
