"""What recodings claim, from the method as plain data and what was found in the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import Claim

UNKNOWN_STAYS = 'codes that stand for "unknown" stayed, and nothing else in it changed'
UNKNOWN_STAYS_IN_ALL = 'codes that stand for "unknown" stayed, and nothing else in them changed'
ENDS = (("top", "above"), ("bottom", "below"))
DATES = {"month": "months", "quarter": "quarters", "year": "years"}
TIES = {"even": "halves to the even multiple", "away": "halves away from zero"}
MEDIAN_OF_ONE = "that a median may be the value of a single record"
FEW_RECORDS_ONE_UNIT = "that records behind a published mean or median may belong to one household or contributor"


def recoded_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What a recoding claims.

    ``facts`` are, for top and bottom codes, the limit of every tail, how many records lie beyond it and what they
    became; other ways need none.
    """
    left_out: tuple[str, ...] = ()
    if method.get("coded_as", "limit") != "limit":
        left_out = (FEW_RECORDS_ONE_UNIT, *((MEDIAN_OF_ONE,) if method["coded_as"] == "median" else ()))
    return Claim("recode", recoded_statement(method, facts), (), left_out)


def recoded_columns(method: Mapping[str, Any]) -> list[str]:
    """The columns that a recoding names."""
    named = method["column"]
    return [named] if isinstance(named, str) else [str(name) for name in named]


def recoded_statement(method: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """What a recoding did."""
    columns = recoded_columns(method)
    one = len(columns) == 1
    by_name = method["map"] is not None or bool(method.get("groups"))
    if by_name:
        kept = "nothing else in it changed" if one else "nothing else in them changed"
    else:
        kept = UNKNOWN_STAYS if one else UNKNOWN_STAYS_IN_ALL
    return f"{'Column' if one else 'Columns'} {', '.join(columns)}: {_how(method, facts)}; {kept}."


MOST_NUMBERS = 6


def _numbers(given: Sequence[Any]) -> str:
    """Numbers in a row, without the quotation marks that names have."""
    shown = ", ".join(number_said(number) for number in given[:MOST_NUMBERS])
    return f"{shown} and {len(given) - MOST_NUMBERS} more" if len(given) > MOST_NUMBERS else shown


def _how(method: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The way, in words."""
    if method["map"] is not None:
        return f"{counted(len(method['map']), 'code', 'have')} new codes by a stated map"
    if method.get("groups"):
        return f"codes became {counted(len(method['groups']), 'new code')} by stated groups"
    if method.get("closed"):
        return f"codes below {listed(method['closed'], 6)} of its hierarchy became these"
    if method["level"] is not None:
        return f"codes below level {method['level']} of its hierarchy became the codes above them at that level"
    if method["intervals"]:
        return f"numbers became intervals that begin at {_numbers(method['intervals'])}"
    if method.get("digits") is not None:
        return f"codes were cut to their first {counted(method['digits'], 'character')}"
    if method.get("date") is not None:
        if method["date"] == "age":
            return f"dates became ages in full years on {method['at']}"
        return f"dates became {DATES[method['date']]}"
    if method.get("base") is not None and "tails" not in facts:
        return f"numbers were rounded to multiples of {number_said(method['base'])}, {_ties(method)}"
    if "tails" in facts:
        return _tails(method, facts)
    ends = [f"values {word} {method[end]:,g} became {method[end]:,g}" for end, word in ENDS if method[end] is not None]
    return " and ".join(ends)


def _ties(method: Mapping[str, Any]) -> str:
    return TIES[method.get("ties", "even")]


def _tails(method: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Top and bottom codes: limits, numbers of records, and what became of them."""
    several = len(recoded_columns(method)) > 1
    said = [_tail(method, facts, tail, several) for tail in facts["tails"]]
    if not method.get("together"):
        return " and ".join(said)
    coded = f"{facts['coded']:,} of {counted(facts['rows'], 'record')}"
    return f"records beyond a limit in any of them were coded in all ({coded}): {' and '.join(said)}"


def _tail(method: Mapping[str, Any], facts: Mapping[str, Any], tail: Mapping[str, Any], several: bool) -> str:
    end, limit = tail["end"], number_said(tail["limit"])
    word = dict(ENDS)[end]
    beyond = f"{tail['records']:,} of {counted(facts['rows'], 'record')}"
    where = f"values {'of ' + tail['column'] + ' ' if several else ''}{word} {limit} ({_found(method, end)}{beyond})"
    became = number_said(tail["value"])
    if method.get("coded_as", "limit") != "limit" and "unit" in tail:
        became = f"their {method['coded_as']} {became}, rounded to multiples of {number_said(tail['unit'])}, "
        became += _ties(method)
    return f"{where} became {became}"


def _found(method: Mapping[str, Any], end: str) -> str:
    """How a limit was found, where it was not given."""
    weighted = f" weighted by {method['weight']}" if method.get("weight") else ""
    if method.get(f"{end}_quantile") is not None:
        return f"the quantile {method[f'{end}_quantile']:.12g}{weighted}, "
    if method.get(f"{end}_count") is not None:
        which = "largest" if end == "top" else "smallest"
        return f"at least the {method[f'{end}_count']:,} {which}{weighted}, "
    return ""


def number_said(value: Any) -> str:
    """A number with marks between thousands and no needless point; text as it is.

    Examples
    --------
    >>> number_said(1234567.0), number_said(0.25), number_said("A+")
    ('1,234,567', '0.25', 'A+')
    """
    if isinstance(value, float):
        return f"{int(value):,}" if value == int(value) else f"{value:,}"
    return f"{value:,}" if isinstance(value, int) else str(value)
