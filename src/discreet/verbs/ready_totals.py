"""Totals of a ready-made table, computed from its finest cells."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from discreet.engine.cells import Above, all_cells, cells_above
from discreet.errors import InputError, NeedsError, ParameterError, counted
from discreet.model.arrays import NO_LOWER, NO_UPPER, Floats, Ints, fits
from discreet.model.table import CellStatus, Contributions, Table
from discreet.model.units import from_units
from discreet.verbs.ready_holders import disjoint_holders

NOT_GIVEN = {
    "manual": CellStatus.SAFE,
    "manual_lower": 0,
    "manual_upper": 0,
    "lower_bound": NO_LOWER,
    "upper_bound": NO_UPPER,
}
"""What nobody has said of computed totals."""


def with_totals(table: Table, disjoint: bool | Literal["unknown"]) -> Table:
    """The table with all totals above its finest cells; ``disjoint`` is as for :meth:`Table.from_cells`."""
    if disjoint not in (True, False, "unknown"):
        raise ParameterError(f"disjoint={disjoint!r} is not allowed.", hint='Use True, False or "unknown".')
    hierarchies = table.spec.hierarchies
    finest = np.all(np.column_stack([h.base[table.codes[:, k]] for k, h in enumerate(hierarchies)]), axis=1)
    leaf = table.at(np.flatnonzero(finest))
    if not fits(leaf.value):
        raise InputError(
            "The finest cells are too large for exact 64-bit sums.",
            hint="Give decimals= with fewer decimals, or express the values in a larger unit (thousands).",
        )
    keys = np.union1d(all_cells(leaf.keys, hierarchies, every=False), table.keys)
    above = cells_above(leaf.keys, keys, hierarchies)
    old = np.searchsorted(keys, table.keys)
    missing = np.ones(len(keys), np.bool_)
    missing[old] = False
    owner = np.repeat(np.arange(len(leaf)), np.diff(above.start))
    value = np.zeros(len(keys), np.int64)
    np.add.at(value, above.cell, above.sign * leaf.value[owner])
    value[old] = table.value
    empty = np.ones(len(keys), np.bool_)
    empty[above.cell[~leaf.empty[owner]]] = False
    empty[old] = table.empty
    changes: dict[str, Any] = {
        "codes": np.column_stack(np.unravel_index(keys, table.shape)).astype(np.int32),
        "value": value,
        "empty": empty,
    }
    for name, nothing in NOT_GIVEN.items():
        column = getattr(table, name)
        if column is not None:
            changes[name] = np.full(len(keys), nothing, column.dtype)
            changes[name][old] = column
    if table.cost is not None:
        changes["cost"] = _computed_costs(table, leaf, value, above, owner)
        changes["cost"][old] = table.cost
    if table.key_sum is not None and leaf.key_sum is not None:
        key_sum = np.zeros(len(keys), np.int64)
        np.add.at(key_sum, above.cell, leaf.key_sum[owner])
        changes["key_sum"] = key_sum % table.key_modulus if table.key_modulus else key_sum
        changes["key_sum"][old] = table.key_sum
    if table.contributions and missing.any():
        if not disjoint:
            raise NeedsError(
                f"{counted(int(missing.sum()), 'total', 'were')} computed, and who contributes to them is not known.",
                hint="Give the totals with their contributors, or disjoint=True where no contributor stands in two "
                'of the finest cells, or disjoint="unknown" to judge them by the worst that may be. Adding '
                "contributors of finer cells up would look safer than it is.",
            )
        if disjoint == "unknown":
            changes["contributions"] = {"holding": _fewest_contributors(table, leaf, above, owner, old, value)}
            return table.with_(**changes)
        found = _disjoint_contributions(table, leaf, above, owner, old, value)
        changes["contributions"] = {"holding": found}
        if table.holders is not None and leaf.holders is not None:
            changes["holders"] = disjoint_holders(table.holders, leaf.holders, above, owner, old, found.count)
    return table.with_(**changes)


def _computed_costs(table: Table, leaf: Table, value: Ints, above: Above, owner: Ints) -> Floats:
    """Costs of computed totals: a variable adds up, and costs that somebody set leave them their value."""
    if table.spec.cost is None or leaf.cost is None:
        return np.abs(from_units(value, table.decimals))
    worth = np.zeros(len(value), np.float64)
    np.add.at(worth, above.cell, leaf.cost[owner])
    return worth


def _fewest_contributors(table: Table, leaf: Table, above: Above, owner: Ints, old: Ints, value: Ints) -> Contributions:
    """What bounds the contributors of totals, whoever stands in which of the finest cells.

    A total has at least as many contributors as any of its cells, and its n largest have at most what the n largest
    of all its cells have together. Rules that look at these bounds find every total that may be unsafe.
    """
    mine, given = leaf.contributions["holding"], table.contributions["holding"]
    if table.holders is not None:
        raise NeedsError(
            "Totals were computed, and which of the named contributors stand behind them is not known.",
            hint="Give the totals with their contributors and holders, or leave the columns of holders out.",
        )
    if bool((mine.negative[owner] | (above.sign < 0)).any()):
        raise NeedsError(
            "Totals of negative values or differences were computed, and nothing bounds who contributes to them.",
            hint="Give the totals with their contributors, or disjoint=True where no contributor stands in two cells.",
        )
    count = np.zeros(len(value), np.int64)
    np.maximum.at(count, above.cell, mine.count[owner])
    largest = np.zeros((len(value), mine.top.shape[1]), np.int64)
    np.add.at(largest, above.cell, mine.top[owner])
    count[old], largest[old] = given.count, given.top
    negative = np.zeros(len(value), np.bool_)
    negative[old] = given.negative
    return Contributions(count, value, largest, negative)


def _disjoint_contributions(
    table: Table, leaf: Table, above: Above, owner: Ints, old: Ints, value: Ints
) -> Contributions:
    """Contributors of totals as the union of those of the finest cells, which have none in common."""
    mine, given = leaf.contributions["holding"], table.contributions["holding"]
    size, top = len(value), mine.top.shape[1]
    count = np.zeros(size, np.int64)
    np.add.at(count, above.cell, mine.count[owner])
    cell = np.repeat(above.cell, top)
    amount = mine.top[owner].ravel()
    order = np.lexsort((-amount, cell))
    rank = np.arange(len(order)) - np.searchsorted(cell[order], cell[order])
    largest = np.zeros((size, top), np.int64)
    keep = rank < top
    largest[cell[order][keep], rank[keep]] = amount[order][keep]
    negative = np.zeros(size, np.bool_)
    negative[above.cell[mine.negative[owner] | (above.sign < 0)]] = True
    count[old], largest[old], negative[old] = given.count, given.top, given.negative
    return Contributions(count, value, largest, negative)
