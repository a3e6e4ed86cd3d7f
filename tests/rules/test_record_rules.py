"""Rules for records, against counting by hand."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.errors import NeedsError, ParameterError
from discreet.rules import records as rules

CODES = st.sampled_from(["a", "b", "c", None])


@st.composite
def some_records(draw) -> dict[str, list]:
    rows = draw(st.integers(1, 30))
    return {name: draw(st.lists(CODES, min_size=rows, max_size=rows)) for name in ("x", "y", "z")}


@given(some_records(), st.integers(2, 5), st.sampled_from([None, 1, 2, 3]))
@settings(max_examples=80, deadline=None)
def test_k_anonymity_counts_what_anybody_would_count(columns, k, size):
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    records = read_record_set(ds.Microdata(table, keys=["x", "y", "z"]))
    found = ds.KAnonymity(k, size=size).evaluate(records)
    unsafe = [False] * len(columns["x"])
    for chosen in combinations(("x", "y", "z"), size or 3):
        rows = list(zip(*(columns[name] for name in chosen), strict=True))
        count = Counter(rows)
        unsafe = [bad or count[row] < k for bad, row in zip(unsafe, rows, strict=True)]
    assert found.unsafe.tolist() == unsafe


def test_whoever_knows_more_keys_than_there_are_knows_all():
    data = ds.Microdata(pa.table({"x": ["a", "a", "b", "b"], "y": ["a", "b", "a", "a"]}), keys=["x", "y"])
    assert data.assess(ds.KAnonymity(2, size=9)).assessment.unsafe == (2,)
    assert data.assess(ds.KAnonymity(2, size=2)).assessment.unsafe == (2,)
    assert data.assess(ds.KAnonymity(2, size=1)).assessment.unsafe == (1,)


def test_too_many_subsets_are_refused_before_any_is_counted(monkeypatch):
    data = ds.Microdata(pa.table({f"key {i}": ["a", "a"] for i in range(60)}))
    with pytest.raises(ParameterError, match=r"60 keys have 118,264,581,564,861,424 subsets of 30; at most 20,000 are"):
        data.assess(ds.KAnonymity(2, keys=[f"key {i}" for i in range(60)], size=30))
    few = ds.KAnonymity(2, keys=["key 0", "key 1", "key 2"], size=2)
    monkeypatch.setattr(rules, "MOST_SUBSETS", 3)
    assert data.assess(few).assessment.unsafe == (0,)
    monkeypatch.setattr(rules, "MOST_SUBSETS", 2)
    with pytest.raises(ParameterError, match="3 keys have 3 subsets of 2; at most 2 are counted"):
        data.assess(few)


def test_many_keys_are_counted_by_sorting(monkeypatch):
    draw = np.random.default_rng(3)
    codes = [(draw.integers(0, 4, 500), 2**40) for _ in range(4)]
    by_sorting = rules.group_sizes(codes)
    rows = list(zip(*(place.tolist() for place, _ in codes), strict=True))
    assert by_sorting.tolist() == [Counter(rows)[row] for row in rows]


def test_keys_are_those_of_the_records():
    data = ds.Microdata(pa.table({"x": ["a", "a", "b"], "y": ["a", "b", "c"]}), keys=["x"])
    assert data.assess(ds.KAnonymity(2)).assessment.unsafe == (1,)
    assert data.assess(ds.KAnonymity(2, keys=["y"])).assessment.unsafe == (3,)


def test_without_keys_nothing_can_be_counted():
    with pytest.raises(NeedsError, match="by which columns somebody may be recognised"):
        ds.Microdata(pa.table({"x": ["a"]})).assess(ds.KAnonymity(2))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda: ds.KAnonymity(1), "at least 2"),
        (lambda: ds.KAnonymity(3, size=0), "at least 1"),
        (lambda: ds.KAnonymity(3, missing="anything"), "There is no missing 'anything'"),
        (lambda: rules.record_rule_from_record({"kind": "k_anonymity"}), "needs 'k'"),
        (lambda: rules.record_rule_from_record({"kind": "k_anonymity", "k": 3, "key": "x"}), "parameter 'key'"),
        (lambda: rules.record_rule_from_record({"kind": "k_anonimity", "k": 3}), "Did you mean 'k_anonymity'"),
    ],
)
def test_bad_parameters_are_refused(rule, message):
    with pytest.raises(ParameterError, match=message):
        rule()


def test_an_unknown_key_is_named():
    data = ds.Microdata(pa.table({"age": ["a"]}), keys=["age"])
    with pytest.raises(ParameterError, match=r"'ages'.*Did you mean 'age'"):
        data.assess(ds.KAnonymity(2, keys=["ages"]))


def test_rules_for_tables_are_refused_for_records():
    with pytest.raises(ParameterError, match="rules for records, not a PPercent"):
        ds.Microdata(pa.table({"x": ["a"]})).assess(ds.PPercent(10))
    with pytest.raises(ParameterError, match="rules for tables, not a KAnonymity"):
        ds.examples.small_table().assess(ds.KAnonymity(3))
