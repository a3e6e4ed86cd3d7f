"""Variables that say what cells are worth: summed from the records where no table has them yet."""

from __future__ import annotations

import numpy as np

from discreet.errors import InputError
from discreet.methods.base import TablePublisher
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from discreet.model.tableset import TableSet, as_set


def with_cost_variable(tables: TableSet, method: TablePublisher) -> TableSet:
    """The tables with the cost variable that a method names, where it is neither theirs nor that of another table.

    It becomes their cost column, so that a saved release can be made again from its cells.
    """
    name = method.cost_variable
    if name is None or any(table.spec.value == name for table in tables):
        return tables
    return tables.replaced([_with_cost(table, name) for table in tables])


def _with_cost(table: Table, name: str) -> Table:
    if table.spec.cost == name or not isinstance(table.source, Microdata):
        return table
    from discreet.verbs.tabulate import tabulate

    spec = table.spec.with_(cost=name)
    (made,) = as_set(tabulate(table.source, specs=[spec]))
    if not np.array_equal(made.codes, table.codes):
        raise InputError(
            f"The cells of table {table.name!r} are not those of its records, so that {name!r} has no sums there.",
            hint=f"Tabulate it with cost={name!r}.",
        )
    return table.with_(spec=spec, cost=made.cost)
