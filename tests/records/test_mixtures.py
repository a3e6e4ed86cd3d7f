"""Clusters as normal distributions: against closed forms, against densities of another library, and on shapes."""

from __future__ import annotations

from math import log, pi

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import discreet as ds
from discreet.errors import ParameterError
from discreet.records.microaggregation.clusters import clustered
from discreet.records.microaggregation.mixtures import SHAPES, best_mixture, fitted, most_likely


def test_one_distribution_by_hand():
    """-1, 0, 1, 4: mean 1, variance 14/4, and the criterion of two numbers in four records."""
    points = np.array([[-1.0], [0.0], [1.0], [4.0]])
    for shape in SHAPES:
        found = fitted(points, np.zeros(4, np.int64), shape)
        assert found.middles.tolist() == [[1.0]]
        assert found.scatters.tolist() == [[[3.5]]]
        assert found.likelihood == pytest.approx(-2 * (log(2 * pi * 3.5) + 1))
        assert found.criterion == pytest.approx(2 * found.likelihood - 2 * log(4))


def test_two_pairs_far_apart_by_hand():
    """0, 2 and 1000, 1002: each pair is its own distribution of variance 1, and half of the records."""
    points = np.array([[0.0], [2.0], [1000.0], [1002.0]])
    found = fitted(points, np.array([0, 0, 1, 1]), "any")
    assert found.middles.ravel() == pytest.approx([1, 1001])
    assert found.scatters.ravel() == pytest.approx([1, 1])
    assert found.likelihood == pytest.approx(4 * (log(0.5) - 0.5 * (log(2 * pi) + 1)))
    assert found.criterion == pytest.approx(2 * found.likelihood - 5 * log(4))
    assert most_likely(points, found).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("shape", SHAPES)
def test_likelihoods_are_those_of_another_library_and_no_step_would_raise_them(shape):
    draw = np.random.default_rng(1)
    points = np.concatenate((draw.normal((0, 0), (1, 2), (60, 2)), draw.normal((4, 3), (2, 1), (50, 2))))
    found = fitted(points, (points[:, 0] > 2).astype(np.int64), shape)

    def joint(shares, middles, scatters):
        parts = zip(shares, middles, scatters, strict=True)
        return np.stack([np.log(p) + multivariate_normal(m, c).logpdf(points) for p, m, c in parts], axis=1)

    table = joint(found.shares, found.middles, found.scatters)
    assert found.likelihood == pytest.approx(logsumexp(table, axis=1).sum(), rel=1e-9)
    for turn in range(20):  # no change of the middles nearby is better
        moved = found.middles + 0.02 * np.random.default_rng(turn).normal(size=found.middles.shape)
        assert logsumexp(joint(found.shares, moved, found.scatters), axis=1).sum() < found.likelihood


def test_shapes_are_what_they_are_called():
    draw = np.random.default_rng(2)
    points = np.concatenate((draw.normal(0, 1, (80, 2)), draw.normal(6, 2, (80, 2))))
    one, two = np.zeros(80, np.int64), np.ones(80, np.int64)
    found = {shape: fitted(points, np.concatenate((one, two)), shape).scatters for shape in SHAPES}
    assert np.array_equal(found["round"][0], found["round"][1])
    assert found["round"][0][0, 0] == found["round"][0][1, 1]
    assert found["round"][0][0, 1] == found["along_axes"][0][0, 1] == found["along_axes"][1][0, 1] == 0
    assert np.array_equal(found["same"][0], found["same"][1])
    assert found["same"][0][0, 1] != 0
    assert not np.allclose(found["any"][0], found["any"][1])


def test_the_criterion_chooses_number_and_shape():
    draw = np.random.default_rng(3)
    cigars = draw.normal(0, (6, 0.3), (200, 2))
    points = np.concatenate((cigars, cigars + np.array([0.0, 4.0])))
    starts = [(points[:, 1] > 2).astype(np.int64), np.zeros(400, np.int64)]
    found = best_mixture(points, starts)
    assert (found.shape, len(found.shares)) == ("same", 2)
    cloud = draw.normal(size=(300, 2))
    found = best_mixture(cloud, [np.zeros(300, np.int64), (cloud[:, 0] > 0).astype(np.int64)])
    assert (found.shape, len(found.shares)) == ("round", 1)


def test_long_clusters_beside_each_other_are_found_that_means_cut_across():
    draw = np.random.default_rng(4)
    row = np.repeat([0, 1], 150)
    points = draw.normal(0, (8, 0.3), (300, 2)) + np.stack((np.zeros(300), 4 * row), axis=1)
    by_shape = clustered(points, 4, 3, mixture=True).cluster
    assert len(set(by_shape)) == 2
    assert len({(a, b) for a, b in zip(row, by_shape, strict=True)}) == 2
    by_means = clustered(points, 2, 3).cluster
    assert len({(a, b) for a, b in zip(row, by_means, strict=True)}) == 4


def test_distributions_that_cannot_be_made_are_none():
    flat = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0]])
    assert fitted(flat, np.zeros(4, np.int64), "any") is None
    assert fitted(np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 0, 1]), "any") is None
    assert best_mixture(np.zeros((5, 2)), [np.zeros(5, np.int64)]) is None
    assert clustered(np.zeros((9, 2)), 3, 3, mixture=True).cluster.tolist() == [0] * 9


def test_many_records_are_put_where_a_part_of_them_says(monkeypatch):
    from discreet.records.microaggregation import clusters

    draw = np.random.default_rng(5)
    points = np.concatenate((draw.normal(0, 1, (300, 2)), draw.normal(9, 1, (300, 2))))[draw.permutation(600)]
    whole = clustered(points, 4, 3, mixture=True).cluster
    monkeypatch.setattr(clusters, "MOST_MODELLED", 80)
    assert np.array_equal(clustered(points, 4, 3, mixture=True).cluster, whole)


@pytest.mark.parametrize("algorithm", ["clustpca", "clustpppca", "clustmcdpca", "influence"])
def test_groups_lie_within_distributions(algorithm):
    draw = np.random.default_rng(6)
    side = draw.integers(0, 2, 90)
    table = pa.table({name: np.round(draw.normal(side * 30, 1), 2) for name in ("a", "b", "c")})
    data = ds.Microdata(table, numeric=["a", "b", "c"])
    method = ds.Microaggregate(k=3, algorithm=algorithm, clustering="mixture")
    release = ds.protect(data, method, keep_order=True)
    assert release.verify().holds
    assert release.custodian.evidence[0].effort["clusters"] == 2
    assert np.array_equal(np.array(release.public.records.shown()["a"]) > 15, side == 1)


def test_mixtures_are_for_clusters():
    with pytest.raises(ParameterError, match='clustering="mixture" is for algorithm="clustpca"'):
        ds.Microaggregate(algorithm="pca", clustering="mixture")
