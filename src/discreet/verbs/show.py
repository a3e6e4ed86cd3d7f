"""Releases and tables as frames and in words."""

from __future__ import annotations

from typing import Any

from discreet.errors import counted, listed
from discreet.files.frames import to_frame as frame_of
from discreet.model.claims.record_rules import rule_words, some_untold
from discreet.model.claims.records import release_left_out
from discreet.model.custodian import RecordCustodian
from discreet.model.pages import kind_of_table
from discreet.model.pivot import Pivot
from discreet.model.public import PublicTable
from discreet.model.records import HOUSEHOLD, SENSITIVE
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.relations import build_system


def to_frame(release: Release[Any], table: str | None = None, backend: str | None = None) -> Any:
    """The public part of a release as a data frame: codes, value, status.

    Parameters
    ----------
    release
        The release.
    table
        Which table, where there are several.
    backend
        ``"pyarrow"``, ``"pandas"`` or ``"polars"``; by default what the records came in.
    """
    if release.public.records is not None:
        return frame_of(release.public.records.shown(), backend or "pyarrow")
    chosen = release.public.tables[0] if table is None else release.public[table]
    return frame_of(chosen.columns(), backend or kind_of_table(release.custodian.tables.tables[0]))


def summary(release: Release[Any], *, prices: bool = False) -> str:
    """What was done, in a few lines, without confidential values.

    Parameters
    ----------
    release
        The release.
    prices
        Say what each promise of suppressed tables costs, too: the tables are protected several times for that.
    """
    if prices:
        from discreet.verbs.prices import prices as price_list

        return f"{summary(release)}\n\n{price_list(release)}"
    if isinstance(release.custodian, RecordCustodian):
        return _summary_of_records(release)
    lines = []
    for number, table in enumerate(release.custodian.tables):
        status = release.custodian.status[number]
        count = {s: int((status == s).sum()) for s in CellStatus}
        if release.custodian.published is not None:
            shown = release.custodian.published[number] != table.value * 10 ** (
                release.custodian.decimals - table.decimals
            )
            lines.append(
                f"{table.name}: {counted(len(table), 'cell')}, {count[CellStatus.UNSAFE]:,} unsafe, none withheld, "
                f"{int(shown.sum()):,} changed, all published as altered"
            )
            hidden = len(table) - len(release.public.tables[number])
            if hidden:
                lines.append(
                    f"  {counted(hidden, 'cell', 'are')} published as zero and not listed, just as empty cells are; "
                    "cells='all' lists every combination of codes"
                )
            continue
        published = count[CellStatus.SAFE] + count[CellStatus.FORCED]
        lines.append(
            f"{table.name}: {counted(len(table), 'cell')}, {count[CellStatus.UNSAFE]:,} unsafe, "
            f"{count[CellStatus.SECONDARY]:,} withheld besides, {published:,} published"
        )
    if len(release.custodian.tables) > 1:
        shared = build_system(release.custodian.tables).shared()
        lines += [f"{one} and {other} share {counted(cells, 'cell')}" for one, other, cells in shared]
    for evidence in release.custodian.evidence:
        lines.append(f"{evidence.claim.method}: {evidence.claim.statement}")
        lines += [f"  against {attacker}" for attacker in evidence.claim.attackers]
        lines += [f"  together with {text}" for text in evidence.claim.together_with]
        lines += [f"  not considered: {text}" for text in evidence.claim.not_considered]
        lines += [f"  {text}" for text in evidence.findings]
    lines += [f"note: {text}" for text in release.custodian.log.get("notes", ())]
    return "\n".join(lines)


def _summary_of_records(release: Release[RecordCustodian]) -> str:
    shown, custodian = release.public.records, release.custodian
    assert shown is not None
    hidden = [name for name in custodian.original.names if name not in shown.variables]
    lines = [
        f"{shown.name}: {counted(len(shown), 'record')}, {counted(len(shown.variables), 'column')}"
        f"{f', left out: {listed(hidden)}' if hidden else ''}"
    ]
    lines += [f"{evidence.claim.method}: {evidence.claim.statement}" for evidence in custodian.evidence]
    lines += [f"  {text}" for evidence in custodian.evidence for text in evidence.findings]
    words = [rule_words(rule) for rule in custodian.rules]
    lines += [rule.statement for rule in words]
    lines.append("Rows stand in their original order." if shown.keeps_order else "Rows stand in a random order.")
    left_out = release_left_out(
        bool(custodian.rules),
        sensitive=some_untold(custodian.rules, custodian.original.with_role(SENSITIVE)),
        households=bool(custodian.original.with_role(HOUSEHOLD)),
    )
    left_out = (*(text for rule in words for text in rule.not_considered), *left_out)
    lines += [f"not considered: {text}" for text in dict.fromkeys(left_out)]
    lines += [f"note: {text}" for text in custodian.log.get("notes", ())]
    return "\n".join(lines)


def table_to_frame(table: Table, backend: str | None = None) -> Any:
    """The cells of a table as a data frame; for the custodian's eyes."""
    return frame_of(table.columns(), backend or kind_of_table(table))


def public_to_frame(table: PublicTable, backend: str = "pyarrow") -> Any:
    """A public table as a data frame: codes, value, status.

    Parameters
    ----------
    table
        The public table.
    backend
        ``"pyarrow"``, ``"pandas"``, ``"polars"`` or ``"duckdb"``.
    """
    return frame_of(table.columns(), backend)


def pivot_to_frame(pivot: Pivot, backend: str | None = None, *, text: bool = False) -> Any:
    """One row per code, one column per code.

    Parameters
    ----------
    pivot
        The pivot.
    backend
        ``"pyarrow"``, ``"pandas"`` or ``"polars"``; by default what the data came in.
    text
        Values as they are shown, with the letters of their statuses, instead of numbers.
    """
    return frame_of(pivot.frame_columns(text), backend or pivot.source.backend)
