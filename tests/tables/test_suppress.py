"""Suppression: what it withholds, what it costs, and what it says of itself."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import NeedsError, ParameterError
from discreet.model.table import CellStatus


def square(values: list[int], unsafe: int, levels: tuple[float, float], **columns: list[float]) -> ds.Table:
    """A 3 x 3 table of inner cells with one cell marked unsafe by hand."""
    region = ds.Hierarchy.flat([f"r{i}" for i in range(3)])
    trade = ds.Hierarchy.flat([f"t{i}" for i in range(3)])
    rows = list(itertools.product(region.base_codes, trade.base_codes))
    cells = {"region": [r for r, _ in rows], "trade": [t for _, t in rows], "value": values, **columns}
    table = ds.Table.from_cells(pa.table(cells), by={"region": region, "trade": trade}, compute_totals=True)
    return table.marked({rows[unsafe]: "U"}, protection=levels).assess()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(1, 30), min_size=9, max_size=9), st.integers(0, 8))
def test_one_unsafe_cell_costs_no_more_than_the_best_square(values, unsafe):
    """With one unsafe cell and small levels the cheapest pattern is a square of four cells."""
    release = ds.protect(square(values, unsafe, (1, 1)), ds.Suppress())
    hidden = release.custodian.withheld(0)
    grid = np.array(values).reshape(3, 3)
    r, t = divmod(unsafe, 3)
    best = min(grid[r, u] + grid[s, t] + grid[s, u] for s in range(3) for u in range(3) if s != r and u != t)
    table = release.custodian.tables.tables[0]
    secondary = hidden & ~table.unsafe
    assert table.value[secondary].sum() <= best
    assert release.verify().holds


def test_cost_by_variable_prefers_what_the_officer_said():
    cost = [1, 1, 1, 1, 1, 1, 1, 1, 1]
    cost[4] = 1_000
    table = square([10, 10, 10, 10, 3, 10, 10, 10, 10], 0, (2, 2), cost=cost)
    by_value = ds.protect(table, ds.Suppress(cost="value"))
    by_cost = ds.protect(table, ds.Suppress(cost="variable"))
    centre = table.row(region="r1", trade="t1")
    assert by_value.custodian.withheld(0)[centre]
    assert not by_cost.custodian.withheld(0)[centre]


def test_costs_that_the_table_cannot_give_are_refused():
    table = square([10] * 9, 0, (2, 2))
    with pytest.raises(NeedsError, match=r"nothing to compute the cost 'count' from.*cost='value'"):
        ds.protect(table, ds.Suppress(cost="count"))
    with pytest.raises(NeedsError, match="cost 'variable'"):
        ds.protect(table, ds.Suppress(cost="variable"))


def test_a_given_pattern_is_kept_and_completed():
    status = ["U", "M", "V", "V", "V", "V", "V", "V", "V"]
    region = ds.Hierarchy.flat(["r0", "r1", "r2"])
    trade = ds.Hierarchy.flat(["t0", "t1", "t2"])
    rows = list(itertools.product(region.base_codes, trade.base_codes))
    cells = pa.table(
        {"region": [r for r, _ in rows], "trade": [t for _, t in rows], "value": [20] * 9, "status": status}
    )
    table = ds.Table.from_cells(cells, by={"region": region, "trade": trade}, compute_totals=True)
    release = ds.protect(table.assess(), ds.Suppress())
    row = table.row(region="r0", trade="t1")
    assert release.custodian.status[0][row] == CellStatus.SECONDARY
    assert int(release.custodian.withheld(0).sum()) == 4


def test_a_sliding_level_is_reached_by_both_sides_together():
    table = square([50] * 9, 0, (1, 1))
    from dataclasses import replace

    sliding = np.where(table.unsafe, 30, 0)
    table = table.with_(assessment=replace(table.assessment, sliding=sliding))
    release = ds.protect(table, ds.Suppress())
    assert release.verify().holds
    audit = release.audit().columns()
    target = audit["unsafe"].index(True)
    assert audit["upper"][target] - audit["lower"][target] >= 30


def test_protection_above_the_value_is_refused_with_the_cell_named():
    table = square([5] * 9, 4, (5, 5))
    bounded = table.with_(upper_bound=np.where(table.unsafe, table.value + 4, 2**62))
    with pytest.raises(ds.DiscreetError, match=r"1 unsafe cell cannot be protected.*region=r1, trade=t1"):
        ds.protect(bounded, ds.Suppress())


def test_all_cells_unsafe_is_possible_when_nothing_is_published():
    table = ds.examples.small_table().assess(ds.MinContributors(100))
    release = ds.protect(table, ds.Suppress())
    assert not release.public.tables[0].shown.any()
    assert release.verify().holds


def test_protect_wants_exactly_one_method():
    table = ds.examples.small_table().assess(ds.PPercent(10))
    with pytest.raises(ParameterError, match="needs a method"):
        ds.protect(table)
    with pytest.raises(ParameterError, match="Suppress cannot follow Suppress, which acts on tables"):
        ds.protect(table, ds.Suppress(), ds.Suppress())
    with pytest.raises(ParameterError, match="takes methods, not a str"):
        ds.protect(table, "suppress")


@pytest.mark.parametrize(
    ("insiders", "said"),
    [
        ("full", "insiders: every contributor"),
        ("nonzero", "insiders: no contributor"),
        (None, "not considered: contributors and holdings"),
    ],
)
def test_every_statement_names_the_attackers(insiders, said):
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress(insiders=insiders))
    for text in (release.summary(), str(release.verify())):
        assert "external" in text
        assert said in text


def test_a_table_without_contributors_says_that_they_were_not_considered():
    release = ds.protect(square([10] * 9, 0, (2, 2)), ds.Suppress())
    assert "not considered: contributors and holdings" in str(release.verify().require())


def test_single_child_levels_share_their_fate():
    region = ds.Hierarchy.from_nested({"A": ["a"], "B": ["b1", "b2"], "C": ["c1", "c2"]})
    frame = pa.table(
        {
            "region": ["a"] * 4 + ["b1"] * 4 + ["b2"] * 4 + ["c1"] * 4 + ["c2"] * 4,
            "x": [100, 1, 1, 1] + [10] * 4 + [12] * 4 + [9] * 4 + [8] * 4,
        }
    )
    table = ds.tabulate(frame, by={"region": region}, value="x").assess(ds.PPercent(10))
    release = ds.protect(table, ds.Suppress())
    status = release.custodian.status[0]
    assert status[table.row(region="A")] == status[table.row(region="a")] == CellStatus.UNSAFE
    assert release.verify().holds


def test_tables_of_different_universes_are_not_claimed_to_be_compared():
    frame = pa.table({"region": ["N"] * 9 + ["S"] * 9, "size": [1, 2, 3] * 6, "x": list(range(10, 28))})
    by = {"region": ds.Hierarchy.flat(["N", "S"])}
    specs = [ds.TableSpec(by=by, value="x", name="all"), ds.TableSpec(by=by, value="x", name="big", where="size >= 2")]
    release = ds.protect(ds.tabulate(frame, specs=specs).assess(ds.MinContributors(3)), ds.Suppress())
    assert any("different universes" in text for text in release.verify().not_considered)
    alone = ds.protect(ds.tabulate(frame, specs=specs[:1]).assess(ds.MinContributors(3)), ds.Suppress())
    assert not any("different universes" in text for text in alone.verify().not_considered)


def test_the_summary_of_linked_tables_says_what_they_share():
    frame = pa.table({"region": ["N"] * 9 + ["S"] * 9, "size": ["1", "2", "3"] * 6, "x": list(range(10, 28))})
    region, size = ds.Hierarchy.flat(["N", "S"]), ds.Hierarchy.flat(["1", "2", "3"])
    specs = [ds.TableSpec(by={"region": region}, name="a"), ds.TableSpec(by={"region": region, "size": size}, name="b")]
    release = ds.protect(ds.tabulate(frame, specs=specs).assess(ds.MinFrequency(2)), ds.Suppress())
    assert "a and b share 3 cells" in release.summary()
