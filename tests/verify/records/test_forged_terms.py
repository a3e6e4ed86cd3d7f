"""What methods and rules say of themselves, forged at the edge: one key twice, one weight of many, one too few."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.model.public import PublicRelease
from discreet.verify import check_records
from discreet.verify.records import blanked
from discreet.verify.records.files import read_record_custodian
from discreet.verify.records.population import check_map
from discreet.verify.records.sensitive import _branches, _like, _line
from discreet.verify.verdict import Verdict
from tests.attack.record_folders import edit_json, read_arrow, write_arrow
from tests.verify.records import test_forged_generalisation as levels
from tests.verify.records.test_forged_blanks import BlankForgery, refused
from tests.verify.records.test_forged_ranks import release as exchanged

# ---- emptied fields ---------------------------------------------------------------------------------------------


def with_weight(f: BlankForgery, value: float) -> None:
    """The first record has another weight."""
    table = f.custodian.original.columns
    weights = [value, *table["w"].to_pylist()[1:]]
    table = table.set_column(table.column_names.index("w"), "w", pa.array(weights))
    f.custodian = replace(f.custodian, original=replace(f.custodian.original, columns=table))


def test_shares_that_are_too_high_beside_no_least_cost():
    def forge(f: BlankForgery) -> None:
        shares = [share + 3_000_000 for share in f.step.evidence.facts["shares"]]
        f.forged |= {"shares": shares, "least": 0.0}

    refused(forge, "records could look alike for less than their shares of the least cost")


@pytest.mark.parametrize("value", [0.5, np.inf])
def test_one_weight_that_is_none(value):
    """Of records at risk, weights are at least one; of fields that cost, above zero."""
    refused(lambda f: with_weight(f, value), "weights are not all numbers of at least one", "risk", alone=False)
    priced = 0.0 if value < 1 else value
    refused(
        lambda f: with_weight(f, priced),
        "the weights that fields cost are not all above zero",
        "entropy",
        alone=False,
    )


def test_weights_that_are_not_there():
    def forge(f: BlankForgery) -> None:
        f.method["weight"] = "nobody"
        f.forged["weight"] = "nobody"

    refused(forge, "the weights are not those that the method names, or that the records have", "risk", alone=False)
    refused(forge, "the weights that fields cost are no numbers of the records", "entropy", alone=False)


@pytest.mark.parametrize("fact", ["unsafe", "company"])
def test_fewer_records_at_risk_than_there_are(fact):
    def forge(f: BlankForgery) -> None:
        f.forged[fact] = f.step.evidence.facts[fact] - 1

    refused(forge, "the numbers of records at risk, and of others that lost fields", "risk")


@pytest.mark.parametrize("given", [["nobody"], []])
def test_strata_that_are_not_there_or_not_told(given):
    def forge(f: BlankForgery) -> None:
        f.method["strata"] = given or ["part"]
        f.forged["strata"] = given

    refused(forge, "the strata are not those that the method names, or that the records have", "strata")


def test_combinations_beside_a_limit_of_risk():
    def forge(f: BlankForgery) -> None:
        f.method["combinations"] = [{"keys": ["age", "sex", "area"], "k": 3}]

    refused(forge, "k and a limit of risk are stated at once, or none of them", "risk")


def test_more_combinations_than_are_counted(monkeypatch):
    """Three keys have three pairs."""
    monkeypatch.setattr(blanked, "MOST_SUBSETS", 3)
    refused(
        lambda f: monkeypatch.setattr(blanked, "MOST_SUBSETS", 2),
        "more combinations of keys are stated than this checker counts",
        "pairs",
    )


def test_an_importance_without_an_end():
    refused(
        lambda f: f.method.update(importance={"age": np.inf}),
        "importance is stated of a column that is no key, or is not above zero",
    )


# ---- levels -----------------------------------------------------------------------------------------------------

KEYS = "the keys are not those that the method names, or that the records have"


@pytest.mark.parametrize("keys", [["age", "age"], ["age", "nobody"], []])
def test_keys_of_levels_that_cannot_be(keys):
    def forge(f: levels.Forgery) -> None:
        f.follow, f.claim = False, f.step.evidence.claim
        f.method["keys"] = f.forged["keys"] = keys
        if not keys:
            info = {name: replace(f.original.about(name), role="") for name in f.original.names}
            f.original = replace(f.original, info=info)

    levels.refused(forge, KEYS, alone=False)


def test_keys_of_levels_in_another_order():
    levels.refused(lambda f: f.method.update(keys=["town", "age", "sex"]), KEYS)


def test_heights_that_are_no_whole_numbers_or_too_low():
    def broken(f: levels.Forgery) -> None:
        f.follow, f.claim = False, f.step.evidence.claim
        f.forged["heights"] = [float(height) for height in f.step.evidence.facts["heights"]]

    def lower(f: levels.Forgery) -> None:
        f.follow = False
        facts = f.step.evidence.facts
        place = next(i for i, height in enumerate(facts["heights"]) if facts["levels"][i] < height)
        f.forged["heights"] = [height - (i == place) for i, height in enumerate(facts["heights"])]

    levels.refused(broken, "the levels are not those of the keys")
    levels.refused(lower, "a hierarchy has other levels than are stated")


def test_a_hierarchy_that_lacks_one_code():
    def forge(f: levels.Forgery) -> None:
        f.follow = False
        tree = ds.Hierarchy.from_nested({"N": ["N1", "N2"], "S": {"S1": None, "S2": ["S2a"]}}, total="all")
        f.original = replace(f.original, hierarchies={**f.original.hierarchies, "town": tree})

    levels.refused(forge, "a hierarchy lacks codes of its key")


def test_fewer_records_or_more_losses_than_there_are():
    def fewer(f: levels.Forgery) -> None:
        f.follow = False
        f.forged["rows"] = levels.ROWS - 1

    def more(f: levels.Forgery) -> None:
        f.follow = False
        f.forged["losses"] = {**f.step.evidence.facts["losses"], "another": 0.0}

    levels.refused(fewer, "the numbers of records, of those suppressed and of classes are not those that are counted")
    levels.refused(more, "what is said to be lost is not what is lost")


# ---- rules ------------------------------------------------------------------------------------------------------


def test_a_population_of_one_key_twice():
    population = {"keys": ["a", "b"], "codes": [["x"], ["y"]], "combinations": [[0], [0]], "units": [5]}
    rule = {"kind": "k_map", "k": 1, "keys": ["a", "a"], "population": {**population, "distinct": 1, "total": 5}}
    verdict = Verdict()
    check_map(verdict, pa.table({"a": ["x"], "b": ["y"]}), rule, {})
    assert [str(r) for r in verdict.refused] == ["rules: the keys of the population are not columns of the public file"]


def test_a_gain_that_rounding_could_make_is_none():
    rule = {"form": "basic", "beta": 1e-10}
    assert _like(rule, {"a": 1}, {"a": 2_000_000_000, "b": 1})
    assert not _like(rule, {"a": 1}, {"a": 2_000_000, "b": 1})


@pytest.mark.parametrize(
    ("values", "order", "unknown"),
    [
        ({1: 2, 2: 3, 9: 1}, [], [(9, 9)]),
        ({"a": 2, None: 1}, ["a", "None"], []),
        ({"a": 2, "?": 1}, ["a", "?"], [("?", "?")]),
    ],
)
def test_values_that_are_not_known_have_no_order(values: Any, order: list[str], unknown: Any):
    verdict = Verdict()
    assert _line(verdict, {"order": order} if order else {}, values, unknown, "ill") is None
    assert [str(r) for r in verdict.refused] == ["rules: the values of t-closeness have no order (ill)"]


def test_a_hierarchy_of_nothing():
    """Nobody says anything, and nothing stands above it."""
    verdict = Verdict()
    assert _branches(verdict, {"above": {}}, {None: 3}, [], "ill") is None
    assert [str(r) for r in verdict.refused] == ["rules: the hierarchy of t-closeness is none, or lacks a value (ill)"]


# ---- the release ------------------------------------------------------------------------------------------------


def test_public_records_that_are_others():
    true = exchanged("each")
    records = true.public.records
    forged = replace(records, columns=records.columns.take(pa.array([1, 0, *range(2, len(records.columns))])))
    found = check_records(true.custodian, PublicRelease((), forged)).refused
    assert [refusal.message for refusal in found] == ["the public records are not those that the release gives"]


def test_files_of_rows_with_a_column_twice_or_with_gaps(tmp_path: Path):
    exchanged("each").save(tmp_path / "out", formats=["csv"])
    folder = tmp_path / "out"
    assert read_record_custodian(folder).steps[0].evidence.parts["records"].keys() == {"partner_0", "partner_1"}
    file = folder / "custodian" / "step_0_rows.arrow"
    rows = read_arrow(file)
    gap = pa.array([None, *rows["partner_1"].to_pylist()[1:]], pa.int64())
    write_arrow(file, rows.set_column(1, "partner_1", gap))
    with pytest.raises(InputError, match=r"The file 'step_0_rows.arrow' has gaps\."):
        read_record_custodian(folder)
    names = ["partner_0", "partner_0"]
    edit_json(folder, "records.json", lambda found: found["steps"][0].update(rows=names))
    with pytest.raises(InputError, match=r"records.json.steps\[0\].rows name a column twice"):
        read_record_custodian(folder)
