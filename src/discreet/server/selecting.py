"""What is shown of a protected table: codes, groups that are sums of published cells, an order of variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from discreet.engine.cells import strides_of
from discreet.model.arrays import Codes, Ints
from discreet.model.public import PublicTable
from discreet.server.question import Selection
from discreet.server.selecting_kernels import put_in_order


def selected(table: PublicTable, selection: Selection, totals: Mapping[str, str]) -> PublicTable:
    """The part of a protected table that was asked for.

    Nothing is protected anew: every number is one that the whole table has, or a sum of such.

    Parameters
    ----------
    table
        The protected table, all of it.
    selection
        What to show.
    totals
        The code of the total of each variable.
    """
    for name in selection.order:
        wanted, groups = selection.select.get(name), selection.groups.get(name)
        if groups:
            table = _with_groups(table, name, groups)
        if wanted is not None or groups:
            keep = list(dict.fromkeys([*(wanted or ()), *(groups or ())]))
            if selection.totals and totals[name] not in keep:
                keep.insert(0, totals[name])
            table = _only(table, name, keep)
        elif not selection.totals:
            table = _without(table, name, totals[name])
    return _ordered(table, selection.order)


def value_at(table: PublicTable, codes: Sequence[str]) -> int:
    """The published value of one cell; zero where it is not listed, as everybody reads it."""
    rows = np.ones(len(table), np.bool_)
    for k, code in enumerate(codes):
        listed = table.code_lists[k]
        if code not in listed:
            return 0
        rows &= table.codes[:, k] == listed.index(code)
    return int(table.value[rows & table.shown].sum())


def _at(table: PublicTable, name: str) -> int:
    return table.variables.index(name)


def _taken(table: PublicTable, rows: Ints) -> PublicTable:
    """Some cells of a table, in an order."""
    return replace(
        table,
        codes=table.codes[rows],
        value=table.value[rows],
        shown=table.shown[rows],
        empty=table.empty[rows],
        lower=None if table.lower is None else table.lower[rows],
        upper=None if table.upper is None else table.upper[rows],
    )


def without_codes(table: PublicTable, name: str, gone: Collection[str]) -> PublicTable:
    """A table without some codes of a variable: as if they were not there, since what is not listed reads as zero."""
    k = _at(table, name)
    codes, parents = table.code_lists[k], table.parents[k] if table.parents else ()
    keep = [code for code in codes if code not in gone]
    if len(keep) == len(codes):
        return table
    place = {code: i for i, code in enumerate(keep)}
    above = []
    for code, at in zip(codes, parents, strict=True) if parents else ():
        if code in place:
            while at >= 0 and codes[at] in gone:
                at = parents[at]
            above.append(place[codes[at]] if at >= 0 else -1)
    table = _only(table, name, keep)
    lists = list(table.parents)
    lists[k : k + 1] = [tuple(above)] if parents else []
    return replace(table, parents=tuple(lists))


def _only(table: PublicTable, name: str, keep: Sequence[str]) -> PublicTable:
    """Cells with some codes of a variable, which stand in the order asked for."""
    k = _at(table, name)
    place = {code: i for i, code in enumerate(table.code_lists[k])}
    number = np.full(len(place) + 1, -1, np.int32)
    for new, code in enumerate(keep):
        if code in place:
            number[place[code]] = new
    there = number[table.codes[:, k]] >= 0
    table = table if there.all() else _taken(table, np.flatnonzero(there))
    codes: Codes = table.codes.copy()
    codes[:, k] = number[codes[:, k]]
    return _relisted(replace(table, codes=codes), k, tuple(keep))


def _without(table: PublicTable, name: str, code: str) -> PublicTable:
    k = _at(table, name)
    return _only(table, name, [c for c in table.code_lists[k] if c != code])


def _relisted(table: PublicTable, k: int, codes: tuple[str, ...]) -> PublicTable:
    """The same table with another list of codes, in which none stands under another."""
    lists, labels, parents = list(table.code_lists), list(table.labels), list(table.parents)
    lists[k] = codes
    labels[k] = {code: labels[k][code] for code in codes if code in labels[k]}
    if parents:
        parents[k] = (-1,) * len(codes)
    return replace(table, code_lists=tuple(lists), labels=tuple(labels), parents=tuple(parents))


def _with_groups(table: PublicTable, name: str, groups: Mapping[str, Sequence[str]]) -> PublicTable:
    """A table with cells for groups of codes besides, each the sum of the published cells of its codes."""
    k = _at(table, name)
    listed = table.code_lists[k]
    place = {code: i for i, code in enumerate(listed)}
    codes, values = [table.codes], [table.value]
    for number, members in enumerate(groups.values()):
        chosen = np.zeros(len(listed), np.bool_)
        chosen[[place[code] for code in members if code in place]] = True
        rows = np.flatnonzero(chosen[table.codes[:, k]] & table.shown)
        mine = table.codes[rows].copy()
        mine[:, k] = len(listed) + number
        distinct, at = np.unique(mine, axis=0, return_inverse=True)
        sums: Ints = np.zeros(len(distinct), np.int64)
        np.add.at(sums, at.ravel(), table.value[rows])
        codes.append(distinct.astype(np.int32))
        values.append(sums)
    value = np.concatenate(values)
    more = len(value) - len(table)
    grown = replace(
        table,
        codes=np.concatenate(codes),
        value=value,
        shown=np.concatenate([table.shown, np.ones(more, np.bool_)]),
        empty=np.concatenate([table.empty, np.zeros(more, np.bool_)]),
        lower=None,
        upper=None,
        coverage=None,
    )
    return _relisted(grown, k, (*listed, *groups))


def _ordered(table: PublicTable, order: Sequence[str]) -> PublicTable:
    """Variables in the order asked for, cells sorted by their codes."""
    places = [_at(table, name) for name in order]
    space = prod(len(codes) for codes in table.code_lists)
    if places != sorted(places) and _plain(table) and space <= 8 * len(table) + 2**16:
        return _turned(table, order, places, space)
    codes = table.codes if places == sorted(places) else np.ascontiguousarray(table.codes[:, places])
    numbers: Ints = np.zeros(len(codes), np.int64)
    for k, place in enumerate(places):
        numbers *= len(table.code_lists[place])
        numbers += codes[:, k]
    if places == sorted(places) and (numbers[1:] > numbers[:-1]).all():
        return table
    return _taken(_named_in_order(replace(table, codes=codes), order, places), _in_order(numbers, space))


def _plain(table: PublicTable) -> bool:
    """Whether a table has values and nothing besides: all shown, none empty, no intervals."""
    return bool(table.lower is None and table.upper is None and table.shown.all() and not table.empty.any())


def _turned(table: PublicTable, order: Sequence[str], places: Sequence[int], space: int) -> PublicTable:
    """The same for plain tables, in one pass."""
    strides = strides_of([len(table.code_lists[place]) for place in places])
    codes, value = np.empty((len(table), len(places)), np.int32), np.empty(len(table), np.int64)
    row = np.full(space, -1, np.int32)
    given = np.ascontiguousarray(table.codes), np.ascontiguousarray(table.value)
    put_in_order(*given, np.array(places, np.int64), np.array(strides, np.int64), row, codes, value)
    return _named_in_order(replace(table, codes=codes, value=value), order, places)


def _named_in_order(table: PublicTable, order: Sequence[str], places: Sequence[int]) -> PublicTable:
    return replace(
        table,
        variables=tuple(order),
        code_lists=tuple(table.code_lists[i] for i in places),
        labels=tuple(table.labels[i] for i in places),
        parents=tuple(table.parents[i] for i in places) if table.parents else (),
    )


def _in_order(numbers: Ints, space: int) -> Ints:
    """The order of numbers that are all different, up to some number."""
    if space > 8 * len(numbers) + 2**16:
        return np.argsort(numbers)
    row = np.full(space, -1, np.int64)
    row[numbers] = np.arange(len(numbers))
    return row[row >= 0]
