"""Releases that say of groups and their means what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.microaggregation import microaggregated_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records

METHODS: dict[str, Callable[[], ds.Microaggregate]] = {
    "both": lambda: ds.Microaggregate(["x", "y"], 3, missing="apart"),
    "each": lambda: ds.Microaggregate(["x", "y"], 3, "onedims", missing="apart"),
    "median": lambda: ds.Microaggregate(["y"], 3, location="median", decimals=0),
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    x = [None if i % 5 == 0 else float(value) for i, value in enumerate(np.round(draw.lognormal(3, 1, 80), 1))]
    y, other = draw.integers(0, 500, 80), draw.integers(0, 9, 80)
    table = pa.table({"x": x, "y": y, "area": ["n", "s"] * 40, "other": other})
    data = ds.Microdata(table, numeric=["x", "y"], strata=["area"])
    return ds.protect(data, METHODS[name](), key=ds.Key(bytes(32)))


class GroupForgery:
    """A release of which the step is rewritten; losses and claim follow where they are not forged themselves."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.groups = {name: row.copy() for name, row in self.step.evidence.parts["records"].items()}
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.types = {name: self.step.changed[name].type for name in self.changed}

    def verdict(self) -> Verdict:
        evidence = replace(
            self.step.evidence,
            method=self.method,
            facts=self.facts,
            claim=microaggregated_claim(self.method, self.facts),
            parts={"records": self.groups} if self.groups else {},
        )
        changed = pa.table({n: pa.array(values, self.types.get(n)) for n, values in self.changed.items()})
        lie = replace(self.custodian, steps=(replace(self.step, evidence=evidence, changed=changed),))
        return check_records(lie, lie.public())


def refused(forge: Callable[[GroupForgery], None], message: str, name: str = "both") -> None:
    forgery = GroupForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = [refusal.message for refusal in forgery.verdict().refused]
    assert any(message in text for text in found), found


def test_a_value_that_is_not_the_mean():
    def forge(f: GroupForgery) -> None:
        f.changed["y"][0] += 0.01

    refused(forge, "1 group holds something else than the mean")


def test_a_whole_group_with_another_value():
    """By one unit of the last decimal."""

    def forge(f: GroupForgery) -> None:
        for row in np.flatnonzero(f.groups["group_0"] == 3):
            f.changed["y"][row] = round(f.changed["y"][row] + 0.01, 2)

    refused(forge, "1 group holds something else than the mean")


def test_a_median_that_is_one_too_low():
    def forge(f: GroupForgery) -> None:
        for row in np.flatnonzero(f.groups["group_0"] == 1):
            f.changed["y"][row] -= 1

    refused(forge, "1 group holds something else than the median", "median")


def test_a_gap_that_was_filled_and_a_value_that_went():
    def fill(f: GroupForgery) -> None:
        f.changed["x"][0] = 7.0

    def empty(f: GroupForgery) -> None:
        f.changed["x"][1] = None

    refused(fill, "an empty field changed, or a value became empty")
    refused(empty, "an empty field changed, or a value became empty")


def split(f: GroupForgery, group: int) -> None:
    """Two of a group become one of their own, with means of their own."""
    rows = np.flatnonzero(f.groups["group_0"] == group)
    f.groups["group_0"][rows[:2]] = f.groups["group_0"].max() + 1
    old = f.custodian.original.columns["y"].to_pylist()
    for part in (rows[:2], rows[2:]):
        for row in part:
            f.changed["y"][row] = round(sum(old[i] for i in part) / len(part), 2)


def test_a_group_that_is_too_small():
    refused(lambda f: split(f, 2), "1 group has fewer than 3 records")


def test_groups_across_strata_or_gaps():
    def across(rows: Callable[[GroupForgery], list[int]]) -> Callable[[GroupForgery], None]:
        def forge(f: GroupForgery) -> None:
            group = f.groups["group_0"]
            one, other = rows(f)
            for row in np.flatnonzero(group == group[other]):
                group[row] = group[one]

        return forge

    refused(across(lambda f: [1, 2]), "a group has records of several strata, or with different gaps")
    refused(across(lambda f: [0, 2]), "a group has records of several strata, or with different gaps")


def test_records_without_a_group():
    def forge(f: GroupForgery) -> None:
        group = f.groups["group_0"]
        group[group == 0] = -1

    refused(forge, "a record with values has no group, or one without values has one")


def test_groups_that_are_not_stated():
    refused(lambda f: f.groups.clear(), "the groups of the records are not stated")
    refused(lambda f: f.groups.pop("group_1"), "the groups of the records are not stated", "each")
    refused(lambda f: f.groups.update(group_1=f.groups["group_0"]), "the groups of the records are not stated")


@pytest.mark.parametrize(("fact", "lie"), [("groups", 99), ("smallest", 4), ("largest", 3)])
def test_numbers_and_sizes_of_groups(fact, lie):
    refused(lambda f: f.facts.update({fact: lie}), "the groups are not as many, or not as large, as stated")


@pytest.mark.parametrize("lie", [{"loss": 0.001}, {"losses": [0.0, 0.0]}, {"losses": []}])
def test_less_loss_than_there_is(lie):
    refused(lambda f: f.facts.update(lie), "the variation that was lost is not what is stated")


def test_other_columns():
    def forge(f: GroupForgery) -> None:
        f.changed["other"] = [0] * 80

    refused(forge, "other columns changed than the stated ones")
    refused(lambda f: f.changed.pop("x"), "other columns changed than the stated ones")
    refused(lambda f: f.facts.update(columns=["y", "x"]), "the columns are not those that the method names")


def test_how_groups_were_made():
    refused(lambda f: f.facts.update(apart=True), "how groups were made is not what the method says")
    refused(lambda f: f.facts.update(strata=[]), "the strata are not those of the records")


@pytest.mark.parametrize(
    ("decimals", "message"),
    [
        ([-1, 2], "decimals of a column are not stated"),
        ([True, 2], "decimals of a column are not stated"),
        ([30, 2], "decimals of a column are not stated"),
        (["2", 2], "decimals of a column are not stated"),
        ([3], "how groups were made is not what the method says"),
    ],
)
def test_decimals_that_are_none(decimals, message):
    forgery = GroupForgery("both")
    evidence = replace(forgery.step.evidence, facts={**forgery.facts, "decimals": decimals})
    lie = replace(forgery.custodian, steps=(replace(forgery.step, evidence=evidence),))
    assert any(message in refusal.message for refusal in check_records(lie, lie.public()).refused)


def test_more_decimals_than_stated():
    refused(lambda f: f.facts.update(decimals=[3, 0]), "not whole in the stated unit")


def test_text_in_place_of_numbers():
    def forge(f: GroupForgery) -> None:
        f.changed["y"] = [str(value) for value in f.changed["y"]]
        f.types["y"] = pa.string()

    refused(forge, "a column is not one of numbers")


def test_other_decimals_than_the_method_says():
    refused(lambda f: f.method.update(decimals=1), "a column has other decimals than the method says")
    refused(lambda f: f.method.update(decimals=9), "a column has other decimals than the method says", "median")


def test_gaps_that_the_method_refuses():
    refused(lambda f: f.method.update(missing="refuse"), "records with gaps were grouped, and the method refuses them")


def test_whole_numbers_in_a_finer_unit():
    """Beyond 64 bits, another number could have the same digits."""
    refused(lambda f: f.facts.update(decimals=[18]) or f.method.update(decimals=None), "not whole", "median")


def test_zeros_that_mark_records():
    """Files tell -0.0 from 0.0, and comparisons do not."""
    table = pa.table({"x": [-1.0, 0.0, 1.0, -2.0, 0.0, 2.0]})
    true = ds.protect(ds.Microdata(table, numeric="x"), ds.Microaggregate("x", 3, "simple"), key=ds.Key(bytes(32)))
    step = true.custodian.steps[0]
    marked = pa.table({"x": [0.0, -0.0, 0.0, 0.0, 0.0, 0.0]})
    lie = replace(true.custodian, steps=(replace(step, changed=marked),))
    found = [refusal.message for refusal in check_records(lie, lie.public()).refused]
    assert true.verify().holds
    assert found == ["a changed column has numbers that are not finite, or zeros with a sign"]


def test_values_that_became_codes_for_unknown():
    """Nobody would judge such records where unknown codes are exempt."""
    table = pa.table({"x": [98.0, 98.2, 99.3, 1.0, 2.0, 3.0]})
    true = ds.protect(ds.Microdata(table, numeric="x"), ds.Microaggregate("x", 3), key=ds.Key(bytes(32)))
    original = true.custodian.original
    info = {"x": replace(original.about("x"), missing=((98.5, 98.5),))}
    lie = replace(true.custodian, original=replace(original, info=info))
    found = [refusal.message for refusal in check_records(lie, lie.public()).refused]
    assert true.verify().holds
    assert found == ["an empty field changed, or a value became empty"]


def test_groups_of_other_rows():
    for name in ("group_0", "group_1"):
        for rows in (slice(79), [*range(80), 0]):
            refused(
                lambda f, name=name, rows=rows: f.groups.update({name: f.groups[name][rows]}),
                "the groups of the records are not stated",
                "each",
            )


def test_a_group_of_a_record_without_a_value():
    def forge(f: GroupForgery) -> None:
        f.groups["group_0"][0] = f.groups["group_0"][2]

    refused(forge, "a record with values has no group, or one without values has one", "each")


def test_groups_of_all_columns_that_were_made_for_each():
    refused(lambda f: f.facts.update(apart=False), "how groups were made is not what the method says", "each")


def test_fewer_losses_than_columns():
    def forge(f: GroupForgery) -> None:
        f.facts["losses"], f.facts["loss"] = f.facts["losses"][:1], f.facts["losses"][1]

    refused(forge, "the variation that was lost is not what is stated")


def lie_about_original(name: str, role: str = "numeric", kind: pa.DataType | None = None) -> list[str]:
    """What the checker says where a column had another role, or another type."""
    custodian = release("median").custodian
    table = custodian.original.columns
    if kind is not None:
        table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
    info = {**custodian.original.info, name: replace(custodian.original.about(name), role=role)}
    lie = replace(custodian, original=replace(custodian.original, columns=table, info=info))
    return [refusal.message for refusal in check_records(lie, lie.public()).refused]


def test_columns_that_have_no_means():
    assert lie_about_original("y") == []
    assert lie_about_original("y", kind=pa.string()) == ["a column is not one of numbers"]
    assert lie_about_original("y", role="weight") == ["a column was averaged that holds no values"]


def test_a_code_for_unknown_that_became_a_gap():
    table = pa.table({"x": [98.0, 98.2, 99.3, 1.0, 1.0, 1.0]})
    data = ds.Microdata(table, numeric="x", missing_codes={"x": ["1"]})
    true = ds.protect(data, ds.Microaggregate("x", 3, missing="apart"), keep_order=True)
    changed = pa.table({"x": [98.5, 98.5, 98.5, None, 1.0, 1.0]})
    lie = replace(true.custodian, steps=(replace(true.custodian.steps[0], changed=changed),))
    assert true.verify().holds
    found = [refusal.message for refusal in check_records(lie, lie.public()).refused]
    assert found == ["an empty field changed, or a value became empty"]
