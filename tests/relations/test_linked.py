"""Linked tables: cells that mean the same are one cell, and equations between variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet import Hierarchy, Table, TableSet
from discreet.errors import InputError
from discreet.relations import System, build_system
from discreet.relations.identity import cell_identities
from tests.model.random_hierarchies import cover_of, trees
from tests.relations.random_tables import table_of

EAST_WEST = Hierarchy.from_nested({"East": ["a", "b"], "West": ["c"]})
SIZE = Hierarchy.from_nested({"Small": ["a", "c"], "Large": ["b"]}, total="All")
SEX = Hierarchy.flat(["f", "m"])
LEAVES = {("a", "f"): 5, ("a", "m"): 7, ("b", "f"): 11, ("b", "m"): 13, ("c", "f"): 17, ("c", "m"): 19}
BY_REGION = {(region,): sum(v for (r, _), v in LEAVES.items() if r == region) for region in "abc"}


def cells_of(system: System, row: int) -> dict[str, int]:
    matrix = system.matrix
    span = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return {system.cell_name(int(c)): int(s) for c, s in zip(matrix.indices[span], matrix.data[span], strict=True)}


def equations_of(system: System) -> list[dict[str, int]]:
    return [cells_of(system, row) for row in np.flatnonzero(system.origin[:, 1] < 0).tolist()]


# ---- shared cells --------------------------------------------------------------------------------------------------


def test_a_table_without_a_variable_stands_at_its_total():
    both = TableSet(
        [table_of({"region": EAST_WEST, "sex": SEX}, LEAVES, name="full"), table_of({"region": EAST_WEST}, BY_REGION)]
    )
    system = build_system(both)
    assert system.shared() == [("full", "v_by_region", 5)]  # of six codes, West and c are one
    assert len(system) == 15
    full, part = both.tables
    assert system.of[1][part.row(region="West")] == system.of[0][full.row(region="West", sex="Total")]


def test_different_hierarchies_share_base_codes_and_totals():
    both = TableSet(
        [table_of({"region": EAST_WEST}, BY_REGION, name="one"), table_of({"region": SIZE}, BY_REGION, name="two")]
    )
    system = build_system(both)
    one, two = both.tables
    assert system.shared() == [("one", "two", 4)]  # the totals, a, b and c
    assert system.of[0][one.row(region="Total")] == system.of[1][two.row(region="All")]
    assert system.of[0][one.row(region="b")] == system.of[1][two.row(region="Large")]
    assert not np.any(system.matrix @ system.value)
    assert system.matrix.shape[0] == 4  # of Total, East, All and Small; West = c and Large = b say nothing


def test_a_hierarchy_that_stops_earlier_shares_the_coarser_codes():
    coarse = Hierarchy.flat(["East", "West"])
    values = {("East",): BY_REGION["a",] + BY_REGION["b",], ("West",): BY_REGION["c",]}
    both = TableSet(
        [table_of({"region": coarse}, values, name="c"), table_of({"region": EAST_WEST}, BY_REGION, name="f")]
    )
    assert build_system(both).shared() == [("c", "f", 3)]


@pytest.mark.parametrize(
    "other",
    [{"where": "size > 10"}, {"period": "2025"}, {"weight": "w"}, {"value": "export"}, {"value": None}],
)
def test_another_universe_period_weight_or_value_shares_nothing(other):
    one = table_of({"region": EAST_WEST}, BY_REGION, name="one", period="2024")
    two = table_of({"region": EAST_WEST}, BY_REGION, **{"name": "two", "period": "2024", **other})
    system = build_system(TableSet([one, two]))
    assert system.shared() == []
    assert len(system) == 2 * len(build_system(one))


def test_the_same_filter_written_differently_is_the_same_universe():
    one = table_of({"region": EAST_WEST}, BY_REGION, name="one", where="size in [1, 2]")
    two = table_of({"region": EAST_WEST}, BY_REGION, name="two", where="size in [2.0, 1]")
    assert build_system(TableSet([one, two])).shared() == [("one", "two", 5)]


def test_other_periods_may_have_other_classifications():
    """A code may mean something else next year; only tables of one period must agree on it."""
    old = Hierarchy.from_nested({"East": ["a", "b"], "West": ["c"]})
    new = Hierarchy.from_nested({"East": ["a"], "West": ["b", "c"]})
    tables = [
        table_of({"region": h}, BY_REGION, name=period, period=period) for h, period in ((old, "2024"), (new, "2025"))
    ]
    system = build_system(TableSet(tables))
    assert system.shared() == []
    system.check_additive()
    with pytest.raises(InputError, match=r"made up in two ways"):
        build_system(TableSet([table.with_(spec=table.spec.with_(period="")) for table in tables]))


def test_a_variable_without_a_total_is_not_summed_over():
    no_total = Hierarchy.flat(["f", "m"], total=None)
    both = TableSet([table_of({"region": EAST_WEST, "sex": no_total}, LEAVES, name="by_sex"),
                     table_of({"region": EAST_WEST}, BY_REGION, name="all")])  # fmt: skip
    assert build_system(both).shared() == []


def test_relations_that_several_tables_state_are_kept_once():
    both = TableSet(
        [table_of({"region": EAST_WEST, "sex": SEX}, LEAVES, name="full"), table_of({"region": EAST_WEST}, BY_REGION)]
    )
    assert build_system(both).matrix.shape == build_system(both["full"]).matrix.shape


@settings(deadline=None, max_examples=60)
@given(trees(7, "a"), trees(5, "s"), st.data())
def test_shared_cells_are_those_that_cover_the_same(region: Hierarchy, sex: Hierarchy, data: st.DataObject):
    """Two tables with different hierarchies, one of them without the second variable, against brute force."""
    base = data.draw(st.permutations(region.base_codes))
    cut = data.draw(st.integers(1, len(base)))
    other = Hierarchy.from_nested({"g1": list(base[:cut]), **({"g2": list(base[cut:])} if base[cut:] else {})})
    leaves = {(r, s): data.draw(st.integers(0, 99)) for r in region.base_codes for s in sex.base_codes}
    sums = {(r,): sum(v for (one, _), v in leaves.items() if one == r) for r in region.base_codes}
    both = TableSet(
        [table_of({"r": region, "s": sex}, leaves, name="one"), table_of({"r": other}, sums, name="two", cells="all")]
    )
    numbers, size = cell_identities(both)
    whole = frozenset(cover_of(sex, "Total").items())
    covers = [[frozenset(cover_of(h, code).items()) for code in h.codes] for h in (region, sex, other)]
    what = [(covers[0][r], covers[1][s]) for r, s in both["one"].codes.tolist()]
    what += [(covers[2][r], whole) for (r,) in both["two"].codes.tolist()]
    joined = np.concatenate(numbers).tolist()
    assert size == len(set(what))
    assert [joined[what.index(one)] for one in what] == joined
    system = build_system(both)
    assert not np.any(system.residual)


# ---- disagreement --------------------------------------------------------------------------------------------------


def changed(table: Table, changes: Mapping[str, int]) -> Table:
    value = table.value.copy()
    for code, amount in changes.items():
        value[table.row(region=code)] += amount
    return table.with_(value=value)


def test_tables_that_disagree_are_refused_and_the_worst_cell_is_named():
    full = table_of({"region": EAST_WEST, "sex": SEX}, LEAVES, name="full")
    part = changed(table_of({"region": EAST_WEST}, BY_REGION, name="part"), {"a": 1, "West": -30, "c": -30})
    with pytest.raises(InputError) as caught:
        build_system(TableSet([full, part]))
    assert caught.value.message == (
        "Tables disagree on cells that mean the same; the worst is region=West, sex=Total of table 'full' "
        "(region=c of table 'part')."
    )
    assert "different universes, periods or weights" in caught.value.hint
    assert caught.value.details == "They differ by 30."
    assert "30" not in str(caught.value)


def test_a_cell_forced_in_one_table_and_unsafe_in_another_is_refused():
    one = table_of({"region": EAST_WEST}, BY_REGION, name="one").marked({("a",): "P"})
    two = table_of({"region": SIZE}, BY_REGION, name="two").marked({("a",): "U"}).assess()
    message = r"Cell region=a of table 'one' is forced to be published in one place and unsafe in another.*the same way"
    with pytest.raises(InputError, match=message):
        build_system(TableSet([one, two]))


def test_a_cell_forced_in_one_table_and_secondary_in_another_is_refused():
    one = table_of({"region": EAST_WEST}, BY_REGION, name="one").marked({("a",): "P"})
    manual = np.ones(len(one), np.int8)
    manual[one.row(region="a")] = 3
    two = table_of({"region": EAST_WEST}, BY_REGION, name="two", manual=manual)
    with pytest.raises(InputError, match=r"forced to be published in one place and withheld as secondary in another"):
        build_system(TableSet([one, two]))


def test_the_strictest_of_all_places_counts():
    one = table_of({"region": EAST_WEST}, BY_REGION, name="one").marked({("a",): "U"}, protection=(1, 9)).assess()
    two = table_of({"region": SIZE}, BY_REGION, name="two").marked({("a",): "U"}, protection=(4, 2)).assess()
    system = build_system(TableSet([one, two]))
    cell = system.of[0][one.row(region="a")]
    assert (system.lower_level[cell], system.upper_level[cell]) == (4, 9)


# ---- decimals ------------------------------------------------------------------------------------------------------


def test_tables_with_different_decimals_meet_in_the_finer_unit():
    hundred = {leaf: 100 * value for leaf, value in BY_REGION.items()}
    one = table_of({"region": EAST_WEST}, BY_REGION, name="one").marked({("a",): "U"}, protection=(1, 2)).assess()
    two = table_of({"region": SIZE}, hundred, name="two", decimals=2)
    system = build_system(TableSet([one, two]))
    cell = system.of[0][one.row(region="a")]
    assert system.decimals == 2
    assert system.value[cell] == 1200
    assert (system.lower_level[cell], system.upper_level[cell]) == (100, 200)
    assert system.cost("value")[cell] == 1200
    assert system.lower_bound[cell] == 0
    system.check_additive()


def test_a_table_too_large_for_the_finer_unit_is_refused():
    one = table_of({"region": EAST_WEST}, {("a",): 10**17}, name="huge")
    two = table_of({"region": EAST_WEST}, {("a",): 1}, name="fine", decimals=6, period="2025")
    with pytest.raises(InputError, match=r"Table 'huge' cannot be expressed in the finest unit.*the same decimals="):
        build_system(TableSet([one, two]))


# ---- equations between variables -----------------------------------------------------------------------------------


def variables(**values: Mapping[tuple[str, ...], int]) -> list[Table]:
    return [table_of({"region": EAST_WEST}, leaves, value=name, name=name) for name, leaves in values.items()]


def test_an_equation_is_a_relation_in_every_cell():
    whole = {("a",): 8, ("b",): 5, ("c",): 4}
    home = {("a",): 5, ("b",): 5, ("c",): 1}
    export = {("a",): 3, ("b",): 0, ("c",): 3}
    tables = TableSet(variables(turnover=whole, home=home, export=export), ["turnover = home + export"])
    system = build_system(tables)
    rows = equations_of(system)
    assert len(rows) == 5  # Total, East, a, b, and West, which is c
    assert {"turnover: region=a": -1, "home: region=a": 1, "export: region=a": 1} in rows
    assert not np.any(system.residual)
    last = int(np.flatnonzero(system.origin[:, 1] < 0)[0])
    assert system.relation_name(last) == "'turnover = home + export' at turnover: region=Total"


def test_differences_are_subtracted():
    tables = variables(net={("a",): 2}, gross={("a",): 7}, costs={("a",): 5})
    system = build_system(TableSet(tables, ["net = gross - costs"]))
    assert {"net: region=a": -1, "gross: region=a": 1, "costs: region=a": -1} in equations_of(system)
    system.check_additive()


def test_a_part_that_is_empty_counts_as_zero():
    tables = variables(turnover={("a",): 8, ("b",): 5}, home={("a",): 5, ("b",): 5}, export={("a",): 3})
    system = build_system(TableSet(tables, ["turnover = home + export"]))
    assert {"turnover: region=b": -1, "home: region=b": 1} in equations_of(system)
    system.check_additive()


def test_where_no_table_of_a_part_has_the_codes_there_is_no_relation():
    """Export by region only says nothing about export by region and sex."""
    turnover = table_of({"region": EAST_WEST, "sex": SEX}, LEAVES, value="turnover", name="turnover")
    home = table_of({"region": EAST_WEST}, BY_REGION, value="home", name="home")
    system = build_system(TableSet([turnover, home], ["turnover = home"]))
    assert equations_of(system) == [
        {f"turnover: region={code}, sex=Total": -1, f"home: region={code}": 1}
        for code in ("Total", "East", "a", "b", "West")
    ]
    system.check_additive()


def test_variables_of_different_universes_are_not_equated():
    one = table_of({"region": EAST_WEST}, BY_REGION, value="turnover", name="one", period="2024")
    two = table_of({"region": EAST_WEST}, BY_REGION, value="home", name="two", period="2025")
    assert equations_of(build_system(TableSet([one, two], ["turnover = home"]))) == []


def test_equations_reach_through_linked_tables():
    """The parts may stand in other tables, with other hierarchies, than the total."""
    turnover = table_of({"region": EAST_WEST}, BY_REGION, value="turnover", name="turnover")
    home = table_of({"region": SIZE}, BY_REGION, value="home", name="home")
    rows = equations_of(build_system(TableSet([turnover, home], ["turnover = home"])))
    assert {"turnover: region=Total": -1, "home: region=All": 1} in rows
    assert {"turnover: region=b": -1, "home: region=Large": 1} in rows
    assert len(rows) == 4


def test_an_equation_that_does_not_hold_is_named():
    tables = variables(turnover={("a",): 8, ("b",): 1}, home={("a",): 5, ("b",): 1}, export={("a",): 2})
    with pytest.raises(InputError, match=r"the worst is 'turnover = home \+ export' at turnover: region=Total"):
        build_system(TableSet(tables, ["turnover = home + export"])).check_additive()


@pytest.mark.parametrize(("slack", "holds"), [(None, False), (1, True), (-1, True)])
def test_an_equation_has_the_slack_of_its_tables(slack, holds):
    """Two rounded parts and a rounded total may miss each other by one unit, as 1.4 + 1.4 = 2.8 does."""
    options: dict[str, Any] = {"slack": slack, "from_records": False}
    tables = [
        table_of({"sex": SEX}, {("f",): amount}, value=name, name=name, **options)
        for name, amount in (("all", 3), ("one", 1), ("two", 1))
    ]
    system = build_system(TableSet(tables, ["all = one + two"]))
    if holds:
        system.check_additive()
    else:
        with pytest.raises(InputError, match=r"do not add up"):
            system.check_additive()


def test_half_a_unit_is_that_of_the_coarser_table():
    coarse = table_of({"sex": SEX}, {("f",): 3}, value="all", name="all", slack=-1)
    fine = table_of({"sex": SEX}, {("f",): 26}, value="one", name="one", slack=-1, decimals=1)
    system = build_system(TableSet([coarse, fine], ["all = one"]))
    assert system.slack[system.origin[:, 1] < 0].tolist() == [5] * 2  # 0.5 + 0.05, in tenths
    system.check_additive()


@settings(deadline=None, max_examples=40)
@given(trees(8), st.data())
def test_equations_hold_where_their_variables_do(region: Hierarchy, data: st.DataObject):
    amounts = st.dictionaries(st.sampled_from(region.base_codes), st.integers(-9, 99))
    home, export = ({(code,): value for code, value in data.draw(amounts).items()} for _ in range(2))
    whole = {leaf: home.get(leaf, 0) + export.get(leaf, 0) for leaf in {*home, *export}}
    tables = [
        table_of({"r": region}, leaves, value=name, name=name)
        for name, leaves in (("turnover", whole), ("home", home), ("export", export))
    ]
    system = build_system(TableSet(tables, ["turnover = home + export"]))
    assert not np.any(system.residual)
    totals = {int(cell) for cell in system.of[0]}
    rows = system.matrix[np.flatnonzero(system.origin[:, 1] < 0)]
    assert {int(c) for c in rows.indices} & totals == totals


def test_one_pattern_withholds_the_same_cells_in_all_variables():
    home = {("a",): 50, ("b",): 50, ("c",): 100}
    export = {("a",): 30, ("b",): 40, ("c",): 300}
    one, two = variables(home=home, export=export)
    both = TableSet([one.marked({("a",): "U"}, protection=(5, 5)), two.marked({("c",): "U"}, protection=(5, 5))])
    released = ds.protect(both.assess(), ds.Suppress())
    patterns = [released.custodian.withheld(i) for i in (0, 1)]
    assert not np.array_equal(*patterns)
    same = ds.protect(TableSet(both.tables, one_pattern=True).assess(), ds.Suppress())
    patterns = [same.custodian.withheld(i) for i in (0, 1)]
    assert np.array_equal(*patterns)
    assert patterns[0][one.row(region="a")]
    assert patterns[0][one.row(region="c")]
