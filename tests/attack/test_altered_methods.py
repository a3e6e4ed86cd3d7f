"""A sample of the attacks on noise, swapping, drop/add, maps and the fair comparison; each module runs them in full."""

from __future__ import annotations

from tests.attack import dropped_records, fair_inputs, noisy_companies, redistributed_maps, swapped_homes


def test_cells_of_one_company_lie_as_far_from_the_truth_as_claimed():
    found = noisy_companies.attack(6, seed=18)
    assert found["cells"] > 20
    assert found["read"] > 5
    assert not [name for name in noisy_companies.NEVER if found[name]]


def test_no_total_tells_of_a_map_what_it_must_not():
    found = redistributed_maps.attack(25, seed=18)
    assert found["maps"] > 5
    assert found["value_maps"] > 3
    assert found["places under rules"] > 20
    assert not [name for name in redistributed_maps.NEVER if found[name]]


def test_whoever_repeats_the_method_can_think_of_no_small_place():
    found = redistributed_maps.repeated(4, 7)
    assert found["small places"] > 500
    assert found["told to be small"] == 0


def test_audits_of_swapped_tables_call_nothing_kept_that_whole_numbers_tell():
    found = swapped_homes.attack(10, seed=18)
    assert found["unsafe cells"] > 20
    assert not [name for name in swapped_homes.NEVER if found[name]]


def test_dropped_and_added_records_are_told_as_far_as_audits_say():
    found = dropped_records.attack(11, seed=18)
    assert found["unsafe cells"] > 20
    assert not [name for name in dropped_records.NEVER if found[name]]
    assert found["averages admitted"] == found["answers averaged"]
    expected = found["expected right, in millions"] / 1e6
    assert abs(found["right"] - expected) < 4 * expected**0.5


def test_the_fair_comparison_misses_no_certain_guess_and_refuses_what_it_cannot_judge():
    found = fair_inputs.attack(25, seed=18)
    assert found["certain guesses"] > 2
    assert not [name for name in fair_inputs.NEVER if found[name]]
    assert fair_inputs.accepted() == []
