"""Two contributors together find what brute force over every pair finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.attack import External, WorstInsider, attack_by_insiders, attack_by_pairs
from discreet.model.arrays import NO_LOWER
from tests.attack.brute_force import worst_pair
from tests.attack.test_insiders import protected, survey


def found_and_expected(system, withheld, full, cells=3):
    attack = External(system, withheld)
    attack.run(False, 0)
    alone = attack_by_insiders(attack, full, 0)
    found = attack_by_pairs(attack, full, alone)
    assert (found >= alone).all()
    assert ((found >= 0) == (alone >= 0)).all()
    some = np.flatnonzero(found >= 0)[:cells]
    return found[some].tolist(), [worst_pair(system, withheld, int(c), full) for c in attack.cells[some]], alone[some]


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_worst_pair_is_found(seed, full):
    system, withheld = protected(survey(seed, 34), seed, 0.6)
    found, expected, _ = found_and_expected(system, withheld, full)
    assert found == expected


def test_two_see_more_than_one():
    """Somewhere a pair finds what nobody finds alone, and somewhere a cell is kept from all pairs."""
    more, kept = 0, 0
    for seed in range(6):
        system, withheld = protected(survey(seed, 40), seed, 0.6)
        attack = External(system, withheld)
        attack.run(False, 0)
        alone = attack_by_insiders(attack, True, 0)
        together = attack_by_pairs(attack, True, alone)
        more += int((together > alone).sum())
        kept += int((together == WorstInsider.KEPT).sum())
    assert more > 0
    assert kept > 0


def test_pairs_know_sliding_levels_and_signed_cells():
    system, withheld = protected(survey(5, 26), 5, 0.6)
    none = np.zeros_like(system.upper_level)
    sliding = replace(system, upper_level=none, lower_level=none, sliding_level=system.value // 4)
    for case in (sliding, replace(system, lower_bound=np.full(len(system), NO_LOWER))):
        found, expected, _ = found_and_expected(case, withheld, True)
        assert found == expected
