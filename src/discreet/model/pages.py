"""What tables, releases, hierarchies and records look like in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import counted
from discreet.model import doors
from discreet.model.address import Address
from discreet.model.display import cut_line
from discreet.model.notebook import MEANING, Chip, indented, items, listing, page, sentence
from discreet.model.pivot import PivotSide, PivotSource, pivoted
from discreet.model.table import NOT_JUDGED, CellStatus, Table

if TYPE_CHECKING:
    from discreet.model.custodian import RecordCustodian, TableCustodian
    from discreet.model.hierarchy import Hierarchy
    from discreet.model.microdata import Microdata
    from discreet.model.pattern import Pattern
    from discreet.model.public import PublicTable
    from discreet.model.records import PublicRecords, RecordAssessment
    from discreet.model.release import Release
    from discreet.model.tableset import TableSet

LINES = 30
"""So many lines of a list are shown."""
MOST_TABLES = 5


def several(pages: Sequence[str]) -> str:
    """Pages below each other."""
    return "".join(pages)


def frame_kind(source: Any) -> str:
    """Which kind of data frame to give back for data that came in one: its own kind where we make such frames."""
    package = type(source).__module__.split(".")[0].lstrip("_")
    return package if package in ("pandas", "polars", "duckdb") else "pyarrow"


def kind_of_table(table: Table) -> str:
    """Which kind of data frame the data of a table came in."""
    return table.came_as or frame_kind(getattr(table.source, "source", None))


# ---- tables -----------------------------------------------------------------------------------------------


def table_source(table: Table) -> PivotSource:
    """What a pivot shows of a table: values and statuses, for the custodian's eyes."""
    letters = [status.letter for status in CellStatus]
    if table.assessment is None:
        letters[CellStatus.SAFE] = NOT_JUDGED
    unsafe = table.unsafe

    def why(row: int) -> str:
        if table.assessment is None or not unsafe[row]:
            return ""
        return f"{table.cell_name(row)}: {'; '.join(doors.reasons(table, row))}"

    sides = [PivotSide(variable, h.codes, h.labels, h.depth.tolist(), h.total) for variable, h in table.spec.by.items()]
    return PivotSource(
        name=table.name,
        sides=tuple(sides),
        codes=table.codes,
        value=table.value,
        decimals=table.decimals,
        letters=np.array(letters)[table.status],
        hidden="E",
        zeros_left_out=False,
        backend=kind_of_table(table),
        why=why,
    )


def table_page(table: Table) -> str:
    """A table: how many cells of which status, and the first of them as rows by columns."""
    chips = [
        Chip(words, MEANING[letter][0])
        for words, letter in zip(table.counts_in_words(), _letters_of(table), strict=True)
    ]
    title = f"{table.name}: {counted(len(table), 'cell')} by {' × '.join(table.variables)}"
    remarks = "".join(map(sentence, table.remarks()))
    if not len(table):
        return page(title, chips, remarks)
    return page(title, chips, remarks, pivoted(table_source(table)).grid_html())


def _letters_of(table: Table) -> list[str]:
    found = [status for status in CellStatus if bool((table.status == int(status)).any())]
    return [status.letter for status in found]


def set_page(tables: TableSet) -> str:
    """A set: its equations, and its first tables."""
    title = f"{counted(len(tables), 'table')} protected together" if len(tables) > 1 else "One table"
    equations = items("Equations", [str(equation) for equation in tables.equations])
    shown = [table._repr_html_() for table in tables.tables[:MOST_TABLES]]
    more = len(tables) - len(shown)
    names = ", ".join(table.name for table in tables.tables[MOST_TABLES:][:LINES])
    rest = sentence(f"{counted(more, 'more table')}: {names}") if more else ""
    return several([page(title, (), equations), *shown, page("", (), rest) if rest else ""])


def pattern_page(pattern: Pattern) -> str:
    """A pattern: codes and statuses, never a value."""
    tints = {"unsafe": "u", "secondary": "m", "forced": "p", "published": ""}
    chips = [Chip(f"{pattern.count(word):,} {word}", tint) for word, tint in tints.items() if pattern.count(word)]
    return page(
        f"Pattern {pattern.name}: {counted(len(pattern), 'cell')}",
        chips,
        listing(pattern.columns(LINES)),
        _more(len(pattern), "cell", "columns()"),
    )


def _more(total: int, noun: str, see: str) -> str:
    return sentence(cut_line(total - LINES, noun, see)) if total > LINES else ""


# ---- what is public ---------------------------------------------------------------------------------------


def public_source(table: PublicTable, backend: str = "pyarrow") -> PivotSource:
    """What a pivot shows of a public table."""
    sides = []
    for k, (variable, codes) in enumerate(zip(table.variables, table.code_lists, strict=True)):
        parents = table.parents[k] if table.parents else (-1,) * len(codes)
        tops = [code for code, parent in zip(codes, parents, strict=True) if parent < 0]
        sides.append(PivotSide(variable, codes, table.labels[k], _depths(parents), tops[0] if len(tops) == 1 else None))
    return PivotSource(
        name=table.name,
        sides=tuple(sides),
        codes=table.codes,
        value=table.value,
        decimals=table.decimals,
        letters=np.array(table.status, dtype="<U1"),
        hidden="XE",
        zeros_left_out=table.altered,
        backend=backend,
    )


def _depths(parents: Sequence[int]) -> list[int]:
    """How deep each code stands; a parent may stand behind its parts."""
    depth: list[int] = []
    for start in range(len(parents)):
        place, steps = start, 0
        while parents[place] >= 0:
            place, steps = parents[place], steps + 1
        depth.append(steps)
    return depth


def public_page(table: PublicTable) -> str:
    """A public table: what is published and what is not, and its first cells as rows by columns."""
    shown = int(table.shown.sum())
    empty = int((table.empty & ~table.shown).sum())
    withheld = len(table) - shown - empty
    words = "values altered, none withheld" if table.altered else f"{shown:,} published"
    chips = [Chip(words, "a" if table.altered else "good")]
    chips += [Chip(f"{withheld:,} withheld", "x")] if withheld else []
    chips += [Chip(f"{empty:,} empty")] if empty else []
    chips += [Chip(f"{table.zeros_left_out:,} zeros not listed")] if table.zeros_left_out else []
    title = f"{table.name}: {counted(len(table), 'cell')} by {' × '.join(table.variables)}"
    return page(title, chips, pivoted(public_source(table)).grid_html() if len(table) else "")


def records_page(records: PublicRecords) -> str:
    """Public records: which columns are altered, and the first rows."""
    chips = [Chip(f"altered: {name}", "a") for name in records.altered] or [Chip("no column altered")]
    return page(
        f"{records.name}: {counted(len(records), 'record')}, {counted(len(records.variables), 'column')}",
        chips,
        listing(records.shown(LINES)),
        _more(len(records), "record", "shown()"),
    )


def release_page(release: Release[Any]) -> str:
    """The public part of a release, and where the rest is."""
    hint = "This is the public part. release.summary() says what was done, release.verify() checks it."
    return several([release.public._repr_html_(), page("", (), sentence(hint))])


# ---- what stays with the custodian ------------------------------------------------------------------------


def custodian_lines(custodian: TableCustodian) -> list[str]:
    """What a custodian's part holds, a line each; counts only."""
    lines = []
    for table, status in zip(custodian.tables, custodian.status, strict=True):
        found = {s: int((status == int(s)).sum()) for s in CellStatus}
        counts = ", ".join(f"{number:,} {s.name.lower()}" for s, number in found.items() if number)
        lines.append(f"table {table.name}: {counted(len(table), 'cell')} ({counts or 'none'})")
    lines += [f"evidence of {evidence.claim.method}" for evidence in custodian.evidence]
    lines += [f"published before: {text}" for text in custodian.already.together_with()]
    lines += ["altered values"] if custodian.published is not None else []
    lines += ["a secret key"] if custodian.key is not None else []
    return [*lines, f"log: {', '.join(map(str, custodian.log))}" if custodian.log else "no log"]


def record_custodian_lines(custodian: RecordCustodian) -> list[str]:
    """What a custodian's part of records holds, a line each; counts only."""
    original = custodian.original
    lines = [f"records {custodian.name}: {len(custodian.order):,} rows, {counted(len(original.names), 'column')}"]
    lines += [
        f"evidence of {step.evidence.claim.method}: changed {', '.join(step.changed.column_names) or 'nothing'}"
        for step in custodian.steps
    ]
    lines += ["a secret key"] if custodian.key is not None else []
    return [*lines, f"log: {', '.join(map(str, custodian.log))}" if custodian.log else "no log"]


CUSTODIAN = "Custodian's part of a release: confidential"


def custodian_text(lines: Sequence[str]) -> str:
    """What a custodian's part holds, as text."""
    return "\n".join([CUSTODIAN, *(f"  {line}" for line in lines)])


def custodian_page(lines: Sequence[str], attributes: str) -> str:
    """What a custodian's part holds, as a page."""
    return page(CUSTODIAN, [Chip("do not publish", "u")], items("It holds", lines), sentence(attributes))


# ---- hierarchies and records ------------------------------------------------------------------------------


def hierarchy_page(hierarchy: Hierarchy) -> str:
    """A hierarchy as a tree."""
    levels = int(hierarchy.depth.max(initial=0)) + 1
    chips = [
        Chip(counted(int(hierarchy.base.sum()), "base code")),
        Chip(counted(levels, "level")),
        Chip("no total" if hierarchy.total is None else f"total {hierarchy.total}"),
    ]
    rows = "".join(
        f"<tr><td>{indented(code, hierarchy.labels.get(code, ''), int(depth))}</td></tr>"
        for code, depth in zip(hierarchy.codes[:LINES], hierarchy.depth[:LINES].tolist(), strict=True)
    )
    return page(
        f"Hierarchy of {counted(len(hierarchy), 'code')}",
        chips,
        f"<table><tbody>{rows}</tbody></table>",
        _more(len(hierarchy), "code", "codes"),
    )


def microdata_page(data: Microdata) -> str:
    """Records: where they come from, and what their columns are for; never a record."""
    kind = f"a {type(data.source).__name__}{'' if data.engine == 'remote' else ' in memory'}"
    if isinstance(data.source, Path | Address):
        kind = data.source.name
    shape = getattr(data.source, "shape", None)
    size = ""
    if isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(number, int) for number in shape):
        size = f": {counted(shape[0], 'record')}, {counted(shape[1], 'column')}"
    roles = [(role.replace("_", " "), given) for role, given in data.roles_given()]
    table = listing(
        {
            "role": [role for role, _ in roles],
            "columns": [given if isinstance(given, str) else ", ".join(given) for _, given in roles],
        }
    )
    chips = [Chip(f"engine {data.engine}")] if data.engine != "memory" else []
    assessed = [data.assessment._repr_html_()] if data.assessment is not None else []
    nothing = sentence("No column has a role: every record is a contributor of its own.")
    return several([page(f"Microdata from {kind}{size}", chips, table if roles else nothing), *assessed])


def record_assessment_page(found: RecordAssessment) -> str:
    """What rules say of records."""
    total = sum(found.unsafe)
    if not found.rules:
        return page("Records: no rule was given", [Chip("nothing was judged", "warn")])
    chip = Chip("every rule holds", "good") if found.holds else Chip("some records are unsafe", "u")
    title = f"Records under {counted(len(found.rules), 'rule')}: {total:,} unsafe"
    return page(title, [chip], items("What the rules say", found.words))
