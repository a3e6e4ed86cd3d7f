"""Areas that are shown have a population; check 3 of the card on restricted extracts."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError, ParameterError
from discreet.records.guarded_areas import guard_areas

UNITS = st.dictionaries(st.tuples(st.sampled_from("ABCD"), st.sampled_from("123456")), st.integers(0, 60), min_size=1)


@given(UNITS, st.integers(1, 80))
def test_no_code_of_any_level_or_of_levels_together_is_small(units: dict[tuple[str, str], int], least: int) -> None:
    population = {(top, top + low): float(persons) for (top, low), persons in units.items()}
    found = guard_areas(population, least)
    for depth in range(found.levels):
        alone: dict[object, float] = defaultdict(float)
        together: dict[object, float] = defaultdict(float)
        for path, persons in population.items():
            alone[found.codes[path][depth]] += persons
            together[found.codes[path][: depth + 1]] += persons
        assert min(alone.values()) >= least
        assert min(together.values()) >= least
        assert len(alone) == len(together)  # finer areas lie in coarser ones
    if not found.levels:
        assert sum(population.values()) < least


def test_large_units_keep_their_codes_and_a_single_small_one_takes_a_neighbour_along() -> None:
    found = guard_areas({("N", "a"): 100, ("N", "b"): 50, ("N", "c"): 3, ("S", "d"): 70}, 10)
    assert [found.codes[path][1] for path in (("N", "a"), ("S", "d"))] == ["a", "d"]
    assert found.codes["N", "b"] == found.codes["N", "c"] == ("N", "merged-1")


def test_codes_in_two_homes_and_no_threshold_are_refused() -> None:
    with pytest.raises(InputError, match="lie in two units"):
        guard_areas({("N", "a"): 100, ("S", "a"): 100}, 10)
    with pytest.raises(ParameterError, match="guards nothing"):
        guard_areas({("N",): 100}, 0)
