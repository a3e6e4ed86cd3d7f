"""The draws and the trees below the generators."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.generate.codes import apportion, grow_tree
from discreet.generate.draws import Draws, choose, choose_within, heavy_tail, lognormal, pareto

ALMOST_ONE = np.nextafter(1.0, 0.0)
EDGES = np.array([0.0, 0.5, ALMOST_ONE])


def test_streams_depend_on_seed_room_and_name():
    streams = [
        Draws(1, "a").uniform("x", 5),
        Draws(2, "a").uniform("x", 5),
        Draws(1, "b").uniform("x", 5),
        Draws(1, "a").uniform("y", 5),
    ]
    assert len({tuple(stream) for stream in streams}) == 4
    assert np.array_equal(streams[0], Draws(1, "a").uniform("x", 5))


def test_choices_follow_their_weights():
    uniform = Draws(1, "test").uniform("choose", 100_000)
    shares = np.bincount(choose(uniform, [5, 0, 3, 2])) / len(uniform)
    assert np.allclose(shares, [0.5, 0.0, 0.3, 0.2], atol=0.01)
    group = (np.arange(len(uniform)) % 2).astype(np.int8)
    chosen = choose_within(uniform, group, [[1, 1], [9, 1]])
    assert abs(chosen[group == 0].mean() - 0.5) < 0.01
    assert abs(chosen[group == 1].mean() - 0.1) < 0.01


def test_the_ends_of_the_unit_interval_stay_within_the_categories():
    assert choose(EDGES, [1, 1, 1]).tolist() == [0, 1, 2]
    assert choose_within(EDGES, np.array([6, 6, 6]), [[1, 1, 1]] * 7).tolist() == [0, 1, 2]


def test_lognormal_has_its_median_and_spread():
    numbers = lognormal(Draws(1, "test").uniform("lognormal", 100_000), 0.9)
    logs = np.log(numbers)
    assert abs(np.median(logs)) < 0.02
    assert abs(logs.std() - 0.9) < 0.02
    assert np.isfinite(lognormal(EDGES, 0.9)).all()


def test_pareto_tail_has_index_four_thirds():
    numbers = pareto(Draws(1, "test").uniform("pareto", 200_000))
    assert numbers.min() >= 1.0
    assert abs((numbers > 16.0).mean() - 16.0 ** (-4 / 3)) < 0.002


def test_heavy_tail_touches_its_share_only_and_is_capped():
    factors = heavy_tail(Draws(1, "test").uniform("tail", 100_000), 0.04, cap=100.0)
    assert abs((factors > 1.0).mean() - 0.04) < 0.003
    assert heavy_tail(EDGES, 0.04, cap=100.0).tolist() == [1.0, 1.0, 100.0]


@given(st.data())
def test_parts_add_up_within_their_bounds(data):
    size = data.draw(st.integers(1, 12))
    numbers = st.lists(st.integers(0, 9), min_size=size, max_size=size)
    low = np.array(data.draw(numbers))
    high = low + np.array(data.draw(numbers))
    weights = 1 + np.array(data.draw(numbers))
    total = data.draw(st.integers(int(low.sum()), int(high.sum())))
    parts = apportion(total, weights, low, high)
    assert parts.sum() == total
    assert (parts >= low).all()
    assert (parts <= high).all()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4), st.booleans())
def test_a_tree_has_the_number_of_codes_asked_at_every_level(steps, stop_early):
    counts = [1 + sum(steps[: level + 1]) for level in range(len(steps))]
    tree = grow_tree(
        "test",
        counts,
        lambda parent, place: f"{place.level}.{place.in_level}",
        [40] * 4,
        lambda code, level: f"{code} at {level}",
        stop_early=stop_early,
    )
    assert [sum(code.startswith(f"{level}.") for code in tree.parents) for level in range(len(counts))] == counts
    assert stop_early or all(code.startswith(f"{len(counts) - 1}.") for code in tree.leaves)


def test_a_full_tree_has_room_for_no_short_branch():
    tree = grow_tree(
        "full",
        [9, 81],
        lambda parent, place: f"{parent}/{place.below_parent}",
        [9, 9],
        lambda code, level: code,
        stop_early=True,
    )
    assert len(tree.leaves) == 81
