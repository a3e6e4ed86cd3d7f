"""What a check found: proved, only asserted, refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.errors import VerificationError, counted, listed
from discreet.model.notebook import Chip, items, page, sentence

REFUSALS_SHOWN = 20


def one_line(text: str) -> str:
    """Text that stays on its line: signs that break lines, or turn or hide text, are written as their numbers.

    Labels and findings come from others; none of them may print a line that looks like one of the checker's.
    """
    return "".join(
        sign if sign.isprintable() or sign == "\u00a0" else sign.encode("unicode_escape").decode() for sign in text
    )


@dataclass(frozen=True)
class Refusal:
    """One reason why a claim does not hold, with the cell or file it is about."""

    check: str
    message: str
    where: str = ""

    def __str__(self) -> str:
        return one_line(f"{self.check}: {self.message}{f' ({self.where})' if self.where else ''}")


@dataclass
class Verdict:
    """The outcome of a check. It names what was proved, against whom, and what was only asserted.

    ``of_records`` tells of some assertions that the records would show them: those of cells, or of what a method took.
    ``known`` says what attackers are taken to know of the cells of each table before anything is published.
    """

    proved: list[str] = field(default_factory=list)
    asserted: list[str] = field(default_factory=list)
    of_records: dict[str, str] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    attackers: list[str] = field(default_factory=list)
    not_considered: list[str] = field(default_factory=list)
    together_with: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    not_judged: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether everything claimed was shown."""
        return not self.refused

    def __bool__(self) -> bool:
        return self.holds

    def refuse(self, check: str, message: str, where: str = "") -> None:
        """Add a reason against the claim."""
        self.refused.append(Refusal(check, message, where))

    def prove(self, text: str, since: int) -> None:
        """Add what was shown, unless something was refused since there were ``since`` refusals."""
        if len(self.refused) == since:
            self.proved.append(text)

    def take_for_granted(self, text: str, kind: Literal["cells", "method"]) -> None:
        """Add what only the records could show."""
        self.asserted.append(text)
        self.of_records[text] = kind

    def shown_by_records(self, kind: Literal["cells", "method"], about: str = "") -> None:
        """Take back what was asserted for want of the records, of texts that begin in some way."""
        settled = [t for t, mine in self.of_records.items() if mine == kind and t.startswith(about)]
        self.asserted = [text for text in self.asserted if text not in settled]

    def add(self, other: Verdict) -> None:
        """Add what another check found."""
        self.proved += other.proved
        self.asserted += other.asserted
        self.of_records |= other.of_records
        self.refused += other.refused
        self.attackers += other.attackers
        self.together_with += other.together_with
        self.not_considered += other.not_considered
        self.known += other.known
        self.not_judged += other.not_judged

    def require(self) -> Verdict:
        """The verdict itself; an error that names the first reasons when the claim does not hold."""
        if self.refused:
            shown = "; ".join(str(refusal) for refusal in self.refused[:3])
            raise VerificationError(
                f"The release does not prove what it claims: {shown}"
                f"{f' and {len(self.refused) - 3} more reasons' if len(self.refused) > 3 else ''}.",
                hint="Do not publish it; protect the table again.",
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for machines."""
        return {
            "holds": self.holds,
            "proved": self.proved,
            "asserted": self.asserted,
            "refused": [vars(refusal) for refusal in self.refused],
            "attackers": self.attackers,
            "not_considered": self.not_considered,
            "together_with": self.together_with,
            "known": self.known,
            "not_judged": self.not_judged,
        }

    def headline(self) -> str:
        """The verdict in one sentence; it does not say that claims hold of tables of which nobody has judged a cell."""
        if not self.holds:
            return f"REFUSED for {counted(len(self.refused), 'reason')}."
        if not self.not_judged:
            return "The claims hold."
        return f"Nothing was refused, but NOT JUDGED: no rule says what is unsafe in {listed(self.not_judged, 3)}."

    def __str__(self) -> str:
        lines = [self.headline()]
        lines += [f"  refused   {refusal}" for refusal in self.refused[:REFUSALS_SHOWN]]
        lines += [f"  proved    {text}" for text in self.proved]
        lines += [f"  against   {text}" for text in self.attackers]
        lines += [f"  known beforehand: {text}" for text in self.known]
        lines += [f"  together with {text}" for text in self.together_with]
        lines += [f"  not considered: {text}" for text in self.not_considered]
        lines += [f"  asserted, not re-checked: {text}" for text in self.asserted]
        return "\n".join(map(one_line, lines))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        state = Chip("do not publish", "u") if not self.holds else Chip("verified", "good")
        if self.holds and (self.not_judged or not self.proved):
            state = Chip("nothing judged" if self.not_judged else "nothing proved", "warn")
        more = len(self.refused) - REFUSALS_SHOWN
        parts = [
            items("Refused", map(str, self.refused[:REFUSALS_SHOWN]), "u"),
            sentence(f"... {counted(more, 'more reason')} (refused has all)") if more > 0 else "",
            items("Proved", map(one_line, self.proved), "good"),
            items("Against", map(one_line, self.attackers)),
            items("Known beforehand", map(one_line, self.known)),
            items("Together with", map(one_line, self.together_with)),
            items("Not considered", map(one_line, self.not_considered), "warn"),
            items("Asserted, not re-checked", map(one_line, self.asserted), "warn"),
        ]
        return page(one_line(self.headline()), [state], *parts)
