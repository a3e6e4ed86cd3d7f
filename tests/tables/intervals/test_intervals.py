"""Interval publication: examples of card 003-04, the self-check against brute force, and the method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ParameterError, ProtectionError
from discreet.keys import VARIABLE, Key
from discreet.model.public import in_rows_of
from discreet.relations import build_system
from discreet.tables.intervals.bounds import POWERS, hull, interval
from discreet.verify import check_release
from tests.tables.adjust.test_adjust import INNER, LEVELS, marked


def test_examples_of_the_card():
    assert interval(1234, 1271, "floor", False, True)[:2] == (1230, 1280)
    assert interval(1234, 1271, "floor", True, True)[:2] == (1220, 1280)
    for power in ("round", "ceil"):
        assert interval(1234, 1271, power, False, True)[:2] == (1200, 1300)
        assert interval(1234, 1271, power, True, True)[:2] == (1100, 1300)
    assert interval(40, 75, "ceil", False, True)[:2] == (0, 100)
    assert interval(40, 75, "ceil", True, True)[:2] == (0, 200)
    assert hull(1271, 1200, 1300, "ceil", 0, True) == (1200, 1300)
    assert hull(1205, 1200, 1300, "ceil", 0, True) == (1216, 1300)


@pytest.mark.parametrize("power", POWERS)
def test_the_hull_is_that_of_all_originals_tried_one_by_one(power):
    rng = np.random.default_rng(POWERS.index(power))
    for _ in range(150):
        a, d = int(rng.integers(0, 2000)), int(10 ** rng.uniform(0, 2.3))
        o = a + d if rng.random() < 0.5 or d > a else a - d
        low, high, _ = interval(o, a, power, bool(rng.random() < 0.5), True)
        tried = [
            x
            for x in range(low, high + 1)
            if x != a and any(interval(x, a, power, wide, True)[:2] == (low, high) for wide in (False, True))
        ]
        assert hull(a, low, high, power, 0, True) == (min(tried), max(tried))


def test_shares_of_intervals_that_tell_too_much_are_those_of_the_card():
    """Statistical: 1,000 cells, values from 1,000 to 100,000, distances from 3 to 300, half of them widened."""
    rng = np.random.default_rng(1)
    for power, share in (("floor", 0.83), ("round", 0.36), ("ceil", 0.11)):
        short = 0
        for _ in range(1000):
            a, d = int(rng.integers(1000, 100_001)), round(10 ** rng.uniform(np.log10(3), np.log10(300)))
            o = a + d * int(rng.choice([-1, 1]))
            low, high, _ = interval(o, a, power, bool(rng.random() < 0.5), True)
            ends = hull(a, low, high, power, 0, True)
            short += ends[1] - ends[0] < d
        assert short / 1000 == pytest.approx(share, abs=0.05)


@pytest.fixture
def release(monkeypatch):
    monkeypatch.setenv(VARIABLE, Key.from_seed(1).text)
    return ds.protect(marked(), ds.Intervals())


def test_intervals_hold_the_true_values_and_the_rest_is_exact(release):
    table = marked()
    public = in_rows_of(table, release.public.tables[0])
    assert np.all((public.lower <= table.value) & (table.value <= public.upper))
    assert np.all((public.lower <= public.value) & (public.value <= public.upper))
    assert np.all(public.lower >= 0)
    exact = public.lower == public.upper
    assert np.array_equal(public.value[exact], table.value[exact])
    assert exact.any()
    assert release.verify().holds
    assert release.audit().short == 0
    for cell, level in LEVELS.items():
        row = table.row(v0=f"a{cell[0]}", v1=f"b{cell[1]}")
        assert public.lower[row] <= INNER[cell] - level
        assert public.upper[row] >= INNER[cell] + level


def test_intervals_are_written_and_read_back(release, tmp_path):
    release.save(tmp_path / "out", report=True)
    head = (tmp_path / "out" / "public" / "t.csv").read_text().splitlines()[0]
    assert head == "v0,v1,value,lower,upper,status"
    loaded = ds.load(tmp_path / "out")
    assert np.array_equal(loaded.public.tables[0].lower, release.public.tables[0].lower)
    assert loaded.to_frame().column_names == ["v0", "v1", "value", "lower", "upper", "status"]


def test_the_checker_refuses_intervals_that_do_not_hold_the_value(release):
    low, high = release.custodian.intervals[0]
    lying = replace(release.custodian, intervals=((low + 10**6, high + 10**6),))
    assert any("does not hold" in str(r) for r in check_release(lying, lying.public()).refused)
    silent = replace(release.custodian, intervals=None)
    assert not check_release(silent, silent.public()).holds


@pytest.mark.parametrize(
    "options",
    [
        {"power": "up"},
        {"widen": 2},
        {"widen": "often"},
        {"most": 0.5},
        {"ends": "shortest"},
        {"ends": "least", "power": "round"},
        {"ends": "least", "algorithm": "optimal"},
    ],
)
def test_impossible_parameters_are_refused(options):
    with pytest.raises(ParameterError):
        ds.Intervals(**options)


def furthest(release, system, method):
    """How far the alternatives of a release lie beyond what a method lets safe cells move."""
    alternatives = release.custodian.evidence[0].certificates
    lower, upper = method._reach(system)
    cells = system.of[0][alternatives.entry_row]
    change = alternatives.amount / np.repeat(alternatives.denominator, np.diff(alternatives.start))
    moved = system.value[cells] + change
    return np.maximum(lower[cells] - moved, moved - upper[cells]).max()


@pytest.mark.parametrize(("limit", "fixed"), [(5, "none"), (30, "none"), (40, "total")])
def test_safe_cells_move_within_their_limits_where_room_is_made(monkeypatch, limit, fixed):
    monkeypatch.setenv(VARIABLE, Key.from_seed(1).text)
    method = ds.Intervals(zeros="movable", limit=limit, fixed=fixed)
    release = ds.protect(marked(), method)
    assert release.verify().holds
    system = build_system(marked())
    assert furthest(release, system, method) <= 0
    if limit == 5:
        assert furthest(ds.protect(marked(), ds.Intervals(zeros="movable")), system, method) > 0


def test_levels_that_need_more_than_the_limit_are_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, Key.from_seed(1).text)
    with pytest.raises(ProtectionError):
        ds.protect(marked(), ds.Intervals(limit=0.001))


def test_a_fixed_cell_gets_no_interval():
    system = build_system(ds.examples.small_table().assess(ds.PPercent(10)))
    total = int(np.argmax(system.value))
    upper = system.value.copy()
    ds.Intervals(fixed="total")._refuse_fixed(system, system.value, upper)
    upper[total] += 1
    ds.Intervals()._refuse_fixed(system, system.value, upper)
    with pytest.raises(ProtectionError, match=r"fixed cells get intervals, too: .*Total"):
        ds.Intervals(fixed="total")._refuse_fixed(system, system.value, upper)
