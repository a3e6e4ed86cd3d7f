"""What a system says of its cells and relations, one statement at a time."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError
from discreet.model.arrays import LARGEST
from discreet.relations import System, build_system, figures
from discreet.relations import build as building
from discreet.relations.build import _equation_slack, _known, _matrix, _same_entries, _table_rows, distinct_rows
from discreet.relations.system import FIGURE
from discreet.relations.variables import VariableRows
from tests.tables.rounding.making import table

SQUARE = [[1, 2], [3, 4]]


@pytest.fixture(scope="module")
def square() -> System:
    """Two by two cells with their totals."""
    return build_system(table(SQUARE))


# ---- adding up ----------------------------------------------------------------------------------------------


def test_one_relation_that_is_off_by_a_unit_is_refused(square):
    value = square.value.copy()
    value[square.of[0][-1]] += 1  # the last inner cell, in two relations
    wrong = replace(square, value=value)
    with pytest.raises(InputError, match="2 relations do not add up; the worst is"):
        wrong.check_additive()
    wrong.related(slack=np.ones(len(square.slack), np.int64)).check_additive()
    square.check_additive()


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_beyond_64_bits_do_not_wrap_around(sign):
    system = build_system(table([1, 2, 3]))
    large = np.where(np.arange(4) == system.of[0][0], 0, sign * LARGEST)
    assert replace(system, value=large).residual.tolist() == [sign * LARGEST]


def test_values_just_outside_their_bounds_are_refused(square):
    for name, off in (("lower_bound", 1), ("upper_bound", -1)):
        bounds = square.value.copy()
        replace(square, **{name: bounds}).check_bounds()
        bounds[0] += off
        with pytest.raises(
            InputError, match="1 cell lies outside the bounds that everybody knows: 'v0=Total, v1=Total'"
        ):
            replace(square, **{name: bounds}).check_bounds()


@pytest.mark.parametrize("cost", [-1.0, np.inf, np.nan])
def test_costs_are_numbers_of_at_least_zero(cost):
    priced = table(SQUARE).with_(cost=np.zeros(9))
    assert build_system(priced).cost("variable").tolist() == [0.0] * 9
    priced.cost[3] = cost
    with pytest.raises(InputError, match="The cost of 1 cell of table 't' is not a number of at least 0"):
        build_system(priced).cost("variable")


def test_costs_that_a_table_cannot_say(square):
    with pytest.raises(NeedsError, match="Table 't' has nothing to compute the cost 'count' from"):
        square.cost("count")
    assert square.cost("unity").tolist() == [1.0] * 9


# ---- names --------------------------------------------------------------------------------------------------


def test_relations_are_named_by_their_sum_and_place(square):
    names = [square.relation_name(row) for row in range(square.matrix.shape[0])]
    assert "'v0: Total = a0 + a1' at v1=Total in table 't'" in names
    assert "'v1: Total = b0 + b1' at v0=a1 in table 't'" in names


def with_equation() -> System:
    home = table(SQUARE, name="home")
    tables = [home.with_(spec=home.spec.with_(name=n, value=n)) for n in ("home", "away")]
    total = home.with_(spec=home.spec.with_(name="all", value="all"), value=home.value * 2)
    return build_system(ds.TableSet([total, *tables], equations=["all = home + away"]))


def test_equations_between_variables_are_named_as_such():
    system = with_equation()
    row = int(np.flatnonzero(system.origin[:, 1] == -1)[0])
    assert system.relation_name(row).startswith("'all = home + away' at all: ")


def test_figures_stand_behind_the_cells(square):
    already: Any = SimpleNamespace(figures=("first", "second"))
    system = replace(square, figure_of=np.array([1, 0]), already=already)
    assert np.flatnonzero(~system.in_tables).tolist() == [7, 8]
    assert [system.cell_name(cell) for cell in (6, 7, 8)][1:] == ["second", "first"]
    assert system.cell_name(6).startswith("v0=a1")


# ---- who is in a total --------------------------------------------------------------------------------------


def ready(**columns: Any) -> System:
    """A total of 100 with parts of 60 (of one contributor), 30 and 10; nobody is named."""
    cells = {"code": ["Total", "a", "b", "c"], "value": [100, 60, 30, 10], "contributors": [9, 1, 5, 3], **columns}
    made = ds.Table.from_cells(pa.table(cells), by={"code": ds.Hierarchy.flat(["a", "b", "c"])})
    return build_system(made)


def who_fills(system: System) -> dict[int, int]:
    """How much of the total each of those has who fill a part of it alone."""
    found = system.filling
    part = slice(int(found.start[0]), int(found.start[1]))
    return dict(zip(found.who[part].tolist(), found.amount[part].tolist(), strict=True))


def test_who_has_half_of_a_total_alone_is_known_to_be_in_it():
    assert list(who_fills(ready()).values()) == [60]
    assert who_fills(ready(contributors=[9, 2, 5, 1])) == {}
    assert who_fills(ready(contributors=[9, 2, 5, 3])) == {}
    assert sorted(who_fills(ready(value=[100, 50, 50, 0], contributors=[9, 1, 1, 3])).values()) == [50, 50]


def test_the_first_of_those_without_a_name_counts_too():
    """The part that is filled alone stands in the first relation, and so does who fills it."""
    codes = ds.Hierarchy.flat(["ab", "c"])
    lower = ds.Hierarchy.flat(["a", "b"], total="ab")
    tree = ds.Hierarchy((*lower.groupings, *codes.groupings), "Total", ())
    columns = {
        "code": ["Total", "ab", "a", "b", "c"],
        "value": [100, 60, 60, 0, 40],
        "contributors": [6, 1, 1, 0, 5],
    }
    made = ds.Table.from_cells(pa.table(columns), by={"code": tree})
    filling = build_system(made).filling
    total = made.row(code="Total")
    assert filling.amount[filling.start[total] : filling.start[total + 1]].tolist() == [60]


@pytest.mark.parametrize(
    ("change", "amounts"),
    [
        ({"unsafe": [True, False, False, False], "lower_level": [75, 0, 0, 0]}, [30, 60]),
        ({"unsafe": [True, False, False, False], "sliding_level": [75, 0, 0, 0]}, [30, 60]),
        ({"unsafe": [True, False, False, False], "lower_level": [40, 0, 0, 0]}, [60]),
        ({"unsafe": [False] * 4, "lower_level": [75, 0, 0, 0]}, [60]),
        ({"unsafe": [False, True, False, False], "lower_level": [0, 50, 0, 0]}, [60]),
    ],
)
def test_a_level_that_leaves_little_makes_smaller_parts_matter(change, amounts):
    """Only levels of unsafe cells with several contributors ask for it."""
    system = ready(contributors=[9, 1, 1, 3])
    system = replace(system, **{name: np.array(values) for name, values in change.items()})
    assert sorted(who_fills(system).values()) == amounts


def test_levels_of_cells_without_a_value_ask_for_nothing():
    system = ready(value=[100, 60, 40, 0], contributors=[9, 1, 1, 3])
    system = replace(system, unsafe=np.array([False, False, False, True]), lower_level=np.array([0, 0, 0, 5]))
    assert list(who_fills(system).values()) == [60]


def test_levels_of_one_unit_and_of_two_contributors_count():
    for row, contributors, level in ((0, [2, 1, 1, 1], 75), (3, [9, 1, 1, 2], 1)):
        system = ready(value=[100, 60, 39, 1], contributors=contributors)
        here = np.arange(4) == row
        system = replace(system, unsafe=here, lower_level=np.where(here, level, 0))
        assert sorted(who_fills(system).values()) == [39, 60]


def test_only_exact_sums_of_cells_without_negative_contributions_tell():
    system = ready()
    assert who_fills(system.related(slack=system.slack + 1)) == {}
    figure = system.origin.copy()
    figure[:, 1] = FIGURE
    assert who_fills(system.related(origin=figure)) == {}
    for cell in range(4):
        low = system.lower_bound.copy()
        low[cell] = -1
        assert who_fills(replace(system, lower_bound=low)) == {}
    two = system.lower_bound.copy()
    two[[0, 1]] = -1  # one of them with a minus sign in the relation
    assert who_fills(replace(system, lower_bound=two)) == {}


def test_a_bound_of_zero_says_that_nothing_is_negative():
    assert ready().without_negative.all()


# ---- rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "coefficient", "expected"),
    [
        ([2, 0, 1], [1, -1, 1], [[-1, 1, 1], [0, 0, 0]]),
        ([2, 2, 1], [1, 1, 1], [[0, 1, 2], [0, 0, 0]]),
        ([2, 0, 1], [0, -1, 1], [[-1, 1, 0], [0, 0, 0]]),
    ],
)
def test_entries_of_one_cell_are_added_up_and_nothing_is_left_out(cell, coefficient, expected):
    row = np.zeros(3, np.int64)
    made = _matrix(row, np.array(cell), np.array(coefficient), (2, 3))
    assert made.toarray().tolist() == expected
    assert made.data.all()
    assert made.has_sorted_indices


def test_entries_of_one_cell_in_two_rows_stay_apart():
    made = _matrix(np.array([0, 1]), np.array([2, 2]), np.array([1, 1]), (2, 3))
    assert made.toarray().tolist() == [[0, 0, 1], [0, 0, 1]]


def distinct(rows: list[list[int]], preferred: list[bool], slack: list[int]) -> tuple[list[int], list[int]]:
    from scipy.sparse import csr_array

    matrix = csr_array(np.array(rows))
    matrix.eliminate_zeros()
    keep, least = distinct_rows(matrix, np.array(preferred), np.array(slack))
    return keep.tolist(), least.tolist()


def test_equal_rows_are_one_with_the_least_slack():
    a, b, c, nothing = [-1, 1, 1, 0], [-1, 1, 0, 1], [1, -1, -1, 0], [0, 0, 0, 0]
    assert distinct([a, b], [True, True], [3, 4]) == ([0, 1], [3, 4])
    assert distinct([a, b, a], [True] * 3, [3, 4, 2]) == ([0, 1], [2, 4])
    assert distinct([a, b, c], [False, True, True], [3, 4, 5]) == ([1, 2], [4, 3])
    assert distinct([c, a], [True, True], [1, 2]) == ([0], [1])
    assert distinct([nothing, a, nothing], [True] * 3, [0, 1, 2]) == ([1], [1])
    assert distinct([nothing, a, b], [True] * 3, [0, 1, 2]) == ([1, 2], [1, 2])
    one = [0, 1, 0, 0]
    assert distinct([one, one, a], [True] * 3, [5, 6, 1]) == ([0, 2], [5, 1])


def test_rows_are_compared_entry_by_entry():
    from scipy.sparse import csr_array

    rows = [[-1, 1, 1, 0], [1, -1, -1, 0], [-1, 1, 0, 1], [-1, 1, -1, 0], [1, 1, 1, 0], [0, -1, 1, 1]]
    matrix = csr_array(np.array(rows))
    pairs = [(0, 0), (0, 1), (0, 2), (2, 0), (0, 3), (3, 0), (0, 4), (0, 5), (5, 0)]
    found = _same_entries(matrix, *(np.array(side) for side in zip(*pairs, strict=True)))
    assert found.tolist() == [True, True, *[False] * 7]
    short = csr_array(np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, -1, 0], [1, 0, 0]]))
    assert _same_entries(short, np.array([2, 2, 0]), np.array([3, 4, 1])).tolist() == [True, False, True]


# ---- slack of equations -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slacks", "expected"),
    [
        ((None, None, None), 0),
        ((5, None, 3), 50),
        ((3, None, 5), 50),
        ((-1, None, None), 5),  # half a unit of the one that is rounded
        ((-1, -1, -1), 15),
        ((0, -1, None), 5),
        ((0, 0, 0), 0),
    ],
)
def test_the_slack_of_an_equation_is_that_of_its_tables(slacks, expected):
    """Another table, which is not in the equation, does not count."""
    system = with_equation()
    other = table(SQUARE, name="other").with_(slack=9)
    other = other.with_(spec=other.spec.with_(value="other"))
    mine = [t.with_(slack=slack) for t, slack in zip(system.tables, slacks, strict=True)]
    tables = ds.TableSet([*mine, other], equations=["all = home + away"])
    found = VariableRows(np.zeros(3, np.int64), np.array([0, 9, 18]), np.array([-1, 1, 1]), np.array([0]))
    of = [np.arange(9) + 9 * number for number in range(4)]
    assert _equation_slack(tables.equations[0], found, tables, of, [10] * 4).tolist() == [expected]


# ---- what was published before ------------------------------------------------------------------------------


def known(published: list[int], tables: bool = True) -> tuple[list[int], list[int]]:
    """Cells that are known and those that are given, where an earlier table has the cells 2, 3 and 4 of six."""
    rows = [("the office", 1 if tables else 0, np.array(published, np.int64))]
    already: Any = SimpleNamespace(
        tables=("earlier",) if tables else (), known=() if tables else ("file",), published_rows=lambda _: rows
    )
    of = [np.array([0, 1, 2]), np.array([2, 3, 4])][: 1 + tables]
    given = np.zeros(6, np.bool_)
    now: Any = ("one table",)
    found, known_by = _known(already, now, of, given)
    assert [(name, cells.tolist()) for name, cells in known_by] == [("the office", np.flatnonzero(found).tolist())]
    return np.flatnonzero(found).tolist(), np.flatnonzero(given).tolist()


def test_cells_that_only_earlier_tables_hold_are_given_unless_they_were_published():
    assert known([0]) == ([2], [3, 4])
    assert known([0, 1]) == ([2, 3], [4])
    assert known([]) == ([], [3, 4])
    assert known([1], tables=False) == ([1], [])


def test_a_figure_may_divide_by_what_is_known_or_empty(square, monkeypatch):
    seen = []

    def hidden_sums(given, tables, of, value, known, decimals):
        seen.append(np.flatnonzero(known).tolist())
        return []

    monkeypatch.setattr(figures, "hidden_sums", hidden_sums)
    cells = np.arange(9)
    already: Any = SimpleNamespace(figures=("a figure",))
    system = building._with_figures(replace(square, known=cells == 1, empty=cells == 2, already=already))
    assert seen == [[1, 2]]
    assert len(system) == 9


# ---- which relations imply the others -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("from_records", "slack", "without_total", "complete"),
    [
        (True, None, False, True),
        (True, 5, False, True),
        (True, None, True, True),
        (False, None, False, True),
        (False, 5, False, False),
        (False, None, True, False),
    ],
)
def test_relations_are_implied_by_others_only_where_all_of_them_hold_exactly(
    from_records, slack, without_total, complete
):
    made = table(SQUARE).with_(from_records=from_records, slack=slack)
    cells = np.arange(len(made))
    if without_total:  # one of the rows' totals
        cells = np.delete(cells, made.row(v0="a0", v1="Total"))
        made = made.at(cells)
    rows = _table_rows(0, made, np.arange(len(made)) + 100, 1)
    assert rows.defining.all() == (not complete)
    assert (rows.parent == -1).any() == without_total
    assert 100 in rows.parent  # the grand total is the first cell


@pytest.mark.parametrize(("slack", "expected"), [(None, 0), (0, 0), (7, 7), (-1, 1)])
def test_the_slack_of_a_relation_is_what_its_table_states(slack, expected):
    """Rounded tables: half a unit for each of three cells, rounded down."""
    assert set(build_system(table(SQUARE).with_(slack=slack)).slack.tolist()) == {expected}
