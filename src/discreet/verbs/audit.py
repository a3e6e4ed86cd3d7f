"""What an attacker can work out from a release."""

from __future__ import annotations

import numpy as np

from discreet.attack import Audit, attack_intervals
from discreet.errors import ParameterError
from discreet.model.arrays import Bools
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, as_set
from discreet.relations import build_system


def audit(subject: Release | Table | TableSet) -> Audit:
    """Attacker's intervals of the withheld cells of a release, or of a table whose status column holds a pattern.

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> ds.audit(release).short
    0
    """
    if isinstance(subject, Release):
        tables = subject.custodian.tables
        hidden = [subject.custodian.withheld(number) for number in range(len(tables))]
    elif isinstance(subject, Table | TableSet):
        tables = as_set(subject)
        hidden = [np.isin(t.status, (CellStatus.UNSAFE, CellStatus.SECONDARY)) for t in tables]
    else:
        raise ParameterError(f"Cannot audit a {type(subject).__name__}.", hint="Give a release, a table or a set.")
    system = build_system(tables)
    withheld: Bools = np.zeros(len(system), np.bool_)
    for cells, mine in zip(system.of, hidden, strict=True):
        withheld[cells[mine]] = True
    for cells, mine in zip(system.of, hidden, strict=True):
        # A cell that is published anywhere is known everywhere.
        withheld[cells[~mine]] = False
    return Audit(system, attack_intervals(system, withheld))


def shared_cells(tables: TableSet) -> list[tuple[str, str, int]]:
    """Which tables of a set share cells, and how many: (table, table, cells)."""
    return build_system(tables).shared()
