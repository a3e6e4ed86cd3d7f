"""Uniqueness of entries against enumeration, closed forms against programs, limits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attack import Entry, disclosed_by_bounds, margin_bounds, unique_entries
from discreet.attack import uniqueness as module
from discreet.attack.uniqueness import _EntryPrograms, _Margins
from discreet.attack.withholding import margins_to_withhold
from discreet.errors import InputError, ParameterError


def tables_with(margins: dict[tuple[int, ...], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """All tables with given margins, by going through the entries."""
    found: list[np.ndarray] = []
    places = list(product(*map(range, shape)))
    left = {axes: values.copy() for axes, values in margins.items()}
    table = np.zeros(shape, int)

    def go(number: int) -> None:
        if number == len(places):
            if not any(values.any() for values in left.values()):
                found.append(table.copy())
            return
        at = places[number]
        cells = [(left[axes], tuple(at[a] for a in axes)) for axes in left]
        most = min(int(values[key]) for values, key in cells)
        # The last cell of a line takes what is left of it.
        ends = [axes for axes in left if at[({0, 1, 2} - set(axes)).pop()] == shape[({0, 1, 2} - set(axes)).pop()] - 1]
        forced = {int(left[axes][tuple(at[a] for a in axes)]) for axes in ends}
        for value in forced & set(range(most + 1)) if len(forced) == 1 else range(0 if forced else most + 1):
            table[at] = value
            for values, key in cells:
                values[key] -= value
            go(number + 1)
            for values, key in cells:
                values[key] += value
        table[at] = 0

    go(0)
    return np.array(found)


PAIRS = [(0, 1), (0, 2), (1, 2)]


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_bounds_are_those_of_all_tables(seed):
    table = np.random.default_rng(seed).poisson(0.8, (2, 3, 3))
    margins = {axes: table.sum(axis=({0, 1, 2} - set(axes)).pop()) for axes in PAIRS}
    every = tables_with(margins, table.shape)
    found = unique_entries(table, bounds=True)
    assert np.array_equal(found.lower, every.min(axis=0))
    assert np.array_equal(found.upper, every.max(axis=0))
    assert np.array_equal(found.status == Entry.UNIQUE, every.min(axis=0) == every.max(axis=0))
    scan = unique_entries(margins=margins, shape=table.shape)
    assert np.array_equal(scan.status, found.status)
    assert np.all((scan.lower <= found.lower) & (found.upper <= scan.upper))


@given(st.integers(0, 10_000), st.sampled_from([[(0, 1), (1, 2)], [(0,), (1, 2)], [(0, 1), (1, 2), (2, 3)], [(0, 1)]]))
@settings(max_examples=25, deadline=None)
def test_closed_forms_equal_integer_programs(seed, family):
    axes = 1 + max(axis for kept in family for axis in kept)
    table = np.random.default_rng(seed).poisson(1.0, (2, 3, 2, 2)[: max(axes, 3)])
    found = unique_entries(table, family)
    assert found.solves == 0
    search = _EntryPrograms(_Margins.of(table, family, None, None), 1000)
    program = search.run(np.ones(table.size, bool), True)
    assert np.array_equal(found.lower, program.lower)
    assert np.array_equal(found.upper, program.upper)


def test_a_margin_that_leaves_an_axis_out_gives_no_lower_bound():
    found = unique_entries(np.full((2, 2, 2), 3), [(0, 1)])
    assert found.lower.max() == 0
    assert found.upper.min() == 6


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_two_way_tables_have_the_bounds_of_their_margins(seed):
    table = np.random.default_rng(seed).poisson(1.0, (3, 4))
    found = unique_entries(table, [(0,), (1,)])
    for i, j in product(range(3), range(4)):
        expected = margin_bounds(table.sum(axis=1), table.sum(axis=0), i, j)
        assert (found.lower[i, j], found.upper[i, j]) == expected


def test_a_limit_is_unknown_and_never_safe(monkeypatch):
    """Where programs give no answer, every entry that is not shown to vary is unknown."""
    table = np.random.default_rng(3).poisson(0.6, (4, 4, 3))
    monkeypatch.setattr(
        _EntryPrograms, "_solve", lambda self, entry, sign, *, whole: module._Found(None, 1.5 + sign, whole)
    )
    found = unique_entries(table)
    open_to_question = found.upper > 0
    assert found.unknown == open_to_question.sum() - (found.status[open_to_question] == Entry.UNIQUE).sum()
    assert found.unknown > 0
    assert not (found.status == Entry.VARIES).any()


def test_only_the_entries_asked_for_are_decided():
    table = np.random.default_rng(3).poisson(0.6, (4, 4, 3))
    wanted = np.zeros(table.shape, bool)
    wanted[0, 0] = True
    found = unique_entries(table, entries=wanted)
    assert set(np.unique(found.status[wanted])) <= {Entry.UNIQUE, Entry.VARIES}
    assert (found.status == Entry.NOT_ASKED).any()


def test_all_four_kinds_follow_from_bounds():
    lower, upper = np.array([0, 3, 0]), np.array([9, 5, 1])
    assert disclosed_by_bounds(lower, upper, "existence").tolist() == [False, True, False]
    assert disclosed_by_bounds(lower, upper, "upward", 2).tolist() == [False, True, False]
    assert disclosed_by_bounds(lower, upper, "downward", 2).tolist() == [False, False, True]
    assert disclosed_by_bounds(lower, upper, "approximation", 3).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"table": [[1, 2]], "margins": {}}, ParameterError, "Give the table"),
        ({"table": [[0.5, 2]]}, InputError, "whole numbers"),
        ({"table": [[1, 2]], "family": [(0, 2)]}, ParameterError, "does not fit"),
        ({"table": [[1, 2]], "family": []}, ParameterError, "no published margin"),
        ({"table": [[1, 2]], "effort": 0}, ParameterError, "effort=0"),
        ({"margins": {(0,): [1, 2]}, "shape": (3, 2)}, InputError, "does not fit"),
    ],
)
def test_bad_input_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        unique_entries(**options)


def test_margins_without_a_whole_table_are_refused():
    """All two-way margins of 2 x 2 x 2 that agree pairwise, but belong to no table."""
    one, two = np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]])
    with pytest.raises(InputError, match="No table"):
        unique_entries(margins={(0, 1): one, (1, 2): one, (0, 2): two}, shape=(2, 2, 2))


@pytest.mark.parametrize("seed", range(4))
def test_margins_are_withheld_until_no_protected_entry_is_fixed(seed):
    table = np.random.default_rng(seed).poisson(0.7, (3, 3, 2))
    protected = table == 1
    found = margins_to_withhold(table, protected=protected)
    assert found.disclosed == 0
    again = unique_entries(table, found.kept, entries=protected)
    assert not np.any((again.status == Entry.UNIQUE) & protected)
    assert bool(found.withheld) == bool(unique_entries(table, entries=protected).status[protected].any())


def test_margins_that_do_no_harm_are_kept():
    table = np.full((2, 2, 2), 5)
    found = margins_to_withhold(table)
    assert (found.kept, found.withheld) == (((0, 1), (0, 2), (1, 2)), ())


def test_where_even_the_total_gives_entries_away_it_is_said():
    found = margins_to_withhold(np.zeros((2, 2), int), [(0,), (1,)], protected=np.ones((2, 2), bool))
    assert found.disclosed == 4
    assert found.kept == ((),)
    with pytest.raises(InputError, match="protected="):
        margins_to_withhold([[1, 2]], [(0,)], protected=np.ones(3, bool))
