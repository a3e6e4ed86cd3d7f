"""Masked residuals and rules on linkage that say what is not so, at the edge of what the checker counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.engine.record_set import read_record_set, with_identity
from discreet.model.claims.base import Claim
from discreet.model.claims.residual import residual_claim
from discreet.model.custodian import RecordCustodian
from discreet.model.evidence import Evidence
from discreet.verify import check_records
from discreet.verify.records import residual
from discreet.verify.records.keyed_draws import identity_of
from discreet.verify.records.linked import check_linked, right_share
from discreet.verify.verdict import Verdict
from tests.records.test_mask_residual import FIRST, StageForgery, drop, firms, refused

KEY = ds.Key(bytes(32))


# ---- what is stated -------------------------------------------------------------------------------------------------


def test_draws_of_a_seed():
    """Noise of the second stage is drawn by nobody else who would say so."""

    def seed(f: StageForgery) -> None:
        f.custodian = replace(f.custodian, key=ds.Key(bytes(32), insecure=True))

    for forge in (seed, lambda f: f.facts.update(insecure=True)):
        refused(forge, "it is not said whether draws came from a seed, or wrongly", "local")


def test_stages_that_draw_and_stages_that_do_not():
    for first, second in ((ds.RankSwap(["x", "y"], 0.2), ds.Microaggregate(k=3)), (FIRST, ds.Microaggregate(k=3))):
        method = ds.MaskResidual(first, second, "reflect", most_linked=1)
        release = ds.protect(firms(60), method, key=KEY if first is not FIRST else None)
        assert release.verify().holds
        assert release.custodian.steps[0].evidence.facts["drawn"] == (first is not FIRST)


def test_columns_that_are_not_there_or_hold_no_values():
    def none(f: StageForgery) -> None:
        f.facts["columns"], f.changed = [], {}

    def weight(f: StageForgery) -> None:
        original = f.custodian.original
        info = {**original.info, "y": replace(original.about("y"), role="weight")}
        f.custodian = replace(f.custodian, original=replace(original, info=info))

    for forge in (none, weight, lambda f: drop(f.changed, "y")):
        refused(forge, "other columns changed than the stated ones")


@pytest.mark.parametrize(
    "facts",
    [
        {"first_decimals": [6.0, 6.0]},
        {"first_decimals": [19, 19]},
        {"first_decimals": [-1, -1]},
        {"first_whole": [True, True]},
    ],
)
def test_decimals_that_are_none(facts):
    refused(lambda f: f.facts.update(facts), "what is stated of the method cannot be used (ValueError)")


def test_a_stage_that_nobody_knows():
    def forge(f: StageForgery) -> None:
        f.method["first"] = {**f.method["first"], "method": "nobody"}
        f.facts["first"] = {**f.facts["first"], "method": {**f.facts["first"]["method"], "method": "nobody"}}

    refused(forge, "the first stage is not the one that the method names")


def test_a_column_without_an_exact_unit():
    def forge(f: StageForgery) -> None:
        original = f.custodian.original
        values = pa.array([1 / 3, *original.columns["x"].to_pylist()[1:]])
        f.custodian = replace(
            f.custodian, original=replace(original, columns=original.columns.set_column(0, "x", values))
        )

    refused(forge, "a column is not one of numbers")


@pytest.mark.parametrize("decimals", [2, 7])
def test_residuals_of_other_decimals(decimals):
    refused(lambda f: f.facts.update(residual_decimals=[decimals] * 2), "the residuals have other decimals than stated")


# ---- sums -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [1, -1])
def test_one_value_more_or_fewer_became_zero(more):
    def forge(f: StageForgery) -> None:
        f.facts["clipped"] = [f.facts["clipped"][0] + more, *f.facts["clipped"][1:]]

    refused(forge, "another number of values became zero than stated", "gaussian")


@pytest.mark.parametrize("side", [1, -1])
def test_one_value_that_is_not_the_sum(side):
    def forge(f: StageForgery) -> None:
        unit = 10.0 ** -f.facts["decimals"][0]
        f.changed["x"][5] = round(f.changed["x"][5] + side * unit, f.facts["decimals"][0])

    refused(forge, "the published numbers are not the sums of both stages")


@cache
def with_gaps() -> ds.Release[RecordCustodian]:
    numbers = np.random.default_rng(2).permutation(30)
    table = pa.table(
        {
            "x": [None if i % 7 == 1 else int(number) for i, number in enumerate(numbers)],
            "y": [-9 if i % 7 == 2 else int(number) for i, number in enumerate(numbers[::-1])],
        }
    )
    data = ds.Microdata(table, numeric=["x", "y"], missing_codes={"y": ["-9"]})
    first = ds.Microaggregate(["x", "y"], 4, "sum", missing="apart")
    return ds.protect(data, ds.MaskResidual(first, ds.RankSwap(share=1), "reflect", most_linked=1), key=KEY)


@pytest.mark.parametrize(("name", "row", "value"), [("x", 1, 5.0), ("y", 2, 5.0), ("x", 0, None), ("y", 0, -9.0)])
def test_empty_fields_that_changed_and_values_that_became_empty(name, row, value):
    custodian = with_gaps().custodian
    step = custodian.steps[0]
    changed = {n: step.changed[n].to_pylist() for n in ("x", "y")}
    changed[name][row] = value
    columns = pa.table({n: pa.array(values, step.changed[n].type) for n, values in changed.items()})
    lie = replace(custodian, steps=(replace(step, changed=columns),))
    assert check_records(custodian, custodian.public()).holds
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert "an empty field changed, or a value became empty" in messages


# ---- risks and noise ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("near", "many"), [(61, True), (60, False)])
def test_more_than_half_of_the_records_lie_where_they_were(monkeypatch, near, many):
    custodian = ds.protect(firms(121), ds.MaskResidual(FIRST, "local", most_linked=0.4), key=KEY).custodian
    step = custodian.steps[0]
    monkeypatch.setattr(residual, "right_share", lambda *given: (0.1, near))
    facts = {**step.evidence.facts, "linked": 0.1, "recreated": near}
    evidence = replace(step.evidence, facts=facts, claim=residual_claim(step.evidence.method, facts))
    lie = replace(custodian, steps=(replace(step, evidence=evidence),))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert messages == ({"61 records of 121 lie where they were"} if many else set())


def test_cells_of_noise_that_go_beyond_strata():
    table = firms(60).source.append_column("area", pa.array(["n", "s"] * 30))
    data = ds.Microdata(table, numeric=["x", "y"], strata=["area"])
    custodian = ds.protect(data, ds.MaskResidual(FIRST, "local", partitions=2, most_linked=1), key=KEY).custodian
    step = custodian.steps[0]
    rows = dict(step.evidence.parts["records"])
    assert check_records(custodian, custodian.public()).holds
    evidence = replace(step.evidence, parts={"records": {**rows, "cell": np.asarray(rows["cell"]) * 0}})
    lie = replace(custodian, steps=(replace(step, evidence=evidence),))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert messages == {"the cells of the noise are not stated, or go beyond strata"}


# ---- linkage --------------------------------------------------------------------------------------------------------


def records(**columns: list[float]) -> Any:
    return with_identity(read_record_set(ds.Microdata(pa.table(columns), numeric=[*columns])))


def share_by_hand(old: list[list[float]], new: list[list[float]], rows: list[int]) -> float:
    """By columns that vary, in deviations of the original; those that are equally near share the guess."""
    both = np.array(old).T, np.array(new).T
    vary = both[0].std(axis=0) > 0
    one, other = ((some - both[0].mean(axis=0))[:, vary] / both[0].std(axis=0)[vary] for some in both)
    found = []
    for row in rows:
        apart = ((one - other[row]) ** 2).sum(axis=1)
        nearest = np.flatnonzero(apart <= apart.min() + 1e-9)
        found.append(1 / len(nearest) if row in nearest else 0.0)
    return float(np.mean(found))


def after(**columns: list[float]) -> dict[str, pa.ChunkedArray]:
    return {name: pa.chunked_array([values]) for name, values in columns.items()}


def test_columns_of_the_rule_must_be_there():
    original = records(x=[1.0, 2.0, 3.0], y=[3.0, 1.0, 2.0])
    asked: list[tuple[list[str], Callable[[dict], dict]]] = [
        ([], dict),
        (["x", "z"], dict),
        (["x", "y"], lambda shown: {"x": shown["x"]}),
        (["x", "z"], lambda shown: {**shown, "z": shown["x"]}),
    ]
    for names, change in asked:
        verdict = Verdict()
        rule = {"kind": "max_linked", "columns": names, "share": 1.0, "sample": 9}
        check_linked(verdict, original, change(dict(after(x=[1.0, 2.0, 3.0], y=[3.0, 1.0, 2.0]))), rule)
        assert [refusal.message for refusal in verdict.refused] == [
            "a rule on linkage names columns that are not there"
        ], names


def test_shares_of_right_guesses_by_hand():
    draw = np.random.default_rng(3)
    for _ in range(20):
        x, y = (draw.random(9) * 0.2).tolist(), draw.integers(0, 50, 9).astype(float).tolist()
        new_x, new_y = (np.array(x) + draw.normal(0, 0.05, 9)).tolist(), draw.permutation(y).tolist()
        old = {"x": x, "y": y, "same": [4.0] * 9}
        new = after(x=new_x, y=new_y, same=draw.normal(4, 1, 9).tolist())
        original = records(**old)
        share, near = right_share(original, after(**old), new, ["x", "y", "same"], 9)
        assert share == pytest.approx(share_by_hand([x, y], [new_x, new_y], [*range(9)]))
        assert near == 0
        tried = np.argsort(identity_of(original))[:8].tolist()
        share, _ = right_share(original, after(**old), new, ["x", "y"], 8)
        assert share == pytest.approx(share_by_hand([x, y], [new_x, new_y], tried))


def test_records_that_stay_are_near_only_where_that_is_asked():
    values = after(x=[1.0, 2.0, 3.0])
    original = records(x=[1.0, 2.0, 3.0])
    assert right_share(original, values, values, ["x"], 9) == (1.0, 0)
    assert right_share(original, values, values, ["x"], 9, near=0.01) == (1.0, 3)


def test_nothing_is_told_by_columns_that_do_not_vary():
    values = after(x=[2.0, 2.0, 2.0, 2.0])
    assert right_share(records(x=[2.0] * 4), values, values, ["x"], 9) == (0.25, 0)


STAGE = {"method": {"method": "rank_swap"}, "facts": {"columns": ["x"]}}


@pytest.mark.parametrize(
    ("method", "facts", "stages"),
    [
        ("mask_residual", {"first": STAGE}, 1),
        ("mask_residual", {"first": {"method": {"method": "mask_residual"}, "facts": {"first": STAGE}}}, 2),
        ("mask_residual", {}, 0),
        ("mask_residual", {"first": ["rank_swap"]}, 0),
        ("mask_residual", {"first": {**STAGE, "method": "rank_swap"}}, 0),
        ("mask_residual", {"first": {**STAGE, "facts": ["x"]}}, 0),
        ("recode", {"first": STAGE}, 0),
    ],
)
def test_first_stages_count_like_steps_where_they_are_stated(method, facts, stages):
    """Whatever else stands there is refused elsewhere; looking for stages must not stop at it."""
    evidence = Evidence({"method": method}, Claim(method, "", (), ()), facts=facts)
    found = residual.with_first_stages(evidence)
    assert found[0] is evidence
    assert len(found) == 1 + stages
    assert all(one.method["method"] in ("mask_residual", "rank_swap") for one in found[1:])
