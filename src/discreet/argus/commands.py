"""What a batch file says, command by command."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Command:
    """One command and its line."""

    line: int = field(compare=False)


@dataclass(frozen=True)
class Open(Command):
    """``<OPENMICRODATA>``, ``<OPENTABLEDATA>`` or ``<OPENMETADATA>``."""

    kind: Literal["records", "cells", "metadata"]
    file: str


@dataclass(frozen=True)
class Specify(Command):
    """``<SPECIFYTABLE>``: spanning variables, response (empty for counts), shadow, cost and its exponent."""

    by: tuple[str, ...]
    response: str
    shadow: str = ""
    cost: str = ""
    exponent: float = 1.0


@dataclass(frozen=True)
class SafetyRule(Command):
    """``<SAFETYRULE>``: names and numbers, in order."""

    rules: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Read(Command):
    """``<READMICRODATA>``, or ``<READTABLE>`` with 0, 1, 1T or 2."""

    kind: Literal["records", "cells"]
    totals: str = "0"


@dataclass(frozen=True)
class RecodeCommand(Command):
    """``<RECODE>``: the number of a table, a variable, and a file or level."""

    table: int
    variable: str
    how: str | int


@dataclass(frozen=True)
class AprioriFile(Command):
    """``<APRIORI>``."""

    file: str
    table: int
    separator: str
    ignore: bool = False
    expand: bool = False


@dataclass(frozen=True)
class Protect(Command):
    """``<SUPPRESS>``: the method, the number of a table (0 for all of them), its numbers and its files."""

    method: str
    table: int
    numbers: tuple[float | None, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Write(Command):
    """``<WRITETABLE>``."""

    table: int
    kind: int
    options: str
    file: str


@dataclass(frozen=True)
class Say(Command):
    """``<LOGBOOK>`` or ``<VERSIONINFO>``: a file about the run."""

    what: Literal["logbook", "version"]
    file: str


@dataclass(frozen=True)
class Clear(Command):
    """``<CLEAR>``: forget all tables."""


@dataclass(frozen=True)
class WithoutEffect(Command):
    """A command that is accepted and changes nothing: ``<SOLVER>``, ``<GOINTERACTIVE>``, ``<SILENT>`` ..."""

    text: str
    why: str


@dataclass(frozen=True)
class Batch:
    """A batch file."""

    name: str
    commands: tuple[Command, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)
