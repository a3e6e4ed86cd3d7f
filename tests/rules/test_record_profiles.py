"""Rules by name: what they count, where they are from, and what they refuse."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds

LEVELS = {"region": 1, "sex": 2, "age": 3, "job": 3}


def people(weight: float) -> ds.Microdata:
    rows = 100
    return ds.Microdata(
        pa.table(
            {
                "region": ["N", "S"] * (rows // 2),
                "sex": ["m", "m", "f", "f"] * (rows // 4),
                "age": ["young", "old"] * (rows // 2),
                "job": ["yes"] * rows,
                "home": list(range(rows)),
                "rooms": ["1", "1", "1", "1", "2"] * (rows // 5),
                "w": [weight] * rows,
            }
        ),
        keys=list(LEVELS),
        weight="w",
        household="home",
    )


def test_research_asks_for_a_hundred_people_in_a_combination_and_ten_thousand_in_a_region():
    together, region = ds.profile("research", LEVELS, "w").rules
    assert (together.k, [table.keys for table in together.tables()], together.weight) == (
        100,
        [("region", "sex", "age"), ("region", "sex", "job")],
        "w",
    )
    assert (region.k, [table.keys for table in region.tables()], region.weight) == (10_000, [("region",)], "w")


def test_research_without_a_region_asks_for_pairs():
    (together,) = ds.profile("research", {"sex": 2, "age": 3}, "w").rules
    assert [table.keys for table in together.tables()] == [("sex", "age")]


def test_public_use_asks_for_many_more_people_and_for_households():
    keys = ["sex", "age", "job"]
    values, pairs, homes = ds.profile("public-use", keys, "w", household="home", household_keys=["rooms"]).rules
    assert (values.k, values.size, pairs.k, pairs.size) == (200_000, 1, 1_000, 2)
    assert values.keys == pairs.keys == tuple(keys)
    assert (homes.k, homes.household, homes.keys) == (5, "home", ("rooms",))
    without = ds.profile("public-use", keys, "w")
    assert len(without.rules) == 2
    assert any("five households" in duty for duty in without.duties)
    assert len(ds.profile("public-use", "sex", "w").rules) == 1


@pytest.mark.parametrize(
    ("weight", "unsafe"),
    [(200.0, (0, 0)), (199.99, (0, 100)), (4.0, (0, 100)), (3.99, (100, 100))],
)
def test_people_are_counted_by_their_weights(weight, unsafe):
    """Both regions have 50 records; each combination of three keys has 25."""
    assert people(weight).assess(*ds.profile("research", LEVELS, "w").rules).assessment.unsafe == unsafe


def test_a_release_keeps_a_profile_and_the_checker_counts_it_again():
    rules = ds.profile("research", LEVELS, "w").rules
    steps = ds.Recode("job", map={"yes": "any"})
    release = ds.protect(people(200.0), steps, rules=rules)
    verdict = release.verify()
    assert verdict.holds
    assert sum("times by the weights (w)" in proved for proved in verdict.proved) == 2
    with pytest.raises(ds.DiscreetError, match="100 records have a combination of keys that has fewer than 10000"):
        ds.protect(people(100.0), steps, rules=rules)


def test_a_profile_says_what_it_counts_and_what_it_leaves_to_people():
    text = str(ds.profile("public-use", ["sex", "age"], "w"))
    assert text.startswith("public-use: a file for everybody\n")
    assert "counted: 2 sets of 1 key, every combination of values of at least 200,000 people" in text
    assert "counted: 1 set of 2 keys, every combination of values of at least 1,000 people" in text
    assert "see to it: the data are at least a year old" in text
    assert "source: Handbook on Statistical Disclosure Control (2024)" in text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("puf", LEVELS, "w"), "There is no profile 'puf'. Available: 'research', 'public-use'."),
        (("research", LEVELS, ""), "The profile 'research' counts people of the population, by sampling weights."),
        (("research", ["sex"], "w"), "The profile 'research' goes by identification levels, and was given names"),
        (("research", {"a": 1, "b": 4}, "w"), "has three identification levels, and 'b' is of a higher one."),
        (("public-use", LEVELS, "w"), "has no direct region, and 'region' is of identification level 1."),
        (("public-use", [f"k{n}" for n in range(16)], "w"), "has at most 15 keys, and there are 16."),
        (("research", {"a": 0}, "w"), "The profile is given no key."),
        (("public-use", [], "w"), "The profile is given no key."),
    ],
)
def test_what_a_profile_does_not_allow_is_refused(given, message):
    with pytest.raises(ds.DiscreetError) as error:
        ds.profile(*given)
    assert message in error.value.message
    assert error.value.hint or "Available" in error.value.message


def test_only_rules_that_are_broken_are_named():
    rules = ds.profile("research", LEVELS, "w").rules
    with pytest.raises(ds.DiscreetError) as error:
        ds.protect(people(100.0), ds.Recode("job", map={"yes": "any"}), rules=rules)
    assert "fewer than 100 units" not in error.value.message
