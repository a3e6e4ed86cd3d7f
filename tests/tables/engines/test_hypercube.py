"""The hypercube engine: every unsafe cell has its room in every sub-table, by boxes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import NeedsError, ParameterError
from discreet.generate import business_survey
from discreet.relations import build_system
from discreet.tables.engines import hypercube
from discreet.tables.engines.hypercube import HypercubeSettings
from discreet.tables.engines.subtables import subtables
from tests.tables.engines.toys import (
    FIFTEEN,
    attacked,
    attacked_in_subtables,
    cell,
    fifteen_cells,
    letters,
    survey,
    two_way,
)

BY_COST = HypercubeSettings(choice="cost", singletons="none")


def test_the_published_pattern_of_fifteen_cells():
    system = fifteen_cells()
    assert letters(system, hypercube.propose(system, system.cost("value")).withheld) == FIFTEEN


def test_intervals_of_a_box():
    """Audit of 10 20 / 30 40 with all inner cells hidden (card 003-04): [0,30] [0,30] / [10,40] [30,60]."""
    system = two_way([[10, 20], [30, 40]], {(1, 1): 5})
    found = attacked(system, hypercube.propose(system, system.cost("value"), BY_COST).withheld)
    assert found.lower.tolist() == [0, 0, 10, 30]
    assert found.upper.tolist() == [30, 30, 40, 60]


def test_a_box_with_too_little_room_is_not_taken():
    """The cheapest box would go through the cell of 3; a level of 10 needs larger corners."""
    inner = [[100, 30, 90], [20, 3, 95], [90, 96, 97]]
    small = two_way(inner, {(1, 1): 2})
    large = two_way(inner, {(1, 1): 10})
    corner = {"r": "r2", "c": "c2"}
    assert hypercube.propose(small, small.cost("value"), BY_COST).withheld[cell(small, **corner)]
    proposal = hypercube.propose(large, large.cost("value"), BY_COST)
    assert not proposal.withheld[cell(large, **corner)]
    assert not attacked(large, proposal.withheld).short.any()
    any_room = HypercubeSettings(variant="hyper0", choice="cost", singletons="none")
    sparing = hypercube.propose(large, large.cost("value"), any_room)
    assert sparing.withheld[cell(large, **corner)]
    assert attacked(large, sparing.withheld).short.any()


def test_the_width_of_the_interval_is_the_bound_where_asked():
    """The cheap box lets the cell rise by 3 and fall by 30: wide enough for levels of 10, but not to rise by 10."""
    inner = [[100, 3, 90], [20, 30, 95], [90, 96, 97]]
    system = two_way(inner, {(1, 1): 10})
    cost, corner = system.cost("value"), cell(system, r="r1", c="c2")
    wide = HypercubeSettings(choice="cost", singletons="none", demand="width")
    by_width, by_levels = hypercube.propose(system, cost, wide), hypercube.propose(system, cost, BY_COST)
    assert by_width.withheld[corner]
    assert not by_levels.withheld[corner]
    found = attacked(system, by_width.withheld)
    at = int(np.flatnonzero(found.cells == cell(system, r="r1", c="c1"))[0])
    assert found.upper[at] - found.lower[at] >= 20
    assert found.short[at]
    assert not attacked(system, by_levels.withheld).short.any()
    far = cell(system, r="r2", c="c2")
    assert by_width.withheld[far]
    assert not hypercube.propose(two_way(inner, {(1, 1): 20}), cost, wide).withheld[far]


def test_cells_of_value_zero_are_corners_only_where_there_is_no_other_box():
    """A zero that might have been something else: a corner at last, and said so."""
    values = {("r1", "c1"): 50, ("r1", "c2"): 40, ("r2", "c1"): 0, ("r2", "c2"): 45, ("r3", "c1"): 60, ("r3", "c2"): 70}
    rows = [(r, c) for r in ("Total", "r1", "r2", "r3") for c in ("Total", "c1", "c2")]
    amount = [sum(v for k, v in values.items() if r in ("Total", k[0]) and c in ("Total", k[1])) for r, c in rows]

    def table(*frozen: str) -> ds.Table:
        status = ["U" if p == ("r1", "c1") else "P" if "Total" in p or p[0] in frozen else "S" for p in rows]
        cells = {"r": [r for r, _ in rows], "c": [c for _, c in rows], "value": amount, "status": status}
        levels = [5 if p == ("r1", "c1") else 0 for p in rows]
        cells |= {"upper_protection": levels, "lower_protection": levels, "contributors": [5] * len(rows)}
        by = {"r": ds.Hierarchy.flat(["r1", "r2", "r3"]), "c": ds.Hierarchy.flat(["c1", "c2"])}
        return ds.Table.from_cells(pa.table(cells), by=by, value="value").assess()

    free, stuck = build_system(table()), build_system(table("r3"))
    zero = cell(free, r="r2", c="c1")
    settings = HypercubeSettings(variant="hyper0", choice="cost", singletons="none")
    assert not hypercube.propose(free, free.cost("value"), settings).withheld[zero]
    proposal = hypercube.propose(stuck, stuck.cost("value"), settings)
    assert proposal.withheld[zero]
    assert any("value zero" in note for note in proposal.notes)
    assert not attacked(stuck, proposal.withheld).recoverable.any()
    asked = hypercube.propose(stuck, stuck.cost("value"), BY_COST)
    assert asked.unprotected.tolist() == [cell(stuck, r="r1", c="c1")]


def test_total_and_part_move_together():
    """With one other row that may move, the box must go through the totals of the columns."""
    system = two_way([[50, 60], [70, 80]], {(1, 1): 5}, forced=[(2, 1), (2, 2)])
    proposal = hypercube.propose(system, system.cost("value"), BY_COST)
    expected = {(0, 1), (0, 2), (1, 1), (1, 2)}
    names = {(i, j) for i, j in expected}
    got = {divmod(int(row), 3) for row in np.flatnonzero(proposal.withheld[system.of[0]])}
    assert got == names
    assert not attacked(system, proposal.withheld).short.any()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variables", [("activity", "region"), ("activity", "region", "size")])
def test_levels_are_kept_in_every_subtable(seed, variables):
    system = survey(700, seed, variables)
    proposal = hypercube.propose(system, system.cost("value"))
    excused = np.isin(np.arange(len(system)), proposal.unprotected)
    for found in attacked_in_subtables(system, proposal.withheld):
        assert not (found.short & ~excused[found.cells]).any()


@pytest.mark.parametrize("seed", range(3))
def test_hyper0_leaves_nothing_known_exactly_in_any_subtable(seed):
    system = survey(700, seed)
    proposal = hypercube.propose(system, system.cost("value"), HypercubeSettings(variant="hyper0"))
    excused = np.isin(np.arange(len(system)), proposal.unprotected)
    for found in attacked_in_subtables(system, proposal.withheld):
        unsafe = system.unsafe[found.cells] & ~excused[found.cells]
        assert not found.recoverable[unsafe].any()


@pytest.mark.parametrize("seed", range(2))
def test_hyperseq_keeps_levels_in_the_finest_subtables_and_leaves_nothing_known_exactly_above(seed):
    system = survey(700, seed)
    proposal = hypercube.propose(system, system.cost("value"), HypercubeSettings(variant="hyperseq"))
    excused = np.isin(np.arange(len(system)), proposal.unprotected)
    part = subtables(system, "test")[0]
    finest = np.zeros(len(system), bool)
    for number in np.flatnonzero(part.level == part.level.max()).tolist():
        inner = part.cells(number)[1:, 1:]
        finest[inner[inner >= 0]] = True
    assert (system.unsafe & finest).any()
    for found in attacked_in_subtables(system, proposal.withheld):
        unsafe = system.unsafe[found.cells] & ~excused[found.cells]
        assert not found.recoverable[unsafe].any()
        # A sub-table of finest cells only is one of the finest: there the levels count.
        if finest[found.cells].all():
            assert not found.short[unsafe].any()


def test_hyperseq_spares_the_upper_levels_in_value():
    system = survey(3000, 1, activities=(3, 9, 20), regions=(3, 9))
    cost = system.cost("value")
    full = hypercube.propose(system, cost).withheld
    sequence = hypercube.propose(system, cost, HypercubeSettings(variant="hyperseq")).withheld
    assert cost[sequence].sum() < cost[full].sum()


def test_a_single_contributor_is_a_corner_of_two_boxes():
    inner = [[50, 40, 200], [43, 45, 210], [49, 53, 220]]
    system = two_way(inner, {(1, 1): 5, (2, 2): 4}, sole=[(1, 1), (2, 2)])
    cost = system.cost("value")
    lines = [(s["r"], s["c"]) for s in ({"r": "r1", "c": "c3"}, {"r": "r1", "c": "Total"})]
    third = [cell(system, r=r, c=c) for r, c in lines]
    assert not hypercube.propose(system, cost, BY_COST).withheld[third].any()
    assert hypercube.propose(system, cost).withheld[third].any()


def test_corners_of_other_single_contributors_are_distrusted():
    inner = [[50, 40, 200], [43, 45, 210], [49, 53, 220]]
    system = two_way(inner, {(1, 1): 5, (1, 2): 4}, sole=[(1, 1), (1, 2)])
    row = [cell(system, r="r1", c="c3"), cell(system, r="r1", c="Total")]
    settings = HypercubeSettings(singletons="distrust", choice="cost")
    assert hypercube.propose(system, system.cost("value"), settings).withheld[row].any()
    assert not hypercube.propose(system, system.cost("value"), BY_COST).withheld[row].any()


def test_a_cell_without_a_box_is_reported():
    system = two_way([[50, 0], [0, 45]], {(1, 1): 5}, forced=[(0, 0)])
    proposal = hypercube.propose(system, system.cost("value"))
    assert cell(system, r="r1", c="c1") in proposal.unprotected.tolist()
    assert any("no box" in note for note in proposal.notes)


def test_everybody_knows_within():
    """Where all know each cell to within 2 %, no box moves a cell by 10 %."""
    system = two_way([[100, 90], [80, 95]], {(1, 1): 10})
    proposal = hypercube.propose(system, system.cost("value"), HypercubeSettings(known_within=2, singletons="none"))
    assert proposal.unprotected.tolist() == [cell(system, r="r1", c="c1")]
    assert "less room" in proposal.notes[0]


def test_linked_tables_are_protected_together():
    made = business_survey(400, seed=2, activities=(3, 9), regions=(2, 6))
    trees = {v: ds.Hierarchy.from_parents(made.parents[v], total="Total") for v in ("activity", "region", "size")}
    data = ds.Microdata(made.records, contributor="holding")
    pairs = [("activity", "region"), ("activity", "size")]
    specs = [ds.TableSpec(by={v: trees[v] for v in pair}, value="turnover", name="-".join(pair)) for pair in pairs]
    system = build_system(ds.tabulate(data, specs=specs).assess(ds.PPercent(10)))
    proposal = hypercube.propose(system, system.cost("value"))
    excused = np.isin(np.arange(len(system)), proposal.unprotected)
    for found in attacked_in_subtables(system, proposal.withheld):
        assert not (found.short & ~excused[found.cells]).any()


def test_sums_with_a_minus_sign_are_refused():
    by = {
        "r": ds.Hierarchy.flat(["a", "b", "c"]).with_grouping("net", ["a"], minus=["b"]),
        "c": ds.Hierarchy.flat(["x", "y"]),
    }
    records = pa.table({"r": ["a", "b", "c"], "c": ["x", "y", "x"], "v": [5, 3, 2]})
    table = ds.tabulate(records, by=by, value="v")
    with pytest.raises(NeedsError, match="gauss"):
        hypercube.propose(build_system(table), np.ones(len(build_system(table))))


def test_subtables_are_counted_by_their_parents():
    part = subtables(survey(), "test")[0]
    assert part.count == (1 + 3) * (1 + 2)
    assert part.level.max() == 2


@pytest.mark.parametrize(
    "wrong", [{"variant": "hyper1"}, {"demand": "x"}, {"singletons": "two"}, {"choice": "y"}, {"known_within": 0}]
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ParameterError):
        HypercubeSettings(**wrong)
