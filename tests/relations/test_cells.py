"""Which cells are the same, who is in them, and what they are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import discreet as ds
from discreet.errors import InputError
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.relations import build_system
from discreet.relations.distance import distance_in_relations
from discreet.relations.equations import table_equations
from discreet.relations.identity import cell_identities, stands_alone
from discreet.relations.insiders import _same_sole
from discreet.relations.interior import _untied, finest_cells, interior
from discreet.relations.kernels import along
from discreet.relations.marks import _contents, cell_marks
from tests.tables.rounding.making import table

SQUARE = [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("contributors", "same"),
    [
        ([1, 1, 0], [{0, 1}]),  # the total has it from its part
        ([0, 1, 1], []),  # nothing is known of the total
        ([2, 1, 1], []),
        ([1, 1, 2], []),  # contradicts itself
        ([1, 1, 1], [{0, 1, 2}]),
    ],
)
def test_a_total_of_one_contributor_has_it_from_a_part(contributors, same):
    labels = _same_sole(csr_array(np.array([[-1, 1, 1]])), np.array(contributors)).tolist()
    groups = [{cell for cell in range(3) if labels[cell] == label} for label in dict.fromkeys(labels)]
    assert [group for group in groups if len(group) > 1] == same


def test_a_difference_has_no_contributor_of_its_parts():
    labels = _same_sole(csr_array(np.array([[1, -1, -1]])), np.ones(3, np.int64)).tolist()
    assert len(set(labels)) == 3


def test_where_nothing_is_said_nobody_is_known():
    assert build_system(table([1, 2])).contributors.tolist() == [0, 0, 0]


def test_distances():
    matrix = csr_array(np.array([[-1, 1, 1, 0, 0, 0], [0, 0, -1, 1, 1, 0]]))
    assert distance_in_relations(matrix, np.array([0])).tolist() == [0, 1, 1, 2, 2, 3]
    assert distance_in_relations(matrix, np.array([3, 5])).tolist() == [2, 2, 1, 0, 1, 0]


# ---- the same cell ------------------------------------------------------------------------------------------


def with_synonym() -> ds.Table:
    """The second variable has a code that covers what the total covers."""
    rows = ds.Hierarchy.flat(["a0", "a1"])
    columns = ds.Hierarchy.flat(["b0", "b1"]).with_grouping("everything", ["b0", "b1"])
    return table(SQUARE, hierarchies=[rows, columns])


def test_codes_that_cover_the_same_are_one_cell():
    made = with_synonym()
    (numbers,), size = cell_identities(ds.TableSet([made]))
    assert (len(made), size) == (12, 9)
    one, two = (made.row(v0="a0", v1=code) for code in ("Total", "everything"))
    assert numbers[one] == numbers[two]
    assert not stands_alone(ds.TableSet([made]), size)


def test_cells_of_two_tables_are_one_where_they_mean_the_same():
    one, other = table(SQUARE, name="one"), table(SQUARE, name="other")
    tables = ds.TableSet([one, other])
    (first, second), size = cell_identities(tables)
    assert size == 9
    assert first.tolist() == second.tolist() == list(range(9))
    assert not stands_alone(tables, size)
    assert stands_alone(ds.TableSet([one]), size)


def test_marks_tell_cells_and_contents_apart():
    flat = ds.Hierarchy.flat(["a0", "a1"], total=None)
    cells = pa.table({"v0": ["a0", "a1"], "value": [5, 5]})
    marks = cell_marks(build_system(ds.Table.from_cells(cells, by={"v0": flat})))
    assert marks[0].tolist() != marks[1].tolist()
    found = cell_marks(build_system(table(SQUARE)))
    assert len({bytes(row) for row in found}) == 9
    assert len({bytes(row[:16]) for row in found}) == 9


def test_contents_do_not_depend_on_the_unit():
    system = build_system(table([1, 2, 3]))
    system = replace(system, value=np.array([125, 1200, 10, 0]), decimals=2)
    pairs = _contents(system).reshape(-1).view("<i8").reshape(4, 2)
    assert pairs.tolist() == [[125, 2], [12, 0], [1, 1], [0, 0]]


# ---- what cells are made of ---------------------------------------------------------------------------------


def sums_of(made: Any) -> tuple[set[int], list[int]]:
    system = build_system(made)
    found = interior(system)
    assert (found.sums @ system.value[found.cells]).tolist() == system.value.tolist()
    assert finest_cells(system).tolist() == found.finest.tolist()
    return set(found.finest.tolist()), found.cells.tolist()


def test_every_cell_is_a_sum_of_the_finest():
    finest, free = sums_of(table(SQUARE))
    assert 0 not in finest  # the grand total
    assert len(finest) == len(free) == 4
    tree = ds.Hierarchy.from_parents({"a": "A", "b": "A", "c": "T", "A": "T"})
    finest, _ = sums_of(table([1, 2, 4], hierarchies=[tree]))
    assert len(finest) == 3


def test_finest_cells_that_an_equation_ties_are_not_all_free():
    """The sums of rows are 'home' and 'away' together, and of 'away' only these sums are there."""
    rows = ds.Hierarchy.flat(["a0", "a1"])
    given = {"all": table([[3, 5], [7, 9]]), "home": table(SQUARE), "away": table([5, 9], hierarchies=[rows])}
    tables = [made.with_(spec=made.spec.with_(name=name, value=name)) for name, made in given.items()]
    finest, free = sums_of(ds.TableSet(tables, equations=["all = home + away"]))
    assert (len(finest), len(free)) == (10, 8)


def test_ties_leave_one_cell_less_each_and_multiples_are_refused():
    free, onto = _untied(csr_array(np.array([[1, -1, 0], [0, 0, 0]])))
    assert free.tolist() == [0, 2]
    assert onto.toarray().tolist() == [[1, 0], [1, 0], [0, 1]]
    with pytest.raises(InputError, match="tie cells to each other in multiples"):
        _untied(csr_array(np.array([[2, -2, 0]])))


def test_a_variable_without_a_total_leaves_the_relations_of_the_other():
    flat, other = ds.Hierarchy.flat(["a0", "a1"], total=None), ds.Hierarchy.flat(["b0", "b1"])
    made = table(SQUARE, hierarchies=[flat, other])
    assert len(table_equations(made).variable) == 2


# ---- few cells of many codes --------------------------------------------------------------------------------


def test_relations_of_few_cells_among_many_codes():
    many = [ds.Hierarchy.flat([f"{letter}{i}" for i in range(40)]) for letter in "ab"]
    places = {(0, 0): 7, (1, 0): 3, (6, 0): 4, (0, 1): 3, (0, 8): 4, (1, 1): 3, (6, 8): 4}
    made = Table(
        spec=TableSpec(by=dict(zip(("v0", "v1"), many, strict=True)), name="t", value="v"),
        codes=np.array(list(places), np.int32),
        value=np.array(list(places.values()), np.int64),
        decimals=0,
        empty=np.zeros(7, np.bool_),
    )
    found = table_equations(made)
    assert len(found.variable) == 6
    assert sorted(np.bincount(found.row).tolist()) == [2, 2, 2, 2, 3, 3]
    sums = np.zeros(6, np.int64)
    np.add.at(sums, found.row, found.coefficient * made.value[found.cell])
    assert sums.tolist() == [0] * 6
    assert (found.parent >= 0).all()


@pytest.mark.parametrize("cells", [0, 1])
def test_no_cells_make_no_relation_and_one_makes_one(cells):
    codes, sizes, starts = np.zeros((cells, 1), np.int32), np.array([50]), np.arange(51)
    groupings, coefficients = np.arange(50, dtype=np.int32), np.ones(50, np.int32)
    row, _, _, grouping, first, parent = along(codes, 0, sizes, starts, groupings, coefficients, groupings.copy())
    assert (len(row), len(grouping), len(first), len(parent)) == (cells,) * 4
