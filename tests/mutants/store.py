"""Outcomes of several runs in one file, so that the whole can be judged from its pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.weaken import Key, Weakening

KILLED, SURVIVED, UNREACHED = "killed", "survived", "not reached"
_RANK = {KILLED: 2, SURVIVED: 1, UNREACHED: 0}


@dataclass
class Store:
    """What became of weakenings, one line each; a run that is cut leaves the lines that it had written.

    Outcomes belong to a function as it stood: where it was edited since, they count no more.
    """

    path: Path | None = None
    outcomes: dict[tuple[Key, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                key, mark, outcome = json.loads(line)
                self._take((*key,), mark, outcome)

    def _take(self, key: Key, mark: str, outcome: str) -> None:
        """Whatever some tests have noticed is noticed."""
        known = self.outcomes.get((key, mark))
        if known is None or _RANK[outcome] > _RANK[known]:
            self.outcomes[key, mark] = outcome

    def note(self, weakening: Weakening, outcome: str) -> None:
        """Keep one outcome."""
        self._take(weakening.key, weakening.mark, outcome)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps([weakening.key, weakening.mark, outcome]) + "\n")

    def of(self, weakening: Weakening) -> str | None:
        """What became of a weakening; nothing where it was not tried."""
        return self.outcomes.get((weakening.key, weakening.mark))

    def open_(self, weakenings: Iterable[Weakening]) -> list[Weakening]:
        """Those that no test has noticed yet."""
        return [w for w in weakenings if self.of(w) != KILLED]
