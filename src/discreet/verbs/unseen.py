"""Tables that nobody publishes, on which the published ones stand."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from math import prod

import numpy as np

from discreet.model.already import AlreadyPublished, EarlierTable
from discreet.model.arrays import Bools, Codes
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import EngineName, Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet
from discreet.relations.cycles import Cycle, cycles

MOST = 50_000
"""An unseen table has at most so many cells; a release with larger ones says that it leaves them out."""
LARGE = 2**30
"""Bytes of a file from which on records are not read into memory."""


def with_unseen(tables: TableSet, already: AlreadyPublished) -> AlreadyPublished:
    """What is published, and for every cycle of the tables the unseen one that they stand on, where it can be had."""
    if any(earlier.unseen for earlier in already.tables):
        return already
    whole = already.joined(tables)
    for cycle in cycles(whole):
        found = _unseen(already.joined(tables), cycle)
        already = already if found is None else replace(already, tables=(*already.tables, found))
    return already


def _unseen(tables: TableSet, cycle: Cycle) -> EarlierTable | None:
    """The table behind a cycle, tabulated from the records that the tables were made from."""
    members = [tables.tables[number] for number in cycle.tables]
    source = members[0].source
    if cycle.by is None or not isinstance(source, Microdata) or any(t.source is not source for t in members):
        return None
    if prod(len(hierarchy) for hierarchy in cycle.by.values()) > MOST:
        return None
    from discreet.verbs.tabulate import tabulate

    made = tabulate(source, specs=[_spec(tables, members[0].spec, cycle.by)], engine=_engine(source))
    assert isinstance(made, TableSet)
    table = made.tables[0]
    if bool((table.value < 0).any()) or any(bool(f.negative.any()) for f in table.contributions.values()):
        return None
    rows = np.flatnonzero(np.logical_and.reduce([_possible(table, member) for member in members]))
    plain = Table(
        spec=table.spec,
        codes=table.codes[rows],
        value=table.value[rows],
        decimals=table.decimals,
        empty=np.zeros(len(rows), np.bool_),  # nobody knows which of them are
    )
    return EarlierTable("", "", plain, np.full(len(rows), CellStatus.SECONDARY, np.int8))


def _engine(source: Microdata) -> EngineName:
    """The engine for files that may not fit into memory, where it is installed."""
    large = source.is_file and source.source.is_file() and source.source.stat().st_size > LARGE
    return "duckdb" if large and find_spec("duckdb") is not None else source.engine


def _spec(tables: TableSet, like: TableSpec, by: dict[str, Hierarchy]) -> TableSpec:
    name = f"behind {like.value or 'count'} by {' x '.join(by)}"
    while name in {table.name for table in tables}:
        name += " again"
    return TableSpec(
        by=by,
        value=like.value,
        name=name,
        where=like.where,
        weight=like.weight,
        period=like.period,
        cells="all",
        top=1,
        holders=False,
    )


def _possible(table: Table, member: Table) -> Bools:
    """Cells that the one they add to in a published table leaves possible: where that is empty, they are too."""
    codes = np.zeros((len(table), len(member.variables)), np.int32)
    for k, (v, hierarchy) in enumerate(member.spec.by.items()):
        own = table.spec.by.get(v)
        if own is None:
            codes[:, k] = hierarchy.position(str(hierarchy.total))
            continue
        mine = _places(own, hierarchy)
        codes[:, k] = mine[table.codes[:, table.variables.index(v)]]
    result = (codes < 0).any(axis=1)
    rows = member.find(np.maximum(codes, 0))
    there = rows >= 0
    there[there] = ~member.empty[rows[there]]
    return result | there


def _places(own: Hierarchy, other: Hierarchy) -> Codes:
    """Where each code stands in another hierarchy: itself, or the only base code that it is part of; -1 for none."""
    starts, base, _ = own.cover
    above = np.full(len(own), -1, np.int32)
    for code in other.base_codes:
        at = own.index.get(code)
        if at is not None:
            above[base[starts[at] : starts[at + 1]]] = other.index[code]
    result = np.full(len(own), -1, np.int32)
    for at, code in enumerate(own.codes):
        found = np.unique(above[base[starts[at] : starts[at + 1]]])
        result[at] = other.index[code] if code in other.index else found[0] if len(found) == 1 else -1
    return result
