"""What a public file of records may say of its columns, by code of the checker's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.model.custodian import RecordCustodian
from discreet.model.records import PublicColumn

if TYPE_CHECKING:
    import pyarrow as pa

Ranges = Sequence[tuple[Any, Any]]
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def code_of(value: Any) -> str:
    """A value as labels and codes for "unknown" call it."""
    if value is True or value is False:
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else repr(value)
    return str(value)


def is_unknown(value: Any, ranges: Ranges) -> bool:
    """Whether a value lies in one of the ranges of codes for "unknown"."""
    code = code_of(value)
    for low, high in ranges:
        if isinstance(low, str):
            found = code == low
        else:
            number = as_number(code)
            found = number is not None and low <= number <= high
        if found:
            return True
    return False


def as_number(code: str) -> float | None:
    """The number that a code writes; nothing where it writes none."""
    return float(code) if NUMBER.fullmatch(code) else None


def expected_words(custodian: RecordCustodian, public: pa.Table) -> Mapping[str, PublicColumn]:
    """What is said of every public column.

    Labels of codes, formats and levels of measurement go with the codes: a column whose codes were changed has none but
    those that its last recoding states, and one whose codes were only emptied, drawn or exchanged has its own; both for
    codes that occur. Codes for "unknown" stay where they still occur.
    """
    changed = {name for step in custodian.steps for name in step.changed.column_names}
    others = {
        name
        for step in custodian.steps
        if step.evidence.claim.method
        not in ("blank_values", "local_suppress", "pram", "rank_swap", "shuffle", "swap", "synthesise")
        for name in step.changed.column_names
    }
    found = {}
    for name in public.column_names:
        about = custodian.original.about(name)
        if about.role == "household":
            found[name] = PublicColumn(altered=True, label=about.label, role="household")
            continue
        role = "weight" if about.role == "weight" else ""
        if name in others:
            labels, unknown = _stated(custodian, name)
            codes = {code_of(value) for value in public[name].unique().to_pylist()} if labels else set()
            ranges = [*about.missing, *((code, code) for code in unknown if (code, code) not in about.missing)]
            left = {code: labels[code] for code in sorted(labels) if code in codes}
            found[name] = PublicColumn(True, about.label, left, _left(public[name], ranges), "", role)
        elif name in changed:
            there = {code_of(value) for value in set(public[name].unique().to_pylist()) - {None}}
            labels = {code: words for code, words in about.value_labels.items() if code in there}
            missing = _left(public[name], about.missing)
            words = (about.label, labels, missing, about.format, role, about.measure)
            found[name] = PublicColumn(True, *words, _cut_by_digits(custodian, name))
        else:
            words = (about.label, dict(about.value_labels), tuple(about.missing), about.format, role, about.measure)
            found[name] = PublicColumn(False, *words, _cut_by_digits(custodian, name))
    return found


def _cut_by_digits(custodian: RecordCustodian, name: str) -> bool:
    """Whether every code above another is the other without its last digit, up to the total."""
    hierarchy = custodian.original.hierarchies.get(name)
    if hierarchy is None:
        return False
    first: dict[str, str] = {}
    for grouping in hierarchy.groupings:
        for part, _ in grouping.parts:
            if part != hierarchy.total and part not in hierarchy.missing:
                first.setdefault(part, grouping.parent)
    long = any(len(code) > 1 for code in first)
    return long and all((code[:-1] or hierarchy.total) == parent for code, parent in first.items())


def _stated(custodian: RecordCustodian, name: str) -> tuple[Mapping[str, str], Sequence[str]]:
    """Labels and codes for "unknown" that the last recoding of a column states of its new codes."""
    for step in reversed(custodian.steps):
        method = step.evidence.method
        if name in step.changed.column_names and method.get("method") == "recode":
            return method.get("labels", {}), method.get("unknown", ())
    return {}, ()


def _left(column: pa.ChunkedArray, ranges: Ranges) -> tuple[tuple[Any, Any], ...]:
    values = set(column.unique().to_pylist()) - {None} if ranges else set()
    if str(column.type) == "string":
        return tuple((code, code) for code in sorted(code for code in values if is_unknown(code, ranges)))
    return tuple((low, high) for low, high in ranges if any(is_unknown(value, [(low, high)]) for value in values))
