"""What stands for a group: exact, rounded once, and the same by the method, the checker and a search for the root."""

from __future__ import annotations

from fractions import Fraction
from statistics import median

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.records.exact_columns import ExactColumn
from discreet.records.microaggregation.locations import Location, located
from discreet.records.microaggregation.measured import symmetric, widest, within_groups
from discreet.verify.records.group_locations import clipped_mean, huber_estimate, trimmed_mean

VALUES = st.lists(st.integers(-60, 60), min_size=2, max_size=9)


def column_of(values: list[int]) -> ExactColumn:
    return ExactColumn(np.array(values), np.zeros(len(values), np.bool_), 0, True)


def value_of(values: list[int], location: Location, finer: int = 6) -> Fraction:
    group = np.zeros(len(values), np.int64)
    found = located(column_of(values), group, location, finer, "x")
    assert len(set(found.tolist())) == 1
    return Fraction(int(found[0]), 10**finer)


def clipped(values: list[int], cut: Fraction) -> Fraction:
    """Values beyond the cut are brought to it, then all are averaged; as text-books write it."""
    middle = median(Fraction(v) for v in values)
    room = cut * median(abs(v - middle) for v in values)
    return sum((max(middle - room, min(middle + room, Fraction(v))) for v in values), Fraction(0)) / len(values)


def root(values: list[int], cut: Fraction) -> float:
    """Where clipped deviations add up to nothing, by halving an interval twice."""
    middle = float(median(values))
    room = float(cut) * float(median(abs(v - middle) for v in values))
    if room == 0:
        return middle

    def halved(stays: float) -> float:
        low, high = min(values) - room - 1, max(values) + room + 1
        for _ in range(200):
            half = (low + high) / 2
            rest = sum(min(max(v - half, -room), room) for v in values)
            low, high = (half, high) if rest > stays else (low, half)
        return low

    return (halved(1e-9) + halved(-1e-9)) / 2


@given(VALUES, st.sampled_from([0.5, 1.0, 1.345, 2.0, 3.0]))
@example([0, 0, 10, 10], 0.5)
@example([5, 5, 5, 90], 2.0)
@example([0, 1, 100, 101], 0.5)
@settings(max_examples=150, deadline=None)
def test_robust_locations(values, cut):
    exact = Fraction(str(cut))
    step, estimate = (value_of(values, Location(kind, cut=cut)) for kind in ("one_step", "m_estimate"))
    assert abs(step - clipped(values, exact)) <= Fraction(1, 2 * 10**6)
    assert clipped_mean(values, exact) == clipped(values, exact)
    assert abs(estimate - huber_estimate(values, exact)) <= Fraction(1, 2 * 10**6)
    assert float(estimate) == pytest.approx(root(values, exact), abs=1e-5)


@given(VALUES, st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.4, 0.49]))
@settings(max_examples=60, deadline=None)
def test_trimmed_means(values, trim):
    away = int(Fraction(str(trim)) * len(values))
    kept = sorted(values)[away : len(values) - away]
    assert abs(value_of(values, Location("trimmed", trim=trim)) - Fraction(sum(kept), len(kept))) <= Fraction(1, 10**6)
    assert trimmed_mean(values, Fraction(str(trim))) == Fraction(sum(kept), len(kept))


@given(VALUES, st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_weighted_means(values, seed):
    weights = np.random.default_rng(seed).integers(1, 10**7, len(values))
    found = value_of(values, Location("mean", weights=weights))
    wanted = Fraction(sum(int(w) * v for w, v in zip(weights, values, strict=True)), int(weights.sum()))
    assert abs(found - wanted) <= Fraction(1, 2 * 10**6)


def test_large_numbers_stay_exact():
    values = [2**61 + 7, 2**61 + 8, 2**61 + 12]
    assert value_of(values, Location("one_step"), 0) == 2**61 + 9
    assert value_of(values, Location("m_estimate"), 0) == 2**61 + 9
    assert value_of(values, Location("trimmed", trim=0.4), 0) == 2**61 + 8


def test_a_far_value_moves_the_mean_and_not_robust_ones():
    values = [10, 11, 12, 13, 10_000]
    assert value_of(values, Location("mean"), 0) == 2009
    assert value_of(values, Location("one_step"), 1) == Fraction(61, 5)
    assert value_of(values, Location("m_estimate"), 1) == 12
    assert value_of(values, Location("trimmed", trim=0.2), 0) == 12


def test_distances_and_squares_within_groups():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0], [1.0, 1.0], [9.0, 9.0]])
    group = np.array([0, 0, 1, 1, -1])
    assert widest(points, group) == 5.0
    assert within_groups(points, group) == 13.0


def test_powers_that_make_columns_symmetric():
    draw = np.random.default_rng(1)
    skewed = np.rint(np.exp(draw.normal(9, 1, 500))).astype(np.int64)
    logs, powers = (symmetric(column_of(skewed.tolist()), "x", name) for name in ("log", "box_cox"))

    def skewness(values: np.ndarray) -> float:
        return float((((values - values.mean()) / values.std()) ** 3).mean())

    assert logs == pytest.approx(np.log(skewed))
    assert abs(skewness(powers)) < 0.3 < 3 < skewness(skewed.astype(float))
    square = np.rint(100 * draw.normal(50, 5, 500) ** 0.5).astype(np.int64)
    assert np.all(np.diff(symmetric(column_of(np.sort(square).tolist()), "x", "box_cox")) >= 0)


# ---- the method ------------------------------------------------------------------------------------------------


def survey(**options: object) -> ds.Microdata:
    draw = np.random.default_rng(2)
    table = pa.table(
        {
            "sales": np.round(draw.lognormal(6, 1, 90), 2),
            "staff": draw.integers(0, 200, 90),
            "branch": draw.choice(["a", "b", None], 90),
            "weight": draw.integers(1, 50, 90) / 4,
        }
    )
    return ds.Microdata(table, numeric=["sales", "staff"], **options)


@pytest.mark.parametrize(
    "method",
    [
        {"location": "trimmed", "k": 6},
        {"location": "one_step", "k": 6},
        {"location": "m_estimate", "k": 6, "cut": 1.5},
        {"k": 4, "algorithm": "mdav", "distance": "gower", "categories": ["branch"]},
        {"algorithm": "influence", "clusters": 3},
        {"algorithm": "v_mdav", "gamma": 1.1},
        {"algorithm": "automaton", "restarts": 2, "k": 4},
        {"algorithm": "rmd"},
        {"algorithm": "clustmcdpca", "clusters": 2},
        {"algorithm": "mcdpca"},
        {"algorithm": "optimal_2", "k": 2},
        {"algorithm": "optimal_2", "k": 2, "effort": "quick"},
    ],
    ids=lambda method: "-".join(str(value) for value in method.values()),
)
def test_every_way_is_verified_from_its_folder(method, tmp_path):
    release = ds.protect(survey(), ds.Microaggregate(**method))
    assert release.verify().holds
    release.save(tmp_path / "out")
    assert not ds.check_folder(tmp_path / "out").refused


def test_weighted_sums_stay():
    data = survey(weight="weight")
    release = ds.protect(data, ds.Microaggregate(k=4, weighted=True, decimals=9), keep_order=True)
    weights = np.array(data.source["weight"])
    for name in ("sales", "staff"):
        old, new = np.array(data.source[name]), np.array(release.public.records.columns[name])
        assert (weights * new).sum() == pytest.approx((weights * old).sum(), rel=1e-12)
    assert release.verify().holds
    assert "the mean (by weight) of its group" in release.custodian.steps[0].evidence.claim.statement


@pytest.mark.parametrize("weight", [0.0, -1.0, None, float("nan")])
def test_weights_that_are_none(weight):
    table = pa.table({"x": [1, 2, 3, 4], "w": [1.0, 2.0, 3.0, weight]})
    data = ds.Microdata(table, numeric="x", weight="w")
    with pytest.raises(InputError, match="1 record has no weight, or one of 0 or less, in column 'w'"):
        ds.protect(data, ds.Microaggregate(k=2, weighted=True))


def test_weights_that_are_not_there():
    with pytest.raises(NeedsError, match=r"weighted=True needs weights.*Microdata\(weight="):
        ds.protect(survey(), ds.Microaggregate(weighted=True))


def test_categories_only_steer():
    release = ds.protect(
        survey(), ds.Microaggregate(k=3, algorithm="mdav", distance="gower", categories=["branch"]), keep_order=True
    )
    assert release.public.records.columns["branch"].equals(survey().source["branch"])
    assert set(release.custodian.steps[0].changed.column_names) == {"sales", "staff"}


def test_the_order_of_rows_says_nothing():
    """Groups by categories and by prices are the same whatever the order."""
    for method in (
        ds.Microaggregate(k=3, algorithm="mdav", distance="gower", categories=["branch"]),
        ds.Microaggregate(k=2, algorithm="optimal_2"),
        ds.Microaggregate(k=3, algorithm="automaton"),
        ds.Microaggregate(k=3, algorithm="v_mdav"),
        ds.Microaggregate(k=3, algorithm="clustpppca"),
    ):
        table = survey().source
        order = np.random.default_rng(3).permutation(90)
        found = []
        for rows in (table, table.take(order)):
            data = ds.Microdata(rows, numeric=["sales", "staff"])
            found.append(ds.protect(data, method, keep_order=True).public.records.columns)
        assert found[0].take(order).equals(found[1]), method


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithm": "optimal_2"}, r"makes groups of two and three, and k is 3.*k=2, or use algorithm=\"search\""),
        ({"algorithm": "mdav", "gamma": 1.0}, 'gamma=1 is for algorithm="v_mdav", not for "mdav"'),
        ({"restarts": 5}, 'restarts=5 is for algorithm="automaton", not for "search"'),
        (
            {"clusters": 2, "algorithm": "pca"},
            'clusters=2 is for algorithm=.*"clustmcdpca" or "influence", not for "pca"',
        ),
        ({"transform": "log"}, 'transform="log" is for algorithm='),
        ({"distance": "gower"}, 'distance="gower" is for algorithm="mdav" or "mdav_pairs", not for "search"'),
        ({"categories": ["a"]}, 'categories= are for distance="gower"'),
        ({"weighted": True, "location": "median"}, 'weighted=True is for means, not for location="median"'),
        ({"cut": 2.0}, 'cut= is for location="one_step" and "m_estimate", not for "mean"'),
        ({"trim": 0.1}, 'trim= is for location="trimmed", not for "mean"'),
        ({"trim": 0.5, "location": "trimmed"}, "below 0.5"),
        ({"cut": 0.0, "location": "one_step"}, "above 0"),
        (
            {"algorithm": "mdav", "effort": "best"},
            'effort="best" is for algorithm="search" or "optimal_2", not for "mdav"',
        ),
    ],
)
def test_parameters_that_do_not_fit(given, message):
    with pytest.raises(ParameterError, match=message):
        ds.Microaggregate(**given)


def test_columns_that_cannot_steer():
    data = survey(weight="weight")
    for name, why in (("staff", "is averaged itself"), ("weight", "is a weight")):
        method = ds.Microaggregate(["staff"], algorithm="mdav", distance="gower", categories=[name])
        with pytest.raises(ParameterError, match=f"Column '{name}' {why}, and cannot steer groups"):
            ds.protect(data, method)


def test_logarithms_of_nothing():
    with pytest.raises(
        InputError, match=r"Column 'staff' has values of 0 or less, and transform=\"log\" takes logarithms"
    ):
        ds.protect(survey(), ds.Microaggregate(algorithm="influence", transform="log"))


def test_too_many_records_for_the_best_pairs(monkeypatch):
    from discreet.records import microaggregate

    monkeypatch.setattr(microaggregate, "MOST_PAIRED", 80)
    with pytest.raises(
        ds.errors.ProtectionError, match='There are 90 records, and algorithm="optimal_2" groups at most 80'
    ):
        ds.protect(survey(), ds.Microaggregate(k=2, algorithm="optimal_2"))


def test_the_claim_says_how_good_pairs_are_and_against_whom_they_fail():
    claims = {}
    for effort in ("normal", "quick"):
        release = ds.protect(survey(), ds.Microaggregate(k=2, algorithm="optimal_2", effort=effort))
        claims[effort] = release.custodian.steps[0].evidence.claim
    assert claims["normal"].statement.endswith("No groups of two and three records have a smaller sum of squares.")
    assert "% of their sum of squares" in claims["quick"].statement
    assert (
        "members of a group of two, who know their own values, and so the other one's" in claims["quick"].not_considered
    )


def test_far_pairs_are_noted():
    data = ds.Microdata(pa.table({"x": [*range(99), 10_000]}), numeric="x")
    release = ds.protect(data, ds.Microaggregate(k=2, algorithm="optimal_2"))
    assert any(
        "standard deviations apart: an outlier is hardly hidden" in note for note in release.custodian.log["notes"]
    )


def test_best_pairs_within_strata_and_kinds_of_gaps():
    """Prices prove the sum over parts that cannot share groups; parts of two and of three records are whole groups."""
    draw = np.random.default_rng(4)
    x = [None if i % 7 == 0 else float(v) for i, v in enumerate(draw.integers(0, 99, 61))]
    area = ["p", "p", "q", "q", "q", *draw.choice(["n", "s"], 56)]
    x[:5] = [1.0, 5.0, 2.0, 7.0, 40.0]
    data = ds.Microdata(pa.table({"x": x, "y": draw.integers(0, 99, 61), "a": area}), numeric=["x", "y"], strata=["a"])
    release = ds.protect(data, ds.Microaggregate(k=2, algorithm="optimal_2", missing="apart"), keep_order=True)
    facts = release.custodian.steps[0].evidence.facts
    assert release.verify().holds
    assert facts["within"] == pytest.approx(facts["bound"], rel=1e-6)
    assert release.public.records.shown()["x"][:5] == [3.0, 3.0, 16.33, 16.33, 16.33]
