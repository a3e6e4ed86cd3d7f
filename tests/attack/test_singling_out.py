"""Conditions that hold of one record, counted by loops."""

from __future__ import annotations

from math import comb

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.attack import singling_out_attack
from discreet.attack.synthetic.compared_files import compared_files
from discreet.attack.synthetic.conditions import ABOVE, AT_LEAST, AT_MOST, BELOW, EMPTY, EQUAL, NOT_EMPTY, OTHER
from discreet.attack.synthetic.controlled_attack import one_in_sample
from discreet.attack.synthetic.singling_out import Predicates, _by_columns, _by_one_column, matches
from tests.attack.made_files import people, shuffled

MEANINGS = {
    EQUAL: lambda value, limit: value == limit,
    OTHER: lambda value, limit: not np.isnan(value) and value != limit,
    AT_LEAST: lambda value, limit: value >= limit,
    AT_MOST: lambda value, limit: value <= limit,
    ABOVE: lambda value, limit: value > limit,
    BELOW: lambda value, limit: value < limit,
    EMPTY: lambda value, limit: bool(np.isnan(value)),
    NOT_EMPTY: lambda value, limit: not np.isnan(value),
}


def by_loops(values: np.ndarray, predicates: Predicates) -> list[int]:
    found = []
    for at, operators, limits in zip(predicates.at, predicates.operators, predicates.limits, strict=True):
        holds = [
            all(
                MEANINGS[o](values[column, record], limit)
                for column, o, limit in zip(at, operators, limits, strict=True)
            )
            for record in range(values.shape[1])
        ]
        found.append(sum(holds))
    return found


def test_records_are_counted_of_which_all_conditions_hold():
    files = compared_files(people(40, 1), people(40, 2))
    draws = np.random.default_rng(3)
    at = np.array([draws.choice(6, 2, replace=False) for _ in range(300)])
    limits = np.nan_to_num(files.released.values[at, draws.integers(0, 40, (300, 2))])
    asked = Predicates(at, draws.integers(0, 8, (300, 2)), limits, np.arange(300))
    assert set(asked.operators.ravel()) == set(MEANINGS)
    assert matches(files.original, asked).tolist() == by_loops(files.original.values, asked)
    assert matches(files.original, asked, 2).max() == 2


def test_conditions_on_one_column_are_values_that_occur_once_and_both_ends():
    made = pa.table({"x": [1, 2, 2, 9], "y": ["a", None, "b", "b"]})
    files = compared_files(made, made)
    found = _by_one_column(files, 100, np.random.default_rng(1))
    words = {EQUAL: "=", AT_LEAST: ">=", AT_MOST: "<=", EMPTY: "empty"}
    said = {
        (files.names[at], words[operator], limit)
        for at, operator, limit in zip(found.at[:, 0], found.operators[:, 0], found.limits[:, 0], strict=True)
    }
    assert said == {("x", "=", 1), ("x", "=", 9), ("x", "<=", 1), ("x", ">=", 9), ("y", "=", 0), ("y", "empty", 0)}


def test_conditions_on_columns_hold_of_one_released_record_and_are_all_different():
    files = compared_files(people(80, 1), people(80, 2))
    found = _by_columns(files, 3, 150, np.random.default_rng(1))
    assert len(found.rows) == 150
    assert by_loops(files.released.values, found) == [1] * 150
    marks = {
        (*a, *o, *v) for a, o, v in zip(found.at.tolist(), found.operators.tolist(), found.limits.tolist(), strict=True)
    }
    assert len(marks) == 150
    for place, row in enumerate(found.rows):  # the record that a condition was made of is the one it holds of
        own = Predicates(*(part[[place]] for part in found))
        assert by_loops(files.released.values[:, [row]], own) == [1]


def test_copies_are_singled_out_and_foreign_people_are_not_more_than_by_luck():
    original, held = people(400, 1), people(400, 2)
    for size in (1, 3):
        copied = singling_out_attack(original, shuffled(original, 3), held, size=size, attempts=300)
        assert copied.share == 1
        assert copied.risk == 1
        assert copied.baseline < 0.2
        foreign = singling_out_attack(original, people(400, 6), held, size=size, attempts=300)
        assert foreign.risk_interval().low == 0
        assert foreign.control_share == pytest.approx(foreign.share, abs=0.08)


def test_a_hold_out_file_of_another_size_is_brought_to_the_size_of_the_original():
    original, made = people(900, 1), people(900, 2)
    whole = singling_out_attack(original, made, people(900, 3), attempts=600)
    for many in (150, 4000):
        other = singling_out_attack(original, made, people(many, 3), attempts=600)
        assert other.share == whole.share
        assert other.control_share == pytest.approx(whole.control_share, abs=0.08)
        assert (other.scale > 1.5) == (many < 900)


def test_the_chance_of_one_in_a_sample_is_that_of_all_samples():
    for found in range(6):
        expected = found * comb(10 - found, 3) / comb(10, 4)
        assert one_in_sample(np.array([found]), 10, 4)[0] == pytest.approx(expected)
    assert one_in_sample(np.array([9, 10]), 10, 4).tolist() == [0.0, 0.0]
    assert one_in_sample(np.array([0, 1, 2]), 5, 5).tolist() == [0.0, 1.0, 0.0]


def test_the_order_of_records_does_not_matter():
    original, made = people(120, 1), people(120, 2)
    for size in (1, 3):
        first = singling_out_attack(original, made, size=size, attempts=200)
        second = singling_out_attack(shuffled(original, 3), shuffled(made, 4), size=size, attempts=200)
        assert (first.right, first.baseline) == (second.right, second.baseline)


def test_too_few_conditions_are_noted():
    made = pa.table({"x": ["a", "a", "b", "b"], "y": ["c", "c", "d", "d"]})
    found = singling_out_attack(made, made, size=2, attempts=10)
    assert (found.tried, found.share, found.risk) == (0, 0.0, 0.0)
    assert found.risk_interval() == (0.0, 1.0)
    assert "Only 0 conditions of 10 could be made." in found.notes


def test_a_condition_cannot_have_more_columns_than_there_are():
    with pytest.raises(ds.DiscreetError, match="size=3 is more than the 2 columns at hand"):
        singling_out_attack(*[pa.table({"x": [1, 2], "y": [3, 4]})] * 2, size=3)
    with pytest.raises(ds.DiscreetError, match="size=0 is not allowed"):
        singling_out_attack(*[pa.table({"x": [1, 2], "y": [3, 4]})] * 2, size=0)
