"""Masking in stages: what is added back, what is refused, and what a forged release looks like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.engine.record_set import read_record_set, with_identity
from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.measures import ValuePair, propensity
from discreet.methods.base import RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.methods.registry import method_from_record
from discreet.model.claims.base import Claim
from discreet.model.claims.residual import residual_claim
from discreet.model.custodian import RecordCustodian
from discreet.model.evidence import Evidence
from discreet.records.mask_residual import _difference, _summed
from discreet.records.value_columns import exact_column
from discreet.verify import Verdict, check_folder, check_records

FIRST = ds.Microaggregate(["x", "y"], 3, "sum")


def firms(rows: int = 400, skewed: bool = True, correlation: float = 0.9, seed: int = 1) -> ds.Microdata:
    rng = np.random.default_rng(seed)
    both = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], rows)
    values = np.exp(0.8 * both) if skewed else np.sign(both) * np.abs(both) ** 1.5
    return ds.Microdata(pa.table({"x": np.round(values[:, 0], 4), "y": np.round(values[:, 1], 4)}), numeric=["x", "y"])


def large_firms() -> ds.Microdata:
    """The same in a smaller unit: beside its numbers, the ninth decimal is nothing."""
    table = firms().source
    columns = {name: np.round(table[name].to_numpy() * 10_000) for name in ("x", "y")}
    return ds.Microdata(pa.table(columns), numeric=["x", "y"])


def shown(release: ds.Release[Any]) -> np.ndarray:
    """Released numbers in the order of the original."""
    records = release.custodian.released
    return np.stack([records[name].to_numpy() for name in ("x", "y")], axis=1)


def original(data: ds.Microdata) -> np.ndarray:
    return np.stack([data.source[name].to_numpy() for name in ("x", "y")], axis=1)


@dataclass(frozen=True)
class Unchanged(RecordMethod):
    """Gives every value back as it is."""

    columns: tuple[str, ...] = ()

    def run(self, records, key=None):
        claim = Claim("unchanged", "Nothing changed.")
        return RecordOutcome({n: records[n] for n in self.columns}, Evidence(self.record(), claim, facts={}))


def test_a_second_stage_that_masks_nothing_gives_the_original_back_and_is_refused():
    with pytest.raises(ProtectionError, match=r"The second stage \(\) re-creates the original values of 400 records"):
        ds.protect(firms(), ds.MaskResidual(FIRST, Unchanged(), most_linked=1))


def test_reflecting_with_a_second_stage_that_masks_nothing_mirrors_records_in_their_group():
    data = firms()
    release = ds.protect(data, ds.MaskResidual(FIRST, Unchanged(), "reflect", most_linked=1))
    masked = shown(ds.protect(data, FIRST))
    assert np.abs(shown(release) - (2 * masked - original(data))).max() < 1e-12


def test_sums_and_differences_are_exact():
    records = read_record_set(firms())
    one = exact_column(records, "x")
    two = replace(one, units=one.units // 7, decimals=2)
    units, most = _summed(one, two, -1)
    assert most == 4
    assert (units == one.units - 100 * two.units).all()
    assert (_difference(one, two, -1, "x").units == -units).all()


def test_two_microaggregations_keep_the_means():
    """To 1e-10 of the standard deviation, where values have so many decimals."""
    data = large_firms()
    first, second = (ds.Microaggregate(names, 3, "sum", decimals=9) for names in (["x", "y"], ()))
    for way in ("reflect", "repair"):
        method = ds.MaskResidual(first, second, way, most_linked=1, decimals=9)
        moved = shown(ds.protect(data, method)).mean(axis=0) - original(data).mean(axis=0)
        assert np.abs(moved / original(data).std(axis=0)).max() < 1e-10


def test_the_variation_that_microaggregation_takes_is_that_within_groups():
    data = large_firms()
    release = ds.protect(data, replace(FIRST, decimals=9))
    before, after = original(data), shown(release)
    within = ((before - after) ** 2).sum() / len(before)
    fallen = np.trace(np.cov(before.T, bias=True)) - np.trace(np.cov(after.T, bias=True))
    assert fallen == pytest.approx(within, abs=1e-10 * np.trace(np.cov(before.T)))


def test_gaussian_noise_repairs_the_covariance():
    """The mean over replications is the covariance of the original, within the error of so many draws."""
    data = firms(300, skewed=False)
    records = with_identity(read_record_set(data))
    wanted = np.cov(original(data).T, bias=True)
    found = []
    for seed in range(200):
        method = ds.MaskResidual(ds.Microaggregate(["x", "y"], 60, "sum"), "gaussian", most_linked=1)
        outcome = method.run(records, ds.Key.from_seed(seed))
        values = np.stack([outcome.changed[name].to_numpy() for name in ("x", "y")], axis=1)
        found.append(np.cov(values.T, bias=True))
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - wanted) < 4 * error).all()


@pytest.mark.parametrize("skewed", [True, False])
@pytest.mark.parametrize("correlation", [-0.9, -0.3, 0.3, 0.9])
def test_every_second_stage_makes_the_file_more_useful_than_the_first_alone(skewed, correlation):
    data = firms(1000, skewed, correlation)
    before = original(data)
    alone = propensity(ValuePair(("x", "y"), before, shown(ds.protect(data, FIRST)))).total
    seconds = [ds.Microaggregate(k=10, algorithm="mdav"), ds.RankSwap(share=0.01)]
    seconds += [ds.Microaggregate(k=3, algorithm=algorithm) for algorithm in ("pca", "sum")]
    for second in ("local", *seconds):
        method = ds.MaskResidual(FIRST, second, "reflect", most_linked=1, insecure_seed=1)
        assert propensity(ValuePair(("x", "y"), before, shown(ds.protect(data, method)))).total < alone


def test_a_stage_above_the_limit_is_refused_by_name():
    method = ds.MaskResidual(FIRST, ds.Microaggregate(k=3, algorithm="sum"), most_linked=0.001)
    with pytest.raises(ProtectionError, match=r"After the second stage \(microaggregate\), .*% of the records"):
        ds.protect(firms(), method)


def test_three_stages_and_a_recipe_of_them():
    inner = ds.MaskResidual(FIRST, ds.RankSwap(share=0.2), "reflect", most_linked=1)
    method = ds.MaskResidual(inner, ds.RankSwap(share=0.2, version=2), "reflect", most_linked=1)
    assert method_from_record(method.record()) == method
    release = ds.protect(firms(), method, key=ds.Key(bytes(32)))
    assert release.verify().holds


def test_a_saved_release_verifies(tmp_path):
    for number, second in enumerate(("local", "gaussian", ds.RankSwap(share=0.3))):
        method = ds.MaskResidual(FIRST, second, "reflect", most_linked=1)
        release = ds.protect(firms(), method, key=ds.Key(bytes(32)))
        release.save(tmp_path / str(number))
        assert check_folder(tmp_path / str(number)).holds


def test_gaps_stay_and_noise_refuses_them():
    numbers = np.random.default_rng(2).permutation(30)
    table = pa.table(
        {
            "x": [None if i % 7 == 1 else int(number) for i, number in enumerate(numbers)],
            "y": [-9 if i % 7 == 2 else int(number) for i, number in enumerate(numbers[::-1])],
        }
    )
    data = ds.Microdata(table, numeric=["x", "y"], missing_codes={"y": ["-9"]})
    first = ds.Microaggregate(["x", "y"], 7, "sum", missing="apart")
    with pytest.raises(ProtectionError, match="a group has at least 7"):
        ds.protect(data, ds.MaskResidual(first, ds.RankSwap(share=1), "reflect", most_linked=1))
    each = ds.Microaggregate(["x", "y"], 4, "sum", missing="apart")
    release = ds.protect(data, ds.MaskResidual(each, ds.RankSwap(share=1), "reflect", most_linked=1, insecure_seed=1))
    assert release.verify().holds
    assert release.custodian.released["x"][1].as_py() is None
    assert release.custodian.released["y"][2].as_py() == -9
    with pytest.raises(InputError, match="Empty fields stand in 'x', 'y', and noise is drawn for whole records"):
        ds.protect(data, ds.MaskResidual(each, "local", most_linked=1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ds.MaskResidual("local"), "first= is no method that masks columns of numbers"),
        (lambda: ds.MaskResidual(FIRST, "uniform"), 'such as .* or "local"'),
        (lambda: ds.MaskResidual(FIRST, ds.MaskResidual(FIRST)), "second= is no method"),
        (lambda: ds.MaskResidual(ds.RankSwap(insecure_seed=1)), "The first stage has a key of its own"),
        (lambda: ds.MaskResidual(FIRST, partitions=0), "partitions=0 is not allowed"),
    ],
)
def test_stages_that_are_none(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_stages_about_different_columns():
    with pytest.raises(ParameterError, match="The stages are about different columns: 'x', 'y', and 'y'"):
        ds.protect(firms(), ds.MaskResidual(FIRST, ds.RankSwap(["y"]), most_linked=1))


def test_a_stage_that_changes_something_else():
    @dataclass(frozen=True)
    class Emptied(Unchanged):
        def run(self, records, key=None):
            outcome = super().run(records, key)
            gone = {n: pa.chunked_array([pa.nulls(len(records), pa.float64())]) for n in self.columns}
            return replace(outcome, changed=gone)

    with pytest.raises(ParameterError, match=r"The first stage \(unchanged\) does not just change the values"):
        ds.protect(firms(), ds.MaskResidual(Emptied(("x", "y")), most_linked=1))


# ---- forged releases --------------------------------------------------------------------------------------------

STAGES: dict[str, Callable[[], ds.MaskResidual]] = {
    "ranks": lambda: ds.MaskResidual(FIRST, ds.RankSwap(share=0.2), "reflect", most_linked=0.4),
    "local": lambda: ds.MaskResidual(FIRST, "local", partitions=8, most_linked=0.4),
    "gaussian": lambda: ds.MaskResidual(FIRST, "gaussian", most_linked=0.4, nonnegative=True, decimals=3),
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    return ds.protect(firms(120), STAGES[name](), key=ds.Key(bytes(32)))


class StageForgery:
    """A release of which the step is rewritten; ``sums`` lets the published numbers follow the stages."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = {**self.step.evidence.facts}
        self.rows = {name: row.copy() for name, row in self.step.evidence.parts["records"].items()}
        self.changed = {name: self.step.changed[name].to_numpy().copy() for name in self.step.changed.column_names}

    def verdict(self) -> Verdict:
        evidence = replace(
            self.step.evidence,
            method=self.method,
            facts=self.facts,
            claim=residual_claim(self.method, self.facts),
            parts={"records": self.rows},
        )
        lie = replace(self.custodian, steps=(replace(self.step, evidence=evidence, changed=pa.table(self.changed)),))
        return check_records(lie, lie.public())

    def add(self, row: int, stage: str, amount: int) -> None:
        """Change a value of a stage, and what is published with it."""
        self.rows[f"{stage}_value_0"][row] += amount
        most = self.facts["decimals"][0]
        self.changed["x"][row] = round(self.changed["x"][row] + amount / 10 ** self.facts[f"{stage}_decimals"][0], most)


def refused(forge: Callable[[StageForgery], object], message: str, name: str = "ranks") -> None:
    forgery = StageForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = [refusal.message for refusal in forgery.verdict().refused]
    assert any(message in text for text in found), found


def drop(values: dict[str, Any], name: str) -> None:
    del values[name]


def test_another_value_than_the_sum():
    refused(
        lambda f: f.changed.update(x=f.changed["x"] + 0.0001), "the published numbers are not the sums of both stages"
    )


def test_a_first_stage_that_is_not_what_it_claims():
    refused(lambda f: f.add(5, "first", 100), "first stage: 1 group holds something else than the mean")


def test_a_second_stage_that_is_not_what_it_claims():
    refused(lambda f: f.add(5, "second", 100), "second stage: a record does not have the value of its partner")


def test_other_columns():
    refused(lambda f: f.facts.update(columns=["x"]), "other columns changed than the stated ones")
    refused(lambda f: f.facts.update(columns=[]), "other columns changed than the stated ones")


def test_values_that_are_not_stated():
    refused(lambda f: drop(f.rows, "first_value_1"), "the values between the stages are not stated")


def test_another_sign():
    refused(lambda f: f.method.update(sign="repair"), "second stage: a record does not have the value of its partner")


@pytest.mark.parametrize("stage", ["first", "second"])
def test_another_stage_than_the_method_names(stage):
    def forge(f):
        f.method[stage] = {**f.method[stage], "k" if stage == "first" else "share": 4 if stage == "first" else 0.9}

    refused(forge, f"the {stage} stage is not the one that the method names")


@pytest.mark.parametrize("stage", ["first", "second"])
def test_a_stage_about_other_columns(stage):
    def forge(f):
        f.facts[stage] = {**f.facts[stage], "method": {**f.facts[stage]["method"], "columns": ("x",)}}

    refused(forge, f"the {stage} stage is about other columns")


def test_numbers_found_again():
    refused(lambda f: f.facts.update(linked=0.3), "are found again, or lie where they were, than stated")
    refused(lambda f: f.facts.update(recreated=7), "are found again, or lie where they were, than stated")
    refused(lambda f: f.method.update(most_linked=0), "more records are found again than the method allows", "local")


def test_random_draws_that_are_not_said():
    refused(lambda f: f.facts.update(drawn=False), "it is not said whether the stages draw at random")
    refused(lambda f: f.facts.update(insecure="no"), "it is not said whether the stages draw at random")
    refused(lambda f: f.facts.update(insecure=True), "it is not said whether draws came from a seed, or wrongly")


@pytest.mark.parametrize("name", ["local", "gaussian"])
def test_other_noise_than_the_key_draws(name):
    refused(lambda f: f.add(5, "second", 500), "1 record has other noise than the key draws", name)
    refused(lambda f: drop(f.rows, "cell"), "the cells of the noise are not stated", name)
    refused(lambda f: f.facts.update(second_decimals=[5, 6]), "other decimals than", name)


def test_cells_that_are_not_those_of_the_noise():
    refused(lambda f: f.rows.update(cell=f.rows["cell"] * 0), "have other noise than the key draws", "local")


def test_zeros_and_decimals():
    refused(lambda f: f.facts.update(clipped=[0, 0]), "another number of values became zero than stated", "gaussian")
    refused(lambda f: f.facts.update(decimals=[2, 3]), "a column has other decimals than stated", "gaussian")
    refused(lambda f: f.facts.update(residual_decimals=[7, 7]), "the residuals have other decimals than stated")


def test_records_that_lie_where_they_were():
    """Everything consistent, but the second stage gives the first one's residuals back."""

    def forge(f):
        values = original(firms(120))
        for place, name in enumerate(("x", "y")):
            most = f.facts["decimals"][place]
            f.changed[name] = values[:, place]
            f.rows[f"second_value_{place}"] = np.rint(values[:, place] * 10**most).astype(np.int64) - f.rows[
                f"first_value_{place}"
            ] * 10 ** (most - f.facts["first_decimals"][place])
        f.facts.update(linked=1.0, recreated=120)

    refused(forge, "120 records of 120 lie where they were")


def test_a_first_stage_that_exchanges_what_was_exchanged_before():
    steps = [ds.RankSwap(["x", "y"]), ds.MaskResidual(ds.RankSwap(["x", "y"]), "local", most_linked=1)]
    with pytest.raises(ParameterError, match="Values of column 'x' are exchanged twice"):
        ds.protect(firms(), steps)


def test_added_noise_as_a_second_stage():
    release = ds.protect(
        firms(), ds.MaskResidual(FIRST, ds.AddNoise(amount=1.0), "reflect", most_linked=1, insecure_seed=2)
    )
    assert release.verify().holds


# ---- steps that bring values back ------------------------------------------------------------------------------------


def clustered() -> ds.Microdata:
    """Groups of three far from each other: whoever is reflected stays in the group, and comes back the second time."""
    rng = np.random.default_rng(1)
    values = np.repeat(rng.permutation(30) * 1000, 3) + np.tile([0, 300, 450], 30) + rng.integers(0, 40, 90)
    return ds.Microdata(pa.table({"id": np.arange(90), "x": values}), identifier="id", numeric="x")


def reflected(base: int) -> ds.MaskResidual:
    first = ds.Microaggregate(["x"], 3, "univariate")
    return ds.MaskResidual(first, ds.RoundRandomly(bases=base), sign="reflect", most_linked=0.6)


BACK = {
    "reflected": ([reflected(1), reflected(2)], "residuals were masked twice, which may bring values back"),
    "exchanged": (
        [ds.RankSwap(["x"], 0.02), ds.MaskResidual(ds.RankSwap(["x"], 0.02), ds.Microaggregate(k=40), most_linked=1)],
        "first stage: values were exchanged twice, which brings many back",
    ),
    "exchanged again": (
        [
            ds.MaskResidual(ds.RankSwap(["x"], 0.02), ds.Microaggregate(k=40), most_linked=1),
            ds.RankSwap(["x"], 0.02),
        ],
        "values were exchanged twice, which brings many back",
    ),
}


@pytest.mark.parametrize("name", BACK)
def test_steps_that_undo_a_step_before_are_refused_and_not_verified(name, monkeypatch):
    steps, message = BACK[name]
    with pytest.raises(ParameterError, match="twice"):
        ds.protect(clustered(), steps, key=ds.Key(bytes(32)))
    monkeypatch.setattr("discreet.verbs.protect_records.refuse_exchanging_twice", lambda *evidence: None)
    release = ds.protect(clustered(), steps, key=ds.Key(bytes(32)))
    assert message in [refusal.message for refusal in check_records(release.custodian, release.public).refused]
