"""Releases that say of emptied fields what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.blanked import blanked_claim
from discreet.model.release import RecordCustodian
from discreet.verify import Verdict, check_records

METHODS: dict[str, Callable[[], ds.LocalSuppress]] = {
    "all": lambda: ds.LocalSuppress(3),
    "pairs": lambda: ds.LocalSuppress(3, size=2, importance={"age": 0.5}),
    "named": lambda: ds.LocalSuppress(3, keys=["sex", "age"]),
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(3)
    rows = 120
    table = pa.table(
        {
            "age": draw.integers(20, 40, rows),
            "sex": draw.choice(["f", "m"], rows),
            "area": pa.array([None if code == "?" else str(code) for code in draw.choice(list("abc?"), rows)]),
            "income": draw.integers(1, 10**6, rows),
        }
    )
    data = ds.Microdata(table, keys=["age", "sex", "area"], numeric="income")
    return ds.protect(data, METHODS[name](), key=ds.Key(bytes(32)))


class BlankForgery:
    """A release of which the step is rewritten; numbers, cost and claim follow where they are not forged themselves."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.forged: dict[str, Any] = {}
        self.old = self.custodian.original.columns.to_pydict()
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.claim: Any = None
        self.types: dict[str, pa.DataType] = {}

    def verdict(self) -> Verdict:
        facts = {**self.step.evidence.facts, **self._counted(), **self.forged}
        said = self.claim or blanked_claim(self.method, facts)
        evidence = replace(self.step.evidence, method=self.method, facts=facts, claim=said)
        types = {name: self.types.get(name, self.custodian.original[name].type) for name in self.changed}
        changed = pa.table({name: pa.array(values, types[name]) for name, values in self.changed.items()})
        lie = replace(self.custodian, steps=(replace(self.step, evidence=evidence, changed=changed),))
        return check_records(lie, lie.public())

    def _counted(self) -> dict[str, Any]:
        keys = self.step.evidence.facts["keys"]
        new = {
            name: [n is None and o is not None for n, o in zip(values, self.old[name], strict=True)]
            for name, values in self.changed.items()
        }
        blanks = [sum(new.get(name, [])) for name in keys]
        weight = [float(self.method["importance"].get(name, 1.0)) for name in keys]
        touched = sum(any(column[row] for column in new.values()) for row in range(len(self.custodian.original)))
        cost = sum(number * price for number, price in zip(blanks, weight, strict=True))
        return {"blanks": blanks, "records": touched, "cost": cost}


def refused(forge: Callable[[BlankForgery], None], message: str, name: str = "all", alone: bool = True) -> None:
    forgery = BlankForgery(name)
    assert forgery.verdict().holds
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


def emptied(f: BlankForgery, name: str) -> int:
    """A row in which a field was emptied."""
    return next(row for row, value in enumerate(f.changed[name]) if value is None and f.old[name][row] is not None)


def test_a_field_that_was_not_emptied_after_all():
    def forge(f: BlankForgery) -> None:
        row = emptied(f, "age")
        f.changed["age"][row] = f.old["age"][row]

    refused(forge, "fewer than 3 times", alone=False)


def test_a_field_that_has_another_value():
    def forge(f: BlankForgery) -> None:
        row = next(row for row, value in enumerate(f.changed["age"]) if value is not None)
        other = next(k for k, v in enumerate(f.changed["age"]) if v not in (None, f.old["age"][row]))
        f.changed["age"][row] = f.changed["age"][other]

    refused(forge, "a field that is not empty has another value than before", alone=False)


def test_a_gap_that_was_filled():
    def forge(f: BlankForgery) -> None:
        f.changed.setdefault("area", list(f.old["area"]))
        f.changed["area"][f.old["area"].index(None)] = "a"

    refused(forge, "a field that is not empty has another value than before", alone=False)


def test_another_column_was_emptied():
    def forge(f: BlankForgery) -> None:
        f.changed["income"] = [None] * len(f.old["income"])

    refused(forge, "other columns changed than keys")


@pytest.mark.parametrize(
    "keys", [["age", "sex"], [], ["age", "age", "area"], ["sex", "age", "area"], ["age", "sex", "ar"]]
)
def test_other_keys_than_those_of_the_records(keys):
    def forge(f: BlankForgery) -> None:
        f.forged |= {"keys": keys, "blanks": [0] * len(keys)}

    refused(forge, "the keys are not those that the method names, or that the records have")


def test_keys_that_the_method_does_not_name():
    def forge(f: BlankForgery) -> None:
        f.method["keys"] = ["age", "sex"]

    refused(forge, "the keys are not those that the method names, or that the records have", "named")


@pytest.mark.parametrize("keys", [["sex", "sex"], ["sex", "sex", "age"], ["sex", "nobody"]])
def test_keys_that_cannot_be(keys):
    def forge(f: BlankForgery) -> None:
        f.method["keys"] = keys
        f.forged |= {"keys": keys, "blanks": [0] * len(keys)}

    refused(forge, "the keys are not those that the method names, or that the records have", "named")


def test_no_keys_at_all():
    def forge(f: BlankForgery) -> None:
        f.method["keys"] = []
        f.forged |= {"keys": [], "blanks": []}
        info = {name: replace(f.custodian.original.about(name), role="") for name in f.custodian.original.names}
        f.custodian = replace(f.custodian, original=replace(f.custodian.original, info=info))

    refused(forge, "the keys are not those that the method names, or that the records have", "named", alone=False)


def test_a_column_of_another_type():
    def forge(f: BlankForgery) -> None:
        f.types["age"] = pa.string()
        f.changed["age"] = [None if value is None else str(value) for value in f.changed["age"]]

    refused(forge, "a field that is not empty has another value than before", alone=False)


def test_a_bound_for_more_columns_than_can_be_worked_out():
    names = [f"k{n}" for n in range(13)]
    table = pa.table({name: ["a", "b"] * 6 for name in names})
    made = ds.protect(ds.Microdata(table, keys=names), ds.LocalSuppress(3, size=2), key=ds.Key(bytes(32)))
    step = made.custodian.steps[0]
    method = {**step.evidence.method, "size": None}
    facts = {**step.evidence.facts, "least": 1.0}
    evidence = replace(step.evidence, method=method, facts=facts, claim=blanked_claim(method, facts))
    lie = replace(made.custodian, steps=(replace(step, evidence=evidence),))
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert found == {"a least cost is stated that this checker cannot work out"}


@pytest.mark.parametrize("fact", ["records", "rows"])
@pytest.mark.parametrize("more", [1, -1])
def test_other_numbers_than_those_counted(fact, more):
    def forge(f: BlankForgery) -> None:
        f.forged[fact] = f.step.evidence.facts[fact] + more

    refused(forge, "the numbers of emptied fields and records are not those that are counted")


def test_other_numbers_of_fields():
    def forge(f: BlankForgery) -> None:
        true = list(f.step.evidence.facts["blanks"])
        f.forged["blanks"] = [true[0] - 1, true[1] + 1, *true[2:]]

    refused(forge, "the numbers of emptied fields and records are not those that are counted")


@pytest.mark.parametrize("name", ["all", "pairs"])
def test_a_larger_k_than_was_kept(name):
    def forge(f: BlankForgery) -> None:
        f.method["k"] = 4
        f.forged["least"] = 0.0

    refused(forge, "occur fewer than 4 times", name, alone=False)


def test_larger_combinations_than_were_protected():
    def forge(f: BlankForgery) -> None:
        f.method["size"] = 3
        f.forged["least"] = 0.0

    refused(forge, "occur fewer than 3 times", "pairs")


@pytest.mark.parametrize("name", ["all", "pairs"])
def test_a_cost_that_is_not_that_of_the_fields(name):
    refused(lambda f: f.forged.update(cost=f.step.evidence.facts["cost"] - 0.5), "not that of the emptied fields", name)


@pytest.mark.parametrize("name", ["all", "pairs"])
def test_a_bound_that_is_too_high(name):
    def forge(f: BlankForgery) -> None:
        f.forged["least"] = f.step.evidence.facts["least"] + 0.5

    refused(forge, "it can be done for less than what is stated as the least cost", name)


def test_a_bound_below_zero():
    refused(lambda f: f.forged.update(least=-1.0), "it can be done for less than what is stated")


@pytest.mark.parametrize("importance", [{"income": 2.0}, {"age": 0.0}, {"age": -1.0}])
def test_importance_that_cannot_be(importance):
    def forge(f: BlankForgery) -> None:
        f.method["importance"] = importance

    refused(forge, "importance is stated of a column that is no key, or is not above zero")


def test_a_claim_in_other_words():
    def forge(f: BlankForgery) -> None:
        f.claim = replace(f.step.evidence.claim, statement="Nobody can be recognised.")

    refused(forge, "local_suppress does not claim what it may")
