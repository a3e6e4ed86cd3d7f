"""Why a cell got no certificate, and what an officer accepts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.model.evidence import DOWN, MOVES, UP
from discreet.relations import System, build_system
from discreet.relations.system import FIGURE
from discreet.solve.bound import Bound
from discreet.tables.suppress import classes
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.classes import (
    Failure,
    accepted,
    classify,
    failures_error,
    furthest_move,
    plain_acceptances,
)
from discreet.tables.suppress.families import Unprotected
from discreet.tables.suppress.joint import Sum

HELD = {"a": {"s": 10}, "b": {"s": 8, "t": 12}, "c": {"t": 5, "u": 25}, "d": {"u": 20, "v": 20}}
TOTAL = 0


def system_of(forced: str = "", **columns: Any) -> System:
    """Cells 1 to 4 with the values 10, 20, 30 and 40, and cell 0, their total; every level is 3."""
    rows = [(code, who, has) for code, held in HELD.items() for who, has in held.items()]
    frame = pa.table(dict(zip(("code", "who", "v"), map(list, zip(*rows, strict=True)), strict=True)))
    by = {"code": ds.Hierarchy.flat(list(HELD))}
    table = ds.tabulate(ds.Microdata(frame, contributor="who"), by=by, value="v")
    system = build_system(table)
    assert system.of[0].tolist() == list(range(5))
    level = np.full(5, 3)
    mine = np.isin(["T", "a", "b", "c", "d"], list(forced))
    return replace(system, **{"forced": mine, "lower_level": level, "upper_level": level, **columns})


def against(system: System) -> Attackers:
    return Attackers(system, "full", None, np.zeros(len(system), np.bool_))


def first_holder(system: System) -> int:
    """The one who fills the first cell and has 8 of 20 in the second."""
    return int(system.holder[1, 0])


# ---- how far a cell can move --------------------------------------------------------------------------------


def test_what_everybody_knows_of_a_cell_is_a_bound_by_itself():
    system = system_of()
    bound = furthest_move(system, against(system), 1, -1, 11, set())
    assert bound == Bound(Fraction(10), (), ())
    close = system_of(upper_bound=np.array([NO_UPPER, 14, NO_UPPER, NO_UPPER, NO_UPPER]))
    assert furthest_move(close, against(close), 1, 1, 5, set()) == Bound(Fraction(4), (), ())
    for direction, level in ((-1, 10), (1, 4)):
        found = furthest_move(close, against(close), 1, direction, level, set())
        assert found is None or found.relations


@pytest.mark.parametrize("direction", [1, -1])
def test_a_cell_without_a_bound_is_not_bounded_by_what_stands_for_none(direction):
    value = np.full(5, direction * 2**61)
    system = system_of(value=value, lower_bound=np.full(5, NO_LOWER), upper_bound=np.full(5, NO_UPPER))
    found = furthest_move(system, against(system), 1, direction, 2**61 + 5, set())
    assert found is None or found.relations


def test_reasons_are_looked_for_up_to_a_number_of_cells(monkeypatch):
    system = system_of(forced="Tbcd")
    monkeypatch.setattr(classes, "MOST_CELLS", 5)
    assert furthest_move(system, against(system), 1, 1, 3, set()) is not None
    monkeypatch.setattr(classes, "MOST_CELLS", 4)
    assert furthest_move(system, against(system), 1, 1, 3, set()) is None


def test_insiders_know_the_cells_that_they_fill_and_the_least_of_others():
    system = system_of(forced="Tcd")
    s = first_holder(system)
    alone = furthest_move(system, against(system), 2, 1, 3, {s})
    assert alone is not None
    assert alone.most == 0  # the other cell that moves is filled by this insider
    assert furthest_move(system, against(system), 2, 1, 3, set()).most == 10
    # For the one who has 8 of 20 the other cell rises no further than this one can fall.
    assert furthest_move(system_of(forced="Tad"), against(system), 3, 1, 3, {s}).most == 12


# ---- classes of failures ------------------------------------------------------------------------------------


def failure(system: System, cell: int, use: int, *insiders: int) -> Failure:
    (found,) = classify(system, against(system), {cell: Unprotected(use, frozenset(insiders))})
    return found


def test_a_level_that_no_pattern_reaches_is_impossible_and_one_that_is_just_reached_is_not_decided():
    levels = {name: np.array([0, 0, 0, 13, 0]) for name in ("lower_level", "upper_level")}
    system = system_of(forced="Tad", **levels)
    s = first_holder(system)
    found = failure(system, 3, UP, s)
    assert found.kind == "impossible"
    assert found.reason.startswith("for a contributor it cannot move upwards to its level even if every cell")
    assert found.insiders == 1
    just = replace(system, upper_level=np.array([0, 0, 0, 12, 0]))
    found = failure(just, 3, UP, s)
    assert (found.kind, found.reason) == ("undecided", "no certificate upwards against a contributor was found")


def test_each_direction_has_its_own_level_and_word():
    system = system_of(forced="Tcd", lower_level=np.full(5, 21), upper_level=np.full(5, 3))
    down = failure(system, 2, DOWN)
    assert down.kind == "impossible"
    assert "for outsiders it cannot move downwards" in down.reason
    assert "what everybody knows of it is closer than its level" in down.reason
    assert failure(system, 2, UP).reason == "no certificate upwards against outsiders was found"


def test_that_a_cell_moves_at_all_is_never_proved_impossible():
    assert failure(system_of(forced="Tbcd"), 1, MOVES).kind == "undecided"


def published(system: System, *cells: int) -> System:
    """The system with cells that an office published before."""
    known = np.isin(np.arange(len(system)), cells)
    return replace(system, known=known, known_by=(("the office", np.array(cells)),))


def test_what_was_published_before_reveals_a_cell_unless_it_could_not_move_anyway():
    found = failure(published(system_of(forced="bcd"), TOTAL), 1, UP)
    assert found.kind == "revealed"
    assert "reveals it exactly to outsiders: 'the office'" in found.reason
    assert failure(published(system_of(forced="Tbcd"), TOTAL), 1, UP).kind == "impossible"


@pytest.mark.parametrize(("level", "kind"), [(5, "revealed"), (6, "impossible")])
def test_before_the_publication_a_cell_could_move_just_to_its_level(level, kind):
    bounds = np.array([105, NO_UPPER, NO_UPPER, NO_UPPER, NO_UPPER])
    system = published(system_of(forced="bcd", upper_bound=bounds, upper_level=np.full(5, level)), TOTAL)
    assert failure(system, 1, UP).kind == kind


def test_a_figure_that_was_published_reveals_a_cell():
    """It ties the first cell to one that is published."""
    from scipy.sparse import csr_array, vstack

    system = system_of(forced="d")
    already: Any = SimpleNamespace(figures=("the ratio",))
    tied = replace(system, already=already).related(
        matrix=vstack([system.matrix, csr_array(np.array([[0, 4, 0, 0, -1]]))]).tocsr(),
        defining=np.append(system.defining, True),
        origin=np.vstack([system.origin, [0, FIGURE, 0, 0]]),
        parent=np.append(system.parent, -1),
        slack=np.append(system.slack, 0),
    )
    found = failure(tied, 1, UP)
    assert found.kind == "revealed"
    assert "reveals it exactly to outsiders: 'the ratio'" in found.reason


def test_one_published_cell_beside_it_is_enough():
    tree = ds.Hierarchy.from_parents({"a": "A", "b": "A", "c": "B", "d": "B", "A": "T", "B": "T"})
    rows = [(code, who, has) for code, held in HELD.items() for who, has in held.items()]
    frame = pa.table(dict(zip(("code", "who", "v"), map(list, zip(*rows, strict=True)), strict=True)))
    table = ds.tabulate(ds.Microdata(frame, contributor="who"), by={"code": tree}, value="v")
    system = build_system(table.marked({("b",): "P", ("a",): "U"}).assess())
    cell = {code: int(system.of[0][table.row(code=code)]) for code in tree.codes}
    found = failure(published(system, cell["A"], cell["d"]), cell["a"], UP)
    assert found.kind == "revealed"


def test_cells_that_were_published_are_failures_where_they_are_unsafe():
    unsafe = np.array([False, True, True, False, False])
    system = published(system_of(unsafe=unsafe), 2, 3)
    assert classify(system, against(system), {}) == [
        Failure(2, "revealed", "the office published it", classes.NOTHING_TO_DO)
    ]


def test_unsafe_cells_of_a_sum_that_stays_known_are_failures_once():
    system = system_of(forced="Tbcd", unsafe=np.array([False, True, True, False, True]))
    unprotected = {1: Unprotected(UP), 4: Unprotected(MOVES)}
    found = classify(system, against(system), unprotected, [Sum(0, (1, 2, 3), 5, 5)])
    assert [(one.cell, one.kind) for one in found] == [(1, "impossible"), (2, "undecided"), (4, "undecided")]
    assert found[1].reason.startswith("the sum of 'code=a', 'code=b', 'code=c' is known and unsafe itself")


def test_the_error_shows_five_and_counts_the_rest():
    system = system_of()
    many = [Failure(1, "undecided", "why", "how", insiders) for insiders in (0, 1, 2, 0, 0, 0)]
    five, six = (str(failures_error(system, many[:count])) for count in (5, 6))
    assert "more." not in five
    assert " and 1 more." in six
    assert "2 of them fail only against contributors" in six
    assert "only against contributors" not in str(failures_error(system, many[3:]))
    assert "1 of them fails only against contributors" in str(failures_error(system, many[1:2]))


# ---- acceptances --------------------------------------------------------------------------------------------

GOOD = {"class": "impossible", "reason": "public anyway", "name": "N. N."}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("a", "An acceptance is a str"),
        ({**GOOD, "cell": "a"}, "There is no field 'cell' in an acceptance"),
        ({**GOOD, "reason": " "}, "An acceptance has no reason"),
        ({"class": "impossible", "reason": "public"}, "An acceptance has no name"),
        ({**GOOD, "cells": [["a"]]}, "An acceptance names either cells or a class"),
        ({"reason": "public", "name": "N. N."}, "An acceptance names either cells or a class"),
        ({**GOOD, "class": "certain"}, "There is no class 'certain'"),
    ],
)
def test_acceptances_that_say_too_little_are_refused(entry, said):
    with pytest.raises(ParameterError, match=said):
        plain_acceptances([entry])


def test_acceptances_cover_cells_by_name_or_by_class():
    system = system_of(unsafe=np.array([False, True, True, False, False]))
    table = system.tables.tables[0].marked({("a",): "U", ("b",): "U"}).assess()
    system = replace(system, tables=ds.TableSet([table]))
    failures = [Failure(1, "impossible", "why", "how"), Failure(2, "undecided", "why", "how")]

    def left(**entry: Any) -> list[int]:
        accept = plain_acceptances({"reason": "public", "name": "N. N.", **entry})
        rest, taken = accepted(system, failures, accept)
        assert len(taken) + len(rest) == 2
        assert {one.cell for one in taken} == {("a", "b")[f.cell - 1 :][:1] for f in failures if f not in rest}
        return [f.cell for f in rest]

    assert left(**{"class": "impossible"}) == [2]
    assert left(**{"class": "revealed"}) == [1, 2]
    assert left(cells=[["b"]]) == [1]
    assert left(cells=[["c"], ["b"], {"code": "a"}]) == []
    assert left(cells=[["b"]], table="another") == [1, 2]


def test_a_cell_is_accepted_in_the_tables_where_it_is_unsafe():
    first = system_of().tables.tables[0].marked({("a",): "U", ("b",): "U"}).assess()
    second = system_of().tables.tables[0]
    second = second.with_(spec=second.spec.with_(name="again")).assess()
    system = build_system(ds.TableSet([first, second]))
    cell = int(system.of[0][first.row(code="a")])
    assert int(system.of[1][second.row(code="a")]) == cell
    rest, taken = accepted(system, [Failure(cell, "impossible", "why", "how")], [GOOD])
    assert rest == []
    assert [(one.table, one.cell) for one in taken] == [(first.name, ("a",))]
