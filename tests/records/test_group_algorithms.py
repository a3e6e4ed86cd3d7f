"""Further ways to make groups: by hand on small cases, and what they promise on any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.records.microaggregation.automaton import learnt_groups, pairs_to_show
from discreet.records.microaggregation.clusters import clustered
from discreet.records.microaggregation.grouping import (
    blocks,
    clustered_groups,
    gower_groups,
    loss_of,
    mdav_groups,
)
from discreet.records.microaggregation.robust import least_determinant, robust_scores, robustly_scaled
from discreet.records.microaggregation.rows import principal_scores
from discreet.records.microaggregation.variable_kernels import variable_mdav


def variable_by_hand(points: np.ndarray, k: int, gamma: float) -> np.ndarray:
    """MDAV of variable size as it is written, looking at all records each time."""
    group, made = np.full(len(points), -1), 0
    away = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    middle = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    while (left := np.flatnonzero(group < 0)).size >= k:
        seed = left[np.argmax(middle[left])]
        near = sorted(left.tolist(), key=lambda one: (one != seed, away[seed, one], one))
        members = near[:k]
        while len(members) < 2 * k - 1:
            free = [one for one in left.tolist() if one not in members]
            if not free:
                break
            inside, new = min((min(away[m, one] for m in members), one) for one in free)
            outside = min((away[new, one] for one in free if one != new), default=np.inf)
            if inside >= gamma * outside:
                break
            members.append(new)
        group[members] = made
        made += 1
    middles = np.stack([points[group == number].mean(axis=0) for number in range(made)])
    for record in np.flatnonzero(group < 0):
        group[record] = np.argmin(((middles - points[record]) ** 2).sum(axis=1))
    return group


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.1, 5.0])
@pytest.mark.parametrize(("records", "columns", "k"), [(7, 2, 3), (61, 1, 2), (151, 3, 4), (300, 5, 3)])
def test_groups_of_variable_size(records, columns, k, gamma):
    points = np.random.default_rng(records).normal(size=(records, columns))
    assert variable_mdav(points, k, gamma).tolist() == variable_by_hand(points, k, gamma).tolist()


def test_variable_groups_follow_clusters():
    """Five far clusters of five records, k = 3: fixed sizes cut them, variable ones do not."""
    draw = np.random.default_rng(1)
    points = np.repeat(np.arange(5) * 10.0, 5)[:, None] + draw.normal(scale=0.1, size=(25, 1))
    found = variable_mdav(np.ascontiguousarray(points), 3, 10.0)
    assert np.bincount(found).tolist() == [5] * 5
    assert loss_of(points, found) < loss_of(points, mdav_groups(points, 3, False).group)


@given(st.integers(0, 999), st.integers(6, 60), st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_an_automaton_makes_groups_of_k_and_never_loses_more(seed, records, k):
    if records < 2 * k:
        return
    points = np.random.default_rng(seed).normal(size=(records, 2))
    found = learnt_groups(points, k, 2, seed)
    sizes = np.bincount(found.group)
    if records % k == 0:
        assert set(sizes.tolist()) == {k}
    elif records % k <= records // k:
        assert set(sizes.tolist()) <= {k, k + 1}
    assert sizes.min() >= k
    assert np.all(np.diff(found.history) <= 1e-12)
    assert found.history[-1] == pytest.approx(loss_of(points, found.group), rel=1e-8)


def test_an_automaton_learns_the_same_from_the_same_seed():
    points = np.random.default_rng(2).normal(size=(90, 3))
    same, again, other = (learnt_groups(points, 3, 1, seed).group.tolist() for seed in (5, 5, 6))
    assert same == again != other


def test_more_starts_are_never_worse():
    points = np.random.default_rng(3).normal(size=(90, 3))
    assert learnt_groups(points, 3, 5, 1).history[-1] <= learnt_groups(points, 3, 1, 1).history[-1]


def test_few_near_pairs_are_replaced_by_the_nearest_fifth():
    """In many dimensions hardly any pair lies within half of the range (published: losses collapse at 22 and 24)."""
    points = np.random.default_rng(4).random((600, 24))
    points = np.ascontiguousarray((points - points.mean(axis=0)) / points.std(axis=0))
    plain, shown = pairs_to_show(points, 3, fallback=False), pairs_to_show(points, 3)
    assert plain.share <= 0.002
    assert not shown.enough
    assert len(shown.pairs) >= 0.2 * 600 * 599 / 2 - 1
    mdav = loss_of(points, mdav_groups(points, 3, False).group)
    assert learnt_groups(points, 3, 1, 1, fallback=False).history[-1] > mdav
    assert learnt_groups(points, 3, 3, 1).history[-1] <= 1.01 * mdav


def test_large_files_are_learnt_in_pieces(monkeypatch):
    from discreet.records.microaggregation import automaton

    monkeypatch.setattr(automaton, "LARGE", 50)
    points = np.random.default_rng(5).normal(size=(160, 2))
    found = learnt_groups(points, 3, 1, 1)
    assert np.bincount(found.group).min() >= 3
    assert found.history[-1] == pytest.approx(loss_of(points, found.group), rel=1e-8)


def spread_out(draw: np.random.Generator, records: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Records along an axis, and the same with a tenth of them far off."""
    clean = draw.normal(size=(records, 3)) @ np.diag([5.0, 1.0, 0.7])
    wild = clean.copy()
    wild[: records // 10] = draw.normal((0, 100, 0), size=(records // 10, 3))
    return clean, wild


def test_outliers_do_not_turn_the_robust_component():
    clean, wild = spread_out(np.random.default_rng(6))

    def angle(scores: np.ndarray, points: np.ndarray) -> float:
        slope = np.linalg.lstsq(points - points.mean(axis=0), scores - scores.mean(), rcond=None)[0]
        return float(np.degrees(np.arccos(min(abs(slope[0]) / np.linalg.norm(slope), 1))))

    assert angle(robust_scores(clean), clean) < 5
    assert angle(robust_scores(wild), wild) < 5
    assert angle(principal_scores(wild), wild) > 60


def test_the_half_with_the_least_determinant():
    """It leaves the far records out, which the plain covariance does not."""
    clean, wild = spread_out(np.random.default_rng(7))
    moments = least_determinant(wild)
    classical = np.cov(wild.T, bias=True)
    assert np.linalg.det(moments.scatter) < np.linalg.det(np.cov(clean.T, bias=True)) < np.linalg.det(classical)
    assert np.abs(moments.middle).max() < 2
    assert classical[1, 1] > 100 * moments.scatter[1, 1]


def test_robust_distances_are_alike_in_all_directions_but_for_outliers():
    clean, wild = spread_out(np.random.default_rng(8))

    def longest(points: np.ndarray) -> float:
        values = np.linalg.eigvalsh(np.cov(points[30:].T))
        return float(values[-1] / values[0])

    assert longest(clean) > 40
    assert longest(robustly_scaled(wild)) < 4


def test_sums_of_columns_do_not_make_a_covariance_singular():
    clean, _ = spread_out(np.random.default_rng(9))
    with_sum = np.column_stack((clean, clean.sum(axis=1)))
    assert robustly_scaled(with_sum).shape == (300, 3)
    assert robust_scores(np.ones((20, 2))).tolist() == [0.0] * 20


@pytest.mark.parametrize("scores", [robust_scores, robustly_scaled])
def test_robust_covariances_that_cannot_be_made(scores):
    draw = np.random.default_rng(10)
    with pytest.raises(InputError, match="of 4 columns needs more than 8 records, and a stratum or cluster has 8"):
        scores(draw.normal(size=(8, 4)))
    flat = draw.normal(size=(100, 3))
    flat[:80, 1] = 0.0
    with pytest.raises(InputError, match="middle half of the records is singular"):
        scores(flat)


def test_clusters_are_found_and_small_ones_join():
    draw = np.random.default_rng(11)
    points = np.concatenate((draw.normal(0, 0.1, (30, 2)), draw.normal(8, 0.1, (30, 2)), [[500.0, 500.0]]))
    found = clustered(points, 3, 3)
    assert found.joined == 1
    assert len(set(found.cluster[:30])) == len(set(found.cluster[30:])) == 1
    assert clustered(points, 1, 3).cluster.tolist() == [0] * 61
    assert clustered(points[:5], 4, 3).cluster.tolist() == [0] * 5


@pytest.mark.parametrize("algorithm", ["clustpca", "clustpppca", "clustmcdpca", "influence"])
def test_groups_lie_within_clusters(algorithm):
    draw = np.random.default_rng(12)
    points = np.concatenate((draw.normal(0, 1, (40, 3)), draw.normal(9, 1, (43, 3))))
    points = np.ascontiguousarray(points[draw.permutation(83)])
    found = clustered_groups(points, points, 4, algorithm, 2)
    cluster = clustered(points, 2, 4).cluster
    assert found.effort == {"clusters": 2}
    for number in range(found.group.max() + 1):
        members = found.group == number
        assert 4 <= members.sum() <= 7
        assert len(set(cluster[members])) == 1


def test_influence_sorts_by_the_column_that_sets_the_cluster_apart():
    """One cluster is high in the second column, the other in the first."""
    draw = np.random.default_rng(13)
    high = draw.normal((0, 20), size=(12, 2))
    wide = draw.normal((20, 0), size=(12, 2))
    points = np.concatenate((high, wide)) - 10 / 2
    group = clustered_groups(points, points, 3, "influence", 2).group
    assert [sorted(points[group == number, 1].tolist()) for number in sorted(set(group[:12]))] == np.sort(
        high[:, 1] - 5
    ).reshape(4, 3).tolist()


def gower_by_hand(points: np.ndarray, codes: np.ndarray, k: int, pairs: bool) -> np.ndarray:
    width = np.ptp(points, axis=0)
    scaled = (points - points.min(axis=0)) / np.where(width > 0, width, 1)
    group, made, left = np.full(len(points), -1), 0, np.arange(len(points))

    def far(centre: np.ndarray, usual: np.ndarray) -> np.ndarray:
        return np.abs(scaled[left] - centre).sum(axis=1) + (codes[left] != usual).sum(axis=1)

    def take(seed: int) -> None:
        nonlocal left, made
        away = far(scaled[seed], codes[seed])
        away[left == seed] = -1
        group[left[np.argsort(away, kind="stable")[:k]]] = made
        made += 1
        left = left[group[left] < 0]

    def middle() -> int:
        usual = np.array([np.argmax(np.bincount(column)) for column in codes[left].T])
        return int(left[np.argmax(far(scaled[left].mean(axis=0), usual))])

    while len(left) >= (3 * k if pairs else 2 * k):
        seed = middle()
        other = int(left[np.argmax(far(scaled[seed], codes[seed]))])
        take(seed)
        if pairs:
            take(other if group[other] < 0 else int(left[np.argmax(far(scaled[seed], codes[seed]))]))
    if pairs and len(left) >= 2 * k:
        take(middle())
    group[left] = made
    return group


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("records", "k"), [(8, 3), (40, 2), (131, 4)])
def test_the_distance_of_gower(records, k, pairs):
    draw = np.random.default_rng(records)
    points, codes = draw.normal(size=(records, 2)), draw.integers(0, 3, (records, 2))
    found = gower_groups(points, codes, k, pairs).group
    by_hand = gower_by_hand(points, codes, k, pairs)
    assert [set(np.flatnonzero(found == found[i])) for i in range(records)] == [
        set(np.flatnonzero(by_hand == by_hand[i])) for i in range(records)
    ]


def test_categories_steer_groups():
    """Equal numbers: groups are those of the categories."""
    codes = np.array([[0], [1]] * 6)
    group = gower_groups(np.zeros((12, 1)), codes, 3, False).group
    assert all(len(set(codes[group == number, 0])) == 1 for number in range(4))


def test_each_column_by_itself_loses_least_of_all_fixed_sizes():
    points = np.random.default_rng(14).lognormal(size=(120, 3))
    for place in range(3):
        one = np.ascontiguousarray(points[:, [place]])
        alone = loss_of(one, blocks(points[:, place], 3).group)
        for scores in (principal_scores, robust_scores):
            assert alone <= loss_of(one, blocks(scores(points), 3).group)
