"""Microaggregated swapping: what stays, what moves, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.records.cell_pieces import grid_unit, piece_sums, whole_weights

KEY = ds.Key(bytes(range(32)))


def homes(rows: int = 240, **roles: object) -> ds.Microdata:
    draw = np.random.default_rng(3)
    table = pa.table(
        {
            "rent": np.round(draw.lognormal(6, 0.6, rows), -1).astype(int),
            "food": pa.array(
                [None if i % 9 == 0 else float(v) for i, v in enumerate(draw.uniform(0, 90, rows).round(2))]
            ),
            "w": draw.gamma(4, 200, rows) + 50,
            "area": draw.choice(["n", "s", "w"], rows),
            "size": draw.choice([1, 2], rows),
        }
    )
    return ds.Microdata(table, **{"numeric": ["rent", "food"], "weight": "w", **roles})


def weighted_sums(columns: dict, name: str) -> dict:
    """Sums of cells in exact arithmetic, and the sizes that they are made of."""
    found: dict = {}
    for value, weight, *cell in zip(columns[name], columns["w"], columns["area"], columns["size"], strict=True):
        if value is not None:
            total, size = found.get(tuple(cell), (Fraction(0), Fraction(0)))
            part = Fraction(value) * Fraction(weight)
            found[tuple(cell)] = (total + part, size + abs(part))
    return found


@pytest.mark.parametrize("dither", [None, 0, 3.5])
def test_weighted_means_of_cells_stay_and_weights_too(dither):
    data = homes()
    method = ds.MicroaggregatedSwap(cells=["area", "size"], dither=dither)
    release = ds.protect(data, method, key=KEY, keep_order=True)
    assert release.verify().holds
    shown, old = release.public.records.shown(), data.source.to_pydict()
    assert shown["w"] == old["w"]
    for name in ("rent", "food"):
        assert [value is None for value in shown[name]] == [value is None for value in old[name]]
        before, after = weighted_sums(old, name), weighted_sums(shown, name)
        assert before.keys() == after.keys()
        for cell, (total, size) in before.items():
            assert abs(after[cell][0] - total) <= size * Fraction(1, 10**12)
    statement = release.custodian.evidence[0].claim.statement
    assert "safe" not in statement
    assert "6 cells of area, size" in statement


def test_strata_make_cells_and_the_order_of_rows_is_nothing():
    data = homes(strata=["area"])
    mixed = data.with_(source=data.source.take(pa.array(np.random.default_rng(5).permutation(240))))
    one, two = (ds.protect(d, ds.MicroaggregatedSwap(["rent"], ["size"]), key=KEY) for d in (data, mixed))
    assert one.public.records.columns.equals(two.public.records.columns)
    assert list(one.custodian.evidence[0].facts["by"]) == ["size", "area"]


def test_cells_do_not_depend_on_each_other():
    """What a cell gets is the same whether the other cells are there or not."""
    data = homes(identifier="id")
    data = data.with_(source=data.source.append_column("id", pa.array([f"h{i}" for i in range(240)])))
    areas = np.array(data.source["area"].to_pylist())
    alone = data.with_(source=data.source.filter(pa.array(areas == "n")))
    method = ds.MicroaggregatedSwap(["rent"], ["area"], dither=10)
    whole, part = (ds.protect(d, method, key=KEY, keep_order=True).public.records.shown() for d in (data, alone))
    assert [v for v, a in zip(whole["rent"], whole["area"], strict=True) if a == "n"] == part["rent"]


def test_equal_weights_only_change_places():
    data = ds.Microdata(pa.table({"x": list(range(0, 60, 3)), "w": [7.25] * 20}), numeric="x", weight="w")
    release = ds.protect(data, ds.MicroaggregatedSwap(dither=0), key=KEY)
    assert sorted(release.public.records.shown()["x"]) == [float(x) for x in range(0, 60, 3)]
    none = ds.Microdata(pa.table({"x": list(range(0, 60, 3))}), numeric="x")
    release = ds.protect(none, ds.MicroaggregatedSwap(dither=0), key=KEY)
    assert sorted(release.public.records.shown()["x"]) == [float(x) for x in range(0, 60, 3)]
    assert release.verify().holds


@given(
    st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(1, 10**4)), min_size=1, max_size=12),
    st.integers(0, 99),
)
@settings(max_examples=80, deadline=None)
def test_pieces_are_means_of_the_line(records, seed):
    """Against the line written out: every value as often as its weight, cut into groups."""
    records = [(value, weight % 7 + 1) for value, weight in records]
    values, weights = (np.array(column, np.int64) for column in zip(*records, strict=True))
    piece = np.random.default_rng(seed).permutation(len(values))
    line = [value for value, weight in sorted(records) for _ in range(weight)]
    expected, start = {}, 0
    for record in np.argsort(piece):
        expected[int(record)] = sum(line[start : start + weights[record]])
        start += weights[record]
    found = piece_sums(values, weights, piece)
    assert [int(one) for one in found] == [expected[i] for i in range(len(values))]
    wide = piece_sums(values, weights.astype(object) * 2**70, piece)
    assert [int(one) for one in wide] == [expected[i] * 2**70 for i in range(len(values))]


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=9))
def test_weights_become_whole_numbers_in_the_same_proportions(weights):
    whole = [int(one) for one in whole_weights(np.array(weights))]
    assert all(Fraction(w) * whole[0] == Fraction(weights[0]) * one for w, one in zip(weights, whole, strict=True))


def test_the_unit_of_most_values_counts():
    tens = np.array([100, 250, 30, 470, 80, 990, 10, 20, 13])
    assert grid_unit(tens) == 10
    assert grid_unit(np.array([0, 0, 0, 0, 7, 11, 13])) == 1
    assert grid_unit(np.zeros(3, np.int64)) == 1


def test_what_custodians_should_know_is_noted():
    notes = ds.protect(homes(), ds.MicroaggregatedSwap(["rent", "food"], dither=1), key=KEY).custodian.log["notes"]
    assert any("'rent' lie on a grid of 10, and dither is smaller" in note for note in notes)
    assert not any("'food' lie on a grid" in note for note in notes)
    assert any("27 fields of 'food' are empty and stayed so" in note for note in notes)
    heavy = ds.Microdata(pa.table({"x": range(12), "w": [1.0] * 11 + [9.0]}), numeric="x", weight="w")
    notes = ds.protect(heavy, ds.MicroaggregatedSwap(), key=KEY).custodian.log["notes"]
    assert any("In 1 cell one record has more than 30% of the weight" in note for note in notes)


def test_codes_for_unknown_stay_and_are_never_made():
    table = pa.table({"x": [99, 99, *range(0, 40, 2)]})
    data = ds.Microdata(table, numeric="x", missing_codes={"x": ["99"]})
    release = ds.protect(data, ds.MicroaggregatedSwap(), key=KEY, keep_order=True)
    assert release.public.records.shown()["x"][:2] == [99, 99]
    assert release.verify().holds
    # A piece over an 8 and a 10 has the mean 9, which stands for "unknown" here.
    made = pa.table({"x": [8] * 6 + [10] * 6, "w": [2.0, 2.0, 2.0, 2.0, 2.0, 1.0] * 2})
    seen = set()
    for version in range(1, 9):
        data = ds.Microdata(made, numeric="x", weight="w", missing_codes={"x": ["9"]})
        try:
            ds.protect(data, ds.MicroaggregatedSwap(dither=0, version=version), key=KEY)
        except InputError as error:
            seen.add(str(error))
    assert any("A new value of column 'x' is a code for \"unknown\"" in text for text in seen)


def refused(error: type[Exception], match: str, table: dict, **parameters: object) -> None:
    data = ds.Microdata(pa.table(table), **parameters.pop("roles", {}))
    with pytest.raises(error, match=match):
        ds.protect(data, ds.MicroaggregatedSwap(**parameters), key=KEY)


X = list(range(20))


def test_bad_columns_and_weights_are_refused_in_words():
    refused(InputError, "'t' holds string, not numbers", {"t": list("abcdefghij") * 2}, columns=["t"])
    refused(InputError, "no column 'nope'", {"x": X}, columns=["nope"])
    refused(InputError, "no column 'nope'", {"x": X}, columns=["x"], cells=["nope"])
    refused(InputError, "no column 'nope'", {"x": X}, columns=["x"], weight="nope")
    refused(NeedsError, "which columns it is about", {"x": X})
    refused(InputError, "There is no value in 'x'", {"x": pa.array([None] * 9, pa.float64())}, columns=["x"])
    for wrong in (0.0, -2.0, None):
        weights = {"x": X, "w": [wrong] * 2 + [1.0] * 18}
        refused(InputError, "'w' is not above 0 in 2 records", weights, columns=["x"], weight="w")
    refused(InputError, "Weight 't' holds string", {"x": X, "t": ["a"] * 20}, columns=["x"], weight="t")
    refused(
        ParameterError, "'x' cannot change and be a cell or a weight", {"x": X}, cells=["x"], roles={"numeric": "x"}
    )
    refused(ParameterError, "names a column twice", {"x": X}, columns=["x"], cells=["a", "a"])
    roles = {"identifier": "i"}
    refused(
        ParameterError, "'i' is of the role 'identifier'", {"x": X, "i": X}, columns=["x"], cells=["i"], roles=roles
    )


def test_cells_that_are_too_small_or_all_the_same_are_named():
    table = {"x": X, "area": ["n"] * 12 + ["s"] * 6 + ["w", "o"]}
    refused(ProtectionError, "3 cells have fewer than 10 values of 'x': area '", table, columns=["x"], cells=["area"])
    refused(ProtectionError, r"area 's' \(6\)", table, columns=["x"], cells=["area"])
    refused(
        ProtectionError,
        r"1 cell has fewer than 2 values of 'x': the whole file \(1\)",
        {"x": [1]},
        columns=["x"],
        least=2,
    )
    many = {"x": X, "area": [str(i // 2) for i in range(20)]}
    refused(ProtectionError, "and 7 more", many, columns=["x"], cells=["area"])
    zeros = {"x": [0] * 10 + X[:10], "area": ["n"] * 10 + ["s"] * 10}
    refused(
        ProtectionError, "All values of 'x' are the same in 1 cell.*: area 'n'", zeros, columns=["x"], cells=["area"]
    )
    refused(ProtectionError, "All values of 'x' are the same", {"x": [3.5] * 20}, columns=["x"])


def test_numbers_that_are_too_large_are_refused():
    refused(InputError, "'x' holds numbers too large to be dithered", {"x": [2**60 + x for x in X]}, columns=["x"])
    refused(InputError, "too large to stand beside", {"x": [2**60 + x for x in X]}, columns=["x"], dither=0)


@pytest.mark.parametrize("weights", [[1e300] * 19 + [1e-300], [2**61] * 20, [3] * 10 + [4] * 10])
def test_weights_of_any_size(weights):
    data = ds.Microdata(pa.table({"x": X, "w": weights}), numeric="x", weight="w")
    release = ds.protect(data, ds.MicroaggregatedSwap(), key=KEY)
    assert release.verify().holds
    shown = release.public.records.shown()
    before, after = (
        sum(Fraction(y) * Fraction(w) for y, w in zip(values, given, strict=True))
        for values, given in ((X, weights), (shown["x"], shown["w"]))
    )
    assert abs(after - before) <= before * Fraction(1, 10**12)


def test_the_same_draws_do_not_cut_twice():
    data, method = ds.Microdata(pa.table({"x": X}), numeric="x"), ds.MicroaggregatedSwap(dither=0)
    with pytest.raises(ParameterError, match=r"Values of column 'x' .* twice"):
        ds.protect(data, [method, method], key=KEY)


def test_a_recipe_cuts(tmp_path):
    arrow_csv.write_csv(homes().source, tmp_path / "homes.csv")
    (tmp_path / "recipe.toml").write_text(
        'version = 1\n[data]\nfile = "homes.csv"\nnumeric = ["rent"]\nweight = "w"\nsensitive = ["food"]\n[records]\n'
        '[[protect]]\nmethod = "microaggregated_swap"\ncolumns = ["rent"]\ncells = ["area"]\nleast = 20\n'
        '[output]\ndirectory = "out"\n'
    )
    run = ds.run_recipe(tmp_path / "recipe.toml")
    assert run.verdict.holds
    assert run.release.custodian.evidence[0].facts["smallest"] >= 20
