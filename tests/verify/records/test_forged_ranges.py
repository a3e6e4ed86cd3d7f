"""Releases that say of local recoding beside a population what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.generalised import generalised_claim
from discreet.model.custodian import RecordCustodian
from discreet.model.records import RecordSet
from discreet.verify import Verdict, check_records

AGES = [20, 21, 22, 30, 31, 32, 60, 70]
EVERYBODY = pa.table({"age": [*AGES, 20, 21, 30, 31, 75], "sex": ["f"] * 12 + ["m"]})
METHODS: dict[str, Callable[[], ds.Generalise]] = {
    "map": lambda: ds.Generalise(rules=[ds.KMap(3, population=EVERYBODY)], algorithm="local"),
    "presence": lambda: ds.Generalise(rules=[ds.DeltaPresence(0, 0.5, population=EVERYBODY)], algorithm="local"),
}
SHOWN = {"map": ["20-21", "22-30", "32-70", "32-70"], "presence": ["20", "30", "31-70", "31-70"]}
ABOVE = "a value became a code that does not stand above it"
ELSEWHERE = "a key reaches further or less far than the file and the population do"
LOST = {"map": (1 + 8 + 38 + 38) / 55, "presence": 2 * 39 / 55}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    file = pa.table({"age": [20, 30, 60, 70], "sex": ["f"] * 4})
    return ds.protect(ds.Microdata(file, keys=["age", "sex"]), METHODS[name](), keep_order=True)


def verdict(
    name: str, shown: dict[str, list] | None = None, original: RecordSet | None = None, **facts: Any
) -> Verdict:
    """A release with some codes and facts forged; the claim follows."""
    custodian = release(name).custodian
    custodian = replace(custodian, original=original or custodian.original)
    step = custodian.steps[0]
    said = {**step.evidence.facts, **facts}
    method = {**step.evidence.method, **({"rules": facts["method_rules"]} if "method_rules" in facts else {})}
    said.pop("method_rules", None)
    columns = {key: step.changed[key] for key in step.changed.column_names}
    for key, codes in (shown or {}).items():
        columns[key] = pa.chunked_array([pa.array(codes, pa.string())])
    evidence = replace(step.evidence, method=method, facts=said, claim=generalised_claim(method, said))
    lie = replace(custodian, steps=(replace(step, evidence=evidence, changed=pa.table(columns)),))
    return check_records(lie, lie.public())


def refusals(found: Verdict) -> set[str]:
    return {refusal.message for refusal in found.refused}


@pytest.mark.parametrize("name", METHODS)
def test_true_releases_hold_and_are_proved(name):
    made = release(name)
    assert made.public.records.shown()["age"] == SHOWN[name]
    facts = made.custodian.steps[0].evidence.facts
    assert facts["losses"]["loss"] == pytest.approx(LOST[name] / 8)
    found = verdict(name)
    assert found.holds, found.refused
    assert any(text.startswith("Values of age, sex became codes or intervals") for text in found.proved)


def test_an_interval_that_holds_too_few_units():
    loss = {"loss": (0 + 8 + 38 + 38) / 55 / 8}
    found = verdict("map", {"age": ["20", *SHOWN["map"][1:]]}, losses=loss)
    assert refusals(found) == {"1 record fits fewer than 3 units of the population"}


def test_an_interval_that_makes_somebody_too_certain():
    loss = {"loss": 10 / 55 * 2 / 8}
    found = verdict("presence", {"age": ["20", "30", "60-70", "60-70"]}, losses=loss)
    assert refusals(found) == {"2 combinations of the population have a chance outside the bounds"}


def test_two_intervals_that_hold_the_same_units():
    # Both hold 60, 70 and 75: half of one record each, and together too much.
    loss = {"loss": (15 + 15 + 40 + 55) / 55 / 8}
    shown = {"age": ["20-75", "30 to 70", "60-75", "60-75"]}
    found = verdict("presence", shown, losses=loss, classes=3)
    assert refusals(found) == {"2 combinations of the population have a chance outside the bounds"}


@pytest.mark.parametrize(
    "ends",
    [[20.0, 75.5], [19.0, 75.0], [21.0, 75.0], [20, 75], [20.0], "20", 75, [75.0, 20.0]],
)
def test_numbers_that_reach_elsewhere(ends):
    found = verdict("map", reach={"age": ends, "sex": 2})
    assert refusals(found) == {ELSEWHERE}


@pytest.mark.parametrize("codes", [1, 3, 2.0, None])
def test_another_number_of_codes(codes):
    found = verdict("map", reach={"age": [20.0, 75.0], "sex": codes})
    assert refusals(found) == {ELSEWHERE}


@pytest.mark.parametrize("reach", [{"age": [20.0, 75.0]}, {"sex": 2}])
def test_a_reach_that_is_not_stated(reach):
    found = verdict("map", reach=reach)
    assert refusals(found) == {ELSEWHERE}


@pytest.mark.parametrize("reach", [{"age": [20.0, 75.0], "sex": 2, "town": 3}, [1]])
def test_a_reach_of_other_keys(reach):
    found = verdict("map", reach=reach)
    assert refusals(found) == {"how far keys reach is stated of keys that reach no further than the file"}


def test_a_lattice_reaches_no_further_than_the_file():
    town = ds.Hierarchy.flat(["a", "b"], total="all")
    data = ds.Microdata(pa.table({"town": ["a", "a", "b"]}), keys="town", hierarchies={"town": town})
    custodian = ds.protect(data, ds.Generalise(2, outliers=0), keep_order=True).custodian
    step = custodian.steps[0]
    evidence = replace(step.evidence, facts={**step.evidence.facts, "reach": {"town": 5}})
    lie = replace(custodian, steps=(replace(step, evidence=evidence),))
    found = refusals(check_records(lie, lie.public()))
    assert found == {"how far keys reach is stated of keys that reach no further than the file"}


def large(name: str) -> dict[str, Any]:
    step = release(name).custodian.steps[0]
    rule = dict(step.evidence.method["rules"][0])
    kept = {key: rule["population"][key] for key in ("keys", "total", "distinct")}
    return {
        "method_rules": [{**rule, "population": kept}],
        "rules": [{**step.evidence.facts["rules"][0], "population": kept}],
    }


def test_a_population_that_is_not_kept_leaves_the_claim_asserted():
    found = verdict("map", **large("map"))
    assert found.holds, found.refused
    assert any(text.startswith("Values of age, sex became codes or intervals") for text in found.asserted)
    assert not any(text.startswith("Values of age, sex became codes or intervals") for text in found.proved)


def test_numbers_reach_at_least_as_far_as_the_file_where_no_population_is_kept():
    found = verdict("map", **large("map"), reach={"age": [25.0, 75.0], "sex": 2})
    assert refusals(found) == {ELSEWHERE}


def test_numbers_must_be_stated_where_no_population_is_kept():
    for reach in ({"sex": 2}, {"age": [20.0, 75.0]}):
        assert refusals(verdict("map", **large("map"), reach=reach)) == {ELSEWHERE}


@pytest.mark.parametrize("reach", [{"age": [20.0, 65.0], "sex": 2}, {"age": [20.0, 75.0], "sex": 0}])
def test_keys_reach_at_least_as_far_as_the_file_where_no_population_is_kept(reach):
    assert refusals(verdict("map", **large("map"), reach=reach)) == {ELSEWHERE}


def test_keys_may_reach_just_as_far_as_the_file():
    loss = {"loss": (1 + 8 + 38 + 38) / 50 / 8}
    found = verdict("map", **large("map"), reach={"age": [20.0, 70.0], "sex": 1}, losses=loss)
    assert found.holds, found.refused


def people(codes: dict[int, list[str]] | None = None, combinations: dict[int, list[int]] | None = None) -> dict:
    """Rules beside another population: codes and numbers of codes, by the place of their key."""
    step = release("map").custodian.steps[0]
    rule = dict(step.evidence.method["rules"][0])
    there = dict(rule["population"])
    for name, forged in (("codes", codes), ("combinations", combinations)):
        there[name] = [(forged or {}).get(place, list(one)) for place, one in enumerate(there[name])]
    return {
        "method_rules": [{**rule, "population": there}],
        "rules": [{**step.evidence.facts["rules"][0], "population": there}],
    }


def test_a_population_with_ages_that_are_no_numbers():
    """Nobody can say how far these reach."""
    old = release("map").custodian.steps[0].evidence.method["rules"][0]["population"]["codes"][0]
    other = people(codes={0: ["old" if code == "75" else code for code in old]})
    loss = {"loss": (1 + 8 + 38 + 38) / 50 / 8}
    assert refusals(verdict("map", **other, reach={"age": [20.0, 70.0], "sex": 2}, losses=loss)) == {ELSEWHERE}


def test_a_population_with_codes_that_are_not_listed():
    """Beyond the last one by one, and by more: it contradicts itself, whatever is looked at first."""
    there = release("map").custodian.steps[0].evidence.method["rules"][0]["population"]
    for beyond in (0, 5):
        numbers = [len(there["codes"][1]) + beyond if one == 1 else one for one in there["combinations"][1]]
        found = verdict("map", **people(combinations={1: numbers}), reach={"age": [20.0, 75.0], "sex": 1})
        assert refusals(found) == {"the population contradicts itself"}


def test_codes_that_only_the_file_has_count_too():
    file = pa.table({"age": [20, 30, 60, 70], "sex": ["f", "f", "f", "x"]})
    made = ds.protect(ds.Microdata(file, keys=["age", "sex"]), METHODS["map"](), keep_order=True)
    assert made.custodian.steps[0].evidence.facts["reach"] == {"age": [20.0, 75.0], "sex": 3}
    assert made.public.records.shown()["sex"][3] == "*"
    assert made.verify().holds


def test_a_code_for_unknown_fits_nobody_who_has_it_too():
    """Records of unknown sex beside units of unknown sex: they may be anybody, and not only these."""
    custodian = release("map").custodian
    info = {**custodian.original.info, "sex": replace(custodian.original.about("sex"), missing=(("f", "f"),))}
    found = verdict("map", reach={"age": [20.0, 75.0], "sex": 1}, original=replace(custodian.original, info=info))
    assert refusals(found) == {"4 records fit fewer than 3 units of the population"}


PARTS = ds.Hierarchy.from_nested({"west": ["a", "b"], "east": ["c", "d"]}, total="all")
FEW = pa.table({"x": ["a", "b", "c", "c", "c", "d", "d", "d"]})
RULES = {"map": ds.KMap(2, population=FEW), "exempt": ds.KAnonymity(2, missing="exempt")}
UNKNOWN = {
    ("map", "lattice"): {ABOVE, "2 records fit fewer than 3 units of the population"},
    ("map", "local"): {ABOVE, "2 records fit fewer than 3 units of the population"},
    ("exempt", "lattice"): {ABOVE},
    ("exempt", "local"): {ABOVE},
}


@pytest.mark.parametrize(("rule", "algorithm"), UNKNOWN)
def test_a_broader_code_that_stands_for_unknown(rule, algorithm):
    """Two records and two units, where there must be three: rules are not about codes for unknown, or let all fit."""
    data = ds.Microdata(pa.table({"x": ["a", "b", "c", "c", "d"]}), keys="x", hierarchies={"x": PARTS})
    custodian = ds.protect(data, ds.Generalise(rules=[RULES[rule]], algorithm=algorithm), keep_order=True).custodian
    step = custodian.steps[0]
    assert step.changed["x"].to_pylist()[:2] == ["west", "west"]
    method = {**step.evidence.method, "rules": [{**step.evidence.method["rules"][0], "k": 3}]}
    facts = {**step.evidence.facts, "rules": [{**step.evidence.facts["rules"][0], "k": 3}]}
    evidence = replace(step.evidence, method=method, facts=facts, claim=generalised_claim(method, facts))
    info = {"x": replace(custodian.original.about("x"), missing=(("west", "west"),))}
    original = replace(custodian.original, info=info)
    lie = replace(custodian, original=original, steps=(replace(step, evidence=evidence),))
    assert refusals(check_records(lie, lie.public())) == UNKNOWN[rule, algorithm]
