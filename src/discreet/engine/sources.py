"""Where tables came from: their records, encoded, with what methods on records need of them."""

from __future__ import annotations

import numpy as np

from discreet.engine.encode import Amounts, Records, read_records
from discreet.engine.memory import tabulate_records
from discreet.engine.record_keys import stable_identities
from discreet.engine.rollup import signed
from discreet.errors import NeedsError
from discreet.files.frames import numbers, read_columns
from discreet.model.arrays import Floats, Ints
from discreet.model.evidence import Parts
from discreet.model.table import Table
from discreet.model.tableset import TableSet


def refuse_tied(tables: TableSet, method: str) -> None:
    """Refuse sets that a method on records cannot keep additive, and cells that are differences of others."""
    if tables.equations:
        raise NeedsError(
            f"{method} rounds every variable for itself, so that '{tables.equations[0]}' would not hold any more.",
            hint="Leave the equation out; the tables of each variable stay additive.",
        )
    for table in tables:
        if signed(table.spec.hierarchies):
            raise NeedsError(
                f"A cell of table {table.name!r} is a difference of others, and no cap holds for it.",
                hint="Leave signed codes out.",
            )


def encoded(table: Table) -> Records:
    """The records of a table's universe."""
    return read_records(table.source, [table.spec], table.spec.weight or None)


def identities(table: Table, column: str) -> Ints:
    """Identities of the records of a table's universe."""
    data = table.source
    frame = read_columns(data.source, [column], where=table.spec.where, delimiter=data.delimiter)
    return stable_identities(frame[column])


def numbers_of(table: Table, column: str) -> Floats:
    """A column of numbers of the records of a table's universe."""
    data = table.source
    frame = read_columns(data.source, [column], where=table.spec.where, delimiter=data.delimiter)
    return np.asarray(numbers(frame, column), np.float64)


def companies(records: Records, record: Ints) -> Ints:
    """Identity of each record's company; of the record where there are no companies."""
    if records.data.contributor is None:
        return record
    number, _ = records.contributor()
    result: Ints = records.identities[number]
    return result


def tabulated_with(records: Records, table: Table, amount: Ints) -> Table:
    """The same table of other amounts, in the same units."""
    variable = table.spec.value
    scale = records.amounts(variable).scale
    weighted = np.zeros(0, np.int64) if records.weight is None else amount
    other = Records(records.table, records.data, records.weight_name, dict(records._codes), dict(records._amounts))
    other._amounts[variable] = Amounts(amount, weighted, scale)
    spec = table.spec.with_(shadow=None, cost=None, holders=False, top=2, levels=("holding",))
    return tabulate_records(other, spec)


def stacked(parts: list[dict[str, Ints]]) -> Parts:
    """Columns of all tables, one below the other."""
    return {"altered": {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}}
