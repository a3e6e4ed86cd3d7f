"""The network engine: levels against outsiders in two-way tables, and no more than that."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.errors import NeedsError, ParameterError
from discreet.generate import business_survey
from discreet.relations import build_system
from discreet.tables.engines import network
from discreet.tables.engines.network import NetworkSettings
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


def test_the_published_pattern_of_fifteen_cells():
    system = fifteen_cells()
    assert letters(system, network.propose(system, system.cost("value")).withheld) == FIFTEEN


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("variables", [("activity", "size"), ("size", "region")])
@pytest.mark.parametrize("order", ["largest", "smallest"])
def test_levels_are_kept_over_all_relations(seed, variables, order):
    system = survey(120, seed, variables, activities=(3, 9, 20))
    proposal = network.propose(system, system.cost("value"), NetworkSettings(order=order))
    assert system.unsafe.any()
    assert not len(proposal.unprotected)
    assert not attacked(system, proposal.withheld).short.any()


def test_a_level_that_no_single_way_carries_goes_several():
    """No other cell of the row can fall by 20, but two of them can together."""
    inner = [[100, 15, 16, 17], [60, 61, 62, 63], [64, 65, 66, 67]]
    system = two_way(inner, {(1, 1): 20}, forced=[(1, 0)])
    proposal = network.propose(system, system.cost("value"))
    row = [cell(system, r="r1", c=f"c{j}") for j in (2, 3, 4)]
    assert proposal.withheld[row].sum() == 2
    assert not attacked(system, proposal.withheld).short.any()


def test_single_contributors_are_not_looked_at():
    """The known weakness: two single contributors in one row see through each other."""
    inner = [[50, 40, 200], [43, 45, 210], [49, 53, 220]]
    system = two_way(inner, {(1, 1): 5, (1, 2): 4}, sole=[(1, 1), (1, 2)])
    proposal = network.propose(system, system.cost("value"))
    assert not attacked(system, proposal.withheld).short.any()
    assert recovered_by_insiders(system, proposal.withheld) == 2


def test_cost_hints_are_honoured():
    system = fifteen_cells()
    cost = system.cost("value")
    cost[[cell(system, r="r4", c="c1"), cell(system, r="r4", c="c2")]] = 1.0
    withheld = network.propose(system, cost).withheld
    assert withheld[cell(system, r="r4", c="c1")]
    assert not withheld[cell(system, r="r3", c="c1")]


def test_a_cell_without_a_way_is_named():
    system = two_way([[50, 40], [43, 45]], {(1, 1): 5}, forced=[(1, 0), (1, 2)])
    proposal = network.propose(system, system.cost("value"))
    assert proposal.unprotected.tolist() == [cell(system, r="r1", c="c1")]
    assert "1 unsafe cell" in proposal.notes[0]


@pytest.mark.parametrize("variables", [("activity", "region"), ("activity", "region", "size"), ("activity",)])
def test_other_shapes_are_refused_with_the_methods_that_take_them(variables):
    system = survey(variables=variables)
    with pytest.raises(NeedsError, match="'hypercube', 'modular' or 'gauss'"):
        network.propose(system, system.cost("value"))


def test_linked_tables_are_refused():
    made = business_survey(200, seed=2, activities=(3, 9), regions=(2, 6))
    trees = {v: ds.Hierarchy.from_parents(made.parents[v], total="Total") for v in ("activity", "region", "size")}
    pairs = [("activity", "size"), ("region", "size")]
    specs = [ds.TableSpec(by={v: trees[v] for v in pair}, value="turnover", name="-".join(pair)) for pair in pairs]
    system = build_system(ds.tabulate(made.records, specs=specs))
    with pytest.raises(NeedsError, match="2 linked"):
        network.propose(system, np.ones(len(system)))


def test_an_unknown_order_is_refused():
    with pytest.raises(ParameterError, match="largest"):
        NetworkSettings(order="large")  # type: ignore[arg-type]
