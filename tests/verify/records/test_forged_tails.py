"""Top and bottom codes, roundings, dates and groups that were not done as they say, each forged alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.recoding import recoded_claim
from discreet.verify import check_records

TREE = ds.Hierarchy.from_nested({"north": {"coast": ["N1", "N2"]}, "south": ["S1", "S2"]}, total="All")
COLUMNS = {
    "income": [1.5, 2.5, 3.5, 4.5, 50.0, 60.0, 70.0, 80.0, 90.0, None],
    "tax": [1, 2, 30, 4, 5, 6, 7, 8, 90, 10],
    "w": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0],
    "school": ["a", "b", "c", "c", "b", "a", "?", None, "b", "a"],
    "area": ["N1", "N2", "S1", "S2"] * 2 + ["N1", "N2"],
    "born": ["1990-05-06", "1980-12-31"] * 5,
    "size": ["1.25", "2.5", None, "99", "7"] * 2,
}


def refused(
    method: ds.Recode,
    change: Callable[[dict[str, Any]], None] | None = None,
    changed: dict[str, list[Any]] | None = None,
    **parameters: Any,
) -> list[str]:
    """Messages against a recoding of which facts, columns or parameters were forged, and the claim with them."""
    data = ds.Microdata(
        pa.table(COLUMNS),
        sensitive=list(COLUMNS),
        hierarchies={"area": TREE},
        missing_codes={"school": ["?"], "size": ["99"]},
    )
    custodian = ds.protect(data, method, keep_order=True).custodian
    (step,) = custodian.steps
    plain = {name: value for name, value in {**step.evidence.method, **parameters}.items() if value != "gone"}
    facts = copy.deepcopy(dict(step.evidence.facts))
    if change is not None:
        change(facts)
    after = step.changed
    for name, values in (changed or {}).items():
        kind = step.changed.schema.field(name).type if name in step.changed.column_names else None
        column = pa.chunked_array([pa.array(values, kind)])
        if name in after.column_names:
            after = after.set_column(after.column_names.index(name), name, column)
        else:
            after = after.append_column(name, column)
    evidence = replace(step.evidence, method=plain, claim=recoded_claim(plain, facts), facts=facts)
    told = replace(custodian, steps=(replace(step, evidence=evidence, changed=after),))
    return [refusal.message for refusal in check_records(told, told.public()).refused]


def tail(name: str, value: Any, number: int = 0) -> Callable[[dict[str, Any]], None]:
    """Forge one fact of one tail."""

    def change(facts: dict[str, Any]) -> None:
        facts["tails"][number][name] = value

    return change


MEAN = ds.Recode("income", top=40, coded_as="mean")
MEDIAN = ds.Recode("income", top=40, coded_as="median", weight="w", least=3)
QUANTILE = ds.Recode("income", top_quantile=0.5)
COUNT = ds.Recode("income", top_count=3, weight="w")
BOTH = ds.Recode(["income", "tax"], top={"income": 75, "tax": 20}, together=True)
ORDERED = ds.Recode("school", order=["a", "b", "c"], top="b", top_code="b+")


@pytest.mark.parametrize("method", [MEAN, MEDIAN, QUANTILE, COUNT, BOTH, ORDERED])
def test_what_was_done_as_stated_is_not_refused(method):
    assert refused(method) == []


def rows(**at: Any) -> list[Any]:
    """The incomes with the mean of the tail, some of them forged."""
    values: list[Any] = [1.5, 2.5, 3.5, 4.5, 70.0, 70.0, 70.0, 70.0, 70.0, None]
    for row, value in at.items():
        values[int(row[1:])] = value
    return values


def test_the_mean_is_counted_anew():
    assert refused(MEAN, tail("value", 71.0), {"income": rows(r4=71.0, r5=71.0, r6=71.0, r7=71.0, r8=71.0)}) == [
        "the mean of the top is another one"
    ]


def test_the_median_is_counted_anew():
    assert refused(
        MEDIAN, tail("value", 70.0), {"income": [1.5, 2.5, 3.5, 4.5, 70.0, 70.0, 70.0, 70.0, 70.0, None]}
    ) == ["the median of the top is another one"]


def test_a_mean_of_too_few_records():
    assert refused(MEAN, least=6) == ["the mean of the top is that of too few records"]
    # Whatever the method says, three is the least.
    few = ds.Recode("income", top=65, coded_as="mean", least=3)
    assert refused(few) == []
    assert refused(ds.Recode("tax", top=20), tail("unit", 1), coded_as="mean", least=1) == [
        "the mean of the top is that of too few records",
        "the mean of the top is another one",
    ]


def test_another_unit_than_is_stated():
    assert refused(MEAN, base=10) == ["the mean of the top is rounded to another unit than is stated"]
    assert refused(MEAN, tail("unit", 0.3)) == ["the mean of the top is rounded to another unit than is stated"]


@pytest.mark.parametrize("value", [3.5, 60.0, 50.5])
def test_another_quantile(value):
    values = [v if v is None else min(v, value) for v in COLUMNS["income"]]
    number = sum(v is not None and v > value for v in COLUMNS["income"])

    def change(facts: dict[str, Any]) -> None:
        facts["tails"][0].update(limit=value, value=value, records=number)

    assert refused(QUANTILE, change, {"income": values}) == [
        "the limit of the top is not the one that the method gives"
    ]


@pytest.mark.parametrize("value", [60.0, 80.0, 65.0])
def test_another_count(value):
    values = [v if v is None else min(v, value) for v in COLUMNS["income"]]
    number = sum(v is not None and v > value for v in COLUMNS["income"])

    def change(facts: dict[str, Any]) -> None:
        facts["tails"][0].update(limit=value, value=value, records=number)

    assert refused(COUNT, change, {"income": values}) == ["the limit of the top is not the one that the method gives"]


def test_quantiles_without_the_stated_weights():
    assert refused(COUNT, weight="gone") == ["the limit of the top is not the one that the method gives"]


def test_another_number_of_records():
    assert refused(MEAN, tail("records", 4)) == ["the number of records in the top is not the one that is counted"]
    for rows in (9, 11):
        assert refused(MEAN, lambda facts, rows=rows: facts.update(rows=rows)) == [
            "the number of records is not the one that is counted"
        ]
    assert refused(BOTH, lambda facts: facts.update(coded=2)) == [
        "the number of coded records is not the one that is counted"
    ]


def test_one_record_of_the_tail_that_was_left_as_it_was():
    assert refused(MEAN, None, {"income": rows(r4=50.0)}) == [
        "values are not what the top or bottom code makes of them"
    ]
    assert refused(MEAN, None, {"income": rows(r4=None)}) == [
        "values are not what the top or bottom code makes of them"
    ]


def test_one_record_outside_of_the_tail_that_changed():
    assert refused(MEAN, None, {"income": rows(r1=2.0)}) == ["values that no limit is about changed"]
    assert refused(MEAN, None, {"income": rows(r9=70.0)}) == ["values that no limit is about changed"]


def test_a_record_that_was_coded_in_one_column_only():
    before = [1.5, 2.5, 3.5, 4.5, 50.0, 60.0, 70.0, 75.0, 75.0, None]
    assert refused(BOTH, None, {"income": before}) == ["values are not what the top or bottom code makes of them"]
    assert "coded in all" in recoded_claim(BOTH.record(), {"tails": [], "coded": 3, "rows": 10}).statement


def test_another_code_or_order():
    for code in ("a+", "c+"):
        school = ["a", "b", code, code, "b", "a", "?", None, "b", "a"]
        assert refused(ORDERED, tail("value", code), {"school": school}) == [
            "the top became something else than is stated"
        ]
    assert refused(ORDERED, order=["a", "b", "x"]) == ["a code stands in no order"]
    assert refused(ORDERED, None, {"school": ["a", "b", "b+", "b+", "b", "a", "b+", None, "b", "a"]}) == [
        "values that no limit is about changed"
    ]


def test_tails_that_the_method_does_not_have():
    assert refused(MEAN, lambda facts: facts["tails"].append(dict(facts["tails"][0]))) == [
        "the tails that are stated are not those of the method"
    ]


def test_ends_that_cross():
    limits = ds.Recode("tax", top=20, top_code=95, bottom=5)

    def change(facts: dict[str, Any]) -> None:
        facts["tails"][1].update(limit=95, value=95, records=10)

    assert refused(limits, change, {"tax": [95] * 10}, bottom=95) == ["a record is coded at both ends"]


def test_weights_that_are_none():
    message = ["what is stated of the method cannot be used (ValueError)"]
    assert refused(COUNT, weight="school") == message
    data = ds.Microdata(pa.table({"x": [1, 2, 3, 4], "w": [1.0, 1.0, 1.0, 1.0]}), numeric="x", weight="w")
    custodian = ds.protect(data, ds.Recode("x", top_quantile=0.5, weight="w"), keep_order=True).custodian
    columns = custodian.original.columns.set_column(1, "w", pa.chunked_array([[-1.0, 3.0, 1.0, 1.0]]))
    told = replace(custodian, original=replace(custodian.original, columns=columns))
    assert [refusal.message for refusal in check_records(told, told.public()).refused] == message


def test_a_column_of_another_type():
    data = ds.Microdata(pa.table({"x": [1, 2, 3, 4]}), numeric="x")
    custodian = ds.protect(data, ds.Recode("x", top=2), keep_order=True).custodian
    (step,) = custodian.steps
    told = replace(custodian, steps=(replace(step, changed=pa.table({"x": [1.0, 2.0, 2.0, 2.0]})),))
    assert [refusal.message for refusal in check_records(told, told.public()).refused] == [
        "values are not what the top or bottom code makes of them"
    ]


def test_no_way_or_two():
    message = ["the recoding says how in no way, or in several"]
    assert refused(ds.Recode("tax", base=10), digits=2) == message
    assert refused(ds.Recode("tax", base=10), base="gone") == message
    assert refused(ds.Recode("tax", base=10), top=5) == message


def test_facts_that_nobody_needs():
    assert refused(ds.Recode("tax", base=10), lambda facts: facts.update(rows=10)) == [
        "facts are stated that the recoding does not rest on"
    ]


def kinds(number: str) -> list[str]:
    return [f"{number} of values are not what the recoding makes of them"]


def test_roundings_of_whole_numbers():
    base = ds.Recode("tax", base=10)
    assert refused(base) == []
    good = [0, 0, 30, 0, 0, 10, 10, 10, 90, 10]
    assert refused(base, None, {"tax": good}) == []
    assert refused(base, None, {"tax": [*good[:4], 10, *good[5:]]}) == kinds("1 kind")  # 5 is a half
    assert refused(base, None, {"tax": [*good[:4], 10, *good[5:]]}, ties="away") == []
    assert refused(base, None, {"tax": [1, *good[1:]]}) == kinds("1 kind")
    assert refused(base, None, {"tax": [20, *good[1:]]}) == kinds("1 kind")


def test_roundings_of_fractions():
    base = ds.Recode("income", base=1)
    good = [2.0, 2.0, 4.0, 4.0, 50.0, 60.0, 70.0, 80.0, 90.0, None]
    assert refused(base, None, {"income": good}) == []
    assert refused(base, None, {"income": [1.0, *good[1:]]}) == kinds("1 kind")
    assert refused(base, None, {"income": [*good[:4], 51.0, *good[5:]]}) == kinds("1 kind")
    assert refused(base, None, {"income": [*good[:4], 50.00000000000001, *good[5:]]}) == kinds("1 kind")
    assert refused(base, None, {"income": [*good[:9], 3.0]}) == kinds("10 kinds")


def test_roundings_of_text():
    base = ds.Recode("size", base=0.5)
    good = ["1", "2.5", None, "99", "7"]
    assert refused(base, None, {"size": good * 2}) == []
    assert refused(base, None, {"size": ["1.5", *good[1:]] * 2}) == kinds("1 kind")
    assert refused(base, None, {"size": ["1", "2.5", None, "98", "7"] * 2}) == kinds("1 kind")


def test_dates():
    assert refused(ds.Recode("born", date="year"), None, {"born": [1990, 1981] * 5}) == kinds("1 kind")
    assert refused(ds.Recode("born", date="quarter"), None, {"born": ["1990-Q2", "1981-Q1"] * 5}) == kinds("1 kind")
    age = ds.Recode("born", date="age", at="2020-05-05")
    assert refused(age, None, {"born": [30, 39] * 5}) == kinds("1 kind")
    assert refused(age, at="2020-05-06") == kinds("1 kind")


def test_dates_that_are_none_or_come_too_late():
    message = ["what is stated of the method cannot be used (ValueError)"]
    age = ds.Recode("born", date="age", at="2020-05-05")
    assert refused(age, None, {"born": [-21, -11] * 5}, at="1970-01-01") == message
    data = ds.Microdata(pa.table({"x": ["19900506", "19801231"]}), sensitive="x")
    custodian = ds.protect(data, ds.Recode("x", digits=4), keep_order=True).custodian
    (step,) = custodian.steps
    plain = {**{n: v for n, v in step.evidence.method.items() if n != "digits"}, "date": "year"}
    evidence = replace(step.evidence, method=plain, claim=recoded_claim(plain, {}))
    years = pa.table({"x": [1990, 1980]})
    told = replace(custodian, steps=(replace(step, evidence=evidence, changed=years),))
    assert [refusal.message for refusal in check_records(told, told.public()).refused] == message


def test_digits_branches_and_groups():
    assert refused(ds.Recode("area", digits=1), None, {"area": ["N", "N2", "S", "S"] * 2 + ["N", "N"]}) == kinds(
        "1 kind"
    )
    closed = ds.Recode("area", closed=["coast"])
    assert refused(closed) == []
    assert refused(closed, closed=["south"]) == kinds("4 kinds")
    groups = ds.Recode("tax", groups={"low": ["-9"], "high": ["10-"]})
    assert refused(groups) == []
    assert refused(groups, groups={"low": ["-10"], "high": ["11-"]}) == kinds("1 kind")
    assert refused(groups, groups={"low": ["-10"], "high": ["10-"]}) == ["groups give a code two new codes"]


def test_labels_that_the_recoding_does_not_state():
    data = ds.Microdata(pa.table({"x": ["a", "b"] * 5}), keys="x")
    release = ds.protect(data, ds.Recode("x", map={"a": "c"}, labels={"c": "see"}, unknown=["b"]), keep_order=True)
    assert release.verify().holds
    shown = release.public.records
    for other in ({"value_labels": {"c": "sea"}}, {"missing": ()}):
        forged = replace(shown, info={"x": replace(shown.info["x"], **other)})
        verdict = check_records(release.custodian, replace(release.public, records=forged))
        assert [r.message for r in verdict.refused] == ["a column has other labels than the original one"]
