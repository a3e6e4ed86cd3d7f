"""Blanks for records at risk, under the weaker meanings of an empty field."""

from __future__ import annotations

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.records.blank_cells import BlankPrices, KeyCells, LargeEnough, cells_of, column_sets
from discreet.rules.key_counts import KeyCodes, records_like


def risky(codes: Ints, enough: LargeEnough, missing: str) -> Bools:
    """Records that are at risk: too few look like them, or stand for too few, as the meaning of a blank counts."""
    like, mass = _alike(codes, enough, missing)
    return ~enough.holds(np.minimum(like, enough.always).astype(np.int64), mass)


def _alike(codes: Ints, enough: LargeEnough, missing: str) -> tuple[Floats, Floats]:
    names = tuple(str(place) for place in range(codes.shape[1]))
    sizes = tuple(int(n) + 1 for n in codes.max(axis=0, initial=0))
    keys = KeyCodes(names, tuple(np.ascontiguousarray(codes[:, place]) for place in range(codes.shape[1])), sizes)
    like = records_like(keys, missing)  # type: ignore[arg-type]
    return like, like if enough.weight is None else records_like(keys, missing, enough.weight)  # type: ignore[arg-type]


def blank_at_risk(codes: Ints, prices: BlankPrices, enough: LargeEnough, unsafe: Bools, missing: str) -> Bools:
    """Blank the cheapest columns of unsafe records until none is at risk.

    Where a blank agrees with every code, blanks of one only help the others. Where records with a blank are exempt,
    others may come to be at risk without them, and are blanked in turn.
    """
    shown = codes.copy()
    while unsafe.any():
        cells, cell = cells_of(shown, prices, enough)
        chosen = np.unique(cell[unsafe])
        bits = _cheapest(cells, chosen, enough, missing)
        columns = np.zeros(len(cells.records), np.int64)
        columns[chosen] = bits
        for column in range(codes.shape[1]):
            shown[unsafe & ((columns[cell] >> column) & 1 == 1), column] = 0
        if missing == "any":
            break
        unsafe = risky(shown, enough, missing)
    return np.asarray((shown == 0) & (codes != 0))


def _cheapest(cells: KeyCells, chosen: Ints, enough: LargeEnough, missing: str) -> Ints:
    """For some cells the cheapest columns to blank, as bits."""
    best, bits = np.full(len(chosen), np.inf), np.zeros(len(chosen), np.int64)
    full = cells.codes[chosen] != 0
    for one in column_sets([1.0] * cells.codes.shape[1])[1:]:
        gone = list(one.columns)
        cost = cells.price[chosen][:, gone].sum(axis=1)
        able = full[:, gone].all(axis=1) & (cost < best)
        if missing == "any":
            key = cells.key - cells.part[:, gone].sum(axis=1, dtype=np.uint64)
            _, group = np.unique(key, return_inverse=True)
            like = np.bincount(group, cells.records)[group[chosen]].astype(np.int64)
            mass = np.asarray(np.bincount(group, cells.mass), np.float64)
            able &= enough.holds(like, mass[group[chosen]])
        best, bits = np.where(able, cost, best), np.where(able, one.bits, bits)
    # Of cells with gaps more may agree than were counted; without codes they agree with everybody.
    whole = np.asarray(full @ (1 << np.arange(full.shape[1], dtype=np.int64)), np.int64)
    return np.where(np.isinf(best), whole, bits)
