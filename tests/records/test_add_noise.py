"""Added noise: what it keeps, whom it alters, what readers of two releases could do, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import DiscreetError, InputError, NeedsError, ParameterError, ProtectionError

KEY = ds.Key(bytes(range(32)))
WAYS = ("independent", "correlated", "exact", "restricted", "romm", "outliers", "proportional", "latin_hypercube")
NAMES = ("sales", "staff", "profit")


def firms(rows: int = 240, **roles: object) -> ds.Microdata:
    draw = np.random.default_rng(3)
    sales = np.round(draw.lognormal(6, 1, rows), 2)
    table = pa.table(
        {
            "sales": sales,
            "staff": np.round(sales / 5 + draw.uniform(1, 99, rows)).astype(int),
            "profit": np.round(sales * 0.1 + draw.normal(0, 20, rows), 1),
            "area": draw.choice(["n", "s"], rows),
        }
    )
    return ds.Microdata(table, **{"numeric": list(NAMES), **roles})


def noisy(data: ds.Microdata, method: ds.AddNoise, key: ds.Key = KEY) -> dict[str, np.ndarray]:
    """The published columns in the order of the file; the release has verified."""
    release = ds.protect(data, method, key=key, keep_order=True)
    assert not release.verify().refused
    return {name: release.public.records.columns[name].to_numpy() for name in release.public.records.variables}


def of(data: ds.Microdata) -> np.ndarray:
    return np.stack([data.source[name].to_numpy().astype(float) for name in NAMES])


@pytest.mark.parametrize("how", ["exact", "restricted", "romm"])
def test_moments_are_kept_within_every_stratum(how):
    data = firms(strata=["area"])
    shown = noisy(data, ds.AddNoise(amount=0.4, how=how))
    area = np.array(data.source["area"].to_pylist())
    for code in "ns":
        old = of(data)[:, area == code]
        new = np.stack([shown[name] for name in NAMES])[:, area == code]
        spread = old.std(axis=1)
        assert np.all(np.abs(new.sum(axis=1) - old.sum(axis=1)) < 1e-6)
        scale = np.outer(spread, spread)
        if how == "exact":
            assert np.allclose(np.cov(new - old) / scale, 0.4 * np.cov(old) / scale, atol=0.01)
        else:
            assert np.allclose(np.cov(new) / scale, np.cov(old) / scale, atol=0.01)
        assert np.abs(new - old).max() > 0.2 * spread.max()


def test_finer_decimals_come_nearer_to_exact_moments():
    data = firms()
    shown = noisy(data, ds.AddNoise(amount=0.1, how="exact", decimals=6))
    old, new = of(data), np.stack([shown[name] for name in NAMES])
    scale = np.outer(old.std(axis=1), old.std(axis=1))
    assert np.abs(np.cov(new - old) - 0.1 * np.cov(old)).max() < 1e-7 * scale.max()


@pytest.mark.parametrize("how", WAYS)
def test_every_value_changes_and_the_order_of_rows_says_nothing(how):
    data = firms()
    method = ds.AddNoise(amount=0.2, how=how)
    shown = noisy(data, method)
    if how != "outliers":
        assert np.mean(shown["sales"] != data.source["sales"].to_numpy()) > 0.95
    order = np.random.default_rng(9).permutation(240)
    again = noisy(data.with_(source=data.source.take(pa.array(order))), method)
    for name in NAMES:
        assert np.array_equal(again[name], shown[name][order])


@pytest.mark.parametrize("how", ["independent", "proportional"])
def test_other_rows_do_not_change_what_a_record_draws(how):
    """The size of noise may follow from others; its draw does not."""
    data = firms(identifier="id")
    table = data.source.append_column("id", pa.array(range(240)))
    data = data.with_(source=table)
    part = data.with_(source=table.slice(0, 150))
    method = ds.AddNoise(["sales"], 0.3, how, decimals=6)
    moves = []
    for some in (data, part):
        old = some.source["sales"].to_numpy()
        size = old if how == "proportional" else old.std(ddof=1)
        moves.append((noisy(some, method)["sales"] - old) / size)
    assert np.allclose(moves[0][:150], moves[1], atol=1e-6)


def test_releases_with_noise_of_other_sizes_cannot_be_solved_for_the_original():
    """With the same draws, (a B - b A) / (a - b) would be the true value; so they differ with the size of the noise."""
    data = firms()
    old = data.source["sales"].to_numpy()
    small = noisy(data, ds.AddNoise(["sales"], 0.04, "independent"))["sales"]
    large = noisy(data, ds.AddNoise(["sales"], 0.16, "independent"))["sales"]
    solved = 2 * small - large
    assert np.corrcoef(small - old, large - old)[0, 1] < 0.3
    assert np.std(solved - old) > 0.3 * old.std()
    seen = [small]
    for method in (
        ds.AddNoise(["sales"], 0.04),
        ds.AddNoise(["sales"], 0.04, "exact"),
        ds.AddNoise(["sales"], 0.04, "independent", version=2),
        ds.AddNoise(["sales", "staff"], 0.04),
    ):
        new = noisy(data, method)["sales"]
        assert all(abs(np.corrcoef(new - old, other - old)[0, 1]) < 0.3 for other in seen)
        seen.append(new)
    strata = noisy(firms(strata=["area"]), ds.AddNoise(["sales"], 0.04, "independent"))["sales"]
    assert abs(np.corrcoef(strata - old, small - old)[0, 1]) < 0.3


def test_the_mean_of_several_versions_comes_near_to_the_truth_as_the_claim_says():
    data = firms()
    old = data.source["sales"].to_numpy()
    several = [noisy(data, ds.AddNoise(["sales"], 0.1, "independent", version=v))["sales"] for v in range(1, 5)]
    one, four = (np.std(some - old) for some in (several[0], np.mean(several, axis=0)))
    assert four == pytest.approx(one / 2, rel=0.2)
    release = ds.protect(data, ds.AddNoise(["sales"], 0.1), key=KEY)
    left_out = release.custodian.evidence[0].claim.not_considered
    assert any("with four of them twice as near as with one" in text for text in left_out)
    assert "Done as stated" in release.custodian.evidence[0].claim.statement
    assert "safe" not in release.custodian.evidence[0].claim.statement


@pytest.mark.parametrize("flag", ["distance", "influence", "limits"])
def test_only_outliers_are_altered_and_no_digit_tells_them_apart(flag):
    data = firms()
    heaped = data.source.set_column(1, "staff", pa.array(data.source["staff"].to_numpy() * 50))
    data = data.with_(source=heaped)
    release = ds.protect(data, ds.AddNoise(amount=0.3, how="outliers", flag=flag), key=KEY, keep_order=True)
    assert not release.verify().refused
    new = np.stack([release.public.records.columns[name].to_numpy() for name in NAMES])
    changed = (new != of(data)).any(axis=0)
    facts = release.custodian.evidence[0].facts
    assert 0 < changed.sum() <= facts["flagged"] < 120
    # Whole fifties stay so, and cents stay cents.
    assert np.all(new[1] % 50 == 0)
    assert np.array_equal(np.round(new[0], 2), new[0])
    assert any("stand as they are" in text for text in release.custodian.evidence[0].claim.not_considered)


def test_no_outlier_is_no_protection():
    flat = ds.Microdata(pa.table({"x": list(range(30)), "y": [i % 7 for i in range(30)]}), numeric=["x", "y"])
    with pytest.raises(ProtectionError, match=r"No record is an outlier.*Lower beyond="):
        ds.protect(flat, ds.AddNoise(how="outliers", beyond=0.9999, flag="influence"), key=KEY)


def test_whole_numbers_stay_whole_zeros_stay_and_nothing_falls_below_zero():
    table = pa.table({"sold": [0, 0, 0, *range(1, 38)], "x": [float(i) + 0.25 for i in range(40)]})
    data = ds.Microdata(table, numeric=["sold", "x"])
    release = ds.protect(data, ds.AddNoise(amount=0.5, nonnegative=True, zeros="keep"), key=KEY, keep_order=True)
    assert not release.verify().refused
    columns = release.public.records.columns
    assert columns["sold"].type == pa.int64()
    assert columns["sold"].to_pylist()[:3] == [0, 0, 0]
    assert min(columns["sold"].to_pylist()) == 0
    assert min(columns["x"].to_pylist()) >= 0
    facts, claim = release.custodian.evidence[0].facts, release.custodian.evidence[0].claim.statement
    assert facts["zeros"] == [3, 0]
    assert facts["cut"][0] > 0
    assert f"Fell below zero and became zero: {sum(facts['cut'])} values." in claim
    assert "Were zero and stayed zero: 3 values." in claim
    old, new = table["x"].to_numpy(), columns["x"].to_numpy()
    assert facts["shifts"][1] == pytest.approx((new.mean() - old.mean()) / old.std(), rel=1e-4)
    assert facts["ratios"][1] == pytest.approx(new.var() / old.var(), rel=1e-4)


def test_moments_are_not_claimed_where_values_were_cut():
    data = firms()
    for how in ("exact", "restricted", "romm"):
        release = ds.protect(data, ds.AddNoise(["sales", "staff"], 1.5, how, nonnegative=True), key=KEY)
        assert not release.verify().refused
        assert sum(release.custodian.evidence[0].facts["cut"]) > 0
        assert not release.custodian.evidence[0].facts["moments"]
        assert "sums are the nearest" not in release.custodian.evidence[0].claim.statement


@pytest.mark.parametrize("how", WAYS)
def test_no_value_becomes_a_code_for_unknown_and_codes_and_gaps_stay(how):
    values = [None, 99, *range(60, 160), 400, 900]
    data = ds.Microdata(pa.table({"x": values}), numeric=["x"], missing_codes={"x": ["99", "104", "111", "120", "500"]})
    release = ds.protect(data, ds.AddNoise(amount=0.1, how=how, beyond=0.6), key=KEY, keep_order=True)
    assert not release.verify().refused
    shown = release.public.records.shown()["x"]
    stay = [i for i, value in enumerate(values) if value in (None, 99, 104, 111, 120)]
    assert [shown[i] for i in stay] == [values[i] for i in stay]
    assert not {99, 104, 111, 120, 500} & {value for i, value in enumerate(shown) if i not in stay}
    if how in ("independent", "correlated"):
        (moved,) = release.custodian.evidence[0].facts["codes"]
        assert moved > 0
        assert f'does not stand for "unknown": {moved} value' in release.custodian.evidence[0].claim.statement


def test_records_with_gaps_get_noise_with_those_that_have_the_same():
    data = firms()
    holes = pa.array([None if i % 3 == 0 else v for i, v in enumerate(data.source["profit"].to_pylist())])
    data = data.with_(source=data.source.set_column(2, "profit", holes))
    for how in ("correlated", "exact", "latin_hypercube"):
        with pytest.raises(InputError, match=rf"80 records have gaps in 'profit', and how=\"{how}\" looks at several"):
            ds.protect(data, ds.AddNoise(how=how), key=KEY)
        release = ds.protect(data, ds.AddNoise(how=how, missing="apart"), key=KEY, keep_order=True)
        assert not release.verify().refused
        assert [v is None for v in release.public.records.shown()["profit"]] == [v is None for v in holes.to_pylist()]
    assert ds.protect(data, ds.AddNoise(how="independent"), key=KEY).verify().holds


def holed(rows: int = 400) -> ds.Microdata:
    """Every value may be missing: most records have a pattern of gaps that few others have."""
    data, draw = firms(rows), np.random.default_rng(5)
    table = data.source
    for place, name in enumerate(NAMES):
        values = [None if draw.random() < 0.25 else v for v in table[name].to_pylist()]
        table = table.set_column(place, name, pa.array(values, table[name].type))
    return data.with_(source=table)


def test_gaps_that_lie_anyhow_get_noise_by_the_covariances_of_whole_records():
    data = holed()
    method = ds.AddNoise(amount=0.25, missing="together", decimals=4)
    release = ds.protect(data, method, key=KEY, keep_order=True)
    assert release.verify().holds
    assert "by the covariances of the records without a gap" in release.custodian.evidence[0].claim.statement
    old = np.stack([np.array(data.source[name].to_pylist(), float) for name in NAMES])
    new = np.stack([np.array(release.public.records.columns[name].to_pylist(), float) for name in NAMES])
    assert np.array_equal(np.isnan(old), np.isnan(new))
    moves, whole = new - old, ~np.isnan(old).any(axis=0)
    wanted = 0.25 * np.cov(old[:, whole])
    for i in range(3):
        for j in range(3):
            both = ~np.isnan(moves[i]) & ~np.isnan(moves[j])
            size = np.sqrt(wanted[i, i] * wanted[j, j])
            assert np.cov(moves[i, both], moves[j, both])[0, 1] / size == pytest.approx(wanted[i, j] / size, abs=0.2)
    for name, column in zip(NAMES, moves, strict=True):
        assert np.mean(np.abs(column[~np.isnan(column)]) > 0) > 0.99, name


def test_whole_records_get_the_same_noise_whether_gaps_may_be_or_not_but_not_with_the_same_draws():
    """Two releases with the same draws and other covariances could be solved for what was there before."""
    data, old = holed(), np.array(holed().source["sales"].to_pylist(), float)
    there = ~np.isnan(old)
    moves = []
    for missing in ("together", "apart"):
        shown = ds.protect(data, ds.AddNoise(missing=missing), key=KEY, keep_order=True).public.records.shown()["sales"]
        moves.append(np.array(shown, float)[there] - old[there])
    assert abs(np.corrcoef(*moves)[0, 1]) < 0.3


def test_gaps_without_enough_whole_records_are_refused():
    columns = {"x": [1.0, 2, 3, None, 5, 6], "y": [2.0, None, 1, 4, None, 3], "z": [1.0, 5, None, 2, 8, 9]}
    match = r"There are 2 records without a gap, and how=\"correlated\" with 3 columns needs at least 5"
    refused(columns, ds.AddNoise(missing="together"), InputError, match)
    nobody = {"x": [1.0, None, 3, None], "y": [None, 2.0, None, 4]}
    refused(nobody, ds.AddNoise(missing="together"), InputError, r"There is no record without a gap.*Fill gaps in")
    with pytest.raises(ParameterError, match=r"missing=\"together\" is for how=\"correlated\", not for \"exact\""):
        ds.AddNoise(how="exact", missing="together")


def test_proportional_noise_is_a_share_of_each_value():
    values = np.repeat([10, 1_000, 100_000], 400)
    data = ds.Microdata(pa.table({"x": values}), numeric="x")
    new = noisy(data, ds.AddNoise(amount=0.01, how="proportional"))["x"]
    for size in (1_000, 100_000):
        assert np.std(new[values == size] / size) == pytest.approx(0.1, rel=0.1)


def test_noise_twice_needs_other_draws():
    data = firms()
    with pytest.raises(ParameterError, match=r"'sales' gets noise twice with the same draws.*another version="):
        ds.protect(data, [ds.AddNoise(["sales"], 0.1), ds.AddNoise(["sales", "staff"], 0.2)], key=KEY)
    both = [ds.AddNoise(["sales"], 0.1), ds.AddNoise(["sales"], 0.1, version=2), ds.AddNoise(["staff"], 0.1)]
    assert ds.protect(data, both, key=KEY).verify().holds


def test_a_recipe_adds_the_same_noise(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_KEY", KEY.text)
    data = firms()
    lines = [",".join(data.source.column_names)]
    lines += [",".join(map(str, row.values())) for row in data.source.to_pylist()]
    (tmp_path / "firms.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        """version = 1
[data]
file = "firms.csv"
numeric = ["sales", "staff", "profit"]
[[protect]]
method = "add_noise"
amount = 0.2
how = "restricted"
[records]
keep_order = true
[output]
directory = "out"
""",
        encoding="utf-8",
    )
    made = ds.run_recipe(recipe).release
    assert made.verify().holds
    plain = ds.protect(data, ds.AddNoise(amount=0.2, how="restricted"), key=KEY, keep_order=True)
    assert made.public.records.shown()["sales"] == plain.public.records.shown()["sales"]


# ---- bad input -------------------------------------------------------------------------------------------------------


def refused(columns: dict[str, list], method: ds.AddNoise, error: type[DiscreetError], match: str, **roles) -> None:
    given_ = {"numeric": [name for name in columns if name != "area"], **roles}
    with pytest.raises(error, match=match):
        ds.protect(ds.Microdata(pa.table(columns), **given_), method, key=KEY)


@pytest.mark.parametrize("amount", [0, -0.1, float("nan"), float("inf")])
def test_amounts_that_are_none(amount):
    with pytest.raises(ParameterError, match="amount"):
        ds.AddNoise(amount=amount)


def test_parameters_that_do_not_fit():
    with pytest.raises(ParameterError, match=r"amount=2\.5 is not allowed with how=\"romm\".*at most 2"):
        ds.AddNoise(amount=2.5, how="romm")
    with pytest.raises(ParameterError, match=r"decimals= is not allowed with how=\"outliers\".*tell them apart"):
        ds.AddNoise(how="outliers", decimals=2)
    with pytest.raises(ParameterError, match="names a column twice"):
        ds.AddNoise(["x", "x"])


def test_columns_that_hold_no_numbers():
    refused({"x": ["a", "b"]}, ds.AddNoise(["x"]), InputError, "holds string, not numbers", numeric=())
    refused({"x": [1, 2]}, ds.AddNoise(["y"]), InputError, "'y'")
    with pytest.raises(NeedsError, match="AddNoise needs to know which columns"):
        ds.protect(ds.Microdata(pa.table({"x": [1, 2]})), ds.AddNoise(), key=KEY)
    with pytest.raises(ParameterError, match="Column 'w' is a weight"):
        ds.protect(ds.Microdata(pa.table({"w": [1.0, 2.0]}), weight="w"), ds.AddNoise(["w"]), key=KEY)


def test_columns_that_have_no_variance():
    constant = {"x": [5, 5, 5, 5], "y": [1, 2, 3, 5]}
    match = r"All values of 'x' are equal, so that noise has no size.*how=\"proportional\""
    for how in WAYS:
        if how != "proportional":
            refused(constant, ds.AddNoise(how=how), InputError, match)
    inside = {"x": [5, 5, 5, 6, 7, 8], "area": ["n", "n", "n", "s", "s", "s"]}
    refused(inside, ds.AddNoise(), InputError, "All values of 'x' with area 'n' are equal", strata=["area"])
    refused({"x": [5]}, ds.AddNoise(), InputError, "There is one value of 'x', and noise needs the variance of several")
    refused({"x": [7] * 9, "y": [7] * 9}, ds.AddNoise(), InputError, "All values of 'x' are equal")


def test_columns_without_values_and_with_infinite_ones():
    empty = pa.array([None, None], pa.float64())
    refused({"x": empty}, ds.AddNoise(), InputError, "There is no value in any of 'x'")
    refused({"x": [1.0, float("inf"), 2.0]}, ds.AddNoise(), InputError, "'x'.*infinite")


def test_covariances_that_are_singular():
    columns = {"x": [1, 5, 2, 8, 3, 9, 4, 6, 0, 7, 11], "y": [2, 1, 7, 3, 5, 8, 1, 9, 4, 6, 10]}
    columns["z"] = [a + b for a, b in zip(columns["x"], columns["y"], strict=True)]
    for how in ("correlated", "exact", "restricted"):
        match = "The values of 'z' follow from 'x', 'y', so that the covariance of the columns is singular"
        refused(columns, ds.AddNoise(how=how), InputError, match)
    same = {"x": columns["x"], "y": [v**3 for v in columns["x"]]}
    refused(same, ds.AddNoise(how="latin_hypercube"), InputError, "The ranks of 'y' follow from 'x'")
    for how in ("independent", "romm"):  # nothing is inverted
        data = ds.Microdata(pa.table({name: [100 * v for v in some] for name, some in columns.items()}))
        assert ds.protect(data, ds.AddNoise(["x", "y", "z"], 0.2, how), key=KEY).verify().holds


def test_fewer_records_than_columns():
    columns = {name: [i * j % 7 for i in range(3)] for j, name in enumerate("abcd", 2)}
    match = r"There are 3 records, and how=\"correlated\" with 4 columns needs at least 6.*Name fewer columns"
    refused(columns, ds.AddNoise(), InputError, match)
    refused(columns, ds.AddNoise(how="restricted"), InputError, "with 4 columns needs at least 14")
    refused({"x": [1, 2, 4]}, ds.AddNoise(how="romm"), InputError, "needs at least 6")
    # One column of three records leaves noise that keeps its variance two choices.
    refused({"x": [1, 2, 4]}, ds.AddNoise(how="restricted"), InputError, "needs at least 5")


def test_numbers_that_are_too_large():
    money = [1e15 + 0.25, 1e15 + 7.5, 1e15 - 3.75, 1e15 + 1.0]
    refused({"x": money}, ds.AddNoise(), InputError, "'x' holds numbers too large to be changed exactly")
    large = [10**15 + i for i in range(9)]
    refused(
        {"x": [float(v) for v in large]}, ds.AddNoise(decimals=2), InputError, "too large for noise with 2 decimals"
    )
    data = ds.Microdata(pa.table({"x": [10**15 + 1000 * i for i in range(40)]}), numeric="x")
    for how in ("correlated", "exact", "romm"):
        release = ds.protect(data, ds.AddNoise(how=how), key=KEY)
        assert release.verify().holds
    assert sum(release.public.records.shown()["x"]) == sum(data.source["x"].to_pylist())
    refused({"x": [2**61, -(2**61), 5]}, ds.AddNoise(amount=9), InputError, "too large for noise with 0 decimals")


def test_noise_below_the_unit_is_refused():
    match = "No value of 'x' changed: the noise is smaller than the unit of its numbers"
    refused({"x": [1, 2, 1, 2, 1, 2]}, ds.AddNoise(amount=1e-6), ProtectionError, match)


def test_negative_values_that_shall_not_be():
    refused(
        {"x": [-1, 2, 5]}, ds.AddNoise(nonnegative=True), InputError, "'x' has values below zero, and nonnegative=True"
    )


def test_outliers_of_columns_that_hardly_vary():
    columns = {"x": [1] * 8 + [5, 9], "y": list(range(10))}
    match = r"More than half of the values of 'x' are equal.*flag=\"influence\""
    refused(columns, ds.AddNoise(how="outliers"), InputError, match)
    refused(columns, ds.AddNoise(how="outliers", flag="limits"), InputError, match)


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 900), st.booleans()), min_size=1, max_size=40),
    st.sampled_from(WAYS),
    st.floats(0.05, 1.9),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
    st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_whatever_is_released_verifies_and_does_not_depend_on_order(rows, how, amount, decimals, keep, seed):
    """Small files of all kinds: either a refusal in words, or a release that the checker draws again."""
    x, y, area = zip(*rows, strict=True)
    table = pa.table({"x": x, "y": [v / 4 for v in y], "area": ["n" if a else "s" for a in area]})
    data = ds.Microdata(table, numeric=["x", "y"], strata=["area"] if seed % 2 else [])
    given_ = {"decimals": None if how == "outliers" else decimals, "zeros": "keep" if keep else "move"}
    try:
        method = ds.AddNoise(amount=amount, how=how, beyond=0.7, **given_)
        release = ds.protect(data, method, key=KEY, keep_order=True)
    except DiscreetError:
        reject()
    assert not release.verify().refused
    order = np.random.default_rng(seed).permutation(len(rows))
    again = ds.protect(data.with_(source=table.take(pa.array(order))), method, key=KEY, keep_order=True)
    pairs = zip(*(again.public.records.shown()[name] for name in "xy"), strict=True)
    shown = list(zip(*(release.public.records.shown()[name] for name in "xy"), strict=True))
    assert sorted(pairs) == sorted(shown)
