"""Filters: which records belong to the universe of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

from discreet.errors import ParameterError

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
Literal_ = str | int | float

_SHAPE = re.compile(r"\s*(?P<column>`[^`]+`|[^\s<>=!`]+)\s*(?P<operator>==|!=|<=|>=|<|>|not in\b|in\b)\s*(?P<value>.+?)\s*$")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


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

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read ``column operator value``; values are numbers, quoted text, or a list of them in brackets."""
        match = _SHAPE.match(text)
        if match is None:
            raise ParameterError(
                f"Cannot read the filter {text!r}.",
                hint="Write: column operator value, for example \"employees >= 10\" or \"region in ['N', 'S']\".",
            )
        operator = cast("Operator", match["operator"])
        inner = match["value"]
        if operator in ("in", "not in"):
            if not (inner.startswith("[") and inner.endswith("]")):
                raise ParameterError(f"The filter {text!r} needs a list in brackets after '{operator}'.")
            values = tuple(_literal(part, text) for part in re.findall(r"'[^']*'|\"[^\"]*\"|[^,\s]+", inner[1:-1]))
        else:
            values = (_literal(inner, text),)
        if not values:
            raise ParameterError(f"The filter {text!r} has an empty list.")
        return cls(match["column"].strip("`"), operator, values)

    def __str__(self) -> str:
        shown = f"{list(self.values)}" if self.operator in ("in", "not in") else repr(self.values[0])
        name = f"`{self.column}`" if re.search(r"[\s<>=!]", self.column) else self.column
        return f"{name} {self.operator} {shown}"


def parse_conditions(where: str | Condition | list[str] | tuple[str | Condition, ...] | None) -> tuple[Condition, ...]:
    """One filter or several (all must hold), in a canonical order."""
    if where is None:
        return ()
    several = [where] if isinstance(where, str | Condition) else list(where)
    parsed = {item if isinstance(item, Condition) else Condition.parse(item) for item in several}
    return tuple(sorted(parsed, key=str))


def _literal(text: str, whole: str) -> Literal_:
    quoted = _QUOTED.fullmatch(text)
    if quoted:
        return quoted[1] if quoted[1] is not None else quoted[2]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ParameterError(f"The filter {whole!r} compares with {text!r}.", hint="Put text in quotes.")
