"""More forged releases of draws from regressions, and true ones at the edge: what only one check can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.ipso import ipso_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import check_records
from tests.verify.records.test_forged_ipso import IpsoForgery, refused, without_key

KEY = ds.Key(bytes(32))


def replaced(table: dict[str, Any], method: ds.Ipso, **about: Any) -> RecordCustodian:
    return ds.protect(ds.Microdata(pa.table(table), **about), method, key=KEY).custodian


def messages(
    custodian: RecordCustodian,
    method: dict[str, Any] | None = None,
    facts: dict[str, Any] | None = None,
    changed: dict[str, Any] | None = None,
    old: dict[str, Any] | None = None,
) -> set[str]:
    """What is refused of a release of which a part is rewritten; other values are those of somebody without the key."""
    step, original = custodian.steps[0], custodian.original
    plain, stated = {**step.evidence.method, **(method or {})}, {**step.evidence.facts, **(facts or {})}
    evidence = replace(step.evidence, method=plain, facts=stated, claim=ipso_claim(plain, stated))
    table = step.changed if changed is None else pa.table(changed)
    columns = original.columns
    for name, values in (old or {}).items():
        columns = columns.set_column(columns.column_names.index(name), name, pa.array(values))
    key = custodian.key if changed is None and old is None else None
    lie = replace(
        custodian,
        key=key,
        original=replace(original, columns=columns),
        steps=(replace(step, evidence=evidence, changed=table),),
    )
    return {refusal.message for refusal in check_records(lie, lie.public()).refused}


def small(rows: int = 90) -> dict[str, Any]:
    """Small whole numbers, about as large as what the regression leaves open."""
    draw = np.random.default_rng(8)
    z = draw.integers(0, 5, rows)
    return {"y": draw.integers(0, 5, rows), "bit": draw.integers(0, 2, rows), "z": z, "area": ["n", "s"] * (rows // 2)}


# ---- true releases at the edge ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ds.Ipso(["bit"], given=["z"]), ds.Ipso(["bit", "y"], given=["z"], decimals=3)])
def test_residuals_smaller_than_the_unit(method):
    assert not messages(replaced(small(), method, numeric=["y", "bit", "z"]))


def test_given_columns_that_say_nothing():
    table = {**small(), "same": [4] * 90}
    assert not messages(replaced(table, ds.Ipso(["y"], given=["z", "same"]), numeric=["y", "z", "same"]))


def test_large_given_numbers_with_gaps():
    """Beside a gap that stands as 0, numbers that differ in their last digits only would all be the same."""
    z = small()["z"]
    late = [None if i % 9 == 0 else 4 * 10**12 + int(v) for i, v in enumerate(z)]
    y = [int(3 * v + noise) for v, noise in zip(z, np.random.default_rng(2).integers(0, 4, 90), strict=True)]
    custodian = replaced({"y": y, "late": late}, ds.Ipso(["y"], given=["late"]), numeric=["y", "late"])
    assert custodian.steps[0].evidence.facts["explained"][0] > 0.5
    assert not messages(custodian)


def test_large_numbers_that_lose_a_decimal():
    draw = np.random.default_rng(5)
    x = 8e13 + draw.integers(0, 900, 90) / 10
    custodian = replaced({"x": x, "z": small()["z"]}, ds.Ipso(["x"], given=["z"], decimals=0), numeric=["x", "z"])
    assert custodian.steps[0].evidence.facts["decimals"] == [0]
    assert not messages(custodian)


def test_values_cut_at_zero_and_those_that_are_zero():
    custodian = replaced(small(), ds.Ipso(["y"], nonnegative=True), numeric=["y"])
    assert 0 < custodian.steps[0].evidence.facts["cut"][0] < custodian.steps[0].changed["y"].to_pylist().count(0)
    assert not messages(custodian)


@pytest.mark.parametrize(
    ("codes", "nonnegative", "never"),
    [(["0", "1"], True, {0, 1, -1}), (["0", "1"], False, {0, 1}), (["1", "2"], True, {1, 2})],
)
def test_codes_for_unknown_beside_zero(codes, nonnegative, never):
    """The nearest number that is no code, and is not below zero where none is to be."""
    y = np.random.default_rng(8).choice([2, 2, 3, 9] if "0" in codes else [0, 0, 3, 9], 90)
    method = ds.Ipso(["y"], nonnegative=nonnegative)
    custodian = replaced({"y": y}, method, numeric=["y"], missing_codes={"y": codes})
    assert custodian.steps[0].evidence.facts["codes"][0] > 0
    assert never.isdisjoint(custodian.steps[0].changed["y"].to_pylist())
    assert not messages(custodian)


# ---- several regressions ---------------------------------------------------------------------------------------------


@cache
def strata() -> RecordCustodian:
    """In the first stratum y follows x, and rounding does more to both than in the second."""
    draw = np.random.default_rng(4)
    first = draw.integers(0, 6, 40)
    x, y = (np.concatenate([one, draw.integers(0, 5000, 40)]) for one in (first, 2 * first))
    table = {"x": x, "y": y, "area": ["n"] * 40 + ["s"] * 40}
    return replaced(table, ds.Ipso(["x", "y"]), numeric=["x", "y"], strata=["area"])


def test_the_most_that_one_of_several_regressions_says():
    custodian = strata()
    facts = custodian.steps[0].evidence.facts
    assert (facts["fixed"], facts["moments"]) == (1, True)
    assert facts["off"][0] > 0.01
    assert not messages(custodian)
    found = {"combinations of columns are fixed more, or less, than stated"}
    assert messages(custodian, facts={"fixed": 0}) == found


def test_a_stratum_whose_values_are_all_equal_and_stay():
    table = small()
    custodian = replaced(table, ds.Ipso(["y"]), numeric=["y"], strata=["area"])
    far = np.array(table["area"]) == "n"
    new = custodian.steps[0].changed["y"].to_numpy().copy()
    old = table["y"].copy()
    old[far] = new[far] = 2
    other = np.flatnonzero(~far)
    scale = old[other].std()
    moved = abs(new[other].mean() - old[other].mean()) / scale
    apart = abs(new[other].var() - old[other].var()) / scale**2
    facts = {"kept": [int((old == new).sum())], "least": 0.0, "fixed": 1, "off": [moved, apart]}
    found = messages(custodian, facts=facts, changed={"y": new}, old={"y": old})
    assert "given columns leave nothing open, so that values are nearly as they were" in found


# ---- forged ----------------------------------------------------------------------------------------------------------


def test_whether_draws_came_from_a_seed():
    unsaid = "it is not said whether draws came from a seed, or wrongly"
    refused(lambda f: setattr(f, "key", ds.Key(bytes(32), insecure=True)), unsaid)
    refused(lambda f: (without_key(f), f.facts.update(insecure=0)), unsaid)


def test_columns_of_other_things_than_numbers():
    table = {**small(), "yes": [True, False, False] * 30}
    custodian = replaced(table, ds.Ipso(["y"]), numeric=["y"])
    found = messages(
        custodian,
        method={"columns": ["yes"]},
        facts={"columns": ["yes"]},
        changed={"yes": [0.0, 1.0, 0.0] * 30},
    )
    assert found == {"a column is not one of numbers, or not of the stated kind"}


def test_a_code_for_unknown_that_becomes_a_gap():
    y = [7 if i % 9 == 0 else int(v) + 20 for i, v in enumerate(small()["y"])]
    custodian = replaced({"y": y}, ds.Ipso(["y"]), numeric=["y"], missing_codes={"y": ["7"]})
    new = custodian.steps[0].changed["y"].to_pylist()
    assert not messages(custodian, changed={"y": new})
    assert messages(custodian, changed={"y": [None, *new[1:]]}) == {"an empty field changed, or a value became empty"}


def test_numbers_before_that_no_unit_writes():
    x = np.random.default_rng(5).integers(0, 900, 90) / 10
    custodian = replaced({"x": x}, ds.Ipso(["x"], decimals=1), numeric=["x"])
    assert messages(custodian, old={"x": [1 / 3, *x[1:]]}) == {
        "the decimals of a column are not those that it had, or that the method says"
    }


def test_numbers_that_are_not_counted():
    forgery = IpsoForgery("c")
    as_floats = [float(number) for number in forgery.facts["kept"]]
    refused(lambda f: f.facts.update(kept=as_floats), "what was kept, cut or moved aside is not counted")


def test_more_values_as_before_than_stated():
    def forge(f: IpsoForgery) -> None:
        without_key(f)
        f.changed["y"][0] = f.old["y"][0].as_py()
        f.state()
        f.facts["kept"][1] -= 1

    refused(forge, "another number of values is as before than stated", "a")


def test_a_number_one_unit_below_zero():
    def published(f: IpsoForgery) -> None:
        without_key(f)
        row = next(row for row, value in enumerate(f.changed["x"]) if value > 0)
        f.changed["x"][row] = -0.1
        f.state()

    below = "a column has values below zero, and shall have none"
    refused(published, below, "cut")
    table = {"x": [-1, *range(100, 189)]}
    custodian = replaced(table, ds.Ipso(["x"]), numeric=["x"])
    assert min(custodian.steps[0].changed["x"].to_pylist()) > 0
    assert messages(custodian, method={"nonnegative": True}) == {below}


def test_one_value_more_cut_than_there_are_zeros():
    def forge(f: IpsoForgery) -> None:
        without_key(f)
        f.facts["cut"] = [f.changed["x"].count(0.0) + 1]

    refused(forge, "more values are said to be cut at zero than can be", "cut")


def test_one_column_of_two_that_stays():
    draw = np.random.default_rng(1)
    z = draw.integers(0, 500, 60)
    table = {"x": 2 * z + draw.integers(0, 2, 60), "y": draw.integers(0, 900, 60), "z": z}
    custodian = replaced(table, ds.Ipso(["x", "y"]), numeric=["x", "y", "z"])
    found = messages(custodian, method={"given": ["z"]}, changed=columns_of(custodian))
    assert "given columns leave nothing open, so that values are nearly as they were" in found


def columns_of(custodian: RecordCustodian) -> dict[str, Any]:
    changed = custodian.steps[0].changed
    return {name: changed[name] for name in changed.column_names}


def test_coefficients_that_moved_by_one_unit():
    def forge(f: IpsoForgery) -> None:
        without_key(f)
        f.changed["y"] = [value + 1 for value in f.changed["y"]]
        f.state()

    refused(forge, "coefficients are not those of before", "b")


def test_residuals_of_small_numbers_that_are_larger():
    custodian = replaced(small(), ds.Ipso(["y"], decimals=3), numeric=["y"])
    old, new = custodian.original.columns["y"].to_numpy(), custodian.steps[0].changed["y"].to_numpy()
    wider = np.round(old.mean() + 1.1 * (new - new.mean()), 3)
    moved = abs(wider.mean() - old.mean()) / old.std()
    facts = {"off": [moved, abs(wider.var() - old.var()) / old.var()], "kept": [int((wider == old).sum())]}
    assert messages(custodian, facts=facts, changed={"y": wider}) == {
        "covariances of residuals are not what they should be"
    }


def scaled_residuals(size: float) -> Sequence[str]:
    """What is refused where the residuals of y, by their usual size, are so long in all."""
    forgery = IpsoForgery("a")
    without_key(forgery)
    z = np.column_stack([np.ones(80), forgery.old["z"].to_numpy()])
    old, new = forgery.old["y"].to_numpy().astype(float), np.array(forgery.changed["y"], float)
    says = z @ np.linalg.lstsq(z, old, rcond=None)[0]
    usual = np.sqrt(((old - says) ** 2).mean())
    moved = new - says
    forgery.changed["y"] = np.rint(says + moved * size * usual / np.sqrt((moved**2).sum())).astype(int).tolist()
    forgery.state()
    return [refusal.message for refusal in forgery.verdict().refused]


@pytest.mark.parametrize("side", [-1, 1])
def test_residuals_just_beyond_chance(side):
    from scipy.stats import chi2

    ends = {-1: chi2.ppf(1e-20, 80), 1: chi2.isf(1e-20, 80)}
    end = float(np.sqrt(ends[side]))
    assert scaled_residuals(end + side * 0.6) == ["residuals are larger or smaller than chance lets them be"]
    assert scaled_residuals(end - side * 0.4) == []


def test_what_is_off_is_stated_for_both():
    refused(lambda f: f.facts.update(off=[0.5, f.facts["off"][1]]), "the regression changed otherwise than stated")
    refused(lambda f: f.facts.update(off=[f.facts["off"][0], 0.5]), "the regression changed otherwise than stated")


def test_one_value_more_moved_away_from_codes():
    def forge(f: IpsoForgery) -> None:
        f.facts.update(codes=[f.facts["codes"][0] + 1], moments=False)

    refused(forge, "another number of values was cut or moved aside than stated", "alone")
