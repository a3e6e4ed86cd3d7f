"""Values drawn anew, by the checker's own models: against least squares, medians and normal chances by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nextafter
from statistics import mean, median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.model.claims.base import Claim
from discreet.model.claims.redrawing import redrawn_claim
from discreet.model.evidence import Evidence
from discreet.verify import check_records
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.keyed_draws import drawn_fractions, identity_of
from discreet.verify.records.redrawn import _scores
from discreet.verify.records.redrawn_values import (
    LEAST_SPREAD,
    Expected,
    FoundDraws,
    MoneyModel,
    _between,
    _next,
    check_values,
    log_scale,
    roundness,
)
from discreet.verify.verdict import Verdict
from tests.verify.records.test_forged_redraws import RedrawForgery, as_round, refused


def step_of(table: pa.Table, predictors: Sequence[str] = (), keep: Sequence[float] = ()) -> CheckedStep:
    """A step that found these columns."""
    original = read_record_set(ds.Microdata(table, strata=["area"] if "area" in table.column_names else []))
    before = {name: original.columns[name] for name in table.column_names}
    method = {"method": "redraw", "predictors": list(predictors), "keep": list(keep)}
    return CheckedStep(Verdict(), original, before, {}, Evidence(method, Claim("redraw", "Nothing."), facts={}))


# ---- which records --------------------------------------------------------------------------------------------------


def score_by_hand(columns: list[list[float | None]]) -> list[float]:
    found = [0.0] * len(columns[0])
    for values in columns:
        known = [value for value in values if value is not None]
        if known:
            middle = median(known)
            apart = [abs(value - middle) for value in known]
            usual = median(apart) or mean(apart)
            found = [max(s, 0.0 if v is None else abs(v - middle) / usual) for s, v in zip(found, values, strict=True)]
    return found


@pytest.mark.parametrize(
    "columns",
    [
        [[1.0, 5.0, 9.0, 40.0, -70.0]],
        [[1.0, None, 9.0, 40.0, -70.0]],
        [[1.0, 1.2, 0.9, 1.6, 0.1]],  # the median distance is below 1
        [[3.0, 3.0, 3.0, 3.0, 8.0]],  # it is zero
        [[9.0, 1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 90.0]],
        [[9.0, 1.0, 2.0, 3.0, 4.0], [None] * 5],
    ],
)
def test_how_unusual_records_are(columns):
    table = pa.table({f"c{i}": pa.array(values, pa.float64()) for i, values in enumerate(columns)})
    found = _scores(step_of(table), table.column_names)
    assert found.tolist() == pytest.approx(score_by_hand(columns))


def test_a_record_that_is_a_little_more_unusual():
    data = ds.Microdata(pa.table({"x": [1001 + 14 * i for i in range(100)]}), numeric=["x"])
    custodian = ds.protect(data, ds.Redraw(unusual=4), key=ds.Key(bytes(32))).custodian
    step = custodian.steps[0]
    why, old, new = (
        [*values]
        for values in (
            step.evidence.parts["records"]["chosen"],
            data.source["x"].to_pylist(),
            step.changed["x"].to_pylist(),
        )
    )
    far = [abs(value - median(old)) for value in old]
    last = min((row for row in range(100) if why[row]), key=far.__getitem__)
    follower = max((row for row in range(100) if not why[row]), key=lambda row: (far[row], row))
    assert far[follower] < far[last]
    why[last], why[follower], new[last] = 0, 1, old[last]
    new[follower] = next(value for value in range(old[follower] + 1, 9999) if as_round(old[follower], value))
    claim = redrawn_claim(step.evidence.method, step.evidence.facts)
    evidence = replace(step.evidence, claim=claim, parts={"records": {"chosen": np.array(why)}})
    lie = replace(custodian, key=None, steps=(replace(step, evidence=evidence, changed=pa.table({"x": new})),))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert messages == {"a record was not chosen that is more unusual than one that was"}


def test_one_unit_beyond_the_bound_that_the_key_draws():
    def forge(f: RedrawForgery) -> None:
        assert f.key is not None
        share = drawn_fractions(identity_of(f.custodian.original), f.key.secret, "redraw/x/bound/1")
        least, most = f.method["least"], f.method["most"]
        for row, old in enumerate(f.old["x"]):
            new = old + int((share[row] * (most - least) + least) * old) + 1
            if f.why[row] and old >= 1000 and new <= old + int(most * old) and as_round(old, new):
                f.changed["x"][row] = new
                return
        raise AssertionError("no such record")

    refused(forge, "a value moved farther than the bound that the key draws")


# ---- models ---------------------------------------------------------------------------------------------------------


def test_signed_logarithms():
    values = np.array([-0.5, -3.0, 0.0, 0.5, 7.0])
    assert log_scale(values).tolist() == pytest.approx([-np.log(1.5), -np.log(4), 0, np.log(1.5), np.log(8)])


def by_least_squares(used: list[int], rows: list[int], target: Any, columns: list[tuple[Any, Any]]) -> Any:
    """What a line with an intercept says of rows, and its standard error; columns as they were, and as they are."""
    design = np.column_stack([np.ones(len(used)), *(old[used] for old, _ in columns)])
    slope, _, rank, _ = np.linalg.lstsq(design, target[used], rcond=1e-6)
    rest, free = target[used] - design @ slope, len(used) - rank
    shown = np.column_stack([np.ones(len(rows)), *(now[rows] for _, now in columns)]) @ slope
    return shown, float(np.sqrt(rest @ rest / free)) if free > 0 else 0.0


ROWS = 24


def money(seed: int = 2) -> tuple[dict[str, Any], dict[str, Any]]:
    draw = np.random.default_rng(seed)
    before = {"x": np.rint(draw.lognormal(7, 1, ROWS)), "y": -np.rint(draw.lognormal(5, 1, ROWS))}
    return before, {name: np.rint(values * 1.1) for name, values in before.items()}


def model_of(predictor: list[float | None], before: Any, after: Any) -> MoneyModel:
    table = pa.table({"p": pa.array(predictor, pa.float64()), **before})
    step = step_of(table, ["p"])
    nobody = np.zeros(ROWS, np.bool_)
    return MoneyModel(step, before, after, {"x": nobody, "y": nobody}, identity_of(step.original))


@pytest.mark.parametrize("gaps", [False, True])
def test_a_model_is_a_line_by_least_squares(gaps):
    before, after = money()
    predictor: list[float | None] = [float(i % 7) for i in range(ROWS)]
    if gaps:
        predictor[::5] = [None] * len(predictor[::5])
    known = [value for value in predictor if value is not None]
    filled = np.array([mean(known) if value is None else value for value in predictor])
    old, new = ({name: log_scale(values) for name, values in some.items()} for some in (before, after))
    rows, used = [3, 8, 20], [*range(ROWS)]
    for name, columns in (
        ("x", [(old["y"], old["y"]), (filled, filled)]),
        ("y", [(old["x"], new["x"]), (filled, filled)]),
    ):
        found = model_of(predictor, before, after).of(name, np.array(rows))
        shown, spread = by_least_squares(used, rows, old[name], columns)
        assert found.mean.tolist() == pytest.approx(shown.tolist())
        assert found.spread.tolist() == pytest.approx([spread] * 3)


@pytest.mark.parametrize("middle", [1e9, -1e9, 0.0])
def test_a_predictor_that_hardly_varies_says_nothing(middle):
    before, after = money()
    step = 1.0 if middle else 1e-7
    predictor: list[float | None] = [middle + step * (i % 3 - 1) for i in range(ROWS)]
    found = model_of(predictor, before, after).of("x", np.array([3, 8]))
    plain = model_of([0.0] * ROWS, before, after).of("x", np.array([3, 8]))
    assert found.mean.tolist() == pytest.approx(plain.mean.tolist(), rel=1e-12)
    assert found.spread.tolist() == pytest.approx(plain.spread.tolist(), rel=1e-12)


@pytest.mark.parametrize(("many", "free"), [(2, 0), (3, 1), (4, 2)])
def test_models_of_few_records(many, free):
    draw = np.random.default_rng(7)
    before = {"x": np.rint(draw.lognormal(7, 1, many)), "y": np.rint(draw.lognormal(5, 1, many))}
    step, nobody = step_of(pa.table(before)), np.zeros(many, np.bool_)
    found = MoneyModel(step, before, before, {"x": nobody, "y": nobody}, identity_of(step.original)).of(
        "x", np.array([0])
    )
    old = {name: log_scale(values) for name, values in before.items()}
    shown, spread = by_least_squares([*range(many)], [0], old["x"], [(old["y"], old["y"])])
    assert found.mean.tolist() == pytest.approx(shown.tolist())
    assert found.spread.tolist() == pytest.approx([spread], abs=1e-9)
    assert (found.spread[0] > 0) == (free > 0)


# ---- draws ----------------------------------------------------------------------------------------------------------


def whole(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


def test_the_next_value_may_lie_at_the_bound():
    assert roundness(whole(110, 109), np.array([10.0, 10.0])).tolist() == [10, 1]
    assert _next(whole(100), whole(109), whole(10), np.array([1.0]), 1).tolist() == [109.5]
    assert _next(whole(100), whole(110), whole(10), np.array([1.0]), 1).tolist() == [110.0]
    assert _next(whole(100), whole(91), whole(10), np.array([1.0]), -1).tolist() == [90.5]


def judged(old: int, new: int, most: int, middle: float, spread: float, chance: float = 0.5) -> FoundDraws:
    expected = Expected(np.array([middle]), np.array([spread]))
    return check_values(expected, whole(old), whole(new), whole(most), np.array([1.0]), np.array([chance]), 0)


HERE = float(np.log1p(1000))


@pytest.mark.parametrize(
    ("new", "middle", "other"),
    [
        (1100, HERE + 5, 0),
        (1099, HERE + 5, 1),  # not the outermost
        (900, HERE + 5, 1),  # on the wrong side
        (900, HERE - 5, 0),
        (901, HERE - 5, 1),
        (1100, HERE - 5, 1),
        (1100, HERE + 0.5, 0),
        (900, HERE - 0.5, 0),
    ],
)
def test_values_that_lie_at_a_bound_because_nothing_else_can_be(new, middle, other):
    assert judged(1000, new, 100, middle, 0.001) == (other, 1, 0)


def test_the_nearest_value_may_lie_at_the_bound():
    assert judged(10, 11, 1, 9.0, 0.001) == (0, 1, 0)
    assert judged(10, 9, 1, 9.0, 0.001) == (1, 1, 0)


def test_draws_that_cannot_be_told_apart():
    assert judged(1000, 1001, 100, HERE, 0.0) == (0, 0, 1)
    assert judged(1000, 1001, 100, HERE, nextafter(LEAST_SPREAD, 0)).unsure == 1
    assert judged(1000, 1001, 100, HERE, LEAST_SPREAD).unsure == 0


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("beside", "other"), [(1e-7, 0), (1e-5, 1)])
def test_draws_near_a_border_may_fall_on_either_side(sign, beside, other):
    """Places on the scale of logarithms agree to ten digits; a chance follows from them."""
    spread = 0.001
    first, last = sorted(float(log_scale(np.array([sign * value]))[0]) for value in (900.0, 1100.0))
    low, high = sorted(float(log_scale(np.array([sign * value]))[0]) for value in (1000.0, 1001.5))
    inside = norm.cdf(last, sign * HERE, spread) - norm.cdf(first, sign * HERE, spread)
    for border, side in ((low, -1), (high, 1)):
        chance = float((norm.cdf(border, sign * HERE, spread) - norm.cdf(first, sign * HERE, spread)) / inside)
        found = judged(sign * 1000, sign * 1001, 100, sign * HERE, spread, chance + side * beside)
        assert found == (other, 0, 0)


def test_chances_between_two_ends():
    for low, high in ((-2.0, 1.0), (0.5, 0.9), (1.2, 3.0), (-9.0, -8.0), (0.0, 1.0)):
        assert _between(low, high, 0.0, 1.0) == pytest.approx(norm.cdf(high) - norm.cdf(low), rel=1e-9)
    assert _between(8.0, 9.0, 0.0, 1.0) == pytest.approx(norm.sf(8) - norm.sf(9), rel=1e-9)
    assert _between(2.0, 1.0, 0.0, 1.0) == 0
