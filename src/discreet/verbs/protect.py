"""Tables and methods to releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from discreet.errors import NeedsError, ParameterError
from discreet.model.release import Custodian, PublicRelease, Release, public_table
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, as_set
from discreet.relations import build_system
from discreet.tables.method import Method
from discreet.verbs.already import Items, gather
from discreet.verbs.given_files import with_files_read


def protect(tables: Table | TableSet, *methods: Method | Sequence[Method], already_published: Items = None) -> Release:
    """Make a table or set safe to publish.

    Parameters
    ----------
    tables
        Assessed tables.
    *methods
        One method, or several that act in order.
    already_published
        What is out already, and what else comes out: releases or their folders, :class:`PublishedCells` of others,
        and :class:`Figure` for numbers derived from cells. A mapping gives them names. The release is protected
        together with all of it.

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
    steps = [m for item in methods for m in ([item] if isinstance(item, Method) else list(item))]
    if not steps or not all(isinstance(m, Method) for m in steps):
        raise ParameterError("protect needs a method.", hint="For example ds.protect(table, ds.Suppress()).")
    if len(steps) > 1:
        raise ParameterError(
            f"{' and '.join(type(m).__name__ for m in steps)} cannot follow each other.",
            hint="Give one method that withholds cells.",
        )
    steps = [with_files_read(step) for step in steps]
    whole = as_set(tables)
    for table in whole:
        refuse_unassessed(table)
    already = gather(whole, already_published)
    system = build_system(whole, already)
    system.check_additive()
    system.check_bounds()
    outcome = steps[0].run(system)
    statuses, shown = [], []
    for table, cells in zip(whole, system.of[: len(whole)], strict=True):
        hidden = outcome.withheld[cells]
        status = table.status.copy()
        status[hidden & ~table.unsafe] = CellStatus.SECONDARY
        statuses.append(status)
        shown.append(public_table(table, hidden))
    log = _log(whole, steps, outcome.evidence.effort)
    log |= {"notes": list(outcome.notes), "already_published": list(already.together_with())}
    return Release(PublicRelease(tuple(shown)), Custodian(whole, tuple(statuses), (outcome.evidence,), log, already))


def refuse_unassessed(table: Table) -> None:
    """Refuse a table of which nobody has said what is unsafe."""
    if table.assessment is None:
        raise NeedsError(
            f"Table {table.name!r} has not been assessed, so nothing is known to be safe in it.",
            hint="Call table.assess(rules) first; assess() without rules takes the statuses set by hand as they are.",
        )


def _log(tables: TableSet, methods: Sequence[Method], effort: Mapping[str, int]) -> dict[str, Any]:
    """What was done, enough to repeat it from the cells."""
    return {
        "discreet": version("discreet"),
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
