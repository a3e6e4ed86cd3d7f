"""Added noise at the edge: one unit too far, one value too few, codes near zero, and distances that are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import discreet as ds
from discreet.model.custodian import RecordCustodian
from discreet.verify import check_records
from discreet.verify.records import added_moves, added_noise
from discreet.verify.records.outlying_records import outlyingness
from tests.verify.records.test_forged_noise import ROWS, NoiseForgery, refused, release

NORTH = np.arange(0, ROWS, 2)
KEY = ds.Key(bytes(32))


def was(f: NoiseForgery, column: str, row: int, value: Any) -> None:
    """Let a field have held something else before, and state what follows."""
    values = f.old[column].to_pylist()
    values[row] = value
    rewrite(f, column, pa.array(values, f.old[column].type))
    f.tell(column)


def rewrite(f: NoiseForgery, column: str, values: pa.Array) -> None:
    """Let the original have another column."""
    original = f.custodian.original
    table = original.columns.set_column(original.columns.column_names.index(column), column, values)
    f.custodian = replace(f.custodian, original=replace(original, columns=table))
    f.old = table


# ---- counts and effects ---------------------------------------------------------------------------------------------


def test_fewer_values_stayed_than_stated_and_the_other_way_round():
    for more in (1, -1):
        refused(
            lambda f, more=more: f.facts["kept"].__setitem__(0, f.facts["kept"][0] + more),
            "another number of values stayed than stated",
            "outliers",
        )


def test_one_unit_below_zero():
    def after(f: NoiseForgery) -> None:
        f.unlock()
        f.put("x", next(i for i, value in enumerate(f.changed["x"]) if value > 50), -0.01)

    def before(f: NoiseForgery) -> None:
        f.unlock()
        was(f, "x", next(i for i, value in enumerate(f.changed["x"]) if value > 50), -0.01)

    for forge in (after, before):
        refused(forge, "a column has values below zero, and shall have none", "floor")


def test_a_zero_that_fell_below_zero():
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        f.method["nonnegative"] = False
        f.facts["cut"] = [0, 0]
        f.put("y", 0, -5)

    refused(forge, "a zero did not stay zero", "floor")


def test_effects_on_a_column_with_gaps():
    refused(
        lambda f: f.facts["shifts"].__setitem__(1, 0.5),
        "the mean or the variance changed otherwise than stated",
        "gaps",
    )


def test_noise_after_another_method_of_the_same_version():
    data = ds.Microdata(pa.table({"x": np.random.default_rng(1).permutation(60)}), numeric=["x"])
    steps = [ds.RankSwap(["x"], share=0.2), ds.AddNoise(["x"], 0.2)]
    assert ds.protect(data, steps, key=KEY).verify().holds


# ---- columns --------------------------------------------------------------------------------------------------------


def test_a_column_of_texts():
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        rewrite(f, "x", pa.array([str(value) for value in f.old["x"].to_pylist()]))

    refused(forge, "a column is not one of numbers, or not of the stated kind")


def test_a_number_with_more_decimals_than_any_column_may_have():
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        was(f, "x", 4, float(np.pi))

    refused(forge, "the decimals of a column are not those that it had, or that the method says", "coarse")


@cache
def coded(floor: bool) -> ds.Release[RecordCustodian]:
    """Numbers around zero, many of which land on codes for "unknown"."""
    draw = np.random.default_rng(3)
    low, codes = (0, ["1", "2"]) if floor else (-6, ["-4", "-3"])
    values = draw.integers(low, low + 12, 200)
    table = pa.table({"n": [1 if i < 3 else int(v) for i, v in enumerate(values)] if floor else values})
    data = ds.Microdata(table, numeric=["n"], missing_codes={"n": codes})
    return ds.protect(data, ds.AddNoise(["n"], 0.5, nonnegative=floor), key=KEY)


@pytest.mark.parametrize("floor", [True, False])
def test_values_that_get_out_of_the_way_of_codes_near_zero(floor):
    custodian = coded(floor).custodian
    assert custodian.steps[0].evidence.facts["codes"][0] > 3
    assert check_records(custodian, custodian.public()).holds


def test_a_code_that_became_a_gap():
    custodian = coded(True).custodian
    step = custodian.steps[0]
    changed = pa.table({"n": pa.array([None, *step.changed["n"].to_pylist()[1:]], pa.int64())})
    lie = replace(custodian, key=None, steps=(replace(step, changed=changed),))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert messages == {"an empty field changed, or a value became empty"}


# ---- what can be seen without the key -------------------------------------------------------------------------------


@pytest.mark.parametrize("spoilt", [0, 3, None])
def test_records_of_which_nobody_can_say_how_far_out_they_lie(monkeypatch, spoilt):
    """No distances at all, none of them, or some of them no number."""

    def none(values: Any, flag: str, beyond: float) -> Any:
        found = outlyingness(values, flag, beyond)
        assert found is not None
        found[spoilt:] = np.nan
        return None if spoilt is None else found

    refused(
        lambda f: monkeypatch.setattr(added_noise, "outlyingness", none),
        "it cannot be said which records lie far out",
        "outliers",
    )


@pytest.mark.parametrize(("apart", "kept"), [("0.50", False), ("-0.50", True)])
def test_of_two_sums_that_are_equally_near_the_upper_one_is_right(apart, kept):
    forgery = NoiseForgery("coarse")
    forgery.unlock()
    old, new = (np.array(some)[NORTH] for some in (forgery.old["x"].to_pylist(), forgery.changed["x"]))
    row = int(NORTH[np.argmax(old)])
    missing = round(new.sum() - old.sum(), 2) + float(apart)
    was(forgery, "x", row, round(forgery.old["x"][row].as_py() + missing, 2))
    messages = {refusal.message for refusal in forgery.verdict().refused}
    assert messages == (set() if kept else {"a sum is not kept"})


@pytest.mark.parametrize("larger", [True, False])
def test_noise_that_is_hardly_larger_or_smaller_than_chance_lets_it_be(larger):
    """Half a standard deviation beyond the bound, in one stratum."""

    def forge(f: NoiseForgery) -> None:
        f.unlock()
        old, new = (np.array(some)[NORTH] for some in (f.old["x"].to_pylist(), f.changed["x"]))
        size = old.std(ddof=1) * np.sqrt(0.2)
        total = float(np.sqrt((((new - old) / size) ** 2).sum()))
        bound = np.sqrt(chi2.isf(1e-20, 60) if larger else chi2.ppf(1e-20, 60))
        wanted = bound + (0.5 if larger else -0.5)
        for row, value in zip(NORTH, np.round(old + (new - old) * wanted / total, 2), strict=True):
            f.changed["x"][row] = float(value)
        f.tell("x")

    refused(forge, "noise is larger or smaller than chance lets it be", "independent")


def test_proportional_noise_of_another_size_beside_zeros():
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        old = f.old["y"].to_numpy()
        moved = old + 3 * (np.array(f.changed["y"]) - old)
        f.changed["y"] = np.where(np.isin(moved, [1500, 1505, 1510]), 1515, moved).tolist()  # no codes
        f.tell("y")

    refused(forge, "noise is larger or smaller than chance lets it be", "proportional")


def test_proportional_noise_of_another_size_on_the_smallest_values():
    data = ds.Microdata(pa.table({"n": [1, -1] * 30}), numeric=["n"])
    custodian = ds.protect(data, ds.AddNoise(["n"], 0.2, "proportional", decimals=2), key=KEY).custodian
    step = custodian.steps[0]
    old, new = data.source["n"].to_numpy(), step.changed["n"].to_numpy()
    moved = np.round(old + 4 * (new - old), 2)
    facts = {
        **step.evidence.facts,
        "kept": [int((moved == old).sum())],
        "shifts": [float(moved.mean() - old.mean())],
        "ratios": [float(moved.var() / old.var())],
    }
    changed = pa.table({"n": moved})
    lie = replace(
        custodian, key=None, steps=(replace(step, evidence=replace(step.evidence, facts=facts), changed=changed),)
    )
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert "noise is larger or smaller than chance lets it be" in messages


@pytest.mark.parametrize(("end", "unit"), [(np.argmax, 0.01), (np.argmin, -0.01)])
def test_a_value_one_unit_outside_the_place_of_its_rank(end, unit):
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        old, new = (np.array(some)[NORTH] for some in (f.old["x"].to_pylist(), f.changed["x"]))
        f.put("x", int(NORTH[end(new)]), round(float(old[end(old)]) + unit, 2))

    refused(forge, "a value does not lie in the place of its rank", "latin_hypercube")


# ---- what the key draws ---------------------------------------------------------------------------------------------


def moves_of_a_part(monkeypatch: pytest.MonkeyPatch) -> Callable[[], added_moves.MoveRange]:
    """Draws the moves of one part of a release again."""
    asked: list[Any] = []

    def asking(*given: Any) -> added_moves.MoveRange:
        asked.append(given)
        return added_moves.drawn_moves(*given)

    monkeypatch.setattr(added_noise, "drawn_moves", asking)
    custodian = release("latin_hypercube").custodian
    assert check_records(custodian, custodian.public()).holds
    return lambda: added_moves.drawn_moves(*asked[0])


def test_ranks_of_scores_that_are_nearly_the_same_may_be_exchanged(monkeypatch):
    again = moves_of_a_part(monkeypatch)
    once = again()
    assert np.array_equal(once.low, once.high)
    monkeypatch.setattr(added_moves, "EDGE", 0.99)  # now all are nearly the same
    both = again()
    assert np.all(both.low <= once.low)
    assert np.all(both.high >= once.high)
    apart = both.high[:, 0] - both.low[:, 0]
    assert np.all(apart > 0)


# ---- how far records lie out ----------------------------------------------------------------------------------------


def test_a_column_that_hardly_varies_says_of_nobody_how_far_out_it_lies():
    draw = np.random.default_rng(1)
    values = np.stack([draw.normal(size=30), np.where(np.arange(30) < 20, 5.0, draw.normal(size=30))], axis=1)
    assert outlyingness(values, "distance", 0.9) is None
    assert outlyingness(values, "limits", 0.9) is None


def test_a_record_in_the_middle_of_all_has_no_influence():
    for rows in range(5, 60, 2):
        values = np.stack([np.arange(rows) ** 1.5, np.cos(np.arange(rows))], axis=1)
        values = np.concatenate([values, -values, np.zeros((1, 2))])
        far = outlyingness(values, "influence", 0.9)
        assert far is not None
        assert far[-1] == pytest.approx(0, abs=1e-6)


def test_a_column_with_a_zero_is_judged_as_it_is():
    values = np.array([0.0, 1, 2, 3, 4, 5, 30])
    far = outlyingness(values[:, None], "limits", 0.95)
    assert far is not None
    assert far.tolist() == pytest.approx((np.abs(values - 3) / (1.4826 * 2) / 1.959964).tolist(), rel=1e-6)
