"""How much is done for a good pattern: words of effort, and limits of linear programs or seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, NamedTuple

from discreet.errors import Enough, TimeLimitReached
from discreet.progress import Listener, Step, hearing

EffortWord = Literal["quick", "normal", "best"]
SLACK, SLACK_SHARE = 5.0, 0.25
"""When the time is up, so many seconds, and this share of the limit, may go into completing what is begun."""
COMPLETING, MOST_COMPLETING = 1e-3, 0.4
"""Seconds that are kept for every cell that has nothing yet, and the most of the limit that is kept in all."""


class Care(NamedTuple):
    """What is done to make a first pattern cheaper.

    ``times`` the iterations of the first pattern may be spent on giving secondaries up, within ``least`` and ``most``;
    small systems are searched at most ``starts`` times, with about ``searching`` iterations in all.
    """

    times: float
    least: int
    most: int
    starts: int
    searching: int


CARE: dict[EffortWord, Care] = {
    "quick": Care(0.25, 20_000, 200_000, 1, 0),
    "normal": Care(2.0, 100_000, 1_500_000, 2, 250_000),
    "best": Care(20.0, 1_000_000, 30_000_000, 8, 2_500_000),
}


class Left(Exception):  # no error: it never leaves this package
    """Work that may be left where it is has come to its end; see :meth:`EffortLimits.may_be_left`."""


@dataclass
class EffortLimits:
    """How much effort (linear programs) or time may be spent; beyond that work goes on in its cheapest form.

    ``complete`` says that there is a certified pattern, ``stopped`` that somebody asked for it as it is, and
    ``waiting`` how many cells have nothing yet.
    """

    effort: int | None = None
    seconds: float | None = None
    care: Care = CARE["normal"]
    struck_at: int | None = None
    started: float = field(default_factory=lambda: monotonic())
    complete: bool = False
    stopped: bool = False
    waiting: int = 0
    _optional: bool = False

    @classmethod
    def of(cls, effort: EffortWord | int, seconds: float | None, ends_at: int | None = None) -> EffortLimits:
        """Limits by a word, or by a number of linear programs; or as they once struck after so many of them."""
        care = CARE["normal"] if isinstance(effort, int) else CARE[effort]
        if ends_at is not None:
            return cls(ends_at, None, care)
        return cls(effort if isinstance(effort, int) else None, seconds, care)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.effort is not None or self.seconds is not None

    @property
    def due(self) -> bool:
        """Whether the time has come to complete what is begun."""
        return self.stopped or (self.seconds is not None and self._spent >= self.seconds - self._kept)

    def struck(self, effort: int) -> bool:
        """Whether a limit is reached; the effort at which that was first seen is remembered."""
        if self.struck_at is None and ((self.effort is not None and effort >= self.effort) or self.due):
            self.struck_at = effort
        return self.struck_at is not None

    @property
    def seconds_left(self) -> float | None:
        """How long there is still time."""
        return None if self.seconds is None else max(self.seconds - self._spent, 0.0)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """End what is done in the block when the time and its slack are over; hear of a wish to stop.

        Whatever takes long reports its progress; the clock is looked at whenever it does.
        """
        with hearing(self._hear):
            yield

    @contextmanager
    def may_be_left(self) -> Iterator[None]:
        """Leave the block where it stands when somebody asks to stop or time is over: a pattern is there already."""
        self._optional = True
        try:
            yield
        except Left:
            pass
        finally:
            self._optional = False

    @property
    def _spent(self) -> float:
        return monotonic() - self.started

    @property
    def _kept(self) -> float:
        """Seconds that cells which have nothing yet will need."""
        return 0.0 if self.seconds is None else min(COMPLETING * self.waiting, MOST_COMPLETING * self.seconds)

    def _hear(self, step: Step, listener: Listener | None) -> None:
        try:
            if listener is not None:
                listener(step)
        except Enough:
            if not self.complete:
                raise
            self.stopped = True
        late = self.seconds is not None and self._spent >= self.seconds * (1 + SLACK_SHARE) + SLACK
        if self._optional and (self.stopped or late):
            raise Left
        if late:
            raise TimeLimitReached(
                f"The time limit of {self.seconds:g} s came before there was a pattern that is safe.",
                hint="Nothing is published. Raise time_limit, use effort='quick' without a limit, or ask for less: "
                "fewer or smaller tables, insiders='nonzero' or None, joint=False.",
            )
