"""The search for the nearest of many points, against looking at all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attack.nearest import PointTree, is_near, nearest_in_blocks
from discreet.attack.nearest_kernels import NEARLY, apart_in_pairs, kernel_distance, mapped


def all_distances(asked, points, numbers, degree=0):
    """Every squared distance, column by column; kernels by their definition."""
    apart = np.zeros((len(asked), len(points)))
    for column in range(points.shape[1]):
        step = asked[:, column, None] - points[None, :, column]
        apart += step**2 if column < numbers else step != 0
    if degree:
        inner = [(1 + one @ other.T) ** degree for one, other in ((asked, points), (asked, asked), (points, points))]
        return np.diag(inner[1])[:, None] - 2 * inner[0] + np.diag(inner[2])[None, :]
    return apart


def by_hand(asked, points, numbers):
    apart = all_distances(asked, points, numbers)
    least = apart.min(axis=1)
    near = apart <= least[:, None] * (1 + NEARLY)
    return least, near.argmax(axis=1), near.sum(axis=1)


def agrees(asked, points, numbers):
    found = PointTree(points, numbers).nearest(asked)
    least, first, ties = by_hand(asked, points, numbers)
    assert found.apart.tolist() == least.tolist()
    assert found.row.tolist() == first.tolist()
    assert found.ties.tolist() == ties.tolist()


VALUES = st.one_of(
    st.integers(-2, 2).map(float),
    st.sampled_from([0.1, 0.2, 0.3, 1e150, -1e150, 1e-160, 1 + 2**-40, 1 + 2**-50]),
)


@given(st.integers(1, 3), st.integers(0, 2), st.data())
@settings(max_examples=150, deadline=None)
def test_small_grids_with_ties_duplicates_and_huge_values(numbers, codes, data):
    row = st.tuples(*[VALUES] * numbers, *[st.integers(0, 2).map(float)] * codes)
    points, asked = (np.array(data.draw(st.lists(row, min_size=1, max_size=60)), np.float64) for _ in range(2))
    agrees(asked, points, numbers)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("numbers", "codes"), [(4, 0), (2, 2), (0, 3)])
def test_many_leaves(seed, numbers, codes):
    draw = np.random.default_rng([seed, numbers])

    def file(rows):
        plain = np.round(draw.lognormal(0, 1, (rows, numbers)), seed)  # no decimals at first: many ties
        return np.ascontiguousarray(np.concatenate([plain, draw.integers(0, 6, (rows, codes))], axis=1))

    agrees(file(700), file(1_500), numbers)


def test_equal_points_are_kept_once_and_counted_all():
    points = np.repeat(np.array([[0.0, 1.0], [5.0, 1.0]]), [5_000, 2], axis=0)
    found = PointTree(points, 2).nearest(np.array([[1.0, 1.0], [4.0, 1.0]]))
    assert len(PointTree(points, 2).many) == 2
    assert (found.row.tolist(), found.ties.tolist()) == ([0, 5_000], [5_000, 2])
    zeros = PointTree(np.array([[0.0], [-0.0]]), 1).nearest(np.array([[0.0]]))
    assert (zeros.row[0], zeros.ties[0]) == (0, 2)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_kernels_find_what_their_definition_finds(degree):
    draw = np.random.default_rng(degree)
    asked, points = np.exp(draw.normal(size=(150, 3))) - 1, np.exp(draw.normal(size=(400, 3))) - 1
    apart = all_distances(asked, points, 3, degree)
    found = PointTree(points, 3, degree).nearest(asked)
    assert found.row.tolist() == apart.argmin(axis=1).tolist()
    assert found.apart == pytest.approx(apart.min(axis=1), rel=1e-6, abs=1e-9)


def test_kernels_do_not_lose_points_on_opposite_sides():
    """Where the inner product is below -1, even degrees bring opposite points close together."""
    draw = np.random.default_rng(5)
    points = draw.normal(size=(300, 2)) * 4
    asked = -points[:100] + draw.normal(size=(100, 2)) * 0.01
    for degree in (2, 4):
        apart = all_distances(asked, points, 2, degree)
        found = PointTree(points, 2, degree).nearest(asked)
        assert found.row.tolist() == apart.argmin(axis=1).tolist()


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=2), st.lists(st.floats(-3, 3), min_size=2, max_size=2))
@settings(max_examples=100, deadline=None)
def test_a_kernel_distance_is_that_of_the_definition(one, other):
    x, y = np.array(one), np.array(other)
    for degree in (1, 2, 3, 5):
        defined = (1 + x @ x) ** degree - 2 * (1 + x @ y) ** degree + (1 + y @ y) ** degree
        got = kernel_distance(float((x - y) @ (x - y)), float(x @ x), float(y @ y), degree)
        assert got == pytest.approx(defined, rel=1e-8, abs=1e-9 * (1 + x @ x + y @ y) ** degree)


def test_blocks_are_searched_apart_and_may_be_empty():
    asked, points = np.array([[0.0], [0.0], [9.0]]), np.array([[1.0], [2.0], [0.0]])
    found = nearest_in_blocks(asked, points, 1, 0, (np.array([1, 2, 7]), np.array([1, 1, 2])))
    assert found.row.tolist() == [0, 2, -1]
    assert found.ties.tolist() == [1, 1, 0]
    assert found.apart.tolist() == [1.0, 0.0, np.inf]
    own = apart_in_pairs(asked, points, np.array([0, 1, -1]), 1, 0)
    assert own.tolist() == [1.0, 4.0, np.inf]
    assert is_near(own, found).tolist() == [True, False, False]


def test_equal_points_have_equal_images_wherever_they_stand():
    draw = np.random.default_rng(1)
    points, matrix = draw.normal(size=(1_003, 7)), draw.normal(size=(7, 7))
    turned = mapped(np.ascontiguousarray(points[::-1]), matrix)[::-1]
    assert (mapped(points, matrix) == turned).all()
    assert mapped(points, matrix) == pytest.approx(points @ matrix)
