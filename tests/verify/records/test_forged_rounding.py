"""Releases that say of randomly rounded values what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.random_rounding import randomly_rounded_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records

BASES = ((10_000, 1_000), (0, 100))


@cache
def release() -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    rows = 200
    house = draw.integers(-20_000, 90_000, rows)
    cash = np.round(draw.lognormal(8, 1, rows), 1)
    table = pa.table(
        {
            "id": range(rows),
            "house": house,
            "cash": cash,
            "wage": pa.array([-9 if i % 9 == 0 else None if i % 7 == 0 else 150 * i + 1 for i in range(rows)]),
            "worth": np.round(house + cash, 1),
            "age": draw.integers(20, 90, rows),
        }
    )
    data = ds.Microdata(table, identifier="id", numeric=["house", "cash", "wage", "worth"])
    method = ds.RoundRandomly(bases=BASES, bases_of={"age": 5}, keep=[-9], totals={"worth": ["house", "cash"]})
    return ds.protect(data, method, key=ds.Key(bytes(32)))


class RoundingForgery:
    """A release of which the step is rewritten."""

    def __init__(self) -> None:
        self.custodian = release().custodian
        self.key: ds.Key | None = self.custodian.key
        self.step = self.custodian.steps[0]
        self.method: dict[str, Any] = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.old = {name: self.custodian.original.columns[name].to_pylist() for name in self.custodian.original.names}
        self.types = {name: self.custodian.original.columns[name].type for name in self.custodian.original.names}
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.info = dict(self.custodian.original.info)

    def move(self, name: str, row: int, value: float) -> None:
        """Another value; numbers of rounded values and totals follow."""
        self.changed[name][row] = value
        place = self.facts["columns"].index(name)
        many = sum(a != b for a, b in zip(self.old[name], self.changed[name], strict=True))
        self.facts["rounded"] = [many if i == place else n for i, n in enumerate(self.facts["rounded"])]
        if "worth" in self.changed:
            self.changed["worth"] = [a + b for a, b in zip(self.changed["house"], self.changed["cash"], strict=True)]

    def verdict(self) -> Verdict:
        claim = randomly_rounded_claim(self.method, self.facts)
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=claim)
        changed = pa.table({n: pa.array(v, self.types[n]) for n, v in self.changed.items()})
        columns = pa.table({n: pa.array(v, self.types[n]) for n, v in self.old.items()})
        original = replace(self.custodian.original, columns=columns, info=self.info)
        step = replace(self.step, evidence=evidence, changed=changed)
        lie = replace(self.custodian, key=self.key, original=original, steps=(step,))
        return check_records(lie, lie.public())


def refused(forge: Callable[[RoundingForgery], object], message: str) -> None:
    forgery = RoundingForgery()
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert found, message
    assert all(message in text for text in found), found


def other_way(f: RoundingForgery, name: str = "wage", row: int = 50) -> None:
    old, new = f.old[name][row], f.changed[name][row]
    base = next(base for size, base in BASES if abs(old) >= size)
    f.move(name, row, new + base if new < old else new - base)


def test_a_value_that_went_another_way_than_the_key_draws():
    refused(other_way, "1 value went another way than the key draws")
    refused(lambda f: other_way(f, "cash", 3), "1 value went another way than the key draws")
    refused(lambda f: setattr(f, "key", ds.Key(bytes([1] * 32))), "went another way than the key draws")
    refused(lambda f: f.method.update(version=2), "went another way than the key draws")
    forgery = RoundingForgery()
    other_way(forgery)
    forgery.key = None
    assert forgery.verdict().holds
    assert "that values were rounded at random" in forgery.verdict().asserted


@pytest.mark.parametrize("steps", [-2, 2, 0.5])
def test_a_value_that_went_too_far(steps):
    def forge(f: RoundingForgery) -> None:
        row = 50
        f.move("wage", row, int(f.changed["wage"][row] + steps * 100))

    refused(forge, "1 value did not become a multiple of the base next to it")


def test_a_multiple_that_moved():
    def forge(f: RoundingForgery) -> None:
        row = next(i for i, age in enumerate(f.old["age"]) if age % 5 == 0)
        f.move("age", row, f.old["age"][row] + 5)

    refused(forge, "1 value did not become a multiple of the base next to it")


def test_the_base_of_another_size():
    refused(lambda f: f.method.update(bases=((10_000, 10_000), (0, 100))), "did not become a multiple of the base")
    refused(lambda f: f.method.update(bases=((9_000, 1_000), (0, 100))), "did not become a multiple of the base")
    refused(lambda f: f.method.update(bases_of={"age": ((0, 10),)}), "did not become a multiple of the base")


@pytest.mark.parametrize(
    "bases",
    [
        ((0, 100), (10_000, 1_000)),
        ((10_000, 1_000),),
        ((0, 0),),
        ((0, -100),),
        ((5, 100), (10_000, 1_000), (0, 100)),
        ((10_000, 1_000), (10_000, 1_000), (0, 100)),
        ((10_000, 1_000), (-5, 100)),
        ((10_000, 1_000), (0, -100)),
    ],
)
def test_bases_that_are_none(bases):
    refused(lambda f: f.method.update(bases=bases), "what is stated of the method cannot be used")


def test_all_values_rounded_down():
    """Without the key, what chance would hardly do is seen all the same."""

    def forge(f: RoundingForgery) -> None:
        f.key = None
        for row, old in enumerate(f.old["house"]):
            base = 1_000 if abs(old) >= 10_000 else 100
            f.move("house", row, old // base * base)

    refused(forge, "values were rounded up, or down, more often than chance would")


@pytest.mark.parametrize(("row", "value"), [(0, 0), (7, 100), (9, None)])
def test_a_code_or_a_gap_that_changed(row, value):
    def forge(f: RoundingForgery) -> None:
        f.changed["wage"][row] = value

    refused(forge, "an empty field or a code changed")


def test_a_code_that_is_called_a_value():
    refused(lambda f: f.method.update(keep=()), "did not become a multiple of the base next to it")


def test_totals_that_are_no_sums():
    def now(f: RoundingForgery) -> None:
        f.changed["worth"][3] += 100

    def before(f: RoundingForgery) -> None:
        f.old["worth"][3] += 1

    refused(now, "a total is not the sum of its parts in 1 record")
    refused(before, "a total was not the sum of its parts in 1 record")
    refused(lambda f: f.method.update(totals={"worth": ("house", "-cash")}), "not the sum of its parts in 200 records")


def test_a_total_that_was_empty():
    def forge(f: RoundingForgery) -> None:
        f.old["worth"][3] = None

    refused(forge, "a total without a value has one now")


def test_a_total_of_columns_that_stayed():
    refused(lambda f: f.method.update(totals={"worth": ("id",)}), "a total was added up of columns that did not change")


def test_a_total_that_is_no_exact_number():
    def forge(f: RoundingForgery) -> None:
        f.old["worth"][3] = 1 / 3

    refused(forge, "a total, or a part of it, holds what is no exact number")


def test_columns_that_the_method_does_not_name():
    refused(lambda f: f.method.update(columns=("house", "wage")), "other columns changed than the stated ones")
    refused(lambda f: f.method.update(bases_of={}), "other columns changed than the stated ones")
    refused(
        lambda f: f.method.update(totals={}, columns=("house", "cash", "wage")),
        "other columns changed than the stated ones",
    )
    refused(lambda f: f.method.update(columns=("house", "cash", "wage", "worth")), "other columns changed")


def test_columns_in_another_order():
    def forge(f: RoundingForgery) -> None:
        f.facts.update(columns=f.facts["columns"][::-1], rounded=f.facts["rounded"][::-1])

    refused(forge, "the columns are not those that the method names, or that the records have")


def test_a_column_of_weights():
    def forge(f: RoundingForgery) -> None:
        f.info["age"] = replace(f.custodian.original.about("age"), role="weight")

    refused(forge, "a column was changed that holds no values")


def test_numbers_of_another_kind():
    forgery = RoundingForgery()
    changed = pa.table(
        {
            n: pa.array(v, pa.float64() if n == "age" else f)
            for (n, v), f in zip(forgery.changed.items(), [forgery.types[n] for n in forgery.changed], strict=True)
        }
    )
    lie = replace(forgery.custodian, steps=(replace(forgery.step, changed=changed),))
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert found == {"a column has numbers of another kind than before"}


@pytest.mark.parametrize("more", [1, -1])
def test_another_number_of_rounded_values(more):
    def forge(f: RoundingForgery) -> None:
        f.facts["rounded"] = [f.facts["rounded"][0] + more, *f.facts["rounded"][1:]]

    refused(forge, "another number of values was rounded than stated")


def test_a_value_with_more_decimals():
    refused(lambda f: f.move("cash", 3, f.changed["cash"][3] + 0.05), "a value is no multiple of its base")


def test_bases_with_decimals_of_whole_numbers():
    refused(
        lambda f: f.method.update(bases_of={"age": ((0, 2.5),)}), "the values, or their bases, are no exact numbers"
    )


def test_what_is_said_of_draws():
    def seed(f: RoundingForgery) -> None:
        f.key = ds.Key(bytes(32), insecure=True)

    def unsaid(f: RoundingForgery) -> None:
        f.key = None
        f.facts["insecure"] = ""

    for forge in (seed, unsaid, lambda f: f.facts.update(insecure=True)):
        refused(forge, "it is not said whether draws came from a seed, or wrongly")
    refused(lambda f: f.facts.update(identified=False), "it is not said whether records have an identifier, or wrongly")


def test_values_that_are_no_exact_numbers():
    def forge(f: RoundingForgery) -> None:
        f.old["cash"][0] = 1 / 3
        f.method.update(totals={}, columns=("house", "cash", "wage"))
        del f.changed["worth"]

    refused(forge, "the values, or their bases, are no exact numbers")
