"""What all engines have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import Cancelled, ParameterError
from discreet.progress import reporting
from discreet.relations import System
from discreet.tables.engines import SETTINGS, propose
from discreet.tables.engines.standards import singleton_pairs
from tests.tables.engines.toys import (
    FIFTEEN,
    attacked,
    attacked_in_subtables,
    fifteen_cells_of_records,
    letters,
    survey,
    two_way,
)

INNER = [[50, 40, 200, 31], [43, 45, 210, 32], [49, 53, 220, 33]]


def flat(**options) -> System:
    return two_way(INNER, {(1, 1): 5, (2, 2): 4}, **options)


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_unsafe_cells_are_withheld_and_cells_to_be_published_are_not(algorithm):
    system = flat(forced=[(1, 2), (0, 0), (3, 3)])
    proposal = propose(algorithm, system, system.cost("value"))
    assert proposal.withheld[system.unsafe].all()
    assert not proposal.withheld[system.forced | system.empty].any()
    assert proposal.withheld.sum() > system.unsafe.sum()


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_nothing_unsafe_nothing_withheld(algorithm):
    system = two_way(INNER, {})
    proposal = propose(algorithm, system, system.cost("value"))
    assert not proposal.withheld.any()
    assert not len(proposal.unprotected)


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_everything_unsafe(algorithm):
    every = {(i, j): 1 for i in range(4) for j in range(5)}
    system = two_way(INNER, every)
    proposal = propose(algorithm, system, system.cost("value"))
    assert proposal.withheld.all()
    assert not len(proposal.unprotected)


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_a_given_pattern_is_kept_and_the_system_left_alone(algorithm):
    system = flat()
    given = np.zeros(len(system), bool)
    given[system.of[0][[8, 9]]] = True
    system = replace(system, given=given & ~system.unsafe)
    before = system.unsafe.copy(), system.given.copy()
    cost = system.cost("value")
    first, second = (propose(algorithm, system, cost) for _ in range(2))
    assert first.withheld[system.given].all()
    assert np.array_equal(first.withheld, second.withheld)
    assert np.array_equal(system.unsafe, before[0])
    assert np.array_equal(system.given, before[1])
    assert np.array_equal(cost, system.cost("value"))


@pytest.mark.parametrize("algorithm", SETTINGS)
@pytest.mark.parametrize("choice", ["count", "cost"])
def test_cells_that_cost_nothing_are_withheld_like_others(algorithm, choice):
    system = flat()
    options = {"choice": choice} if algorithm == "hypercube" else {}
    proposal = propose(algorithm, system, np.zeros(len(system)), **options)
    assert not attacked(system, proposal.withheld).recoverable[system.unsafe[proposal.withheld]].any()


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_an_unsafe_cell_that_cannot_move_is_reported(algorithm):
    forced = [(1, j) for j in (0, 2, 3, 4)]
    system = flat(forced=forced)
    proposal = propose(algorithm, system, system.cost("value"))
    assert proposal.unprotected.tolist() == [int(system.of[0][6])]
    assert proposal.notes


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_work_can_be_cancelled(algorithm):
    system = survey(200, variables=("activity", "size"))

    def cancel(step):
        raise Cancelled

    with reporting(cancel), pytest.raises(Cancelled):
        propose(algorithm, system, system.cost("value"))


def test_unknown_algorithms_and_settings_are_named():
    system = flat()
    with pytest.raises(ParameterError, match="modular"):
        propose("modulor", system, system.cost("value"))
    with pytest.raises(ParameterError, match="singletons"):
        propose("gauss", system, system.cost("value"), singleton="none")


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_every_engine_gives_the_published_pattern_of_the_second_batch_example(algorithm):
    """Batch example 2 of checkTauArgus: total 10,484.95, pattern s s s s x u s s s s x x s s s."""
    system = fifteen_cells_of_records()
    assert int(system.value.max()) == 1_048_495
    assert letters(system, propose(algorithm, system, system.cost("value")).withheld) == FIFTEEN


COUNTRIES = [[20, 70, 90, 30, 20, 30], [500, 1, 1, 50, 1, 70], [10, 3, 6, 25, 50, 20], [70, 80, 10, 100, 30, 40]]
SET_A = {
    (1, 5): (18, 71), (1, 0): (258, 311), (2, 2): (0, 53), (2, 3): (0, 11), (2, 4): (0, 53), (2, 5): (0, 53),
    (3, 4): (22, 75), (3, 5): (0, 53), (4, 2): (28, 81), (4, 3): (0, 11), (4, 0): (279, 332),
}  # fmt: skip
SET_B = {
    (1, 5): (0, 71), (1, 0): (240, 311), (2, 2): (0, 81), (2, 3): (0, 11), (2, 4): (0, 75), (2, 5): (0, 71),
    (2, 0): (570, 808), (3, 4): (0, 75), (3, 5): (0, 71), (3, 0): (39, 185), (4, 2): (0, 81), (4, 3): (0, 11),
    (4, 0): (240, 332),
}  # fmt: skip


@pytest.mark.parametrize("expected", [SET_A, SET_B], ids=["A", "B"])
def test_attack_intervals_of_the_published_example(expected):
    """Turnover of six countries (card 003-29); 0 is the total, published in the row of totals."""
    system = two_way(COUNTRIES, dict.fromkeys(expected, 0))
    found = attacked(system, system.unsafe)
    place = {int(system.of[0][7 * i + j]): (i, j) for i, j in expected}
    got = zip(found.cells.tolist(), found.lower.tolist(), found.upper.tolist(), strict=True)
    rounded = {place[c]: (round(low, 6), round(high, 6)) for c, low, high in got}
    assert rounded == expected


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_every_engine_completes_the_published_example(algorithm):
    """Set A leaves the row of country totals with two cells; no engine leaves an unsafe cell known."""
    system = two_way(COUNTRIES, dict.fromkeys(SET_A, 1))
    proposal = propose(algorithm, system, system.cost("value"))
    assert not len(proposal.unprotected)
    assert not attacked(system, proposal.withheld).recoverable.any()


@pytest.mark.parametrize("algorithm", ["gauss", "hypercube", "modular"])
@pytest.mark.parametrize("seed", range(2))
def test_no_relation_is_left_with_two_cells_of_two_single_contributors(algorithm, seed):
    """The standard PS2, of every engine but the network."""
    system = survey(400, seed, activities=(3, 9, 20), regions=(3, 9))
    assert len(singleton_pairs(system, system.unsafe))
    assert not len(singleton_pairs(system, propose(algorithm, system, system.cost("value")).withheld))


def test_all_relations_together_tell_no_less_than_single_subtables():
    system = survey(400, 1)
    withheld = propose("hypercube", system, system.cost("value")).withheld
    whole = attacked(system, withheld)
    low, high = (dict(zip(whole.cells.tolist(), b.tolist(), strict=True)) for b in (whole.lower, whole.upper))
    narrower = 0
    for part in attacked_in_subtables(system, withheld):
        for c, lower, upper in zip(part.cells.tolist(), part.lower.tolist(), part.upper.tolist(), strict=True):
            assert lower <= low[c] + 1e-6
            assert high[c] - 1e-6 <= upper
            narrower += high[c] - low[c] < upper - lower - 1e-6
    assert narrower
