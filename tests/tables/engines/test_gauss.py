"""Gaussian elimination: no unsafe cell follows exactly from what is published, and nothing more is promised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.relations import System, build_system
from discreet.tables.engines import gauss
from discreet.tables.engines.gauss import GaussSettings
from tests.relations.random_tables import tables
from tests.tables.engines.toys import (
    FIFTEEN,
    attacked,
    cell,
    fifteen_cells,
    letters,
    recovered_by_insiders,
    survey,
    two_way,
)

OUTSIDERS = GaussSettings(singletons="none")


def by_definition(system: System, cost: np.ndarray) -> np.ndarray:
    """Publish cells, the dearest first, unless an unsafe cell then lies in the span of published cells."""
    relations = system.matrix.toarray().astype(float)
    units = np.eye(len(system))
    fixed = system.unsafe | system.given
    published = [units[i] for i in np.flatnonzero((system.forced | system.empty) & ~fixed)]

    def rank(rows: list[np.ndarray]) -> int:
        return int(np.linalg.matrix_rank(np.vstack([relations, *rows])))

    def revealed(rows: list[np.ndarray]) -> set[int]:
        known = rank(rows)
        return {i for i in np.flatnonzero(system.unsafe).tolist() if rank([*rows, units[i]]) == known}

    before = revealed(published)
    withheld = fixed.copy()
    open_cells = np.flatnonzero(~(fixed | system.forced | system.empty))
    for i in open_cells[np.lexsort((open_cells, cost[open_cells]))][::-1].tolist():
        if revealed([*published, units[i]]) == before:
            published.append(units[i])
        else:
            withheld[i] = True
    return withheld


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["value", "unity"])
def test_the_pattern_is_that_of_the_definition(seed, kind):
    system = survey(90, seed, activities=(2, 4), regions=(2, 4))
    cost = system.cost(kind)
    proposal = gauss.propose(system, cost, OUTSIDERS)
    assert system.unsafe.any()
    assert np.array_equal(proposal.withheld, by_definition(system, cost))


def test_three_dimensions_too():
    system = survey(60, 3, ("activity", "region", "size"), activities=(2, 3), regions=(2,))
    cost = system.cost("value")
    assert np.array_equal(gauss.propose(system, cost, OUTSIDERS).withheld, by_definition(system, cost))


@settings(max_examples=60, deadline=None)
@given(tables(dimensions=(1, 2, 3)), st.randoms(use_true_random=False))
def test_signed_and_overlapping_hierarchies_too(table, random):
    system = build_system(table)
    unsafe = np.array([random.random() < 0.3 for _ in range(len(system))]) & ~system.empty
    system = replace(system, unsafe=unsafe)
    cost = np.array([random.randint(1, 1000) for _ in range(len(system))], float)
    assert np.array_equal(gauss.propose(system, cost, OUTSIDERS).withheld, by_definition(system, cost))


def test_the_published_pattern_of_fifteen_cells():
    system = fifteen_cells()
    assert letters(system, gauss.propose(system, system.cost("value")).withheld) == FIFTEEN


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_known_exactly_but_levels_may_be_missed(seed):
    system = survey(seed=seed)
    found = attacked(system, gauss.propose(system, system.cost("value")).withheld)
    unsafe = system.unsafe[found.cells]
    assert not found.recoverable[unsafe].any()
    if seed == 0:
        assert found.short.any()


def test_cost_hints_are_honoured():
    system = fifteen_cells()
    cost = system.cost("value")
    for code in ("c1", "c2"):
        cost[cell(system, r="r4", c=code)] = 1.0
    withheld = gauss.propose(system, cost).withheld
    assert withheld[cell(system, r="r4", c="c1")]
    assert not withheld[cell(system, r="r3", c="c1")]


def test_a_single_contributor_cannot_subtract_its_cell_from_a_row():
    inner = [[50, 40, 200], [43, 45, 210], [49, 53, 220]]
    system = two_way(inner, {(1, 1): 5, (1, 2): 4}, sole=[(1, 1), (1, 2)])
    row = [cell(system, r="r1", c="c3"), cell(system, r="r1", c="Total")]
    cost = system.cost("value")
    assert not gauss.propose(system, cost, OUTSIDERS).withheld[row].any()
    assert gauss.propose(system, cost).withheld[row].any()


def given_away(system: System, withheld: np.ndarray) -> int:
    """Pairs of a sole cell and an unsafe one of somebody else that follows from it and all that is published."""
    units = np.eye(len(system))
    known = np.vstack([system.matrix.toarray().astype(float), units[~withheld]])
    holder = system.holder.reshape(len(system), -1)[:, 0]
    found = 0
    for s in np.flatnonzero(withheld & (system.contributors == 1)).tolist():
        rows = np.vstack([known, units[s]])
        rank = np.linalg.matrix_rank(rows)
        for u in np.flatnonzero(system.unsafe).tolist():
            own = u == s or (system.contributors[u] == 1 and holder[u] == holder[s])
            found += not own and np.linalg.matrix_rank(np.vstack([rows, units[u]])) == rank
    return found


@pytest.mark.parametrize(
    ("records", "seed", "activities", "regions"),
    [(120, 1, (2, 6), (3,)), (120, 3, (2, 6), (3,))],
)
def test_nobody_works_out_a_cell_from_one_of_its_own_by_any_relations(records, seed, activities, regions):
    """Which sums within single relations do not see."""
    system = survey(records, seed, activities=activities, regions=regions)
    cost = system.cost("value")
    outsiders, sums, every = (gauss.propose(system, cost, GaussSettings(kind)) for kind in ("none", "sums", "any"))
    assert given_away(system, outsiders.withheld) >= given_away(system, sums.withheld) > 0
    assert not len(every.unprotected)
    assert given_away(system, every.withheld) == 0


def test_a_part_is_subtracted_from_its_total():
    """A sole part and its total, both unsafe: their difference is what must not be known."""
    inner = [[50, 40, 200], [43, 45, 210], [49, 53, 220]]
    system = two_way(inner, {(1, 0): 5, (1, 1): 4}, sole=[(1, 1)])
    row = [cell(system, r="r1", c=c) for c in ("c2", "c3")]
    cost = system.cost("value")
    assert not gauss.propose(system, cost, OUTSIDERS).withheld[row].any()
    for kind in ("sums", "any"):
        withheld = gauss.propose(system, cost, GaussSettings(singletons=kind)).withheld
        assert withheld[row].any()
        assert recovered_by_insiders(system, withheld) == 0


def test_cells_that_must_be_published_may_reveal_others_and_are_named():
    system = two_way([[50, 40], [43, 45]], {(1, 1): 5}, forced=[(1, 0), (1, 2)])
    proposal = gauss.propose(system, system.cost("value"))
    assert proposal.unprotected.tolist() == [cell(system, r="r1", c="c1")]
    assert "1 unsafe cell" in proposal.notes[0]
    assert not proposal.withheld[system.forced].any()


def test_unknown_settings_are_refused():
    with pytest.raises(ParameterError, match="sums"):
        GaussSettings(singletons="sum")  # type: ignore[arg-type]
