"""The public report on records: how to read the file. It sees only what is public, so it cannot tell more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.model.records import PublicColumn, PublicRecords, code_text
from discreet.report.page import render
from discreet.report.words import percent

WORDS = {"weight": "weight: how many persons a record stands for", "household": "household: who lives together"}
"""What readers are told of roles."""


@dataclass(frozen=True)
class PublicCode:
    """A code of a column, its words, and how often it stands in the public file."""

    code: str
    label: str
    records: int
    share: str


@dataclass(frozen=True)
class PublicColumnPart:
    """One column on the page."""

    name: str
    label: str
    what: str
    role: str
    distinct: int
    empty: int
    unknown: str
    codes: tuple[PublicCode, ...]


def public_records_report(records: PublicRecords, title: str, notes: Sequence[str], most_codes: int) -> str:
    """The page on public records; columns with more different values than ``most_codes`` are not listed by code."""
    parts = [_part(records, name, most_codes) for name in records.variables]
    return render(
        "public_records.html",
        title=title or f"About the published file: {records.name}",
        notes=notes,
        rows=len(records),
        columns=parts,
        altered=[part.name for part in parts if part.what == "altered"],
        order="in the order of the original file" if records.keeps_order else "in a random order",
        blanks=any(part.empty for part in parts),
    )


def _part(records: PublicRecords, name: str, most: int) -> PublicColumnPart:
    column, about = records.columns[name], records.info[name]
    distinct = len(column.drop_null().unique())
    return PublicColumnPart(
        name=name,
        label=about.label,
        what="altered" if about.altered else "as collected",
        role=WORDS.get(about.role, ""),
        distinct=distinct,
        empty=int(column.null_count),
        unknown=", ".join(_range(low, high) for low, high in about.missing),
        codes=_codes(column, about, len(records)) if distinct <= most and not about.role else (),
    )


def _range(low: Any, high: Any) -> str:
    return code_text(low) if low == high else f"{code_text(low)} to {code_text(high)}"


def _codes(column: Any, about: PublicColumn, rows: int) -> tuple[PublicCode, ...]:
    """Codes by how often they occur."""
    found = []
    for pair in column.combine_chunks().value_counts().to_pylist():
        value, records = pair["values"], int(pair["counts"])
        code = "(empty)" if value is None else code_text(value)
        label = "" if value is None else about.value_labels.get(code, "")
        found.append(PublicCode(code, label, records, percent(records, rows)))
    return tuple(sorted(found, key=lambda one: (-one.records, one.code)))
