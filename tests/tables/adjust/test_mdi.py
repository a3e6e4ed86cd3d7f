"""Adjustment by least discrimination information: the 4 x 9 table of cards 001 and 003-01."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import discreet as ds
from discreet.errors import NeedsError, ParameterError
from discreet.measures import fit
from discreet.tables.adjust import mdi
from discreet.tables.adjust.mdi import Proportional, sample_size
from tests.tables.adjust.test_adjust import INNER, LEVELS, facts, marked
from tests.tables.rounding.making import inside, table


def problem(inner=INNER, levels=LEVELS) -> Proportional:
    rows, columns = (np.ravel(x) for x in np.indices(inner.shape))
    original = inner.ravel().astype(float)
    at = np.array([i * inner.shape[1] + j for i, j in levels])
    level = np.array(list(levels.values()), float)
    ways = [rows, columns]
    return Proportional(original, at, original[at] - level, original[at] + level, ways, ways)


def vector(text: str) -> np.ndarray:
    return np.array([c == "1" for c in text])


def test_votes_of_rows_and_columns():
    made = problem()
    assert made.votes(made.slices[0]).tolist() == [1, 0, 1, 1, 1, 1, 0]
    assert made.votes(made.slices[1]).tolist() == [0, 1, 0, 1, 1, 1, 1]


def test_all_directions_of_the_4_by_9_table():
    made = problem()
    found = sorted(
        (made.fit(np.array(d)).distance, "".join("01"[x] for x in d)) for d in product([False, True], repeat=7)
    )
    assert found[0][0] == pytest.approx(20704.469, abs=0.05)
    assert [name for _, name in found[:3]] == ["1111110", "1011110", "1010110"]
    assert [d for d, _ in found[1:3]] == pytest.approx([20714.070, 20940.665], abs=0.05)
    quantiles = np.percentile([d for d, _ in found], [2.5, 50, 97.5])
    assert quantiles == pytest.approx([21018, 30893, 58709], rel=2e-3)
    assert sum(d < 22179 for d, _ in found) == 8
    by_name = {name: d for d, name in found}
    flips = {name: [by_name[name[:k] + "10"[int(name[k])] + name[k + 1 :]] for k in range(7)] for name in by_name}
    assert {name for name, d in by_name.items() if min(flips[name]) > d} == {"1111110", "0101001"}


def test_starts_and_flips():
    made, free = problem(), np.ones(7, np.bool_)
    assert made.start().tolist() == vector("0001110").tolist()
    assert made.fit(made.start()).distance == pytest.approx(24932.61, abs=0.05)
    assert made.flipped(made.fit(made.start()), free, passes=1).distance == pytest.approx(20704.47, abs=0.05)
    printed = made.fit(made.start(printed=True))
    assert printed.directions.all()
    assert printed.distance == pytest.approx(58828.38, abs=0.05)
    stuck = made.flipped(printed, free, passes=1)
    assert (stuck.directions.tolist(), stuck.distance) == (
        vector("0101001").tolist(),
        pytest.approx(22179.78, abs=0.05),
    )


def test_the_method_finds_the_optimum_and_keeps_the_margins():
    done = ds.protect(marked(), ds.Adjust(objective="mdi"))
    assert facts(done)["distance"] == pytest.approx(20704.469, abs=0.01)
    published = inside(done, INNER.shape)
    assert np.array_equal(published.sum(axis=0), INNER.sum(axis=0))
    assert np.array_equal(published.sum(axis=1), INNER.sum(axis=1))
    assert all(abs(published[c] - INNER[c]) == level for c, level in LEVELS.items())
    assert np.all(published[INNER == 0] == 0)
    assert done.verify().holds
    found = fit(INNER.ravel(), published.ravel(), tested=[(i, j) not in LEVELS for i in range(4) for j in range(9)])
    assert (found.correlation, found.slope) == pytest.approx((0.99995, 0.9972), abs=1e-4)
    assert found.intercept == pytest.approx(2840, abs=5)
    assert found.variance_ratio == pytest.approx(0.9945, abs=1e-4)
    assert (found.ks_p, found.kuiper_p, found.degrees) == (pytest.approx(1, abs=0.005), pytest.approx(1, abs=0.005), 23)
    assert found.chi_square == pytest.approx(12225, rel=1e-3)
    assert published[3, 6] == pytest.approx(91625, abs=1)


def test_proportional_fitting_is_nearest_among_feasible_tables():
    made, rng = problem(), np.random.default_rng(1)
    best = made.fit(vector("1111110"), final=True)
    shape = INNER.shape
    for _ in range(300):
        i, k = rng.choice(shape[0], 2, replace=False)
        j, m = rng.choice(shape[1], 2, replace=False)
        cells = [i * 9 + j, i * 9 + m, k * 9 + j, k * 9 + m]
        if not made.free[cells].all() or not (made.original[cells] > 0).all():
            continue
        other = best.value.copy()
        step = rng.uniform(-0.2, 0.2) * other[cells].min()
        other[cells] += step * np.array([1, -1, -1, 1])
        assert made.distance(other) >= best.distance - 1e-6


def test_large_slices_by_descent_come_close_to_enumeration(monkeypatch):
    rng = np.random.default_rng(2)
    inner = rng.integers(50, 999, (12, 14))
    made = problem(inner, {(0, j): int(inner[0, j] * 0.3) for j in range(12)})
    cells, original = np.arange(12), inner[0, :12].astype(float)
    total, rest = float(inner[0].sum()), float(inner[0, 12:].sum())
    cost = np.stack([safe * np.log(safe / original) for safe in (made.low, made.high)])
    sums = np.stack((made.low, made.high))
    best = mdi._slice_distance(made._slice(cells, total, rest)[None], cost, sums, total, rest)
    monkeypatch.setattr(mdi, "ENUMERATE", 4)
    found = mdi._slice_distance(made._slice(cells, total, rest)[None], cost, sums, total, rest)
    assert best <= found
    assert found == pytest.approx(best, rel=1e-3)


def test_three_way_tables_keep_one_way_or_all_margins():
    rng = np.random.default_rng(3)
    inner = rng.integers(1, 999, (6, 6, 6))
    made = table(inner)
    for i, j, k in np.argwhere(rng.random(inner.shape) < 0.05).tolist():
        level = max(1, int(inner[i, j, k] * 0.2))
        made = made.marked({(f"a{i}", f"b{j}", f"c{k}"): "U"}, protection=(level, level))
    for fixed, axes in (("none", (1, 2)), ("margins", (2,))):
        done = ds.protect(made.assess(), ds.Adjust(objective="mdi", fixed=fixed))
        published = inside(done, inner.shape)
        assert done.verify().holds
        assert np.array_equal(published.sum(axis=axes), inner.sum(axis=axes))


def test_infeasible_directions_are_infinitely_far():
    made = problem(np.array([[10, 1], [10, 10]]), {(0, 0): 5})
    assert made.fit(np.array([True])).distance == np.inf


def test_what_it_cannot_do_is_refused():
    total = table(INNER).marked({("Total", "b8"): "U"}, protection=(10, 10)).assess()
    with pytest.raises(NeedsError, match="cannot move totals"):
        ds.protect(total, ds.Adjust(objective="mdi"))
    with pytest.raises(ParameterError, match="between 0 and 1"):
        sample_size(1.0, 0.5)
