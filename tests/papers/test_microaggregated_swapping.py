"""Microaggregated swapping: the worked example, its reversal, and what stays (card 003-27)."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import ProtectionError
from discreet.model.arrays import Floats
from discreet.records.cell_pieces import piece_sums, whole_weights

KEY = ds.Key(bytes(range(32)))
VALUES, WEIGHTS = [32, 40, 25], [2, 4, 3]
WORKED = {
    "123": (32, 40, 25),
    "132": (40, 36, 25),
    "213": (25, 40, 29.6667),
    "312": (25, 32.25, 40),
    "231": (40, 26.75, 37.3333),
    "321": (36, 26.75, 40),
}


def pieces_of(order: str) -> np.ndarray:
    """The piece of each record: the i-th in the order of the values takes piece ``order[i]``."""
    piece = np.empty(3, np.int64)
    piece[np.argsort(VALUES)] = [int(one) - 1 for one in order]
    return piece


@pytest.mark.parametrize("order", WORKED)
def test_the_worked_example_in_all_orders(order):
    """Check 1: 231 is the one in print, 40.00, 26.75, 37.33; the weighted sum is 299 in all."""
    sums = piece_sums(np.array(VALUES), np.array(WEIGHTS), pieces_of(order))
    assert (sums / np.array(WEIGHTS)).tolist() == pytest.approx(WORKED[order], abs=5e-5)
    assert sums.sum() == 299


def test_the_worked_example_written_out():
    """The records of the example as often as their weight: 40 40 | 25 25 25 32 | 32 40 40, by piece and record."""
    line = [25, 25, 25, 32, 32, 40, 40, 40, 40]
    groups = [line[0:4], line[4:7], line[7:9]]  # as long as the weights 4, 3, 2
    assert [sum(group) / len(group) for group in groups] == pytest.approx([26.75, 112 / 3, 40])


def possible(masked: list[float], weights: list[float], unit: float | None) -> list[list[float]]:
    """What a reader finds who tries all orders of the weights: values of the records that fit the masked ones.

    Sorted by masked value, records give the cuts. For a guessed order of the same weights the values before solve a
    linear system; they must ascend, and lie on the grid where there is one.
    """
    shown, weight = np.argsort(masked), np.array(weights)
    ends = np.cumsum(weight[shown])
    found = []
    for order in permutations(range(len(masked))):
        steps = np.cumsum(weight[list(order)])
        top, low = np.minimum.outer(ends, steps), np.maximum.outer(ends - weight[shown], steps - weight[list(order)])
        lengths = np.maximum(top - low, 0)
        if np.linalg.cond(lengths) > 1e9:
            continue
        values = np.linalg.solve(lengths, np.array(masked)[shown] * weight[shown])
        near = values if unit is None else np.round(values / unit) * unit
        if np.all(np.diff(values) >= -1e-6) and np.allclose(values, near, rtol=0, atol=1e-5):
            found.append([float(near[order.index(i)]) for i in range(len(masked))])
    return found


def test_without_dither_the_worked_example_comes_back():
    """Check 9, first half (W1): of six orders only the true one fits whole numbers, and gives every value away."""
    sums = piece_sums(np.array(VALUES), np.array(WEIGHTS), pieces_of("231"))
    found = possible((sums / np.array(WEIGHTS)).tolist(), WEIGHTS, 1)
    assert found == [[32, 40, 25]]


def cells(many: int, size: int, seed: int) -> pa.Table:
    """Rents in tens and weights with decimals, as in the card."""
    draw = np.random.default_rng(seed)
    rows = many * size
    return pa.table(
        {
            "rent": np.round(draw.lognormal(6, 0.6, rows), -1),
            "w": np.round(draw.gamma(4, 200, rows) + 50, 4),
            "cell": np.repeat([f"c{i}" for i in range(many)], size),
        }
    )


def protected(table: pa.Table, **parameters: object) -> dict:
    data = ds.Microdata(table, numeric="rent", weight="w")
    method = ds.MicroaggregatedSwap(["rent"], ["cell"], **parameters)
    return ds.protect(data, method, key=KEY, keep_order=True).public.records.shown()


def test_dither_leaves_more_than_the_true_order():
    """Check 9, second half: 20 cells of five records; without it, most cells come back whole.

    The others have a piece that holds two values whole, of which only the sum is known.
    """
    table = cells(20, 5, 12)
    truth = table["rent"].to_pylist()
    plain, dithered = protected(table, least=5, dither=0), protected(table, least=5)
    given_away = 0
    for start in range(0, 100, 5):
        rows = slice(start, start + 5)
        found = possible(plain["rent"][rows], plain["w"][rows], 10)
        given_away += bool(found) and all(values == truth[rows] for values in found)
        assert len(possible(dithered["rent"][rows], dithered["w"][rows], None)) >= 2
        before, after = (
            sum(Fraction(y) * Fraction(w) for y, w in zip(values[rows], dithered["w"][rows], strict=True))
            for values in (truth, dithered["rent"])
        )
        assert abs(after - before) <= before * Fraction(1, 10**12)
    assert given_away == 14


def test_weighted_means_stay_for_weights_that_are_not_whole():
    """Check 2."""
    table = cells(8, 25, 13)
    weights = np.random.default_rng(1).gamma(4, 200, 200) + 50
    table = table.set_column(1, "w", pa.array(weights))
    shown = protected(table, dither=0)
    for start in range(0, 200, 25):
        rows = slice(start, start + 25)
        before, after = (
            sum(Fraction(y) * Fraction(w) for y, w in zip(values[rows], shown["w"][rows], strict=True))
            for values in (table["rent"].to_pylist(), shown["rent"])
        )
        assert abs(after - before) <= before * Fraction(1, 10**12)


def test_equal_weights_keep_the_values():
    """Check 3."""
    table = cells(3, 20, 14).set_column(1, "w", pa.array([812.3847] * 60))
    shown = protected(table, dither=0)
    for start in range(0, 60, 20):
        rows = slice(start, start + 20)
        assert sorted(shown["rent"][rows]) == sorted(table["rent"].to_pylist()[rows])


def test_a_cell_of_one_is_refused():
    """Check 4."""
    table = cells(1, 12, 15).set_column(2, "cell", pa.array(["a"] * 11 + ["b"]))
    with pytest.raises(ProtectionError, match=r"1 cell has fewer than 2 values of 'rent': cell 'b' \(1\)"):
        protected(table, least=2)


def masked_cell(many: int, draw: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """A cell of the stand-in: values, weights, and masked values."""
    values = np.round(draw.lognormal(6, 0.6, many), -1).astype(np.int64)
    weights = draw.gamma(4, 200, many) + 50
    whole = whole_weights(np.round(weights, 4))
    sums = piece_sums(values, whole, draw.permutation(many))
    return values.astype(float), weights, np.array([int(s) / int(w) for s, w in zip(sums, whole, strict=True)])


def deciles(values: Floats, weights: Floats) -> Floats:
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    return values[order][np.searchsorted(share, np.arange(1, 10) / 10)]


def test_deciles_are_nearer_in_larger_cells():
    """Check 5: relative differences of weighted deciles on the stand-in of the card."""
    draw = np.random.default_rng(16)
    stated = {20: 0.043, 60: 0.013, 150: 0.005, 300: 0.003, 1000: 0.001}
    found = {}
    for many in stated:
        runs = []
        for _ in range(max(4000 // many, 12)):
            old, weights, new = masked_cell(many, draw)
            runs.append(np.mean(np.abs(deciles(new, weights) / deciles(old, weights) - 1)))
        found[many] = float(np.mean(runs))
        assert found[many] == pytest.approx(stated[many], rel=0.35, abs=0.0006)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_masked_values_know_nothing_of_records_within_a_cell():
    """Check 6: 200 runs."""
    draw = np.random.default_rng(17)
    runs = [masked_cell(50, draw) for _ in range(200)]
    assert np.mean([abs(np.corrcoef(old, new)[0, 1]) for old, _, new in runs]) < 3 / 50**0.5
    assert abs(np.mean([np.corrcoef(old, new)[0, 1] for old, _, new in runs])) < 0.05


def test_spread_stays_nearly_in_a_household_survey():
    """Card on the household survey: range and mean variation are kept, or nearly."""
    draw = np.random.default_rng(18)
    variation, ranges = [], []
    for _ in range(40):
        old, _, new = masked_cell(200, draw)
        variation.append(np.abs(new - new.mean()).mean() / np.abs(old - old.mean()).mean())
        ranges.append((new.max() - new.min()) / (old.max() - old.min()))
    assert np.mean(variation) == pytest.approx(1, abs=0.03)
    assert 0.9 < np.mean(ranges) <= 1


def test_means_of_sensitive_columns_stay_in_every_cell_of_the_coarser_keys():
    """Card on the household survey, check 5 (G2): to 1e-9, with the usual dither, for all cells of the public tier."""
    draw = np.random.default_rng(19)
    rows = 1500
    zone = draw.choice(["N", "C", "S"], rows)
    kind = draw.choice(["single", "couple"], rows)
    table = pa.table(
        {
            "rent": np.round(draw.lognormal(6, 0.6, rows), 2),
            "w": draw.gamma(4, 200, rows) + 50,
            "zone": zone,
            "kind": kind,
        }
    )
    data = ds.Microdata(table, sensitive="rent", weight="w", keys=["zone", "kind"])
    shown = ds.protect(
        data, ds.MicroaggregatedSwap(["rent"], ["zone", "kind"]), key=KEY, keep_order=True
    ).public.records.shown()
    moved = 0
    for cell in {*zip(zone.tolist(), kind.tolist(), strict=True)}:
        inside = [i for i in range(rows) if (zone[i], kind[i]) == cell]
        weights = np.array(shown["w"])[inside]
        before, after = (np.array(values)[inside] for values in (table["rent"].to_pylist(), shown["rent"]))
        assert np.average(after, weights=weights) == pytest.approx(np.average(before, weights=weights), rel=1e-9)
        moved += int((before != after).sum())
    assert moved > 0.9 * rows
    assert shown["w"] == table["w"].to_pylist()
    assert shown["zone"] == zone.tolist()
