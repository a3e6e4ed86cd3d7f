"""One pass over narrow columns: counts, sums and key sums in an array of all combinations of codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.engine.cells import Above, LeafCells, code_space, strides_of
from discreet.engine.column_files import Columns
from discreet.engine.column_universe import Selected
from discreet.engine.contributions import KnownRoles, merged_up, nothing_known
from discreet.engine.encode import base_positions, recoded
from discreet.model.arrays import Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Contributions

COUNTED = 2**18
"""Records that are counted together: their cell numbers stay in the cache, and there are few steps of Python."""


class Recoded(NamedTuple):
    """A variable in a hierarchy: the position of each of its base codes there, and the codes of its cells.

    Where codes of the records stay apart and in their order, they are counted as they stand (``look_up`` is empty).
    """

    positions: Ints
    """Position of each number of the column; -1 where the hierarchy does not have the code as a base code."""
    distinct: Ints
    """Position of each code of the cells, in their order."""
    look_up: Any
    """The code of the cells that each number becomes."""


class PackedCells(NamedTuple):
    """One counter for each combination of codes: records from bit ``shift`` on, the sum of their keys below."""

    counters: Any
    shift: int
    numbered: list[Recoded]
    """The variables that they are by."""


def numbered_codes(codes: Sequence[str], hierarchy: Hierarchy, recode: Mapping[str, str]) -> Recoded:
    """Positions of the base codes of a column in a hierarchy."""
    positions = base_positions([recoded(code, recode) for code in codes] if recode else codes, hierarchy)
    found = positions.astype(np.int64)
    if len(found) and found[0] >= 0 and np.all(np.diff(found) > 0):
        return Recoded(found, found, np.zeros(0, np.uint32))
    distinct = np.unique(found[found >= 0])
    distinct = distinct if len(distinct) else np.zeros(1, np.int64)
    look_up = np.searchsorted(distinct, np.maximum(found, distinct[0])).astype(np.uint32)
    return Recoded(found, distinct, look_up)


def numbered_cells(
    columns: Columns, universe: Selected, names: Sequence[str], numbered: Sequence[Recoded]
) -> Iterator[tuple[slice, Any]]:
    """Cells of all records, block by block; those of records outside the universe come after all others.

    The numbers of a block are gone when the next one is asked for.
    """
    from discreet.engine.column_kernels import add_looked_up, add_numbers, set_outside

    sizes = [len(one.distinct) for one in numbered]
    outside = np.uint32(code_space(sizes))
    strides = [np.uint32(stride) for stride in strides_of(sizes)]
    work = [
        (columns.codes(name), stride, one.look_up * stride)
        for name, one, stride in zip(names, numbered, strides, strict=True)
    ]
    block = np.empty(min(COUNTED, max(end - begin for begin, end in universe.spans)), np.uint32)
    for begin, end in universe.spans:
        for at in range(begin, end, COUNTED):
            stop = min(at + COUNTED, end)
            cells = block[: stop - at]
            first = True
            for column, stride, look_up in work:
                if len(look_up):
                    add_looked_up(column[at:stop], look_up, first, cells)
                else:
                    add_numbers(column[at:stop], stride, first, cells)
                first = False
            if universe.bits is not None:
                set_outside(universe.bits, at, outside, cells)
            yield slice(at, stop), cells


def counted(
    columns: Columns, universe: Selected, names: Sequence[str], numbered: Sequence[Recoded], keys: Any, shift: int
) -> Any:
    """One counter for each combination of codes: the number of records from bit ``shift`` on, the sum of keys below."""
    from discreet.engine.column_kernels import count_keyed, count_records

    space = code_space([len(one.distinct) for one in numbered])
    counters, one_record = np.zeros(space + 1, np.uint64), np.uint64(1 << shift)
    for span, cells in numbered_cells(columns, universe, names, numbered):
        if keys is None:
            count_records(cells, counters)
        else:
            count_keyed(cells, keys[span], one_record, counters)
    return counters[:space]


class AmountCells(NamedTuple):
    """Finest cells that have records: their keys, and what is known of their amounts, one row a cell.

    Columns of ``known`` are those of :mod:`discreet.engine.column_kernels`.
    """

    keys: Ints
    known: Ints


def amounts_of_cells(
    columns: Columns,
    universe: Selected,
    by: Mapping[str, Recoded],
    strides: Sequence[int],
    amounts: Any,
    record_keys: Any,
    top: int,
    *,
    by_size: bool,
) -> AmountCells:
    """Counts, sums, key sums, ranges and largest amounts of the finest cells, in one pass.

    Parameters
    ----------
    columns, universe
        The records.
    by
        The variables.
    strides
        By how much the key of a cell grows with each variable's position.
    amounts
        A column of numbers.
    record_keys
        The record keys; ``None`` where there are none.
    top
        How many of the largest amounts to keep.
    by_size
        Whether the largest are those of the largest size, with their signs; else the largest above zero.
    """
    from discreet.engine.column_kernels import LARGEST, LARGEST_AMOUNT, LEAST, MOST, NONZERO, RECORDS, enter_amounts

    numbered = list(by.values())
    sizes = [len(one.distinct) for one in numbered]
    known = np.zeros((code_space(sizes) + 1, LARGEST + top), np.int64)
    known[:, MOST], known[:, LEAST] = -LARGEST_AMOUNT, LARGEST_AMOUNT
    none = np.zeros(0, np.uint8)
    none.flags.writeable = False
    for span, cells in numbered_cells(columns, universe, list(by), numbered):
        enter_amounts(cells, amounts[span], none if record_keys is None else record_keys[span], by_size, known)
    there = np.flatnonzero(known[:-1, RECORDS])
    keys = np.zeros(len(there), np.int64)
    for one, place, stride in zip(numbered, np.unravel_index(there, sizes), strides, strict=True):
        keys += one.distinct[place] * stride
    found = known[there]
    found[found[:, NONZERO] == 0, MOST : LEAST + 1] = 0
    return AmountCells(keys, found)


def leaves_of_counters(
    counters: Any, shift: int, numbered: Sequence[Recoded], strides: Sequence[int], keyed: bool
) -> LeafCells:
    """Finest cells from counters."""
    from discreet.engine.column_kernels import occupied_counters

    sizes = np.array([len(one.distinct) for one in numbered], np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    adds = np.concatenate([one.distinct * stride for one, stride in zip(numbered, strides, strict=True)])
    keys, count, key_sum = occupied_counters(counters, shift, sizes, starts, adds)
    none = np.zeros(0, np.int64)
    return LeafCells(keys, count, np.zeros((0, len(keys)), np.int64), key_sum if keyed else none)


def leaves_of_amounts(found: AmountCells, keyed: bool) -> LeafCells:
    """Finest cells with their sums."""
    from discreet.engine.column_kernels import AMOUNT, KEYS, NONZERO, RECORDS

    records, amount, nonzero, key_sum = np.ascontiguousarray(found.known[:, [RECORDS, AMOUNT, NONZERO, KEYS]].T)
    return LeafCells(found.keys, records, amount[np.newaxis], key_sum if keyed else np.zeros(0, np.int64), nonzero)


def contributions_of_amounts(found: AmountCells, above: Above, cells: int, top: int) -> Contributions:
    """Contributions where every record is a contributor of its own: its amount counts once, without a weight."""
    from discreet.engine.column_kernels import AMOUNT, LARGEST, LEAST, NONZERO, RECORDS
    from discreet.engine.kernels import COUNT, NEGATIVE, OWN, TOP, TOTAL
    from discreet.engine.kernels import NONZERO as CHANGING

    known = KnownRoles(weighted=False, waived=False, requested=False, named=False)
    lists = nothing_known(len(found.keys), cells, top, known)
    finest = lists.finest
    finest[:, COUNT] = found.known[:, RECORDS]
    finest[:, CHANGING] = found.known[:, NONZERO]
    finest[:, TOTAL] = finest[:, OWN] = found.known[:, AMOUNT]
    finest[:, NEGATIVE] = found.known[:, LEAST] < 0
    finest[:, TOP:] = found.known[:, LARGEST:]
    return merged_up(lists, above, top, top, known)[0]
