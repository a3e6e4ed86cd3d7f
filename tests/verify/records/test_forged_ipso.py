"""Releases that say of draws from regressions what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.ipso import ipso_claim
from discreet.model.custodian import RecordCustodian
from discreet.records.regression_draws import model_basis, moment_change, regression_fit
from discreet.verify import Verdict, check_records

METHODS: dict[str, Callable[[], ds.Ipso]] = {
    "a": lambda: ds.Ipso(["x", "y"], given=["z"], variant="a"),
    "b": lambda: ds.Ipso(["x", "y"], given=["z"], variant="b"),
    "c": lambda: ds.Ipso(["x", "y"], given=["z"]),
    "fit": lambda: ds.Ipso(["x", "y"], given=["z"], variant="fit"),
    "cut": lambda: ds.Ipso(["x"], given=["z"], nonnegative=True),
    "alone": lambda: ds.Ipso(["gap"], given=["z"]),
}
ROWS = 80


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    z = draw.integers(0, 9, ROWS)
    x = np.round(draw.lognormal(3, 1, ROWS) + 5 * z, 1)
    y = draw.integers(0, 90, ROWS) + z
    gap = [None if i % 5 == 0 else int(v) for i, v in enumerate(draw.integers(0, 500, ROWS))]
    table = pa.table({"x": x, "y": y, "z": z, "gap": gap, "area": ["n", "s"] * 40, "home": draw.integers(0, 30, ROWS)})
    given = {"numeric": ["x", "y", "gap"], "household": "home", "missing_codes": {"gap": ["7"]}}
    return ds.protect(ds.Microdata(table, **given), METHODS[name](), key=ds.Key(bytes(32)))


class IpsoForgery:
    """A release of which the step is rewritten; what became of the regression follows the values."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.key: ds.Key | None = self.custodian.key
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = dict(self.step.evidence.facts)
        self.old = self.custodian.original.columns
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.types = {name: self.step.changed[name].type for name in self.changed}

    def state(self) -> None:
        """What follows from the values: how many are as before, and how far moments are off."""
        names = self.facts["columns"]
        old, new = (np.column_stack([part[n] for n in names]).astype(float) for part in (self.old, self.changed))
        self.facts["kept"] = [int((a == b).sum()) for a, b in zip(old.T, new.T, strict=True)]
        fit = regression_fit(old, model_basis(self.old["z"].to_numpy()[:, None].astype(float)))
        self.facts["off"] = list(moment_change(fit, old, new))

    def verdict(self) -> Verdict:
        claim = ipso_claim(self.method, self.facts)
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=claim)
        changed = pa.table({n: pa.array(v, self.types[n]) for n, v in self.changed.items()})
        lie = replace(self.custodian, key=self.key, steps=(replace(self.step, evidence=evidence, changed=changed),))
        return check_records(lie, lie.public())


def refused(forge: Callable[[IpsoForgery], object], message: str, name: str = "c", alone: bool = True) -> None:
    forgery = IpsoForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


def without_key(f: IpsoForgery) -> None:
    f.key = None


@pytest.mark.parametrize("name", list(METHODS))
def test_true_releases_hold_with_the_key_and_without(name):
    forgery = IpsoForgery(name)
    assert any("the one that the secret key draws" in words for words in forgery.verdict().proved)
    without_key(forgery)
    assert forgery.verdict().holds
    assert ("that residuals were drawn at random" in forgery.verdict().asserted) == (name != "fit")


@pytest.mark.parametrize("name", ["a", "b", "c", "fit"])
def test_values_that_the_key_does_not_draw(name):
    """One value a unit higher, which moments do not see."""

    def forge(f: IpsoForgery) -> None:
        f.changed["y"][3] += 1
        f.state()

    refused(forge, "1 record has another value than the key draws", name)
    forgery = IpsoForgery(name)
    forge(forgery)
    without_key(forgery)
    assert forgery.verdict().holds


def test_draws_of_another_key_version_or_variant():
    refused(lambda f: setattr(f, "key", ds.Key(bytes([1] * 32))), "another value than the key draws", alone=False)
    refused(lambda f: f.method.update(version=2), "another value than the key draws", alone=False)
    refused(lambda f: f.method.update(variant="b"), "another value than the key draws", alone=False)


def test_original_values_in_place_of_draws():
    """The file as it was keeps all moments: only the values themselves tell."""

    def forge(f: IpsoForgery) -> None:
        without_key(f)
        f.changed = {name: f.old[name].to_pylist() for name in f.changed}
        f.state()

    refused(forge, "no value changed")


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_original_values_in_place_of_most_draws(name):
    """Two records with the same given values change places, and all others stay: no moment tells."""

    def forge(f: IpsoForgery) -> None:
        without_key(f)
        f.changed = {name: f.old[name].to_pylist() for name in f.changed}
        alike = [row for row in range(ROWS) if f.old["z"][row] == f.old["z"][0]][:2]
        for values in f.changed.values():
            values[alike[0]], values[alike[1]] = values[alike[1]], values[alike[0]]
        f.state()

    refused(forge, "more values are as before than chance lets stay", name)


def test_coefficients_that_moved():
    def forge(f: IpsoForgery) -> None:
        without_key(f)
        f.changed["y"] = [value + 2 for value in f.changed["y"]]
        f.state()

    refused(forge, "coefficients are not those of before", "b")


def test_residuals_that_are_not_as_they_were():
    def wider(f: IpsoForgery) -> None:
        """Residuals of y a tenth larger, with the same coefficients."""
        without_key(f)
        z = np.column_stack([np.ones(ROWS), f.old["z"].to_numpy()])
        new = np.array(f.changed["y"], float)
        says = z @ np.linalg.lstsq(z, new, rcond=None)[0]
        f.changed["y"] = np.rint(says + 1.1 * (new - says)).astype(int).tolist()
        f.state()

    refused(wider, "covariances of residuals are not what they should be")
    forgery = IpsoForgery("b")
    wider(forgery)
    assert forgery.verdict().holds  # the variant b says nothing of their size but by chance


def test_scatter_of_fitted_values():
    def forge(f: IpsoForgery) -> None:
        without_key(f)
        f.changed["x"] = [round(value + (3 if i % 2 else -3), 1) for i, value in enumerate(f.changed["x"])]
        z = np.column_stack([np.ones(ROWS), f.old["z"].to_numpy()])
        new = np.array(f.changed["x"])
        fit = regression_fit(f.old["x"].to_numpy()[:, None], model_basis(f.old["z"].to_numpy()[:, None].astype(float)))
        says = z @ np.linalg.lstsq(z, new, rcond=None)[0]
        f.changed["x"] = np.round(new - says + fit.fitted[:, 0], 1).tolist()
        f.state()

    refused(forge, "covariances of residuals are not what they should be", "fit")


@pytest.mark.parametrize("name", ["a", "b"])
def test_residuals_that_chance_excludes(name):
    def forge(f: IpsoForgery) -> None:
        """Fitted values with hardly any scatter."""
        without_key(f)
        old = f.old["y"].to_numpy().astype(float)[:, None]
        fit = regression_fit(old, model_basis(f.old["z"].to_numpy()[:, None].astype(float)))
        f.changed["y"] = np.rint(fit.fitted[:, 0]).astype(int).tolist()
        f.state()

    refused(forge, "residuals are larger or smaller than chance lets them be", name)


def test_empty_fields_types_and_decimals():
    def filled(f: IpsoForgery) -> None:
        f.changed["gap"][0] = 5

    def emptied(f: IpsoForgery) -> None:
        f.changed["gap"][1] = None

    def coded(f: IpsoForgery) -> None:
        f.changed["gap"][1] = 7

    for forge in (filled, emptied, coded):
        refused(forge, "an empty field changed, or a value became empty", "alone")
    refused(lambda f: f.types.update(y=pa.float64()), "not of the stated kind")

    def finer(f: IpsoForgery) -> None:
        f.changed["x"][0] += 0.01

    refused(finer, "the published numbers are not whole in the stated unit")
    refused(lambda f: f.facts.update(decimals=[2, 0]), "the decimals of a column are not those that it had")
    refused(lambda f: f.method.update(decimals=2), "the decimals of a column are not those that it had", "cut")


def test_numbers_below_zero():
    def below(f: IpsoForgery) -> None:
        row = next(row for row, value in enumerate(f.changed["x"]) if value > 0)
        f.changed["x"][row] = -1.0
        f.state()

    refused(below, "a column has values below zero, and shall have none", "cut")


def test_counts_of_what_was_cut():
    facts = release("cut").custodian.evidence[0].facts
    assert facts["cut"][0] > 0
    refused(lambda f: f.facts.update(cut=[facts["cut"][0] - 1]), "another number of values was cut or moved", "cut")
    refused(lambda f: f.facts.update(cut=[ROWS]), "more values are said to be cut at zero than can be", "cut")
    refused(lambda f: f.facts.update(codes=[1]), "codes that there are none of", "cut")
    refused(lambda f: f.facts.update(cut=[-1]), "what was kept, cut or moved aside is not counted", "cut")


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"kept": [50, 0]}, "another number of values is as before than stated"),
        ({"kept": [1]}, "what is stated is not stated of every column"),
        ({"explained": [0.1] * 3}, "what is stated is not stated of every column"),
        ({"off": [0.0, 0.0, 0.0]}, "what is stated is not stated of every column"),
        ({"off": [0.5, 0.0]}, "the regression changed otherwise than stated"),
        ({"explained": [0.0, 0.0]}, "given columns explain another share than stated"),
        ({"least": 0.5}, "combinations of columns are fixed more, or less, than stated"),
        ({"fixed": 1}, "combinations of columns are fixed more, or less, than stated"),
        ({"moments": False}, "moments are said to be kept that are not, or the other way round"),
        ({"strata": ["area"]}, "the strata are not those of the records"),
        ({"insecure": True}, "it is not said whether draws came from a seed, or wrongly"),
        ({"columns": ["y", "x"]}, "the columns are not those that the method names"),
    ],
)
def test_facts_that_are_none(lie, message):
    refused(lambda f: f.facts.update(lie), message)


def test_moments_of_plain_draws():
    """Of these no claim can be made, so that the one of the true release stands beside it."""
    custodian = release("a").custodian
    step = custodian.steps[0]
    evidence = replace(step.evidence, facts={**step.evidence.facts, "moments": True})
    lie = replace(custodian, steps=(replace(step, evidence=evidence),))
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert found == {"moments are said to be kept that are not, or the other way round"}


@pytest.mark.parametrize("given", [["x"], ["nobody"], ["z", "z"]])
def test_given_columns_that_cannot_be(given):
    refused(lambda f: f.method.update(given=given), "columns are given that are replaced, or that are not there")


def test_given_columns_on_which_nothing_depends_and_other_columns():
    refused(lambda f: f.method.update(given=["home"]), "a column is given on which nothing depends")
    refused(lambda f: f.method.update(columns=["x"]), "other columns changed than the stated ones")


def test_records_with_gaps_that_the_method_refuses():
    table = pa.table({"x": [None, *range(1, 40)], "y": [*range(3, 43)], "z": [*range(20)] * 2})
    data = ds.Microdata(table, numeric=["x", "y", "z"])
    draw = np.random.default_rng(1)
    data = data.with_(
        source=table.set_column(
            0, "x", pa.array([None if i % 2 else int(v) for i, v in enumerate(draw.integers(0, 99, 40))])
        )
    )
    custodian = ds.protect(data, ds.Ipso(["x", "y"], given=["z"], missing="apart"), key=ds.Key(bytes(32))).custodian
    step = custodian.steps[0]
    method = {**step.evidence.method, "missing": "refuse"}
    evidence = replace(step.evidence, method=method, claim=ipso_claim(method, step.evidence.facts))
    lie = replace(custodian, steps=(replace(step, evidence=evidence),))
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert found == {"records with gaps were replaced, and the method refuses them"}


def rewritten(data: ds.Microdata, name: str, new: list[Any], method: dict[str, Any], **facts: Any) -> set[str]:
    """What the checker says of a release that the method itself refuses to make."""
    custodian = ds.protect(data, ds.Ipso([name], variant="fit"), key=ds.Key(bytes(32))).custodian
    step = custodian.steps[0]
    plain = {**step.evidence.method, **method}
    stated = {**step.evidence.facts, **facts}
    evidence = replace(step.evidence, method=plain, facts=stated, claim=ipso_claim(plain, stated))
    changed = pa.table({name: pa.array(new, step.changed[name].type)})
    lie = replace(custodian, key=None, steps=(replace(step, evidence=evidence, changed=changed),))
    return {refusal.message for refusal in check_records(lie, lie.public()).refused}


def test_regressions_that_leave_nothing_open():
    x = [1, 2, 3, 4, 5, 6, 7, 9]
    data = ds.Microdata(pa.table({"x": x, "z": [2 * value for value in x]}), numeric=["x", "z"])
    found = rewritten(data, "x", [1, 2, 3, 4, 5, 6, 7, 8], {"given": ["z"]}, kept=[7])
    assert "given columns leave nothing open, so that values are nearly as they were" in found
    few = ds.Microdata(pa.table({"x": [1, 2, 4], "z": [1, 0, 0]}), numeric=["x", "z"])
    found = rewritten(few, "x", [1, 3, 3], {"given": ["z"]}, kept=[1])
    assert "a regression has no more records than columns" in found


def test_regressions_that_follow_a_single_record():
    """Fitted values by a column that one record alone is in: its value is the original one."""
    draw = np.random.default_rng(2)
    x = draw.integers(0, 500, 40)
    z = np.array([0] * 39 + [1])
    data = ds.Microdata(pa.table({"x": x, "z": z}), numeric=["x", "z"])
    new = np.rint(np.where(z == 1, x, x[:39].mean())).astype(int)
    fit = regression_fit(x[:, None].astype(float), model_basis(z[:, None].astype(float)))
    off = list(moment_change(fit, x[:, None].astype(float), new[:, None].astype(float)))
    kept, explained = [int((new == x).sum())], fit.explained.tolist()
    found = rewritten(data, "x", new.tolist(), {"given": ["z"]}, kept=kept, explained=explained, off=off)
    assert found == {"the regression follows a single record, whose values are nearly as they were"}
