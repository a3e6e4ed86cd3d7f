"""Columns before and after, as the report on a release of records shows them: what became of each, and what it cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from discreet.measures.records import changed_share, entropy_lost
from discreet.model.custodian import RecordCustodian
from discreet.model.records import NEVER_PUBLIC, code_text
from discreet.report.words import percent, plain_number

MOST_CODES = 12
CODES_OF_A_CLASSIFICATION = 200
"""A column with more different values, before or after, is described by its numbers and not code by code."""


@dataclass(frozen=True)
class ColumnLine:
    """One column on the page."""

    name: str
    role: str
    what: str
    before: str
    after: str
    empty: str
    empty_after: str
    changed: str
    lost: str


@dataclass(frozen=True)
class CodeLine:
    """How often one code occurs before and after."""

    code: str
    before: int
    after: int

    @property
    def change(self) -> str:
        """The difference, with its sign."""
        return f"{self.after - self.before:+,}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class Frequencies:
    """What became of the values of one column: code by code, or as numbers where there are too many codes."""

    name: str
    codes: tuple[CodeLine, ...]
    more: int
    numbers: tuple[tuple[str, str, str], ...]


def altered_columns(custodian: RecordCustodian) -> set[str]:
    """Columns that a step changed."""
    return {name for step in custodian.steps for name in step.changed.column_names}


def column_lines(custodian: RecordCustodian) -> list[ColumnLine]:
    """All columns of the original."""
    original, released = custodian.original, custodian.released
    altered = altered_columns(custodian)
    lines = []
    for name in original.names:
        role = original.about(name).role
        hidden = role in NEVER_PUBLIC
        what = "left out" if hidden else "altered" if name in altered else "as it was"
        what = "numbered anew" if role == "household" else what
        old, new = original[name], released[name]
        shown = not hidden and what == "altered"
        lines.append(
            ColumnLine(
                name,
                role or "–",
                what,
                f"{_distinct(old):,}",
                "–" if hidden else f"{_distinct(new):,}",
                f"{old.null_count:,}",
                "–" if hidden else f"{new.null_count:,}",
                percent(changed_share({name: old}, {name: new}), 1) if shown else "–",
                percent(entropy_lost({name: old}, {name: new}), 1) if shown else "–",
            )
        )
    return lines


def _distinct(column: Any) -> int:
    return len(column.drop_null().unique())


def frequencies(custodian: RecordCustodian) -> list[Frequencies]:
    """Changes of every altered column that is published."""
    altered = altered_columns(custodian)
    names = [name for name in custodian.original.names if name in altered]
    return [
        _of_column(name, custodian.original[name], custodian.released[name])
        for name in names
        if custodian.original.about(name).role not in NEVER_PUBLIC
    ]


def _of_column(name: str, old: Any, new: Any) -> Frequencies:
    numbers = _numbers(old, new)
    if max(_distinct(old), _distinct(new)) > CODES_OF_A_CLASSIFICATION:
        return Frequencies(name, (), 0, numbers)
    before, after = _counts(old), _counts(new)
    codes = [CodeLine(code, before[code], after[code]) for code in {**before, **after}]
    codes = sorted((one for one in codes if one.before != one.after), key=_by_change)
    return Frequencies(name, tuple(codes[:MOST_CODES]), max(len(codes) - MOST_CODES, 0), numbers)


def _by_change(line: CodeLine) -> tuple[int, str]:
    return -abs(line.after - line.before), line.code


def _counts(column: Any) -> Counter[str]:
    """How often each code occurs; an empty field has a word of its own."""
    found: Counter[str] = Counter()
    for pair in column.combine_chunks().value_counts().to_pylist():
        code = "(empty)" if pair["values"] is None else code_text(pair["values"])
        found[code] += pair["counts"]
    return found


def _numbers(old: Any, new: Any) -> tuple[tuple[str, str, str], ...]:
    """Mean, standard deviation and ends of columns of numbers, before and after."""
    import pyarrow as pa
    import pyarrow.compute as pc

    both = (old, new)
    if not all(pa.types.is_integer(one.type) or pa.types.is_floating(one.type) for one in both):
        return ()
    if any(one.null_count == len(one) for one in both):
        return ()
    measures = (("mean", pc.mean), ("standard deviation", pc.stddev), ("lowest", pc.min), ("highest", pc.max))
    lines = []
    for words, measure in measures:
        first, second = (plain_number(float(measure(one).as_py())) for one in both)
        lines.append((words, first, second))
    return tuple(lines)
