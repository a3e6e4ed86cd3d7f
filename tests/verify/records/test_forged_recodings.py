"""Recodings that were not done as they say, each forged without leaving other traces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

import discreet as ds
from discreet.model.claims.recoding import recoded_claim
from discreet.verify import check_records

TREE = ds.Hierarchy.from_nested({"north": ["N1", "N2"], "south": ["S1", "S2"]}, total="All")


def refused(
    method: ds.Recode,
    changed: dict[str, list[Any]] | None = None,
    facts: dict[str, Any] | None = None,
    **parameters: Any,
) -> list[str]:
    """Messages against a recoding that is said to have given other columns, or to have been another one."""
    columns = {
        "area": ["N1", "N2", "S1", "S2"] * 6,
        "sex": ["m", "f"] * 12,
        "age": [20, 30, None, 40] * 6,
        "size": ["1", "2", "3", "x"] * 6,
    }
    data = ds.Microdata(pa.table(columns), keys=["area", "sex"], hierarchies={"area": TREE})
    custodian = ds.protect(data, method, keep_order=True).custodian
    (step,) = custodian.steps
    plain = {**step.evidence.method, **parameters}
    stated = step.evidence.facts if facts is None else facts
    evidence = replace(step.evidence, method=plain, claim=recoded_claim(plain, stated), facts=stated)
    after = step.changed if changed is None else pa.table(changed)
    told = replace(custodian, steps=(replace(step, evidence=evidence, changed=after),))
    return [refusal.message for refusal in check_records(told, told.public()).refused]


def other(number: str) -> list[str]:
    return [f"{number} of values are not what the recoding makes of them"]


AREAS = {"area": ["north", "north", "south", "south"] * 6}


def test_a_code_under_another_one():
    assert refused(ds.Recode("area", level=1)) == []
    assert refused(ds.Recode("area", level=1), {"area": ["north", "south", "south", "south"] * 6}) == other("1 kind")
    assert refused(ds.Recode("area", level=1), {"area": ["N1", "N2", "south", "south"] * 6}) == other("2 kinds")


def test_one_record_alone():
    assert refused(ds.Recode("area", level=1), {"area": ["south", *AREAS["area"][1:]]}) == other("1 kind")


def test_another_column_besides_or_instead():
    message = ["other columns changed than the one that is named"]
    assert refused(ds.Recode("area", level=1), {**AREAS, "sex": ["m", "f"] * 12}) == message
    assert refused(ds.Recode("area", level=1), {"sex": ["m", "f"] * 12}) == message


def test_levels_of_a_column_without_a_hierarchy():
    sex = ds.Recode("sex", map={"m": "man"})
    assert refused(sex, {"sex": ["m", "f"] * 12}, map=None, level=1) == ["the hierarchy of the column is missing"]


def test_numbers_that_are_none():
    sizes = {"size": ["<2", "2+", "2+", "2+"] * 6}
    message = ["what is stated of the method cannot be used (ValueError)"]
    assert refused(ds.Recode("size", map={"x": "y"}), sizes, map=None, intervals=[2]) == message


def test_limits_of_releases_without_facts_are_kept_to_the_unit_and_gaps_stay():
    limits = ds.Recode("age", top=30, bottom=25)
    assert refused(limits) == []
    assert refused(limits, {"age": [25, 30, None, 30] * 6}, {}) == []
    assert refused(limits, {"age": [25, 30, None, 31] * 6}, {}) == other("6 kinds")
    assert refused(limits, {"age": [24, 30, None, 30] * 6}, {}) == other("6 kinds")
    assert refused(limits, {"age": [25, 30, 30, 30] * 6}, {}) == other("24 kinds")


def test_codes_that_nobody_named_although_all_are_said_to_be():
    message = ["a code stayed although all are said to be named"]
    assert refused(ds.Recode("size", map={"1": "a", "2": "a"}), complete=True) == message
    assert refused(ds.Recode("size", groups={"a": ["1-3"]}), complete=True) == message
    assert refused(ds.Recode("size", groups={"a": ["1-3"], "b": ["x"]}), complete=True) == []
