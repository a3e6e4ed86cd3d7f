"""Blanks under the weaker meanings of an empty field that older tools count by.

``"any"``: a blank agrees with every code, whichever of two records has it. Blanks of others only help. In a *fibre*,
the cells that agree outside some columns, a record that is blank in these columns agrees with all others, so that few
blanks serve many cells.

``"exempt"``: a record with a blank among the columns of a table is neither counted nor judged by it. Each rare record
loses the cheapest codes that break all its rare combinations; others are counted anew without it, until none is rare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations

import numpy as np

from discreet.errors import ParameterError
from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import checkpoint
from discreet.records.blank_cells import (
    BlankPrices,
    ColumnSet,
    Keys,
    LargeEnough,
    cells_of,
    column_sets,
    typical_prices,
)
from discreet.records.blank_families import DENSE, MOST_PLACES, ColumnTable
from discreet.rules.key_counts import KeyCodes, records_like


def blanked_to_agree(codes: Ints, tables: Sequence[ColumnTable], prices: BlankPrices) -> Bools:
    """Blanks after which enough records agree with each in the columns of every table, a blank with every code."""
    shown = codes.copy()
    for done, (columns, k) in enumerate(tables):
        checkpoint("combinations of keys", done, len(tables))
        chosen = list(columns)
        bits = _agreeing_bits(np.ascontiguousarray(shown[:, chosen]), k, prices.some(chosen))
        for place, column in enumerate(columns):
            shown[(bits >> place) & 1 == 1, column] = 0
    return np.asarray((shown == 0) & (codes != 0))


def _agreeing_bits(codes: Ints, k: int, prices: BlankPrices) -> Ints:
    """Columns to blank in each row, as bits, so that ``k`` rows agree with each."""
    from discreet.records.weak_kernels import blank_in_fibres

    cells, cell = cells_of(codes, prices, LargeEnough.of(k))
    like = _agreeing_records(cells.codes, cells.records)
    lacks = np.maximum(k - like, 0)
    bits = np.zeros(len(codes), np.int64)
    if not lacks.any():
        return bits
    alive, rows = cells.records.copy(), np.ascontiguousarray(cells.codes)
    nonblank = np.asarray((cells.codes != 0) @ (1 << np.arange(codes.shape[1], dtype=np.int64)), np.int64)
    taken: list[tuple[Ints, Ints, int]] = []
    for one in column_sets(typical_prices(cells))[1:]:
        lacking = lacks > 0
        if not lacking.any():
            break
        start, member = _fibres(cells.part, cells.key, one, lacking & (nonblank & one.bits == one.bits))
        sizes = np.add.reduceat(cells.records[member], start[:-1]) if len(member) else np.zeros(0, np.int64)
        gone = np.zeros(len(alive), np.int64)
        blank_in_fibres(rows, start, member, (sizes >= k).astype(np.int64), nonblank, one.bits, alive, lacks, gone)
        who = np.flatnonzero(gone)
        taken.append((who, gone[who], one.bits))
    # Of cells with gaps more may agree than were counted; what still lacks company agrees with everybody without codes.
    left = np.flatnonzero((lacks > 0) & (alive > 0))
    for columns in np.unique(nonblank[left]).tolist():
        who = left[nonblank[left] == columns]
        taken.append((who, alive[who], columns))
    return _assigned(bits, cell, len(alive), taken)


def _agreeing_records(rows: Ints, records: Ints) -> Ints:
    """For each cell how many records agree with it where neither is blank."""
    if not (rows == 0).any():
        return records
    names = tuple(str(place) for place in range(rows.shape[1]))
    sizes = tuple(int(n) + 1 for n in rows.max(axis=0, initial=0))
    keys = KeyCodes(names, tuple(np.ascontiguousarray(rows[:, place]) for place in range(rows.shape[1])), sizes)
    return records_like(keys, "any", records.astype(np.float64)).astype(np.int64)


def _fibres(part: Keys, key: Keys, one: ColumnSet, lacking: Bools) -> tuple[Ints, Ints]:
    """Cells that agree outside some columns with one that lacks company; those with most such cells first."""
    rest = key - part[:, list(one.columns)].sum(axis=1, dtype=np.uint64)
    asked = np.unique(rest[lacking])
    if not len(asked):
        return np.zeros(1, np.int64), np.zeros(0, np.int64)
    place = np.minimum(np.searchsorted(asked, rest), len(asked) - 1)
    member = np.flatnonzero(asked[place] == rest)
    fibre = place[member]
    rank = np.argsort(np.argsort(-np.bincount(fibre, lacking[member], len(asked)), kind="stable"), kind="stable")
    order = np.argsort(rank[fibre], kind="stable")
    sizes = np.bincount(rank[fibre], minlength=len(asked))
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), member[order].astype(np.int64)


def _assigned(bits: Ints, cell: Ints, cells: int, taken: Sequence[tuple[Ints, Ints, int]]) -> Ints:
    """Give blank columns to so many records of each cell as were taken."""
    order = np.argsort(cell, kind="stable")
    next_ = np.searchsorted(cell[order], np.arange(cells))
    for who, number, columns in taken:
        places = np.repeat(next_[who], number) + np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        bits[order[places]] = columns
        next_[who] += number
    return bits


# ---- exempt ---------------------------------------------------------------------------------------------------------

MOST_SETS = 2**20
"""Rare combinations of a record times ways to break them: where there are more, too many tables were asked for."""


def blanked_to_be_exempt(codes: Ints, tables: Sequence[ColumnTable], prices: BlankPrices) -> Bools:
    """Blanks after which no record is in a rare combination of a table in all columns of which it has a code."""
    cells, cell = cells_of(codes, prices, LargeEnough.of(2))
    if len(tables) << codes.shape[1] > MOST_SETS:
        raise ParameterError(
            f"{len(tables):,} combinations of {codes.shape[1]} keys are too many to work on at once.",
            hint="Give fewer keys or a smaller size.",
        )
    shown, size = np.ascontiguousarray(cells.codes.copy()), codes.max(axis=0, initial=0) + 1
    each = cells.price / cells.records[:, None]
    common = _entropy(cells.codes, cells.records)
    every = list(chain.from_iterable(combinations(range(codes.shape[1]), n) for n in range(1, codes.shape[1] + 1)))
    breaks = np.array([[bool(set(gone) & set(columns)) for columns, _ in tables] for gone in every])
    rounds, counter = 0, _dense_counter(tables, size)
    while True:
        checkpoint("rare combinations", rounds, rounds + 1)
        found = None if counter is None else counter(shown, cells.records)
        rare, near = found or _rare(shown, cells.records, tables, size)
        who = np.flatnonzero(rare.any(axis=1))
        if not len(who):
            return np.asarray(((shown == 0) & (cells.codes != 0))[cell])
        _break(shown, who, rare[who], near[who], every, breaks, each, common)
        rounds += 1


def _dense_counter(tables: Sequence[ColumnTable], size: Ints) -> Callable[[Ints, Ints], tuple[Bools, Ints]] | None:
    """The same as :func:`_rare`, compiled, where all tables fit into memory."""
    from discreet.records.weak_kernels import rare_cells

    places = [float(np.prod(size[list(columns)].astype(np.float64))) for columns, _ in tables]
    if sum(places) > MOST_PLACES:
        return None
    stride = np.zeros((len(tables), len(size)), np.int64)
    for number, (columns, _) in enumerate(tables):
        stride[number, list(columns)] = np.cumprod([1, *size[list(columns)[:-1]]])
    offset = np.concatenate(([0], np.cumsum(places)[:-1])).astype(np.int64)
    least = np.array([k for _, k in tables], np.int64)

    def counter(shown: Ints, records: Ints) -> tuple[Bools, Ints]:
        rare = np.zeros((len(shown), len(tables)), np.bool_)
        near = np.zeros(shown.shape, np.int64)
        rare_cells(shown, records, stride, offset, least, np.zeros(int(sum(places)), np.int64), rare, near)
        return rare, near

    return counter


def _rare(shown: Ints, records: Ints, tables: Sequence[ColumnTable], size: Ints) -> tuple[Bools, Ints]:
    """By which tables each cell is rare; and for each column in how many tables others would be rare without it."""
    rare = np.zeros((len(shown), len(tables)), np.bool_)
    near = np.zeros(shown.shape, np.int64)
    full = shown != 0
    for number, (columns, k) in enumerate(tables):
        group = np.zeros(len(shown), np.int64)
        many = 1.0
        for column in columns:
            many *= float(size[column])
            if many > DENSE:
                _, group = np.unique(group, return_inverse=True)
                many = float(group.max(initial=0) + 1) * float(size[column])
            group = group * size[column] + shown[:, column]
        if many > DENSE:
            _, group = np.unique(group, return_inverse=True)
        judged = full[:, list(columns)].all(axis=1)
        like = np.bincount(group[judged], records[judged], int(group.max(initial=0)) + 1)[group]
        rare[:, number] = judged & (like < k)
        lost = judged & (like >= k) & (like - records < k) & (like > records)
        for column in columns:
            near[lost, column] += 1
    return rare, near


def _break(
    shown: Ints,
    who: Ints,
    rare: Bools,
    near: Ints,
    every: Sequence[tuple[int, ...]],
    breaks: Bools,
    each: Floats,
    common: Floats,
) -> None:
    """Blank for each rare cell the cheapest columns that break all its rare combinations.

    Of equal ones those that make the fewest others rare, and then the most common codes.
    """
    kinds, kind = np.unique(rare, axis=0, return_inverse=True)
    for number, wanted in enumerate(kinds):
        mine = np.flatnonzero(kind.ravel() == number)
        able = np.flatnonzero((breaks | ~wanted).all(axis=1)).tolist()
        # Supersets of what suffices cost more.
        able = [at for at in able if not any(set(every[other]) < set(every[at]) for other in able)]
        best = np.full((3, len(mine)), np.inf)
        choice = np.zeros(len(mine), np.int64)
        for at in able:
            gone, rows = list(every[at]), who[mine]
            scores = (
                np.round(each[rows][:, gone].sum(axis=1), 9),
                near[mine][:, gone].sum(axis=1).astype(np.float64),
                common[rows][:, gone].sum(axis=1),
            )
            better = (scores[0] < best[0]) | (
                (scores[0] == best[0]) & ((scores[1] < best[1]) | ((scores[1] == best[1]) & (scores[2] < best[2])))
            )
            for place, score in enumerate(scores):
                best[place] = np.where(better, score, best[place])
            choice[better] = at
        for at in np.unique(choice).tolist():
            for column in every[at]:
                shown[who[mine[choice == at]], column] = 0


def _entropy(codes: Ints, records: Ints) -> Floats:
    """What each code says, in bits: rare ones say most."""
    found = np.zeros(codes.shape)
    for column in range(codes.shape[1]):
        count = np.bincount(codes[:, column], records)
        share = np.maximum(count, 1) / max(int(records.sum()), 1)
        found[:, column] = -np.log2(share)[codes[:, column]]
    return found
