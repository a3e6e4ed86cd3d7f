"""More forged releases of recomputed weights: just beyond what is allowed, so that only one check can refuse them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.custodian import RecordCustodian
from discreet.verify import check_records
from tests.verify.records.test_forged_weights import WeightForgery, refused


def with_column(custodian: RecordCustodian, name: str, values: pa.Array) -> RecordCustodian:
    """A custodian whose original records have other values in one column, without the key that drew for them."""
    table = custodian.original.columns
    other = table.set_column(table.column_names.index(name), name, values)
    return replace(custodian, key=None, original=replace(custodian.original, columns=other))


def messages(custodian: RecordCustodian) -> set[str]:
    return {refusal.message for refusal in check_records(custodian, custodian.public()).refused}


@pytest.mark.parametrize("weight", [float("inf"), float("nan"), None])
def test_weights_that_are_no_finite_numbers(weight):
    forgery = WeightForgery("recalculate")
    old = pa.array([weight, *forgery.original.columns["w"].to_pylist()[1:]])
    assert messages(with_column(forgery.custodian, "w", old)) == {"there are records without a weight"}


def test_a_factor_below_one_without_populations():
    refused(lambda f: f.method.update(times=0.5), "the method has parameters that it may not have together")


def test_one_record_of_one_group_with_another_weight():
    forgery = WeightForgery("recalculate")
    first, *others = forgery.original.columns["w"].to_pylist()
    assert messages(with_column(forgery.custodian, "w", pa.array([1.5 * first, *others]))) == {
        "old weights differ within a group"
    }


def test_five_records_of_one_of_two_groups_with_the_same_adjustment():
    draw = np.random.default_rng(3)
    table = pa.table({"area": ["a", "b"] * 30, "w": draw.uniform(10, 20, 60), "x": draw.integers(0, 9, 60)})
    change = ds.Pram({"area": {"a": {"a": 0.6, "b": 0.4}, "b": {"a": 0.4, "b": 0.6}}})
    data = ds.Microdata(table, weight="w", keys=["area"], numeric=["x"])
    custodian = ds.protect(data, change, ds.Reweight(["area"], factors="keep"), key=ds.Key(bytes(32))).custodian
    weights = table["w"].to_numpy().copy()
    tells = "an adjustment that records keep tells the group that they were in"
    for many in (4, 5):
        weights[0 : 2 * many : 2] = 30.0
        assert (tells in messages(with_column(custodian, "w", pa.array(weights)))) == (many == 5)


def test_groups_of_one_record_are_counted_and_those_of_two_are_not():
    table = pa.table({"area": ["a"] * 20 + ["b"] * 2 + ["c"], "w": [10.0] * 23})
    method = ds.Reweight(["area"], population={"a": 1000, "b": 50, "c": 7})
    custodian = ds.protect(ds.Microdata(table, weight="w", keys=["area"]), method).custodian
    assert custodian.steps[0].evidence.facts["few"] == 1
    assert not messages(custodian)


@pytest.mark.parametrize(
    ("size", "message"),
    [(None, "sizes are no numbers, or not of all records"), (0, "a size is zero or below")],
)
def test_a_size_that_is_none(size, message):
    """The step before is made to publish it; the checker of that step says more."""
    forgery = WeightForgery("size")
    forgery.method["least_size"] = None
    sizes = [max(value, 1) for value in forgery.first.changed["size"].to_pylist()]
    column = pa.array([size, *sizes[1:]], forgery.first.changed["size"].type)
    forgery.first = replace(forgery.first, changed=pa.table({"size": column}))
    found = {refusal.message for refusal in forgery.verdict().refused if refusal.check == "reweight"}
    assert found == {message}


@cache
def even() -> RecordCustodian:
    """Weights that are all alike, before and after: both design effects are 1."""
    table = pa.table({"area": ["a", "b"] * 10, "w": [10.0] * 20})
    method = ds.Reweight(["area"], population={"a": 150, "b": 150})
    return ds.protect(ds.Microdata(table, weight="w", keys=["area"]), method).custodian


def test_one_design_effect_for_both():
    custodian = even()
    step = custodian.steps[0]
    assert step.evidence.facts["effects"] == [1.0, 1.0]
    assert not messages(custodian)
    evidence = replace(step.evidence, facts={**step.evidence.facts, "effects": [1.0]})
    lie = replace(custodian, steps=(replace(step, evidence=evidence),))
    assert messages(lie) == {"design effects are not the stated ones"}


@pytest.mark.parametrize(
    ("way", "tells"),
    [
        (lambda w: w.astype(np.int64), True),
        (lambda w: w * np.where(w == w[0], 1e9, 1e9 + 1), True),
        (lambda w: w * np.where(w == w[0], 1e9, 1e9 + 2), False),
    ],
)
def test_whole_numbers_and_near_multiples_tell_old_weights(way, tells):
    forgery = WeightForgery("copy")
    told = pa.array(way(forgery.original.columns["w"].to_numpy()))
    found = messages(with_column(forgery.custodian, "x", told))
    assert ("a column tells what the old weights were" in found) == tells


@pytest.mark.parametrize(("known", "tells"), [(59, True), (10, True), (9, False)])
def test_columns_that_tell_the_old_weights_of_some_records(known, tells):
    """Gaps, and codes for "unknown", hide nothing of the other records."""
    forgery = WeightForgery("copy")
    weights = forgery.original.columns["w"].to_pylist()
    rows = range(known) if known > 10 else range(16, 16 + known)  # of two groups
    told = [weight if row in rows else None for row, weight in enumerate(weights)]
    custodian = with_column(forgery.custodian, "x", pa.array(told))
    assert ("a column tells what the old weights were" in messages(custodian)) == tells
    coded = with_column(custodian, "x", pa.array([-9.0 if one is None else one for one in told]))
    info = {**coded.original.info, "x": replace(coded.original.about("x"), missing=((-9.0, -9.0),))}
    coded = replace(coded, original=replace(coded.original, info=info))
    assert ("a column tells what the old weights were" in messages(coded)) == tells


@pytest.mark.parametrize("way", [lambda w: [2.0 if one == w[0] else None for one in w], lambda w: [w[0] + 1, *w[1:]]])
def test_columns_that_tell_no_weights(way):
    """The same number for records that had one weight, and one that no multiple is."""
    forgery = WeightForgery("copy")
    told = pa.array(way(forgery.original.columns["w"].to_pylist()), pa.float64())
    assert "a column tells what the old weights were" not in messages(with_column(forgery.custodian, "x", told))


def test_a_column_of_few_records_that_tells_all_their_weights():
    table = pa.table({"area": ["a"] * 4 + ["b"] * 4, "w": [10.0] * 4 + [20.0] * 4, "x": [3, 1, 4, 1, 5, 9, 2, 6]})
    data = ds.Microdata(table, weight="w", keys=["area"], numeric=["x"])
    method = ds.Reweight(["area"], population={"a": 100, "b": 90})
    custodian = ds.protect(data, method).custodian
    assert not messages(custodian)
    told = with_column(custodian, "x", pa.array([1] * 4 + [2] * 4))
    assert messages(told) == {"a column tells what the old weights were"}
