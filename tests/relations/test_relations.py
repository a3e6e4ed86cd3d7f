"""The matrix of all relations of one table, against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import discreet as ds
from discreet import Hierarchy, Table
from discreet.errors import InputError, NeedsError
from discreet.model.arrays import LARGEST
from discreet.relations import build_system
from discreet.relations.build import distinct_rows
from discreet.relations.equations import table_equations
from discreet.relations.system import System
from tests.relations.random_tables import brute_force_relations, identities, matrix_relations, table_of, tables

SINGLE = Hierarchy.from_nested({"N": ["n"], "S": ["s1", "s2"]})


def rank(matrix: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(matrix.astype(np.float64))) if matrix.size else 0


def sparse_parts(system: System) -> tuple[np.ndarray, ...]:
    return system.matrix.data, system.matrix.indices, system.matrix.indptr, system.defining, system.origin, system.slack


# ---- hypothesis ----------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=120)
@given(tables())
def test_every_relation_holds_exactly(table: Table):
    system = build_system(table)
    assert not np.any(system.matrix @ system.value)
    assert not np.any(system.residual)
    system.check_additive()


@settings(deadline=None, max_examples=80)
@given(tables())
def test_the_matrix_holds_all_relations_and_none_twice(table: Table):
    found = matrix_relations(build_system(table))
    assert len(found) == len(set(found))
    assert set(found) == brute_force_relations(table)


@settings(deadline=None, max_examples=40)
@given(tables())
def test_small_tables_have_the_matrix_that_large_ones_have(table: Table):
    with pytest.MonkeyPatch.context() as patch:
        small = build_system(table)
        patch.setattr("discreet.relations.build.FEW", -1)
        large = build_system(table)
    for one, two in zip(sparse_parts(small), sparse_parts(large), strict=True):
        assert np.array_equal(one, two)
        assert one.dtype == two.dtype


@settings(deadline=None, max_examples=80)
@given(tables())
def test_cells_that_mean_the_same_are_one_column(table: Table):
    system = build_system(table)
    what = identities(table)
    assert len(system) == len(set(what))
    first = [what.index(one) for one in what]
    assert np.array_equal(system.of[0], system.of[0][first])
    assert np.array_equal(system.value[system.of[0]], table.value)


@settings(deadline=None, max_examples=100)
@given(tables())
def test_defining_relations_imply_all_others(table: Table):
    system = build_system(table)
    dense = system.matrix.toarray()
    assert rank(dense[system.defining]) == rank(dense)


@settings(deadline=None, max_examples=60)
@given(tables())
def test_a_ready_made_table_with_all_totals_needs_no_more_relations(table: Table):
    ready = table.with_(from_records=False)
    system = build_system(ready)
    dense = system.matrix.toarray()
    assert rank(dense[system.defining]) == rank(dense)
    if (table_equations(table).parent >= 0).all():
        assert np.array_equal(system.defining, build_system(table).defining)


@settings(deadline=None, max_examples=60)
@given(tables((1, 2)))
def test_freedom_is_that_of_the_finest_cells(table: Table):
    """Cells have as many degrees of freedom as there are different finest cells."""
    system = build_system(table)
    finest = np.all(np.column_stack([h.base[table.codes[:, k]] for k, h in enumerate(table.spec.hierarchies)]), axis=1)
    assert len(system) - rank(system.matrix.toarray()) == len(np.unique(system.of[0][finest]))


# ---- by example ----------------------------------------------------------------------------------------------------


def test_a_table_without_sums_has_no_relations():
    table = table_of({"a": Hierarchy.flat(["x", "y"], total=None)}, {("x",): 1, ("y",): 2})
    system = build_system(table)
    assert system.matrix.shape == (0, 2)
    system.check_additive()


def test_an_absent_parent_is_zero_and_its_parts_still_add_up():
    h = Hierarchy.flat(["a", "b"]).with_grouping("exA", ["Total"], minus=["a"])
    system = build_system(table_of({"v": h}, {("a",): 5}))
    assert [table_cells(system, r) for r in range(system.matrix.shape[0])] == [{"v=Total": -1, "v=a": 1}]


def table_cells(system: System, row: int) -> dict[str, int]:
    matrix = system.matrix
    span = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return {system.cell_name(int(c)): int(s) for c, s in zip(matrix.indices[span], matrix.data[span], strict=True)}


def test_relations_are_named_by_their_sum_and_the_other_codes():
    system = build_system(ds.examples.small_table())
    assert system.relation_name(0) == "'trade: Total = retail + food + crafts' at region=Total in table 'turnover'"
    one = build_system(table_of({"v": SINGLE}, {("n",): 1, ("s1",): 2}))
    assert one.relation_name(0) == "'v: Total = N + S' in table 'v_by_v'"


def test_a_cell_with_several_names_is_called_by_its_first():
    system = build_system(table_of({"v": SINGLE}, {("n",): 1, ("s1",): 2}))
    assert [system.cell_name(c) for c in range(len(system))] == ["v=Total", "v=N", "v=S", "v=s1"]


def test_single_children_share_their_fate():
    """What is marked under one name counts under the other, whichever stands first in the table."""
    table = table_of({"v": SINGLE}, {("n",): 10, ("s1",): 20, ("s2",): 30}, cells="all")
    for code in ("N", "n"):
        system = build_system(table.marked({(code,): "U"}, protection=(2, 3)).assess())
        cell = system.of[0][table.row(v="N")]
        assert system.unsafe[cell]
        assert (system.lower_level[cell], system.upper_level[cell]) == (2, 3)
        assert system.unsafe.sum() == 1


def test_single_children_share_bounds_costs_and_being_forced():
    table = table_of({"v": SINGLE}, {("n",): 10, ("s1",): 20, ("s2",): 30})
    n, parent = table.row(v="n"), table.row(v="N")
    lower, upper, cost = np.zeros(len(table), np.int64), np.full(len(table), 99), np.ones(len(table))
    lower[parent], upper[parent], cost[parent] = 8, 12, 7
    system = build_system(table.with_(lower_bound=lower, upper_bound=upper, cost=cost).marked({("N",): "P"}))
    cell = system.of[0][n]
    assert (system.lower_bound[cell], system.upper_bound[cell]) == (8, 12)
    assert system.cost("variable")[cell] == 7
    assert system.forced[cell]


def test_a_single_child_forced_under_one_name_and_unsafe_under_the_other_is_refused():
    table = table_of({"v": SINGLE}, {("n",): 10, ("s1",): 20}).marked({("N",): "P", ("n",): "U"}).assess()
    with pytest.raises(InputError, match=r"Cell v=N of table .* forced to be published in one place and unsafe in ano"):
        build_system(table)


def test_a_single_child_with_another_value_is_refused():
    table = table_of({"v": SINGLE}, {("n",): 10, ("s1",): 20}, name="t")
    value = table.value.copy()
    value[table.row(v="n")] += 1
    with pytest.raises(
        InputError, match=r"Table 't' disagrees on .* the worst are v=N and v=n\. .*same value"
    ) as caught:
        build_system(table.with_(value=value))
    assert caught.value.details == "They differ by 1."
    assert "10" not in str(caught.value)


def test_an_empty_cell_is_empty_only_if_it_is_empty_under_every_name():
    table = table_of({"v": SINGLE}, {("s1",): 20}, cells="all")
    empty = table.empty.copy()
    empty[table.row(v="N")] = False
    system = build_system(table.with_(empty=empty))
    assert not system.empty[system.of[0][table.row(v="n")]]
    assert system.empty[system.of[0][table.row(v="s2")]]


# ---- adding up -----------------------------------------------------------------------------------------------------


def broken(table: Table, change: int, **codes: str) -> Table:
    value = table.value.copy()
    value[table.row(**codes)] += change
    return table.with_(value=value)


def test_the_worst_relation_is_named_and_its_gap_is_for_the_custodian():
    table = broken(broken(ds.examples.small_table(), 1, trade="food", region="East"), -40, trade="retail")
    with pytest.raises(InputError) as caught:
        build_system(table).check_additive()
    error = caught.value
    assert error.message == (
        "4 relations do not add up; the worst is 'trade: Total = retail + food + crafts' at region=Total in table "
        "'turnover'."
    )
    assert "compute_totals=True" in error.hint
    assert "slack=" in error.hint
    assert error.details == "The parts less the total give -40."
    assert "40" not in str(error)


def test_values_of_1e15_with_two_decimals_must_add_up_to_the_cent():
    by = {"v": Hierarchy.flat(["a", "b", "c"])}
    table = table_of(by, {("a",): 10**17 + 1, ("b",): 10**17 - 7, ("c",): 3}, decimals=2)
    build_system(table).check_additive()
    with pytest.raises(InputError) as caught:
        build_system(broken(table, 1, v="a")).check_additive()
    assert caught.value.details == "The parts less the total give 0.01."


def test_sums_that_pass_64_bits_on_the_way_are_still_exact():
    """Parts of opposite sign may each be near the largest integer."""
    codes = [f"c{i}" for i in range(8)]
    leaves = {(code,): (2**61 if i < 4 else -(2**61) + i) for i, code in enumerate(codes)}
    table = table_of({"v": Hierarchy.flat(codes)}, leaves)
    assert build_system(table).residual.tolist() == [0]
    assert build_system(broken(table, 3, v="c0")).residual.tolist() == [3]
    assert build_system(broken(table, -5)).residual.tolist() == [5]


def test_a_gap_beyond_64_bits_is_the_largest_there_is():
    table = table_of({"v": Hierarchy.flat(["a", "b", "c"])}, {("a",): 1, ("b",): 1, ("c",): 1})
    value = np.array([0, 2**61, 2**61, 2**61])
    assert build_system(table.with_(value=value)).residual.tolist() == [LARGEST]
    assert build_system(table.with_(value=-value)).residual.tolist() == [-LARGEST]


@pytest.mark.parametrize(("slack", "gap", "holds"), [(None, 1, False), (2, 2, True), (2, 3, False), (0, 1, False)])
def test_a_stated_slack_is_allowed_and_no_more(slack, gap, holds):
    table = broken(ds.examples.small_table(), gap).with_(slack=slack, from_records=False)
    system = build_system(table)
    if holds:
        system.check_additive()
    else:
        with pytest.raises(InputError, match=r"do not add up"):
            system.check_additive()


def test_rounded_cells_may_each_be_half_a_unit_off():
    table = ds.examples.small_table().with_(slack=-1, from_records=False)
    assert build_system(table).slack.tolist() == [2] * 8  # four cells a relation
    by = {"v": Hierarchy.flat(["a", "b"])}
    assert build_system(table_of(by, {("a",): 1, ("b",): 1}, slack=-1)).slack.tolist() == [1]  # 1.5 units of whole ones


def test_relations_of_a_rounded_table_are_all_needed():
    table = ds.examples.small_table()
    assert build_system(table).defining.sum() == 7
    assert build_system(table.with_(from_records=False, slack=1)).defining.all()


# ---- costs ---------------------------------------------------------------------------------------------------------


def test_costs_of_every_kind():
    table = ds.examples.small_table().with_(cost=np.arange(16.0))
    system = build_system(table)
    assert system.cost("value")[7] == 200
    assert system.cost("count")[7] == 9
    assert system.cost("unity").tolist() == [1.0] * 16
    assert system.cost("log")[7] == pytest.approx(np.log(201))
    assert system.cost("variable")[7] == 7


def test_a_cost_that_cannot_be_computed_says_what_is_missing():
    table = replace(ds.examples.small_table(), records=None, contributions={})
    with pytest.raises(
        NeedsError, match=r"nothing to compute the cost 'count' from.*cost column or contributor counts"
    ):
        build_system(table).cost("count")


# ---- equal rows ----------------------------------------------------------------------------------------------------


def test_equal_rows_are_kept_once_with_the_least_slack():
    from scipy.sparse import csr_array

    matrix = csr_array(
        np.array([[1, 1, -1, 0], [0, 0, 0, 0], [-1, -1, 1, 0], [1, -1, -1, 0], [0, 1, 0, -1], [1, 1, -1, 0]])
    )
    matrix.eliminate_zeros()
    preferred = np.array([False, True, True, False, False, False])
    keep, slack = distinct_rows(matrix, preferred, np.array([5, 0, 7, 2, 1, 3]))
    assert keep.tolist() == [2, 3, 4]
    assert slack.tolist() == [3, 2, 1]


def test_no_rows_are_no_rows():
    from scipy.sparse import csr_array

    keep, slack = distinct_rows(csr_array((0, 3), dtype=np.int64), np.zeros(0, np.bool_), np.zeros(0, np.int64))
    assert (len(keep), len(slack)) == (0, 0)


def test_relations_are_worked_out_once_and_only_when_asked_for():
    system = build_system(ds.examples.small_table())
    assert "found" not in vars(system.relating)
    other = replace(system, unsafe=~system.unsafe)
    assert other.matrix is system.matrix
    fewer = system.related(defining=~system.defining)
    assert fewer.matrix is system.matrix
    assert np.array_equal(fewer.defining, ~system.defining)


@pytest.mark.parametrize("method", [ds.CellKey(identifier="id", insecure_seed=1), ds.SmallCount(insecure_seed=1)])
def test_methods_that_look_at_no_relations_do_not_have_them_worked_out(method, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("relations were asked for")

    frame = pa.table({"id": range(30), "area": ["N", "S", "S"] * 10, "sex": ["m", "f"] * 15})
    by = {"area": ds.Hierarchy.flat(["N", "S"]), "sex": ds.Hierarchy.flat(["m", "f"])}
    table = ds.tabulate(frame, by=by).assess()
    monkeypatch.setattr("discreet.relations.build._relations", refuse)
    ds.protect(table, method)
    with pytest.raises(AssertionError, match="asked for"):
        ds.protect(table, ds.Round(base=3))
    with pytest.raises(AssertionError, match="asked for"):
        ds.protect(table.with_(source=None), ds.SmallCount(insecure_seed=1))
