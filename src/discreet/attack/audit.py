"""An attacker's intervals against what was required, for the custodian to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.attack.insiders import Finding
from discreet.attack.intervals import Intervals
from discreet.files.frames import to_frame
from discreet.model.arrays import Ints, Status
from discreet.model.evidence import CONTRIBUTORS, EXTERNAL, INSIDERS
from discreet.relations import System

WORDS = {
    Finding.NOT_ATTACKED: "not attacked",
    Finding.KEPT: "kept",
    Finding.SHORT: "short against an insider",
    Finding.RECOVERABLE: "recoverable by an insider",
}


@dataclass(frozen=True, eq=False)
class Audit:
    """Intervals of withheld cells against what was required. For the custodian's eyes.

    Parameters
    ----------
    system
        Cells and relations.
    intervals
        What an outsider can work out.
    attackers
        Who was considered, in words.
    insiders
        For every withheld cell the worst that an insider can do (:class:`Finding`); None when none was considered.
    why_no_insiders
        Why none was, or why not for all cells.
    published
        Unsafe cells that are not withheld at all, besides those that were published before or elsewhere.
    """

    system: System
    intervals: Intervals
    attackers: tuple[str, ...] = (EXTERNAL,)
    insiders: Status | None = None
    why_no_insiders: str = "not asked for"
    published: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def holds(self) -> bool:
        """Whether every unsafe cell that was looked at is known to nobody and keeps its level against all attackers."""
        exact = self.intervals.recoverable & self.system.unsafe[self.intervals.cells]
        known = len(self.published) + self.revealed
        return not (known or self.short or exact.any() or self.short_insiders or self.recoverable_insiders)

    @property
    def withheld_cells(self) -> Ints:
        """Numbers of the withheld cells of tables."""
        return self.intervals.cells[self.system.in_tables[self.intervals.cells]]

    @property
    def revealed(self) -> int:
        """How many unsafe cells were published before or elsewhere."""
        return int((self.system.unsafe & self.system.known).sum())

    @property
    def short(self) -> int:
        """How many unsafe cells miss their level."""
        return int(self.intervals.short.sum())

    @property
    def recoverable(self) -> int:
        """How many withheld cells can be worked out exactly."""
        return int(self.intervals.recoverable.sum())

    @property
    def short_insiders(self) -> int:
        """How many unsafe cells miss their level against an insider; 0 where levels were not asked for."""
        levels_asked = INSIDERS["full"] in self.attackers
        return int((self._insiders >= Finding.SHORT).sum()) if levels_asked else 0

    @property
    def recoverable_insiders(self) -> int:
        """How many unsafe cells an insider can work out exactly."""
        return int((self._insiders == Finding.RECOVERABLE).sum())

    @property
    def sampled(self) -> tuple[int, int]:
        """How many unsafe cells were looked at, and of how many."""
        unsafe = self.system.unsafe[self.intervals.cells]
        return int((unsafe & self.intervals.looked_at).sum()), int(unsafe.sum())

    @property
    def _insiders(self) -> Status:
        none = np.full(len(self.intervals.cells), Finding.NOT_ATTACKED, np.int8)
        return none if self.insiders is None else self.insiders

    def columns(self) -> dict[str, list[Any]]:
        """One row a withheld cell that was looked at: required and realised interval, verdicts."""
        system, found = self.system, self.intervals
        seen = np.flatnonzero(found.looked_at)
        cells, value = found.cells[seen], found.value[seen]
        unit = 10.0**system.decimals
        level_low, level_up = system.lower_level[cells], system.upper_level[cells]
        state = np.where(found.recoverable, "recoverable", np.where(found.short, "short", "kept"))[seen]
        return {
            "cell": [system.cell_name(cell) for cell in cells.tolist()],
            "unsafe": system.unsafe[cells].tolist(),
            "value": (value / unit).tolist(),
            "required_lower": ((value - level_low) / unit).tolist(),
            "required_upper": ((value + level_up) / unit).tolist(),
            "lower": (found.lower[seen] / unit).tolist(),
            "upper": (found.upper[seen] / unit).tolist(),
            "verdict": state.tolist(),
            "insiders": [WORDS[Finding(code)] for code in self._insiders[seen].tolist()],
        }

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """The audit as a data frame."""
        return to_frame(self.columns(), backend)

    def counts(self) -> dict[str, int]:
        """The audit in numbers."""
        looked_at, unsafe = self.sampled
        return {
            "withheld": len(self.withheld_cells),
            "unsafe": unsafe,
            "looked_at": looked_at,
            "published": len(self.published),
            "short": self.short,
            "recoverable": self.recoverable,
            "short_insiders": self.short_insiders,
            "recoverable_insiders": self.recoverable_insiders,
            "revealed": self.revealed,
        }

    def summary(self) -> str:
        """The audit in a few lines, without confidential values."""
        count = self.counts()
        sampled = count["looked_at"] < count["unsafe"]
        lines = [
            f"Audit of {count['withheld']:,} distinct withheld cells ({count['unsafe']:,} unsafe), "
            "all relations together:"
        ]
        if sampled:
            lines.append(f"  looked at: a random sample of {count['looked_at']:,} unsafe cells")
        if len(self.published):
            lines.append(f"  unsafe cells that are published: {len(self.published):,}")
        lines += [
            f"  unsafe cells short of their level: {self.short:,}",
            f"  {'unsafe' if sampled else 'withheld'} cells that can be worked out exactly: {self.recoverable:,}",
        ]
        if INSIDERS["full"] in self.attackers:
            lines.append(f"  unsafe cells short of their level against an insider: {self.short_insiders:,}")
        if self.insiders is not None:
            lines.append(f"  unsafe cells that an insider can work out exactly: {self.recoverable_insiders:,}")
        if self.revealed:
            lines.append(f"  unsafe cells that were published before: {self.revealed:,}")
        lines += [f"  attacker: {attacker}" for attacker in self.attackers]
        lines += [f"  together with {text}" for text in self.system.already.together_with()]
        if self.why_no_insiders:
            lines.append(f"  not considered: {CONTRIBUTORS} ({self.why_no_insiders})")
        return "\n".join(lines)

    __repr__ = summary
