"""Groups that an automaton learns, with restarts; large files in pieces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.progress import checkpoint

STATES = 5
"""States of a record in its group; the result hardly depends on it."""
MOST_CYCLES = 100
LARGE = 4_000
"""More records are cut into pieces, because all pairs of a piece are in memory."""
SHARE = 0.2
"""The share of pairs, from the nearest on, that stands in where few lie below the threshold."""


class LearntGroups(NamedTuple):
    """The group of every record, the loss after each cycle of the best start, and what it took."""

    group: Ints
    history: Floats
    effort: dict[str, int]


class NearPairs(NamedTuple):
    """Pairs that are shown to the automaton, the share of all that lie below the threshold, and whether it did."""

    pairs: Ints
    share: float
    enough: bool


def pairs_to_show(points: Floats, k: int, fallback: bool = True) -> NearPairs:
    """Pairs at most half as far apart as the farthest and the nearest differ; the nearest fifth where they are few."""
    from discreet.records.microaggregation.automaton_kernels import all_distances, near_pairs

    far = all_distances(points)
    most = (far.max() - far.min()) / 2
    share = float((far <= most).mean())
    enough = share * len(far) >= len(points) * k
    if not enough and fallback:
        wanted = max(int(SHARE * len(far)), min(len(points) * k, len(far)))
        most = float(np.partition(far, wanted - 1)[wanted - 1])
    return NearPairs(near_pairs(far, len(points), most), share, enough)


def learnt_groups(points: Floats, k: int, restarts: int, seed: int, fallback: bool = True) -> LearntGroups:
    """The best groups of several starts."""
    pieces = _pieces(points, k)
    group, made = np.empty(len(points), np.int64), 0
    runs, few, exchanged = list[Floats](), 0, 0
    for number, rows in enumerate(pieces):
        checkpoint("groups", number, len(pieces))
        found, history, enough = _learnt_piece(np.ascontiguousarray(points[rows]), k, restarts, seed, fallback)
        group[rows] = found + made
        made += int(found.max()) + 1
        runs.append(history)
        few += not enough
        exchanged += len(history) - 1
    longest = max(len(history) for history in runs)
    together = np.sum([np.append(run, np.full(longest - len(run), run[-1])) for run in runs], axis=0)
    return LearntGroups(group, together, {"cycles": exchanged, "few_pairs": few})


def _learnt_piece(points: Floats, k: int, restarts: int, seed: int, fallback: bool) -> tuple[Ints, Floats, bool]:
    from discreet.records.microaggregation.automaton_kernels import learn_groups

    shown = pairs_to_show(points, k, fallback)
    best: tuple[Ints, Floats] | None = None
    for turn in range(restarts):
        group = np.empty(len(points), np.int64)
        start = np.uint64((seed * 1_000_003 + turn) % 2**62)
        history = learn_groups(points, shown.pairs, k, STATES, start, MOST_CYCLES, group)
        if best is None or history[-1] < best[1][-1]:
            best = group, history
    assert best is not None
    return (*best, shown.enough)


def _pieces(points: Floats, k: int) -> list[Ints]:
    """Rows in pieces that lie together, each but the last of a multiple of ``k``."""
    if len(points) <= LARGE:
        return [np.arange(len(points))]
    from discreet.records.microaggregation.search_kernels import halved_order

    many = -(-len(points) // LARGE)
    size = len(points) // many // k * k
    return list(np.split(halved_order(points, k), size * np.arange(1, many)))
