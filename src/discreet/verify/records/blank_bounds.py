"""What emptying fields costs at least, worked out again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.weak_bounds import RiskLimits, cheapest_breaks, witness_cost

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
Flags = NDArray[np.bool_]
KeyTables = Sequence[tuple[tuple[str, ...], int]]
Enough = Callable[[Numbers, Numbers], Flags]
"""Groups of all rows, and some rows: whether the groups of these are enough."""


def check_least(
    step: CheckedStep, keys: Sequence[str], before: pa.Table, price: Prices, tables: KeyTables, stratum: str
) -> None:
    """Nobody does it for less than what is stated as the least."""
    facts = step.evidence.facts
    least, shares = float(facts["least"]), facts["shares"]
    if least == 0 and not shares:
        return
    missing, risk = step.method["missing"], step.method["risk"]
    if shares and (missing != "category" or risk is not None):
        step.refuse("shares of the least cost are stated of what has none")
        return
    asked = tables if risk is None else [(tuple(keys), 0)]
    widest = max((len(chosen) for chosen, _ in asked), default=0)
    if (widest if missing == "category" else len(keys)) > MOST_COLUMNS:
        step.refuse("a least cost is stated that this checker cannot work out")
        return
    if missing != "category":
        _check_weak_least(step, keys, before, price, asked, stratum)
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
    for chosen, k in asked:
        found = np.maximum(found, _least(codes, keys, chosen, price, _enough(step, k), stratum))
    if not 0 <= least <= float(found.sum()) * (1 + NEARLY):
        step.refuse("it can be done for less than what is stated as the least cost")


def _enough(step: CheckedStep, k: int, judged: Numbers | slice = slice(None)) -> Enough:
    """What says of groups of the rows that are judged whether those of some of them are enough."""
    if step.method["risk"] is None:
        return lambda group, rows: np.bincount(group)[group[rows]] >= k
    limits, weight = RiskLimits(float(step.method["risk"])), _weights(step)[judged]

    def heavy(group: Numbers, rows: Numbers) -> Flags:
        return limits.enough(np.bincount(group), np.bincount(group, weight).astype(np.float64))[group[rows]]

    return heavy


def _weights(step: CheckedStep) -> Prices:
    """The weights that risks are judged by, which were looked at before."""
    column = step.before[str(step.evidence.facts["weight"])]
    return np.asarray(column.cast("double").fill_null(1.0).to_numpy(), np.float64)


def _check_weak_least(
    step: CheckedStep, keys: Sequence[str], before: pa.Table, price: Prices, tables: KeyTables, stratum: str
) -> None:
    """The least cost where an empty field agrees with everything, or leaves a record out."""
    facts, least = step.evidence.facts, float(step.evidence.facts["least"])
    names = [name for name in keys if name not in facts["strata"]]
    price = price[:, [keys.index(name) for name in names]]
    codes = {name: _codes(before[name]) for name in (*names, stratum)}
    for name in names:  # codes that stand for "unknown" are empty, too
        codes[name][empty_fields(before[name], step.original.about(name).missing)] = -1
    inner = [(tuple(name for name in chosen if name in names), k) for chosen, k in tables]
    inner = [(chosen, k) for chosen, k in inner if chosen]
    if step.method["missing"] == "exempt":
        found = _least_exempt(step, names, codes, price, inner, stratum)
    else:
        shown = _least_shown(step, names, codes, price, inner, stratum)
        if shown is None:
            step.refuse("records that show the least cost are no records, or several of one stratum")
            return
        found = shown
    if not 0 <= least <= found * (1 + NEARLY):
        step.refuse("it can be done for less than what is stated as the least cost")


def _least_exempt(
    step: CheckedStep,
    names: Sequence[str],
    codes: Mapping[str, Numbers],
    price: Prices,
    tables: KeyTables,
    stratum: str,
) -> float:
    """Every record breaks all of its rare combinations itself: what others lose only makes them rarer."""
    rare = np.zeros((len(price), len(tables)), np.bool_)
    for number, (chosen, k) in enumerate(tables):
        judged = np.flatnonzero(np.all([codes[name] >= 0 for name in chosen], axis=0))
        group = _groups(codes, [*chosen, stratum], judged)
        good = _enough(step, k, judged)(group, np.arange(len(judged)))
        rare[judged[~good], number] = True
    who = np.flatnonzero(rare.any(axis=1))
    places = [[names.index(name) for name in chosen] for chosen, _ in tables]
    return float(cheapest_breaks(rare[who], price[who], places).sum())


def _least_shown(
    step: CheckedStep,
    names: Sequence[str],
    codes: Mapping[str, Numbers],
    price: Prices,
    tables: KeyTables,
    stratum: str,
) -> float | None:
    """What single records show, one of each stratum at most: records of other strata do not serve them."""
    rows = step.evidence.facts.get("witnesses", [])
    if not isinstance(rows, list) or not all(type(row) is int and 0 <= row < len(price) for row in rows):
        return None
    if len({int(codes[stratum][row]) for row in rows}) < len(rows):
        return None
    total = 0.0
    for row in rows:
        mine = np.flatnonzero(codes[stratum] == codes[stratum][row])
        place = int(np.searchsorted(mine, row))
        found = 0.0
        for chosen, k in tables:
            at = [names.index(name) for name in chosen]
            columns = [codes[name][mine] for name in chosen]
            found = max(found, witness_cost(columns, price[mine][:, at], place, _company(step, k, mine)))
        total += found
    return total


def _company(step: CheckedStep, k: int, rows: Numbers) -> Callable[[Flags], tuple[bool, int]]:
    """Whether those that agree with a record are enough, and how many more there must be at least."""
    if step.method["risk"] is None:
        return lambda agrees: (int(agrees.sum()) >= k, k - int(agrees.sum()))
    limits, weight = RiskLimits(float(step.method["risk"])), _weights(step)[rows]

    def heavy(agrees: Flags) -> tuple[bool, int]:
        number, total = np.array([int(agrees.sum())]), np.array([float(weight[agrees].sum())])
        return bool(limits.enough(number, total)[0]), 1

    return heavy


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
    codes: Mapping[str, Numbers],
    keys: Sequence[str],
    chosen: Sequence[str],
    price: Prices,
    enough: Enough,
    stratum: str,
) -> Prices:
    """For each record the cheapest fields to empty after which enough records agree with it in the others."""
    group = _groups(codes, [*chosen, stratum], slice(None))
    rare = np.flatnonzero(~enough(group, np.arange(len(group))))
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
            good = (cost < best) & enough(group, mine)
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
