"""The checker's own count of rare combinations, at its borders."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds
from discreet.verify.records import anonymity
from discreet.verify.records.rules import check_rule
from discreet.verify.verdict import Verdict

NUMBERS = ("w", "hid")


def refused(columns: dict[str, list], unknown: dict | None = None, **rule: object) -> list[str]:
    verdict = Verdict()
    plain = {"kind": "k_anonymity", "k": 3, "keys": ["x", "y"], "missing": "category", **rule}
    table = pa.table(
        {name: pa.array(values, None if name in NUMBERS else pa.string()) for name, values in columns.items()}
    )
    check_rule(verdict, table, plain, unknown or {})
    return [refusal.message for refusal in verdict.refused]


THREE = {"x": ["a"] * 3 + ["b"] * 3, "y": ["c"] * 6}


def test_exactly_k_is_enough_and_one_less_is_not():
    assert refused(THREE) == []
    assert refused(THREE, k=4) == ["2 combinations occur fewer than 4 times"]
    assert refused({"x": ["a"] * 2, "y": ["c"] * 2}) == ["1 combination occurs fewer than 3 times"]


def test_an_empty_field_is_a_value_of_its_own():
    assert refused({"x": ["a", "a", "a", None], "y": ["c"] * 4}) == ["1 combination occurs fewer than 3 times"]
    assert refused({"x": ["a", "a", "a", None, None, None], "y": ["c"] * 6}) == []


def test_every_subset_of_a_size_is_counted():
    columns = {"x": ["a"] * 6, "y": ["c"] * 3 + ["d"] * 3, "z": ["e"] * 5 + ["f"]}
    assert refused(columns, keys=["x", "y", "z"], size=2) == [
        "1 combination occurs fewer than 3 times",
        "2 combinations occur fewer than 3 times",
    ]
    assert refused(columns, keys=["x", "y"], size=2) == []
    assert refused(columns, keys=["x", "y"], size=9) == []


@pytest.mark.parametrize("keys", [[], ["x", "x"], ["x", "wealth"], ["wealth"]])
def test_keys_are_columns_of_the_public_file_each_once(keys):
    (message,) = refused(THREE, keys=keys)
    assert message == "the keys of k-anonymity are not columns of the public file"


def test_a_rule_that_the_checker_does_not_know_is_refused():
    assert refused(THREE, kind="x_diversity") == ["a rule 'x_diversity' is stated, which this checker does not know"]


@pytest.mark.parametrize(("most", "found"), [(3, []), (2, ["3 keys have more subsets of 2 than this checker counts"])])
def test_more_subsets_than_can_be_counted_are_refused(monkeypatch, most, found):
    monkeypatch.setattr(anonymity, "MOST_SUBSETS", most)
    columns = {"x": ["a"] * 3, "y": ["b"] * 3, "z": ["c"] * 3}
    assert refused(columns, keys=["x", "y", "z"], size=2) == found


def test_a_forged_rule_with_countless_subsets_is_refused_at_once():
    columns = {f"key {i}": ["a"] * 3 for i in range(60)}
    (message,) = refused(columns, keys=list(columns), size=30)
    assert message == "60 keys have more subsets of 30 than this checker counts"


# ---- forged rules ----------------------------------------------------------------------------------------------


SIX = {"x": ["a"] * 3 + ["b"] * 3, "y": ["c"] * 6, "w": [1.0] * 6, "hid": [1, 2, 3, 4, 5, 5]}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"keys": [], "combinations": [{"keys": ["x", "wealth"], "k": 3}]}, "are not columns of the public file"),
        ({"keys": [], "combinations": [{"keys": ["x", "x"], "k": 3}]}, "are not columns of the public file"),
        ({"combinations": [{"keys": ["x"], "k": 3}]}, "stated of combinations and of keys at once"),
        ({"keys": [], "size": 1, "combinations": [{"keys": ["x"], "k": 3}]}, "stated of combinations and of keys"),
        ({"weight": "mass"}, "what k-anonymity counts by is no column of the public file"),
        ({"household": "home"}, "what k-anonymity counts by is no column of the public file"),
        ({"weight": "x"}, "weights are not all numbers above zero"),
        ({"household": "hid", "weight": "w"}, "households are counted without weights"),
        ({"household": "hid", "missing": "any"}, "households are counted without weights"),
        ({"household": "hid", "k": 3}, "1 combination occurs fewer than 3 times"),
        ({"weight": "w", "k": 4}, "2 combinations occur fewer than 4 times"),
        ({"keys": [], "combinations": [{"keys": ["y"], "k": 7}]}, "1 combination occurs fewer than 7 times"),
        ({"missing": "any", "k": 4}, "6 records have a combination with which fewer than 4 agree"),
    ],
)
def test_a_forged_rule_is_refused(rule, message):
    (said,) = refused(SIX, **rule)
    assert message in said


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1.0, None], [1.0, float("inf")], [1.0, -2.0]])
def test_weights_must_count(weights):
    (said,) = refused({"x": ["a", "a"], "w": weights}, keys=["x"], weight="w", k=2)
    assert said == "weights are not all numbers above zero"


def test_where_records_are_exempt_every_smaller_combination_is_counted():
    """A record that is empty in a pair may stand out by what it still has."""
    columns = {"x": ["a", "a", "a", "b"], "y": ["c", "c", "c", None]}
    assert refused(columns, missing="exempt") == []
    assert refused(columns, missing="exempt", size=2) == ["1 combination occurs fewer than 3 times"]
    assert refused({"x": ["a", "a", "a", "9"]}, {"x": [("9", "9")]}, keys=["x"], missing="exempt") == []
    assert refused({"x": ["a", "a", "a", "9"]}, {}, keys=["x"], missing="exempt") != []
    assert refused({"x": ["a", "a", "a", "9"]}, {"x": [("9", "9")]}, keys=["x"]) != []


@pytest.mark.parametrize("weight", [2**52, 2**53 + 1, 2**62])
def test_weights_whose_sum_leaves_64_bits(weight):
    table = pa.table({"x": ["a"] * 4096, "w": [weight] * 4096})
    data = ds.Microdata(table, keys="x", weight="w")
    release = ds.protect(data, ds.Recode("x", map={"a": "b"}), rules=[ds.KAnonymity(3, weight="w")])
    assert release.verify().holds


def test_combinations_that_name_a_column_twice():
    tables = [{"keys": ["x"], "k": 3}, {"keys": ["x", "x"], "k": 3}]
    assert refused(THREE, keys=[], combinations=tables[:1]) == []
    (said,) = refused(THREE, keys=[], combinations=tables)
    assert said == "the keys of k-anonymity are not columns of the public file"


def test_more_combinations_than_are_counted(monkeypatch):
    tables = [{"keys": ["x"], "k": 3}, {"keys": ["y"], "k": 3}]
    monkeypatch.setattr(anonymity, "MOST_SUBSETS", 2)
    assert refused(THREE, keys=[], combinations=tables) == []
    monkeypatch.setattr(anonymity, "MOST_SUBSETS", 1)
    (said,) = refused(THREE, keys=[], combinations=tables)
    assert said == "there are more combinations than this checker counts"
