"""Models of all owners' records are those of the pooled file; what is not safe, or not there, ends with a name."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cryptography")
pytest.importorskip("rbcl")

import discreet as ds
from discreet.errors import DiscreetError, InputError, ParameterError
from discreet.private import ProtocolError, RevealLimits
from tests.private.joint.pooled import (
    iterated,
    matrix,
    people,
    pooled,
    trial,
    trial_cells,
    weighted_least_squares,
)

SMALL = RevealLimits(min_cell=1, min_freedom=1, most_leverage=1.0)
LEVELS = {"status": ["1", "2"], "treatment": ["1", "2"], "response": ["1", "2"]}


def kind_of(do) -> str:
    with pytest.raises(ProtocolError) as caught:
        do()
    return caught.value.kind


@pytest.mark.parametrize("sums", ["shares", "masks", "ring"])
def test_a_logit_is_that_of_the_pooled_file(sums):
    owners = people()
    fit = ds.private.join(owners, sums=sums).logit("y ~ x + g")
    beta, errors = iterated(matrix(owners), pooled(owners, "y"), "logit")
    assert np.abs(fit.coefficients - beta).max() < 1e-9
    assert np.abs(fit.standard_errors - errors).max() < 1e-9
    assert fit.columns == ("(Intercept)", "x", "g[b]", "g[c]")


def test_a_linear_model_is_that_of_the_pooled_file():
    owners = people(seed=1)
    X, z = matrix(owners), pooled(owners, "z")
    fit = ds.private.join(owners).linear("z ~ x + g")
    beta = np.linalg.lstsq(X, z, rcond=None)[0]
    residual = z - X @ beta
    scale = residual @ residual / (len(z) - 4)
    assert np.abs(fit.coefficients - beta).max() < 1e-9
    assert fit.sigma == pytest.approx(np.sqrt(scale), abs=1e-9)
    assert np.abs(fit.standard_errors - np.sqrt(np.diag(np.linalg.inv(X.T @ X)) * scale)).max() < 1e-9
    n = len(z)
    assert fit.loglik == pytest.approx(-n / 2 * (np.log(2 * np.pi * residual @ residual / n) + 1), abs=1e-7)


def test_a_poisson_model_is_that_of_the_pooled_file():
    owners = people(seed=2)
    fit = ds.private.join(owners).poisson("count ~ x + g")
    beta, errors = iterated(matrix(owners), pooled(owners, "count"), "poisson")
    assert np.abs(fit.coefficients - beta).max() < 1e-9
    assert np.abs(fit.standard_errors - errors).max() < 1e-9


def test_weights_count():
    owners = people(seed=3)
    X, w = matrix(owners), pooled(owners, "w")
    together = ds.private.join(owners)
    linear, logit = (
        together.linear("z ~ x + g", weights="w"),
        together.logit("y ~ x + g", weights="w"),
    )
    assert np.abs(linear.coefficients - weighted_least_squares(X, pooled(owners, "z"), w)).max() < 1e-9
    assert np.abs(logit.coefficients - iterated(X, pooled(owners, "y"), "logit", w)[0]).max() < 1e-9


def test_the_trial_of_the_card_by_newton():
    fit = ds.private.join(trial(), two_owners=True).logit("poor ~ x1 + x2", trials="n")
    b0, b1, b2 = fit.coefficients
    assert np.round([b0 + b1 + b2, b0 + b1, b0 + b2, b0], 6).tolist() == [-0.98923, -0.305717, -1.707895, -1.024382]
    assert fit.coefficients.round(8).tolist() == [-1.02438215, 0.71866479, -0.68351275]
    assert fit.standard_errors.round(6).tolist() == [0.300566, 0.337706, 0.330015]
    assert round(fit.loglik, 6) == -110.728724
    assert (round(fit.pearson, 6), round(fit.deviance, 6), fit.freedom) == (13.310757, 13.404373, 5)
    assert "rows of the owners" in fit.basis
    assert "rows of the owners" in fit.summary()


def test_four_steps_from_0_give_the_published_digits():
    fit = ds.private.join(trial(), two_owners=True).logit("poor ~ x1 + x2", trials="n", tolerance=1e-4)
    assert fit.rounds <= 4
    b0, b1, b2 = fit.coefficients
    assert np.round([b0 + b1 + b2, b0 + b1, b0 + b2, b0], 6).tolist() == [-0.98923, -0.305717, -1.707895, -1.024382]


def test_the_trial_of_the_card_by_margins():
    together = ds.private.join(trial_cells(), two_owners=True, levels=LEVELS)
    margins = [["status", "treatment"], ["status", "response"], ["treatment", "response"]]
    three = together.loglinear(margins, count="count", cycles=3).logits("response")
    done = together.loglinear(margins, count="count")
    assert sorted(three.ravel().round(6)) == sorted([-0.989228, -0.305730, -1.707879, -1.024381])
    assert sorted(done.logits("response").ravel().round(8)) == sorted(
        [-0.98923011, -0.30571736, -1.70789490, -1.02438215]
    )
    found = done.fit_to(together.table(["response", "status", "treatment"], count="count"))
    assert (round(found["pearson"], 6), round(found["deviance"], 6)) == (0.381963, 0.384874)
    assert (found["freedom"], found["basis"]) == (1, "cells of the pooled table")
    single = together.loglinear([["status"], ["treatment"], ["response"]], count="count")
    statistic, freedom, _ = single.against(done)
    assert (round(statistic, 6), freedom) == (9.348323, 3)


def test_sparse_and_dense_tables_are_the_same():
    rng = np.random.default_rng(5)
    owners = {name: {"a": rng.choice(list("pqrs"), 60), "b": np.repeat(list("uvw"), 20)} for name in "ABC"}
    together = ds.private.join(owners, limits=SMALL, levels={"a": list("pqrst"), "b": list("tuvw")})
    dense, sparse = together.table(["a", "b"]), together.table(["a", "b"], sparse=True)
    truth = np.zeros((5, 4))
    for one in owners.values():
        np.add.at(truth, ([list("pqrst").index(v) for v in one["a"]], [list("tuvw").index(v) for v in one["b"]]), 1)
    assert np.array_equal(dense.counts, truth)
    assert np.array_equal(sparse.counts, truth)
    assert dict(sparse.opened)["cells"] == (truth > 0).sum() < truth.size == dict(dense.opened)["cells"]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_less_than_three_owners_are_refused(count):
    owners = dict(list(people().items())[:count])
    assert kind_of(lambda: ds.private.join(owners)) == "too few parties"


def test_a_pattern_that_each_lacks_is_there_in_the_pool():
    """One owner has only successes, another only failures, and x separates those of the third: none has a model."""
    rng = np.random.default_rng(7)
    owners = {name: {"x": rng.normal(size=80), "y": np.full(80, int(name == "A"))} for name in "ABC"}
    owners["C"]["y"] = (owners["C"]["x"] > 0).astype(int)
    for one in owners.values():
        alone = {name: {column: values.copy() for column, values in one.items()} for name in "PQR"}
        assert kind_of(lambda alone=alone: ds.private.join(alone).logit("y ~ x")) == "separable responses"
    fit = ds.private.join(owners).logit("y ~ x")
    X = np.stack([np.ones(240), pooled(owners, "x")], axis=1)
    assert np.abs(fit.coefficients - iterated(X, pooled(owners, "y"), "logit")[0]).max() < 1e-9


def test_separation_in_the_pool_is_named_without_values():
    owners = people()
    for one in owners.values():
        one["y"] = (one["x"] > 0.1234).astype(int)
    with pytest.raises(ProtocolError) as caught:
        ds.private.join(owners).logit("y ~ x")
    assert caught.value.kind == "separable responses"
    assert "'x'" in str(caught.value)
    assert "0.1234" not in str(caught.value)


def test_columns_that_depend_on_each_other_are_named():
    owners = people()
    for one in owners.values():
        one["x2"] = 3 * one["x"] - 1
    with pytest.raises(ProtocolError) as caught:
        ds.private.join(owners).linear("z ~ x + x2 + g")
    assert caught.value.kind == "collinear columns"
    assert "'x'" in str(caught.value)
    assert "'x2'" in str(caught.value)
    assert "g[b]" not in str(caught.value)


def test_other_codings_are_named():
    owners = people()
    owners["B"]["g"] = np.where(owners["B"]["g"] == "c", "d", owners["B"]["g"])
    with pytest.raises(ProtocolError) as caught:
        ds.private.join(owners).logit("y ~ x + g")
    assert caught.value.kind == "other plan"
    assert "coding of 'g'" in str(caught.value)


def test_another_column_is_named_before_anything_is_sent():
    owners = people()
    del owners["C"]["x"]
    together = ds.private.join(owners)
    with pytest.raises(InputError, match="'x'"):
        together.logit("y ~ x")
    assert together.transcript.messages == []


@pytest.mark.parametrize(("bad", "error"), [(np.nan, InputError), (np.inf, InputError), (1e38, ProtocolError)])
def test_missing_and_too_large_numbers_stop_before_anything_of_them_is_sent(bad, error):
    owners = people()
    owners["D"]["x"][3] = bad
    together = ds.private.join(owners)
    with pytest.raises(error):
        together.linear("z ~ x")
    assert not any("X'X" in one.what for one in together.transcript.messages)
    assert error is not InputError or together.transcript.messages == []


def test_two_persons_in_a_cell_are_not_revealed():
    owners = people()
    for name, one in owners.items():
        one["rare"] = np.zeros(200)
        one["rare"][:1] = name in "AB"
        one["rare"] = np.where(one["rare"] > 0, "yes", "no")
    together = ds.private.join(owners, levels={"rare": ["no", "yes"]})
    with pytest.raises(ProtocolError) as caught:
        together.linear("z ~ x + rare")
    assert caught.value.kind == "not safe to reveal"
    assert not any("X'X" in one.what for one in together.transcript.messages)
    owners["C"]["rare"][:9] = "yes"
    owners["D"]["rare"][:9] = "yes"
    levels = {"rare": ["no", "yes"]}
    assert kind_of(lambda: ds.private.join(owners, levels=levels).linear("z ~ x + rare")) == "not safe to reveal"
    limits = RevealLimits(most_own_leverage=1)  # persons alone in a code at their owner: cells of all owners count
    assert ds.private.join(owners, levels=levels, limits=limits).linear("z ~ x + rare").persons == 800


def test_an_owner_may_not_learn_that_the_others_have_one_person_in_a_cell():
    """The total is large, but whoever takes its own part off sees the one person of another owner."""
    owners = people()
    for name, one in owners.items():
        one["rare"] = np.where(np.arange(200) < {"A": 50, "B": 1}.get(name, 0), "yes", "no")
    levels = {"rare": ["no", "yes"]}
    assert kind_of(lambda: ds.private.join(owners, levels=levels).linear("z ~ x + rare")) == "not safe to reveal"
    owners["B"]["rare"][:3] = "yes"
    assert ds.private.join(owners, levels=levels).linear("z ~ x + rare").persons == 800


def test_many_steps_do_not_open_more_than_the_records_have():
    limits = RevealLimits(most_opened=0.02)
    assert kind_of(lambda: ds.private.join(people(), limits=limits).logit("y ~ x + g")) == "not safe to reveal"


def test_a_model_whose_bounds_nobody_works_out_is_refused():
    codes = [str(k) for k in range(11)]
    owners = {name: {"a": codes, "b": codes, "c": codes} for name in "ABC"}
    together = ds.private.join(owners)
    assert kind_of(lambda: together.loglinear(["ab", "c"])) == "too much work"
    assert together.transcript.messages == []


def test_a_person_that_determines_its_own_value_is_not_revealed():
    owners = people()
    owners["C"]["x"][5] = 1000.0
    together = ds.private.join(owners)
    with pytest.raises(ProtocolError, match="fewer than 3 persons are far out"):
        together.linear("z ~ x")
    assert not any("X'X" in one.what for one in together.transcript.messages)


def test_a_person_with_a_high_leverage_in_several_columns_is_not_revealed():
    """No column alone shows it: only it has a high x2 with a low x."""
    owners = people()
    for one in owners.values():
        one["x2"] = one["x"] + 0.01 * one["z"]
    owners["C"]["x2"][5] = -owners["C"]["x2"][5] - 1
    together = ds.private.join(owners)
    with pytest.raises(ProtocolError, match=r"of C alone, fewer than 3 persons have more than 0\.75"):
        together.linear("z ~ x + x2")
    assert not any("X'X" in one.what for one in together.transcript.messages)


def test_an_owner_with_fewer_persons_than_columns_refuses():
    owners = people()
    owners["B"] = {name: values[:4] for name, values in owners["B"].items()}
    owners["B"]["g"] = np.array(["a", "b", "c", "a"])
    assert kind_of(lambda: ds.private.join(owners).linear("z ~ x + g")) == "not safe to reveal"


def test_too_few_degrees_of_freedom_are_not_revealed():
    owners = {name: {k: v[:5] for k, v in one.items()} for name, one in people("ABC").items()}
    limits = RevealLimits(min_cell=1, most_leverage=1.0, min_freedom=14)
    assert kind_of(lambda: ds.private.join(owners, limits=limits).linear("z ~ x")) == "not safe to reveal"


def test_margins_that_tell_a_small_cell_give_no_model():
    """All margins by two are 5 or more, or 0; together they say that one cell has a single person."""
    cells = {"a": list("11112222"), "b": list("11221122"), "c": list("12121212")}
    owners = {name: {**cells, "n": [0] * 8} for name in "ABC"}
    owners["A"]["n"] = [0, 0, 10, 9, 5, 5, 1, 20]
    together = ds.private.join(owners)
    assert kind_of(lambda: together.loglinear(["ab", "ac", "bc"], count="n")) == "not safe to reveal"
    owners["B"]["n"] = [9, 8, 0, 0, 0, 0, 9, 0]
    assert ds.private.join(owners).loglinear(["ab", "ac", "bc"], count="n").parameters == 7


def test_columns_of_very_small_numbers_are_refused_and_not_rounded_away():
    owners = people()
    for one in owners.values():
        one["x"] = one["x"] * 1e-7
    assert kind_of(lambda: ds.private.join(owners).logit("y ~ x")) == "too coarse"
    fit = ds.private.join(owners, scale_bits=80).logit("y ~ x")
    X = np.stack([np.ones(800), pooled(owners, "x")], axis=1)
    assert fit.coefficients[1] == pytest.approx(iterated(X, pooled(owners, "y"), "logit")[0][1], rel=1e-9)


def test_what_was_opened_is_told():
    fit = ds.private.join(people()).linear("z ~ x")
    looked = ["persons, cut off", "kinds of columns", "small cells", "values far out"]
    opened = [*looked, "X'X", "totals", "X'y", "sums of squares"]
    assert [what for what, _ in fit.opened] == opened
    assert dict(fit.opened)["X'X"] == 3


def test_parameters_that_are_not_allowed():
    with pytest.raises(ParameterError):
        ds.private.join(people(), sums="trust")
    with pytest.raises(ParameterError):
        ds.private.join(people(), scale_bits=7)
    with pytest.raises(ParameterError):
        RevealLimits(min_cell=0)
    with pytest.raises(DiscreetError):
        ds.private.join(people()).loglinear([])


def vertical(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    person = np.array([f"p{k}" for k in range(rows)])
    a, b, c = rng.normal(size=(3, rows))
    y = 1 + 2 * a - b + 0.5 * c + rng.normal(size=rows)
    return {"tax": {"person": person, "y": y, "a": a}, "health": {"person": person.copy(), "b": b, "c": c}}


def test_columns_of_two_owners_give_the_pooled_fit():
    owners = vertical()
    fit = ds.private.join_columns(owners, "y", match="person")
    X = np.stack([np.ones(300), owners["tax"]["a"], owners["health"]["b"], owners["health"]["c"]], axis=1)
    y = owners["tax"]["y"]
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    scale = ((y - X @ beta) ** 2).sum() / 296
    assert fit.columns == ("(Intercept)", "a", "b", "c")
    assert np.abs(fit.coefficients - beta).max() < 1e-9
    assert np.abs(fit.standard_errors - np.sqrt(np.diag(np.linalg.inv(X.T @ X)) * scale)).max() < 1e-9


def test_columns_of_very_large_and_very_small_numbers_give_the_pooled_fit():
    owners = vertical()
    owners["tax"]["a"] = owners["tax"]["a"] * 1e7 + 1e8
    owners["health"]["b"] = owners["health"]["b"] * 1e-5
    fit = ds.private.join_columns(owners, "y", match="person")
    columns = [np.ones(300), owners["tax"]["a"], owners["health"]["b"], owners["health"]["c"]]
    beta = np.linalg.lstsq(np.stack(columns, axis=1), owners["tax"]["y"], rcond=None)[0]
    assert fit.coefficients == pytest.approx(beta, rel=1e-6)


def test_the_dealer_hears_how_many_rows_there_are_and_nothing_else():
    fit = ds.private.join_columns(vertical(), "y", match="person")
    heard = [one for one in fit.transcript.messages if one.receiver == "dealer"]
    assert {one.what for one in heard} == {"rows", "small cells: how many", "done"}
    assert {one.body for one in heard} == {(300).to_bytes(8, "big"), bytes(8), b""}


@pytest.mark.parametrize("shared", [1, 2])
def test_a_small_cell_of_columns_of_two_owners_is_not_revealed(shared):
    owners = vertical(1500)
    owners["tax"]["old"] = (np.arange(1500) < 200).astype(float)
    owners["health"]["ill"] = ((np.arange(1500) >= 200 - shared) & (np.arange(1500) < 600)).astype(float)
    with pytest.raises(ProtocolError) as caught:
        ds.private.join_columns(owners, "y", match="person")
    assert caught.value.kind == "not safe to reveal"


@pytest.mark.parametrize("shared", [0, 3, 20])
def test_cells_of_columns_of_two_owners_that_are_empty_or_large_are_no_problem(shared):
    owners = vertical(1500)
    owners["tax"]["old"] = (np.arange(1500) < 200).astype(float)
    owners["health"]["ill"] = ((np.arange(1500) >= 200 - shared) & (np.arange(1500) < 600)).astype(float)
    fit = ds.private.join_columns(owners, "y", match="person")
    columns = [owners["tax"]["a"], owners["tax"]["old"], *(owners["health"][name] for name in ("b", "c", "ill"))]
    X = np.stack([np.ones(1500), *columns], axis=1)
    assert np.abs(fit.coefficients - np.linalg.lstsq(X, owners["tax"]["y"], rcond=None)[0]).max() < 1e-9


def test_columns_need_the_same_persons_in_the_same_order():
    owners = vertical()
    owners["health"]["person"][[0, 1]] = owners["health"]["person"][[1, 0]]
    assert kind_of(lambda: ds.private.join_columns(owners, "y", match="person")) == "other records"


def test_columns_of_two_owners_that_depend_are_named():
    owners = vertical()
    owners["health"]["c"] = owners["tax"]["a"] * 2
    with pytest.raises(ProtocolError, match=r"'a'.*'c'") as caught:
        ds.private.join_columns(owners, "y", match="person")
    assert caught.value.kind == "collinear columns"


def test_a_small_cell_of_a_vertical_owner_is_not_revealed():
    owners = vertical()
    owners["health"]["rare"] = np.eye(300)[0]
    assert kind_of(lambda: ds.private.join_columns(owners, "y", match="person")) == "not safe to reveal"
