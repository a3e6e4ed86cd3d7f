"""Propensity models by blocks and by trees: against other code, and what they find where there is nothing."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import ParameterError
from discreet.measures import propensity_terms
from discreet.measures.file_pair import pair_files
from discreet.measures.propensity import Propensity, fitted_propensity
from discreet.measures.propensity_terms import Indicators, Terms, count_terms, standard
from discreet.measures.propensity_tree import TreeColumn, tree_propensity
from discreet.measures.record_utility import logistic_propensity


def plain_total(design, originals):
    """Newton's steps on the whole design at once."""
    source = np.repeat([1.0, 0.0], [originals, len(design) - originals])
    beta = np.zeros(design.shape[1])
    for _ in range(60):
        chance = 1 / (1 + np.exp(-design @ beta))
        curve = (design * (chance * (1 - chance))[:, None]).T @ design
        beta = beta + np.linalg.lstsq(curve, design.T @ (source - chance), rcond=None)[0]
    chance = 1 / (1 + np.exp(-design @ beta))
    return ((chance - originals / len(design)) ** 2).sum()


def test_blocks_give_what_the_whole_design_gives(monkeypatch):
    monkeypatch.setattr(propensity_terms, "BLOCK", 64)
    draw = np.random.default_rng(1)
    values = draw.normal(size=(2, 700))
    values[1, 300:] *= 1.2
    codes = draw.integers(0, 3, 700)
    codes[:50] = 2
    terms = Terms(standard(values), [Indicators("c", codes, (1, 2))], 2, crossed=True)
    found = fitted_propensity(terms, 300)
    one, two = standard(values)
    dummies = [(codes == code).astype(float) for code in (1, 2)]
    columns = [one, two, *dummies, one * one, one * two, two * two]
    columns += [number * dummy for dummy in dummies for number in (one, two)]
    assert found.terms == len(columns) == len(terms)
    assert found.total == pytest.approx(plain_total(np.column_stack([np.ones(700), *columns]), 300), rel=1e-4)


def test_a_curve_of_some_blocks_climbs_to_the_same_place(monkeypatch):
    import sys

    draw = np.random.default_rng(2)
    values = np.exp(0.4 * draw.normal(size=(3, 6000)))
    values[:, 3000:] += draw.normal(size=(3, 3000)) * 0.2
    monkeypatch.setattr(propensity_terms, "BLOCK", 100)
    whole = fitted_propensity(Terms(standard(values), (), 2), 3000)
    monkeypatch.setattr(sys.modules["discreet.measures.propensity"], "CURVED", 1500)
    part = fitted_propensity(Terms(standard(values), (), 2), 3000)
    assert part.total == pytest.approx(whole.total, rel=1e-3)


def test_terms_are_counted_before_they_are_made():
    numbers = np.random.default_rng(3).normal(size=(3, 50))
    codes = [Indicators("a", np.arange(50) % 3, (1, 2)), Indicators("b", np.arange(50) % 4, (1, 2, 3))]
    for degree, crossed in ((1, False), (2, True), (3, False), (3, True)):
        assert len(Terms(numbers, codes, degree, crossed)) == count_terms(3, [2, 3], degree, crossed)


def test_two_samples_of_mixed_columns_are_like_two_samples():
    """Means of 40 runs, of the ratio and of how far it lies from 1."""
    draw = np.random.default_rng(4)

    def sample():
        x = draw.normal(size=400)
        return pa.table({"x": x, "c": np.where(x + draw.normal(size=400) > 0, "a", "b")})

    scores = []
    for _ in range(40):
        files = pair_files(*(read_record_set(ds.Microdata(sample())) for _ in range(2)))
        scores.append(logistic_propensity(files)[0])
    assert np.mean([one.ratio for one in scores]) == pytest.approx(1, abs=0.2)
    assert abs(np.mean([one.z for one in scores])) < 0.6
    assert np.std([one.z for one in scores]) == pytest.approx(1, abs=0.45)


def test_nulls_of_both_kinds():
    score = Propensity(10.0, 100, 8, 0.5, False)
    assert (score.expected, score.expected_synthetic, score.ratio) == (2.0, 1.0, 5.0)
    assert score.z == pytest.approx(8 / (4 * 0.25))
    assert score.mean == 0.1
    shuffled = Propensity(10.0, 100, 8, 0.5, False, "tree", (1.0, 3.0))
    assert (shuffled.expected, shuffled.spread) == (2.0, pytest.approx(np.sqrt(2)))


# ---- trees --------------------------------------------------------------------------------------------------


def brute_total(columns, originals, leaf):
    """The best tree of one split after the other, by trying every division of every column."""
    source = np.repeat([1.0, 0.0], [originals, len(columns[0].values) - originals])
    share = source.mean()

    def divisions(column, rows):
        values = column.values[rows]
        distinct = np.unique(values)
        if column.ordered:
            for cut in distinct[:-1]:
                yield values <= cut
        else:
            for size in range(1, len(distinct)):
                for chosen in combinations(distinct, size):
                    yield np.isin(values, chosen)

    def grow(rows):
        ones = source[rows]
        best, left = 1e-9, None
        for column in columns:
            for inside in divisions(column, rows):
                if min(inside.sum(), (~inside).sum()) < leaf:
                    continue
                sides = ones[inside], ones[~inside]
                gain = sum(side.sum() ** 2 / len(side) for side in sides) - ones.sum() ** 2 / len(ones)
                if gain > best + 1e-12:
                    best, left = gain, inside
        if left is None:
            return len(rows) * (ones.mean() - share) ** 2
        return grow(rows[left]) + grow(rows[~left])

    return grow(np.arange(len(source)))


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_is_that_of_all_divisions(seed):
    draw = np.random.default_rng(seed)
    numbers = draw.normal(size=120).round(1)
    numbers[:50] += 0.5
    codes = draw.integers(0, 5, 120)
    columns = [TreeColumn("n", numbers), TreeColumn("c", codes)]
    found = tree_propensity(columns, 50, leaf=10, draws=0)
    assert found.score.total == pytest.approx(brute_total(columns, 50, 10))


def test_a_tree_finds_nothing_in_the_same_file_and_the_column_that_differs():
    draw = np.random.default_rng(5)
    one, two = draw.normal(size=1000), draw.normal(size=1000)
    same = tree_propensity([TreeColumn("x", np.tile(one, 2))], 1000)
    assert (same.score.total, same.score.terms) == (0.0, 0)
    columns = [TreeColumn("same", np.tile(one, 2)), TreeColumn("moved", np.concatenate([two, np.round(two)]))]
    moved = tree_propensity(columns, 1000)
    assert moved.score.z > 20
    assert moved.importance["moved"] > 0.8
    again = tree_propensity(columns, 1000)
    assert again == moved


@pytest.mark.parametrize("kind", ["numbers", "codes"])
def test_columns_in_another_order_are_told_apart_by_a_tree(kind):
    """Every column holds what it held, so that no first split gains anything; what they say together is gone."""
    draw = np.random.default_rng(2)
    one, two = draw.normal(size=1000), draw.integers(0, 2, 1000)
    pair = (one, one + draw.normal(size=1000) / 10) if kind == "numbers" else (two, draw.integers(0, 2, 1000))
    columns = (*pair, pair[0] > pair[1]) if kind == "numbers" else (*pair, (pair[0] != pair[1]).astype(np.int64))
    mixed = [column[draw.permutation(1000)] for column in columns]
    both = [
        TreeColumn(name, np.concatenate([before, after]).astype(before.dtype if before.dtype != bool else np.int64))
        for name, before, after in zip("abc", columns, mixed, strict=True)
    ]
    found = tree_propensity(both, 1000)
    assert found.score.z > 10
    same = [
        TreeColumn(name, np.concatenate([column, column]).astype(float))
        for name, column in zip("abc", columns, strict=True)
    ]
    assert tree_propensity(same, 1000).score.total == 0


def test_two_samples_by_a_tree():
    draw = np.random.default_rng(6)
    z = [tree_propensity([TreeColumn("x", draw.normal(size=800))], 400).score.z for _ in range(40)]
    assert abs(np.mean(z)) < 0.6


def test_what_a_tree_refuses():
    column = TreeColumn("x", np.arange(10.0))
    with pytest.raises(ParameterError, match="needs records of both files"):
        tree_propensity([column], 10)
    with pytest.raises(ParameterError, match="leaf= is at least 1"):
        tree_propensity([column], 5, leaf=0)
