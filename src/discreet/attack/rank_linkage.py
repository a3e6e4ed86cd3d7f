"""Linkage of records whose ranks were exchanged over a published share of the file.

Each released value says between which two values the original one lay (``rank_windows``). A released record whose
windows do not hold all of the values that the intruder knows is somebody else's; the nearest of the others is guessed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.attack.linkage_columns import LinkageColumns
from discreet.attack.nearest import NearestRecords
from discreet.attack.probabilistic import candidates_of, values_with_gaps
from discreet.attack.rank_windows import RankWindow
from discreet.model.arrays import Floats, Ints


def rank_links(
    columns: LinkageColumns, share: float, blocks: tuple[Ints, Ints] | None, rows: Ints, truth: Ints
) -> tuple[NearestRecords, Floats, tuple[str, ...]]:
    """The nearest record that an exchange of ranks allows, and the chance that it is the right one."""
    from discreet.attack.pair_kernels import nearest_within

    columns.numbers_only("rank linkage")
    least, most = value_windows(columns, share, None if blocks is None else blocks[1])
    before, after = values_with_gaps(columns)
    values = np.where(columns.gone, np.nan, columns.before)[rows]
    where = candidates_of(None if blocks is None else (blocks[0][rows], blocks[1]), len(rows), len(after))
    best, found = np.zeros(len(rows)), np.full(len(rows), -1)
    ties, chance, many = np.zeros(len(rows), np.int64), np.zeros(len(rows)), np.zeros(len(rows), np.int64)
    nearest_within(
        np.ascontiguousarray(values),
        np.ascontiguousarray(before[rows]),
        np.ascontiguousarray(least[where.place]),
        np.ascontiguousarray(most[where.place]),
        np.ascontiguousarray(after[where.place]),
        where.low,
        where.high,
        where.place,
        truth[rows],
        best,
        found,
        ties,
        chance,
        many,
    )
    known = f"Windows leave {np.median(many):,.0f} candidates in the median, and {many.min():,} at least."
    return NearestRecords(np.sqrt(best), found, ties), chance, (known,) if len(many) else ()


def value_windows(columns: LinkageColumns, share: float, block: Ints | None) -> tuple[Floats, Floats]:
    """The least and the most that each released value can have been before; open for empty fields."""
    rows = len(columns.after)
    kinds = [np.arange(rows)] if block is None else [np.flatnonzero(block == one) for one in np.unique(block)]
    least, most = np.full(columns.after.shape, -np.inf), np.full(columns.after.shape, np.inf)
    for column in range(len(columns.names)):
        values, empty = columns.after[:, column], columns.empty[:, column]
        low, high = RankWindow(values, empty, kinds, Fraction(str(share))).ends()
        least[:, column], most[:, column] = np.where(empty, -np.inf, values[low]), np.where(empty, np.inf, values[high])
    return least, most
