"""What is wrong with columns of records: one place for the words, whichever engine finds out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.errors import InputError, counted, spelt
from discreet.model.alike import plain
from discreet.model.arrays import LARGEST


def empty_codes(variable: str, count: int) -> InputError:
    """Records without a code."""
    return InputError(
        f"Variable {variable!r} is empty in {counted(count, 'record')}.",
        hint=f"Give Microdata(missing={{{variable!r}: code}}) to count them under a code, or filter them out.",
    )


def empty_contributors(name: str, count: int) -> InputError:
    """Records that belong to nobody."""
    return InputError(
        f"Contributor column {name!r} is empty in {counted(count, 'record')}.",
        hint="Every record must say whom it belongs to; give lone records an identifier of their own.",
    )


PLAIN_TEXT = "[!-~\u00c0-\u024f]+(?: [!-~\u00c0-\u024f]+)*"
"""Text that is as it looks: letters, digits and signs of Latin scripts with single blanks between them."""
NOT_PLAIN = "[^ -~\u00c0-\u024f]|^ | $|  "
"""The same the other way round, for engines in which the end of a text is before its last line break."""


def refuse_alike_contributors(name: str, odd: Sequence[str], among: Callable[[list[str]], list[str]]) -> None:
    """Refuse contributors who differ only by what nobody sees, because one would count as two.

    Parameters
    ----------
    name
        The column.
    odd
        Distinct contributors that :data:`PLAIN_TEXT` does not describe.
    among
        Gives those of some texts that are contributors.
    """
    first: dict[str, str] = {}
    pair: tuple[str, str] | None = None
    for who in odd:
        other = first.setdefault(plain(who), who)
        pair = pair or (None if other == who else (other, who))
    there = among([text for text, who in first.items() if text != who]) if pair is None else []
    if there:
        pair = (there[0], first[there[0]])
    if pair is not None:
        raise InputError(
            f"Contributor column {name!r} has two contributors that look the same: they differ by blanks, invisible "
            "characters or the composition of accents, and would count as two.",
            hint="Write each contributor one way, for example without blanks at the ends.",
            details=f"{spelt(pair[0])} and {spelt(pair[1])}",
        )


def not_positive(name: str, count: int, first: int | None, decimals: int) -> InputError:
    """Weights of zero or less, or so small that they are rounded to zero."""
    where = "" if first is None else f", first in record {first + 1}"
    return InputError(
        f"In weight column {name!r} {counted(count, 'value', 'are')} not positive{where}.",
        hint=f"Weights must be greater than zero and are taken with {counted(decimals, 'decimal')} at most; leave "
        "records out "
        "with a filter instead.",
    )


def bad_requests(name: str) -> InputError:
    """Requests that are none."""
    return InputError(f"Request column {name!r} must hold 0, 1 or 2.", hint="0 stands for no request.")


def bad_flags(name: str) -> InputError:
    """Neither true nor false."""
    return InputError(f"Column {name!r} must hold true or false (or 1 and 0).")


def bad_record_keys(name: str, whole: bool) -> InputError:
    """Record keys out of range."""
    if whole:
        return InputError(f"Record keys in column {name!r} must lie in 0 .. {2**31 - 1}.")
    return InputError(f"Record keys in column {name!r} must be fractions in [0, 1) or whole numbers.")


def refuse_large_sums(name: str | None, *totals: float) -> None:
    """Refuse a column whose absolute values add up to more than 64-bit integers hold."""
    if max(totals) >= LARGEST:
        raise InputError(
            f"Column {name or 'count'!r} is too large for exact 64-bit sums{' with its weights' * (len(totals) > 1)}.",
            hint="Express the column in a larger unit (thousands), or give weights with fewer decimals.",
        )
