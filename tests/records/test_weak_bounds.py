"""What emptying fields costs at least: never above the best of all patterns, which small files let us go through."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import ProtectionError
from discreet.measures.individual_risk import individual_risk
from discreet.verify import check_records

Row = tuple[str | None, ...]
NAMES = ["x", "y", "z"]


def alike(one: Row, other: Row, missing: str) -> bool:
    if missing == "any":
        return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))
    return one == other


def passes(
    rows: list[Row], missing: str, tables: list[tuple[int, ...]], k: int, risk: float | None, weight: list
) -> bool:
    for table in tables:
        shown = [tuple(row[place] for place in table) for row in rows]
        judged = [row for row in range(len(rows)) if missing != "exempt" or None not in shown[row]]
        for row in judged:
            company = [other for other in judged if alike(shown[row], shown[other], missing)]
            if risk is None and len(company) < k:
                return False
            if risk is not None and individual_risk(len(company), sum(weight[i] for i in company)) > risk * (1 + 1e-9):
                return False
    return True


def cheapest(rows: list[Row], price: list[list[float]], **rule: Any) -> float:
    """The least cost over all patterns of empty fields."""
    full = [(row, place) for row, codes in enumerate(rows) for place, code in enumerate(codes) if code is not None]
    best = float("inf")
    for gone in product([False, True], repeat=len(full)):
        empty = {field for field, taken in zip(full, gone, strict=True) if taken}
        cost = sum(price[row][place] for row, place in empty)
        if cost < best:
            shown = [
                tuple(None if (r, p) in empty else code for p, code in enumerate(row)) for r, row in enumerate(rows)
            ]
            best = cost if passes(shown, **rule) else best
    return best


@st.composite
def small_files(draw: Any) -> tuple[list[Row], int]:
    columns = draw(st.integers(1, 3))
    count = draw(st.integers(3, {1: 7, 2: 4, 3: 3}[columns]))
    codes = st.sampled_from(["a", "b", "c", None])
    rows = draw(st.lists(st.tuples(*[codes] * columns), min_size=count, max_size=count))
    return rows, columns


@given(
    small_files(),
    st.sampled_from(["category", "any", "exempt"]),
    st.sampled_from([2, 3]),
    st.sampled_from([None, 0.2, 0.4, 0.6]),
    st.sampled_from([{}, {"x": 0.5}, {"x": 3}]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_the_best_of_all_patterns_never_costs_less_than_the_least(file, missing, k, risk, importance, pairs, weighted):
    rows, columns = file
    weight = [1.0 + row % 3 for row in range(len(rows))]
    names = NAMES[:columns]
    table = pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)})
    data = ds.Microdata(table.append_column("w", pa.array(weight)), keys=names, weight="w")
    several = pairs and risk is None
    method = ds.LocalSuppress(
        None if risk else k,
        risk=risk,
        missing=missing,
        importance={name: price for name, price in importance.items() if name in names},
        weight="w" if weighted else None,
        size=min(2, columns) if several else None,
    )
    try:
        release = ds.protect(data, method, keep_order=True)
    except ProtectionError:
        return
    verdict = release.verify()
    assert verdict.holds, verdict.refused
    facts = release.custodian.steps[0].evidence.facts
    price = [
        [importance.get(name, 1.0) * (weight[row] if weighted else 1.0) for name in names] for row in range(len(rows))
    ]
    sizes = [columns] if not several else range(1, 3) if missing == "exempt" else [min(2, columns)]
    tables = [one for size in sizes for one in combinations(range(columns), size)]
    best = cheapest(rows, price, missing=missing, tables=tables, k=k, risk=risk, weight=weight)
    assert facts["least"] <= best + 1e-6
    assert best <= facts["cost"] + 1e-9
    # Something must be emptied, and then something is stated.
    if missing != "category":
        assert (facts["least"] > 0) == (best > 0)


def facts_of(table: pa.Table, method: ds.LocalSuppress, **options: Any) -> tuple[dict[str, Any], str]:
    release = ds.protect(ds.Microdata(table, **{"keys": table.column_names, **options}), method, keep_order=True)
    verdict = release.verify()
    assert verdict.holds, verdict.refused
    step = release.custodian.steps[0].evidence
    return step.facts, step.claim.statement


def test_a_record_breaks_all_of_its_rare_combinations_itself():
    # x and y are rare together and apart from z; one field of either breaks them, and no other record can.
    table = pa.table({"x": ["a", "a", "a", "b"], "y": ["c", "c", "c", "c"], "z": ["e", "e", "e", "e"]})
    facts, words = facts_of(table, ds.LocalSuppress(2, missing="exempt", importance={"y": 0.25}))
    assert facts["least"] == 0.25  # y tells nobody apart, and yet whoever empties it is exempt
    assert facts["cost"] == 1
    assert "Whoever reaches this empties at least 0.25 units of importance; here it was 1." in words


def test_a_witness_and_why_it_says_little():
    table = pa.table({"x": list("aaabbbcd"), "y": list("eeefffgh")})
    facts, words = facts_of(table, ds.LocalSuppress(3, missing="any"))
    assert facts["witnesses"][0] in (6, 7)
    # Two others lose both fields to agree with "c", or it loses both itself.
    assert facts["least"] == 2
    assert "at least 2 fields: no more can be said, because a few records that are empty throughout may serve" in words


def test_the_dearest_combination_of_a_witness_counts():
    table = pa.table({"x": list("aaab"), "y": list("cccc"), "z": list("eeee")})
    facts, _ = facts_of(table, ds.LocalSuppress(2, size=2, missing="any"))
    assert facts["least"] == 1  # of x and y, or of x and z; y and z cost nothing


def test_a_witness_may_need_everybody():
    facts, _ = facts_of(pa.table({"x": list("aab")}), ds.LocalSuppress(3, missing="any"))
    assert facts["least"] == 1


@pytest.mark.parametrize("more", [99, -1, True, 1.0])
def test_a_witness_that_is_no_record(more):
    table = pa.table({"x": list("aaabbbcd"), "y": list("eeefffgh")})
    custodian = ds.protect(ds.Microdata(table, keys=["x", "y"]), ds.LocalSuppress(3, missing="any")).custodian
    step = custodian.steps[0]
    facts = {**step.evidence.facts, "witnesses": [*step.evidence.facts["witnesses"], more]}
    lie = replace(custodian, steps=(replace(step, evidence=replace(step.evidence, facts=facts)),))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert messages == {"records that show the least cost are no records, or several of one stratum"}


def test_risks_are_judged_within_strata():
    table = pa.table({"x": list("aaaaaaaabbbbbbba"), "part": list("1111111122222222"), "w": [2.0] * 16})
    facts, _ = facts_of(table, ds.LocalSuppress(risk=0.3, strata=["part"]), keys=["x"], weight="w")
    assert facts["unsafe"] == 1  # alone in the second part, and one of nine in the file


def test_shares_beside_a_limit_of_risk():
    data = ds.Microdata(pa.table({"x": ["a"] * 5 + ["b"], "w": [2.0] * 6}), keys="x", weight="w")
    custodian = ds.protect(data, ds.LocalSuppress(risk=0.3)).custodian
    step = custodian.steps[0]
    facts = {**step.evidence.facts, "shares": [0] * 6}
    lie = replace(custodian, steps=(replace(step, evidence=replace(step.evidence, facts=facts)),))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert messages == {"shares of the least cost are stated of what has none"}


def test_witnesses_of_strata_add_up():
    table = pa.table({"x": list("aaabaaab"), "y": list("eeefeeef")})
    one, _ = facts_of(table, ds.LocalSuppress(3, missing="any"), keys=["x", "y"])
    parted = table.append_column("part", pa.array(list("11112222")))
    two, _ = facts_of(parted, ds.LocalSuppress(3, missing="any", strata=["part"]), keys=["x", "y"])
    assert two["least"] == 4
    assert len(two["witnesses"]) == 2
    assert one["least"] <= 2


def test_risks_have_a_least_cost_too():
    table = pa.table({"x": ["a"] * 5 + ["b"], "w": [2.0] * 6})
    for missing in ("category", "exempt", "any"):
        facts, _ = facts_of(table, ds.LocalSuppress(risk=0.3, missing=missing), keys="x", weight="w")
        assert 0 < facts["least"] <= facts["cost"]


def test_nothing_is_said_of_costs_where_nothing_had_to_be_emptied():
    table = pa.table({"x": ["a"] * 5})
    for missing in ("category", "exempt", "any"):
        _, words = facts_of(table, ds.LocalSuppress(2, missing=missing))
        assert "cost" not in words
        assert "at least 2 times" in words


@pytest.mark.parametrize("missing", ["any", "exempt"])
def test_more_keys_than_can_be_gone_through_have_no_least_cost(missing, monkeypatch):
    monkeypatch.setattr("discreet.records.local_suppress.MOST_KEYS", 2)
    table = pa.table({"x": list("aab"), "y": list("aab"), "z": list("aab")})
    method = ds.LocalSuppress(2, combinations=[["x", "y"], ["z"]], missing=missing)
    facts, words = facts_of(table, method)
    assert facts["least"] == 0
    assert "what it costs at least is not known" in words
