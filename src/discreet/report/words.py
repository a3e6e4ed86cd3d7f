"""Numbers, rules and methods in words for readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import DiscreetError, counted
from discreet.model.units import unit_text
from discreet.rules import (
    Dominance,
    GroupDisclosure,
    MaxShare,
    MinContributors,
    MinFrequency,
    PPercent,
    PriorPosterior,
    Request,
    Rule,
    ZeroUnsafe,
    rule_from_record,
)

MINUS, NO_BREAK = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
LIMIT_OF_EXACT_FLOATS = 2.0**53


@dataclass(frozen=True)
class Name:
    """A code, and its label where that says more."""

    code: str
    label: str


def names_of(codes: Sequence[str], labels: Sequence[str]) -> tuple[Name, ...]:
    """Codes with their labels; a label that only repeats its code is left out."""
    return tuple(Name(code, "" if label == code else label) for code, label in zip(codes, labels, strict=True))


def count(number: int) -> str:
    """A whole number with its thousands apart.

    Examples
    --------
    >>> count(12345)
    '12,345'
    """
    return f"{number:,}".replace("-", MINUS)


def cells(number: int, kind: str = "") -> str:
    """A number of cells, in the singular where it is one.

    Examples
    --------
    >>> cells(1, "unsafe"), cells(2)
    ('1 unsafe cell', '2 cells')
    """
    return counted(number, f"{kind} cell".lstrip())


def percent(part: float, whole: float) -> str:
    """A share in per cent; small ones never become zero and large ones never everything.

    Examples
    --------
    >>> percent(1, 3), percent(0, 3), percent(1, 100_000), percent(99_999, 100_000), percent(1, 0)
    ('33.3 %', '0 %', '< 0.1 %', '> 99.9 %', '–')
    """
    if whole == 0:
        return "–"
    if part in (0, whole):
        return "0 %" if part == 0 else "100 %"
    share = 100 * part / whole
    if 0 < share < 0.05:
        return "< 0.1 %"
    return "> 99.9 %" if 99.95 <= share < 100 else f"{share:.1f} %".replace("-", MINUS)


def number(units: int, decimals: int) -> str:
    """An exact value with its thousands apart.

    Examples
    --------
    >>> number(-1234567, 2)
    '−12,345.67'
    """
    whole, point, rest = unit_text(abs(units), decimals).partition(".")
    return f"{MINUS if units < 0 else ''}{int(whole):,}{point}{rest}"


def plain_number(value: float) -> str:
    """A measured number with four digits that count and never an exponent, so that numbers beside it look alike.

    Examples
    --------
    >>> plain_number(79718.4), plain_number(2858.7), plain_number(0.123456), plain_number(0), plain_number(0.00001)
    ('79,718', '2,859', '0.1235', '0', '< 0.0001')
    """
    if value == 0:
        return "0"
    if 0 < abs(value) < 0.0001:
        return f"{'< ' if value > 0 else f'> {MINUS}'}0.0001"
    text = f"{value:,.0f}" if abs(value) >= 999.95 else f"{value:.4g}"
    return text.replace("-", MINUS)


def interval(lower: float, upper: float, decimals: int) -> str:
    """An interval in units; an infinite end is no limit.

    Examples
    --------
    >>> interval(9.0, 11.0, 0).replace(NO_BREAK, " ")
    '9 to 11'
    """
    low, up = (_rounded(end, decimals) for end in (lower, upper))
    if low is None and up is None:
        return "no limit"
    if low is None or up is None:
        return f"at most{NO_BREAK}{up}" if low is None else f"at least{NO_BREAK}{low}"
    return low if low == up else f"{low}{NO_BREAK}to {up}"


def _rounded(end: float, decimals: int) -> str | None:
    if not np.isfinite(end):
        return None
    exact = abs(end) < LIMIT_OF_EXACT_FLOATS
    return number(round(end), decimals) if exact else f"about {end / 10**decimals:.6g}"


def rule_words(record: Mapping[str, Any]) -> str:
    """What a rule calls unsafe, as one sentence; a rule that is not known is shown with its parameters."""
    try:
        said = _sentence(rule_from_record(record))
    except DiscreetError:
        said = ""
    return said or f"Rule {record.get('kind', '')}: {parameters(record, leave_out=('kind',))}."


def _sentence(rule: Rule) -> str:
    match rule:
        case PPercent(p=p, coalition=coalition):
            who = (
                "the second largest contributor"
                if coalition == 1
                else f"{counted(coalition, 'other contributor')} together"
            )
            return f"p% rule: {who} could work out the largest contribution within {p:g} %."
        case PriorPosterior(p=p, q=q):
            return f"(p, q) rule: the largest contribution, known within {q:g} % before, becomes known within {p:g} %."
        case Dominance(n=n, k=k):
            who = "the largest contributor holds" if n == 1 else f"the {n} largest contributors hold"
            return f"Dominance rule: {who} more than {k:g} % of the cell."
        case MaxShare(share=share):
            return f"Maximum share: one contributor holds more than {100 * share:g} % of the cell."
        case MinContributors(n=n):
            return f"Too few contributors: at least one, but fewer than {n}."
        case MinFrequency(n=n):
            return f"Low frequency: at least one, but fewer than {n}."
        case ZeroUnsafe():
            return "Zero cell: the value tells that every contributor has zero, or that there is none."
        case GroupDisclosure(variable=variable, k=k):
            rest = "all members" if k == 0 else f"all members but at most {k}"
            return f"Group disclosure: {rest} of a group stand in one category of {variable}."
        case Request():
            return (
                "Request rule: a contributor who asked for protection is too large in the cell, or too few are with it."
            )
    return ""


def parameters(record: Mapping[str, Any], leave_out: tuple[str, ...] = ()) -> str:
    """The parameters of a rule or method: ``p = 10, level = holding``."""
    shown = [f"{name} = {_plain(value)}" for name, value in record.items() if name not in leave_out]
    return ", ".join(shown) or "no parameters"


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple) and any(isinstance(entry, Mapping) for entry in value):
        return f"{len(value):,} {'entry' if len(value) == 1 else 'entries'}, in the log"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
