"""What an attacker can work out from a release."""

from __future__ import annotations

from typing import Literal

import numpy as np

from discreet.attack import Audit, External, attack_by_insiders
from discreet.errors import ParameterError
from discreet.model.arrays import Bools, Status
from discreet.model.evidence import EXTERNAL, INSIDERS
from discreet.model.pattern import Pattern
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, as_set
from discreet.relations import System, build_system
from discreet.verbs.already import Items, gather
from discreet.verbs.patterns import on_tables
from discreet.verbs.protect import refuse_unassessed

HIDDEN = (CellStatus.UNSAFE, CellStatus.SECONDARY)
EXACT_UP_TO = 5_000
"""Both ends of every interval are found without asking up to so many withheld cells."""


def audit(
    subject: Release | Table | TableSet,
    *,
    pattern: Pattern | None = None,
    already_published: Items = None,
    insiders: Literal["full", "nonzero"] | None = "full",
    sample: int | None = None,
    exact: bool | None = None,
    seed: int = 0,
) -> Audit:
    """What attackers can work out of the withheld cells of a release, or of a table whose status holds a pattern.

    Parameters
    ----------
    subject
        A release, together with all that it is certified with, or tables whose status column marks unsafe and
        secondary cells.
    pattern
        What is withheld instead, for assessed tables: any pattern, as it stands. Unsafe cells that it publishes are
        counted.
    already_published
        What is out besides the tables, as in :func:`protect`; a release says it itself.
    insiders
        What must hold against every contributor who knows its own contributions, for every unsafe cell that it does
        not fill alone: ``"full"``, the cell keeps its level, downwards against all but its largest contributor and
        those whose own contribution leaves no room for it; ``"nonzero"``, it is not known exactly. None leaves
        insiders out.
    sample
        Look at so many unsafe cells, chosen at random, instead of all withheld cells.
    exact
        Find both ends of every interval; otherwise only whether levels are kept and whether cells are known exactly,
        which is much faster. By default up to 5,000 withheld cells, and never for a sample.
    seed
        Chooses the sample. What is found of a cell does not depend on it.

    Returns
    -------
    Audit
        For the custodian: counts, a frame with one row a cell, and a summary without confidential values.

    Raises
    ------
    ParameterError
        When the subject cannot be audited or a parameter is impossible.

    Notes
    -----
    Sources: cards 003-04 and design-certified-suppression.

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> ds.audit(release, insiders=None).short
    0
    """
    _refuse(insiders, sample)
    system, withheld = _withheld(subject, pattern, already_published)
    exposed = np.flatnonzero(system.unsafe & ~withheld & ~system.known)
    # Secondary cells that only earlier releases withhold may come to light; their unsafe cells may not.
    wanted = (system.now | system.unsafe)[withheld]
    if sample is not None:
        wanted = _sample(system, withheld, sample, seed)
    if exact is None:
        exact = sample is None and int(withheld.sum()) <= EXACT_UP_TO
    attack = External(system, withheld, wanted)
    attack.run(exact, seed)
    found = attack.intervals(exact)
    if insiders is None:
        return Audit(system, found, published=exposed)
    unsafe = system.unsafe[attack.cells] & attack.wanted
    known = unsafe & (system.contributors[attack.cells] > 0)
    if unsafe.any() and not known.any():
        return Audit(system, found, why_no_insiders="the tables carry no contributors", published=exposed)
    why = "" if known.sum() == unsafe.sum() else f"in {int((unsafe & ~known).sum()):,} cells, of tables without any"
    verdicts = attack_by_insiders(attack, insiders == "full", seed)
    return Audit(system, found, (EXTERNAL, INSIDERS[insiders]), verdicts, why, exposed)


def _refuse(insiders: object, sample: object) -> None:
    if insiders is not None and insiders not in INSIDERS:
        raise ParameterError(f"insiders={insiders!r} is not allowed.", hint="Use 'full', 'nonzero' or None.")
    if sample is not None and (not isinstance(sample, int) or isinstance(sample, bool) or sample < 1):
        raise ParameterError(f"sample={sample!r} is not allowed.", hint="Give a number of cells, at least 1.")


def _withheld(
    subject: Release | Table | TableSet, pattern: Pattern | None, already_published: Items
) -> tuple[System, Bools]:
    """Cells and relations, and which cells nobody is told."""
    if isinstance(subject, Release):
        if pattern is not None:
            raise ParameterError("A release has its own pattern.", hint="Give the tables and a pattern.")
        if already_published is not None:
            raise ParameterError(
                "A release says itself what it is published together with.",
                hint="Protect its tables anew with already_published=.",
            )
        custodian = subject.custodian
        system = build_system(custodian.tables, custodian.already)
        return system, system.withheld([custodian.withheld(number) for number in range(len(custodian.tables))])
    if not isinstance(subject, Table | TableSet):
        raise ParameterError(f"Cannot audit a {type(subject).__name__}.", hint="Give a release, a table or a set.")
    tables = as_set(subject)
    hidden = [np.isin(t.status, HIDDEN) for t in tables]
    said: tuple[Status, ...] = ()
    if pattern is not None:
        for table in tables:
            refuse_unassessed(table)
        said = on_tables(pattern, tables)
        hidden = [np.isin(status, HIDDEN) for status in said]
    system = build_system(tables, gather(tables, already_published))
    for cells, mine, status in zip(system.of, hidden, said, strict=False):
        # A pattern may name a cell once where the table has it under several names.
        mine |= (status == 0) & np.isin(cells, cells[mine])
    return system, system.withheld(hidden)


def _sample(system: System, withheld: Bools, sample: int, seed: int) -> Bools:
    """Which withheld cells to look at: some of the unsafe ones."""
    unsafe = np.flatnonzero(system.unsafe[np.flatnonzero(withheld)])
    chosen = np.random.default_rng(seed).choice(unsafe, min(sample, len(unsafe)), replace=False)
    wanted: Bools = np.zeros(int(withheld.sum()), np.bool_)
    wanted[chosen] = True
    return wanted


def shared_cells(tables: TableSet) -> list[tuple[str, str, int]]:
    """Which tables of a set share cells, and how many: (table, table, cells)."""
    return build_system(tables).shared()
