"""Groups of records by each algorithm: from points to the number of every record's group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Floats, Ints
from discreet.progress import checkpoint
from discreet.records.microaggregation.clusters import clustered
from discreet.records.microaggregation.covering import GroupPrices
from discreet.records.microaggregation.robust import robustly_scaled
from discreet.records.microaggregation.rows import SCORES, in_blocks

MOST_PASSES = 200
SMALL = 5_000
"""Up to so many records, more neighbours are looked at."""


class RecordGroups(NamedTuple):
    """The group of every record, and what it took; prices that prove a bound, losses on the way, and what to note."""

    group: Ints
    effort: dict[str, int]
    prices: GroupPrices | None = None
    history: Floats | None = None
    note: str = ""


def search_groups(points: Floats, k: int, effort: str, draws: int, seed: int) -> RecordGroups:
    """Groups by search from a start: a row of halves where it must be quick, MDAV otherwise, annealed for the best."""
    from discreet.records.microaggregation.search_kernels import tree_order

    if len(points) <= SMALL:
        return _searched(points, k, effort, draws, seed)
    order = tree_order(points)  # what is looked at together then lies together in memory
    found = _searched(np.ascontiguousarray(points[order]), k, effort, draws, seed)
    group = np.empty(len(points), np.int64)
    group[order] = found.group
    return RecordGroups(renumbered(group), found.effort)


def _searched(points: Floats, k: int, effort: str, draws: int, seed: int) -> RecordGroups:
    from discreet.records.microaggregation.mdav_kernels import mdav
    from discreet.records.microaggregation.search_kernels import best_runs, halved_order, improve_groups, neighbours

    checkpoint("groups", 0, 3)
    group = best_runs(points, halved_order(points, k), k) if effort == "quick" else mdav(points, k, False)
    checkpoint("groups", 1, 3)
    few = len(points) <= SMALL
    near = neighbours(points, min(40 if few else 12, len(points) - 1), 1000 if few else 15)
    checkpoint("groups", 2, 3)
    passes = improve_groups(points, k, group, near, MOST_PASSES)
    if effort == "best":
        from discreet.records.microaggregation.annealing_kernels import anneal_groups

        tried = renumbered(group)
        anneal_groups(points, k, tried, near, draws, np.uint64(seed))
        passes += improve_groups(points, k, tried, near, MOST_PASSES)
        group = tried if loss_of(points, tried) < loss_of(points, group) else group
    found = {"passes": passes, **({"draws": draws} if effort == "best" else {})}
    return RecordGroups(renumbered(group), found)


def mdav_groups(points: Floats, k: int, pairs: bool) -> RecordGroups:
    """Groups by MDAV, one or two around each middle."""
    from discreet.records.microaggregation.mdav_kernels import mdav

    return RecordGroups(renumbered(mdav(points, k, pairs)), {})


def best_runs_of(points: Floats, k: int) -> RecordGroups:
    """The best groups of one column."""
    from discreet.records.microaggregation.search_kernels import best_runs

    return RecordGroups(renumbered(best_runs(points, np.argsort(points[:, 0], kind="stable"), k)), {})


def blocks(score: NDArray[Any], k: int) -> RecordGroups:
    """Groups of ``k`` in the order of a score; the last one takes who is left."""
    return RecordGroups(in_blocks(score, k), {})


IN_CLUSTERS = {"clustpca": "pca", "clustpppca": "pppca", "clustmcdpca": "mcdpca"}
"""The score that is taken in each cluster."""
CLUSTERED = (*IN_CLUSTERS, "influence")


def robust_mdav_groups(points: Floats, k: int) -> RecordGroups:
    """Groups by MDAV among robust distances of Mahalanobis."""
    return mdav_groups(robustly_scaled(points), k, False)


def variable_groups(points: Floats, k: int, gamma: float) -> RecordGroups:
    """Groups by MDAV with variable sizes."""
    from discreet.records.microaggregation.variable_kernels import variable_mdav

    return RecordGroups(renumbered(variable_mdav(points, k, gamma)), {})


def gower_groups(points: Floats, codes: Ints, k: int, pairs: bool) -> RecordGroups:
    """Groups by MDAV among distances of Gower: numbers by their range, categories by whether they are equal."""
    from discreet.records.microaggregation.gower_kernels import gower_mdav

    width = np.ptp(points, axis=0)
    scaled = np.where(width > 0, (points - points.min(axis=0)) / np.where(width > 0, width, 1.0), 0.0)
    return RecordGroups(renumbered(gower_mdav(np.ascontiguousarray(scaled), codes, k, pairs)), {})


def clustered_groups(
    points: Floats, steering: Floats, k: int, algorithm: str, clusters: int, *, mixture: bool = False
) -> RecordGroups:
    """Blocks within clusters, in the order of a score, or of the column that sets the cluster apart most."""
    least = max(k, 2 * points.shape[1] + 1) if algorithm == "clustmcdpca" else k
    found = clustered(steering, clusters, least, mixture=mixture)
    group, made = np.empty(len(points), np.int64), 0
    for number in range(int(found.cluster.max()) + 1):
        rows = np.flatnonzero(found.cluster == number)
        inside = np.ascontiguousarray(points[rows])
        if algorithm == "influence":
            score = inside[:, np.argmax(np.abs(inside.mean(axis=0)))]
        else:
            score = SCORES[IN_CLUSTERS[algorithm]](inside)
        group[rows] = blocks(score, k).group + made
        made = int(group[rows].max()) + 1
    joined = f"A cluster of fewer than {least} records joined the one nearest to it." if found.joined else ""
    return RecordGroups(group, {"clusters": int(found.cluster.max()) + 1}, note=joined)


def pairs_groups(points: Floats, effort: str) -> RecordGroups:
    """The best groups of two and three, with prices that prove how good they are."""
    from discreet.records.microaggregation.pairing import paired_groups

    found = paired_groups(points, effort)
    return RecordGroups(found.group, found.effort, found.prices)


def automaton_groups(points: Floats, k: int, restarts: int, seed: int) -> RecordGroups:
    """Groups that an automaton learns from near pairs."""
    from discreet.records.microaggregation.automaton import learnt_groups

    found = learnt_groups(points, k, restarts, seed)
    few = "Few pairs lie near each other: the automaton was shown the nearest fifth of all."
    few = few if found.effort["few_pairs"] else ""
    return RecordGroups(renumbered(found.group), found.effort, history=found.history, note=few)


def renumbered(group: Ints) -> Ints:
    """The same groups, numbered from 0 in the order in which they appear."""
    _, first, place = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.asarray(rank[place.ravel()], np.int64)


def loss_of(points: Floats, group: Ints) -> float:
    """The sum of squared distances from the middles of groups."""
    many = np.bincount(group)
    loss = 0.0
    for column in points.T:
        middle = np.bincount(group, column) / np.maximum(many, 1)
        loss += float(((column - middle[group]) ** 2).sum())
    return loss
