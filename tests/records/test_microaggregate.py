"""Microaggregation: groups against brute force, values to the last digit, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.records.microaggregation.annealing_kernels import anneal_groups
from discreet.records.microaggregation.grouping import loss_of, search_groups
from discreet.records.microaggregation.mdav_kernels import mdav
from discreet.records.microaggregation.measured import standardised
from discreet.records.microaggregation.rows import principal_scores, pursued_scores
from discreet.records.microaggregation.search_kernels import best_runs, improve_groups, neighbours


def mdav_by_hand(points: np.ndarray, k: int, pairs: bool) -> np.ndarray:
    """MDAV as it is written, looking at all records each time."""
    group, made = np.full(len(points), -1), 0
    left = np.arange(len(points))

    def farthest(centre: np.ndarray) -> int:
        return int(left[np.argmax(((points[left] - centre) ** 2).sum(axis=1))])

    def take(seed: int) -> None:
        nonlocal left, made
        away = ((points[left] - points[seed]) ** 2).sum(axis=1)
        away[left == seed] = -1
        group[left[np.argsort(away, kind="stable")[:k]]] = made
        made += 1
        left = left[group[left] < 0]

    while len(left) >= (3 * k if pairs else 2 * k):
        first = farthest(points[left].mean(axis=0))
        other = farthest(points[first])
        take(first)
        if pairs:
            take(other if group[other] < 0 else farthest(points[first]))
    if pairs and len(left) >= 2 * k:
        take(farthest(points[left].mean(axis=0)))
    group[left] = made
    return group


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("records", "columns", "k"), [(7, 2, 3), (60, 1, 2), (151, 3, 4), (400, 6, 3), (700, 2, 9)])
def test_mdav_is_exact(records, columns, k, pairs):
    points = np.random.default_rng(records).normal(size=(records, columns))
    assert mdav(points, k, pairs).tolist() == mdav_by_hand(points, k, pairs).tolist()


@given(st.integers(4, 60), st.integers(1, 3), st.integers(2, 4), st.booleans(), st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_groups_have_k_to_2k_less_1_members_also_with_many_equal_records(records, columns, k, pairs, seed):
    if records < 2 * k:
        return
    points = np.random.default_rng(seed).integers(0, 3, (records, columns)).astype(float)
    sizes = np.bincount(mdav(points, k, pairs))
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


def least_loss(values: np.ndarray, k: int) -> float:
    """By trying all cuts of a sorted column."""
    values = np.sort(values)
    best = np.inf
    for many in range(1, len(values) // k + 1):
        for cuts in combinations(range(1, len(values)), many - 1):
            runs = np.split(values, cuts)
            if all(len(run) >= k for run in runs):
                best = min(best, sum(((run - run.mean()) ** 2).sum() for run in runs))
    return float(best)


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=12), st.integers(2, 4))
@settings(max_examples=60, deadline=None)
def test_the_groups_of_one_column_are_the_best_ones(values, k):
    if len(values) < k:
        return
    points = np.array(values, float).reshape(-1, 1)
    group = best_runs(points, np.argsort(points[:, 0], kind="stable"), k)
    assert np.bincount(group).min() >= k
    assert loss_of(points, group) == pytest.approx(least_loss(points[:, 0], k), abs=1e-9)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_each_effort_is_at_least_as_good_as_the_one_before(k):
    points = np.random.default_rng(k).lognormal(size=(300, 3))
    plain = loss_of(points, mdav(points, k, False))
    normal, best = (search_groups(points, k, effort, 300_000, 1).group for effort in ("normal", "best"))
    for group in (normal, best, search_groups(points, k, "quick", 1, 1).group):
        sizes = np.bincount(group)
        assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
    assert loss_of(points, best) <= loss_of(points, normal) < plain


def test_no_exchange_is_left_that_pays():
    """After the search nobody gains by changing places with anybody, when all are neighbours."""
    points = np.random.default_rng(5).normal(size=(40, 2))
    group = mdav(points, 3, False)
    improve_groups(points, 3, group, neighbours(points, 39, 1000), 100)
    least = loss_of(points, group)
    for one, other in combinations(range(40), 2):
        tried = group.copy()
        tried[[one, other]] = tried[[other, one]]
        assert loss_of(points, tried) >= least - 1e-9


def test_draws_are_the_same_for_the_same_seed():
    points = np.random.default_rng(6).normal(size=(90, 3))
    near = neighbours(points, 20, 100)
    results = []
    for seed in (1, 1, 2):
        group = mdav(points, 3, False)
        anneal_groups(points, 3, group, near, 20_000, np.uint64(seed))
        results.append(group.tolist())
    assert results[0] == results[1] != results[2]


def test_neighbours_are_the_nearest():
    points = np.random.default_rng(7).normal(size=(500, 3))
    away = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    assert np.array_equal(neighbours(points, 5, 10_000), np.argsort(away, axis=1)[:, :5])


def test_outliers_turn_the_principal_component_and_not_the_pursued_one():
    draw = np.random.default_rng(8)
    points = draw.normal(size=(200, 2)) * [5, 0.5]
    wild = points.copy()
    wild[:20] = draw.normal((0, 100), size=(20, 2))

    def slope(scores: np.ndarray, given: np.ndarray) -> float:
        found = np.linalg.lstsq(given - given.mean(axis=0), scores - scores.mean(), rcond=None)[0]
        return float(np.degrees(np.arctan2(abs(found[1]), abs(found[0]))))

    assert slope(pursued_scores(wild), wild) < 5
    assert slope(principal_scores(points), points) < 5
    assert slope(principal_scores(wild), wild) > 60


# ---- the method ------------------------------------------------------------------------------------------------


def firms(rows: int = 60, **options: object) -> ds.Microdata:
    draw = np.random.default_rng(9)
    table = pa.table(
        {
            "sales": np.round(draw.lognormal(6, 1, rows), 2),
            "staff": draw.integers(1, 200, rows),
            "branch": draw.choice(["a", "b"], rows),
        }
    )
    return ds.Microdata(table, numeric=["sales", "staff"], **options)


ALGORITHMS = ("search", "mdav", "mdav_pairs", "univariate", "onedims", "single", "sum", "pca", "pppca", "simple")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_keeps_sums_and_is_verified(algorithm):
    data = firms(strata=["branch"])
    release = ds.protect(data, ds.Microaggregate(k=4, algorithm=algorithm, decimals=6), keep_order=True)
    verdict = release.verify()
    assert not verdict.refused
    shown = release.public.records.columns
    for name in ("sales", "staff"):
        assert sum(shown[name].to_pylist()) == pytest.approx(sum(data.source[name].to_pylist()), abs=1e-4)
        counts = shown.group_by(["branch", name]).aggregate([([], "count_all")])["count_all"].to_pylist()
        assert min(counts) >= 4


def test_columns_that_were_grouped_together_have_k_equal_rows():
    release = ds.protect(firms(), ds.Microaggregate(k=3), rules=ds.KAnonymity(3, keys=["sales", "staff"]))
    assert release.verify().holds


def test_means_are_rounded_once_and_halves_upwards():
    data = ds.Microdata(pa.table({"x": [1, 2, -1, -2]}), numeric="x")
    release = ds.protect(data, ds.Microaggregate(k=2, decimals=0), keep_order=True)
    assert release.public.records.shown()["x"] == [2, 2, -1, -1]
    release = ds.protect(data, ds.Microaggregate(k=2), keep_order=True)
    assert release.public.records.shown()["x"] == [1.5, 1.5, -1.5, -1.5]


def test_the_median_of_a_group():
    data = ds.Microdata(pa.table({"x": [1, 2, 60, 1000, 1002]}), numeric="x")
    release = ds.protect(data, ds.Microaggregate(k=2, algorithm="univariate", location="median"), keep_order=True)
    assert release.public.records.shown()["x"] == [2.0, 2.0, 2.0, 1001.0, 1001.0]
    assert release.verify().proved


def test_gaps_and_codes_for_unknown_stay_and_make_groups_of_their_own():
    x = [1.0, 2.0, 3.0, None, None, None, 99.0, 99.0, 99.0]
    data = ds.Microdata(
        pa.table({"x": x, "y": [1, 2, 3, 11, 12, 13, 21, 22, 23]}), numeric=["x", "y"], missing_codes={"x": ["99"]}
    )
    with pytest.raises(InputError, match=r"6 records have gaps in 'x'.*missing=\"apart\""):
        ds.protect(data, ds.Microaggregate())
    release = ds.protect(data, ds.Microaggregate(missing="apart"), keep_order=True)
    assert release.public.records.shown() == {
        "x": [2.0, 2.0, 2.0, None, None, None, 99.0, 99.0, 99.0],
        "y": [2.0, 2.0, 2.0, 12.0, 12.0, 12.0, 22.0, 22.0, 22.0],
    }
    assert not release.verify().refused


def test_a_recipe_does_the_same(tmp_path):
    (tmp_path / "firms.csv").write_text("sales,staff\n" + "\n".join(f"{i * i},{i}" for i in range(20)) + "\n")
    (tmp_path / "job.toml").write_text(
        'version = 1\n[data]\nfile = "firms.csv"\nnumeric = ["sales", "staff"]\n[records]\n[[protect]]\n'
        'method = "microaggregate"\nk = 4\nalgorithm = "mdav"\n[output]\ndirectory = "out"\n'
    )
    ds.run_recipe(tmp_path / "job.toml")
    assert not ds.check_folder(tmp_path / "out").refused


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (lambda: ds.Microaggregate(k=1), "at least 2"),
        (lambda: ds.Microaggregate(algorithm="v-mdav"), "There is no algorithm 'v-mdav'"),
        (lambda: ds.Microaggregate(algorithm="pca", effort="best"), 'effort="best" is for algorithm="search"'),
        (lambda: ds.Microaggregate(["x", "x"]), "names a column twice"),
        (lambda: ds.Microaggregate(decimals=12), "from 0 to 9"),
    ],
)
def test_bad_parameters_are_refused(method, message):
    with pytest.raises(ParameterError, match=message):
        method()


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        ({"x": ["a", "b", "c"]}, {}, InputError, "is to hold numbers, and holds text"),
        ({"x": [1.0, float("inf"), 2.0]}, {}, InputError, "holds 1 infinite number"),
        ({"x": [1, 2]}, {}, ProtectionError, "There are 2 records, and a group has at least 3"),
        (
            {"x": [1, 2, 3, 4], "area": ["a", "a", "a", "b"]},
            {"strata": ["area"]},
            ProtectionError,
            "There is 1 record with area 'b', and a group has at least 3",
        ),
        ({"x": pa.array([None] * 4, pa.float64())}, {}, InputError, "no value in any of 'x'"),
        ({"x": [1.0, 1 / 3, 2.0]}, {}, InputError, "more than nine decimals"),
    ],
)
def test_bad_input_is_refused_in_words(columns, options, error, message):
    data = ds.Microdata(pa.table(columns), numeric=["x"], **options)
    with pytest.raises(error, match=message):
        ds.protect(data, ds.Microaggregate(missing="apart"))


def test_columns_must_be_known():
    data = ds.Microdata(pa.table({"x": [1, 2, 3], "w": [1.0, 1.0, 1.0]}), weight="w")
    with pytest.raises(NeedsError, match="which columns it is about"):
        ds.protect(data, ds.Microaggregate())
    with pytest.raises(InputError, match="no column 'y'"):
        ds.protect(data, ds.Microaggregate(["y"]))
    with pytest.raises(ParameterError, match="Column 'w' is a weight, and holds no values"):
        ds.protect(data, ds.Microaggregate(["w"]))


def test_equal_records_and_large_numbers():
    same = ds.protect(ds.Microdata(pa.table({"x": [5] * 9}), numeric="x"), ds.Microaggregate())
    assert same.public.records.shown()["x"] == [5.0] * 9
    large = [4 * 10**18 + i for i in range(6)]
    release = ds.protect(ds.Microdata(pa.table({"x": large}), numeric="x"), ds.Microaggregate(k=6), keep_order=True)
    assert release.public.records.shown()["x"] == [4 * 10**18 + 3] * 6
    assert not release.verify().refused
    cents = [10.0**15 + i for i in range(6)]
    release = ds.protect(ds.Microdata(pa.table({"x": cents}), numeric="x"), ds.Microaggregate(k=6))
    assert not release.verify().refused


@pytest.mark.parametrize("algorithm", ["search", "onedims"])
def test_a_column_without_any_value(algorithm):
    table = pa.table({"x": [1, 2, 3, 4, 5, 6, 7], "y": pa.array([None] * 7, pa.int64())})
    data = ds.Microdata(table, numeric=["x", "y"])
    release = ds.protect(data, ds.Microaggregate((), 3, algorithm, missing="apart"), key=ds.Key(bytes(32)))
    assert release.verify().holds
    assert release.public.records.shown()["y"] == [None] * 7


def test_more_columns_than_a_number_has_bits():
    """Kinds of gaps are told apart in any number of columns, within strata."""
    table = {f"x{i}": [1, 2, 3, 4, 5, 6, 7, None, None, None] for i in range(70)}
    data = ds.Microdata(pa.table({**table, "area": list("nnnnsssnnn")}), numeric=list(table), strata=["area"])
    release = ds.protect(data, ds.Microaggregate((), 3, "mdav", missing="apart"), keep_order=True)
    assert release.verify().holds
    assert release.public.records.shown()["x69"] == [2.5] * 4 + [6.0] * 3 + [None] * 3


def test_large_numbers_that_lie_close_together():
    """Beyond 2^53, floating-point numbers do not tell neighbours apart."""
    numbers = [2**53 + 2 * i + i % 2 for i in range(40)]
    release = ds.protect(ds.Microdata(pa.table({"x": numbers}), numeric="x"), ds.Microaggregate("x", 2, "univariate"))
    facts = release.custodian.steps[0].evidence.facts
    shown = release.custodian.steps[0].changed["x"].to_pylist()
    middle = Fraction(sum(numbers), 40)
    lost = sum((a - b) ** 2 for a, b in zip(numbers, shown, strict=True)) / sum((a - middle) ** 2 for a in numbers)
    assert release.verify().holds
    assert facts["loss"] == pytest.approx(float(lost), rel=1e-9)


def test_means_that_are_codes_for_unknown():
    table = pa.table({"x": [98, 99.5, 100.5, 1, 2, 3, 99, 99, 99]})
    data = ds.Microdata(table, numeric="x", missing_codes={"x": ["99"]})
    with pytest.raises(InputError, match='a value that is a code for "unknown"'):
        ds.protect(data, ds.Microaggregate("x", 3, missing="apart", decimals=0))
    assert ds.protect(data, ds.Microaggregate("x", 3, missing="apart")).verify().holds


def test_codes_for_unknown_that_are_too_large():
    code = 2**60 + 1
    table = pa.table({"x": [1, 2, 3, 4, 5, 6, code, code, code]})
    data = ds.Microdata(table, numeric="x", missing_codes={"x": [str(code)]})
    with pytest.raises(InputError, match="too large to stand beside numbers with decimals"):
        ds.protect(data, ds.Microaggregate("x", 3, missing="apart"))
    release = ds.protect(data, ds.Microaggregate("x", 3, missing="apart", decimals=0), keep_order=True)
    assert release.verify().holds
    assert release.public.records.shown()["x"] == [2, 2, 2, 5, 5, 5, code, code, code]


def test_standardised_columns_do_not_depend_on_the_order_of_rows():
    """Sums of the same numbers in another order differ in the last bit, and ties would be broken otherwise."""
    draw = np.random.default_rng(3)
    units = draw.integers(0, 900, 40) * draw.choice([0, 1], 40)
    first = standardised([units.astype(np.float64) / 7], [np.zeros(40, np.bool_)])
    for seed in range(50):
        order = np.random.default_rng(seed).permutation(40)
        again = standardised([units[order].astype(np.float64) / 7], [np.zeros(40, np.bool_)])
        assert np.array_equal(again, first[order])


@pytest.mark.parametrize("column", ["sales", "staff"])
def test_each_column_by_itself_loses_least_among_blocks_of_k(column):
    """Templ (2006): individual ranking has the smallest loss of every single column among methods of fixed size."""
    losses = {}
    fixed = ("onedims", "single", "sum", "pca", "pppca", "mcdpca", "clustpca", "clustpppca", "influence", "simple")
    for algorithm in (*fixed, "mdav", "mdav_pairs", "rmd", "automaton"):
        evidence = ds.protect(firms(), ds.Microaggregate(k=3, algorithm=algorithm)).custodian.evidence[0]
        losses[algorithm] = evidence.facts["losses"][evidence.facts["columns"].index(column)]
    assert losses["onedims"] == min(losses.values())
    assert losses["onedims"] < min(loss for name, loss in losses.items() if name not in ("onedims", "single"))
