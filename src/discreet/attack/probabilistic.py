"""Linkage by evidence: how much more often values agree in one record than in any two (Fellegi and Sunter 1969).

Numbers agree on one of several levels: how far apart they are, cut where stated shares of all pairs lie. How often
each level occurs among all pairs is counted; how often among pairs that belong together is learned from the two files
alone, by expectation and maximisation. Every record is taken to have one partner among its candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.attack.linkage_columns import LinkageColumns
from discreet.attack.linkage_scales import scaled_pair
from discreet.attack.nearest import NearestRecords
from discreet.model.arrays import Floats, Ints
from discreet.progress import checkpoint

CUTS = 4
"""Numbers agree on one level more than this."""
LAST_CUT = 0.3
"""Beyond the last cut lie all but this share of pairs."""
PROBED = 1_000
"""Cuts are found among pairs of so many values of each file, evenly spaced by rank."""
LEARNED_FROM, FEWEST = 4 * 10**6, 100
"""Evidence is learned from the pairs of as many records as make so many pairs, and of so many records at least."""
AT_ONCE = 10**7
"""Pairs between two reports of progress."""
ROUNDS, SETTLED = 50, 1e-4


class Candidates(NamedTuple):
    """The searched file block by block: its rows, and from where to where each asked record is compared."""

    place: Ints
    low: Ints
    high: Ints


def candidates_of(blocks: tuple[Ints, Ints] | None, asked: int, searched: int) -> Candidates:
    """Whom each record is compared with."""
    if blocks is None:
        return Candidates(np.arange(searched), np.zeros(asked, np.int64), np.full(asked, searched))
    place = np.argsort(blocks[1], kind="stable")
    ranked = blocks[1][place]
    return Candidates(place, np.searchsorted(ranked, blocks[0], "left"), np.searchsorted(ranked, blocks[0], "right"))


def probabilistic_links(
    columns: LinkageColumns, backwards: bool, blocks: tuple[Ints, Ints] | None, rows: Ints, truth: Ints, first: Ints
) -> tuple[NearestRecords, Floats, tuple[str, ...]]:
    """The record with the most evidence for each that is tried, and the chance that it is the right one.

    Evidence is learned from tried records in the order of ``first``, which is not that of the file.
    """
    from discreet.attack.pair_kernels import most_evidence

    before, after = values_with_gaps(columns)
    asked, searched = (after, before) if backwards else (before, after)
    if blocks is not None:
        mine, theirs = blocks[::-1] if backwards else blocks
        blocks = (mine[rows], theirs)
    asked, numbers = np.ascontiguousarray(asked[rows]), len(columns.names)
    cuts = level_cuts(asked, searched, numbers)
    where = candidates_of(blocks, len(rows), len(searched))
    searched = np.ascontiguousarray(searched[where.place])
    weights = learned_weights(asked, searched, where, cuts, numbers, first)
    most, found = np.zeros(len(rows)), np.full(len(rows), -1)
    ties, chance = np.zeros(len(rows), np.int64), np.zeros(len(rows))
    there = np.flatnonzero(where.high > where.low)
    step = max(1, AT_ONCE // max(len(searched), 1))
    for start in range(0, len(there), step):
        checkpoint("links", start, len(there))
        part = there[start : start + step]
        outcome = (
            np.zeros(len(part)),
            np.zeros(len(part), np.int64),
            np.zeros(len(part), np.int64),
            np.zeros(len(part)),
        )
        ends = where.low[part], where.high[part]
        most_evidence(asked[part], searched, *ends, cuts, numbers, weights, where.place, truth[rows[part]], *outcome)
        most[part], found[part], ties[part], chance[part] = outcome
    return NearestRecords(-most, found, ties), chance, ()


def values_with_gaps(columns: LinkageColumns) -> tuple[Floats, Floats]:
    """Numbers of both files, each by its own mean and deviation, NaN for gaps; and codes."""
    before, after = scaled_pair(columns, "sd")
    return (
        np.concatenate([np.where(columns.gone, np.nan, before), columns.codes_before], axis=1),
        np.concatenate([np.where(columns.empty, np.nan, after), columns.codes_after], axis=1),
    )


def level_cuts(asked: Floats, searched: Floats, numbers: int) -> Floats:
    """How far apart numbers of each level are at most: from a few pairs of a record up to a share of all."""
    cuts = np.zeros((asked.shape[1], CUTS))
    shares = np.geomspace(min(2 / max(len(searched), 1), LAST_CUT / 2), LAST_CUT, CUTS)
    for column in range(numbers):
        one, other = (_spaced(values[:, column]) for values in (asked, searched))
        if len(one) and len(other):
            cuts[column] = np.quantile(np.abs(one[:, None] - other[None, :]), shares)
    return cuts


def _spaced(values: Floats) -> Floats:
    ordered = np.sort(values[~np.isnan(values)])
    return ordered[np.linspace(0, len(ordered) - 1, min(PROBED, len(ordered))).astype(np.int64)]


def learned_weights(
    asked: Floats, searched: Floats, where: Candidates, cuts: Floats, numbers: int, first: Ints
) -> Floats:
    """The logarithm of how much more often each level occurs among pairs that belong together than among all."""
    from discreet.attack.pair_kernels import count_levels, expected_levels

    pairs = np.cumsum((where.high - where.low)[first])
    those = first[: max(FEWEST, int(np.searchsorted(pairs, LEARNED_FROM, side="right")))]
    given = (np.ascontiguousarray(asked[those]), searched, where.low[those], where.high[those], cuts, numbers)
    among_all = _shares(count_levels(*given))
    levels = cuts.shape[1] + 1
    together = np.tile(0.5 ** np.minimum(np.arange(1, levels + 1), levels - 1), (len(cuts), 1))
    for _ in range(ROUNDS):
        weights = evidence(together, among_all)
        sums = expected_levels(*given, weights)
        # One pair drawn from all of them keeps levels that were never seen from counting as impossible.
        new = _shares(sums + among_all)
        moved, together = float(np.abs(new - together).max(initial=0.0)), new
        if moved < SETTLED:
            break
    return evidence(together, among_all)


def evidence(together: Floats, among_all: Floats) -> Floats:
    """Weights of levels; 0 for those that no pair has."""
    there = (together > 0) & (among_all > 0)
    return np.log(np.where(there, together, 1.0) / np.where(there, among_all, 1.0))


def _shares(counts: Floats) -> Floats:
    totals = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(totals > 0, totals, 1.0))
