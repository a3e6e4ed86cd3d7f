"""Filters written as expressions of polars or narwhals, as the conditions that they stand for.

A filter is part of what a table *is*: it tells universes apart and stands in the release, so that it must be words.
What has no such words is refused.
"""

from __future__ import annotations

import json
from typing import Any, cast

from discreet.errors import ParameterError
from discreet.model.condition import Condition, Operator

COMPARED = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
NAMED = {"__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "in": "not in",
    "not in": "in",
    "is null": "is not null",
    "is not null": "is null",
}
"""What a condition becomes behind ``~``: an empty field meets neither, in polars and here, but for the last two."""


def is_expression(where: Any) -> bool:
    """Whether something is an expression of polars or narwhals."""
    return type(where).__name__ == "Expr" and type(where).__module__.split(".")[0] in ("polars", "narwhals")


def conditions_of(expression: Any) -> list[Condition]:
    """The conditions that an expression stands for, which must all hold.

    Examples
    --------
    >>> import narwhals as nw
    >>> [str(condition) for condition in conditions_of((nw.col("size") >= 10) & nw.col("region").is_in(["N", "S"]))]
    ['size >= 10', "region in ['N', 'S']"]
    """
    try:
        if type(expression).__module__.startswith("polars"):
            return _of_polars(json.loads(expression.meta.serialize(format="json")))
        return _of_narwhals(expression)
    except (KeyError, ValueError, TypeError, AttributeError, IndexError):
        raise _not_read(expression) from None


def _not_read(expression: Any) -> ParameterError:
    return ParameterError(
        f"The filter {expression!s:.200} cannot be put into words.",
        hint="Compare columns with values (==, !=, <, <=, >, >=, is_in, is_between, is_null) and join by &; or write "
        "text, where=[\"employees >= 10\", \"region in ['N', 'S']\"].",
    )


def _made(column: str, operator: str, *values: Any) -> Condition:
    plain = tuple(int(value) if isinstance(value, bool) else value for value in values)
    return Condition(column, cast("Operator", operator), plain)


def _opposite(conditions: list[Condition]) -> list[Condition]:
    [one] = conditions  # not (a and b) is no list of conditions that all hold
    return [_made(one.column, OPPOSITE[one.operator], *one.values)]


def _of_polars(tree: Any) -> list[Condition]:
    if "BinaryExpr" in tree:
        parts = tree["BinaryExpr"]
        if parts["op"] == "And":
            return [*_of_polars(parts["left"]), *_of_polars(parts["right"])]
        operator = COMPARED[parts["op"]]
        if "Column" in parts["left"]:
            return [_made(parts["left"]["Column"], operator, _literal(parts["right"]))]
        return [_made(parts["right"]["Column"], MIRRORED[operator], _literal(parts["left"]))]
    parts = tree["Function"]
    kind, given = parts["function"]["Boolean"], parts["input"]
    if kind == "Not":
        return _opposite(_of_polars(given[0]))
    column = given[0]["Column"]
    if kind in ("IsNull", "IsNotNull"):
        return [_made(column, "is null" if kind == "IsNull" else "is not null")]
    if "IsIn" in kind and not kind["IsIn"]["nulls_equal"]:
        return [_made(column, "in", *_listed_literal(given[1]))]
    closed = kind["IsBetween"]["closed"]
    lower, upper = (_literal(item) for item in given[1:])
    return [
        _made(column, ">=" if closed in ("Both", "Left") else ">", lower),
        _made(column, "<=" if closed in ("Both", "Right") else "<", upper),
    ]


def _literal(tree: Any) -> Any:
    [kind] = tree["Literal"].values()
    [value] = kind.values()
    if not isinstance(value, str | int | float):
        raise ValueError(value)
    return value


def _listed_literal(tree: Any) -> list[Any]:
    """A list of values, which polars keeps as a stream of Arrow."""
    import pyarrow as pa

    content = bytes(tree["Literal"]["Scalar"]["List"])
    with pa.ipc.open_stream(content) as stream:
        table = stream.read_all()
    return list(table.column(0).to_pylist())


def _of_narwhals(expression: Any) -> list[Condition]:
    nodes = list(expression._nodes)
    last = nodes[-1]
    before = nodes[:-1]
    if last.name == "__and__":
        return [*_of_narwhals(_Nodes(before)), *_of_narwhals(last.exprs[0])]
    if last.name == "__invert__":
        return _opposite(_of_narwhals(_Nodes(before)))
    [column] = before
    [name] = column.kwargs["names"]
    if column.name != "col":
        raise ValueError(column.name)
    if last.name in NAMED:
        [value] = last.exprs
        if not isinstance(value, str | int | float):
            raise TypeError(value)
        return [_made(name, NAMED[last.name], value)]
    if last.name == "is_null":
        return [_made(name, "is null")]
    if last.name == "is_in":
        return [_made(name, "in", *last.kwargs["other"])]
    raise ValueError(last.name)


class _Nodes:
    """The beginning of an expression of narwhals."""

    def __init__(self, nodes: list[Any]) -> None:
        self._nodes = nodes
