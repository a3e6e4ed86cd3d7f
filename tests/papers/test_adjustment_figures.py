"""Figures of cards 001, 003-01 and 003-04 (interval publication) that stand beside the optima of the methods."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.measures import deviation_classes, fit
from discreet.relations import build_system
from discreet.relations.interior import interior
from discreet.tables.adjust.mdi import least_information, proportional
from discreet.tables.adjust.moves import limits_of_moves
from tests.tables.adjust.test_adjust import INNER, LEVELS, PUBLISHED, facts, halves, marked
from tests.tables.rounding.making import inside, table

OTHERS = {
    "min sum|y|": {(0, 0): -625, (0, 1): -10500, (1, 7): 3625, (2, 3): 4875, (2, 8): 28800, (3, 7): 36375},
    "min L-Bnd": {(1, 7): 8425, (2, 8): -2},
    "max L": {(0, 7): -21000, (1, 1): 12637, (3, 0): 937},
    "min L": {(0, 2): -7312, (2, 3): 7312},
}
THOUSANDS = np.array(
    [
        [167, 317, 1284, 587, 4490, 3981, 2442, 1150, 70],
        [57, 1487, 172, 667, 1006, 327, 1683, 1138, 46],
        [616, 202, 1899, 1098, 2172, 3825, 4372, 300, 787],
        [0, 36, 0, 16, 0, 0, 65, 0, 140],
    ]
)
THOUSAND_LEVELS = {(0, 8): 21, (1, 0): 1, (1, 8): 7, (2, 7): 40, (3, 1): 10, (3, 3): 4, (3, 8): 40}
PATTERN = {(0, 0), (0, 3), (0, 8), (1, 0), (1, 7), (1, 8), (2, 1), (2, 7), (3, 1), (3, 3), (3, 8)}


# ---- card 001 -------------------------------------------------------------------------------------------------------


def test_the_third_contributor_makes_a_cell_of_17_need_one_more():
    frame = pa.table({"v": ["a"] * 3, "x": [10, 6, 1]})
    made = ds.tabulate(frame, by={"v": ds.Hierarchy.flat(["a"])}, value="x").assess(ds.PPercent(20))
    row = made.row(v="a")
    assert made.value[row] == 17
    assert made.unsafe[row]
    assert made.assessment.upper[row] == 1


def test_with_totals_for_nothing_the_least_sum_is_another():
    made = marked()
    inner = (made.codes > 0).all(axis=1)
    done = ds.protect(made.with_(cost=inner.astype(float)), ds.Adjust(weight="variable", zeros="movable", most=1))
    assert facts(done)["l1"] == 126800


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tables_keep_the_statistics_of_all_36_cells(name):
    change = np.zeros(INNER.shape)
    for cell, move in [*zip(LEVELS, PUBLISHED[name][0], strict=True), *OTHERS[name].items()]:
        change[cell] = move
    found = fit(INNER.ravel(), (INNER + change).ravel())
    assert found.correlation >= 0.99994
    assert 0.9999 - 5e-5 <= found.slope <= 1.0002 + 5e-5
    assert 0.9999 - 5e-5 <= found.variance_ratio <= 1.0006 + 5e-5


@pytest.mark.parametrize(("name", "shift"), [("min L", -0.0714), ("max L", 0.20296)])
def test_published_moves_have_the_published_shift(name, shift):
    values = np.array([INNER[cell] for cell in LEVELS], float)
    assert fit(values, values + PUBLISHED[name][0]).shift == pytest.approx(shift, abs=5e-5)


def test_the_mirrored_compromise_has_the_same_shift_and_a_worse_variance():
    values = np.array([INNER[cell] for cell in LEVELS], float)
    move = -np.array([21000, -937.5, -11700, -40000, -15750, -7312.5, 54700])
    found = fit(values, values + move)
    assert found.shift == pytest.approx(0.0707965, abs=1e-6)
    statistics = (found.correlation, found.slope, found.variance_ratio)
    assert statistics == pytest.approx((0.963, 1.071, 1.235), abs=1e-3)


def test_the_variance_variant_reaches_the_optimum_of_its_reading():
    values, level = (np.array([table[cell] for cell in LEVELS], float) for table in (INNER, LEVELS))
    surrogate = (level**2).mean() / values.var()
    assert surrogate == pytest.approx(0.0685, abs=5e-5)
    done = ds.protect(halves(), ds.Adjust(objective="variance", most=1.5, keep_mean="unsafe", zeros="movable"))
    assert abs(2 * facts(done)["shift"] + surrogate) == pytest.approx(0.07307, abs=1e-5)
    assert facts(done)["shift"] == pytest.approx(-0.0707965, abs=1e-6)


def in_thousands(both_sides: bool) -> ds.Table:
    """The table in thousands with margins and zeros published by force."""
    made = table(THOUSANDS)
    for (row, column), level in THOUSAND_LEVELS.items():
        made = made.marked({(f"a{row}", f"b{column}"): "U"}, protection=(level if both_sides else 1, level))
    known = (made.codes == 0).any(axis=1) | (made.value == 0)
    return made.marked(
        {tuple(made.spec_codes(codes)): "P" for codes in made.codes[known].tolist()}
    ).assess()  # fmt: skip


@pytest.mark.parametrize(("both_sides", "value", "cells"), [(False, 2759, 11), (True, 3076, 12)])
def test_the_published_pattern_is_the_cheapest_for_upper_protection_only(both_sides, value, cells):
    done = ds.protect(
        in_thousands(both_sides), ds.Suppress(algorithm="optimal", cost="value", insiders=None, joint=False)
    )
    hidden = ~done.public.tables[0].shown
    assert (int(in_thousands(both_sides).value[hidden].sum()), int(hidden.sum())) == (value, cells)
    found = {tuple((codes - 1).tolist()) for codes in in_thousands(both_sides).codes[hidden]}
    assert found == (PATTERN | {(0, 1)} if both_sides else PATTERN)


def test_the_fewest_cells_for_both_sides_are_11():
    done = ds.protect(in_thousands(True), ds.Suppress(algorithm="optimal", cost="unity", insiders=None, joint=False))
    assert int((~done.public.tables[0].shown).sum()) == 11


# ---- card 003-01 ----------------------------------------------------------------------------------------------------


def test_least_information_moves_the_other_cells_as_stated():
    done = ds.protect(marked(), ds.Adjust(objective="mdi"))
    published = inside(done, INNER.shape)
    free = np.array([[(i, j) not in LEVELS and INNER[i, j] > 0 for j in range(9)] for i in range(4)])
    change = published[free] / INNER[free] - 1
    assert len(change) == 24
    assert (change.mean(), change.min(), change.max()) == pytest.approx((0.016, -0.020, 0.410), abs=5e-4)
    values, moved = (np.array([one[cell] for cell in LEVELS], float) for one in (INNER, published))
    found = fit(values, moved)
    statistics = (found.correlation, found.slope, found.variance_ratio)
    assert statistics == pytest.approx((0.976, 1.075, 1.214), abs=1e-3)


@pytest.mark.parametrize("shape", [(10, 10), (5, 5, 5)])
def test_the_heuristic_is_at_or_below_the_best_of_random_directions_and_grows_with_the_unsafe_share(shape):
    rng = np.random.default_rng(4)
    inner = rng.integers(1, 1000, shape)
    level = np.maximum((inner * rng.uniform(0.1, 0.5, shape)).astype(int), 1)
    order = rng.permutation(inner.size)
    found = []
    for share in (0.05, 0.1, 0.3):
        made = table(inner)
        for cell in order[: int(share * inner.size)].tolist():
            place = np.unravel_index(cell, shape)
            codes = tuple(f"{'abc'[k]}{i}" for k, i in enumerate(place))
            made = made.marked({codes: "U"}, protection=(int(level[place]), int(level[place])))
        system = build_system(made.assess())
        moves = limits_of_moves(
            system, most=None, limit=None, fixed="none", movable_zeros=False, weight=np.ones(len(system)), stretch=None
        )
        problem = proportional(system, interior(system), moves, False)
        best, _ = least_information(problem, moves, 0)
        drawn = [problem.fit(rng.random(len(moves.unsafe)) < 0.5).distance for _ in range(60)]
        assert best.distance <= np.percentile(drawn, 2.5) * 1.02
        found.append(best.distance)
    assert found == sorted(found)


# ---- card 003-04, interval publication ------------------------------------------------------------------------------

PRECISION = {
    "0": ([1, 11, 13, 36, 155, 329, 388], 933, 81.4),
    "0-0.5": ([0, 4, 2, 15, 35, 43, 50], 149, 13.0),
    "0.5-1": ([0, 0, 1, 0, 3, 3, 7], 14, 1.2),
    "1-2": ([0, 0, 0, 2, 5, 5, 7], 19, 1.7),
    "2-3": ([0, 0, 0, 0, 2, 2, 1], 5, 0.4),
    "3-4": ([0, 0, 0, 1, 0, 3, 2], 6, 0.5),
    "4-5": ([0, 0, 0, 0, 3, 0, 0], 3, 0.3),
    "5-7": ([0, 0, 0, 0, 1, 2, 0], 3, 0.3),
    "7-10": ([0, 0, 0, 3, 3, 1, 2], 9, 0.8),
    "10-15": ([0, 0, 0, 0, 0, 1, 1], 2, 0.2),
    "15-20": ([0, 0, 0, 0, 0, 0, 0], 0, 0.0),
    "20-30": ([0, 0, 0, 0, 0, 0, 1], 1, 0.1),
    ">30": ([0, 0, 0, 0, 1, 1, 0], 2, 0.2),
}


def test_the_precision_table_recomputes_the_printed_totals_and_shares():
    """One cell for each printed one, with a deviation in the middle of its class."""
    middle = [0, 0.25, 0.75, 1.5, 2.5, 3.5, 4.5, 6, 8.5, 12, 17, 25, 50]
    original, published, level = [], [], []
    for percent, (counts, _, _) in zip(middle, PRECISION.values(), strict=True):
        for number, count in enumerate(counts):
            original += [1000.0] * count
            published += [1000.0 + 10 * percent] * count
            level += [number] * count
    lines = deviation_classes(original, published, level)
    for line, (name, (counts, total, share)) in zip(lines, PRECISION.items(), strict=False):
        assert (line["class"], list(line["groups"].values()), line["total"]) == (name, counts, total)
        assert line["share"] == pytest.approx(share, abs=0.05)
    overall = lines[-1]
    assert (overall["total"], list(overall["groups"].values())) == (1146, [1, 15, 16, 57, 208, 390, 459])
    lost = sum(
        count
        for line in lines[:-1]
        for at, count in line["groups"].items()
        if line["class"] in ("10-15", "15-20", "20-30", ">30") or (line["class"] == "7-10" and at <= 4)
    )
    assert lost == 11
