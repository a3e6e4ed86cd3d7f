"""Who contributes to the cells of a ready-made table: columns ``holder1``, ``own1``, ... and what must fit together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.cells import Above
from discreet.engine.identities import identities_of
from discreet.errors import InputError, counted
from discreet.files.frames import filled_numbers, gaps
from discreet.model.arrays import Bools, Ints
from discreet.model.table import HOLDERS, NOBODY, Holders, Table
from discreet.model.units import to_units

if TYPE_CHECKING:
    import pyarrow as pa


def is_holder(name: str) -> bool:
    """Whether a column names contributors."""
    return re.fullmatch(rf"holder[1-{HOLDERS}]", name) is not None


def is_own(name: str) -> bool:
    """Whether a column says how much the contributors of another one have."""
    return re.fullmatch(rf"own[1-{HOLDERS}]", name) is not None


def holders_of(frame: pa.Table, table: Table) -> Holders | None:
    """The holders that a frame names, row by row as the table's cells; ``None`` where it names none.

    Raises
    ------
    InputError
        When amounts or numbers of contributors are missing or contradict the names.
    """
    names = [name for name in frame.column_names if is_holder(name)]
    given = len(names)
    _refuse_lone_columns(frame, set(names))
    if not given:
        return None
    identity = np.full((len(table), HOLDERS), NOBODY, np.int64)
    amount = np.zeros((len(table), HOLDERS), np.int64)
    for i in range(given):
        identity[:, i] = _identities(frame[f"holder{i + 1}"])
        amount[:, i] = _amounts(frame, i + 1, identity[:, i], table)
    found = Holders(table.contributions["holding"].count, identity, amount)
    _refuse_contradictions(found, given, table)
    order = np.lexsort((identity, -np.abs(amount), identity < 0), axis=1)
    return Holders(found.count, np.take_along_axis(identity, order, 1), np.take_along_axis(amount, order, 1))


def _refuse_lone_columns(frame: pa.Table, names: set[str]) -> None:
    for name in frame.column_names:
        partner = f"holder{name.removeprefix('own')}"
        if is_own(name) and partner not in names:
            raise InputError(
                f"Column {name!r} says how much a contributor has, and column {partner!r} does not say which one.",
                hint=f"Add {partner!r}, or remove {name!r}.",
            )
    for i in range(1, len(names) + 1):
        if f"holder{i}" not in names:
            raise InputError(
                f"The cells have {counted(len(names), 'column')} of holders, but none is called 'holder{i}'.",
                hint="Begin with holder1, the largest contributor, and leave no number out.",
            )
    if names and "contributors" not in frame.column_names:
        raise InputError(
            "Columns holder1, holder2, ... name the largest contributors, and how many there are is not known.",
            hint="Add the column contributors.",
        )


def _identities(column: Any) -> Ints:
    """Identities of the contributors that a column names, nobody where it is empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    named = column.is_valid()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        named = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), False)
    there = np.array(named.to_numpy(), np.bool_)
    result = np.full(len(column), NOBODY, np.int64)
    if there.any():
        result[there] = identities_of(column.filter(named).combine_chunks())
    return result


def _amounts(frame: pa.Table, number: int, identity: Ints, table: Table) -> Ints:
    """Amounts of the holders in one column; the largest contributions where the rules look at nothing else."""
    name, top, holder = f"own{number}", f"top{number}", f"holder{number}"
    if name not in frame.column_names:
        if table.spec.shadow or top not in frame.column_names:
            raise InputError(
                f"Column {holder!r} names contributors, and how much they have is not known.",
                hint=f"Add the column {name!r}." if table.spec.shadow else f"Add the column {name!r} or {top!r}.",
            )
        name = top
    missing = gaps(frame, name) & (identity >= 0)
    _refuse(missing, f"name a contributor in {holder!r} and no amount in {name!r}", "Give the amount, 0 for nothing.")
    amount = to_units(filled_numbers(frame, name), table.decimals, name)
    nobody = (amount != 0) & (identity < 0)
    _refuse(nobody, f"have an amount in {name!r} and nobody in {holder!r}", "Name the contributor, or give no amount.")
    return amount


def _refuse(wrong: Bools, what: str, hint: str) -> None:
    if wrong.any():
        raise InputError(
            f"{counted(int(wrong.sum()), 'cell', what)}, first in row {int(np.argmax(wrong)) + 1}.", hint=hint
        )


def _refuse_contradictions(found: Holders, given: int, table: Table) -> None:
    """``given`` is how many columns of holders there are."""
    named = found.identity >= 0
    listed = named.sum(axis=1)
    _refuse(np.any(np.diff(named.astype(np.int8), axis=1) > 0, axis=1), "skip a holder", "Fill holder1 first.")
    ordered = np.sort(found.identity, axis=1)
    twice: Bools = np.any((np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0), axis=1)
    _refuse(twice, "name a contributor twice", "Add its amounts up, and name it once.")
    more, fewer = listed > found.count, listed < np.minimum(found.count, given)
    _refuse(more, "name more holders than contributors", "Correct the column contributors.")
    _refuse(
        fewer,
        "do not name all of the largest contributors",
        f"Name the {given} largest, or all where there are fewer; or leave the columns of holders out.",
    )
    size = np.abs(found.amount)
    _refuse(np.any(np.diff(size, axis=1) > 0, axis=1), "have own2 above own1", "Put the largest first.")
    whole = table.value + (0 if table.slack is None else abs(table.slack))
    positive = ~table.contributions["holding"].negative & (found.amount >= 0).all(axis=1)
    above = positive & (size.sum(axis=1) > whole) & (found.count <= listed)
    _refuse(above, "have holders with more than the value", "Check the columns own1, own2, ... and value.")


def disjoint_holders(given: Holders, leaf: Holders, above: Above, owner: Ints, old: Ints, count: Ints) -> Holders:
    """Holders of totals from those of the finest cells, which have no contributor in common.

    Parameters
    ----------
    given
        Holders of the cells that are there already, in rows ``old``.
    leaf
        Holders of the finest cells.
    above, owner
        Which cells each finest cell adds to, and the finest cell of each entry.
    old
        Rows of the cells that are there already.
    count
        Contributors of all cells.
    """
    _refuse_shared(leaf)
    cell = np.repeat(above.cell, HOLDERS)
    identity = leaf.identity[owner].ravel()
    amount = (above.sign[:, None] * leaf.amount[owner]).ravel()
    order = np.lexsort((identity, -np.abs(amount), cell))
    order = order[identity[order] >= 0]
    cell, identity, amount = cell[order], identity[order], amount[order]
    rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
    keep = rank < _named_everywhere(leaf)
    names = np.full((len(count), HOLDERS), NOBODY, np.int64)
    amounts = np.zeros((len(count), HOLDERS), np.int64)
    names[cell[keep], rank[keep]], amounts[cell[keep], rank[keep]] = identity[keep], amount[keep]
    names[old], amounts[old] = given.identity, given.amount
    return Holders(count, names, amounts)


def _refuse_shared(leaf: Holders) -> None:
    _, times = np.unique(leaf.identity[leaf.identity >= 0], return_counts=True)
    if (times > 1).any():
        raise InputError(
            f"{counted(int((times > 1).sum()), 'contributor', 'stand')} in several of the finest cells, against "
            "disjoint=True.",
            hint="Give the totals with their contributors and holders, and leave disjoint=True out.",
        )


def _named_everywhere(leaf: Holders) -> int:
    """How many of the largest contributors every cell names; beyond them a total's largest are not known."""
    listed = (leaf.identity >= 0).sum(axis=1)
    return int(listed[listed < leaf.count].min(initial=HOLDERS))
