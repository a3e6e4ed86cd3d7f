"""Fields that are emptied together: related columns, households, what is refused, and releases that say otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError, ProtectionError
from discreet.methods.registry import method_from_record
from discreet.model.claims.blanked import blanked_claim
from discreet.model.custodian import RecordCustodian
from discreet.records.blank_together import FieldsTogether
from discreet.verify import check_records

KEYS = ["town", "sex", "rooms"]


def people(rows: int, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    home = np.arange(rows) // 2
    rooms = draw.choice(["1", "2", "3"], rows, p=[0.6, 0.3, 0.1])[home]
    return pa.table(
        {
            "town": draw.choice(list("abcd"), rows, p=[0.5, 0.3, 0.15, 0.05]),
            "sex": draw.choice(["f", "m"], rows),
            "rooms": rooms,
            "district": pa.array([None if one == "?" else str(one) for one in draw.choice(list("xy?"), rows)]),
            "home": home,
            "w": draw.integers(1, 9, rows).astype(float),
        }
    )


def data(table: pa.Table) -> ds.Microdata:
    return ds.Microdata(table, keys=KEYS, household="home", weight="w", missing_codes={"district": ["y"]})


def test_what_a_whole_household_would_lose_is_dearer_than_a_field_of_one_person():
    """Households of five: either key would do for the person who stands out, and one field goes instead of five."""
    rooms = ["1"] * 10 + ["2"] * 10 + ["3"] * 5
    jobs = ["a", "b"] * 12 + ["c"]
    table = pa.table({"rooms": rooms, "job": jobs, "home": [i // 5 for i in range(25)]})
    people_ = ds.Microdata(table, keys=["rooms", "job"], household="home")
    for importance in ({}, {"job": 2}, {"job": 4.5}):
        method = ds.LocalSuppress(2, importance=importance, of_household=["rooms"])
        release = ds.protect(people_, method, rules=ds.KAnonymity(2))
        assert release.verify().holds
        shown = release.public.records.shown()
        assert shown["rooms"].count(None) == 0
        assert 2 <= shown["job"].count(None) <= 3
    plain = ds.protect(people_, ds.LocalSuppress(2, importance={"job": 4.5})).public.records.shown()
    assert plain["rooms"].count(None) > 0


@pytest.mark.parametrize("seed", range(12))
def test_household_sizes_never_make_blanks_dearer(seed, monkeypatch):
    table = people(60, seed)
    method = ds.LocalSuppress(3, of_household=["rooms"])
    found = ds.protect(data(table), method).custodian.evidence[0].facts["cost"]
    monkeypatch.setattr(FieldsTogether, "of_households", lambda _self, prices, _codes, _columns: prices)
    assert found <= ds.protect(data(table), method).custodian.evidence[0].facts["cost"]


@given(
    st.integers(4, 40),
    st.integers(0, 10**6),
    st.sampled_from(["category", "any", "exempt"]),
    st.sampled_from(
        [{"k": 2}, {"k": 3, "size": 2}, {"k": 3, "cost": "entropy"}, {"risk": 0.3}, {"k": 2, "weight": "w"}]
    ),
    st.sampled_from(
        [{"town": ["district"]}, {"town": ["rooms", "district"]}, {"sex": ["town"], "town": ["district"]}, {}]
    ),
    st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_whatever_goes_together_is_emptied_together(rows, seed, missing, options, together, shared):
    table = people(rows, seed)
    method = ds.LocalSuppress(**options, missing=missing, together=together, of_household=["rooms"] if shared else ())
    try:
        release = ds.protect(data(table), method, keep_order=True)
    except ProtectionError as refusal:
        if "report" in str(refusal):
            raise
        return
    verdict = release.verify()
    assert verdict.holds, verdict.refused
    shown = release.public.records.shown()
    for one, others in together.items():
        for other in others:
            known = [code not in (None, "y") for code in table[other].to_pylist()]
            assert all(shown[one][row] is not None or shown[other][row] is None for row in range(rows) if known[row])
    if shared:
        homes = table["home"].to_pylist()
        lost = {home for home, code in zip(homes, shown["rooms"], strict=True) if code is None}
        assert all(shown["rooms"][row] is None for row, home in enumerate(homes) if home in lost)


def test_a_member_without_a_code_keeps_nothing_that_others_lose():
    table = people(60, 5)
    rooms = [None if row % 10 == 1 else code for row, code in enumerate(table["rooms"].to_pylist())]
    table = table.set_column(table.column_names.index("rooms"), "rooms", pa.array(rooms))
    release = ds.protect(
        data(table),
        ds.LocalSuppress(3, missing="exempt", importance={"rooms": 0.1}, of_household=["rooms"]),
        keep_order=True,
    )
    shown, homes = release.public.records.shown()["rooms"], table["home"].to_pylist()
    lost = {home for home, old, new in zip(homes, rooms, shown, strict=True) if old is not None and new is None}
    assert any(old is None and home in lost for home, old in zip(homes, rooms, strict=True))
    assert release.verify().holds


def test_nothing_is_done_that_nothing_asks_for():
    table = people(40, 1)
    plain = ds.protect(data(table), ds.LocalSuppress(3), keep_order=True)
    assert "together" not in plain.custodian.steps[0].evidence.method
    assert "together" not in plain.custodian.steps[0].evidence.facts
    method = ds.LocalSuppress(3, together={"town": ["district"]}, of_household=["rooms"])
    assert method_from_record(method.record()).record() == method.record()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"together": {"tonw": ["district"]}}, ParameterError, "no key 'tonw' in together="),
        ({"together": {"town": ["distrikt"]}}, ParameterError, "no column 'distrikt' in together="),
        ({"together": {"town": ["w"]}}, ParameterError, "together= empties 'w', which has the role 'weight'"),
        ({"together": {"town": ["home"]}}, ParameterError, "which has the role 'household'"),
        ({"together": {"town": ["rooms"]}, "strata": ["rooms"]}, ParameterError, "strata are never emptied"),
        ({"of_household": ["district"]}, ParameterError, "no key 'district' in of_household="),
        ({"of_household": ["town"]}, InputError, "members with different codes of 'town', which of_household="),
        ({"of_household": ["rooms"], "algorithm": "optimal"}, ParameterError, 'algorithm="optimal" is for k='),
    ],
)
def test_what_cannot_go_together_is_refused(options, error, message):
    with pytest.raises(error) as caught:
        ds.protect(data(people(40, 1)), ds.LocalSuppress(3, **options))
    assert message in str(caught.value)


def test_somebody_must_know_who_lives_together():
    with pytest.raises(NeedsError, match=r"Give Microdata\(household=...\)"):
        ds.protect(ds.Microdata(people(40, 1), keys=KEYS), ds.LocalSuppress(3, of_household=["rooms"]))


# ---- releases that say otherwise -----------------------------------------------------------------------------------


@cache
def release() -> ds.Release[RecordCustodian]:
    method = ds.LocalSuppress(3, missing="exempt", together={"sex": ["district"]}, of_household=["rooms"])
    return ds.protect(data(people(60, 32)), method, keep_order=True)


def refused(forge: Callable[[dict[str, list], dict[str, Any], dict[str, Any]], None]) -> set[str]:
    """A release with columns, method and facts forged; numbers of emptied fields, costs and claim follow."""
    custodian = release().custodian
    step = custodian.steps[0]
    changed = {name: step.changed[name].to_pylist() for name in step.changed.column_names}
    method, facts = dict(step.evidence.method), dict(step.evidence.facts)
    forge(changed, method, facts)
    old = custodian.original
    new = {
        name: [a is None and b is not None for a, b in zip(changed[name], old[name].to_pylist(), strict=True)]
        for name in changed
    }
    keys = {name: new.get(name, [False] * len(old)) for name in KEYS}
    facts["blanks"] = [sum(keys[name]) for name in KEYS]
    facts["records"] = sum(any(row) for row in zip(*keys.values(), strict=True))
    facts["cost"] = float(sum(facts["blanks"]))
    facts["together"] = facts.pop("counted", [sum(new.get("district", []))])
    evidence = replace(step.evidence, method=method, facts=facts, claim=blanked_claim(method, facts))
    columns = pa.table({name: pa.array(values, old[name].type) for name, values in changed.items()})
    lie = replace(custodian, steps=(replace(step, evidence=evidence, changed=columns),))
    return {refusal.message for refusal in check_records(lie, lie.public()).refused}


def test_the_true_release_holds():
    assert refused(lambda changed, method, facts: None) == set()
    step = release().custodian.steps[0]
    assert all(count > 0 for count in (*step.evidence.facts["blanks"][1:], *step.evidence.facts["together"]))


def put_back(changed: dict[str, list], name: str) -> None:
    old = release().custodian.original[name].to_pylist()
    row = next(row for row, new in enumerate(changed[name]) if new is None and old[row] not in (None, "y"))
    changed[name][row] = old[row]


def test_a_related_field_that_stayed():
    found = refused(lambda changed, method, facts: put_back(changed, "district"))
    assert found == {"a field stayed that goes together with one that was emptied"}


def test_a_related_field_that_was_emptied_alone():
    def forge(changed: dict[str, list], method: dict, facts: dict) -> None:
        row = next(r for r, code in enumerate(changed["district"]) if code == "x" and changed["sex"][r] is not None)
        changed["district"][row] = None

    assert refused(forge) == {"a field was emptied of a column that only goes together with others"}


def test_a_related_field_with_another_value():
    def forge(changed: dict[str, list], method: dict, facts: dict) -> None:
        row = next(r for r, code in enumerate(changed["district"]) if code == "x")
        changed["district"][row] = "z"

    assert refused(forge) == {"a field that is not empty has another value than before"}


def test_a_field_of_a_household_that_stayed_for_one_member():
    def forge(changed: dict[str, list], method: dict, facts: dict) -> None:
        put_back(changed, "rooms")

    assert "a field of a household was emptied for some of its members only" in refused(forge)


def test_other_numbers_of_fields_that_went_along():
    found = refused(lambda changed, method, facts: facts.update(counted=[9]))
    assert found == {"the numbers of fields that went along are not those that are counted"}


@pytest.mark.parametrize(
    "method",
    [
        {"together": {"nobody": ["district"]}},
        {"together": {"town": ["nothing"]}},
        {"together": {"town": ["w"]}},
        {"of_household": ["district"]},
    ],
)
def test_fields_that_cannot_go_together(method):
    found = refused(lambda changed, stated, facts: stated.update(method))
    assert found == {"fields are said to go together that cannot"}
