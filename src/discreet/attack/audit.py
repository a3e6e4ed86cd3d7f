"""An attacker's intervals against what was required, for the custodian to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attack.intervals import Intervals
from discreet.files.frames import to_frame
from discreet.model.evidence import CONTRIBUTORS, EXTERNAL
from discreet.relations import System


@dataclass(frozen=True, eq=False)
class Audit:
    """Intervals of all withheld cells against what was required. For the custodian's eyes."""

    system: System
    intervals: Intervals
    attackers: tuple[str, ...] = (EXTERNAL,)

    @property
    def short(self) -> int:
        """How many unsafe cells miss their level."""
        return int(self.intervals.short.sum())

    @property
    def recoverable(self) -> int:
        """How many withheld cells can be worked out exactly."""
        return int(self.intervals.recoverable.sum())

    def columns(self) -> dict[str, list[Any]]:
        """One row a withheld cell: required and realised interval, verdict."""
        system, found = self.system, self.intervals
        unit = 10.0**system.decimals
        level_low, level_up = system.lower_level[found.cells], system.upper_level[found.cells]
        state = np.where(found.recoverable, "recoverable", np.where(found.short, "short", "kept"))
        return {
            "cell": [system.cell_name(cell) for cell in found.cells.tolist()],
            "unsafe": system.unsafe[found.cells].tolist(),
            "value": (found.value / unit).tolist(),
            "required_lower": ((found.value - level_low) / unit).tolist(),
            "required_upper": ((found.value + level_up) / unit).tolist(),
            "lower": (found.lower / unit).tolist(),
            "upper": (found.upper / unit).tolist(),
            "verdict": state.tolist(),
        }

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """The audit as a data frame."""
        return to_frame(self.columns(), backend)

    def summary(self) -> str:
        """The audit in a few lines, without confidential values."""
        found = self.intervals
        unsafe = int(self.system.unsafe[found.cells].sum())
        return "\n".join(
            [
                f"Audit of {len(found.cells):,} distinct withheld cells ({unsafe:,} unsafe), all relations together:",
                f"  unsafe cells short of their level: {self.short:,}",
                f"  withheld cells that can be worked out exactly: {self.recoverable:,}",
                f"  attacker: {self.attackers[0]}",
                f"  not considered: {CONTRIBUTORS}",
            ]
        )

    __repr__ = summary
