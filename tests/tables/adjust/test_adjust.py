"""Adjustment: the 4 x 9 table of card 001 with its exact optima, limits, quality and bad input."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ParameterError, ProtectionError
from discreet.measures import fit
from discreet.model.arrays import NO_UPPER
from discreet.model.public import in_rows_of
from tests.tables.rounding.making import inside, table

INNER = np.array(
    [
        [167500, 317501, 1283751, 587501, 4490751, 3981001, 2442001, 1150000, 70000],
        [56250, 1487000, 172500, 667503, 1006253, 327500, 1683000, 1138250, 46000],
        [616752, 202750, 1899502, 1098751, 2172251, 3825251, 4372753, 300000, 787500],
        [0, 35000, 0, 16250, 0, 0, 65000, 0, 140000],
    ]
)
LEVELS = {(0, 8): 21000, (1, 0): 625, (1, 8): 7800, (2, 7): 40000, (3, 1): 10500, (3, 3): 4875, (3, 8): 42000}
PUBLISHED = {
    "min sum|y|": ([21000, 625, -7800, -40000, 10500, -4875, -42000], (0.98, 0.82, 0.70), 231350),
    "min L-Bnd": ([21003, -625, -7800, -40000, -16209, -8125, 51756], (0.95, 0.93, 0.94), 372286),
    "max L": ([21000, -937, -11700, 59884, -15750, -7312, -45185], (0.97, 1.20, 1.52), 416156),
    "min L": ([21000, -625, -11580, -40000, -15750, -7312, 54267], (0.95, 0.93, 0.95), 382318),
}


def marked(inner: np.ndarray = INNER, levels: dict[tuple[int, int], float] = LEVELS) -> ds.Table:
    made = table(inner)
    for (row, column), level in levels.items():
        made = made.marked({(f"a{row}", f"b{column}"): "U"}, protection=(level, level))
    return made.assess()


def halves() -> ds.Table:
    """The same table with one decimal, so that moves of half a unit are exact."""
    return (
        marked()
        .with_(value=marked().value * 10, decimals=1, assessment=None)
        .with_(manual_lower=marked().manual_lower * 10, manual_upper=marked().manual_upper * 10)
        .assess()
    )


def facts(release):
    return release.custodian.evidence[0].facts


def moves(release) -> list[int]:
    change = inside(release, INNER.shape) - INNER
    return [int(change[cell]) for cell in LEVELS]


def test_least_sum_of_moves_of_the_4_by_9_table():
    done = ds.protect(marked(), ds.Adjust(zeros="movable", most=1))
    assert facts(done)["l1"] == 231350
    assert facts(done)["proven"]
    assert moves(done) == [21000, 625, -7800, -40000, 10500, -4875, -42000]
    assert done.verify().holds


def test_fixed_margins_cost_no_more_there():
    done = ds.protect(marked(), ds.Adjust(zeros="movable", most=1, fixed="margins"))
    assert facts(done)["l1"] == 231350
    original = marked()
    public = in_rows_of(original, done.public.tables[0])
    above = (original.codes == 0).any(axis=1)
    assert np.array_equal(public.value[above], original.value[above])


def test_kept_zeros_cost_more():
    done = ds.protect(marked(), ds.Adjust(most=1))
    assert facts(done)["l1"] == 249250
    assert np.all(inside(done, INNER.shape)[INNER == 0] == 0)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_moves_have_the_published_statistics(name):
    move, printed, _ = PUBLISHED[name]
    values = np.array([INNER[cell] for cell in LEVELS], float)
    found = fit(values, values + move)
    assert (found.correlation, found.slope, found.variance_ratio) == pytest.approx(printed, abs=0.01)
    assert found.slope == pytest.approx(1 + found.shift, abs=1e-12)
    change = np.array(move, float)
    assert found.variance_ratio == pytest.approx(1 + 2 * found.shift + change.var() / values.var(), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "zeros", "least"), [*((n, "movable", p[2]) for n, p in PUBLISHED.items()), ("max L", "kept", 418030)]
)
def test_given_the_published_moves_the_rest_moves_as_little_as_published(name, zeros, least):
    move = PUBLISHED[name][0]
    made = marked(INNER, {cell: abs(m) for cell, m in zip(LEVELS, move, strict=True)})
    low, high = np.zeros(len(made), np.int64), np.full(len(made), NO_UPPER, np.int64)
    for cell, amount in zip(LEVELS, move, strict=True):
        row = made.row(v0=f"a{cell[0]}", v1=f"b{cell[1]}")
        (low if amount > 0 else high)[row] = made.value[row]  # nothing but the published direction is left
    done = ds.protect(
        made.with_(lower_bound=low, upper_bound=high), ds.Adjust(zeros=zeros, most=1, algorithm="directions")
    )
    assert facts(done)["l1"] == least


def test_38_of_128_directions_allow_the_mean_to_be_kept_with_half_a_level_more():
    level = np.array(list(LEVELS.values()), float)
    found = 0
    for up in product([False, True], repeat=7):
        least = np.where(up, level, -1.5 * level).sum()
        most = np.where(up, 1.5 * level, -level).sum()
        found += bool(least <= 0 <= most)
    assert found == 38


def test_compromise_has_the_least_shift_and_the_better_sign():
    done = ds.protect(halves(), ds.Adjust(objective="compromise", most=1.5, keep_mean="unsafe", zeros="movable"))
    assert facts(done)["shift"] == pytest.approx(-0.0707965, abs=1e-6)
    change = inside(done, INNER.shape) / 10 - INNER
    found = [float(change[cell]) for cell in LEVELS]
    assert found == [21000, -937.5, -11700, -40000, -15750, -7312.5, 54700]
    assert facts(done)["sum_of_moves"] == "384675.0"
    values = np.array([INNER[cell] for cell in LEVELS], float)
    stats = fit(values, values + found)
    assert (stats.correlation, stats.slope, stats.variance_ratio) == pytest.approx((0.952, 0.929, 0.952), abs=1e-3)
    assert done.verify().holds


def test_largest_shift_is_that_of_the_card():
    done = ds.protect(halves(), ds.Adjust(objective="correlation", most=1.5, keep_mean="unsafe", zeros="movable"))
    assert facts(done)["shift"] == pytest.approx(0.203276, abs=1e-6)


def test_exact_levels_and_a_kept_mean_together_are_infeasible_and_explained():
    wanted = ds.Adjust(objective="compromise", most=1, keep_mean="unsafe", zeros="movable")
    with pytest.raises(ProtectionError, match=r"cannot be protected together.*stand in the way") as caught:
        ds.protect(marked(), wanted)
    assert "Least that would do" in caught.value.details


def test_the_table_in_thousands():
    inner = [
        [167, 317, 1284, 587, 4490, 3981, 2442, 1150, 70],
        [57, 1487, 172, 667, 1006, 327, 1683, 1138, 46],
        [616, 202, 1899, 1098, 2172, 3825, 4372, 300, 787],
        [0, 36, 0, 16, 0, 0, 65, 0, 140],
    ]
    levels = {(0, 8): 21, (1, 0): 1, (1, 8): 7, (2, 7): 40, (3, 1): 10, (3, 3): 4, (3, 8): 40}
    given = marked(np.array(inner), levels)
    assert facts(ds.protect(given, ds.Adjust(zeros="movable", most=1)))["l1"] == 224
    assert facts(ds.protect(given, ds.Adjust(most=1)))["l1"] == 242


def test_the_largest_move_then_the_sum():
    flat = ds.protect(marked(), ds.Adjust(objective=("linf", "l1"), most=1))
    assert facts(flat)["linf"] == 42000
    assert flat.verify().holds


def test_squares_are_spread_over_more_cells():
    one, two = (ds.protect(marked(), ds.Adjust(objective=o, most=1)) for o in ("l1", "l2"))
    assert facts(two)["moved"] > facts(one)["moved"]
    assert np.sum((inside(two, INNER.shape) - INNER) ** 2) < np.sum((inside(one, INNER.shape) - INNER) ** 2)
    assert two.verify().holds


def test_three_way_tables_with_a_tenth_unsafe_stay_whole_and_additive():
    rng = np.random.default_rng(11)
    inner = np.rint(rng.lognormal(5, 1.2, (8, 7, 6))).astype(int)
    made = table(inner)
    cells = np.argwhere(rng.random(inner.shape) < 0.1)
    for i, j, k in cells.tolist():
        level = max(1, int(inner[i, j, k] * 0.15))
        made = made.marked({(f"a{i}", f"b{j}", f"c{k}"): "U"}, protection=(level, level))
    done = ds.protect(made.assess(), ds.Adjust(algorithm="directions"))
    assert done.verify().holds


@pytest.mark.parametrize(
    ("algorithm", "size", "programs"), [("auto", 8, False), ("auto", 4, True), ("optimal", 8, True)]
)
def test_integer_programs_of_large_tables_must_be_asked_for(algorithm, size, programs, monkeypatch):
    called = []
    monkeypatch.setattr(
        "discreet.tables.adjust.programs.Programs.best_directions", lambda *given: (called.append(1), (None, True))[1]
    )
    made = table(np.random.default_rng(3).integers(50, 500, (size, size, size)))
    made = made.marked({("a0", "b0", "c0"): "U", ("a1", "b1", "c1"): "U"}, protection=(9, 9)).assess()
    done = ds.protect(made, ds.Adjust(algorithm=algorithm))
    assert bool(called) == programs
    assert done.verify().holds


def test_flips_end_when_enough_work_was_done(monkeypatch):
    made = marked()
    far = facts(ds.protect(made, ds.Adjust(algorithm="directions")))
    monkeypatch.setattr("discreet.tables.adjust.directions.FLIP_WORK", 0)
    near = ds.protect(made, ds.Adjust(algorithm="directions"))
    assert near.verify().holds
    assert facts(near)["l1"] >= far["l1"]
    assert near.custodian.evidence[0].effort["linear_programs"] == 6


@pytest.mark.parametrize(("objective", "by_prices"), [("l1", False), ("l1", True), ("l2", True)])
def test_what_the_sum_must_be_at_least_is_in_the_evidence_and_the_summary(objective, by_prices, monkeypatch):
    if by_prices:
        monkeypatch.setattr("discreet.tables.adjust.programs.SIMPLEX_UP_TO", 50)
    rng = np.random.default_rng(3)
    made = table(rng.integers(50, 500, (6, 6, 6)))
    for k in range(6):
        made = made.marked({(f"a{k}", f"b{(k * 2) % 6}", f"c{k}"): "U"}, protection=(9 + k, 9 + k))
    done = ds.protect(made.assess(), ds.Adjust(objective=objective, algorithm="directions"))
    found = facts(done)
    least, gap = found[f"least_{objective}_with_directions"], found[f"gap_{objective}_with_directions"]
    assert 0 < least <= found[objective]
    assert gap == pytest.approx(1 - least / found[objective], abs=1e-6)
    assert gap <= 1e-3
    assert "with these directions" in done.summary()


def test_randomised_moves_differ_from_the_levels_and_repeat_with_the_key():
    wanted = ds.Adjust(randomised=True, insecure_seed=3)
    one, two = (ds.protect(marked(), wanted) for _ in range(2))
    assert moves(one) == moves(two)
    assert all(abs(m) >= level for m, level in zip(moves(one), LEVELS.values(), strict=True))
    assert sum(abs(m) == level for m, level in zip(moves(one), LEVELS.values(), strict=True)) <= 1


def test_moves_by_exactly_the_level_are_warned_of():
    said = ds.protect(marked(), ds.Adjust(most=1)).summary()
    assert "7 of 7 unsafe cells moved by exactly the level: whoever knows the level is left with two" in said
    drawn = ds.protect(marked(), ds.Adjust(randomised=True, insecure_seed=3)).summary()
    assert "exactly the level" not in drawn


def test_limits_are_kept_or_named():
    done = ds.protect(marked(), ds.Adjust(limit=60, zeros="movable"))
    change = np.abs(inside(done, INNER.shape) - INNER)
    others = np.array([[(i, j) not in LEVELS for j in range(9)] for i in range(4)])
    assert np.all(change[others] <= 0.6 * INNER[others])
    with pytest.raises(ProtectionError, match=r"the limits of .*v0=a3.* stand in the way"):
        ds.protect(marked(), ds.Adjust(limit=1, most=1))


def test_a_level_above_the_value_goes_up_or_to_zero():
    given = marked(np.array([[5, 60], [70, 80]]), {(0, 0): 9})
    done = ds.protect(given, ds.Adjust())
    assert inside(done, (2, 2))[0, 0] >= 14 or inside(done, (2, 2))[0, 0] == 0


def test_all_cells_unsafe():
    inner = np.array([[50, 60], [70, 80]])
    given = marked(inner, {(i, j): 5 for i in range(2) for j in range(2)})
    done = ds.protect(given, ds.Adjust())
    assert np.all(np.abs(inside(done, (2, 2)) - inner) >= 5)


def test_a_fixed_unsafe_cell_is_refused():
    made = table(INNER).marked({("Total", "b8"): "U"}, protection=(10, 10)).assess()
    with pytest.raises(ProtectionError, match=r"1 unsafe cell cannot be protected, being fixed: 'v0=Total, v1=b8'"):
        ds.protect(made, ds.Adjust(fixed="margins"))


def test_no_effort_still_finds_moves():
    assert ds.protect(marked(), ds.Adjust(effort=0, most=1)).verify().holds


@pytest.mark.parametrize(
    "options",
    [{"most": 0.5}, {"limit": -1}, {"randomised": True, "most": 1}, {"effort": -1}, {"keep_mean": (3,)}],
)
def test_impossible_parameters_are_refused(options):
    with pytest.raises(ParameterError):
        ds.Adjust(**options)


def test_the_checker_refuses_moves_that_miss_a_level():
    from dataclasses import replace

    from discreet.verify import check_release

    done = ds.protect(marked(), ds.Adjust(most=1))
    other = done.custodian.tables.tables[0].value
    lying = replace(done.custodian, published=(other,))
    verdict = check_release(lying, lying.public())
    assert any("moves less than its level" in str(r) for r in verdict.refused)
