"""What was done to the columns of a file, for its report: which codes became which, and which fields were emptied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.model.custodian import RecordCustodian, RecordStep
from discreet.model.records import code_text
from discreet.report.words import count

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CODES, MOST_OLD = 60, 12
"""So many new codes of a column are listed, each with so many of the old ones; codes that stayed are not."""


@dataclass(frozen=True)
class NewCode:
    """A code after recoding, the codes that became it, and how many records have it."""

    code: str
    old: str
    records: str


@dataclass(frozen=True)
class RecodedColumn:
    """A column that was recoded: its codes before and after."""

    name: str
    before: str
    after: str
    codes: tuple[NewCode, ...]
    more: int


@dataclass(frozen=True)
class EmptiedColumn:
    """How many fields of a column were emptied, and what it was taken to be worth."""

    name: str
    importance: str
    emptied: str
    share: str


def recoded_columns(custodian: RecordCustodian) -> list[RecodedColumn]:
    """Columns that a recoding changed, step by step."""
    found = []
    for step, before in _steps(custodian):
        if step.evidence.claim.method == "recode":
            found += [_recoded(name, before[name], step.changed[name]) for name in step.changed.column_names]
    return found


def _steps(custodian: RecordCustodian) -> Iterator[tuple[RecordStep, dict[str, pa.ChunkedArray]]]:
    """Every step, with the columns as it found them."""
    last = {name: custodian.original.columns[name] for name in custodian.original.names}
    for step in custodian.steps:
        yield step, dict(last)
        last.update({name: step.changed[name] for name in step.changed.column_names})


def _recoded(name: str, before: pa.ChunkedArray, after: pa.ChunkedArray) -> RecodedColumn:
    import pyarrow as pa

    pairs = pa.table({"old": before, "new": after}).group_by(["old", "new"]).aggregate([([], "count_all")])
    became: dict[str, list[str]] = {}
    records: dict[str, int] = {}
    columns = (pairs[column].to_pylist() for column in ("old", "new", "count_all"))
    for old, new, many in sorted(zip(*columns, strict=True), key=lambda row: tuple(map(_shown, row[:2]))):
        became.setdefault(_shown(new), []).append(_shown(old))
        records[_shown(new)] = records.get(_shown(new), 0) + many
    changed = {code: old for code, old in became.items() if old != [code]}
    codes = [NewCode(code, _some(changed[code]), count(records[code])) for code in sorted(changed)[:MOST_CODES]]
    distinct = len({old for group in became.values() for old in group})
    return RecodedColumn(name, count(distinct), count(len(became)), tuple(codes), len(changed) - len(codes))


def _some(codes: list[str]) -> str:
    more = f" and {len(codes) - MOST_OLD:,} more" if len(codes) > MOST_OLD else ""
    return ", ".join(codes[:MOST_OLD]) + more


def _shown(value: Any) -> str:
    return "(empty)" if value is None else code_text(value)


def emptied_columns(custodian: RecordCustodian) -> list[EmptiedColumn]:
    """Columns that local suppression was about, with the fields that it emptied in each."""
    found = []
    rows = max(len(custodian.original), 1)
    for step in custodian.steps:
        if step.evidence.claim.method != "local_suppress":
            continue
        facts, importance = step.evidence.facts, step.evidence.method["importance"]
        for name, number in zip(facts["keys"], facts["blanks"], strict=True):
            worth = f"{importance.get(name, 1.0):,g}"
            found.append(EmptiedColumn(name, worth, count(number), f"{100 * number / rows:.1f} %"))
    return found
