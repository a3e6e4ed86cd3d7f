"""One root of errors. Every message says what was given, what is allowed and what to do next.

The text of an error is public: it names fields, codes, row numbers and rules, never a confidential value.
What only the custodian may see goes into ``details``, which the command line shows on the operator's own
terminal and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any


class DiscreetError(Exception):
    """Root of all errors of the package.

    Parameters
    ----------
    message
        What went wrong, in public words.
    hint
        What to do next.
    details
        For the custodian only: may hold confidential values.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", details: str = "") -> None:
        self.message = message
        self.hint = hint
        self.details = details
        super().__init__(f"{message} {hint}".strip())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.hint))


def _rebuild(kind: type[DiscreetError], message: str, hint: str) -> DiscreetError:
    return kind(message, hint=hint)


class InputError(DiscreetError):
    """The data, a hierarchy or a file cannot be used as it is."""

    exit_code = 3


class ParameterError(DiscreetError):
    """A parameter of a rule, a method or a recipe is misspelt or impossible."""

    exit_code = 2


class NeedsError(DiscreetError):
    """A rule or method needs something that the table does not carry."""

    exit_code = 2


class ProtectionError(DiscreetError):
    """The cells cannot be protected as asked; nothing is published."""

    exit_code = 4


class VerificationError(DiscreetError):
    """A release does not prove what it claims."""

    exit_code = 5


class OutputError(DiscreetError):
    """A file or folder cannot be written."""

    exit_code = 6


class Cancelled(DiscreetError):
    """The work was stopped on request; nothing was written."""

    exit_code = 130

    def __init__(self, message: str = "Cancelled.", *, hint: str = "", details: str = "") -> None:
        super().__init__(message, hint=hint or "Nothing was written.", details=details)


def listed(names: Iterable[object], most: int = 12) -> str:
    """Names as a readable list, cut after ``most``."""
    shown = [str(name) for name in names]
    text = ", ".join(repr(name) for name in shown[:most])
    return f"{text} and {len(shown) - most} more" if len(shown) > most else text or "none"


def unknown_name(kind: str, name: str, available: Iterable[str], where: str = "") -> str:
    """Message for a name that is not there: what was asked, the nearest, what there is."""
    choices = list(available)
    near = get_close_matches(name, choices, n=1)
    text = f"There is no {kind} {name!r}{' in ' + where if where else ''}."
    if near:
        text += f" Did you mean {near[0]!r}?"
    return f"{text} Available: {listed(choices)}."


def unknown_column(name: str, available: Iterable[str], where: str = "the data") -> InputError:
    """Error for a column that the data do not have."""
    return InputError(unknown_name("column", name, available, where))


def unknown_codes(variable: str, counts: Mapping[str, int]) -> InputError:
    """Error for codes in the data that the hierarchy does not know, with how often each occurs."""
    worst = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{code!r} ({count} records)" for code, count in worst[:10])
    more = f" and {len(worst) - 10} more codes" if len(worst) > 10 else ""
    return InputError(
        f"Variable {variable!r} has {len(worst)} codes that its hierarchy does not have as base codes: {shown}{more}.",
        hint="Add them to the hierarchy, map them with a code map, or leave the records out with a filter.",
    )


def missing_extra(package: str, extra: str, purpose: str) -> NeedsError:
    """Error for an optional dependency that is not installed."""
    return NeedsError(
        f"{purpose} needs the package {package!r}, which is not installed.",
        hint=f"Install it with: pip install 'discreet[{extra}]'",
    )
