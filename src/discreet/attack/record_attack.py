"""What every attack on records ends with: how often its guesses are right, beside guessing at random."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from discreet.errors import InputError, ParameterError, counted, listed
from discreet.files.frames import to_frame
from discreet.model.arrays import Floats, Ints

Knowledge = Literal["nothing", "records", "some links", "all links", "register", "publication"]
"""What an intruder has besides the released file, from least to most work of the custodian's to imitate."""
KNOWLEDGE: dict[Knowledge, str] = {
    "nothing": "the released file alone",
    "publication": "the released file, the method and its published parameters",
    "records": "the original values of some columns, not which released record is whose",
    "some links": "the original values of some columns, and of a part of the records which is whose",
    "all links": "the original values of some columns, and what masking did to them on the whole",
    "register": "the keys of everybody in the population",
}
CONFIDENCE = 0.95
NAMES_RECORDS = "name the right record"
"""What guesses of linkage do when they are right."""


class ShareInterval(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


def binomial_interval(right: float, tried: int, confidence: float = CONFIDENCE) -> ShareInterval:
    """The exact interval of a share (Clopper and Pearson); ties may make the number of right guesses a fraction.

    Examples
    --------
    >>> low, high = binomial_interval(5, 100)
    >>> round(low, 4), round(high, 4)
    (0.0164, 0.1128)
    """
    from scipy.special import betaincinv

    if not 0 < confidence < 1:
        raise ParameterError(f"confidence={confidence!r} is not allowed.", hint="Give a number between 0 and 1.")
    if tried < 1 or not 0 <= right <= tried:
        raise InputError(f"{right:g} right guesses of {tried:,} make no share.", hint="Give at least one guess.")
    tail = (1 - confidence) / 2
    low = 0.0 if right == 0 else float(betaincinv(right, tried - right + 1, tail))
    high = 1.0 if right == tried else float(betaincinv(right + 1, tried - right, 1 - tail))
    return ShareInterval(low, high)


@dataclass(frozen=True, eq=False, repr=False)
class RecordAttack:
    """How often somebody is right who guesses which record is whose, or what it holds. For the custodian.

    Parameters
    ----------
    attack
        Name of the attack.
    what
        What a right guess does: ``"name the right record"``.
    knows
        What the intruder has: one of ``discreet.attack.record_attack.KNOWLEDGE``.
    rows
        Positions of the records that were tried.
    chance
        For each of them the chance that the guess is right; equally good candidates share it.
    baseline
        The share of right guesses of somebody who guesses without the released file.
    columns
        Columns that the intruder used.
    notes
        What to know before using the numbers.
    of_records
        Whether each attempt is about one record of the original; otherwise ``rows`` number attempts.

    Examples
    --------
    >>> import numpy as np
    >>> chance = np.array([1, 0.5, 0, 0])
    >>> found = RecordAttack("nearest", "name the right record", "records", np.arange(4), chance, 0.25)
    >>> found.right, found.share, round(found.advantage, 3)
    (1.5, 0.375, 0.167)
    """

    attack: str
    what: str
    knows: Knowledge
    rows: Ints
    chance: Floats
    baseline: float
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    of_records: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if self.knows not in get_args(Knowledge):
            raise ParameterError(f"knows={self.knows!r} is not allowed.", hint=f"Give {listed(get_args(Knowledge))}.")
        if len(self.rows) != len(self.chance):
            raise InputError(f"{len(self.rows):,} records and {len(self.chance):,} guesses do not belong together.")

    @property
    def tried(self) -> int:
        """How many records were tried."""
        return len(self.rows)

    @property
    def right(self) -> float:
        """How many right guesses to expect."""
        return float(self.chance.sum())

    @property
    def share(self) -> float:
        """The share of right guesses."""
        return self.right / self.tried if self.tried else 0.0

    @property
    def advantage(self) -> float:
        """What the released file adds: 0 for no better than the baseline, 1 for always right."""
        return (self.share - self.baseline) / (1 - self.baseline) if self.baseline < 1 else 0.0

    @property
    def has(self) -> str:
        """What the intruder has, in words."""
        return KNOWLEDGE[self.knows]

    def interval(self, confidence: float = CONFIDENCE) -> ShareInterval:
        """The interval of the share over all files of which this could be one."""
        return binomial_interval(self.right, self.tried, confidence) if self.tried else ShareInterval(0.0, 1.0)

    def summary(self) -> str:
        """The numbers in one line, and notes below it."""
        low, high = self.interval()
        by = f" by {listed(self.columns)}" if self.columns else ""
        line = (
            f"{self.attack}: {self.share:.1%} of {counted(self.tried, 'attempt')}{by} "
            f"{self.what} ({low:.1%} to {high:.1%}); at random {self.baseline:.2%}. "
            f"The intruder has {self.has}."
        )
        return "\n".join([line, *(f"note: {note}" for note in self.notes)])

    __repr__ = summary

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """Position and chance of every record that was tried, as a data frame."""
        return to_frame({"position": self.rows, "chance": self.chance}, backend)
