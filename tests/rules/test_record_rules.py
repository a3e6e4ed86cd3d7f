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
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.rules import anonymity, key_counts
from discreet.rules import records as rules
from discreet.verify.records.rules import check_rule
from discreet.verify.verdict import Verdict

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
    monkeypatch.setattr(anonymity, "MOST_SUBSETS", 3)
    assert data.assess(few).assessment.unsafe == (0,)
    monkeypatch.setattr(anonymity, "MOST_SUBSETS", 2)
    with pytest.raises(ParameterError, match="3 keys have 3 subsets of 2; at most 2 are counted"):
        data.assess(few)


def test_keys_of_very_many_codes_are_told_apart():
    draw = np.random.default_rng(3)
    columns = tuple(draw.integers(1, 4, 500) for _ in range(4))
    found = key_counts.records_like(key_counts.KeyCodes(("a", "b", "c", "d"), columns, (2**40,) * 4))
    rows = list(zip(*(codes.tolist() for codes in columns), strict=True))
    assert found.tolist() == [Counter(rows)[row] for row in rows]


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


# ---- what an empty field means ---------------------------------------------------------------------------------


def agree(one: tuple, other: tuple) -> bool:
    return all(a == b or a is None or b is None for a, b in zip(one, other, strict=True))


def like(rows: list[tuple], weight: list[float], missing: str) -> list[float]:
    """By hand: for every row how many are like it, itself included."""
    if missing == "exempt":
        whole = [all(value is not None for value in row) for row in rows]
        return [
            sum(w for other, w in zip(rows, weight, strict=True) if other == row) if complete else float("inf")
            for row, complete in zip(rows, whole, strict=True)
        ]
    same = agree if missing == "any" else tuple.__eq__
    return [sum(w for other, w in zip(rows, weight, strict=True) if same(row, other)) for row in rows]


@given(
    some_records(),
    st.integers(2, 5),
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from(["category", "any", "exempt"]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_every_meaning_of_a_gap_counts_what_anybody_would_count_and_the_checker_agrees(
    columns, k, size, missing, weighted
):
    rows = len(columns["x"])
    weight = [float(1 + i % 3) for i in range(rows)] if weighted else [1.0] * rows
    table = pa.table({**{n: pa.array(v, pa.string()) for n, v in columns.items()}, "w": weight})
    records = read_record_set(ds.Microdata(table, keys=["x", "y", "z"], weight="w"))
    rule = ds.KAnonymity(k, size=size, missing=missing, weight="w" if weighted else None).resolved(records)
    unsafe = [False] * rows
    for number in range(1, size + 1) if missing == "exempt" and size else [size or 3]:
        for chosen in combinations(("x", "y", "z"), number):
            shown = list(zip(*(columns[name] for name in chosen), strict=True))
            unsafe = [bad or count < k for bad, count in zip(unsafe, like(shown, weight, missing), strict=True)]
    assert rule.evaluate(records).unsafe.tolist() == unsafe
    verdict = Verdict()
    check_rule(verdict, table, rule.record(), {})
    assert bool(verdict.refused) == any(unsafe)


def test_codes_for_unknown_are_gaps_where_gaps_are_no_values():
    table = pa.table({"x": ["a", "a", "9", "b"]})
    data = ds.Microdata(table, keys=["x"], missing_codes={"x": ["9"]})
    assert data.assess(ds.KAnonymity(2)).assessment.unsafe == (2,)
    assert data.assess(ds.KAnonymity(2, missing="any")).assessment.unsafe == (0,)
    assert data.assess(ds.KAnonymity(2, missing="exempt")).assessment.unsafe == (1,)


def test_two_emptied_records_make_everybody_agree_and_the_verdict_says_so():
    ages = [str(i // 2) for i in range(38)]
    data = ds.Microdata(pa.table({"age": [*ages, None, None]}), keys=["age"])
    assert data.assess(ds.KAnonymity(3)).assessment.unsafe == (40,)
    release = ds.protect(data, ds.Recode("age", map={"0": "0"}), rules=ds.KAnonymity(3, missing="any"))
    verdict = release.verify()
    assert verdict.holds
    assert any("two records with nothing in them agree with everybody" in text for text in verdict.not_considered)
    assert "not considered: rows of the public file that occur less often as they stand" in release.summary()


# ---- combinations, households, weights -------------------------------------------------------------------------


def test_named_combinations_have_numbers_of_their_own():
    table = pa.table({"x": ["a"] * 4 + ["b"] * 2, "y": ["c", "c", "d", "d", "c", "c"], "z": ["e"] * 5 + ["f"]})
    data = ds.Microdata(table, keys=["x", "y", "z"])
    assert data.assess(ds.KAnonymity(3, combinations=[["x"]])).assessment.unsafe == (2,)
    loose = ds.KAnonymity(3, combinations=[{"keys": ["x", "y"], "k": 2}, ["y"]])
    assessment = data.assess(loose).assessment
    assert assessment.unsafe == (2,)
    assert "fewer than 2 or 3 times; the rarest occurs 2 times" in assessment.words[0]
    verdict = Verdict()
    check_rule(verdict, table, loose.record(), {})
    assert [(refusal.message, refusal.where) for refusal in verdict.refused] == [
        ("1 combination occurs fewer than 3 times", "y")
    ]


def test_rules_come_back_from_plain_data():
    for rule in (
        ds.KAnonymity(3, combinations=[["x"], {"keys": ["x", "y"], "k": 5}], missing="exempt"),
        ds.KAnonymity(4, keys=["x"], weight="w"),
    ):
        assert rules.record_rule_from_record(rule.record()) == rule


def test_members_of_one_household_do_not_hide_each_other():
    table = pa.table({"x": ["a", "a", "a", "b", "b"], "hid": [1, 1, 2, 3, 3]})
    data = ds.Microdata(table, keys=["x"], household="hid")
    assert data.assess(ds.KAnonymity(2)).assessment.unsafe == (0,)
    assessment = data.assess(ds.KAnonymity(2, household="hid")).assessment
    assert assessment.unsafe == (2,)
    assert "has fewer than 2 households; the rarest has 1 household" in assessment.words[0]


def test_weights_stand_for_the_population():
    table = pa.table({"x": ["a", "b", "b"], "w": [30.0, 1.0, 1.5]})
    data = ds.Microdata(table, keys=["x"], weight="w")
    assessment = data.assess(ds.KAnonymity(3, weight="w")).assessment
    assert assessment.unsafe == (2,)
    assert "has fewer than 3 units of weight; the rarest has 2.5 units of weight" in assessment.words[0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 0.0, 2.0], "1 record has no weight above 0 in 'w'"),
        ([1.0, None, -1.0], "2 records have no weight above 0"),
        (["1", "2", "3"], "Weight 'w' holds string, not numbers"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    records = read_record_set(ds.Microdata(pa.table({"x": ["a", "b", "b"], "w": weights}), keys=["x"]))
    with pytest.raises(InputError, match=message):
        anonymity.weights_of(records, "w")


@pytest.mark.parametrize("role", ["weight", "household"])
def test_only_weights_and_households_count(role):
    """Sums of incomes are large, and would make every rule hold."""
    data = ds.Microdata(pa.table({"x": ["a", "b"], "income": [900.0, 800.0]}), keys=["x"], numeric=["income"])
    with pytest.raises(ParameterError, match=f"Column 'income' does not have the role of a {role}"):
        data.assess(ds.KAnonymity(3, **{role: "income"}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"combinations": "x"}, "combinations= takes lists of names"),
        ({"combinations": [[]]}, "no combination of keys"),
        ({"combinations": [["x", "x"]]}, "no combination of keys"),
        ({"combinations": [{"keys": ["x"], "k": 1}]}, "k of at least 2"),
        ({"combinations": [{"keys": ["x"], "threshold": 3}]}, "no combination of keys"),
        ({"combinations": [["x"]], "size": 1}, "stands in place of keys= and size="),
        ({"household": "h", "missing": "any"}, "household= counts households"),
        ({"household": "h", "weight": "w"}, "household= counts households"),
    ],
)
def test_combinations_that_cannot_be_counted_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        ds.KAnonymity(3, **options)
