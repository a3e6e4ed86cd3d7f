"""Releases that say of synthesised columns what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.synthesis import synthesis_claim
from discreet.model.custodian import RecordCustodian
from discreet.records.ordered_values import order_of
from discreet.records.synthesis.columns import content_of
from discreet.verify import Verdict, check_records

KEY = ds.Key(bytes(32))
ROWS = 240


@cache
def release() -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(6)
    home = np.arange(ROWS) // 2
    area = np.where(home % 2 == 0, "n", "s")
    age = draw.integers(0, 80, ROWS)
    table = pa.table(
        {
            "home": home,
            "area": area,
            "tenure": draw.choice(["own", "rent"], ROWS // 2)[home],
            "age": age,
            "job": pa.array(
                [
                    None if a == "n" and d < 0.2 else "x" if a == "n" else "y" if d < 0.5 else "z"
                    for a, d in zip(area, draw.random(ROWS), strict=True)
                ]
            ),
            "work": np.where(age < 15, "no", draw.choice(["no", "yes"], ROWS)),
            "pay": pa.array(
                [
                    None if d < 0.1 and a == "s" else round(float(v), 2)
                    for v, d, a in zip(draw.lognormal(7, 1, ROWS), draw.random(ROWS), area, strict=True)
                ]
            ),
            "kept": draw.choice(["p", "q"], ROWS),
            "weight": np.round(draw.uniform(1, 3, ROWS), 2),
        }
    )
    data = ds.Microdata(table, numeric=["pay"], strata=["area"], household="home", weight="weight")
    columns = ["age", "tenure", "job", "work", "pay"]
    return ds.protect(data, ds.Synthesise(columns, rules={"work": {"age < 15": "no"}}), key=KEY)


class SynthesisForgery:
    """A release of which the step is rewritten, sealed anew by somebody who has the key."""

    def __init__(self, made: Callable[[], ds.Release[RecordCustodian]] = release) -> None:
        self.custodian = made().custodian
        self.key: ds.Key | None = self.custodian.key
        self.seals = True
        self.counts = True
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.facts["models"] = [dict(one) for one in self.facts["models"]]
        self.old = self.custodian.original.columns
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.types = {name: self.old[name].type for name in self.old.column_names}

    def of(self, column: str) -> dict[str, Any]:
        return next(one for one in self.facts["models"] if one["column"] == column)

    def rows(self, **wanted: Any) -> list[int]:
        """Rows with stated values in columns that stayed."""
        return [i for i in range(ROWS) if all(self.old[name][i].as_py() == value for name, value in wanted.items())]

    def verdict(self) -> Verdict:
        changed = pa.table({n: pa.array(v, self.types[n]) for n, v in self.changed.items()})
        identity = self.custodian.original.identity
        if self.seals and identity is not None:
            seal = blake2b(f"synthesise/seal/{self.method['version']}".encode(), key=KEY.secret, digest_size=16)
            for name in self.facts["columns"]:
                if name in changed.column_names:
                    seal.update(name.encode() + b"\0" + content_of(changed[name], order_of(identity)))
            self.facts["seal"] = seal.hexdigest()
        if self.counts:
            names = [name for name in self.facts["columns"] if name in self.changed]
            pairs = zip(
                *(zip(self.old[name].to_pylist(), self.changed[name], strict=True) for name in names), strict=True
            )
            self.facts["same"] = sum(all(old == new for old, new in pair) for pair in pairs)
        claim = synthesis_claim(self.method, self.facts)
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=claim)
        lie = replace(self.custodian, key=self.key, steps=(replace(self.step, evidence=evidence, changed=changed),))
        return check_records(lie, lie.public())


def refused(
    forge: Callable[[SynthesisForgery], object],
    message: str,
    alone: bool = True,
    made: Callable[[], ds.Release[RecordCustodian]] = release,
) -> None:
    forgery = SynthesisForgery(made)
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


def test_the_release_has_what_forgeries_need():
    facts = release().custodian.evidence[0].facts
    assert facts["households"] == ["tenure"]
    assert {one["column"]: one["kind"] for one in facts["models"]} == {
        "tenure": "codes",
        "age": "numbers",
        "job": "codes",
        "work": "codes",
        "pay": "numbers",
    }
    assert SynthesisForgery().of("pay")["fine"]
    assert not SynthesisForgery().of("age")["fine"]


# ---- values -------------------------------------------------------------------------------------------------


def test_a_value_that_the_key_did_not_seal():
    def forge(f: SynthesisForgery) -> None:
        f.seals = False
        row = next(i for i, age in enumerate(f.changed["age"]) if age > 20)
        f.changed["work"][row] = "no" if f.changed["work"][row] == "yes" else "yes"

    refused(forge, "released values are not those that the secret key sealed")
    refused(lambda f: f.method.update(version=2) or setattr(f, "seals", False), "that the secret key sealed")
    forgery = SynthesisForgery()
    forge(forgery)
    forgery.key = None
    assert forgery.verdict().holds
    assert any("drawn from the stated models" in line for line in forgery.verdict().asserted)


def test_a_code_of_another_stratum_and_one_from_nowhere():
    def elsewhere(f: SynthesisForgery) -> None:
        f.changed["job"][f.rows(area="s")[0]] = "x"

    def nowhere(f: SynthesisForgery) -> None:
        f.changed["job"][0] = "nothing of the kind"

    for forge in (elsewhere, nowhere):
        refused(forge, "a code is released that no record of the stratum has")


def test_gaps_where_the_stratum_had_none():
    def number(f: SynthesisForgery) -> None:
        row = next(i for i in f.rows(area="n") if f.changed["pay"][i] not in (None,))
        f.changed["pay"][row] = None

    refused(number, "fields are empty in a way that no record of the stratum was")

    def code(f: SynthesisForgery) -> None:
        f.changed["job"][f.rows(area="s")[0]] = None

    refused(code, "fields are empty in a way that no record of the stratum was", alone=False)


def value_row(f: SynthesisForgery, name: str) -> int:
    return next(i for i, value in enumerate(f.changed[name]) if value is not None)


def test_the_value_of_one_record():
    def forge(f: SynthesisForgery) -> None:
        values = sorted(value for value in f.old["pay"].to_pylist() if value is not None)
        f.changed["pay"][value_row(f, "pay")] = values[len(values) // 2]
        f.of("pay")["met"] = 1

    refused(forge, "values are released that only few records have")


def test_values_beyond_the_ends_and_between_units():
    def beyond(f: SynthesisForgery) -> None:
        f.changed["pay"][value_row(f, "pay")] = f.of("pay")["high"] / 100 + 0.01

    def below(f: SynthesisForgery) -> None:
        f.changed["pay"][value_row(f, "pay")] = f.of("pay")["low"] / 100 - 0.01

    for forge in (beyond, below):
        refused(forge, "a value is released beyond the ends, or between the units")

    def between(f: SynthesisForgery) -> None:
        f.changed["pay"][value_row(f, "pay")] = 1000.005

    refused(between, "values are not whole in the stated unit")


def test_ends_that_show_the_largest():
    def forge(f: SynthesisForgery) -> None:
        f.of("pay")["high"] = round(100 * max(v for v in f.old["pay"].to_pylist() if v is not None))

    refused(forge, "the ends leave fewer of the largest or smallest values beyond than stated")
    refused(lambda f: f.of("pay").update(low=0), "the ends leave fewer of the largest or smallest", alone=True)


@pytest.mark.parametrize(
    ("column", "lie", "message"),
    [
        ("pay", {"decimals": 3}, "the unit is not the one that all values are multiples of"),
        ("pay", {"step": 2}, "the unit is not the one that all values are multiples of"),
        ("pay", {"decimals": "2"}, "values are not whole in the stated unit"),
        ("pay", {"step": 0}, "values are not whole in the stated unit"),
        ("pay", {"decimals": 12}, "values are not whole in the stated unit"),
        ("pay", {"fine": False}, "whether there is room between them"),
        ("age", {"fine": True}, "whether there is room between them"),
        ("age", {"rare": 0}, "which values few records have"),
        ("age", {"met": 10_000}, "another number of released values is that of few records than stated"),
        ("age", {"smallest": 4}, "a leaf is stated to be smaller than the least"),
        ("work", {"largest": 1}, "a leaf is stated to be smaller than the least"),
        ("work", {"leaves": 1.5}, "numbers of leaves are none"),
        ("work", {"model": "sample"}, "another model than the method names, or one that does not fit it"),
        ("pay", {"model": "logit"}, "another model than the method names, or one that does not fit it"),
        ("pay", {"kind": "codes"}, "numbers are called codes, so that values of few records could be released"),
        ("work", {"kind": "words"}, "there is not one model for every column, in their order"),
    ],
)
def test_facts_of_columns_that_are_none(column, lie, message):
    refused(lambda f: f.of(column).update(lie), message)


def test_codes_that_are_called_numbers():
    def forge(f: SynthesisForgery) -> None:
        f.of("work").update(kind="numbers", decimals=0, step=1, low=0, high=1, fine=False, rare=0, met=0)

    refused(forge, "codes are called numbers")

    def by_name(f: SynthesisForgery) -> None:
        f.method["categories"] = ["pay"]

    refused(by_name, "codes are called numbers")


def test_models_that_do_not_fit_although_they_are_named():
    def forge(f: SynthesisForgery) -> None:
        f.method["models"] = {"work": "normal"}
        f.of("work")["model"] = "normal"

    refused(forge, "another model than the method names, or one that does not fit it")


def test_another_type():
    def forge(f: SynthesisForgery) -> None:
        f.types["age"] = pa.float64()
        f.changed["age"] = [float(value) for value in f.changed["age"]]

    refused(forge, "a column has another type than before")


# ---- rules and households -----------------------------------------------------------------------------------


def test_a_rule_that_does_not_hold():
    def forge(f: SynthesisForgery) -> None:
        row = next(i for i, age in enumerate(f.changed["age"]) if age < 15)
        f.changed["work"][row] = "yes"

    refused(forge, "a rule does not hold")

    def of_the_original(f: SynthesisForgery) -> None:
        f.method["rules"] = {"work": {"age < 15": "no", "age < 40 and work == 'yes'": "no"}}

    refused(of_the_original, "a rule does not hold")


def ruled(holders: int, role: str = "") -> ds.Release[RecordCustodian]:
    """A rule that so many holders of values are under, allowed by name; companies and households of two records."""
    size = 2 if role else 1
    rows = 200
    kings = holders * size
    home = [i // size for i in range(rows)]
    rank = np.where(np.arange(rows) < kings, "z", np.random.default_rng(3).choice(["x", "y", "z"], rows))
    job = np.where(np.arange(rows) < kings, "king", "else")
    roles = {role or "identifier": "home"}
    data = ds.Microdata(pa.table({"home": [f"h{i}" for i in home], "job": job, "rank": rank}), **roles)
    method = ds.Synthesise(
        ["rank"], given=["job"], rules={"rank": {"job == 'king'": "z"}}, rules_of_few=["rank"], default="sample"
    )
    return ds.protect(data, method, key=KEY)


@pytest.mark.parametrize("role", ["", "household", "contributor"])
def test_a_rule_of_few_that_nobody_allowed(role):
    def forge(f: SynthesisForgery) -> None:
        f.method["rules_of_few"] = []

    for holders in (1, 4):
        refused(forge, "a rule gives what few have, and nobody allowed it", made=lambda h=holders: ruled(h, role))
    enough = SynthesisForgery(lambda: ruled(5, role))
    forge(enough)
    assert not enough.verdict().refused


def test_rules_of_few_of_a_column_without_rules():
    refused(lambda f: f.method.update(rules_of_few=["age"]), "rules of few are allowed for columns without rules")


def test_members_of_a_household_with_different_values():
    def forge(f: SynthesisForgery) -> None:
        f.changed["tenure"][0] = "own" if f.changed["tenure"][0] == "rent" else "rent"

    refused(forge, "members of a household have different values where all had the same")


def test_columns_of_households_that_are_none():
    def fewer(f: SynthesisForgery) -> None:
        f.facts["households"] = []
        f.facts["models"].sort(key=lambda one: f.method["columns"].index(one["column"]))
        f.facts["columns"] = list(f.method["columns"])

    refused(fewer, "other columns are stated to be those of households than all members shared")

    def without(f: SynthesisForgery) -> None:
        f.facts["homes"] = False

    refused(without, "it is stated wrongly whether there are households of several members")


def test_columns_of_households_without_any():
    data = ds.Microdata(pa.table({"sex": ["m", "f"] * 20}))
    custodian = ds.protect(data, ds.Synthesise(), key=KEY).custodian
    evidence = custodian.evidence[0]
    facts = {**evidence.facts, "households": ["sex"]}
    lie = replace(evidence, facts=facts, claim=synthesis_claim(evidence.method, facts))
    lying = replace(custodian, steps=(replace(custodian.steps[0], evidence=lie),))
    assert [refusal.message for refusal in check_records(lying, lying.public()).refused] == [
        "columns of households are stated, and there are none of several members"
    ]


# ---- the method ---------------------------------------------------------------------------------------------


def test_other_columns_and_no_columns():
    refused(lambda f: f.changed.pop("age"), "other columns changed than the stated ones")
    refused(lambda f: f.changed.update(kept=["p"] * ROWS), "other columns changed than the stated ones")
    refused(lambda f: f.method.update(columns=["age", "pay"]), "other columns changed than the stated ones")

    def weights(f: SynthesisForgery) -> None:
        f.method["columns"] = [*f.method["columns"], "weight"]
        f.facts["columns"] = [*f.facts["columns"], "weight"]
        f.changed["weight"] = f.old["weight"].to_pylist()

    refused(weights, "a column was synthesised that holds no values")


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"strata": []}, "the strata are not those that the method names, or that the records have"),
        ({"given": []}, "other columns are given than the method names, or than stayed"),
        ({"rows": 5}, "the number of records, or whether they have weights, is stated wrongly"),
        ({"weighted": False}, "the number of records, or whether they have weights, is stated wrongly"),
        ({"insecure": True}, "it is not said whether draws came from a seed, or wrongly"),
        ({"insecure": ""}, "it is not said whether draws came from a seed, or wrongly"),
    ],
)
def test_facts_that_are_none(lie, message):
    refused(lambda f: f.facts.update(lie), message)


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"given": ["home"]}, "other columns are given than the method names, or than stayed"),
        ({"strata": ["kept"]}, "the strata are not those that the method names"),
        ({"order": ["kept"]}, "the method names columns that were not synthesised"),
        ({"categories": ["kept"]}, "the method names columns that were not synthesised"),
        ({"order": ["pay"]}, "the columns do not stand in the stated order"),
    ],
)
def test_methods_that_do_not_fit_what_was_done(lie, message):
    refused(lambda f: f.method.update(lie), message)


def test_given_columns_that_nobody_sees():
    def forge(f: SynthesisForgery) -> None:
        f.method["given"] = f.facts["given"] = ["home"]

    refused(forge, "other columns are given than the method names, or than stayed")


def test_a_column_of_too_few_values():
    refused(lambda f: f.method.update(min_leaf=120), "a column has too few values to be released", alone=False)


def test_models_for_other_columns():
    refused(lambda f: f.facts.update(models=f.facts["models"][:-1]), "there is not one model for every column")


def test_records_as_they_were():
    """Without the key, the original codes in place of draws: only that nothing changed tells."""

    def forge(f: SynthesisForgery) -> None:
        f.key = None
        f.changed = {name: f.old[name].to_pylist() for name in f.changed}

    refused(forge, "no value changed", made=coded)

    def miscounted(f: SynthesisForgery) -> None:
        f.counts = False
        f.facts["same"] += 1

    refused(miscounted, "another number of records is as before than stated")


@cache
def coded() -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(6)
    table = pa.table({"a": draw.choice(["x", "y"], ROWS), "b": draw.choice(["u", "v", "w"], ROWS)})
    return ds.protect(ds.Microdata(table), ds.Synthesise(), key=KEY)
