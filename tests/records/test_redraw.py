"""Bounded simulation: who is chosen, how far values go, what stays, and what is refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.model.custodian import RecordCustodian
from discreet.records.redrawing import FieldModels, grains, reach, redrawn, signed_log

KEY = ds.Key(bytes(range(32)))
MONEY = ("wage", "business", "rent", "house", "financial", "debts")
TOTALS = {"networth": ["assets", "-debts"], "assets": ["house", "financial"], "income": ["wage", "business", "rent"]}


@cache
def survey(rows: int = 800, seed: int = 3) -> pa.Table:
    return ds.generate.wealth_survey(rows, seed=seed).records


def households(table: pa.Table | None = None, **roles: object) -> ds.Microdata:
    given = {
        "identifier": "household",
        "numeric": [*MONEY, "income", "assets", "networth"],
        "keys": ["age", "education"],
        "sensitive": ["region", "occupation", "accounts", "acres"],
        "weight": "weight",
    }
    return ds.Microdata(survey() if table is None else table, **{**given, **roles})


def method(**given: object) -> ds.Redraw:
    return ds.Redraw(
        **{"unusual": 40, "by": ["networth"], "camouflage": 30, "predictors": ["age", "education"], "totals": TOTALS}
        | given
    )


@cache
def release() -> ds.Release[RecordCustodian]:
    return ds.protect(households(), method(), key=KEY, keep_order=True)


def numbers(table: pa.Table, name: str) -> np.ndarray:
    return np.asarray(table[name].to_numpy())


def chosen(done: ds.Release[RecordCustodian]) -> np.ndarray:
    return np.asarray(done.custodian.steps[0].evidence.parts["records"]["chosen"])


def test_values_lie_within_bounds_and_others_stay():
    """Card 003-25, check 4: all values within their bounds, other rows unchanged, as many rows changed as selected."""
    done = release()
    assert done.verify().holds
    assert "Every value is the one that the secret key draws." in done.verify().proved[0]
    new, why = done.public.records.columns, chosen(done)
    differs = np.zeros(len(why), np.bool_)
    for name in MONEY:
        old, now = numbers(survey(), name), numbers(new, name)
        moved = old != now
        differs |= moved
        assert np.all(np.abs(now - old) <= 0.25 * np.abs(old))
        assert np.all(moved[(why > 0) & (np.abs(old) >= 10)])
        limit = reach(old, 0.1)
        assert np.array_equal(grains(now, limit)[moved], grains(old, limit)[moved])
    assert np.array_equal(differs, why > 0)
    assert np.bincount(why).tolist() == [730, 40, 0, 30]
    facts = done.custodian.steps[0].evidence.facts
    assert (facts["unusual"], facts["flagged"], facts["camouflage"]) == (40, 0, 30)


def test_the_most_unusual_are_chosen():
    worth, why = numbers(survey(), "networth"), chosen(release())
    distance = np.abs(worth - np.median(worth))
    assert set(np.argsort(-distance)[:40].tolist()) == set(np.flatnonzero(why == 1).tolist())


def test_totals_still_add_up():
    new = {name: numbers(release().public.records.columns, name) for name in release().public.records.variables[4:-1]}
    assert np.array_equal(new["income"], new["wage"] + new["business"] + new["rent"])
    assert np.array_equal(new["assets"], new["house"] + new["financial"])
    assert np.array_equal(new["networth"], new["assets"] - new["debts"])


def test_the_public_file_does_not_say_who_or_how_many():
    done = release()
    assert done.public.records.altered == (*MONEY[:3], "income", *MONEY[3:5], "assets", "debts", "networth")
    assert "unusual" not in done.public.records.variables
    said = done.custodian.steps[0].evidence.claim.statement
    assert not any(number in said for number in ("40", "30", "70", "0.1", "0.25"))


def test_draws_depend_on_who_and_not_on_where():
    mixed = survey().take(pa.array(np.random.default_rng(1).permutation(800)))
    one = ds.protect(households(), method(), key=KEY).public.records.columns
    assert one.equals(ds.protect(households(mixed), method(), key=KEY).public.records.columns)
    other = ds.protect(households(), method(version=2), key=KEY, keep_order=True)
    assert not other.public.records.columns.equals(release().public.records.columns)
    assert np.array_equal(chosen(other) == 1, chosen(release()) == 1)
    assert not np.array_equal(chosen(other) == 3, chosen(release()) == 3)


def test_flagged_records():
    flags = np.zeros(800, np.int64)
    flags[5:25] = 1
    table = survey().append_column("listed", pa.array(flags))
    done = ds.protect(households(table, request="listed"), method(unusual=0, by=(), flags="listed"), key=KEY)
    assert done.verify().holds
    money = np.logical_or.reduce([np.abs(numbers(survey(), name)) >= 10 for name in MONEY])
    assert np.array_equal(chosen(done) == 2, (flags > 0) & money)
    assert "listed" not in done.public.records.variables
    with pytest.raises(ParameterError, match=r"'listed' would be public, and tell which records.*request='listed'"):
        ds.protect(households(table, sensitive=["listed"]), method(flags="listed"), key=KEY)
    words = survey().append_column("listed", pa.array(["yes"] * 800))
    with pytest.raises(InputError, match="Column 'listed' holds string, not flags"):
        ds.protect(households(words, request="listed"), method(flags="listed"), key=KEY)


def test_models_within_strata_gaps_and_codes():
    draw = np.random.default_rng(2)
    wage = np.round(draw.lognormal(9, 1, 300), 2)
    rent = np.where(draw.random(300) < 0.3, -9, np.rint(wage / 10))
    table = pa.table(
        {
            "wage": pa.array([None if i % 11 == 0 else float(v) for i, v in enumerate(wage)]),
            "rent": pa.array(rent),
            "tax": pa.array([99999 if i % 13 == 0 else int(v // 5) for i, v in enumerate(wage)]),
            "area": draw.choice(["n", "s"], 300),
            "job": pa.array([None if i % 5 == 0 else ("a", "b")[i % 2] for i in range(300)]),
        }
    )
    data = ds.Microdata(
        table, numeric=["wage", "rent", "tax"], strata=["area"], sensitive=["job"], missing_codes={"tax": ["99999"]}
    )
    done = ds.protect(data, ds.Redraw(camouflage=120, predictors="job", keep=-9), key=KEY, keep_order=True)
    assert done.verify().holds
    new = done.public.records.shown()
    assert [v is None for v in new["wage"]] == [i % 11 == 0 for i in range(300)]
    assert [v for v, old in zip(new["rent"], rent, strict=True) if old == -9] == [-9] * int((rent == -9).sum())
    assert new["tax"][0] == 99999
    assert any("without an identifier" in words for words in done.verify().not_considered)


def test_draws_are_those_that_repeated_draws_would_give():
    """An oracle: normal draws again and again until one falls within the bounds."""
    draw, many = np.random.default_rng(7), 4_000
    units = np.full(many, 100_003)
    model = FieldModels(np.full(many, 10.5), np.full(many, 0.8))
    found = redrawn(units, model, 1.0, np.full(many, 0.2), 0.1, (np.arange(many) + 0.5) / many)
    assert not found.clipped.any()
    oracle = np.expm1(draw.normal(10.5, 0.8, 400_000))
    oracle = oracle[np.abs(oracle - 100_003) <= 20_000]
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert abs(np.quantile(found.units, share) / np.quantile(oracle, share) - 1) < 0.005


def test_what_a_model_rules_out_moves_to_the_bound():
    units = np.array([100_000, 100_000, -70_000])
    model = FieldModels(np.array([20.0, 2.0, -3.0]), np.array([0.01, 0.0, 0.01]))
    found = redrawn(units, model, 1.0, np.full(3, 0.25), 0.1, np.full(3, 0.5))
    assert found.units.tolist() == [120_000, 80_000, -55_000]
    assert found.clipped.all()


@given(
    st.lists(st.integers(-(10**9), 10**9).filter(lambda v: abs(v) >= 10), min_size=1, max_size=20),
    st.floats(0.1, 0.6),
    st.floats(0, 0.999999),
    st.floats(-30, 30),
    st.floats(0.001, 5),
)
@settings(max_examples=80, deadline=None)
def test_whatever_the_model_values_are_new_and_within_bounds(values, bound, chance, mean, spread):
    units = np.array(values)
    rows = len(units)
    model = FieldModels(np.full(rows, mean), np.full(rows, spread))
    found = redrawn(units, model, 1.0, np.full(rows, bound), 0.1, np.full(rows, chance))
    assert np.all(np.abs(found.units - units) <= bound * np.abs(units))
    assert np.all(found.units != units)
    limit = reach(units, 0.1)
    assert np.array_equal(grains(found.units, limit), grains(units, limit))


def test_the_signed_log_keeps_zero_and_the_order():
    values = np.array([-1e9, -5.0, 0.0, 0.5, 1e9])
    assert np.all(np.diff(signed_log(values)) > 0)
    assert signed_log(values)[2] == 0


def wrong(message: str, kind: type[Exception], table: dict, numeric: list[str], **given: object) -> None:
    with pytest.raises(kind, match=message):
        ds.protect(ds.Microdata(pa.table(table), numeric=numeric), ds.Redraw(**{"camouflage": 2} | given), key=KEY)


def test_bad_input_is_refused_in_words():
    few = {"x": [100, 200, 300], "y": [100, 250, 330], "z": [100, 230, 310], "c": ["a"] * 3}
    wrong("The model of column 'x' has 3 columns, and there are 3 records", InputError, few, ["x", "y", "z"])
    wrong("'c' has the same value in all records, and says nothing", InputError, few, ["x", "y"], predictors="c")
    wrong("'y' has the same value in all records, and no model", InputError, {"x": [1, 2], "y": [7, 7]}, ["x", "y"])
    wrong("nobody is unusual in it", InputError, {"x": [10, 20], "y": [7, 7]}, ["x"], unusual=1, by="y")
    wrong("10 % of each is less than a unit", ProtectionError, {"x": [1, 2, 3]}, ["x"])
    wrong(r"Predictor 'x' is drawn anew itself", ParameterError, few, ["x", "y"], predictors="x")
    wrong("There is no column 'q'", InputError, few, ["x", "y"], predictors="q")
    wrong("3 records have another total", InputError, few | {"t": [1, 2, 3]}, ["x", "y"], totals={"t": ["x", "y"]})
    with pytest.raises(ParameterError, match=r"least=-0\.1 is not allowed.*above 0 and below 1"):
        ds.Redraw(unusual=3, least=-0.1)
    with pytest.raises(ParameterError, match=r"least=0\.3 lies above most=0\.25"):
        ds.Redraw(unusual=3, least=0.3)
    with pytest.raises(ParameterError, match=r"does not say which records.*Give unusual="):
        ds.Redraw()
    with pytest.raises(ParameterError, match=r"by= says who is unusual, and unusual=0"):
        ds.Redraw(camouflage=3, by="x")


def test_values_that_models_rule_out_are_counted_and_checked():
    draw = np.random.default_rng(6)
    x = np.rint(draw.lognormal(9, 0.3, 3_000)).astype(int)
    y = np.rint(2 * x * draw.lognormal(0, 0.001, 3_000)).astype(int)
    y[17] = 20 * x[17]
    data = ds.Microdata(pa.table({"id": range(3_000), "x": x, "y": y}), identifier="id", numeric=["x", "y"])
    done = ds.protect(data, ds.Redraw(unusual=1, by="y", camouflage=20), key=KEY, keep_order=True)
    assert chosen(done)[17] == 1
    assert done.custodian.steps[0].evidence.facts["clipped"] == [1, 1]
    assert done.public.records.shown()["y"][17] < 0.91 * y[17]
    assert "1 of 21 in 'x', 1 of 21 in 'y'" in " ".join(done.custodian.log["notes"])
    assert "Every value is the one that the secret key draws." in done.verify().proved[0]
    assert done.verify().holds


def test_relations_that_would_show_who_was_altered_are_refused():
    with pytest.raises(
        InputError, match=r"Columns 'house', 'financial', 'assets', 'debts', 'networth' follow from each other"
    ):
        ds.protect(households(), method(totals={"income": TOTALS["income"]}), key=KEY)
    double = survey().append_column("twice", pa.array(2 * numbers(survey(), "wage") + 7))
    with pytest.raises(InputError, match=r"Columns 'wage', 'twice' follow from each other.*leave one of the columns"):
        ds.protect(households(double, sensitive=["twice"]), method(), key=KEY)
    # What no public file has shows nothing, and neither do columns that stay.
    assert ds.protect(households(double, identifier=["household", "twice"]), method(), key=KEY).verify().holds
    ages = survey().append_column("born", pa.array(2024 - numbers(survey(), "age").astype(int)))
    assert ds.protect(households(ages, sensitive=["born"]), method(predictors=()), key=KEY).verify().holds


def test_a_column_is_drawn_anew_once():
    with pytest.raises(ParameterError, match="Values of column 'wage' are drawn anew twice"):
        ds.protect(households(), [method(), method(version=2)], key=KEY)


def test_fewer_records_than_asked_for():
    table = pa.table({"x": [100, 220, 300, 430, 510, 0, None], "y": [100, 200, 310, 400, 520, 0, 5]})
    done = ds.protect(ds.Microdata(table, numeric=["x", "y"]), ds.Redraw(unusual=2, camouflage=9), key=KEY)
    assert done.verify().holds
    assert "Only 3 other records could be chosen as camouflage." in done.custodian.log["notes"]
