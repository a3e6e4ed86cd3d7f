"""Releases that say of shuffled values what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.shuffle import shuffled_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records

METHODS: dict[str, Callable[[], ds.Shuffle]] = {
    "exact": lambda: ds.Shuffle(["x", "y"], given=["z"]),
    "plain": lambda: ds.Shuffle(["y"], exact=False, scale="product_moment"),
    "hypercube": lambda: ds.Shuffle(["x", "y"], sample="latin_hypercube"),
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    y, z = draw.permutation(80), draw.integers(0, 9, 80)
    x = [None if i % 5 == 0 else float(value) for i, value in enumerate(np.round(draw.lognormal(3, 1, 80) + z, 1))]
    table = pa.table({"x": x, "y": y, "z": z, "area": ["n", "s"] * 40, "home": draw.integers(0, 30, 80)})
    data = ds.Microdata(table, numeric=["x", "y"], strata=["area"], household="home")
    return ds.protect(data, METHODS[name](), key=ds.Key(bytes(32)))


class ShuffleForgery:
    """A release of which the step is rewritten; shares that readers know follow the values."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.key: ds.Key | None = self.custodian.key
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.old = self.custodian.original.columns
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.types = {name: self.old[name].type for name in self.changed}

    def exchange(self, column: str, one: int, other: int) -> None:
        """Let two rows exchange what they got, and state what follows for single columns."""
        values = self.changed[column]
        values[one], values[other] = values[other], values[one]
        self.state(column)

    def state(self, column: str) -> None:
        place, old = self.facts["columns"].index(column), self.old[column].to_pylist()
        pairs = [(a, b) for a, b in zip(old, self.changed[column], strict=True) if a is not None and b is not None]
        for fact, value in (
            ("kept", sum(a == b for a, b in zip(old, self.changed[column], strict=True))),
            ("told", float(np.corrcoef(*zip(*pairs, strict=True))[0, 1] ** 2)),
        ):
            stated = [*self.facts[fact]]
            stated[place] = value
            self.facts[fact] = stated

    def verdict(self) -> Verdict:
        claim = shuffled_claim(self.method, self.facts)
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=claim)
        changed = pa.table({n: pa.array(v, self.types[n]) for n, v in self.changed.items()})
        lie = replace(self.custodian, key=self.key, steps=(replace(self.step, evidence=evidence, changed=changed),))
        return check_records(lie, lie.public())


def refused(forge: Callable[[ShuffleForgery], object], message: str, name: str = "exact", alone: bool = True) -> None:
    forgery = ShuffleForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


def same_area(f: ShuffleForgery, column: str) -> tuple[int, int]:
    """Two rows of one stratum with different values, whose exchange moves no rank correlation of the file much."""
    values, areas = f.changed[column], f.old["area"].to_pylist()
    return next(
        (one, other)
        for one in range(80)
        for other in range(one)
        if areas[one] == areas[other] and None not in (values[one], values[other]) and values[one] != values[other]
    )


def test_places_that_the_key_does_not_draw():
    """Only who has the key can tell; the others are told that draws are asserted."""

    def moved(f: ShuffleForgery) -> None:
        f.exchange("y", *same_area(f, "y"))

    refused(moved, "have another value than the key draws", "plain")
    refused(lambda f: setattr(f, "key", ds.Key(bytes([1] * 32))), "another value than the key draws", alone=False)
    refused(lambda f: f.method.update(version=2), "another value than the key draws", alone=False)
    refused(lambda f: f.method.update(exact=True), "another value than the key draws", "plain")
    forgery = ShuffleForgery("plain")
    moved(forgery)
    forgery.key = None
    assert forgery.verdict().holds
    assert "that new places were drawn as stated" in forgery.verdict().asserted


def test_values_from_nowhere_and_from_another_stratum():
    def nowhere(f: ShuffleForgery) -> None:
        f.changed["y"][3] = 1000
        f.state("y")

    def elsewhere(f: ShuffleForgery) -> None:
        f.exchange("y", 0, 1)

    for forge in (nowhere, elsewhere):
        refused(forge, "a stratum does not have the values that it had", "plain")


def test_empty_fields_that_moved():
    def forge(f: ShuffleForgery) -> None:
        values = f.changed["x"]
        values[0], values[2] = values[2], values[0]

    refused(forge, "an empty field changed, or a value became empty", alone=False)


def test_another_type():
    refused(lambda f: f.types.update(y=pa.float64()), "a column has another type than before", "plain")


def test_values_that_stayed():
    def forge(f: ShuffleForgery) -> None:
        f.changed["y"] = f.old["y"].to_pylist()
        f.state("y")

    refused(forge, "no value changed its place", "plain")


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"kept": [0, 0]}, "another number of records kept their value than stated"),
        ({"told": [0.5, 0.5]}, "readers know another share of a column than stated"),
        ({"change": 0.9}, "correlations changed by something else than stated"),
        ({"explained": [0.0, 0.0]}, "given columns explain another share than stated"),
        ({"kept": [1]}, "what is stated is not stated of every column"),
        ({"told": []}, "what is stated is not stated of every column"),
        ({"explained": [0.1] * 3}, "what is stated is not stated of every column"),
        ({"strata": []}, "the strata are not those of the records"),
        ({"insecure": True}, "it is not said whether draws came from a seed, or wrongly"),
        ({"columns": ["y", "x"]}, "the columns are not those that the method names"),
    ],
)
def test_facts_that_are_none(lie, message):
    refused(lambda f: f.facts.update(lie), message)


def test_draws_of_a_seed():
    def unsaid(f: ShuffleForgery) -> None:
        f.key = None
        f.facts["insecure"] = ""

    refused(unsaid, "it is not said whether draws came from a seed, or wrongly")
    refused(
        lambda f: setattr(f, "key", ds.Key(bytes(32), insecure=True)), "it is not said whether draws came from a seed"
    )


@pytest.mark.parametrize("given", [["x"], ["nobody"], ["z", "z"]])
def test_given_columns_that_cannot_be(given):
    refused(lambda f: f.method.update(given=given), "columns are given that are shuffled, or that are not there")


def test_given_columns_on_which_nothing_depends():
    refused(lambda f: f.method.update(given=["home"]), "a column is given on which nothing depends")
    refused(lambda f: f.method.update(given=["area"]), "values changed places that have no order")


def test_other_columns():
    refused(lambda f: f.method.update(columns=["x"]), "other columns changed than the stated ones")


def test_values_that_were_shuffled_twice_by_the_same_draws():
    custodian = release("plain").custodian
    step = custodian.steps[0]
    lie = replace(custodian, steps=(step, step), key=None)
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert "values were shuffled twice by the same draws" in found
