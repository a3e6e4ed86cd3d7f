"""Trees of synthesis against all cuts tried one by one, and where records come to lie."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from discreet.records.synthesis.leaf_kernels import neighbours, spread_out
from discreet.records.synthesis.tree_kernels import grown, leaves_of


def tree(bins, ordered, values=None, codes=None, least=5, gain=1e-9):
    size = 0 if codes is None else int(codes.max()) + 1
    return grown(
        np.ascontiguousarray(bins, dtype=np.uint8),
        np.array(ordered, bool),
        np.zeros(1) if values is None else np.asarray(values, float),
        np.zeros(1, np.int32) if codes is None else codes.astype(np.int32),
        size,
        least,
        gain,
    )


def impurity(values=None, codes=None) -> float:
    if codes is None:
        return float(((values - values.mean()) ** 2).sum())
    counts = np.bincount(codes)
    return len(codes) - float((counts**2).sum()) / len(codes)


def best_by_trying(bins, ordered, least, values=None, codes=None) -> float:
    """The least impurity of two halves over every cut: of an order, or every set of bins."""

    def both(left):
        if min(left.sum(), (~left).sum()) < least:
            return np.inf
        parts = [(None if values is None else values[s], None if codes is None else codes[s]) for s in (left, ~left)]
        return sum(impurity(*part) for part in parts)

    found = []
    for line, has_order in zip(bins, ordered, strict=True):
        there = np.unique(line)
        if has_order:
            found += [both(line <= cut) for cut in there]
        else:
            found += [both(np.isin(line, some)) for n in range(1, len(there)) for some in combinations(there, n)]
    return min(found)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["numbers", "two codes"])
def test_the_first_cut_is_the_best_of_all(seed, kind):
    """For numbers, and for two codes, bins in the order of their means hold the best set of them."""
    draw = np.random.default_rng(seed)
    bins = np.stack([draw.integers(0, 7, 60), draw.integers(0, 6, 60), draw.integers(0, 200, 60)])
    values = np.round(draw.normal(size=60) + bins[0] % 3, 2)
    if kind == "two codes":
        values = (values > 1).astype(float)
    ordered = [False, True, True]
    predictor, _, _, begin, stop, rows = tree(bins, ordered, values)
    assert predictor[0] >= 0
    halves = [values[rows[begin[i] : stop[i]]] for i in (1, 2)]
    assert sum(impurity(half) for half in halves) == pytest.approx(best_by_trying(bins, ordered, 5, values))


@pytest.mark.parametrize("seed", range(8))
def test_several_codes_are_cut_best_by_predictors_with_an_order(seed):
    draw = np.random.default_rng(seed)
    bins = np.stack([draw.integers(0, 9, 80), draw.integers(0, 120, 80)])
    codes = (bins[0] // 3 + draw.integers(0, 3, 80)).astype(int)
    _, _, _, begin, stop, rows = tree(bins, [True, True], codes=codes)
    halves = [codes[rows[begin[i] : stop[i]]] for i in (1, 2)]
    wanted = best_by_trying(bins, [True, True], 5, codes=codes)
    assert sum(impurity(codes=half) for half in halves) == pytest.approx(wanted)


@pytest.mark.parametrize("least", [3, 5, 20])
@pytest.mark.parametrize("coded", [False, True])
def test_records_come_to_the_leaf_that_they_helped_to_make(least, coded):
    draw = np.random.default_rng(least)
    bins = draw.integers(0, [[3], [250], [40]], (3, 2000)).astype(np.uint8)
    codes = (bins[1] // 40 + draw.integers(0, 3, 2000)).astype(int)
    made = tree(bins, [False, True, False], codes.astype(float), codes if coded else None, least)
    predictor, goes_left, child, begin, stop, rows = made
    leaves = np.flatnonzero(predictor < 0)
    assert np.array_equal(np.sort(rows), np.arange(2000))
    assert (stop - begin)[leaves].min() >= least
    assert (stop - begin)[leaves].sum() == 2000
    found = leaves_of(predictor, goes_left, child, bins)
    for leaf in leaves:
        assert (found[rows[begin[leaf] : stop[leaf]]] == leaf).all()


def test_a_column_that_nothing_tells_apart_is_one_leaf():
    bins = np.zeros((2, 50), np.uint8)
    assert len(tree(bins, [True, False], np.arange(50))[0]) == 1
    assert len(tree(np.arange(50)[None], [True], np.full(50, 0.1))[0]) == 1
    assert len(tree(np.arange(50)[None], [True], codes=np.zeros(50, int))[0]) == 1


def test_bins_that_a_node_never_saw_go_where_most_records_go():
    bins = np.array([[0] * 30 + [1] * 10], np.uint8)
    predictor, goes_left, child, begin, stop, _ = tree(bins, [False], np.array([0.0] * 30 + [1.0] * 10))
    larger = int(np.argmax((stop - begin)[1:])) + 1
    assert leaves_of(predictor, goes_left, child, np.array([[77]], np.uint8)).tolist() == [larger]


def test_numbers_lie_between_their_neighbours_in_the_leaf_and_as_far_as_others_of_the_column():
    values = np.array([10, 20, 20, 50, 7, 100, 200])
    shared = np.array([False, False, False, False, True, False, False])
    lower, upper = neighbours(values, shared, np.array([4, 7]))
    assert lower.tolist() == [10, 15, 15, 35, 7, 100, 150]
    assert upper.tolist() == [15, 35, 35, 50, 7, 150, 200]
    alone = np.array([10, 18, 20, 20, 22, 50, 100, 200])
    taken = np.array([1, 1, 4, 6])
    drawn = spread_out(taken, np.array([0.0, 1.0, 0.5, 0.0]), values, shared, lower, upper, alone, 1, False)
    assert drawn.tolist() == [18, 22, 7, 50]  # at the end of the column the interval reaches twice as far back
    wider = spread_out(taken[:2], np.array([0.0, 1.0]), values, shared, lower, upper, alone, 1, True)
    assert wider.tolist() == [15, 35]


def test_the_first_and_the_last_of_a_leaf_reach_as_far_beyond_it_as_within_it():
    values, shared, alone = np.array([100, 200]), np.zeros(2, bool), np.arange(0, 301, 10)
    lower, upper = neighbours(values, shared, np.array([2]))
    made = spread_out(np.array([0, 0, 1, 1]), np.array([0.0, 1, 0, 1]), values, shared, lower, upper, alone, 1, True)
    assert made.tolist() == [50, 150, 150, 250]


def test_numbers_of_an_interval_are_as_close_together_as_values_of_the_column():
    """Half of what is drawn around one record lies below the middle one of those whose values the interval holds."""
    values, alone = np.array([0, 10, 1000]), np.arange(11) ** 3
    shared, ends = np.zeros(3, bool), np.array([3])
    lower, upper = neighbours(values, shared, ends)
    chance = np.linspace(0, 1, 11)
    made = spread_out(np.full(11, 1), chance, values, shared, lower, upper, alone, 5, False)
    assert made.tolist() == pytest.approx(np.interp(chance * 10, np.arange(11), alone).tolist())


def test_a_number_that_is_alone_in_its_leaf_comes_from_a_tenth_of_the_column():
    values, shared = np.array([0, 0, 500]), np.array([True, True, False])
    lower, upper = neighbours(values, shared, np.array([3]))
    alone = np.arange(1000)
    ends = [
        spread_out(np.array([2, 2]), np.array([0.0, 1.0]), values, shared, lower, upper, alone, 3, in_leaf).tolist()
        for in_leaf in (True, False)
    ]
    assert ends == [[450, 550], [497, 503]]
