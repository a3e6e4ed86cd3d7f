"""Progress in words for people: the phase that the work is in, how far it is, and how long it may still take.

Stages are named for programs (``"protect"``); here they get the words and units that a person reads, and time left is
said only while it is steady. Bars on terminals, lines in logs and bars in notebooks all show a :class:`Standing`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from discreet.errors import counted
from discreet.progress import Step

PHASES: dict[str, tuple[str, str]] = {
    "read": ("Reading records", ""),
    "decimals": ("Looking at decimals", ""),
    "record keys": ("Drawing record keys", "record"),
    "sums": ("Adding up records", ""),
    "contributors": ("Adding up contributors", ""),
    "tabulate": ("Building tables", "table"),
    "groups": ("Grouping similar records", ""),
    "blocks": ("Grouping similar records", "block"),
    "strata": ("Exchanging values", "stratum"),
    "rows": ("Working on records row by row", "part"),
    "small groups": ("Emptying fields of rare combinations", ""),
    "rare combinations": ("Emptying fields of rare combinations", ""),
    "the least cost": ("Working out the least cost", "combination"),
    "linear program": ("Working out the least cost", ""),
    "generalisations": ("Judging generalisations", "combination of levels"),
    "classes of records": ("Dividing records into classes", "record"),
    "links": ("Linking records", "record"),
    "smooth counts": ("Looking at neighbours of sample uniques", ""),
    "log-linear models": ("Fitting log-linear models", "pair of keys"),
    "combinations of keys": ("Looking at combinations of keys", "combination"),
    "series": ("Linking series", "series"),
    "prices": ("Trying other promises", "promise"),
    "relations": ("Finding out which cells add up", ""),
    "bound": ("Working out the least cost", ""),
    "protect": ("Protecting unsafe cells", ""),
    "improve": ("Looking for cells that can be published after all", ""),
    "search again": ("Searching again from another start", ""),
    "reasons": ("Working out why cells cannot be protected", ""),
    "joint": ("Protecting sums of withheld cells", "sum"),
    "optimum": ("Closing in on the optimum", ""),
    "modular": ("Protecting subtables", "subtable"),
    "hypercube": ("Protecting by hypercubes", ""),
    "gauss": ("Protecting by elimination", ""),
    "network": ("Protecting by networks", "unsafe cell"),
    "round": ("Rounding", ""),
    "round parts": ("Rounding", "part of the table"),
    "adjust": ("Adjusting values", ""),
    "least moves": ("Looking for the least change", ""),
    "intervals": ("Choosing intervals", ""),
    "redistribute": ("Redistributing", ""),
    "small counts": ("Rounding small counts", ""),
    "round small counts": ("Rounding small counts", "cell"),
    "exchange small counts": ("Improving rounded counts", ""),
    "cell keys": ("Drawing by cell keys", "table"),
    "noise": ("Drawing noise", ""),
    "swap": ("Swapping records", ""),
    "drop and add": ("Dropping and adding records", ""),
    "records": ("Protecting records", "method"),
    "verify": ("Checking certificates", "certificate"),
    "audit": ("Auditing what attackers can work out", ""),
    "insiders": ("Auditing what contributors can work out", ""),
    "coalitions": ("Auditing what pairs of contributors can work out", ""),
    "audit by whole numbers": ("Auditing in whole numbers", "cell"),
    "attempts": ("Attacking released records", ""),
    "attacks on records": ("Attacking released records", "attack"),
    "offices": ("Letting offices protect", "office"),
    "compare": ("Comparing methods", "method"),
    "runs": ("Repeating random methods", "run"),
    "bootstrap": ("Sampling records again for standard errors", "sample"),
    "redesign": ("Looking for recodes", "recode"),
    "columns": ("Writing columns of the data set", "column"),
    "sort": ("Sorting records by area", "column"),
    "asking": ("Asking tables as an attacker would", "table"),
    "hint": ("Making the hint of the database", "block"),
    "meet": ("Nobody answers yet", ""),
    "parties": ("Waiting for the other parties", ""),
    "points": ("Hiding records", "record"),
    "report": ("Writing the report", ""),
    "save": ("Saving", ""),
    "check": ("Checking what was saved", ""),
}
"""Words of every stage that methods and verbs report, and what its steps are where a person would count them."""
EARLY, MARGIN = 5.0, 0.03
"""No time left is said before so many seconds and this share of a phase."""
LOOKED_BACK, AT_LEAST = 0.3, 8.0
"""Share of the time in a phase over which estimates must agree, and at least so many seconds."""
AGREE, APART = 0.35, 3.0
"""Estimates of the end agree within this share of the time left, and so many seconds."""
BETWEEN = 0.5
"""Seconds between two estimates."""


@dataclass(frozen=True)
class Standing:
    """Where the work stands, for people.

    Parameters
    ----------
    phase
        Words for what is being done: "Building tables".
    share
        Part of the phase that is done, from 0 to 1; ``None`` where nobody can tell.
    detail
        How far it is, in units that mean something: "3 of 12 tables". May be empty.
    seconds
        How long the phase has taken so far.
    left
        Seconds that it may still take; ``None`` while estimates do not agree.
    """

    phase: str
    share: float | None
    detail: str
    seconds: float
    left: float | None

    def __str__(self) -> str:
        """One line: phase, per cent, units, time left."""
        return "  ".join(part for part in (self.phase, self.percent, self.detail, self.time_left) if part)

    @property
    def percent(self) -> str:
        """The share in words; empty where nobody can tell."""
        return "" if self.share is None else f"{int(100 * self.share)} %"

    @property
    def time_left(self) -> str:
        """The time left in words; empty while estimates do not agree."""
        return "" if self.left is None else f"{duration(self.left)} left in this step"


def duration(seconds: float) -> str:
    """Seconds as a person would say them, without false precision.

    Examples
    --------
    >>> [duration(s) for s in (4, 18, 75, 1_000, 7_000)]
    ['a few seconds', 'about 20 s', 'about 2 min', 'about 17 min', 'about 2 h']
    """
    if seconds < 8:
        return "a few seconds"
    if seconds < 55:
        return f"about {-(-int(seconds) // 10) * 10} s"
    if seconds < 5_400:
        return f"about {-(-int(seconds) // 60)} min"
    return f"about {round(seconds / 3_600)} h"


def rate(done: int, seconds: float) -> str:
    """How many steps a second or a minute, once that can be told; begins with a comma.

    Examples
    --------
    >>> rate(5_000, 4.0), rate(8, 60.0), rate(1, 0.5)
    (', 1,250 a second', ', 8 a minute', '')
    """
    if done < 2 or seconds < 2:
        return ""
    if done >= seconds:
        return f", {done / seconds:,.0f} a second"
    return f", {60 * done / seconds:,.0f} a minute"


def phase_words(stage: str) -> tuple[str, str]:
    """Words and unit of a stage; what stands before the name of one ("North: protect") stays before its words."""
    before, _, name = stage.rpartition(": ")
    words, unit = PHASES.get(name, (name[:1].upper() + name[1:], ""))
    if not before or before == "audit":
        return words, unit
    return f"{before}: {words[:1].lower()}{words[1:]}", unit


class Phases:
    """Hears steps and says where the work stands.

    Examples
    --------
    >>> phases = Phases(clock=lambda: 0.0)
    >>> print(phases.hear(Step("tabulate", 3, 12)))
    Building tables  25 %  3 of 12 tables
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._ends: dict[str, _PhaseEnd] = {}

    def hear(self, step: Step) -> Standing:
        """Where the work stands after a step."""
        now = self._clock()
        words, unit = phase_words(step.stage)
        end = self._ends.setdefault(step.stage, _PhaseEnd(now))
        # One step, or none that anybody can count, is no share: a bar at 0 of 1 looks stuck.
        share = min(step.done / step.total, 1.0) if step.total > 1 else None
        detail = step.note
        if not detail and unit and step.total > 1:
            detail = f"{step.done:,} of {counted(step.total, unit)}{rate(step.done, now - end.started)}"
        left = None if share is None else end.left(now, share)
        return Standing(words, share, detail, now - end.started, left)


class _PhaseEnd:
    """When a phase may end, told only while what was told lately agrees."""

    def __init__(self, now: float) -> None:
        self.started = now
        self._seen: deque[tuple[float, float, float]] = deque()

    def left(self, now: float, share: float) -> float | None:
        """Seconds left, or ``None``."""
        taken = now - self.started
        if taken < EARLY or share < MARGIN:
            return None
        end = now + taken * (1 - share) / share
        if not self._seen or now - self._seen[-1][0] >= BETWEEN:
            self._seen.append((now, share, end))
        back = now - max(LOOKED_BACK * taken, AT_LEAST)
        while len(self._seen) > 1 and self._seen[1][0] <= back:
            self._seen.popleft()
        first, then, _ = self._seen[0]
        if first > back + BETWEEN or share <= then:
            return None
        # By the speed of late, which a slow or quick beginning has no say in; both must point to about the same end.
        lately = now + (1 - share) * (now - first) / (share - then)
        ends = [lately, *(e for _, _, e in self._seen)]
        left = max(lately, end) - now
        return left if max(ends) - min(ends) <= AGREE * left + APART else None
