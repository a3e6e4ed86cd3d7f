"""Where tables came from: what methods may ask of their records, through the engine that the records name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, cast

import numpy as np

from discreet.engine.draws import Draws
from discreet.engine.encode import Amounts, Records
from discreet.engine.protocol import (
    LooksAtKeys,
    NumberSums,
    OpenedRecords,
    SumsNumbers,
    columns_of,
    engine_of,
    open_records,
)
from discreet.engine.record_keys import KeyFacts, MadeKeys, check_record_keys, stable_identities
from discreet.engine.rollup import signed
from discreet.errors import NeedsError
from discreet.files.frames import numbers
from discreet.model.arrays import Floats, Ints
from discreet.model.evidence import Parts
from discreet.model.microdata import Microdata
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


def one_source(tables: TableSet) -> Microdata:
    """The records that all tables were made of."""
    sources = {id(table.source): table.source for table in tables}
    if len(sources) > 1:
        raise NeedsError("The tables come from different records.", hint="Tabulate them from one Microdata.")
    data = next(iter(sources.values()))
    assert isinstance(data, Microdata)
    return data


def open_universe(table: Table, keys: MadeKeys | None = None) -> AbstractContextManager[OpenedRecords]:
    """The records of a table's universe, opened by their engine."""
    return open_records(table.source, [table.spec], table.spec.weight or None, keys)


def encoded(table: Table) -> Records:
    """The records of a table's universe in memory, for methods that change single ones."""
    return engine_of(table.source).records(table.source, [table.spec], table.spec.weight or None)


def identities(table: Table, column: str) -> Ints:
    """Identities of the records of a table's universe."""
    return stable_identities(columns_of(table.source, [column], where=table.spec.where)[column])


def stays_in_engine(table: Table) -> bool:
    """Whether records stay in an engine, which adds up what is drawn for them."""
    return isinstance(engine_of(table.source), SumsNumbers)


def number_sums(table: Table, column: str, drawn: Callable[[Ints], Draws]) -> NumberSums:
    """Sums of numbers drawn for identities, where records stay in their engine (see :func:`stays_in_engine`)."""
    return cast(SumsNumbers, engine_of(table.source)).number_sums(table.source, table.spec, column, drawn)


def numbers_of(table: Table, column: str) -> Floats:
    """A column of numbers of the records of a table's universe."""
    frame = columns_of(table.source, [column], where=table.spec.where)
    return np.asarray(numbers(frame, column), np.float64)


def tested_keys(data: Microdata) -> KeyFacts:
    """What is known of the record keys that records bring, after :func:`check_record_keys` has looked at them.

    Keys of records that never change are looked at once.
    """
    engine = engine_of(data)
    kept, place = engine.kept(data), f"tested {data.record_key}"
    found: KeyFacts | None = None if kept is None else kept.get(place)
    if found is None and isinstance(engine, LooksAtKeys):
        return engine.key_facts(data)
    if found is None:
        keys = np.asarray(engine.keys(data))
        reach = max(int(np.max(keys, initial=0)) + 1, 2) if keys.dtype.kind in "iu" else None
        check_record_keys(keys, reach)
        found = KeyFacts(len(keys), reach)
        if kept is not None:
            kept[place] = found
    return found


def companies(records: Records, record: Ints) -> Ints:
    """Identity of each record's company; of the record where there are no companies."""
    if records.data.contributor is None:
        return record
    number, _ = records.contributor()
    result: Ints = records.identities[number]
    return result


class Again(NamedTuple):
    """Cells of a table, made anew of changed records: values, and the two largest contributions of holdings."""

    value: Ints
    top: Ints


def tabulated_again(records: OpenedRecords, table: Table) -> Again:
    """The cells of a table with other records in place of those it was made of.

    Raises
    ------
    NeedsError
        Where a record came into a cell that the table does not have.
    """
    spec = table.spec.with_(shadow=None, cost=None, holders=False, top=2, levels=("holding",))
    after = records.table(spec)
    rows = table.find(after.codes)
    if np.any(rows < 0):
        raise NeedsError(
            f"A record came into a cell that table {table.name!r} does not have.",
            hint="Tabulate with cells='all', or give records and tables=[specs].",
        )
    value, top = np.zeros(len(table), np.int64), np.zeros((len(table), 2), np.int64)
    value[rows], top[rows] = after.value, after.contributions["holding"].top
    return Again(value, top)


def with_amounts(records: Records, variable: str | None, amount: Ints, weighted: bool = True) -> Records:
    """The same records with other amounts of a variable, in the same units; without weights where asked for."""
    weight = records.weight_name if weighted else None
    scale = records.amounts(variable).scale
    summed = np.zeros(0, np.int64) if weight is None else amount
    kept = dict(records._amounts) if weighted else {}
    return Records(
        records.frame, records.data, weight, dict(records._codes), {**kept, variable: Amounts(amount, summed, scale)}
    )


def stacked(parts: list[dict[str, Ints]]) -> Parts:
    """Columns of all tables, one below the other."""
    return {"altered": {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}}
