"""Structural rules: where a condition on other columns holds, a column has one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted
from discreet.model.arrays import Bools, Ints
from discreet.model.condition import Condition, conditions_in
from discreet.model.records import RecordSet
from discreet.records.synthesis.columns import holders_of
from discreet.records.value_columns import empty_rows

if TYPE_CHECKING:
    import pyarrow as pa

ORDER = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class StructuralRule:
    """A column, what must hold, in words and as conditions, and the value that it then has (``None``: empty)."""

    column: str
    text: str
    conditions: tuple[Condition, ...]
    value: Any


def read_rules(given: Mapping[str, Any]) -> dict[str, list[StructuralRule]]:
    """Rules by column, from ``{column: {condition: value}}``; the empty text stands for an empty field."""
    found: dict[str, list[StructuralRule]] = {}
    for column, lines in given.items():
        if not isinstance(lines, Mapping) or not lines:
            raise ParameterError(
                f"rules[{column!r}] takes conditions with the value that follows.",
                hint="For example rules={'marital': {'age < 15': 'single'}}.",
            )
        for text, value in lines.items():
            if not isinstance(text, str) or not (value is None or isinstance(value, str | int | float)):
                raise ParameterError(
                    f"rules[{column!r}] has a condition or a value that is neither text nor a number.",
                    hint="For example rules={'marital': {'age < 15': 'single'}}.",
                )
            conditions = conditions_in(text)
            if any(condition.column == column for condition in conditions):
                raise ParameterError(
                    f"The rule {text!r} of {column!r} looks at {column!r} itself.", hint="Name other columns in it."
                )
            rule = StructuralRule(column, text, conditions, None if value == "" else value)
            found.setdefault(column, []).append(rule)
    return found


def under_rules(rules: Sequence[StructuralRule], records: RecordSet) -> Ints:
    """The number of the first rule whose condition holds for each record; -1 for none.

    Two rules with different values for one record are refused.
    """
    found = np.full(len(records), -1, np.int64)
    for number, rule in enumerate(rules):
        holds = rule_holds(rule, records)
        for other in np.unique(found[holds & (found >= 0)]).tolist():
            if rules[other].value != rule.value:
                both = int((holds & (found == other)).sum())
                raise ProtectionError(
                    f"Rules {rules[other].text!r} and {rule.text!r} of {rule.column!r} give "
                    f"{counted(both, 'record')} different values.",
                    hint="Write conditions that exclude each other.",
                )
        found[holds & (found < 0)] = number
    return found


def refuse_contradictions(rules: Sequence[StructuralRule], records: RecordSet) -> None:
    """Refuse rules that the records do not keep, and values that a column cannot hold."""
    for rule in rules:
        wanted, holds = rule_value(records, rule), rule_holds(rule, records)
        wrong = int((holds & ~_equals(records[rule.column], wanted)).sum())
        if wrong:
            raise InputError(
                f"The rule {rule.text!r} of {rule.column!r} does not hold for {counted(wrong, 'record')} of "
                f"{int(holds.sum()):,} that it is about.",
                hint="Correct the rule, or the records.",
            )


def refuse_rules_of_few(rules: Sequence[StructuralRule], records: RecordSet, least: int) -> None:
    """Refuse rules that tell what fewer than ``least`` holders of values have.

    A rule is kept by the records it is about, and its value stands in every released record that it is about: whoever
    knows that somebody is one of the few knows the value. One that is about nobody tells nothing of anybody, and an
    empty field is no value.
    """
    holders = holders_of(records)
    for rule in rules:
        many = len(np.unique(holders.number[rule_holds(rule, records)]))
        if rule.value is not None and 0 < many < least:
            few = f"fewer than {counted(least, holders.role, 'are')}"
            raise ProtectionError(
                f"The rule {rule.text!r} gives {rule.column!r} a value, and {few} under it: it would publish what "
                "these few have.",
                hint="Write a rule that is about more of them, or leave it out. Where everybody knows the value "
                f"anyway, say so by name: rules_of_few=[{rule.column!r}].",
            )


def rule_holds(rule: StructuralRule, records: RecordSet) -> Bools:
    """The records that a rule is about."""
    holds = np.ones(len(records), np.bool_)
    for condition in rule.conditions:
        holds &= condition_holds(condition, records)
    return holds


def rule_value(records: RecordSet, rule: StructuralRule) -> pa.Scalar:
    """The value of a rule as its column holds it."""
    import pyarrow as pa

    kind = records[rule.column].type
    try:
        if rule.value is None or not pa.types.is_temporal(kind):
            return pa.scalar(rule.value, kind)
        return pa.scalar(rule.value, pa.string()).cast(kind)
    except (pa.ArrowException, TypeError, ValueError):
        raise ParameterError(
            f"The rule {rule.text!r} gives {rule.column!r} a value that a column of {kind} cannot hold.",
            hint="Write it as the records have it: text in quotes, numbers without.",
        ) from None


def condition_holds(condition: Condition, records: RecordSet) -> Bools:
    """Where a condition holds. Empty fields fulfil ``is null`` only; codes for "unknown" are not above or below."""
    column, missing = records[condition.column], records.about(condition.column).missing
    gaps = np.asarray(column.is_null().to_numpy(), np.bool_)
    if condition.operator in ("is null", "is not null"):
        return gaps if condition.operator == "is null" else ~gaps
    holds = _compared(condition, column)
    if condition.operator in ORDER and missing:
        return holds & ~empty_rows(records, condition.column)
    return holds & ~gaps


def _compared(condition: Condition, column: pa.ChunkedArray) -> Bools:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.int8() if pa.types.is_boolean(column.type) else column.type
    column = column.cast(kind)
    try:
        if pa.types.is_temporal(kind):
            values = pa.array([str(value) for value in condition.values]).cast(kind)
        else:
            number = pa.types.is_integer(kind) and any(isinstance(value, float) for value in condition.values)
            column = column.cast(pa.float64()) if number else column
            values = pa.array(list(condition.values), column.type)
    except (pa.ArrowException, TypeError, ValueError):
        raise ParameterError(
            f"The rule {str(condition)!r} compares a column of {column.type} with something else.",
            hint="Put text in quotes, and numbers without.",
        ) from None
    if condition.operator in ("in", "not in"):
        inside = np.asarray(pc.is_in(column, values).to_numpy(), np.bool_)
        return inside if condition.operator == "in" else ~inside
    compare: dict[str, Callable[[Any, Any], Any]] = {
        "==": pc.equal,
        "!=": pc.not_equal,
        "<": pc.less,
        "<=": pc.less_equal,
        ">": pc.greater,
        ">=": pc.greater_equal,
    }
    return np.asarray(compare[condition.operator](column, values[0]).fill_null(False).to_numpy(), np.bool_)


def _equals(column: pa.ChunkedArray, wanted: pa.Scalar) -> Bools:
    import pyarrow.compute as pc

    if not wanted.is_valid:
        return np.asarray(column.is_null().to_numpy(), np.bool_)
    return np.asarray(pc.equal(column, wanted).fill_null(False).to_numpy(), np.bool_)
