"""What is found about a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.errors import VerificationError, counted

Fault = Literal["changed", "removed", "inserted", "reordered", "truncated", "unsigned", "fork", "foreign"]


@dataclass(frozen=True)
class LogFault:
    """Something that is not as the log's writer left it, and where."""

    fault: Fault
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.fault}: {self.where}: {self.message}"


@dataclass
class LogVerdict:
    """Whether a log, or a proof about it, holds; against what; and what nobody can tell from it."""

    log: str = ""
    entries: int = 0
    heads: int = 0
    segments: int = 0
    faults: list[LogFault] = field(default_factory=list)
    proved: list[str] = field(default_factory=list)
    asserted: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def require(self) -> LogVerdict:
        """This verdict, if it holds.

        Raises
        ------
        VerificationError
            When it does not; names the first fault.
        """
        if self.faults:
            raise VerificationError(
                f"The log does not hold: {self.faults[0]}.",
                hint="Compare it with a copy and with heads kept elsewhere.",
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "holds": self.holds,
            "log": self.log,
            "entries": self.entries,
            "heads": self.heads,
            "segments": self.segments,
            "faults": [{"fault": one.fault, "where": one.where, "message": one.message} for one in self.faults],
            "proved": self.proved,
            "asserted": self.asserted,
        }

    def __str__(self) -> str:
        lines = [f"REFUSED   {fault}" for fault in self.faults]
        if self.holds and self.segments:
            lines.append(
                f"The log holds: {counted(self.entries, 'entry')}, {counted(self.heads, 'signed head')}, "
                f"{counted(self.segments, 'segment')}."
            )
        lines += [f"  proved    {text}" for text in self.proved]
        lines += [f"  asserted  {text}" for text in self.asserted]
        return "\n".join(lines)
