"""Filters: which records belong to the universe of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, Literal, cast, get_args

from discreet.errors import ParameterError, counted, listed

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in", "is null", "is not null"]
GAPS = ("is null", "is not null")
"""Operators that look for empty fields and compare with nothing."""
Literal_ = str | int | float

_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_SHAPE = re.compile(
    r"\s*(?P<column>`[^`]+`|[^\s<>=!`]+)"
    r"(?:\s*(?P<sign>==|!=|<=|>=|<|>)|(?:(?<=`)|\s)\s*(?P<word>not\s+in|in)(?=[\s\[]))"
    r"\s*(?P<value>.+?)\s*$",
    re.DOTALL,
)
_GAP = re.compile(r"\s*(?P<column>`[^`]+`|[^\s<>=!`]+)\s+is\s+(?P<not>not\s+)?(?:null|missing|None)\s*", re.I)
_LIST = re.compile(rf"\[\s*(?P<inner>(?:{_TEXT}|[^,\s'\"]+)(?:\s*,\s*(?:{_TEXT}|[^,\s'\"]+))*)?\s*,?\s*\]", re.DOTALL)

_AND = re.compile(rf"\s+and\s+(?=(?:[^'\"]|{_TEXT})*$)")
"""Between two conditions, and not inside of text in quotes."""


@dataclass(frozen=True)
class Condition:
    """One comparison of a column with a value or a list of values.

    Examples
    --------
    >>> Condition.parse("employees >= 10")
    Condition(column='employees', operator='>=', values=(10,))
    >>> str(Condition.parse("region in ['N', 'S']"))
    "region in ['N', 'S']"
    """

    column: str
    operator: Operator
    values: tuple[Literal_, ...]

    def __post_init__(self) -> None:
        allowed = get_args(Operator)
        if self.operator not in allowed:
            raise ParameterError(f"A filter cannot compare with {self.operator!r}.", hint=f"Use {listed(allowed)}.")
        several = self.operator in ("in", "not in")
        if self.operator in GAPS:
            fits = not self.values
        else:
            fits = bool(self.values) and (several or len(self.values) == 1)
        if not fits:
            raise ParameterError(
                f"The filter on {self.column!r} compares '{self.operator}' with {counted(len(self.values), 'value')}.",
                hint="Give one value; 'in' and 'not in' take a list of at least one, 'is null' none.",
            )
        for value in self.values:
            if (
                isinstance(value, bool)
                or not isinstance(value, Literal_)
                or not (isinstance(value, str) or isfinite(value))
            ):
                raise ParameterError(
                    f"The filter on {self.column!r} compares with {value!r}.",
                    hint="Compare with text or a finite number (1 and 0 for true and false).",
                )

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read ``column operator value``; values are numbers, quoted text, or a list of them in brackets."""
        gap = _GAP.fullmatch(text)
        if gap is not None:
            return cls(gap["column"].strip("`"), "is not null" if gap["not"] else "is null", ())
        match = _SHAPE.match(text)
        if match is None:
            equal = re.fullmatch(r"\s*([^\s<>=!]+)\s*=\s*([^=].*)", text)
            meant = f"Did you mean {equal[1]!s} == {equal[2]}? " if equal else ""
            raise ParameterError(
                f"Cannot read the filter {text!r}.",
                hint=f'{meant}Write: column operator value, for example "employees >= 10" or '
                "\"region in ['N', 'S']\".",
            )
        inner = match["value"]
        if match["word"]:
            operator = " ".join(match["word"].split())
            found = _LIST.fullmatch(inner)
            if found is None or not found["inner"]:
                raise ParameterError(
                    f"The filter {text!r} needs a list of at least one value in brackets after '{operator}'.",
                    hint="For example: region in ['N', 'S'].",
                )
            parts = re.findall(rf"{_TEXT}|[^,\s]+", found["inner"], re.DOTALL)
        else:
            operator, parts = match["sign"], [inner]
        values = tuple(_literal(part, text) for part in parts)
        return cls(match["column"].strip("`"), cast("Operator", operator), values)

    def canonical(self) -> str:
        """The condition in words that are the same however it was written: for telling universes apart."""
        return self._canonical

    @cached_property
    def _canonical(self) -> str:
        values = [int(v) if isinstance(v, float) and v.is_integer() else v for v in self.values]
        values = sorted(set(values), key=lambda v: (isinstance(v, str), v))
        alone: dict[str, Operator] = {"in": "==", "not in": "!="}
        operator = alone.get(self.operator, self.operator) if len(values) == 1 else self.operator
        return str(Condition(self.column, operator, tuple(values)))

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        shown = ", ".join(_written(value) for value in self.values)
        plain = re.fullmatch(r"[^\s<>=!`'\"\[\]]+", self.column)
        name = self.column if plain else f"`{self.column}`"
        if self.operator in GAPS:
            return f"{name} {self.operator}"
        return f"{name} {self.operator} " + (f"[{shown}]" if self.operator in ("in", "not in") else shown)


def parse_conditions(where: Any) -> tuple[Condition, ...]:
    """One filter or several (all must hold), in a canonical order: text, or expressions of polars or narwhals."""
    if where is None or (isinstance(where, tuple) and all(isinstance(item, Condition) for item in where)):
        if where is not None and len(where) == 1:
            return tuple(where)  # nothing to put in order: a list of many areas takes its time to be written out
        return tuple(sorted(set(where or ()), key=str))
    from discreet.model.expressions import conditions_of, is_expression  # needs Condition

    several = list(where) if isinstance(where, list | tuple | set | frozenset) else [where]
    parsed: set[Condition] = set()
    for item in several:
        if isinstance(item, Condition):
            parsed.add(item)
        elif isinstance(item, str):
            parsed.add(Condition.parse(item))
        elif is_expression(item):
            parsed.update(conditions_of(item))
        else:
            raise ParameterError(
                f"A filter is a {type(item).__name__}.",
                hint='Write text, such as where="employees >= 10", or an expression of polars or narwhals.',
            )
    return tuple(sorted(parsed, key=str))


def conditions_in(text: str) -> tuple[Condition, ...]:
    """Conditions that stand in one text with ``and`` between them; all must hold.

    Examples
    --------
    >>> [str(condition) for condition in conditions_in("age < 15 and job == 'this and that'")]
    ['age < 15', "job == 'this and that'"]
    """
    return tuple(Condition.parse(part) for part in _AND.split(text))


def _written(value: Literal_) -> str:
    if not isinstance(value, str):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _literal(text: str, whole: str) -> Literal_:
    if re.fullmatch(_TEXT, text, re.DOTALL):
        return re.sub(r"\\([\\'\"])", r"\1", text[1:-1])
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        number = float(text.replace("_", "?"))
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise ParameterError(
            f"The filter {whole!r} compares with {text!r}.",
            hint="Put text in quotes and numbers without; give several filters as a list.",
        )
    return number
