"""What attackers get out of a release of records: every attack that was run, and those that were not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from discreet.attack.record_attack import KNOWLEDGE, NAMES_RECORDS, RecordAttack
from discreet.errors import ParameterError, counted, unknown_name
from discreet.files.frames import to_frame
from discreet.model.arrays import Floats
from discreet.model.display import rows_of, text_of_columns, to_the_right
from discreet.model.notebook import Chip, items, listing, page


class NotRun(NamedTuple):
    """An attack that nobody tried, and why."""

    attack: str
    why: str


@dataclass(frozen=True, eq=False, repr=False)
class RecordAudit:
    """How often attackers are right about the records of a release. For the custodian.

    Parameters
    ----------
    records
        How many records there are.
    attacks
        What was tried.
    not_run
        What was not, and why.
    most
        The largest share of right guesses that is allowed; nothing where no limit was given.
    notes
        What to know before using the numbers.
    """

    records: int
    attacks: tuple[RecordAttack, ...]
    not_run: tuple[NotRun, ...] = ()
    most: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[RecordAttack, ...]:
        """The attacks, those that gain most over guessing without the file first."""
        return tuple(sorted(self.attacks, key=lambda one: (-one.advantage, one.attack)))

    @property
    def worst(self) -> RecordAttack | None:
        """The attack that gains most over guessing without the file."""
        return next(iter(self.findings), None)

    @property
    def too_often(self) -> tuple[RecordAttack, ...]:
        """Attacks whose share of right guesses is above the limit."""
        return () if self.most is None else tuple(one for one in self.findings if one.share > self.most)

    @property
    def holds(self) -> bool:
        """Whether records were linked, and no attack is right more often than allowed; never without a limit."""
        return self.most is not None and self.linked and not self.too_often

    @property
    def linked(self) -> bool:
        """Whether anybody tried to name records; attacks that only look at values do not stand in for that."""
        return any(one.what == NAMES_RECORDS and one.tried for one in self.attacks)

    def __iter__(self) -> Iterator[RecordAttack]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.attacks)

    def __getitem__(self, name: str) -> RecordAttack:
        """The attack of that name."""
        for one in self.attacks:
            if one.attack == name:
                return one
        raise ParameterError(unknown_name("attack", name, [one.attack for one in self.attacks], "this audit"))

    def chances(self) -> Floats:
        """Per record, in the order of the original, the best chance of any attack; not a number where none tried it."""
        found = np.full(self.records, np.nan)
        for one in self.attacks:
            if one.of_records:
                found[one.rows] = np.fmax(found[one.rows], one.chance)
        return found

    def columns(self) -> dict[str, list[Any]]:
        """One row an attack, the worst first."""
        found = self.findings
        ends = [one.interval() for one in found]
        return {
            "attack": [one.attack for one in found],
            "share": [one.share for one in found],
            "low": [end.low for end in ends],
            "high": [end.high for end in ends],
            "baseline": [one.baseline for one in found],
            "advantage": [one.advantage for one in found],
            "tried": [one.tried for one in found],
            "what": [one.what for one in found],
            "knows": [one.has for one in found],
            "columns": [", ".join(one.columns) for one in found],
        }

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row an attack, as a data frame."""
        return to_frame(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the numbers of single records, as plain data."""
        return {
            "records": self.records,
            "attacks": rows_of(self.columns()),
            "not_run": [one._asdict() for one in self.not_run],
            "most": self.most,
            "notes": self._all_notes(),
        }

    def _short(self) -> dict[str, list[str]]:
        found, known = self.findings, self._knowledge()
        return {
            "attack": [one.attack for one in found],
            "right": to_the_right([f"{one.share:.1%}" for one in found]),
            "between": [f"{one.interval().low:.1%} and {one.interval().high:.1%}" for one in found],
            "at random": to_the_right([_small(one.baseline) for one in found]),
            "tried": to_the_right([f"{one.tried:,}" for one in found]),
            "who": [f"({known.index(one.knows) + 1})" for one in found],
        }

    def _knowledge(self) -> list[str]:
        return list(dict.fromkeys(one.knows for one in self.findings))

    def _all_notes(self) -> list[str]:
        said = [f"{one.attack}: {note}" for one in self.findings for note in one.notes]
        return [*self.notes, *said, *(f"{one.attack} was not tried: {one.why}" for one in self.not_run)]

    def _headline(self) -> str:
        if not self.attacks:
            return f"Nobody attacked these {counted(self.records, 'record')}."
        worst = self.findings[0]
        if self.most is None:
            return f"The best of {counted(len(self.attacks), 'attack')}: {worst.attack}, {worst.share:.1%} right."
        if self.too_often:
            return f"{counted(len(self.too_often), 'attack', 'are')} right more often than {self.most:.1%} allows."
        if not self.linked:
            return f"Nobody linked records, so nothing holds; the other attacks stay below {self.most:.1%}."
        return f"No attack is right more often than {self.most:.1%}."

    def summary(self) -> str:
        """All attacks as text, what each intruder has, and what was not tried."""
        lines = [self._headline()]
        if self.attacks:
            lines += ["", text_of_columns(self._short(), len(self.attacks)), "", "The intruder has:"]
            names: Sequence[Any] = self._knowledge()
            lines += [f"  ({number}) {KNOWLEDGE[name]}" for number, name in enumerate(names, start=1)]
        return "\n".join([*lines, *(f"note: {note}" for note in self._all_notes())])

    __repr__ = summary

    def _repr_html_(self) -> str:
        names: Sequence[Any] = self._knowledge()
        chips = [Chip(self._headline(), "u" if self.too_often else "good" if self.holds else "")]
        return page(
            f"Attacks on {counted(self.records, 'record')}",
            chips,
            listing(self._short()) if self.attacks else "",
            items("The intruder has", [f"({n}) {KNOWLEDGE[name]}" for n, name in enumerate(names, start=1)]),
            items("Notes", self._all_notes(), "warn"),
        )


def _small(share: float) -> str:
    return f"{share:.1%}" if share == 0 or share >= 0.0005 else "< 0.1%"
