"""What is published on attacks on synthetic files: Raab, Nowok and Dibben (2025), Giomi et al. (2023), and others."""

from __future__ import annotations

from math import exp

import numpy as np
import pyarrow as pa
import pytest

from discreet.attack import attribute_disclosure, closest_records, singling_out_attack
from discreet.attack.synthetic.controlled_attack import success_rate
from tests.attack.made_files import people, shuffled

KEYS = ["age", "sex", "region"]


@pytest.fixture(scope="module")
def files() -> tuple[pa.Table, pa.Table]:
    """A file and one of which half of the records were taken over: some of everything is disclosed."""
    original = people(800, 31)
    return original, shuffled(pa.concat_tables([original.slice(0, 400), people(400, 32)]), 1)


def test_with_denominators_of_one_the_original_discloses_its_uniques_whatever_the_target(files):
    plain = [attribute_disclosure(*files, keys=KEYS, secret=secret) for secret in ("job", "pay", "rent")]
    small = [attribute_disclosure(*files, keys=KEYS, secret=secret, largest=1) for secret in ("job", "pay", "rent")]
    assert {found.disclosive_original for found in small} == {plain[0].unique_original}
    for before, after in zip(plain, small, strict=True):
        assert after.disclosive_correct <= before.disclosive_correct
        assert after.unique_original >= before.unique_original
        assert after.replicated_uniques >= before.replicated_uniques


def test_numerators_and_denominators_of_correct_attribution(files):
    found = attribute_disclosure(*files, keys=KEYS, secret="job")
    assert found.disclosive_both < found.disclosive_correct < found.disclosive < found.found < 1
    assert found.disclosive_correct < found.attributed
    assert found.certain_correct == pytest.approx(found.disclosive_correct / found.disclosive)
    assert found.replicated_uniques < found.unique_found < found.unique_original


def test_fewer_released_records_disclose_less_and_the_share_of_certain_guesses_hides_it(files):
    original, made = files
    whole, part = (attribute_disclosure(original, made.slice(0, n), keys=KEYS, secret="job") for n in (800, 100))
    assert part.disclosive_correct < 0.33 * whole.disclosive_correct
    assert part.attributed < 0.33 * whole.attributed
    assert part.certain_correct > 0.6 * whole.certain_correct


@pytest.mark.parametrize(
    ("right", "tried", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_of_wilson_as_newcombe_prints_them(right, tried, low, high):
    rate, error = success_rate(right, tried)
    assert (round(rate - error, 4), round(rate + error, 4)) == (pytest.approx(low, abs=1e-9), high)


def test_conditions_of_weight_one_in_n_single_out_by_luck_in_37_percent():
    # n w (1 - w)^(n - 1) of Cohen and Nissim, at w = 1 / n
    draws, size = np.random.default_rng(7), 3000
    original, made = (pa.table({"x": [f"c{i}" for i in draws.integers(0, size, size)]}) for _ in range(2))
    found = singling_out_attack(original, made, size=1, attempts=2000)
    low, high = found.interval()
    assert low < exp(-1) < high


def test_without_copying_released_records_are_as_near_to_held_out_ones():
    original, made, held = (people(600, seed) for seed in (41, 42, 43))
    foreign = closest_records(original, made, held)
    assert foreign.nearer is not None
    low, high = foreign.nearer.interval()
    assert low < 0.5 < high
    mine, theirs = foreign.percentile(5)
    assert theirs is not None
    assert mine == pytest.approx(theirs, rel=0.2)
    copied = closest_records(original, shuffled(original, 1), held)
    assert copied.nearer is not None
    assert (copied.nearer.share, copied.percentile(5)[0]) == (1.0, 0.0)
