"""Releases that say of values drawn anew what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.redrawing import redrawn_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records
from discreet.verify.records.keyed_draws import drawn_fractions, identity_of, purpose_of

ROWS = 150


@cache
def release() -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    x = np.rint(draw.lognormal(9, 1.2, ROWS)).astype(int)
    x[::10] = 5  # nothing to draw: a tenth is less than a unit
    y = np.where(draw.random(ROWS) < 0.3, 0, np.rint(x * draw.lognormal(-1, 0.5, ROWS))).astype(int)
    y[::10] = 0
    table = pa.table(
        {
            "id": range(ROWS),
            "x": x,
            "y": y,
            "worth": x - y,
            "flag": (draw.random(ROWS) < 0.05).astype(int),
            "area": ["n", "s"] * (ROWS // 2),
            "age": draw.integers(20, 90, ROWS),
        }
    )
    data = ds.Microdata(
        table, identifier="id", numeric=["x", "y", "worth"], request="flag", strata=["area"], sensitive=["age"]
    )
    method = ds.Redraw(
        unusual=10, by=["worth"], flags="flag", camouflage=12, predictors=["age"], totals={"worth": ["x", "-y"]}
    )
    return ds.protect(data, method, key=ds.Key(bytes(32)))


def as_round(old: int, new: int) -> bool:
    """Whether two numbers are multiples of the same of 1, 2, 5, 10, ... up to a tenth of the first."""
    steps = [step for zeros in range(7) for step in (10**zeros, 2 * 10**zeros, 5 * 10**zeros) if step <= old // 10]
    return max(s for s in steps if old % s == 0) == max(s for s in steps if new % s == 0)


class RedrawForgery:
    """A release of which the step is rewritten; numbers of records and values, and totals, follow."""

    def __init__(self) -> None:
        self.custodian = release().custodian
        self.key: ds.Key | None = self.custodian.key
        self.step = self.custodian.steps[0]
        self.method: dict[str, Any] = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.rows: dict[str, Any] = {"chosen": self.step.evidence.parts["records"]["chosen"].copy()}
        original = self.custodian.original
        self.old = {name: original.columns[name].to_pylist() for name in original.names}
        self.types = {name: original.columns[name].type for name in original.names}
        self.info = dict(original.info)
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.follows = True

    @property
    def why(self) -> Any:
        return self.rows["chosen"]

    def unchanged(self, row: int) -> None:
        for name in ("x", "y"):
            self.changed[name][row] = self.old[name][row]

    def moved(self, row: int) -> None:
        """All values of a record move to the next larger ones that are as round."""
        for name in ("x", "y"):
            old = self.old[name][row]
            if old >= 10:
                self.changed[name][row] = next(new for new in range(old + 1, 2 * old) if as_round(old, new))

    def verdict(self) -> Verdict:
        if self.follows:
            self.changed["worth"] = [a - b for a, b in zip(self.changed["x"], self.changed["y"], strict=True)]
            self.facts["drawn"] = [
                sum(a != b for a, b in zip(self.old[n], self.changed[n], strict=True)) for n in self.facts["columns"]
            ]
            for number, name in enumerate(("unusual", "flagged", "camouflage"), 1):
                self.facts[name] = int((np.asarray(self.why) == number).sum())
        claim = redrawn_claim(self.method, self.facts)
        parts = {"records": self.rows}
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=claim, parts=parts)
        changed = pa.table({n: pa.array(v, self.types[n]) for n, v in self.changed.items()})
        columns = pa.table({n: pa.array(v, self.types[n]) for n, v in self.old.items()})
        original = replace(self.custodian.original, columns=columns, info=self.info)
        lie = replace(
            self.custodian,
            key=self.key,
            original=original,
            steps=(replace(self.step, evidence=evidence, changed=changed),),
        )
        return check_records(lie, lie.public())


def refused(forge: Callable[[RedrawForgery], object], message: str) -> None:
    forgery = RedrawForgery()
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert found, message
    assert all(message in text for text in found), found


def first(f: RedrawForgery, number: int, name: str = "x", least: int = 1000) -> int:
    """A record that was chosen for some reason, with a large value."""
    return next(i for i in range(ROWS) if f.why[i] == number and f.old[name][i] >= least)


def without_key(forge: Callable[[RedrawForgery], object]) -> Callable[[RedrawForgery], None]:
    def both(f: RedrawForgery) -> None:
        f.key = None
        forge(f)

    return both


def nearer(f: RedrawForgery) -> None:
    f.moved(first(f, 3))


def test_values_that_the_key_does_not_draw():
    """Only who has the key can tell; the others are told that draws are asserted."""
    refused(nearer, "not what the key draws")
    forgery = RedrawForgery()
    nearer(forgery)
    forgery.key = None
    assert forgery.verdict().holds
    assert "that values were drawn at random" in forgery.verdict().asserted


def test_values_beyond_the_bound_that_the_key_draws():
    def forge(f: RedrawForgery) -> None:
        for row in (i for i in range(ROWS) if f.why[i] and f.old["x"][i] >= 10):
            old = f.old["x"][row]
            f.changed["x"][row] = next(new for new in range(old + old // 4, old, -1) if as_round(old, new))

    refused(forge, "a value moved farther than the bound that the key draws")


def test_one_value_beyond_the_bound_that_the_key_draws():
    def forge(f: RedrawForgery) -> None:
        for row in (i for i in range(ROWS) if f.why[i] and f.old["x"][i] >= 1000):
            old, before = f.old["x"][row], f.changed["x"][row]
            f.changed["x"][row] = next(new for new in range(old + old // 4, old, -1) if as_round(old, new))
            if "farther than the bound" in str(f.verdict().refused):
                return
            f.changed["x"][row] = before

    refused(forge, "a value moved farther than the bound that the key draws")


def test_a_value_one_unit_beyond_the_bound_that_the_key_draws():
    def forge(f: RedrawForgery) -> None:
        assert f.key is not None
        least, most = (float(f.method[what]) for what in ("least", "most"))
        purpose = purpose_of(f.method, "redraw/x/bound", least, most)
        share = drawn_fractions(identity_of(f.custodian.original), f.key.secret, purpose)
        for row in (i for i in range(ROWS) if f.why[i] and f.old["x"][i] >= 10):
            old = f.old["x"][row]
            new = old + int((least + share[row] * (most - least)) * old) + 1
            if as_round(old, new):
                f.changed["x"][row] = new
                return

    refused(forge, "a value moved farther than the bound that the key draws")


@pytest.mark.parametrize("side", [-1, 1])
def test_every_value_is_the_one_that_the_key_draws(side):
    """The next value on either side that is as round and within all bounds is another one."""
    forgery = RedrawForgery()
    rows = [i for i in range(ROWS) if forgery.why[i] and forgery.old["x"][i] >= 1000][:12]
    for row in rows:
        old, new = forgery.old["x"][row], forgery.changed["x"][row]
        near = (new + side * step for step in range(1, 2000))
        forgery.changed["x"][row] = next(v for v in near if v != old and as_round(old, v))
        assert not forgery.verdict().holds, row
        forgery.changed["x"][row] = new
    assert forgery.verdict().holds


def test_values_of_unusual_records_that_the_key_does_not_draw():
    refused(lambda f: f.moved(first(f, 1)), "not what the key draws")


def test_values_that_are_rounder():
    def forge(f: RedrawForgery) -> None:
        row = next(i for i in range(ROWS) if f.why[i] and f.old["x"][i] % 10 == 1 and f.old["x"][i] > 1000)
        f.changed["x"][row] = f.old["x"][row] - 1

    refused(without_key(forge), "a value is not as round as it was")


def test_draws_of_a_seed():
    def seed(f: RedrawForgery) -> None:
        f.key = ds.Key(bytes(32), insecure=True)

    def unsaid(f: RedrawForgery) -> None:
        f.key = None
        f.facts["insecure"] = ""

    for forge in (seed, unsaid):
        refused(forge, "it is not said whether draws came from a seed, or wrongly")


def test_values_without_an_exact_unit():
    def forge(f: RedrawForgery) -> None:
        f.types["x"] = f.types["worth"] = pa.float64()
        f.old["x"][0] = f.changed["x"][0] = 1 / 3

    refused(without_key(forge), "values have no exact unit, or more decimals than before")


def test_values_beyond_all_bounds():
    def forge(f: RedrawForgery) -> None:
        row = first(f, 3)
        f.changed["x"][row] = f.old["x"][row] + int(0.25 * f.old["x"][row]) // 10 * 10 + 10 * f.old["x"][row]

    refused(without_key(forge), "1 value moved farther than any bound")


def test_values_that_are_not_as_round():
    def forge(f: RedrawForgery) -> None:
        row = next(i for i in range(ROWS) if f.why[i] and f.old["x"][i] % 2 == 0 and f.old["x"][i] > 1000)
        f.changed["x"][row] = f.old["x"][row] + 1

    refused(without_key(forge), "a value is not as round as it was")


def test_a_chosen_record_that_stayed():
    refused(without_key(lambda f: f.unchanged(first(f, 3))), "a value of a chosen record stayed")


def test_a_record_that_was_not_chosen_and_changed():
    refused(without_key(lambda f: f.moved(first(f, 0))), "a value changed that was not to be drawn anew")


def test_a_value_of_nothing():
    """A zero of a chosen record stays."""

    def forge(f: RedrawForgery) -> None:
        row = next(i for i in range(ROWS) if f.why[i] and f.old["y"][i] == 0)
        f.changed["y"][row] = 1

    refused(without_key(forge), "a value changed that was not to be drawn anew")


def exchange(f: RedrawForgery, number: int, new: int) -> None:
    """Another record is chosen in place of one."""
    old = first(f, number)
    f.unchanged(old)
    f.rows["chosen"][old] = 0
    f.rows["chosen"][new] = number
    f.moved(new)


def test_others_than_the_unusual_ones():
    refused(
        without_key(lambda f: exchange(f, 1, first(f, 0))),
        "a record was not chosen that is more unusual than one that was",
    )


def test_the_next_unusual_one():
    def forge(f: RedrawForgery) -> None:
        worth = np.array(f.old["worth"], float)
        distance = np.abs(worth - np.median(worth))
        able = np.array(f.old["x"]) >= 10
        last = min(np.flatnonzero(f.why == 1), key=lambda row: distance[row])
        follower = max(np.flatnonzero((f.why == 0) & able), key=lambda row: distance[row])
        f.unchanged(last)
        f.rows["chosen"][last], f.rows["chosen"][follower] = 0, 1
        f.moved(follower)

    refused(without_key(forge), "a record was not chosen that is more unusual than one that was")


def test_a_record_that_has_nothing_to_draw_called_unusual():
    forgery = RedrawForgery()
    forgery.key = None
    row = first(forgery, 1)
    forgery.unchanged(row)
    forgery.rows["chosen"][row], forgery.rows["chosen"][0] = 0, 1
    messages = {refusal.message for refusal in forgery.verdict().refused}
    assert "a record was chosen that has nothing to draw anew" in messages


def test_camouflage_that_the_key_does_not_draw():
    refused(lambda f: exchange(f, 3, first(f, 0)), "the camouflage is not the one that the key draws")
    forgery = RedrawForgery()
    exchange(forgery, 3, first(forgery, 0))
    forgery.key = None
    assert forgery.verdict().holds


def test_another_number_of_records():
    def fewer(number: int) -> Callable[[RedrawForgery], None]:
        def forge(f: RedrawForgery) -> None:
            row = first(f, number)
            f.unchanged(row)
            f.rows["chosen"][row] = 0

        return without_key(forge)

    refused(fewer(1), "another number of unusual records was chosen than the method says")
    refused(fewer(2), "the flagged records are not those that were chosen")
    refused(fewer(3), "another number of records was chosen as camouflage than the method says")
    refused(without_key(lambda f: f.method.update(unusual=11)), "another number of unusual records")
    refused(without_key(lambda f: f.method.update(camouflage=11)), "another number of records was chosen as camouflage")
    refused(without_key(lambda f: f.method.update(flags=None)), "the flagged records are not those that were chosen")


def test_a_record_that_has_nothing_to_draw():
    def forge(f: RedrawForgery) -> None:
        f.rows["chosen"][first(f, 3)], f.rows["chosen"][0] = 0, 3
        f.unchanged(
            next(i for i in range(ROWS) if f.step.evidence.parts["records"]["chosen"][i] == 3 and f.why[i] == 0)
        )

    refused(without_key(forge), "a record was chosen that has nothing to draw anew")


def test_numbers_that_are_not_so():
    def lie(name: str, value: Any) -> Callable[[RedrawForgery], None]:
        def forge(f: RedrawForgery) -> None:
            f.verdict()
            f.follows = False
            f.facts[name] = value

        return forge

    refused(lie("unusual", 11), "another number of records was chosen than stated")
    refused(lie("flagged", 0), "another number of records was chosen than stated")
    refused(lie("camouflage", 1), "another number of records was chosen than stated")
    refused(lie("drawn", [1, 1]), "another number of values was drawn anew than stated")
    for clipped in ([1, 0], [-1, 0]):
        refused(lie("clipped", clipped), "another number of values lies at a bound than stated")
    refused(lie("strata", []), "the strata are not those of the records")
    refused(lie("identified", False), "it is not said whether records have an identifier, or wrongly")
    refused(lie("insecure", True), "it is not said whether draws came from a seed, or wrongly")
    refused(lambda f: f.facts.update(columns=["y", "x"]), "the columns are not those that the method names")


@pytest.mark.parametrize(("least", "most"), [(0, 0.25), (0.3, 0.25), (0.1, 1)])
def test_bounds_that_are_none(least, most):
    refused(lambda f: f.method.update(least=least, most=most), "the bounds are none that the method may have")


def test_predictors_that_are_none():
    for name in ("x", "worth", "id"):
        refused(lambda f, name=name: f.method.update(predictors=[name]), "a predictor is none that the method may have")
    refused(lambda f: f.method.update(predictors=[]), "not what the key draws")


def test_models_in_another_order_or_within_other_strata():
    refused(lambda f: f.method.update(columns=["y", "x"]), "the columns are not those that the method names")

    def order(f: RedrawForgery) -> None:
        f.method["columns"] = f.facts["columns"] = ["y", "x"]
        f.facts["clipped"] = f.facts["clipped"][::-1]

    refused(order, "not what the key draws")


def test_rows_that_are_not_stated():
    for rows in (
        {},
        {"chosen": [0] * (ROWS - 1)},
        {"chosen": [0] * (ROWS - 1) + [4]},
        {"chosen": [0] * ROWS, "more": [0] * ROWS},
    ):
        forgery = RedrawForgery()
        forgery.verdict()
        forgery.follows = False
        forgery.rows = {name: np.array(values) for name, values in rows.items()}
        assert {r.message for r in forgery.verdict().refused} == {"which records were chosen is not stated"}


def test_flags_that_readers_see():
    def forge(f: RedrawForgery) -> None:
        f.info["flag"] = replace(f.info["flag"], role="sensitive")

    refused(without_key(forge), "a public column tells which records were altered")


def test_totals_that_are_no_sums():
    def forge(f: RedrawForgery) -> None:
        f.verdict()
        f.follows = False
        f.changed["worth"][3] += 10

    refused(forge, "a total is not the sum of its parts in 1 record")


def test_more_decimals_than_before():
    def forge(f: RedrawForgery) -> None:
        f.types["x"] = f.types["worth"] = pa.float64()
        row = first(f, 3)
        f.changed["x"][row] += 0.5

    refused(without_key(forge), "values have no exact unit, or more decimals than before")


def test_values_that_were_drawn_twice():
    custodian = release().custodian
    there = custodian.steps[0]
    lie = replace(custodian, steps=(there, there))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert "values were drawn anew twice, and lie outside their bounds" in messages
