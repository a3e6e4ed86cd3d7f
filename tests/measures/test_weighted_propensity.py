"""Propensity scores that count records by survey weights: against plain code, repeated records and two samples."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.measures.propensity import propensity
from discreet.measures.propensity_tree import TreeColumn, tree_propensity
from discreet.measures.values import ValuePair


def files(seed, size=(260, 240), columns=2):
    draw = np.random.default_rng(seed)
    before, after = (draw.normal(size=(rows, columns)) for rows in size)
    after[:, 0] = after[:, 0] * 1.3 + 0.2
    return ValuePair(tuple("abcd"[:columns]), before, after), tuple(draw.uniform(0.2, 4, rows) for rows in size)


def plain_score(pair, weights, degree):
    """Newton's steps of a weighted likelihood on the whole design at once."""
    x = np.vstack([pair.before, pair.after])
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    columns = [np.ones(len(x)), *x.T]
    if degree == 2:
        columns += [x[:, i] * x[:, j] for i in range(x.shape[1]) for j in range(i, x.shape[1])]
    z = np.column_stack(columns)
    w = np.concatenate([one * len(one) / one.sum() for one in weights])
    source = np.repeat([1.0, 0.0], [len(one) for one in weights])
    beta = np.zeros(z.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-z @ beta))
        beta = beta + np.linalg.solve((z * (w * chance * (1 - chance))[:, None]).T @ z, z.T @ (w * (source - chance)))
    return float((w * (1 / (1 + np.exp(-z @ beta)) - source.mean()) ** 2).sum())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("degree", [1, 2])
def test_a_weighted_score_is_that_of_a_weighted_likelihood(seed, degree):
    pair, weights = files(seed)
    found = propensity(pair, degree, weights)
    assert found.total == pytest.approx(plain_score(pair, weights, degree), rel=1e-5)
    assert found.mean == pytest.approx(found.total / 500)
    assert found.total != pytest.approx(propensity(pair, degree).total, rel=1e-3)


def test_weights_are_repeated_records():
    """Weights 1 to 3 with the same sum in both files; scores grow with the number of records."""
    draw = np.random.default_rng(1)
    weights = tuple(draw.permutation(np.repeat([1, 2, 3], 80)) for _ in range(2))
    pair, _ = files(2, (240, 240))
    repeated = ValuePair(pair.names, pair.before.repeat(weights[0], axis=0), pair.after.repeat(weights[1], axis=0))
    by_weight, by_rows = propensity(pair, 2, weights), propensity(repeated, 2)
    assert by_weight.mean == pytest.approx(by_rows.mean, rel=1e-6)
    both = np.concatenate([pair.before[:, 0], pair.after[:, 0]]).round(1)
    all_weights = np.concatenate(weights)
    tree = tree_propensity([TreeColumn("a", both)], 240, leaf=1, draws=0, weight=all_weights.astype(float))
    rows = tree_propensity([TreeColumn("a", both.repeat(all_weights))], 480, leaf=1, draws=0)
    assert tree.score.mean == pytest.approx(rows.score.mean)
    assert tree.score.terms == rows.score.terms


def test_equal_weights_change_nothing():
    pair, _ = files(3)
    ones = np.full(260, 7.0), np.full(240, 3.0)
    plain, weighted = propensity(pair, 2), propensity(pair, 2, ones)
    assert weighted.total == pytest.approx(plain.total, rel=1e-8)
    assert (weighted.expected, weighted.spread) == pytest.approx((plain.expected, plain.spread), rel=1e-8)
    columns = [TreeColumn("a", np.concatenate([pair.before[:, 0], pair.after[:, 0]]))]
    weight = np.concatenate(ones)
    assert tree_propensity(columns, 260, leaf=20, draws=3) == tree_propensity(
        columns, 260, leaf=20, draws=3, weight=weight
    )


def test_two_weighted_samples_of_one_distribution():
    """200 runs with weights that differ by much, more for large values; the null without weights is half of it."""
    draw = np.random.default_rng(4)
    scores = []
    for _ in range(200):
        before, after = draw.normal(size=(300, 2)), draw.normal(size=(500, 2))
        weights = tuple(np.exp(draw.normal(size=len(one)) + 0.3 * one[:, 0]) for one in (before, after))
        scores.append(propensity(ValuePair(("a", "b"), before, after), 1, weights))
    assert np.mean([one.ratio for one in scores]) == pytest.approx(1, abs=0.15)
    assert np.mean([one.total / (one.terms * one.share * (1 - one.share)) for one in scores]) > 1.8
    assert abs(np.mean([one.z for one in scores])) < 0.25
    assert np.std([one.z for one in scores]) == pytest.approx(1, abs=0.4)


def brute_tree(values, source, weight, leaf, share):
    """A tree of one column of numbers by trying all cuts, recursively; leaves are counted in records."""
    best, cut = 1e-9, None
    for at in np.unique(values)[:-1]:
        left = values <= at
        if min(left.sum(), (~left).sum()) < leaf:
            continue
        gain = sum((source * weight)[s].sum() ** 2 / weight[s].sum() for s in (left, ~left))
        gain -= (source * weight).sum() ** 2 / weight.sum()
        if gain > best + 1e-12:
            best, cut = gain, left
    if cut is None:
        return weight.sum() * ((source * weight).sum() / weight.sum() - share) ** 2
    return sum(brute_tree(values[s], source[s], weight[s], leaf, share) for s in (cut, ~cut))


@pytest.mark.parametrize("seed", range(6))
def test_a_weighted_tree_is_that_of_all_cuts(seed):
    draw = np.random.default_rng(seed)
    values = draw.normal(size=90).round(1)
    values[:40] += 0.6
    weight = draw.uniform(0.1, 5, 90)
    source = np.repeat([1.0, 0.0], [40, 50])
    scaled = np.concatenate([weight[:40] * 40 / weight[:40].sum(), weight[40:] * 50 / weight[40:].sum()])
    found = tree_propensity([TreeColumn("n", values)], 40, leaf=12, draws=0, weight=weight)
    assert found.score.total == pytest.approx(brute_tree(values, source, scaled, 12, 40 / 90))


def test_a_file_that_only_weights_tell_apart():
    """The same values; the release gives large ones more weight."""
    draw = np.random.default_rng(5)
    values = draw.normal(size=(800, 1))
    pair = ValuePair(("x",), values, values)
    even, skew = np.ones(800), np.exp(values[:, 0])
    assert propensity(pair, 1, (even, even)).total < 1e-6
    assert propensity(pair, 1, (even, skew)).z > 20
    tree = tree_propensity([TreeColumn("x", np.tile(values[:, 0], 2))], 800, weight=np.concatenate([even, skew]))
    assert tree.score.z > 20


def test_the_one_call_takes_weights_and_says_so():
    draw = np.random.default_rng(6)
    x, w = draw.normal(size=500), draw.uniform(1, 9, 500)
    before = pa.table({"x": x, "w": w})
    after = pa.table({"x": x, "w": w * np.exp(x)})
    plain = ds.utility(before, after, columns=["x"])
    weighted = ds.utility(before, after, columns=["x"], weight="w")
    assert plain.logistic.total < 1e-6
    assert weighted.logistic.z > 8
    assert weighted.tree.score.z > 10
    assert any("by their weights" in note for note in weighted.notes)
    assert not any("by their weights" in note for note in plain.notes)


def test_bad_weights():
    pair, weights = files(7)
    with pytest.raises(InputError, match="needs a weight from 0 on"):
        propensity(pair, 1, (weights[0][1:], weights[1]))
    with pytest.raises(InputError, match="needs a weight from 0 on"):
        propensity(pair, 1, (-weights[0], weights[1]))
    with pytest.raises(InputError, match="are all 0"):
        propensity(pair, 1, (0 * weights[0], weights[1]))
    with pytest.raises(ParameterError, match="needs a weight from 0 on"):
        tree_propensity([TreeColumn("x", np.arange(10.0))], 5, weight=np.full(10, np.nan))
