"""Tables and methods to releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from discreet.errors import NeedsError, ParameterError, counted, listed, unknown_name
from discreet.keys import Key
from discreet.methods.base import TablePublisher, key_of
from discreet.methods.needs import check_needs
from discreet.methods.outcome import TableOutcome
from discreet.model.already import AlreadyPublished
from discreet.model.arrays import Ints, Status
from discreet.model.custodian import RecordCustodian, TableCustodian
from discreet.model.evidence import Parts
from discreet.model.microdata import Microdata
from discreet.model.release import Release
from discreet.model.spec import TableSpec
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, as_set
from discreet.parallel import sharing
from discreet.progress import during
from discreet.relations import System, build_system
from discreet.relations.adding import undeclared_sums
from discreet.rules.base import Rule
from discreet.tables.memory import require_memory
from discreet.verbs.already import Items, gather
from discreet.verbs.limits import limit_notes
from discreet.verbs.steps import (
    MADE_KEY,
    UNTOUCHED,
    Earlier,
    Keys,
    Steps,
    as_steps,
    installed_version,
    key_entry,
    refuse_for_tables,
)
from discreet.watching import watched

if TYPE_CHECKING:
    from discreet.rules.records import RecordRule
    from discreet.verbs.spanning import By

OPTIONS = ("tables", "by", "value", "rules", "already_published", "key", "parts", "keep_order", "name", "jobs")
"""Options of :func:`protect`; with ``by=``, those of :func:`tabulate` besides."""


@overload
def protect(
    subject: Table | TableSet,
    *methods: Steps,
    already_published: Items = ...,
    key: Key | None = ...,
    parts: Parts | None = ...,
    jobs: int | None = ...,
) -> Release: ...


@overload
def protect(
    subject: Microdata,
    *methods: Steps,
    tables: None = ...,
    rules: RecordRule | Sequence[RecordRule] = ...,
    key: Key | None = ...,
    keep_order: bool = ...,
    name: str = ...,
    jobs: int | None = ...,
) -> Release[RecordCustodian]: ...


@overload
def protect(
    subject: Microdata,
    *methods: Steps,
    tables: TableSpec | Sequence[TableSpec],
    rules: Rule | Sequence[Rule] = ...,
    already_published: Items = ...,
    key: Key | None = ...,
    parts: Parts | None = ...,
    jobs: int | None = ...,
) -> Release: ...


@overload
def protect(
    subject: Any,
    *methods: Steps,
    by: By,
    value: str | Sequence[str] | None = ...,
    rules: Rule | Sequence[Rule] = ...,
    already_published: Items = ...,
    key: Key | None = ...,
    jobs: int | None = ...,
    **options: Any,
) -> Release: ...


@watched
def protect(
    subject: Any,
    *methods: Steps,
    tables: TableSpec | Sequence[TableSpec] | None = None,
    by: By | None = None,
    value: str | Sequence[str] | None = None,
    rules: Rule | RecordRule | Sequence[Rule] | Sequence[RecordRule] = (),
    already_published: Items = None,
    key: Key | None = None,
    parts: Parts | None = None,
    keep_order: bool = False,
    name: str = "records",
    jobs: int | None = None,
    **options: Any,
) -> Release[Any]:
    """Make tables or records safe to publish.

    Methods act in order. Those for records come first: alone, they make a release of records; with ``tables=``, tables
    are made of the records that they leave, and a method for tables may follow.

    Parameters
    ----------
    subject
        Assessed tables; or records (:class:`Microdata`, or a data frame or file with ``by=``), alone or with the tables
        to be made of them.
    *methods
        One method, or several that act in order.
    tables
        What to tabulate, where records are given and tables are to be published.
    by, value
        What to tabulate in the simplest case, as in :func:`tabulate`: the variables, and what is summed.
    rules
        Rules that records must keep, or that tables of records are assessed by.
    already_published
        What is out already, and what else comes out: releases or their folders, :class:`PublishedCells` of others,
        and :class:`Figure` for numbers derived from cells. A mapping gives them names. The release is protected
        together with all of it.
    key
        The key that methods draw with, in place of their key file, the environment or a new one.
    parts
        What the method needs besides the cells, from the evidence of an earlier release; asked for where left out.
    keep_order
        Let public records stand in the order of the original file, which may tell who is who; the release says so. In
        a random order otherwise.
    name
        Name of a public file of records.
    jobs
        How many processes share independent pieces of the work, through joblib (``discreet[jobs]``), on this machine or
        where ``joblib.parallel_config(backend=...)`` says; one where left out. The release does not depend on it. What
        is sent there is confidential, and holds no key.
    **options
        With ``by=``, what else :func:`tabulate` takes: ``contributor``, ``weight``, ``where`` ...

    Returns
    -------
    Release
        With the public part, and for the custodian the originals, the evidence and the log.

    Raises
    ------
    ProtectionError
        When the cells or records cannot be protected; nothing is published then.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> release = ds.protect(table, ds.Suppress())
    >>> release.verify().holds
    True

    From records to a release in one call:

    >>> import pyarrow as pa
    >>> people = pa.table({"region": ["N"] * 9 + ["S"] * 8, "sex": ["f", "m"] * 7 + ["f"] * 3})
    >>> release = ds.protect(people, ds.Suppress(), by=["region", "sex"], rules=ds.MinFrequency(3))
    >>> release.public.tables[0].name, release.verify().holds
    ('count_by_region_sex', True)
    """
    with sharing(jobs):
        return _protected(
            subject, methods, tables, by, value, rules, already_published, key, parts, keep_order, name, options
        )


def _protected(
    subject: Any,
    methods: Sequence[Steps],
    tables: TableSpec | Sequence[TableSpec] | None,
    by: By | None,
    value: str | Sequence[str] | None,
    rules: Rule | RecordRule | Sequence[Rule] | Sequence[RecordRule],
    already_published: Items,
    key: Key | None,
    parts: Parts | None,
    keep_order: bool,
    name: str,
    options: dict[str, Any],
) -> Release[Any]:
    """See :func:`protect`."""
    steps = [method.with_files_read() for method in as_steps(methods)]
    if key is not None and not isinstance(key, Key):
        raise ParameterError(
            f"key={type(key).__name__} is no key: whoever tries numbers finds a whole number.",
            hint="Give ds.Key.from_file(path) or ds.Key(32 random bytes); insecure_seed= of the method is for tests.",
        )
    wanted: Sequence[Any] = rules if isinstance(rules, Sequence) else [rules]
    if by is not None or value is not None:
        subject, tables = _to_tabulate(subject, tables, by, value, options)
    elif options:
        raise ParameterError(unknown_name("option", next(iter(options)), OPTIONS, "protect"))
    if isinstance(subject, Microdata) and tables is None:
        from discreet.verbs.protect_records import protect_records

        refuse_for_tables(steps, already_published, parts)
        return protect_records(subject, steps, wanted, key=key, keep_order=keep_order, name=name)
    if keep_order or name != "records":
        raise ParameterError("keep_order= and name= are for releases of records.", hint="Leave them out.")
    *before, publisher = steps
    if not isinstance(publisher, TablePublisher):
        raise ParameterError(
            f"{type(publisher).__name__} changes records, and does not say what is published of tables.",
            hint="Let a method for tables follow, such as ds.Suppress(); or leave tables= out to publish the records.",
        )
    if before and not isinstance(subject, Microdata):
        raise ParameterError(
            f"{type(before[0]).__name__} acts on records, and tables were given.",
            hint="Give records and tables=[ds.TableSpec(...)], or one method for tables.",
        )
    earlier = UNTOUCHED
    if isinstance(subject, Microdata) and before:
        from discreet.verbs.protect_records import changed_microdata, numbers_of

        keys = Keys(key)
        subject, earlier = changed_microdata(subject, before, numbers_of(_specs(tables)), keys)
        key = keys.of(publisher)
    whole = _as_tables(subject, tables, wanted, publisher)
    return protect_tables(whole, publisher, gather(whole, already_published), key=key, parts=parts, earlier=earlier)


def protect_tables(
    whole: TableSet,
    publisher: TablePublisher,
    already: AlreadyPublished,
    *,
    key: Key | None = None,
    parts: Parts | None = None,
    earlier: Earlier = UNTOUCHED,
) -> Release:
    """A release of tables.

    Parameters
    ----------
    whole
        The tables, assessed.
    publisher
        What decides what is published of them.
    already
        What is out already.
    key, parts
        As for :func:`protect`.
    earlier
        What was done to the records before the tables were made of them.
    """
    for table in whole:
        refuse_unassessed(table)
        refuse_undeclared_sums(table)
    if not publisher.alters:
        refuse_unjudged(whole)
    if publisher.cost_variable is not None:
        from discreet.verbs.cost_variables import with_cost_variable

        whole = with_cost_variable(whole, publisher)
    if publisher.alters:
        already = replace(already, tables=tuple(known for known in already.tables if not known.unseen))
        _refuse_beside_altered(whole, already, publisher)
    key = key_of(publisher, key)
    if parts is None:
        check_needs(whole, publisher)
        parts = publisher.supply(whole, key)
    require_memory(already.joined(whole), publisher.kind)
    with during("relations"):
        system = build_system(whole, already)
    if publisher.relates or not all(isinstance(table.source, Microdata) for table in whole):
        system.check_additive()
    system.check_bounds()
    outcome = publisher.publish(replace(system, parts=parts) if parts else system, key)
    key = earlier.key if key is None else key
    done = [*(dict(evidence.method) for evidence in earlier.evidence), publisher.record()]
    log = _log(whole, done, outcome.evidence.effort)
    notes = [
        *limit_notes(publisher, outcome.evidence.effort),
        *outcome.notes,
        *([MADE_KEY] if key is not None and key.made else []),
        *_said_of(whole),
    ]
    log |= {"notes": notes, "already_published": list(already.together_with())}
    entry = key_entry(key) if key is not None else earlier.entry
    if entry is not None:
        log["key"] = dict(entry)
    intervals = None
    if outcome.intervals is not None:
        low, high = outcome.intervals
        intervals = tuple((low[cells], high[cells]) for cells in system.of[: system.present])
    custodian = TableCustodian(
        whole,
        _statuses(whole, system, outcome),
        (*earlier.evidence, outcome.evidence),
        log,
        already,
        _published(system, outcome),
        key,
        intervals,
    )
    return Release(custodian.public(), custodian)


def _statuses(whole: TableSet, system: System, outcome: TableOutcome) -> tuple[Status, ...]:
    """Statuses by table, with the cells that are withheld besides the unsafe ones."""
    found = []
    for table, cells in zip(whole, system.of[: len(whole)], strict=True):
        status = table.status.copy()
        status[outcome.withheld[cells] & ~table.unsafe] = CellStatus.SECONDARY
        found.append(status)
    return tuple(found)


def _said_of(tables: TableSet) -> list[str]:
    """What the custodian should know of the assessment: what was not judged, and what safe cells rest on."""
    said = []
    for table in tables:
        said += [f"Table {table.name}: {text}." for text in table.notes]
        if not table.judged:
            said.append(f"Table {table.name} was not judged: no rule was given for it, and no cell is marked by hand.")
        if table.assessment is not None:
            said += [f"Table {table.name}: {text}." for text in table.assessment.resting()]
    return said


def _to_tabulate(
    subject: Any,
    tables: TableSpec | Sequence[TableSpec] | None,
    by: By | None,
    value: str | Sequence[str] | None,
    options: dict[str, Any],
) -> tuple[Microdata, list[TableSpec]]:
    """Records with their roles, and the tables that ``by=`` and ``value=`` ask for."""
    from discreet.verbs.tabulate import as_microdata, specs_of

    if isinstance(subject, Table | TableSet) or tables is not None:
        given = "tables were given" if tables is None else "tables= says what to tabulate"
        raise ParameterError(f"by= and value= are for records, and {given}.", hint="Leave one of them out.")
    weight, engine = options.pop("weight", None), options.pop("engine", None)
    data = as_microdata(subject, weight, options)
    data = data if engine is None else data.on(engine)
    return data, specs_of(data, by, value, weight, options)


def _specs(tables: TableSpec | Sequence[TableSpec] | None) -> list[TableSpec]:
    return [tables] if isinstance(tables, TableSpec) else list(tables or ())


def _as_tables(
    subject: Table | TableSet | Microdata,
    tables: TableSpec | Sequence[TableSpec] | None,
    rules: Sequence[Any],
    method: TablePublisher,
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
    specs = _specs(tables)
    if not specs:
        raise ParameterError(
            "Records were given without a table to make of them.", hint="Give tables=[ds.TableSpec(by=..., value=...)]."
        )
    from discreet.verbs.assess import assess
    from discreet.verbs.tabulate import tabulate

    return as_set(assess(tabulate(subject, specs=[method.tabulated(spec) for spec in specs]), *rules))


def _published(system: System, outcome: TableOutcome) -> tuple[Ints, ...] | None:
    """Altered values by table."""
    if outcome.published is None:
        return None
    return tuple(outcome.published[cells] for cells in system.of[: system.present])


def _refuse_beside_altered(tables: TableSet, already: AlreadyPublished, method: TablePublisher) -> None:
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
            recipe_hint='Add [[rules]], such as kind = "p_percent" with p = 10, or mark cells by hand in a status file '
            "([[tables]] status); a cell marked 'P' says that somebody has looked.",
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
                recipe_hint=f"Declare it in the hierarchy of {variable!r}: its file, parents, or total = "
                f'"{codes[found.parent]}". Where it is a coincidence, say so by name: unrelated = ["{variable}"] in '
                "[assess].",
            )


def _log(tables: TableSet, methods: Sequence[Mapping[str, Any]], effort: Mapping[str, int]) -> dict[str, Any]:
    """What was done, enough to repeat it from the cells."""
    return {
        "discreet": installed_version(),
        "assess": [
            {
                "table": table.name,
                "rules": [dict(rule) for rule in table.assessment.rules] if table.assessment else [],
                "profile": table.assessment.profile if table.assessment else "handbook",
                "options": dict(table.assessment.options) if table.assessment else {},
            }
            for table in tables
        ],
        "protect": [dict(method) for method in methods],
        "effort": dict(effort),
    }
