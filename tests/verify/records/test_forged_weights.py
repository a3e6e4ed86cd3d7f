"""Releases that say of recomputed weights what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import fsum
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.reweighting import reweighted_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records

SIZES = {"a": 1000, "b": 2000, "c": 5000}
DRAW = {"area": {"a": {"a": 0.6, "b": 0.4}, "b": {"b": 0.7, "c": 0.3}, "c": {"c": 1.0}}}
METHODS: dict[str, Callable[[], ds.Reweight]] = {
    "recalculate": lambda: ds.Reweight(["area"]),
    "copy": lambda: ds.Reweight(["area"], how="copy"),
    "stated": lambda: ds.Reweight(["area"], population=SIZES),
    "keep": lambda: ds.Reweight(["area"], factors="keep"),
    "size": lambda: ds.Reweight(size="size", least_size=1.0),
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    area = np.repeat(list(SIZES), 20)
    weight = np.array([SIZES[code] / 20 for code in area])
    size = np.round(draw.lognormal(3, 1, 60)).astype(int) + 1
    weight = weight * draw.uniform(0.8, 1.2, 60) if name == "keep" else 4000 / size if name == "size" else weight
    table = pa.table({"area": area, "w": weight, "size": size, "x": draw.integers(0, 9, 60), "home": [*range(30)] * 2})
    data = ds.Microdata(table, weight="w", keys=["area"], numeric=["size", "x"], household="home")
    first = ds.Ipso(["size"]) if name == "size" else ds.Pram(DRAW)
    return ds.protect(data, first, METHODS[name](), key=ds.Key(bytes(32)))


class WeightForgery:
    """A release of which the second step is rewritten; sums and design effects follow the weights."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.first, self.step = self.custodian.steps
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.original = self.custodian.original
        self.weights = self.step.changed["w"].to_pylist()
        self.type = pa.float64()
        self.name = "w"

    def state(self) -> None:
        old, new = self.original.columns["w"].to_numpy(), np.array(self.weights, float)
        self.facts.update(before=fsum(old), after=fsum(new))
        self.facts["effects"] = [float((w**2).mean() / w.mean() ** 2) for w in (old, new)]

    def verdict(self) -> Verdict:
        claim = reweighted_claim(self.method, self.facts)
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=claim)
        changed = pa.table({self.name: pa.array(self.weights, self.type)})
        steps = (self.first, replace(self.step, evidence=evidence, changed=changed))
        lie = replace(self.custodian, original=self.original, steps=steps)
        return check_records(lie, lie.public())


def refused(forge: Callable[[WeightForgery], object], message: str, name: str = "recalculate") -> None:
    forgery = WeightForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert found == {message}


@pytest.mark.parametrize("name", list(METHODS))
def test_one_weight_that_is_another(name):
    def forge(f: WeightForgery) -> None:
        f.weights[3] *= 1 + 1e-9
        f.state()

    refused(forge, "weights are not what the published values give", name)


@pytest.mark.parametrize("name", ["recalculate", "copy", "stated"])
def test_weights_that_are_off_by_the_last_bit_would_mark_records(name):
    def forge(f: WeightForgery) -> None:
        f.weights[3] = float(np.nextafter(f.weights[3], np.inf))

    refused(forge, "weights are not what the published values give", name)


def test_old_weights_that_stay_are_found():
    forgery = WeightForgery("recalculate")
    for times in (1, 3):
        forgery.weights = [times * weight for weight in forgery.original.columns["w"].to_pylist()]
        forgery.state()
        found = {refusal.message for refusal in forgery.verdict().refused}
        assert "the weights are those of before, or a multiple of them" in found


@pytest.mark.parametrize(
    "way", [lambda w: w, lambda w: w * 7, lambda w: 20 / w, lambda w: [None, 0.0, *w.tolist()[2:]]]
)
def test_a_column_with_the_old_weights_is_found_if_injected(way):
    def forge(f: WeightForgery) -> None:
        table = f.original.columns
        told = pa.array(way(table["w"].to_numpy()))
        place = table.column_names.index("x")
        f.original = replace(f.original, columns=table.set_column(place, "x", told))

    forgery = WeightForgery("copy")
    forgery.first = replace(forgery.first)
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert "a column tells what the old weights were" in found


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"groups": 4}, "there are other numbers of groups, or of empty ones, than stated"),
        ({"empty": 1}, "there are other numbers of groups, or of empty ones, than stated"),
        ({"few": 1}, "there are other numbers of groups, or of empty ones, than stated"),
        ({"lost": 0.1}, "another share of the population has no record than stated"),
        ({"before": 7000.0}, "sums of weights, or of sizes, are not the stated ones"),
        ({"after": 7000.0}, "sums of weights, or of sizes, are not the stated ones"),
        ({"total": 5.0}, "sums of weights, or of sizes, are not the stated ones"),
        ({"effects": [1.0, 1.0]}, "design effects are not the stated ones"),
        ({"effects": [1.0]}, "design effects are not the stated ones"),
        ({"weight": "x"}, "other columns changed than the weights"),
    ],
)
def test_facts_that_are_none(lie, message):
    refused(lambda f: f.facts.update(lie), message)


def test_the_total_of_sizes():
    refused(lambda f: f.facts.update(total=3.0), "sums of weights, or of sizes, are not the stated ones", "size")
    refused(lambda f: f.method.update(least_size=None), "a size is zero or below", "size")
    refused(lambda f: f.method.update(size="area"), "sizes are no numbers, or not of all records", "size")


def test_parameters_that_the_method_may_not_have():
    together = "the method has parameters that it may not have together"
    refused(lambda f: f.method.update(total=5.0), together)
    refused(lambda f: f.method.update(least_size=5.0), together)
    refused(lambda f: f.method.update(times=2.0), together)
    refused(lambda f: f.method.update(how="copy"), together, "stated")
    refused(lambda f: f.method.update(how="copy"), together, "size")
    refused(lambda f: f.method.update(factors="drop"), together, "copy")
    refused(lambda f: f.method.update(empty="spread"), together, "copy")
    refused(lambda f: f.method.update(by=[]), "it is not stated what weights go by")
    refused(lambda f: f.method.update(by=["area", "area"]), "it is not stated what weights go by")
    refused(lambda f: (f.method.update(size="size"), f.facts.update(total=1.0)), "it is not stated what weights go by")
    refused(lambda f: f.method.update(by=["home"]), "weights go by a column that is not published")
    refused(lambda f: f.method.update(by=["nobody"]), "weights go by a column that is not published")
    refused(lambda f: f.method.update(by=["w"]), "weights go by a column that is not published")


def test_weights_that_are_no_numbers():
    def gone(f: WeightForgery) -> None:
        f.weights[0] = None

    refused(gone, "the weights are no numbers, or not of all records")

    def whole(f: WeightForgery) -> None:
        f.type, f.weights = pa.int64(), [round(weight) for weight in f.weights]

    refused(whole, "the weights are no numbers, or not of all records")


def test_old_weights_that_differ_within_groups():
    refused(lambda f: f.method.update(factors="refuse"), "old weights differ within a group", "keep")


def test_groups_without_population_or_record():
    refused(
        lambda f: f.method.update(population={"a": 1000.0, "b": 2000.0}),
        "there is no population for a published group",
        "stated",
    )
    refused(
        lambda f: f.method.update(population={**SIZES, "d": 5.0}),
        "no record is published in a group of the population",
        "stated",
    )
    refused(
        lambda f: f.method.update(by=["area", "x"]), "populations are stated by the codes of several columns", "stated"
    )


def test_copies_of_weights_that_nobody_had():
    """Published areas that are nobody's: the first step is made to say so."""
    forgery = WeightForgery("copy")
    other = ["z" if code == "a" else code for code in forgery.first.changed["area"].to_pylist()]
    table = pa.table({"area": other})
    forgery.first = replace(forgery.first, changed=table)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert "there is no old weight for a published group" in found


def test_records_without_a_weight():
    def forge(f: WeightForgery) -> None:
        table = f.original.columns
        old = [0.0, *table["w"].to_pylist()[1:]]
        f.original = replace(f.original, columns=table.set_column(table.column_names.index("w"), "w", pa.array(old)))

    forgery = WeightForgery("recalculate")
    forge(forgery)
    assert "there are records without a weight" in {refusal.message for refusal in forgery.verdict().refused}


def test_adjustments_that_tell_the_group():
    """Weights of two classes in each stratum, with other factors in each: only the checker is left to see it."""
    custodian = release("keep").custodian
    first, step = custodian.steps
    table = custodian.original.columns
    old = np.array([SIZES[code] / 20 * (1.2 if i % 2 else 0.7) for i, code in enumerate(table["area"].to_pylist())])
    old[:20] *= np.where(np.arange(20) % 2, 1.1, 1.0)
    original = replace(custodian.original, columns=table.set_column(1, "w", pa.array(old)))
    lie = replace(custodian, original=original, steps=(first, step))
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert "an adjustment that records keep tells the group that they were in" in found


def test_designs_that_change_after_the_weights():
    custodian = release("recalculate").custodian
    first, step = custodian.steps
    later = ds.protect(
        ds.Microdata(custodian.released.columns, weight="w", keys=["area"], numeric=["size", "x"], household="home"),
        ds.Pram(DRAW, version=2),
        key=ds.Key(bytes(32)),
    ).custodian.steps[0]
    lie = replace(custodian, steps=(first, step, later))
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert "weights were computed for values that a later step changed" in found


def test_claims_that_say_something_else():
    custodian = release("copy").custodian
    first, step = custodian.steps
    claim = replace(step.evidence.claim, statement="The weights are safe.")
    lie = replace(custodian, steps=(first, replace(step, evidence=replace(step.evidence, claim=claim))))
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert found == {"reweight does not claim what it may"}
