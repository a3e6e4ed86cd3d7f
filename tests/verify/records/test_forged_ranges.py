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
from discreet.verify import Verdict, check_records

AGES = [20, 21, 22, 30, 31, 32, 60, 70]
EVERYBODY = pa.table({"age": [*AGES, 20, 21, 30, 31, 75], "sex": ["f"] * 12 + ["m"]})
METHODS: dict[str, Callable[[], ds.Generalise]] = {
    "map": lambda: ds.Generalise(rules=[ds.KMap(3, population=EVERYBODY)], algorithm="local"),
    "presence": lambda: ds.Generalise(rules=[ds.DeltaPresence(0, 0.5, population=EVERYBODY)], algorithm="local"),
}
SHOWN = {"map": ["20-21", "22-30", "32-70", "32-70"], "presence": ["20", "30", "31-70", "31-70"]}
LOST = {"map": (1 + 8 + 38 + 38) / 55, "presence": 2 * 39 / 55}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    file = pa.table({"age": [20, 30, 60, 70], "sex": ["f"] * 4})
    return ds.protect(ds.Microdata(file, keys=["age", "sex"]), METHODS[name](), keep_order=True)


def verdict(name: str, shown: dict[str, list] | None = None, drop: str = "", **facts: Any) -> Verdict:
    """A release with some codes and facts forged; the claim follows."""
    custodian = release(name).custodian
    step = custodian.steps[0]
    said = {key: value for key, value in {**step.evidence.facts, **facts}.items() if key != drop}
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
    [[20.0, 75.5], [19.0, 75.0], [21.0, 75.0], [20, 75], [20.0], "20", [75.0, 20.0]],
)
def test_numbers_that_reach_elsewhere(ends):
    found = verdict("map", reach={"age": ends, "sex": 2})
    assert refusals(found) == {"a key reaches further or less far than the file and the population do"}


@pytest.mark.parametrize("codes", [1, 3, 2.0, None])
def test_another_number_of_codes(codes):
    found = verdict("map", reach={"age": [20.0, 75.0], "sex": codes})
    assert refusals(found) == {"a key reaches further or less far than the file and the population do"}


@pytest.mark.parametrize("reach", [{"age": [20.0, 75.0]}, {"sex": 2}])
def test_a_reach_that_is_not_stated(reach):
    found = verdict("map", reach=reach)
    assert refusals(found) == {"a key reaches further or less far than the file and the population do"}


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
    assert refusals(found) == {"a key reaches further or less far than the file and the population do"}
