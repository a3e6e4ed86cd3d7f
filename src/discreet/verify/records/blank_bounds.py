"""What emptying fields costs at least, worked out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.verify.records.context import CheckedStep

if TYPE_CHECKING:
    import pyarrow as pa

NEARLY = 1e-9
MOST_COLUMNS = 12
"""The least cost of more columns is not worked out again; then it may not be stated."""
MOST_SHARES = 100_000
UNIT = 1_000_000
"""Shares of records are whole numbers of millionths."""
DENSE = 2**24
Numbers = NDArray[np.int64]
Prices = NDArray[np.float64]
KeyTables = Sequence[tuple[tuple[str, ...], int]]


def check_least(
    step: CheckedStep, keys: Sequence[str], before: pa.Table, price: Prices, tables: KeyTables, stratum: str
) -> None:
    """Nobody does it for less than what is stated as the least."""
    facts = step.evidence.facts
    least, shares = float(facts["least"]), facts["shares"]
    if least == 0 and not shares:
        return
    if step.method["missing"] != "category" or not tables:
        step.refuse("a least cost is stated of what has none")
        return
    if max(len(chosen) for chosen, _ in tables) > MOST_COLUMNS:
        step.refuse("a least cost is stated that this checker cannot work out")
        return
    codes = {name: _codes(before[name]) for name in (*keys, stratum)}
    if shares:
        # Whatever else must hold can only cost more.
        most = max((k for chosen, k in tables if len(chosen) == len(keys)), default=0)
        if not most or len(shares) > MOST_SHARES:
            step.refuse("shares of the least cost are stated of what has none")
        elif not _shares_hold(keys, codes, price, shares, most, stratum):
            step.refuse("records could look alike for less than their shares of the least cost")
        elif not 0 <= least <= sum(shares) / UNIT * (1 + NEARLY):
            step.refuse("it can be done for less than what is stated as the least cost")
        return
    found = np.zeros(len(price))
    for chosen, k in tables:
        found = np.maximum(found, _least(codes, keys, chosen, price, k, stratum))
    if not 0 <= least <= float(found.sum()) * (1 + NEARLY):
        step.refuse("it can be done for less than what is stated as the least cost")


def _codes(column: pa.ChunkedArray) -> Numbers:
    """A number for each value, -1 where it is empty."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    return np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def _groups(codes: Mapping[str, Numbers], names: Sequence[str], rows: Numbers | slice) -> Numbers:
    """The number of each row's combination."""
    group: Numbers = np.zeros(len(next(iter(codes.values()))[rows]), np.int64)
    many = 1
    for name in names:
        own = codes[name][rows] + 1
        size = int(codes[name].max(initial=0)) + 2
        if many * size > DENSE:
            _, group = np.unique(group, return_inverse=True)
            many = int(group.max(initial=0)) + 1
        group, many = group * size + own, many * size
    if many > DENSE:
        _, group = np.unique(group, return_inverse=True)
    return group


def _least(
    codes: Mapping[str, Numbers], keys: Sequence[str], chosen: Sequence[str], price: Prices, k: int, stratum: str
) -> Prices:
    """For each record the cheapest fields to empty after which ``k`` records agree with it in the others."""
    group = _groups(codes, [*chosen, stratum], slice(None))
    rare = np.flatnonzero(np.bincount(group)[group] < k)
    least, place = np.zeros(len(price)), {name: at for at, name in enumerate(keys)}
    empty = np.array([codes[name][rare] < 0 for name in chosen]).T
    kinds, kind = np.unique(empty, axis=0, return_inverse=True)
    for number, gaps in enumerate(kinds):
        mine = rare[kind.ravel() == number]
        # Fields that were empty before are not counted, nor can they be emptied; all others are kept or gone.
        full = [name for name, gap in zip(chosen, gaps, strict=True) if not gap]
        best = price[mine][:, [place[name] for name in full]].sum(axis=1)
        for gone in chain.from_iterable(combinations(full, size) for size in range(len(full))):
            cost = price[mine][:, [place[name] for name in gone]].sum(axis=1)
            if not (cost < best).any():
                continue
            group = _groups(codes, [*(name for name in full if name not in gone), stratum], slice(None))
            good = (cost < best) & (np.bincount(group)[group[mine]] >= k)
            best = np.where(good, cost, best)
        least[mine] = best
    return least


def _shares_hold(
    keys: Sequence[str], codes: Mapping[str, Numbers], price: Prices, shares: Sequence[int], k: int, stratum: str
) -> bool:
    """Whether no ``k`` records or more that could look alike cost less than their shares.

    Records that look alike in the end show the same columns and agree in them. So for every set of columns, and every
    group that agrees in them: the cheapest choice is everybody whose share is above the cost of the other columns, and
    the nearest others until they are ``k``. In a true solution every record is in one such group, so that it costs at
    least all shares together.
    """
    share = np.asarray(shares, np.float64) / UNIT
    if len(share) != len(price) or not np.isfinite(share).all():
        return False
    empty = np.array([codes[name] < 0 for name in keys]).T
    own = np.where(empty, 0.0, price)
    for shown in chain.from_iterable(combinations(range(len(keys)), size) for size in range(len(keys) + 1)):
        rows = np.flatnonzero(~empty[:, list(shown)].any(axis=1))
        gone = [place for place in range(len(keys)) if place not in shown]
        excess = own[rows][:, gone].sum(axis=1) - share[rows]
        group = _groups(codes, [*(keys[place] for place in shown), stratum], rows)
        order = np.lexsort((excess, group))
        group, excess = group[order], excess[order]
        first = np.flatnonzero(np.concatenate(([True], np.diff(group) > 0))) if len(group) else np.zeros(0, np.int64)
        size = np.diff(np.append(first, len(group)))
        rank = np.arange(len(group)) - np.repeat(first, size)
        taken = np.where((rank < k) | (excess < 0), excess, 0.0)
        total = np.add.reduceat(taken, first) if len(first) else np.zeros(0)
        if (total < -NEARLY * size)[size >= k].any():
            return False
    return True
