"""Recoded columns: every value is what the stated recoding makes of the original one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import counted
from discreet.model.claims.records import recoded_claim
from discreet.model.hierarchy import Hierarchy
from discreet.verify.records.context import CheckedStep, distinct_pairs
from discreet.verify.records.words import is_unknown

if TYPE_CHECKING:
    import pyarrow as pa


def check_recoded(step: CheckedStep) -> None:
    """The one column that is named changed, and in no other way than the method says."""
    method, before = step.method, len(step.verdict.refused)
    column = str(method["column"])
    if set(step.changed) != {column}:
        step.refuse("other columns changed than the one that is named")
        return
    old, new = step.before[column], step.changed[column]
    limited = method["map"] is None and method["level"] is None and not method["intervals"]
    missing = () if method["map"] is not None else step.original.about(column).missing
    if limited and _holds_numbers(old) and not missing:
        wrong = _wrongly_limited(old, new, method["top"], method["bottom"])
    else:
        wanted = _wanted(step, method, column, missing)
        if wanted is None:
            return
        wrong = 0
        for original, published in distinct_pairs(old, new):
            if original is None:
                expected = None
            elif is_unknown(original, missing):
                expected = original if limited else _text(original)
            else:
                expected = wanted(original)
            wrong += type(published) is not type(expected) or published != expected
    if wrong:
        step.refuse(f"{counted(wrong, 'kind')} of values are not what the recoding makes of them", column)
    claim = recoded_claim(method, {})
    step.claims(claim)
    step.verdict.prove(claim.statement, before)


def _wanted(
    step: CheckedStep, method: Mapping[str, Any], column: str, missing: Sequence[tuple[Any, Any]]
) -> Callable[[Any], Any] | None:
    """What each value must become."""
    if method["map"] is not None:
        table = dict(method["map"])
        return lambda value: table.get(_text(value), _text(value))
    if method["level"] is not None:
        hierarchy = step.original.hierarchies.get(column)
        if hierarchy is None:
            step.refuse("the hierarchy of the column is missing", column)
            return None
        above = _above(hierarchy, int(method["level"]))
        return lambda value: above.get(_text(value))
    if method["intervals"]:
        begins = [_number(begin) for begin in method["intervals"]]
        known = [value for value in step.before[column].unique().to_pylist() if value is not None]
        whole = all(_is_whole(value) for value in known if not is_unknown(value, missing))
        names = list(method["names"]) or _names(begins, whole)
        return lambda value: names[sum(begin <= _number(value) for begin in begins)]
    return lambda value: _limited(value, method["top"], method["bottom"])


def _holds_numbers(column: pa.ChunkedArray) -> bool:
    return str(column.type) in ("int64", "double")


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
    number = _number(value)
    limit = None
    if top is not None and number > _number(top):
        limit = top
    if bottom is not None and number < _number(bottom):
        limit = bottom
    if limit is None:
        return value
    if isinstance(value, str):
        return _plain(_number(limit))
    return type(value)(limit)


def _above(hierarchy: Hierarchy, level: int) -> dict[str, str]:
    """The code at a level that each code stands under, from the groupings alone: the first that has it as a part."""
    parent: dict[str, str] = {}
    for grouping in hierarchy.groupings:
        for part, _ in grouping.parts:
            parent.setdefault(part, grouping.parent)
    found = {}
    for code in hierarchy.codes:
        line = [code]
        while line[-1] in parent and len(line) <= len(hierarchy.codes):
            line.append(parent[line[-1]])
        line.reverse()
        found[code] = line[level] if level < len(line) else code
    return found


def _text(value: Any) -> str:
    """A value as its code."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _plain(Decimal(repr(value)))
    return str(value)


def _number(value: Any) -> Decimal:
    try:
        return Decimal(repr(value) if isinstance(value, float) else str(value))
    except InvalidOperation:
        raise ValueError("no number") from None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and "." not in value)


def _plain(number: Decimal) -> str:
    return str(int(number)) if number == int(number) else repr(float(number))


def _names(begins: Sequence[Decimal], whole: bool) -> list[str]:
    """Names of intervals: what lies below the first, between two, and from the last on."""
    found = [f"<{_plain(begins[0])}"]
    for low, high in pairwise(begins):
        if whole and low == int(low) and high == int(high):
            found.append(_plain(low) if high - low == 1 else f"{_plain(low)}-{_plain(high - 1)}")
        else:
            found.append(f"{_plain(low)} to <{_plain(high)}")
    return [*found, f"{_plain(begins[-1])}+"]
