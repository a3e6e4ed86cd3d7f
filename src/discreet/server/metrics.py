"""Counters of a server as Prometheus reads them; workers write into one folder, and any of them tells all."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from pathlib import Path

import msgspec

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: upper ends of the classes of durations."""
EVERY = 1.0
"""Seconds between two times that a worker writes its counters down."""


class Metrics:
    """Requests by what they asked for and how they ended, and how long they took.

    Parameters
    ----------
    folder
        Where workers leave their counters for each other; without one, this worker tells of itself only.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._ended: Counter[tuple[str, int]] = Counter()
        self._took: Counter[tuple[str, int]] = Counter()
        self._microseconds: Counter[str] = Counter()
        self._written = 0.0

    def count(self, what: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._ended[what, status] += 1
        self._took[what, bisect_left(BOUNDS, seconds)] += 1
        self._microseconds[what] += round(1e6 * seconds)
        if self.folder is not None and time.monotonic() >= self._written + EVERY:
            self.write()

    def counts(self) -> Counter[str]:
        """The counters of this worker under the names that Prometheus has for them."""
        found: Counter[str] = Counter()
        for (what, status), number in self._ended.items():
            found[f'requests_total{{what="{what}",status="{status}"}}'] += number
        for (what, place), number in self._took.items():
            for bound in BOUNDS[place:]:
                found[f'seconds_bucket{{what="{what}",le="{bound:g}"}}'] += number
            found[f'seconds_bucket{{what="{what}",le="+Inf"}}'] += number
            found[f'seconds_count{{what="{what}"}}'] += number
        for what, number in self._microseconds.items():
            found[f'microseconds_sum{{what="{what}"}}'] += number
        return found

    def write(self) -> None:
        """Leave the counters where the other workers see them."""
        self._written = time.monotonic()
        if self.folder is None:
            return
        path = self.folder / f"metrics.{os.getpid()}.json"
        new = path.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(dict(self.counts())))
        new.replace(path)

    def text(self, *, waiting: int) -> str:
        """All counters."""
        sums: Counter[str] = Counter()
        if self.folder is None:
            sums.update(self.counts())
        else:
            self.write()
            for path in sorted(self.folder.glob("metrics.*.json")):
                sums.update(msgspec.json.decode(path.read_bytes(), type=dict[str, int]))
        lines = [f"discreet_{name} {number}" for name, number in sorted(sums.items())]
        return "\n".join([*lines, f"discreet_waiting {waiting}", ""])
