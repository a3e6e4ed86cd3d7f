"""More forged releases of synthesised columns: units, ends, rules about numbers, codes for "unknown", seals."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.model.custodian import RecordCustodian
from tests.verify.records.test_forged_synthesis import KEY, SynthesisForgery
from tests.verify.records.test_forged_synthesis import refused as refused_of

ROWS = 200


@cache
def amounts() -> ds.Release[RecordCustodian]:
    """Multiples of 50, true and false, hours of which -9 is unknown, a bonus of 7 for whoever works few hours."""
    draw = np.random.default_rng(12)
    hours = np.where(draw.random(ROWS) < 0.1, -9, draw.integers(0, 70, ROWS))
    few = (hours >= 0) & (hours < 20)
    table = pa.table(
        {
            "hours": hours,
            "member": draw.random(ROWS) < 0.5,
            "amount": draw.integers(1, 90_000, ROWS) * 50,
            "bonus": pa.array(np.where(few, 7.25, np.round(draw.uniform(100, 90_000, ROWS), 2))),
            "note": pa.array(np.where(few, None, draw.choice(["a", "b"], ROWS)), pa.string()),
        }
    )
    data = ds.Microdata(table, numeric=["amount", "bonus"], missing_codes={"hours": ["-9"]})
    rules = {"bonus": {"hours < 20": 7.25}, "note": {"hours < 20": ""}}
    return ds.protect(data, ds.Synthesise(rules=rules), key=KEY)


refused = partial(refused_of, made=amounts)


def test_the_release_is_what_it_is_to_be():
    forgery = SynthesisForgery(amounts)
    assert forgery.of("amount")["step"] == 50
    assert forgery.of("bonus")["low"] == 725
    assert {
        one for one, hours in zip(forgery.changed["bonus"], forgery.changed["hours"], strict=True) if 0 <= hours < 20
    } == {7.25}


def test_units_that_are_finer_than_the_columns():
    def decimals(f: SynthesisForgery) -> None:
        stated = f.of("bonus")
        stated.update(decimals=3, step=10, low=10 * stated["low"], high=10 * stated["high"])

    refused(decimals, "the unit is not the one that all values are multiples of")
    refused(lambda f: f.of("amount").update(step=25), "the unit is not the one that all values are multiples of")


def test_a_value_between_multiples():
    def forge(f: SynthesisForgery) -> None:
        f.changed["amount"][0] = f.of("amount")["low"] + 25

    refused(forge, "a value is released beyond the ends, or between the units")


def test_numbers_of_released_values_that_few_have():
    def fewer(f: SynthesisForgery) -> None:
        f.of("hours")["met"] -= 1

    assert SynthesisForgery(amounts).of("hours")["met"] > 0
    refused(fewer, "another number of released values is that of few records than stated")


def test_codes_for_unknown_are_not_below_a_number():
    """-9 hours are not fewer than 20: where a rule says so of all numbers but names -9, too, it does not hold."""

    def forge(f: SynthesisForgery) -> None:
        f.method["rules"] = {**f.method["rules"], "bonus": {"hours < 20": 7.25, "hours == -9": 7.25}}

    forgery = SynthesisForgery(amounts)
    assert any(
        hours == -9 and bonus != 7.25
        for hours, bonus in zip(*map(forgery.changed.get, ("hours", "bonus")), strict=True)
    )
    refused(forge, "a rule does not hold")


def test_a_value_where_a_rule_gives_a_gap():
    def filled(f: SynthesisForgery) -> None:
        row = next(i for i, hours in enumerate(f.changed["hours"]) if 0 <= hours < 20)
        f.changed["note"][row] = "a"

    refused(filled, "a rule does not hold")


def test_true_and_false_are_sealed():
    def forge(f: SynthesisForgery) -> None:
        f.seals = False
        f.changed["member"][0] = not f.changed["member"][0]

    refused(forge, "released values are not those that the secret key sealed")


def test_a_seed_that_is_not_told():
    def forge(f: SynthesisForgery) -> None:
        f.key = ds.Key(KEY.secret, insecure=True)

    def unsaid(f: SynthesisForgery) -> None:
        f.key = None
        f.facts["insecure"] = 0

    for lie in (forge, unsaid):
        refused(lie, "it is not said whether draws came from a seed, or wrongly")


def test_numbers_without_a_unit_must_be_released_in_the_stated_one():
    @cache
    def made() -> ds.Release[RecordCustodian]:
        values = np.random.default_rng(2).normal(size=120)
        return ds.protect(ds.Microdata(pa.table({"x": values}), numeric=["x"]), ds.Synthesise(), key=KEY)

    def forge(f: SynthesisForgery) -> None:
        f.changed["x"][0] = 0.12345678901

    refused_of(forge, "values are not whole in the stated unit", made=made)


@cache
def shared() -> ds.Release[RecordCustodian]:
    """Fifty households of six, with an income to the cent each."""
    draw = np.random.default_rng(3)
    home = np.repeat(np.arange(50), 6)
    income = np.round(draw.lognormal(8, 1, 50), 2)[home]
    data = ds.Microdata(pa.table({"home": home, "income": income}), numeric=["income"], household="home")
    return ds.protect(data, ds.Synthesise(), key=KEY)


def test_the_income_of_one_household_of_six():
    def forge(f: SynthesisForgery) -> None:
        stated = f.of("income")
        within = [v for v in f.old["income"].to_pylist() if stated["low"] < v * 100 < stated["high"]]
        stated["met"] = 6
        f.changed["income"][:6] = [within[0]] * 6

    refused_of(forge, "values are released that only few records have", made=shared)
    refused_of(lambda f: f.facts.update(holder="record"), "it is stated wrongly whose values are counted", made=shared)


def test_numbers_a_unit_beside_their_own():
    """Without the key, every bonus moved by a cent or two to one that nobody has."""

    def forge(f: SynthesisForgery) -> None:
        f.key = None
        stated, old = f.of("bonus"), [round(value * 100) for value in f.old["bonus"].to_pylist()]
        taken, new = {*old}, []
        for unit in old:
            unit = min(max(unit, stated["low"]), stated["high"])
            new.append(next(u for away in range(1, 99) for u in (unit - away, unit + away) if fits(u, stated, taken)))
        ruled = [0 <= hours < 20 for hours in f.changed["hours"]]
        f.changed["bonus"] = [7.25 if rule else unit / 100 for rule, unit in zip(ruled, new, strict=True)]

    refused(forge, "values are nearly as they were")


def fits(unit: int, stated: dict[str, int], taken: set[int]) -> bool:
    return stated["low"] <= unit <= stated["high"] and unit not in taken
