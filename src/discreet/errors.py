"""One root of errors. Every message says what was given, what is allowed and what to do next.

The text of an error is public: it names fields, codes, row numbers and rules, never a confidential value.
What only the custodian may see goes into ``details``, which the command line shows on the operator's own
terminal and nowhere else.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

T = TypeVar("T")


class DiscreetError(Exception):
    """Root of all errors of the package.

    Parameters
    ----------
    message
        What went wrong, in public words.
    hint
        What to do next.
    recipe_hint
        The same for whoever wrote a recipe, where it is not the hint with parameters spelt as keys.
    details
        For the custodian only: may hold confidential values.

    Examples
    --------
    >>> import discreet as ds
    >>> try:
    ...     ds.PPercent(-10)
    ... except ds.DiscreetError as error:
    ...     print(error)
    p_percent: p=-10 is not allowed. Use more than 0 up to 100.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", details: str = "", recipe_hint: str = "") -> None:
        self.message = message
        self.hint = hint
        self.details = details
        self.recipe_hint = recipe_hint
        super().__init__(f"{message} {hint}".strip())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.hint, self.recipe_hint))


def _rebuild(kind: type[DiscreetError], message: str, hint: str, recipe_hint: str) -> DiscreetError:
    return kind(message, hint=hint, recipe_hint=recipe_hint)


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


class ResourceError(DiscreetError):
    """The machine has too little memory for the work."""

    exit_code = 8


class TimeLimitReached(ProtectionError):
    """The time limit came before there was anything safe; nothing is published."""


class Cancelled(DiscreetError):
    """The work was stopped on request; nothing was written."""

    exit_code = 130

    def __init__(
        self, message: str = "Cancelled.", *, hint: str = "", details: str = "", recipe_hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint or "Nothing was written.", details=details, recipe_hint=recipe_hint)


class Enough(Cancelled):
    """The best that there is so far will do; where there is nothing yet, the work is cancelled."""


def listed(names: Iterable[object], most: int = 12) -> str:
    """Names as a readable list, cut after ``most``."""
    shown = [str(name) for name in names]
    text = ", ".join(repr(name) for name in shown[:most])
    return f"{text} and {len(shown) - most} more" if len(shown) > most else text or "none"


SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
INVARIABLE = ("can", "cannot", "could", "must", "moved")
"""Verbs that agree with any number."""


def counted(number: int, noun: str, verb: str = "") -> str:
    """A number with its noun and a verb that agrees: noun in the singular, verb (with what follows) in the plural.

    Examples
    --------
    >>> counted(1, "unsafe cell"), counted(1200, "entry of the list", "are"), counted(1, "row", "lie")
    ('1 unsafe cell', '1,200 entries of the list are', '1 row lies')
    """
    if number != 1:
        head, of, rest = noun.partition(" of ")
        ending = head[:-1] + "ies" if head.endswith("y") and head[-2] not in "aeiou" else head + "s"
        noun = f"{ending}{of}{rest}"
    elif verb:
        first, space, rest = verb.partition(" ")
        first = first if first in INVARIABLE else SINGULAR.get(first, f"{first}s")
        verb = f"{first}{space}{rest}"
    return f"{number:,} {noun} {verb}".rstrip()


def unknown_name(kind: str, name: str, available: Iterable[str], where: str = "") -> str:
    """Message for a name that is not there: what was asked, the nearest, what there is."""
    choices = list(available)
    near = get_close_matches(name, choices, n=1) or [one for one in choices if one.casefold() == name.casefold()]
    text = f"There is no {kind} {name!r}{' in ' + where if where else ''}."
    if near:
        text += f" Did you mean {near[0]!r}?"
    return f"{text} Available: {listed(choices)}."


def unknown_column(name: str, available: Iterable[str], where: str = "the data") -> InputError:
    """Error for a column that the data do not have."""
    return InputError(unknown_name("column", name, available, where))


def one_at(items: Sequence[T], place: int, where: str) -> T:
    """The item at a place, counted from 0, or from the end when negative; an error that says how many there are."""
    if not -len(items) <= place < len(items):
        raise ParameterError(
            f"There is no table number {place} in {where}.", hint=f"It has {counted(len(items), 'table')}, from 0 on."
        )
    return items[place]


def spelt(code: str) -> str:
    """A code for a message; blanks at the ends, invisible characters and composed accents are spelt out.

    Examples
    --------
    >>> print(spelt("N1"), spelt("N1\\u00a0"), spelt("Cafe\\u0301"))
    'N1' 'N1\\xa0' 'Cafe\\u0301'
    """
    odd = any(sign != " " and unicodedata.category(sign) in ("Cc", "Cf", "Zs") for sign in code)
    return ascii(code) if odd or unicodedata.normalize("NFC", code) != code else repr(code)


def unknown_codes(variable: str, counts: Mapping[str, int]) -> InputError:
    """Error for codes in the data that the hierarchy does not know, with how often each occurs."""
    worst = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{spelt(code)} ({counted(count, 'record')})" for code, count in worst[:10])
    more = f" and {counted(len(worst) - 10, 'more code')}" if len(worst) > 10 else ""
    return InputError(
        f"Variable {variable!r} has {counted(len(worst), 'code')} that its hierarchy does not have as base codes: "
        f"{shown}{more}.",
        hint="Add them to the hierarchy, map them with a code map, or leave the records out with a filter.",
    )


def missing_extra(package: str, extra: str, purpose: str) -> NeedsError:
    """Error for an optional dependency that is not installed."""
    return NeedsError(
        f"{purpose} needs the package {package!r}, which is not installed.",
        hint=f"Install it with: pip install 'discreet[{extra}]'",
    )
