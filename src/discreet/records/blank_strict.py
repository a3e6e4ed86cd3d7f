"""Blanks after which every row of codes is in a large enough group; a blank is a code of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.progress import checkpoint
from discreet.records.blank_cells import BlankPrices, KeyCells, LargeEnough, cells_of, least_costs
from discreet.records.blank_programs import (
    UNIT,
    BlankRelaxation,
    blank_program,
    relaxed,
    round_to_classes,
    search_classes,
    shares_of,
)
from discreet.records.blanking import ClassPattern, bits_as_columns

Algorithm = Literal["greedy", "optimal"]
FEW_NODES = 1
"""Nodes of the small integer program that improves what the linear program says."""
MOST_SHARES = 60_000
"""Shares of the least cost are stated of so many records; of more, only what can be worked out without them."""


@dataclass(frozen=True, eq=False)
class Blanked:
    """Which codes of records become blank, and what that costs at least.

    Parameters
    ----------
    blank
        A row for every record, a column for every key.
    least
        What it costs at least, whatever is done.
    shares
        For every record its share of that in millionths; ``None`` where the bound needs none.
    simple
        What it costs at least by looking at each record by itself.
    bound
        What integer programs say it costs at least, where they were asked; nobody re-checks it.
    nodes
        Nodes that they looked at.
    """

    blank: Bools
    least: float
    shares: Ints | None = None
    simple: float = 0.0
    bound: float | None = None
    nodes: int = 0


def strictly_blanked(
    codes: Ints, prices: BlankPrices, enough: LargeEnough, algorithm: Algorithm = "greedy", nodes: int = 1000
) -> Blanked:
    """Blanks after which all rows of codes are in large enough groups; all records must be one themselves."""
    cells, cell = cells_of(codes, prices, enough)
    pattern = ClassPattern(cells, enough)
    pattern.fill()
    pattern.improve()
    relaxation = _improved_by_program(pattern)
    blank, bound, used = bits_as_columns(pattern.completed(cell), codes.shape[1]), None, 0
    if relaxation is not None:
        proof = algorithm == "optimal"
        cost = prices.cost(codes, blank)
        found = search_classes(pattern, relaxation, cost, nodes if proof else FEW_NODES, proof=proof)
        if found.columns is not None:
            better = bits_as_columns(_by_record(pattern, cell, found.columns), codes.shape[1])
            blank = better if prices.cost(codes, better) < cost else blank
        # The bound is of ways that leave large groups alone; blanks in these may be cheaper still, and were taken.
        bound, used = (min(found.bound, prices.cost(codes, blank)) if proof else None), found.nodes
    simple = float(least_costs(cells, enough).sum())
    if len(codes) > MOST_SHARES:
        return Blanked(blank, simple, None, simple, bound, used)
    shares = shares_of(cells, enough, pattern, relaxation)[cell]
    if prices.weight is not None:
        shares = _weighted_shares(cells, cell, prices, enough)
    return Blanked(blank, float(shares.sum()) / UNIT, shares, simple, bound, used)


def _improved_by_program(pattern: ClassPattern) -> BlankRelaxation | None:
    program = blank_program(pattern)
    if program is None:
        return None
    found = relaxed(program, lambda: checkpoint("linear program", 0, 1))
    if found is not None:
        round_to_classes(pattern, program, found.amount)
    return found


def _by_record(pattern: ClassPattern, cell: Ints, columns: Ints) -> Ints:
    """Blank columns of every record from those of the records of small cells, which are in the order of these."""
    number = np.full(len(pattern.cells.records), -1, np.int64)
    number[pattern.small] = np.arange(len(pattern.small))
    small = np.flatnonzero(number[cell] >= 0)
    order = small[np.argsort(number[cell[small]], kind="stable")]
    bits = np.zeros(len(cell), np.int64)
    bits[order] = columns
    return bits


def _weighted_shares(cells: KeyCells, cell: Ints, prices: BlankPrices, enough: LargeEnough) -> Ints:
    """Shares of records with weights of their own: what each of them must cost by itself."""
    assert prices.weight is not None
    worth = np.bincount(cell, prices.weight, len(cells.records))
    alone = (least_costs(cells, enough) / worth)[cell] * prices.weight
    return np.asarray(np.floor(alone * UNIT + 1e-6), np.int64)
