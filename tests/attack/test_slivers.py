"""Slivers, differencing and averaging: cards 002 and 003-05, and brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import discreet as ds
from discreet.attack import answers_needed, average_answers, difference_releases, least_squares_attack, sliver_attack
from discreet.errors import InputError, ParameterError
from discreet.model.noise_table import FRACTIONS
from discreet.records.dropping import dropped_and_added, permanent_numbers
from discreet.tables.perturb.cell_key import perturbed_counts

KEY = bytes(range(32))
COUNTS = np.array([193, 271, 201, 279])
"""Age by sex, table 1 of card 002."""


def test_a_server_without_noise_is_seen_through():
    cell = np.repeat(np.arange(4), [3, 2, 1, 4])
    found = sliver_attack(lambda who: np.bincount(cell[who], minlength=4), cell)
    assert found[1:5] == (1, 1, 1, 0)
    assert (found.largest, found.nearest) == (1, 1)
    assert found.linked(3) == 1


def test_noise_fixed_by_the_cell_shows_which_cells_did_not_change():
    cell = np.repeat(np.arange(4), [30, 20, 10, 40])

    def server(who):
        counts = np.bincount(cell[who], minlength=4)
        noise = [np.random.default_rng([k, n]).integers(-2, 3) for k, n in enumerate(counts)]
        return counts + noise

    assert sliver_attack(server, cell).zeros == 1


def test_cell_keys_show_which_cells_did_not_change():
    """Card 002 of slivers, check 2, with the method itself: all cells without the record cancel."""
    cell = np.repeat(np.arange(4), [30, 20, 10, 40])
    keys = np.random.default_rng(3).integers(0, FRACTIONS, len(cell))
    table = ds.NoiseTable.maximum_entropy(D=5, V=3, js=2)

    def server(who):
        sums = [int(keys[who & (cell == k)].sum() % FRACTIONS) for k in range(4)]
        return perturbed_counts(np.bincount(cell[who], minlength=4), np.array(sums), table).value

    found = sliver_attack(server, cell)
    assert found.zeros == 1
    assert found.ones < 1  # the record's own cell has other noise


def test_drop_add_hides_the_record_as_the_theory_says():
    """Card 002: zeros 15.8 and ones 15.5 per cent of table 1, whole tables below 1; means of several key sets."""
    cell = np.repeat(np.arange(4), COUNTS)
    codes = np.stack((cell // 2, cell % 2), axis=1)
    found = []
    for number in range(5):
        numbers = permanent_numbers(np.arange(len(cell)) + 10_000 * number, KEY)

        def server(who, numbers=numbers):
            return dropped_and_added(codes[who], (2, 2), numbers[who], KEY).counts

        found.append(sliver_attack(server, cell, seed=number))
    assert 0.12 <= np.mean([f.zeros for f in found]) <= 0.20
    assert 0.12 <= np.mean([f.ones for f in found]) <= 0.20
    assert np.mean([f.tables for f in found]) < 0.01
    assert np.mean([f.half_changed for f in found]) > 0.95


def test_theory_of_the_card():
    q = np.array([2, 3, 3, 3])
    n = COUNTS.sum()
    assert sum((n - COUNTS) / (2 * q + 1)) / (n * 3) == pytest.approx(0.158, abs=5e-4)
    assert sum(COUNTS / (2 * q + 1)) / n == pytest.approx(0.155, abs=5e-4)


def test_weighted_servers_are_judged_within_tolerances():
    cell, weight = np.array([0, 0, 1]), np.array([10.0, 20.0, 5.0])

    def server(who):
        return np.bincount(cell[who], weight[who], 2) * 1.001

    exact = sliver_attack(server, cell, weights=weight)
    near = sliver_attack(server, cell, weights=weight, zero_within=0.5, one_within=0.1)
    assert (exact.ones, near.ones) == (0, 1)
    assert near.nearest == 1


def test_a_server_that_contradicts_itself_is_refused():
    random = np.random.default_rng(1)
    with pytest.raises(InputError, match="different answers"):
        sliver_attack(lambda who: random.random(3), [0, 1, 2])
    with pytest.raises(InputError, match="two records"):
        sliver_attack(lambda who: [1], [0])


def test_nested_universes_give_the_strip_away():
    found = difference_releases({"all": ["core", "strip"], "core": ["core"]}, {"all": [9, 4], "core": [7, 4]})
    assert found.known.all()
    assert found["strip"][0].tolist() == [2, 0]
    assert found.small(2).tolist() == [[False, False], [True, False]]


def test_withheld_and_rounded_cells_leave_room():
    universes = {"all": ["core", "strip"], "core": ["core"]}
    hidden = difference_releases(universes, {"all": [9], "core": [np.nan]})
    assert (hidden["strip"][0][0], hidden["strip"][1][0]) == (0, 9)
    rounded = difference_releases(universes, {"all": [9], "core": [6]}, within=2)
    assert (rounded["strip"][0][0], rounded["strip"][1][0]) == (0, 7)
    mixed = difference_releases(universes, {"all": [9], "core": [6]}, within={"all": 0, "core": 2})
    assert (mixed["strip"][0][0], mixed["strip"][1][0]) == (1, 5)


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_bounds_hold_all_whole_values_that_fit(seed):
    """Three overlapping populations of three regions, against all tables of small counts."""
    random = np.random.default_rng(seed)
    true = random.integers(0, 4, 3)
    member = {"one": ["a", "b"], "two": ["b", "c"], "three": ["a", "c"]}
    place = {"a": 0, "b": 1, "c": 2}
    within = {name: float(random.integers(0, 3)) for name in member}
    published = {name: true[[place[r] for r in regions]].sum() for name, regions in member.items()}
    found = difference_releases(member, {name: [value] for name, value in published.items()}, within=within)
    fits = [
        t
        for t in product(range(14), repeat=3)
        if all(abs(sum(t[place[r]] for r in member[n]) - published[n]) <= within[n] for n in member)
    ]
    at = [found.regions.index(r) for r in "abc"]
    assert np.all(found.lower[at, 0] <= np.min(fits, axis=0))
    assert np.all(np.max(fits, axis=0) <= found.upper[at, 0])
    assert np.all(found.upper - found.lower >= 0)


def test_relations_of_the_table_carry_over_to_the_regions():
    universes = {"all": ["core", "strip"], "core": ["core"]}
    published = {"all": [10, 6, 4], "core": [8, 5, np.nan]}
    alone = difference_releases(universes, published)
    total = csr_array(np.array([[-1, 1, 1]]))
    related = difference_releases(universes, published, relations=total)
    assert not alone.known.all()
    assert related.known.all()
    assert related["strip"][0].tolist() == [2, 1, 1]


def test_contradictions_are_refused():
    with pytest.raises(InputError, match="contradict"):
        difference_releases({"all": ["core", "strip"], "core": ["core"]}, {"all": [5], "core": [7]})
    with pytest.raises(InputError, match="Name both alike"):
        difference_releases({"all": ["core"]}, {"other": [5]})
    with pytest.raises(ParameterError, match="says nothing"):
        difference_releases({"all": ["core"]}, {"all": [5]}, within={})


def test_fresh_noise_averages_away_and_fixed_noise_does_not():
    random = np.random.default_rng(2)
    true = random.integers(0, 50, 40)
    fresh = average_answers(true + random.integers(-2, 3, (400, 40)))
    assert np.array_equal(np.rint(fresh.estimate), true)
    assert fresh.chance.min() > 0.99
    fixed = average_answers(np.tile(true + 1, (5, 1)))
    assert np.isnan(fixed.error).all()
    assert answers_needed(1.0, 0.95) == 16


def test_totals_wear_down_noise_that_does_not_add_up():
    """Errors of least squares are those of repeated draws."""
    random = np.random.default_rng(3)
    cover = csr_array(np.array([[1.0, 0, 0, 1, 1], [0, 1, 0, 1, 1], [0, 0, 1, 0, 1]]))
    true = cover.T @ np.array([5, 9, 14])
    draws = [least_squares_attack(true + random.normal(0, 2, 5), cover, 4.0) for _ in range(600)]
    errors = np.std([d.estimate for d in draws], axis=0)
    assert errors == pytest.approx(draws[0].error, rel=0.1)
    assert np.all(draws[0].error < 2)
    some = least_squares_attack(true, cover, np.full(5, 4.0), cells=[3])
    assert some.estimate == pytest.approx([14])
    assert some.error == pytest.approx(draws[0].error[[3]])


def test_errors_of_large_tables_are_those_of_small_ones(monkeypatch):
    from discreet.attack import averaging

    cover = csr_array(np.hstack([np.eye(6), np.ones((6, 1))]))
    all_at_once = least_squares_attack(np.arange(7), cover, 2.0)
    monkeypatch.setattr(averaging, "DENSE", 3)
    one_by_one = least_squares_attack(np.arange(7), cover, 2.0, cells=np.arange(7))
    assert one_by_one.error == pytest.approx(all_at_once.error)
    with pytest.raises(ParameterError, match="cells="):
        least_squares_attack(np.arange(7), cover, 2.0)
