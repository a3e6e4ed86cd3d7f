"""The checker's own judgement of sensitive values and populations, at its borders, and rules that are forged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from discreet.verify.records.descriptions import RULES
from discreet.verify.records.rules import check_rule
from discreet.verify.verdict import Verdict

L = {"kind": "l_diversity", "l": 2, "form": "distinct", "keys": ["x"], "missing": "category", "sensitive": "s"}
T = {"kind": "t_closeness", "t": 0.25, "distance": "equal", "keys": ["x"], "missing": "category", "sensitive": "s"}
B = {"kind": "beta_likeness", "beta": 1, "form": "basic", "keys": ["x"], "missing": "category", "sensitive": "s"}
FOUR = {"x": ["1", "1", "2", "2"], "s": ["a", "b", "a", "a"]}
PEOPLE = {
    "keys": ["x", "y"],
    "total": 5,
    "distinct": 3,
    "codes": [["1", "2"], ["a"]],
    "combinations": [[0, 1, -1], [0, 0, 0]],
    "units": [2, 2, 1],
}
MAP = {"kind": "k_map", "k": 2, "keys": ["x"], "population": PEOPLE}
DELTA = {"kind": "delta_presence", "lower": 0, "upper": 1, "keys": ["x"], "population": PEOPLE}


def refused(rule: dict[str, Any], columns: dict[str, list], unknown: dict | None = None) -> list[str]:
    verdict = Verdict()
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    check_rule(verdict, table, rule, unknown or {})
    assert len(verdict.proved) == (not verdict.refused)
    return [refusal.message for refusal in verdict.refused]


@pytest.mark.parametrize(
    ("rule", "columns", "found"),
    [
        (L, FOUR, ["2 records are in classes that break l-diversity"]),
        (L, {"x": ["1", "1"], "s": ["a", "b"]}, []),
        (L, {"x": ["1", "1"], "s": ["a", None]}, ["2 records are in classes that break l-diversity"]),
        (
            {**L, "form": "entropy"},
            {"x": ["1"] * 3, "s": ["a", "a", "b"]},
            ["3 records are in classes that break l-diversity"],
        ),
        ({**L, "form": "entropy"}, {"x": ["1"] * 2, "s": ["a", "b"]}, []),
        (
            {**L, "form": "recursive", "c": 2},
            {"x": ["1"] * 3, "s": ["a", "a", "b"]},
            ["3 records are in classes that break l-diversity"],
        ),
        ({**L, "form": "recursive", "c": 2.1}, {"x": ["1"] * 3, "s": ["a", "a", "b"]}, []),
        (T, FOUR, []),
        ({**T, "t": 0.24}, FOUR, ["4 records are in classes that break t-closeness"]),
        ({**B, "beta": 0.9}, FOUR, ["2 records are in classes that break beta-likeness"]),
        (B, FOUR, []),
        ({**B, "form": "enhanced"}, FOUR, ["2 records are in classes that break beta-likeness"]),
        ({**L, "missing": "exempt"}, {"x": [None, "1", "1"], "s": ["a", "a", "b"]}, []),
        (L, {"x": [None, "1", "1"], "s": ["a", "a", "b"]}, ["1 record is in classes that break l-diversity"]),
        (MAP, {"x": ["1", "2"]}, []),
        ({**MAP, "k": 3}, {"x": ["1", "1", None]}, ["2 records fit fewer than 3 units of the population"]),
        (MAP, {"x": ["3"]}, ["1 record fits fewer than 2 units of the population"]),
        (DELTA, {"x": ["1", "2"]}, []),
        (
            {**DELTA, "upper": 0.4},
            {"x": ["1", None]},
            ["1 combination of the population has a chance outside the bounds"],
        ),
        (
            {**DELTA, "lower": 0.1},
            {"x": ["1", "2"]},
            ["1 combination of the population has a chance outside the bounds"],
        ),
        (DELTA, {"x": ["1"] * 3}, ["1 combination of the population has a chance outside the bounds"]),
        (DELTA, {"x": ["3"]}, ["1 combination is not in the population"]),
    ],
)
def test_borders(rule, columns, found):
    assert refused(rule, columns) == found


def test_codes_for_unknown_are_no_values():
    assert refused(L, {"x": ["1", "1"], "s": ["a", "?"]}, {"s": [("?", "?")]}) == [
        "2 records are in classes that break l-diversity"
    ]
    assert refused(MAP, {"x": ["?"]}, {"x": [("?", "?")]}) == []


COLUMNS = {"x": ["1", "1"], "y": ["a", "a"], "s": ["a", "b"], "n": ["a", None]}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({**L, "keys": []}, "the columns of l-diversity are not columns of the public file"),
        ({**L, "keys": ["x", "x"]}, "the columns of l-diversity are not columns of the public file"),
        ({**T, "keys": ["z"]}, "the columns of t-closeness are not columns of the public file"),
        ({**B, "sensitive": "z"}, "the columns of beta-likeness are not columns of the public file"),
        ({**L, "sensitive": "x"}, "the sensitive column of l-diversity is a key"),
        ({**L, "form": "recursive"}, "l-diversity does not say how its values are weighed"),
        ({**L, "c": 2}, "l-diversity does not say how its values are weighed"),
        ({**L, "form": "recursive", "c": 0}, "l-diversity does not say how its values are weighed"),
        ({**T, "distance": "ordered"}, "the values of t-closeness have no order"),
        ({**T, "distance": "ordered", "order": ["a"]}, "the values of t-closeness have no order"),
        ({**T, "distance": "ordered", "order": ["a"], "sensitive": "n"}, "the values of t-closeness have no order"),
        ({**T, "distance": "hierarchical"}, "the hierarchy of t-closeness is none, or lacks a value"),
        (
            {**T, "distance": "hierarchical", "above": {"a": "z"}},
            "the hierarchy of t-closeness is none, or lacks a value",
        ),
        (
            {**T, "distance": "hierarchical", "above": {"a": "y", "b": "z"}},
            "the hierarchy of t-closeness is none, or lacks a value",
        ),
        (
            {**T, "distance": "hierarchical", "above": {"a": "b", "b": "a"}},
            "the hierarchy of t-closeness is none, or lacks a value",
        ),
        ({**MAP, "keys": []}, "the keys of the population are not columns of the public file"),
        ({**MAP, "keys": ["s"]}, "the keys of the population are not columns of the public file"),
        ({**MAP, "population": {**PEOPLE, "units": [2, 2]}}, "the population contradicts itself"),
        ({**MAP, "population": {**PEOPLE, "total": 9}}, "the population contradicts itself"),
        ({**MAP, "population": {**PEOPLE, "codes": [["1"], ["a"]]}}, "the population contradicts itself"),
        ({**DELTA, "population": {**PEOPLE, "codes": [["1", "2"]]}}, "the population contradicts itself"),
    ],
)
def test_rules_that_cannot_be_used_are_refused(rule, message):
    assert refused(rule, COLUMNS) == [message]


@pytest.mark.parametrize("rule", [L, T, B, MAP, DELTA])
def test_shapes_of_rules(rule):
    shape = RULES[rule["kind"]]
    shape(rule, "rule")
    for wrong in ({**rule, "more": 1}, {name: value for name, value in rule.items() if name != "keys"}):
        with pytest.raises(Exception, match="rule"):
            shape(wrong, "rule")


def test_a_population_that_is_not_kept_is_asserted():
    verdict = Verdict()
    rule = {**MAP, "population": {"keys": ["x", "y"], "total": 5, "distinct": 3}}
    check_rule(verdict, pa.table(COLUMNS), rule, {})
    assert verdict.proved == []
    assert verdict.holds
    assert "too large to be kept" in verdict.asserted[0]
