"""Values emptied at random, at the edge: one record too few, one unit of noise, one chance in a hundred."""

from __future__ import annotations

from dataclasses import replace
from math import nextafter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.blank_values import blanked_values_claim
from discreet.verify import check_records
from discreet.verify.records.blanked_values import _check_numbers, _impossible, _limit
from tests.verify.records.test_forged_blank_values import KEY, ROWS, BlankForgery, kept_row, refused

# ---- what is stated -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fact", ["blanked", "rows"])
@pytest.mark.parametrize("more", [1, -1])
def test_one_record_more_or_fewer(fact, more):
    refused(
        lambda f: f.facts.update({fact: f.facts[fact] + more}), "another number of records is empty than stated", "both"
    )


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("more", [1, -1])
def test_one_value_more_or_fewer_beyond_the_limits(place, more):
    def forge(f: BlankForgery) -> None:
        f.facts["beyond"]["x"][place] += more

    refused(forge, "another number of values lies beyond the limits than stated, or was emptied")


def test_every_record_was_emptied():
    def forge(f: BlankForgery) -> None:
        f.key = None
        for name in f.changed:
            f.changed[name] = [None] * ROWS
        f.count()

    refused(forge, "every record was emptied, or nothing changed", alone=False)


def test_draws_of_a_seed_that_are_not_told():
    refused(
        lambda f: setattr(f, "key", ds.Key(bytes(32), insecure=True)),
        "it is not said whether draws came from a seed, or wrongly",
    )


@pytest.mark.parametrize("unit", [0.01, -0.01])
def test_a_value_that_is_one_unit_off(unit):
    def forge(f: BlankForgery) -> None:
        row = kept_row(f)
        f.changed["x"][row] = round(f.changed["x"][row] + unit, 2)

    refused(forge, "a value is not the original one with its noise")


@pytest.mark.parametrize("noise", [1, -1])
def test_noise_of_an_empty_field(noise):
    def forge(f: BlankForgery) -> None:
        f.parts["noise_0"][next(i for i in range(ROWS) if f.old["x"][i] is None)] = noise

    refused(forge, "noise is stated of empty fields")


def test_a_column_without_values_has_no_limits():
    def forge(f: BlankForgery) -> None:
        f.key = None
        original = f.custodian.original
        empty = pa.nulls(ROWS, pa.float64())
        f.custodian = replace(
            f.custodian, original=replace(original, columns=original.columns.set_column(0, "x", empty))
        )
        f.old["x"] = f.changed["x"] = [None] * ROWS
        f.facts["decimals"]["x"] = 0
        f.count()

    refused(forge, "the limits are not stated, or other jitter", "limits")


def forged(data: ds.Microdata, method: ds.BlankValues, **lies: Any) -> set[str]:
    """What is said against a release with other facts."""
    custodian = ds.protect(data, method, key=KEY).custodian
    step = custodian.steps[0]
    assert check_records(custodian, custodian.public()).holds
    facts = {**step.evidence.facts, **lies}
    evidence = replace(step.evidence, facts=facts, claim=blanked_values_claim(step.evidence.method, facts))
    lie = replace(custodian, steps=(replace(step, evidence=evidence),))
    return {refusal.message for refusal in check_records(lie, lie.public()).refused}


def test_one_decimal_of_whole_numbers():
    data = ds.Microdata(pa.table({"x": np.arange(100.0)}), numeric=["x"])
    found = forged(data, ds.BlankValues({"x": 0.9}, jitter={"x": 15}), decimals={"x": 1})
    assert found == {"numbers have other decimals than stated"}


def test_a_variance_is_a_number_with_decimals():
    """So large that the part of rounding does not show."""
    data = ds.Microdata(pa.table({"x": np.arange(100) * 1_000_000}), numeric=["x"])
    found = forged(data, ds.BlankValues(noise={"x": 100_000}), noise={"x": 10**10})
    assert found == {"the stated variance is not that of the noise"}


# ---- figures --------------------------------------------------------------------------------------------------------


def test_mean_squares_that_chance_all_but_excludes():
    """Of so many draws with a mean square of 3: the chance is exp(-n / 2 * (2 - log 3)) at most."""
    assert _impossible(np.full(100, np.sqrt(3)), 0.0)
    assert not _impossible(np.full(99, np.sqrt(3)), 0.0)
    assert _impossible(np.zeros(3), 0.0)
    assert not _impossible(np.zeros(0), 0.0)


def test_numbers_of_empty_records_that_chance_all_but_excludes():
    """Of 200 records that stay with a chance of 0.75, 50 are emptied on average, and 118 all but never."""
    found: list[str] = []
    step: Any = SimpleNamespace(refuse=found.append)
    for many in (118, 117):
        _check_numbers(step, np.arange(200) < many, np.full(200, 0.75))
    assert found == ["all but certainly other records are empty than the stated chances give"]


def test_limits_are_rounded_by_the_power_of_ten_of_the_jitter():
    assert _limit([12_345], 0.5, 1_000.0, 0) == 12_300
    assert _limit([12_345], 0.5, nextafter(1_000.0, 0), 0) == 12_350
    assert _limit([12_345], 0.5, 1_000.0, 1) == 12_000
    assert _limit([9 * 10**18], 0.5, 1e25, 0) == 9 * 10**18
