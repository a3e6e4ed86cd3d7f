"""Intervals of least width: exact claims, values that follow from the intervals, and no more width than the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ProtectionError
from discreet.keys import VARIABLE, Key
from discreet.model.public import in_rows_of
from discreet.relations import build_system
from discreet.tables.intervals.least import values_within
from discreet.verify import check_release
from tests.tables.adjust.test_adjust import INNER, LEVELS, marked
from tests.tables.rounding.making import table


@pytest.fixture
def release(monkeypatch):
    monkeypatch.setenv(VARIABLE, Key.from_seed(1).text)
    return ds.protect(marked(), ds.Intervals(ends="least"))


def facts(release: ds.Release) -> dict:
    return release.custodian.evidence[0].facts


def test_the_4_by_9_table_has_the_least_width_and_less_than_half_of_the_other_way(release):
    assert facts(release)["weighted_width"] == facts(release)["least_weighted_width"]
    plain = ds.protect(marked(), ds.Intervals())
    assert int(facts(release)["width"]) < 0.5 * int(facts(plain)["width"])
    assert release.verify().holds
    assert release.audit().short == 0


def test_levels_are_kept_and_the_true_value_is_not_in_the_middle(release):
    given, middle = marked(), 0
    public = in_rows_of(given, release.public.tables[0])
    for cell, level in LEVELS.items():
        row = given.row(v0=f"a{cell[0]}", v1=f"b{cell[1]}")
        fall, rise = INNER[cell] - public.lower[row], public.upper[row] - INNER[cell]
        assert min(fall, rise) >= level
        assert fall + rise >= 3 * level
        middle += abs(int(fall) - int(rise)) <= 1
    assert middle <= 1


def test_values_follow_from_the_intervals_alone(release):
    """Another table with the same intervals has the same values."""
    low, high = release.custodian.intervals[0]
    system = build_system(marked())
    first = values_within(system, low, high)
    other = replace(system, value=first)
    assert np.array_equal(values_within(other, low, high), first)
    assert np.array_equal(in_rows_of(marked(), release.public.tables[0]).value, first)
    assert not np.array_equal(first, system.value)
    assert not np.any(system.matrix @ first)


def test_the_checker_refuses_another_width_and_narrower_intervals(release):
    evidence = release.custodian.evidence[0]
    lying = replace(evidence, facts={**evidence.facts, "width": "1"})
    told = replace(release.custodian, evidence=(lying,))
    assert any("stated width" in str(r) for r in check_release(told, told.public()).refused)
    low, high = release.custodian.intervals[0]
    true = marked().value
    tight = replace(release.custodian, intervals=((np.maximum(low, true - 1), high),))
    assert not check_release(tight, tight.public()).holds


def test_no_effort_and_a_limit_of_time_still_give_intervals_with_a_bound(monkeypatch):
    monkeypatch.setenv(VARIABLE, Key.from_seed(2).text)
    for options in ({"effort": 0}, {"time_limit": 0}):
        done = ds.protect(marked(), ds.Intervals(ends="least", **options))
        assert done.verify().holds
        found = facts(done)
        assert 0 < found["least_weighted_width"] <= found["weighted_width"]
        assert done.custodian.evidence[0].effort["limit_struck_at"] > 0


def test_fixed_margins_and_limits_are_kept_or_named(monkeypatch):
    monkeypatch.setenv(VARIABLE, Key.from_seed(3).text)
    inner = np.array([[50, 60, 70], [70, 80, 90], [40, 30, 80]])
    made = table(inner).marked({("a0", "b0"): "U"}, protection=(5, 5)).assess()
    done = ds.protect(made, ds.Intervals(ends="least", fixed="margins"))
    public = done.public.tables[0]
    above = (made.codes == 0).any(axis=1)
    assert np.array_equal(public.lower[above], public.upper[above])
    assert done.verify().holds
    with pytest.raises(ProtectionError, match="cannot be protected by intervals"):
        ds.protect(made, ds.Intervals(ends="least", limit=2))
