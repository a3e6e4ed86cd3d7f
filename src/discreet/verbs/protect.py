"""Tables and methods to releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from discreet.errors import NeedsError, ParameterError, counted, listed
from discreet.keys import Key, find_key
from discreet.model.already import AlreadyPublished
from discreet.model.arrays import Ints
from discreet.model.evidence import Parts
from discreet.model.microdata import Microdata
from discreet.model.release import Custodian, Release
from discreet.model.spec import TableSpec
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, as_set
from discreet.relations import System, build_system
from discreet.relations.adding import undeclared_sums
from discreet.rules.base import Rule
from discreet.tables.memory import require_memory
from discreet.tables.method import Method, Outcome
from discreet.tables.needs import check_needs
from discreet.verbs.already import Items, gather
from discreet.verbs.assess import assess
from discreet.verbs.cost_variables import with_cost_variable
from discreet.verbs.given_files import with_files_read
from discreet.verbs.tabulate import tabulate

MADE_KEY = (
    "A new secret key was made, and is saved with the release (custodian/key.txt). Give it as key_file= to later "
    "releases: with another key the same units are altered in another way, and both together tell more."
)


def protect(
    subject: Table | TableSet | Microdata,
    *methods: Method | Sequence[Method],
    tables: TableSpec | Sequence[TableSpec] | None = None,
    rules: Sequence[Rule] = (),
    already_published: Items = None,
    key: Key | None = None,
    parts: Parts | None = None,
) -> Release:
    """Make a table or set safe to publish.

    Parameters
    ----------
    subject
        Assessed tables; or records, with the tables to be made of them.
    *methods
        One method, or several that act in order.
    tables
        What to tabulate, where records are given.
    rules
        The rules that tables of records are assessed by; without rules no cell is called unsafe.
    already_published
        What is out already, and what else comes out: releases or their folders, :class:`PublishedCells` of others,
        and :class:`Figure` for numbers derived from cells. A mapping gives them names. The release is protected
        together with all of it.
    key
        The key that a method draws with, in place of its key file, the environment or a new one.
    parts
        What the method needs besides the cells, from the evidence of an earlier release; asked for where left out.

    Returns
    -------
    Release
        With the public part, and for the custodian the original cells, the evidence and the log.

    Raises
    ------
    ProtectionError
        When the cells cannot be protected; nothing is published then.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> release = ds.protect(table, ds.Suppress())
    >>> release.verify().holds
    True
    """
    method = with_files_read(_only_method(methods))
    whole = _as_tables(subject, tables, rules, method)
    for table in whole:
        refuse_unassessed(table)
        refuse_undeclared_sums(table)
    if not method.alters:
        refuse_unjudged(whole)
    already = gather(whole, already_published)
    whole = with_cost_variable(whole, method)
    if method.alters:
        already = replace(already, tables=tuple(earlier for earlier in already.tables if not earlier.unseen))
        _refuse_beside_altered(whole, already, method)
    if key is not None and not isinstance(key, Key):
        raise ParameterError(
            f"key={type(key).__name__} is no key: whoever tries numbers finds a whole number.",
            hint="Give ds.Key.from_file(path) or ds.Key(32 random bytes); insecure_seed= of the method is for tests.",
        )
    if not method.secret:
        key = None
    elif key is None:
        key = find_key(getattr(method, "key_file", None), getattr(method, "insecure_seed", None))
    if parts is None:
        check_needs(whole, method)
        parts = method.supply(whole, key)
    require_memory(already.joined(whole), method.kind)
    system = build_system(whole, already)
    if method.relates or not all(isinstance(table.source, Microdata) for table in whole):
        system.check_additive()
    system.check_bounds()
    outcome = method.run(replace(system, parts=parts) if parts else system, key)
    statuses = []
    for table, cells in zip(whole, system.of[: len(whole)], strict=True):
        status = table.status.copy()
        status[outcome.withheld[cells] & ~table.unsafe] = CellStatus.SECONDARY
        statuses.append(status)
    log = _log(whole, [method], outcome.evidence.effort)
    notes = [*outcome.notes, *([MADE_KEY] if key is not None and key.made else []), *_said_of(whole)]
    log |= {"notes": notes, "already_published": list(already.together_with())}
    if key is not None:
        log["key"] = {"fingerprint": key.fingerprint, "made": key.made, "insecure": key.insecure}
    published = _published(system, outcome)
    intervals = None
    if outcome.intervals is not None:
        low, high = outcome.intervals
        intervals = tuple((low[cells], high[cells]) for cells in system.of[: system.present])
    custodian = Custodian(whole, tuple(statuses), (outcome.evidence,), log, already, published, key, intervals)
    return Release(custodian.public(), custodian)


def _said_of(tables: TableSet) -> list[str]:
    """What the custodian should know of the assessment: what was not judged, and what safe cells rest on."""
    said = []
    for table in tables:
        if not table.judged:
            said.append(f"Table {table.name} was not judged: no rule was given for it, and no cell is marked by hand.")
        if table.assessment is not None:
            said += [f"Table {table.name}: {text}." for text in table.assessment.resting()]
    return said


def _only_method(methods: Sequence[Any]) -> Method:
    """The method, alone or in a list."""
    steps = [m for item in methods for m in (item if isinstance(item, list | tuple) else [item])]
    for step in steps:
        if isinstance(step, type) and issubclass(step, Method):
            raise ParameterError(f"{step.__name__} was not called.", hint=f"Write ds.{step.__name__}(...).")
    if not steps or not all(isinstance(m, Method) for m in steps):
        raise ParameterError("protect needs a method.", hint="For example ds.protect(table, ds.Suppress()).")
    if len(steps) > 1:
        raise ParameterError(
            f"{' and '.join(type(m).__name__ for m in steps)} cannot follow each other.", hint="Give one method."
        )
    method: Method = steps[0]
    return method


def _as_tables(
    subject: Table | TableSet | Microdata,
    tables: TableSpec | Sequence[TableSpec] | None,
    rules: Sequence[Rule],
    method: Method,
) -> TableSet:
    """The tables to protect: as they are given, or made of records and assessed."""
    if not isinstance(subject, Microdata):
        if tables is not None or rules:
            raise ParameterError(
                "tables= and rules= are for records, and tables were given.", hint="Call table.assess(rules) first."
            )
        if not isinstance(subject, Table | TableSet):
            raise ParameterError(
                f"protect takes tables or records, not {type(subject).__name__}.",
                hint="Make a table of ready cells with ds.Table.from_cells(cells, by=...), or tabulate records with "
                "ds.tabulate(records, by=...); then call table.assess(rules).",
            )
        return as_set(subject)
    specs = [tables] if isinstance(tables, TableSpec) else list(tables or ())
    if not specs:
        raise ParameterError(
            "Records were given without a table to make of them.", hint="Give tables=[ds.TableSpec(by=..., value=...)]."
        )
    return as_set(assess(tabulate(subject, specs=[method.tabulated(spec) for spec in specs]), *rules))


def _published(system: System, outcome: Outcome) -> tuple[Ints, ...] | None:
    """Altered values by table."""
    if outcome.published is None:
        return None
    return tuple(outcome.published[cells] for cells in system.of[: system.present])


def _refuse_beside_altered(tables: TableSet, already: AlreadyPublished, method: Method) -> None:
    """A method that publishes every cell with another value cannot withhold some, nor bend what is out."""
    name = type(method).__name__
    if already.tables or already.known or already.figures:
        raise NeedsError(
            f"{name} cannot consider what is already published: it alters values that are out.",
            hint="Use ds.Suppress(), or leave already_published out; the release then says so.",
        )
    for table in tables:
        given = table.status == int(CellStatus.SECONDARY)
        if given.any():
            raise NeedsError(
                f"Cell {table.cell_name(int(np.argmax(given)))} of table {table.name!r} is to be withheld, "
                f"but {name} publishes every cell.",
                hint="Remove the status M, or use ds.Suppress().",
            )


def refuse_unassessed(table: Table) -> None:
    """Refuse a table of which nobody has said what is unsafe."""
    if table.assessment is None:
        raise NeedsError(
            f"Table {table.name!r} has not been assessed, so nothing is known to be safe in it.",
            hint="Call table.assess(rules) first; assess() without rules takes the statuses set by hand as they are.",
        )


def refuse_unjudged(tables: TableSet) -> None:
    """Refuse tables of which no rule and no mark says what is unsafe: that nothing is, would be said of all."""
    if not any(table.judged for table in tables):
        raise NeedsError(
            f"No rule was given for {listed([table.name for table in tables], 3)}, and no cell is "
            "marked by hand: nothing says which cells are unsafe.",
            hint="Call assess with rules, such as ds.PPercent(10), or mark cells by hand before (table.marked); a cell "
            "marked 'P' says that somebody has looked.",
        )


def refuse_undeclared_sums(table: Table) -> None:
    """Refuse codes that add up without being declared: readers see it, and methods would not."""
    assert table.assessment is not None
    for k, variable in enumerate(table.variables):
        if variable in table.assessment.options.get("unrelated", ()):
            continue
        for found in undeclared_sums(table, k, once=not table.from_records):
            codes = table.spec.by[variable].codes
            parts = listed([codes[part] for part in found.parts], 4)
            raise NeedsError(
                f"In table {table.name!r} code {codes[found.parent]!r} of {variable!r} is the sum of {parts} in "
                f"{counted(found.lines, 'line')}, and no total says so. A withheld cell may be a subtraction away.",
                hint=f"Declare it: Hierarchy.flat(codes, total={codes[found.parent]!r}), or a grouping. Where "
                f"it is a coincidence, say so by name: assess(..., unrelated=[{variable!r}]).",
            )


@cache
def _installed() -> str:
    """The version of the package, which takes long to look up beside small tables."""
    return version("discreet")


def _log(tables: TableSet, methods: Sequence[Method], effort: Mapping[str, int]) -> dict[str, Any]:
    """What was done, enough to repeat it from the cells."""
    return {
        "discreet": _installed(),
        "assess": [
            {
                "table": table.name,
                "rules": [dict(rule) for rule in table.assessment.rules] if table.assessment else [],
                "profile": table.assessment.profile if table.assessment else "handbook",
                "options": dict(table.assessment.options) if table.assessment else {},
            }
            for table in tables
        ],
        "protect": [method.record() for method in methods],
        "effort": dict(effort),
    }
