"""How much is done for a good pattern: words of effort, and limits of linear programs or seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, NamedTuple

EffortWord = Literal["quick", "normal", "best"]


class Care(NamedTuple):
    """What is done to make a first pattern cheaper.

    ``times`` the iterations of the first pattern may be spent on giving secondaries up, within ``least`` and ``most``;
    small systems are searched at most ``starts`` times.
    """

    times: float
    least: int
    most: int
    starts: int


CARE: dict[EffortWord, Care] = {
    "quick": Care(0.25, 20_000, 200_000, 1),
    "normal": Care(2.0, 100_000, 1_500_000, 6),
    "best": Care(20.0, 1_000_000, 30_000_000, 10),
}


@dataclass
class EffortLimits:
    """How much effort (linear programs) or time may be spent; beyond that work goes on in its cheapest form."""

    effort: int | None = None
    seconds: float | None = None
    care: Care = CARE["normal"]
    struck_at: int | None = None
    started: float = field(default_factory=monotonic)

    @classmethod
    def of(cls, effort: EffortWord | int, seconds: float | None) -> EffortLimits:
        """Limits by a word, or by a number of linear programs."""
        if isinstance(effort, int):
            return cls(effort, seconds)
        return cls(None, seconds, CARE[effort])

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.effort is not None or self.seconds is not None

    def struck(self, effort: int) -> bool:
        """Whether a limit is reached; the effort at which that was first seen is remembered."""
        if self.struck_at is None:
            over = self.effort is not None and effort >= self.effort
            late = self.seconds is not None and monotonic() - self.started >= self.seconds
            if over or late:
                self.struck_at = effort
        return self.struck_at is not None

    @property
    def seconds_left(self) -> float | None:
        """How long there is still time."""
        return None if self.seconds is None else max(self.seconds - (monotonic() - self.started), 0.0)
