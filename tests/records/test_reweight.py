"""Weights for published designs: what they add up to, whom they tell nothing of, and what is refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError

KEY = ds.Key(bytes(range(32)))
SIZES = {"a": 1000, "b": 2000, "c": 10_000, "d": 7000}
EACH = 60
DRAW = ds.Pram({"area": "4E(0.7)"}, codes={"area": list("abcd")})


@cache
def table() -> pa.Table:
    draw = np.random.default_rng(3)
    area = np.repeat(list(SIZES), EACH)
    weight = [SIZES[code] / EACH for code in area]
    size = np.round(50 + draw.lognormal(2.3, 0.9, len(area)), 1)
    return pa.table({"area": area, "w": weight, "x": draw.integers(0, 50, len(area)), "size": size})


def people(source: pa.Table | None = None, **roles: object) -> ds.Microdata:
    return ds.Microdata(source or table(), weight="w", numeric=["x", "size"], keys=["area"], **roles)


def released(data: ds.Microdata, *methods: ds.Method) -> dict[str, list]:
    release = ds.protect(data, *methods, key=KEY, keep_order=True)
    verdict = release.verify()
    assert verdict.holds, verdict.refused
    return release.public.records.shown()


def with_weights(weights: object) -> pa.Table:
    return table().set_column(1, "w", pa.array(weights))


def test_recalculated_weights_share_every_population():
    shown = released(people(), DRAW, ds.Reweight(["area"]))
    counts = Counter(shown["area"])
    assert set(zip(shown["area"], shown["w"], strict=True)) == {
        (code, float(Fraction(SIZES[code] / EACH) * EACH / counts[code])) for code in SIZES
    }
    assert sum(shown["w"]) == pytest.approx(20_000)
    assert counts["a"] != EACH


def test_copied_weights_are_those_of_the_published_group():
    shown = released(people(), DRAW, ds.Reweight(["area"], how="copy"))
    assert all(weight == SIZES[code] / EACH for code, weight in zip(shown["area"], shown["w"], strict=True))


def test_stated_populations_and_clusters():
    half = {code: size / 4 for code, size in SIZES.items()}
    stated = released(people(), DRAW, ds.Reweight(["area"], population=half, times=4))
    assert stated["w"] == [SIZES[code] / Counter(stated["area"])[code] for code in stated["area"]]


def test_designs_of_several_columns():
    part = table().append_column("part", pa.array(["u", "v"] * 120))
    draws = ds.Pram({"area": "4E(0.7)", "part": "2E(0.6)"}, codes={"area": list("abcd"), "part": ["u", "v"]})
    shown = released(people(part), draws, ds.Reweight(["area", "part"]))
    groups = Counter(zip(shown["area"], shown["part"], strict=True))
    for code, half, weight in zip(shown["area"], shown["part"], shown["w"], strict=True):
        assert weight == float(Fraction(SIZES[code] / EACH) * 30 / groups[code, half])


def test_weights_of_sizes():
    weights = 30_000 / (240 * table()["size"].to_numpy())
    data = people(with_weights(weights))
    shown = released(data, ds.Ipso(["size"], given=["x"]), ds.Reweight(size="size", least_size=50.0))
    sizes = np.maximum(shown["size"], 50)
    assert np.allclose(np.array(shown["w"]) * 240 * sizes, 30_000)
    stated = released(data, ds.Ipso(["size"], given=["x"]), ds.Reweight(size="size", total=15_000, least_size=50.0))
    assert np.allclose(np.array(stated["w"]) * 2, shown["w"])


def test_whole_weights_and_the_order_of_rows():
    whole = with_weights([int(w) for w in table()["w"].to_pylist()])
    mixed = whole.take(pa.array(np.random.default_rng(1).permutation(len(whole))))
    one, two = (ds.protect(people(t), DRAW, ds.Reweight(["area"]), key=KEY).public.records for t in (whole, mixed))
    assert one.columns.equals(two.columns)
    assert str(one.columns["w"].type) == "double"
    assert one.info["w"].altered
    assert one.info["w"].role == "weight"


def test_adjusted_weights():
    draw = np.random.default_rng(2)
    adjusted = people(with_weights(np.array(table()["w"]) * draw.uniform(0.8, 1.3, 240)))
    with pytest.raises(InputError, match=r"Weights differ within 4 groups .area 'a'; area 'b'"):
        ds.protect(adjusted, DRAW, ds.Reweight(["area"]), key=KEY)
    with pytest.raises(InputError, match="the weight to copy is not known"):
        ds.protect(adjusted, DRAW, ds.Reweight(["area"], how="copy"), key=KEY)
    dropped = released(adjusted, DRAW, ds.Reweight(["area"], factors="drop"))
    assert len(set(zip(dropped["area"], dropped["w"], strict=True))) == 4
    release = ds.protect(adjusted, DRAW, ds.Reweight(["area"], factors="keep"), key=KEY)
    assert release.verify().holds
    kept = release.public.records.shown()
    for code in SIZES:
        sums = [sum(w for w, a in zip(one["w"], one["area"], strict=True) if a == code) for one in (dropped, kept)]
        assert sums[0] == pytest.approx(sums[1])
    assert "Adjustments stay with their records" in release.custodian.log["notes"][-1]
    claim = release.custodian.evidence[1].claim
    assert any("every record keeps its own adjustment" in words for words in claim.not_considered)


def test_adjustments_that_tell_the_group_are_refused():
    """Two classes of non-response in every stratum, with other factors in each: they would name the stratum."""
    factors = [(1.1 if i % 3 else 0.8) + 0.01 * (i // EACH) for i in range(240)]
    adjusted = people(with_weights(np.array(table()["w"]) * factors))
    with pytest.raises(ProtectionError, match="240 records have an adjustment that only records of one group have"):
        ds.protect(adjusted, DRAW, ds.Reweight(["area"], factors="keep"), key=KEY)


def test_groups_without_a_record():
    merge = ds.Recode("area", map={"a": "b"})
    with pytest.raises(InputError, match=r"No record is published in 1 group .area 'a'.*weights would not add up"):
        ds.protect(people(), merge, ds.Reweight(["area"]), key=KEY)
    release = ds.protect(people(), merge, ds.Reweight(["area"], empty="spread"), key=KEY)
    assert release.verify().holds
    assert sum(release.public.records.shown()["w"]) == pytest.approx(20_000)
    assert any("5.000% of the population, of groups without a record" in n for n in release.custodian.log["notes"])
    copied = ds.protect(people(), merge, ds.Reweight(["area"], how="copy"), key=KEY)
    assert copied.verify().holds
    assert any("weights do not add up to them" in note for note in copied.custodian.log["notes"])


def test_published_values_that_nobody_had_are_named():
    other = ds.Recode("area", map={"a": "west", "b": "west"})
    for method in (ds.Reweight(["area"], how="copy"), ds.Reweight(["area"])):
        with pytest.raises(InputError, match=r"1 group is published that no original record is in.*area 'west'"):
            ds.protect(people(), other, method, key=KEY)
    population = {"west": 3000, "c": 10_000, "d": 7000}
    shown = released(people(), other, ds.Reweight(["area"], population=population))
    assert set(zip(shown["area"], shown["w"], strict=True)) == {("west", 25.0), ("c", 10_000 / 60), ("d", 7000 / 60)}


def test_weights_that_would_stay_are_refused():
    with pytest.raises(ProtectionError, match="The new weights are those of before, or a multiple of them: 'area'"):
        ds.protect(people(), ds.Reweight(["area"]), key=KEY)
    population = {code: 3 * size for code, size in SIZES.items()}
    with pytest.raises(ProtectionError, match="or a multiple of them"):
        ds.protect(people(), ds.Reweight(["area"], population=population), key=KEY)


def with_a_gap(w):
    """The old weights of all records but two: a gap and a zero."""
    return [None, 0.0, *w.tolist()[2:]]


@pytest.mark.parametrize("copy", [lambda w: w, lambda w: w * 3, lambda w: 1 / w, with_a_gap])
def test_columns_that_tell_the_old_weights_are_refused(copy):
    telling = table().append_column("fpc", pa.array(copy(table()["w"].to_numpy())))
    with pytest.raises(ProtectionError, match="Column 'fpc' is a multiple of the old weights, or of one by them"):
        ds.protect(people(telling), DRAW, ds.Reweight(["area"]), key=KEY)


def test_columns_that_tell_the_old_weights_of_some_records_are_refused():
    weights = table()["w"].to_pylist()
    telling = table().append_column("fpc", pa.array([w if row % 7 else None for row, w in enumerate(weights)]))
    with pytest.raises(ProtectionError, match="Column 'fpc' is a multiple of the old weights, or of one by them"):
        ds.protect(people(telling), DRAW, ds.Reweight(["area"]), key=KEY)
    of_one_area = [1.0 if w == weights[0] else None for w in weights]
    harmless = table().append_column("fpc", pa.array(of_one_area))
    assert released(people(harmless), DRAW, ds.Reweight(["area"]))["w"]


def test_later_steps_must_leave_the_design_alone():
    again = ds.Pram({"area": "4E(0.9)"}, codes={"area": list("abcd")}, version=2)
    with pytest.raises(ParameterError, match="The new weights do not fit 'area', changed by a later step"):
        ds.protect(people(), DRAW, ds.Reweight(["area"]), again, key=KEY)
    assert released(people(), DRAW, ds.Reweight(["area"]), ds.RankSwap(["x"], 0.2))["w"]


def test_saved_and_loaded(tmp_path):
    from discreet.methods.registry import method_from_record

    method = ds.Reweight(["area"], population={code: size / 2 for code, size in SIZES.items()}, times=2)
    assert method_from_record(method.record()) == method
    release = ds.protect(people(), DRAW, method, key=KEY)
    release.save(tmp_path / "out")
    assert ds.load(tmp_path / "out").verify().holds
    assert ds.check_folder(tmp_path / "out").holds


def test_recipes_know_it(tmp_path):
    """Synthetic sizes and the weights that follow from them, from a csv file."""
    from pyarrow import csv

    csv.write_csv(with_weights(30_000 / (240 * table()["size"].to_numpy())), tmp_path / "people.csv")
    recipe = """
version = 1
[data]
file = "people.csv"
numeric = ["x", "size"]
keys = ["area"]
weight = "w"
[records]
name = "people"
[[protect]]
method = "ipso"
columns = ["size"]
given = ["x", "area"]
[[protect]]
method = "reweight"
size = "size"
least_size = 50.0
[output]
directory = "out"
"""
    (tmp_path / "recipe.toml").write_text(recipe)
    done = ds.run_recipe(tmp_path / "recipe.toml")
    assert done.verdict.holds
    shown = ds.load(tmp_path / "out").public.records.shown()
    assert np.allclose(np.array(shown["w"]) * np.maximum(shown["size"], 50) * 240, 30_000)
    (tmp_path / "recipe.toml").write_text(recipe.replace("least_size = 50.0", 'how = "copy"'))
    with pytest.raises(ParameterError, match="hardly a published size is one that somebody had"):
        ds.run_recipe(tmp_path / "recipe.toml")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "only one of by= and size="),
        ({"by": ["area"], "size": "size"}, "only one of by= and size="),
        ({"by": ["area", "area"]}, "names a column twice"),
        ({"size": "size", "how": "copy"}, "hardly a published size is one that somebody had"),
        ({"by": ["area"], "how": "oldw"}, "how"),
        ({"by": ["area"], "total": 5}, "'total=' says nothing here"),
        ({"by": ["area"], "times": 2}, "'times=' says nothing here"),
        ({"size": "size", "population": {"a": 1}}, "'population=' says nothing here"),
        ({"by": ["area"], "how": "copy", "factors": "keep", "empty": "spread"}, "'factors=', 'empty=' say nothing"),
        ({"by": ["area"], "population": {"a": 0}}, "population"),
    ],
)
def test_parameters_that_cannot_be(given, message):
    with pytest.raises(ParameterError, match=message):
        ds.Reweight(**given)


def refused(source: pa.Table, method: ds.Method, error: type[Exception], message: str, **roles: object) -> None:
    given = {"weight": "w", "numeric": ["x", "size"], "keys": ["area"], **roles}
    with pytest.raises(error, match=message):
        ds.protect(ds.Microdata(source, **given), DRAW, method, key=KEY)


def test_records_that_it_cannot_do():
    by = ds.Reweight(["area"])
    refused(table(), by, NeedsError, "which column holds the weights", weight=None)
    refused(table(), ds.Reweight(["nothing"]), InputError, "nothing")
    refused(table(), ds.Reweight(["w"]), ParameterError, "Column 'w' is not published as a part of the design")
    refused(table(), ds.Reweight(["area"], weight="area"), InputError, "Column 'area' holds string, not numbers")
    gone = with_weights([None, 0.0, *table()["w"].to_pylist()[2:]])
    refused(gone, by, InputError, "2 weights are missing, infinite, zero or below zero in 'w'")
    sizes = table().set_column(3, "size", pa.array([None, *table()["size"].to_pylist()[1:]]))
    refused(sizes, ds.Reweight(size="size"), InputError, "1 record has no size in 'size'")
    below = table().set_column(3, "size", pa.array([0.0, -1.0, *table()["size"].to_pylist()[2:]]))
    refused(below, ds.Reweight(size="size"), InputError, "'size' has 2 sizes of zero or below")
    refused(table(), ds.Reweight(size="area"), InputError, "Column 'area' holds string, not sizes")
    two = table().append_column("part", pa.array(["u", "v"] * 120))
    refused(two, ds.Reweight(["area", "part"], population={"a": 5}), ParameterError, "by= names several")


@given(st.lists(st.sampled_from("ab"), min_size=4, max_size=12), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_recalculated_weights_are_exact(first, seed):
    """The nearest floating-point number to the population by the records, whatever the weights were."""
    from discreet.records.group_weights import exact_totals, groups_of, shared_equally

    draw = np.random.default_rng(seed)
    weight = {code: float(draw.uniform(1, 50)) for code in "ab"}
    old = pa.table({"g": first})
    new = pa.table({"g": [first[i] for i in draw.permutation(len(first))]})
    found = shared_equally(
        exact_totals(groups_of(old, ["g"]), np.array([weight[g] for g in first])), groups_of(new, ["g"])
    )
    # As many records as before in every group: the old weights, bit for bit.
    assert found.tolist() == [weight[g] for g in new["g"].to_pylist()]
