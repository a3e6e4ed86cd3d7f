"""Recoded columns: every value is what the stated recoding makes of the original one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import counted
from discreet.model.claims.recoding import recoded_claim
from discreet.model.hierarchy import Hierarchy
from discreet.verify.records.context import CheckedStep, distinct_pairs
from discreet.verify.records.recoded_numbers import as_text, plain_text, rounded_value, to_number, wrongly_rounded
from discreet.verify.records.recoded_tails import check_tails
from discreet.verify.records.words import is_unknown

if TYPE_CHECKING:
    import pyarrow as pa

WAYS = ("map", "groups", "closed", "level", "intervals", "digits", "date", "base")
TAILS = tuple(f"{end}{how}" for end in ("top", "bottom") for how in ("", "_quantile", "_count"))
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
Wanted = Callable[[Any], Any]


def check_recoded(step: CheckedStep) -> None:
    """The columns that are named changed, and in no other way than the method says."""
    method, before = step.method, len(step.verdict.refused)
    named = method["column"]
    columns = [named] if isinstance(named, str) else [str(name) for name in named]
    if set(step.changed) != set(columns):
        step.refuse(f"other columns changed than {'the one that is' if len(columns) == 1 else 'those that are'} named")
        return
    ways = [way for way in WAYS if method.get(way) not in (None, (), [], {})]
    tails = [name for name in TAILS if method.get(name) is not None]
    if method.get("coded_as", "limit") != "limit":
        ways = [way for way in ways if way != "base"]
    if len(ways) + bool(tails) != 1:
        step.refuse("the recoding says how in no way, or in several")
        return
    if method.get("base") is not None and not method["base"] > 0:
        step.refuse("numbers are said to be rounded to multiples of a number that is not above zero")
        return
    facts: Mapping[str, Any] = {}
    if tails and (step.evidence.facts or set(tails) - {"top", "bottom"} or len(columns) > 1):
        facts = step.evidence.facts
        check_tails(step, columns)
    else:
        for column in columns:
            _check_column(step, column, ways[0] if ways else "")
        if step.evidence.facts:
            step.refuse("facts are stated that the recoding does not rest on")
    claim = recoded_claim(method, facts)
    step.claims(claim)
    step.verdict.prove(claim.statement, before)


def _check_column(step: CheckedStep, column: str, way: str) -> None:
    """Every value of a column against what the way makes of it; no way are limits that are stated themselves."""
    method, old, new = step.method, step.before[column], step.changed[column]
    missing = () if way in ("map", "groups") else step.original.about(column).missing
    as_they_were = way in ("", "base")
    if as_they_were and str(old.type) in ("int64", "double") and not missing:
        if way == "base":
            wrong = wrongly_rounded(old, new, method["base"], method.get("ties", "even"))
        else:
            wrong = _wrongly_limited(old, new, method["top"], method["bottom"])
    else:
        wanted = _wanted(step, way, column, missing)
        if wanted is None:
            return
        wrong = 0
        if way == "date" and str(old.type) == "timestamp[us]" and not missing:
            old = old.cast("date32", safe=False)  # few days stand for many times of day
        pairs = distinct_pairs(old, new)
        all_text = way == "date" and any(is_unknown(value, missing) for value, _ in pairs if value is not None)
        for original, published in pairs:
            if original is None:
                expected = None
            elif is_unknown(original, missing):
                expected = original if as_they_were else as_text(original)
            else:
                expected = str(wanted(original)) if all_text else wanted(original)
            wrong += type(published) is not type(expected) or published != expected
    if wrong:
        step.refuse(f"{counted(wrong, 'kind')} of values are not what the recoding makes of them", column)


def _wanted(step: CheckedStep, way: str, column: str, missing: Sequence[tuple[Any, Any]]) -> Wanted | None:
    """What each value must become."""
    method = step.method
    if way == "map":
        table = dict(method["map"])
        _refuse_unnamed(step, column, table)
        return lambda value: table.get(as_text(value), as_text(value))
    if way == "groups":
        return _by_groups(step, column)
    if way in ("level", "closed"):
        hierarchy = step.original.hierarchies.get(column)
        if hierarchy is None:
            step.refuse("the hierarchy of the column is missing", column)
            return None
        lines = _lines(hierarchy)
        if way == "level":
            level = int(method["level"])
            return lambda value: _at(lines.get(as_text(value)), level)
        nodes = {str(node).strip() for node in method["closed"]}
        return lambda value: _first_of(lines.get(as_text(value)), nodes)
    if way == "intervals":
        begins = [to_number(begin) for begin in method["intervals"]]
        known = [value for value in step.before[column].unique().to_pylist() if value is not None]
        whole = all(_is_whole(value) for value in known if not is_unknown(value, missing))
        names = list(method["names"]) or _names(begins, whole)
        return lambda value: names[sum(begin <= to_number(value) for begin in begins)]
    if way == "digits":
        return lambda value: as_text(value)[: int(method["digits"])]
    if way == "date":
        return lambda value: _period(value, method["date"], method.get("at"))
    if way == "base":
        return lambda value: rounded_value(value, method["base"], method.get("ties", "even"))
    return lambda value: _limited(value, method["top"], method["bottom"])


def _by_groups(step: CheckedStep, column: str) -> Wanted | None:
    """Codes by groups: first what is named, then ranges, compared as right-justified text; never in two groups."""
    groups = {new: [old] if isinstance(old, str) else list(old) for new, old in step.method["groups"].items()}
    unknown = step.original.about(column).missing
    found: dict[str, str] = {}
    values = [value for value in step.before[column].unique().to_pylist() if value is not None]
    known = {as_text(value).strip() for value in values if not is_unknown(value, unknown)}
    for value in values:
        code = as_text(value)
        asked = [known, {code.strip()}][is_unknown(value, unknown)]
        new = {n for n, parts in groups.items() for part in parts if _means(part, code.strip(), asked, value, unknown)}
        if len(new) > 1:
            step.refuse("groups give a code two new codes", column)
            return None
        if new:
            found[code] = new.pop()
    _refuse_unnamed(step, column, found)
    found = {as_text(value): found.get(as_text(value), as_text(value)) for value in values}
    return lambda value: found[as_text(value)]


def _refuse_unnamed(step: CheckedStep, column: str, named: Mapping[str, str]) -> None:
    """Refuse a recoding that is said to name all codes and does not."""
    unknown = step.original.about(column).missing
    values = (value for value in step.before[column].unique().to_pylist() if value is not None)
    if step.method.get("complete") and any(as_text(v) not in named and not is_unknown(v, unknown) for v in values):
        step.refuse("a code stayed although all are said to be named", column)


def _means(part: str, code: str, known: set[str], value: Any, unknown: Sequence[tuple[Any, Any]]) -> bool:
    """Whether a part of a group names a code. A part that is itself a code is no range."""
    if part.strip() in known or "-" not in part:
        return part.strip() == code
    if is_unknown(value, unknown):
        return False
    low, high = (end.strip() for end in part.split("-", 1))
    width = max(len(code), len(low), len(high))
    here = code.rjust(width)
    return (not low or low.rjust(width) <= here) and (not high or here <= high.rjust(width))


def _wrongly_limited(old: pa.ChunkedArray, new: pa.ChunkedArray, top: Any, bottom: Any) -> int:
    """How many numbers are not what the limits make of them; gaps must stay gaps."""
    if new.type != old.type or not old.is_null().equals(new.is_null()):
        return len(old)
    before, after = (np.asarray(column.drop_null().to_numpy()) for column in (old, new))
    expected = before.copy()
    if top is not None:
        expected[before > top] = top
    if bottom is not None:
        expected[before < bottom] = bottom
    return int((expected != after).sum())


def _limited(value: Any, top: Any, bottom: Any) -> Any:
    number = to_number(value)
    limit = None
    if top is not None and number > to_number(top):
        limit = top
    if bottom is not None and number < to_number(bottom):
        limit = bottom
    if limit is None:
        return value
    if isinstance(value, str):
        return plain_text(to_number(limit))
    return type(value)(limit)


def _lines(hierarchy: Hierarchy) -> dict[str, list[str]]:
    """For each code the codes from the uppermost down to it, from the groupings alone: the first that has it counts."""
    parent: dict[str, str] = {}
    for grouping in hierarchy.groupings:
        for part, _ in grouping.parts:
            parent.setdefault(part, grouping.parent)
    found = {}
    for code in hierarchy.codes:
        line = [code]
        while line[-1] in parent and len(line) <= len(hierarchy.codes):
            line.append(parent[line[-1]])
        found[code] = line[::-1]
    return found


def _at(line: list[str] | None, level: int) -> str | None:
    return None if line is None else line[min(level, len(line) - 1)]


def _first_of(line: list[str] | None, nodes: set[str]) -> str | None:
    return None if line is None else next((code for code in line if code.strip() in nodes), line[-1])


def _period(value: Any, to: str, at: Any) -> str | int:
    """What is left of a date: text for months and quarters, whole numbers for years and ages."""
    text = str(value)[:10] if not isinstance(value, str) else value
    if not DAY.fullmatch(text):
        raise ValueError("no date")
    day = date.fromisoformat(text)
    if to == "age":
        last = date.fromisoformat(str(at))
        years = last.year - day.year
        if day > last:
            raise ValueError("born later")
        return years - (f"{last:%m%d}" < f"{day:%m%d}")
    if to == "year":
        return day.year
    return {"month": text[:7], "quarter": f"{text[:4]}-Q{-(-day.month // 3)}"}[to]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and "." not in value)


def _names(begins: Sequence[Decimal], whole: bool) -> list[str]:
    """Names of intervals: what lies below the first, between two, and from the last on."""
    found = [f"<{plain_text(begins[0])}"]
    for low, high in pairwise(begins):
        if whole and low == int(low) and high == int(high):
            found.append(plain_text(low) if high - low == 1 else f"{plain_text(low)}-{plain_text(high - 1)}")
        else:
            found.append(f"{plain_text(low)} to <{plain_text(high)}")
    return [*found, f"{plain_text(begins[-1])}+"]
