"""Releases that say of added noise what is not so, each forged without leaving other traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.added_noise import added_noise_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records
from discreet.verify.records.outlying_records import outlyingness

ROWS = 120
METHODS: dict[str, Callable[[], ds.AddNoise]] = {
    "independent": lambda: ds.AddNoise(["x", "y"], 0.2, "independent"),
    "correlated": lambda: ds.AddNoise(["x", "y"], 0.2),
    "exact": lambda: ds.AddNoise(["x", "y"], 0.2, "exact"),
    "restricted": lambda: ds.AddNoise(["x", "y"], 0.2, "restricted", decimals=1),
    "romm": lambda: ds.AddNoise(["x", "y"], 0.2, "romm"),
    "outliers": lambda: ds.AddNoise(["x", "y"], 0.2, "outliers", beyond=0.9),
    "proportional": lambda: ds.AddNoise(["x", "y"], 0.2, "proportional"),
    "latin_hypercube": lambda: ds.AddNoise(["x", "y"], 0.2, "latin_hypercube"),
    "floor": lambda: ds.AddNoise(["x", "y"], 0.8, nonnegative=True, zeros="keep"),
    "coarse": lambda: ds.AddNoise(["x", "y"], 0.2, "exact", decimals=0),
    "cut": lambda: ds.AddNoise(["x", "y"], 2.0, "exact", nonnegative=True),
    "gaps": lambda: ds.AddNoise(["x", "hole"], 0.2, missing="apart"),
    "anyhow": lambda: ds.AddNoise(["x", "hole"], 0.2, missing="together"),
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    x = np.round(draw.lognormal(4, 1, ROWS), 2)
    y = np.round(x + draw.normal(300, 80, ROWS)).astype(int) * 5
    y[:6] = 0
    hole = [None if i % 3 == 0 else float(v) for i, v in enumerate(np.round(draw.normal(50, 9, ROWS), 1))]
    table = pa.table({"x": x, "y": y, "hole": hole, "area": ["n", "s"] * (ROWS // 2)})
    data = ds.Microdata(
        table, numeric=["x", "y", "hole"], strata=["area"], missing_codes={"y": ["1500", "1505", "1510"]}
    )
    if name != "gaps":  # no gap where columns are looked at together
        y[np.isin(y, [1500, 1505, 1510])] = 1495
        data = data.with_(source=table.set_column(1, "y", pa.array(y)))
    return ds.protect(data, METHODS[name](), key=ds.Key(bytes(32)))


class NoiseForgery:
    """A release of which the step is rewritten; counts and effects follow the changed columns."""

    def __init__(self, name: str) -> None:
        self.custodian = release(name).custodian
        self.key: ds.Key | None = self.custodian.key
        self.step = self.custodian.steps[0]
        self.method = dict(self.step.evidence.method)
        self.facts: dict[str, Any] = {k: list(v) if isinstance(v, list) else v for k, v in self._told().items()}
        self.old = self.custodian.original.columns
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.types = {name: self.step.changed[name].type for name in self.changed}

    def _told(self) -> dict[str, Any]:
        return dict(self.step.evidence.facts)

    def unlock(self) -> None:
        """Nobody has the key."""
        self.key = None

    def put(self, column: str, row: int, value: Any) -> None:
        """Let a field hold something else."""
        self.changed[column][row] = value
        self.tell(column)

    def tell(self, column: str) -> None:
        """State truly what became of a column."""
        place = self.facts["columns"].index(column)
        pairs = [
            (a, b) for a, b in zip(self.old[column].to_pylist(), self.changed[column], strict=True) if a is not None
        ]
        old, new = (np.array(some, float) for some in zip(*pairs, strict=True))
        self.facts["kept"][place] = int((old == new).sum())
        self.facts["shifts"][place] = float((new.mean() - old.mean()) / old.std())
        self.facts["ratios"][place] = float(new.var() / old.var())

    def verdict(self) -> Verdict:
        claim = added_noise_claim(self.method, self.facts)
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=claim)
        changed = pa.table({n: pa.array(v, self.types[n]) for n, v in self.changed.items()})
        lie = replace(self.custodian, key=self.key, steps=(replace(self.step, evidence=evidence, changed=changed),))
        return check_records(lie, lie.public())


def refused(
    forge: Callable[[NoiseForgery], object], message: str, name: str = "correlated", alone: bool = True
) -> None:
    forgery = NoiseForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


@pytest.mark.parametrize("name", METHODS)
def test_true_releases_hold_with_the_key_and_without(name):
    forgery = NoiseForgery(name)
    assert "Every value moved as the secret key draws." in " ".join(forgery.verdict().proved)
    forgery.unlock()
    verdict = forgery.verdict()
    assert verdict.holds
    assert "that noise was drawn at random" in verdict.asserted


@pytest.mark.parametrize("name", ["independent", "correlated", "proportional", "outliers", "latin_hypercube", "floor"])
def test_a_value_that_the_key_does_not_draw(name):
    def forge(f: NoiseForgery) -> None:
        moved = [i for i, (a, b) in enumerate(zip(f.old["x"].to_pylist(), f.changed["x"], strict=True)) if a != b]
        f.put("x", moved[5], round(f.changed["x"][moved[5]] + 0.5, 2))

    refused(forge, "1 value moved otherwise than the key draws", name)


@pytest.mark.parametrize("name", ["exact", "restricted", "romm", "coarse"])
def test_two_values_that_the_key_does_not_draw_and_that_keep_the_sum(name):
    def forge(f: NoiseForgery) -> None:
        unit = 1.0 if name == "coarse" else 0.1
        for row, side in ((10, 3 * unit), (12, -3 * unit)):
            f.put("x", row, round(f.changed["x"][row] + side, 2))

    refused(forge, "2 values moved otherwise than the key draws", name)


def test_draws_of_another_key_version_or_size():
    refused(
        lambda f: setattr(f, "key", ds.Key(bytes([1] * 32))), "values moved otherwise than the key draws", alone=True
    )
    refused(lambda f: f.method.update(version=2), "values moved otherwise than the key draws", alone=True)
    refused(lambda f: f.method.update(amount=0.21), "values moved otherwise than the key draws", alone=True)
    refused(lambda f: f.method.update(how="independent"), "values moved otherwise than the key draws", alone=True)


def test_draws_of_a_seed():
    def unsaid(f: NoiseForgery) -> None:
        f.unlock()
        f.facts["insecure"] = ""

    for forge in (
        unsaid,
        lambda f: setattr(f, "key", ds.Key(bytes(32), insecure=True)),
        lambda f: f.facts.update(insecure=True),
    ):
        refused(forge, "it is not said whether draws came from a seed, or wrongly")


@pytest.mark.parametrize("name", ["independent", "correlated", "proportional"])
@pytest.mark.parametrize("share", [0.2, 3.0])
def test_noise_of_another_size_is_seen_without_the_key(name, share):
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        old = f.old["x"].to_numpy()
        f.changed["x"] = np.round(old + share * (np.array(f.changed["x"]) - old), 2).tolist()
        f.tell("x")

    refused(forge, "noise is larger or smaller than chance lets it be", name)


@pytest.mark.parametrize("name", ["exact", "restricted", "romm"])
def test_sums_and_covariances_that_are_not_kept(name):
    unit = 0.1 if name == "restricted" else 0.01

    def one_unit(f: NoiseForgery) -> None:
        f.unlock()
        f.put("x", 20, round(f.changed["x"][20] + unit, 2))

    def far(f: NoiseForgery) -> None:
        f.unlock()
        largest = int(np.argmax(f.old["x"].to_numpy()[::2])) * 2
        for row, side in ((largest, 60), ((largest + 20) % ROWS, -60)):
            f.put("x", row, round(f.changed["x"][row] + side, 2))

    refused(one_unit, "a sum is not kept", name)
    refused(far, "covariances are not what they should be", name)


def test_noise_that_is_not_uncorrelated_with_its_column():
    """Moments are as they were where nothing but a few rows turned; the noise is not what is stated."""

    def forge(f: NoiseForgery) -> None:
        f.unlock()
        f.method["amount"] = 0.3

    refused(forge, "covariances are not what they should be", "restricted")
    refused(forge, "covariances are not what they should be", "exact")


def test_coarse_sums_are_the_nearest():
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        f.put("x", 20, f.changed["x"][20] + 1.0)

    refused(forge, "a sum is not kept", "coarse")


def test_moments_that_are_claimed_though_values_were_cut():
    refused(lambda f: f.facts.update(moments=True), "are said to be kept, or not, without reason", "cut")
    refused(lambda f: f.facts.update(moments=False), "are said to be kept, or not, without reason", "exact")


def test_records_that_do_not_lie_far_out():
    def inside(f: NoiseForgery) -> int:
        area = np.array(f.old["area"].to_pylist()) == "n"
        values = np.stack([f.old[name].to_numpy().astype(float) for name in "xy"], axis=1)[area]
        far = outlyingness(values, "distance", 0.9)
        assert far is not None
        return int(np.flatnonzero(area)[np.argmin(far)])

    def alter(f: NoiseForgery) -> None:
        f.unlock()
        row = inside(f)
        f.put("x", row, round(f.changed["x"][row] + 1, 2))

    refused(alter, "1 record changed that do not lie far out", "outliers")
    refused(
        lambda f: f.facts.update(flagged=f.facts["flagged"] + 1), "another number of records lies far out", "outliers"
    )
    refused(
        lambda f: f.facts.update(flagged=f.facts["flagged"] - 1), "another number of records lies far out", "outliers"
    )


def test_last_digits_that_tell_altered_records():
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        moved = next(i for i, (a, b) in enumerate(zip(f.old["y"].to_pylist(), f.changed["y"], strict=True)) if a != b)
        f.put("y", moved, f.changed["y"][moved] + 1)

    refused(forge, "altered values are told from others by their last digits", "outliers")


def test_values_that_do_not_lie_in_the_place_of_their_rank():
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        f.put("x", int(np.argmax(f.changed["x"])), 5000.0)

    refused(forge, "a value does not lie in the place of its rank", "latin_hypercube")


def test_zeros_and_values_below_zero():
    def moved_zero(f: NoiseForgery) -> None:
        f.unlock()
        f.put("y", 0, 5)

    def below(f: NoiseForgery) -> None:
        f.unlock()
        f.put("x", next(i for i, value in enumerate(f.changed["x"]) if value > 50), -0.5)

    refused(moved_zero, "a zero did not stay zero", "floor")
    refused(below, "a column has values below zero, and shall have none", "floor")
    refused(lambda f: f.facts["zeros"].__setitem__(1, 5), "another number of zeros is said to have stayed", "floor")
    refused(
        lambda f: f.facts["zeros"].__setitem__(1, 6), "another number of zeros is said to have stayed", "correlated"
    )


def test_numbers_of_values_that_were_cut_or_moved_aside():
    refused(lambda f: f.facts["cut"].__setitem__(0, 99), "more values are said to be cut at zero than can be", "floor")
    refused(lambda f: f.facts["cut"].__setitem__(0, 1), "more values are said to be cut at zero than can be")
    refused(
        lambda f: f.facts["cut"].__setitem__(0, f.facts["cut"][0] - 1), "what was cut or moved away from codes", "floor"
    )
    refused(lambda f: f.facts["codes"].__setitem__(0, 1), "moved away from codes that there are none of")
    refused(lambda f: f.facts["codes"].__setitem__(1, 7), "what was cut or moved away from codes is not what is stated")
    for wrong in (-1, 1.5, True):
        refused(lambda f, w=wrong: f.facts["codes"].__setitem__(1, w), "is not counted", alone=False)


def test_values_that_became_codes_or_gaps():
    def code(f: NoiseForgery) -> None:
        f.unlock()
        f.put("y", 20, 1500)

    def gap(f: NoiseForgery) -> None:
        f.unlock()
        row = next(i for i, value in enumerate(f.old["hole"].to_pylist()) if value is None)
        f.changed["hole"][row] = 5.0

    refused(code, "an empty field changed, or a value became empty")
    refused(gap, "an empty field changed, or a value became empty", "gaps")


def test_records_with_gaps_that_the_method_refuses():
    refused(lambda f: f.method.update(missing="refuse"), "records with gaps got noise, and the method refuses", "gaps")


def test_numbers_of_values_that_stayed_and_effects():
    refused(lambda f: f.facts["kept"].__setitem__(0, 77), "another number of values stayed than stated")
    refused(lambda f: f.facts["shifts"].__setitem__(0, 0.5), "the mean or the variance changed otherwise than stated")
    refused(lambda f: f.facts["ratios"].__setitem__(1, 1.0), "the mean or the variance changed otherwise than stated")

    def nothing(f: NoiseForgery) -> None:
        f.unlock()
        f.changed["x"] = f.old["x"].to_pylist()
        f.tell("x")

    refused(nothing, "no value changed", alone=False)


def test_decimals_that_tell_rows_apart():
    def finer(f: NoiseForgery) -> None:
        f.unlock()
        f.put("x", 20, f.changed["x"][20] + 0.001)

    refused(finer, "the published numbers are not whole in the stated unit")
    refused(lambda f: f.facts["decimals"].__setitem__(0, 3), "the decimals of a column are not those that it had")
    refused(lambda f: f.method.update(decimals=3), "the decimals of a column are not those that it had")
    refused(lambda f: f.types.update(y=pa.float64()), "a column is not one of numbers, or not of the stated kind")


def test_other_columns_strata_and_parameters():
    refused(lambda f: f.changed.update(area=["n"] * ROWS) or f.types.update(area=pa.string()), "other columns changed")
    refused(lambda f: f.facts.update(columns=["y", "x"]), "the columns are not those that the method names")
    refused(lambda f: f.facts.update(strata=[]), "the strata are not those of the records")
    refused(lambda f: f.facts.update(cut=[0]), "how noise was made is not what the method says")
    refused(lambda f: f.method.update(amount=0), "how noise was made is not what the method says")
    refused(lambda f: f.method.update(amount=float("inf")), "how noise was made is not what the method says")
    refused(lambda f: f.method.update(amount=2.5), "how noise was made is not what the method says", "romm")
    refused(lambda f: f.method.update(decimals=2), "how noise was made is not what the method says", "outliers")
    refused(lambda f: f.method.update(beyond=1.0), "how noise was made is not what the method says", "outliers")


def test_a_column_that_got_the_same_noise_twice():
    custodian = release("correlated").custodian
    lie = replace(custodian, steps=(custodian.steps[0], custodian.steps[0]))
    messages = [refusal.message for refusal in check_records(lie, lie.public()).refused]
    assert "a column got noise twice with the same draws" in messages


def test_a_column_that_holds_no_values():
    data = ds.Microdata(pa.table({"x": [3, 1, 4, 0, 5, 9, 2, 6]}), numeric="x")
    custodian = ds.protect(data, ds.AddNoise(["x"], 0.5), key=ds.Key(bytes(32))).custodian
    original = custodian.original
    lie = replace(custodian, original=replace(original, info={"x": replace(original.about("x"), role="weight")}))
    messages = [refusal.message for refusal in check_records(lie, lie.public()).refused]
    assert "a column was given noise that holds no values" in messages


def test_records_with_gaps_that_moved_otherwise_than_the_key_draws():
    """A record with a gap, and one without."""
    refused(lambda f: f.put("x", 0, f.changed["x"][0] + 0.5), "1 value moved otherwise than the key draws", "anyhow")
    refused(lambda f: f.put("hole", 1, f.changed["hole"][1] + 5), "1 value moved otherwise", "anyhow")


def test_noise_by_whole_records_that_was_made_in_another_way():
    refused(lambda f: f.method.update(missing="apart"), "moved otherwise than the key draws", "anyhow", alone=False)
    refused(lambda f: f.method.update(missing="together"), "moved otherwise than the key draws", "gaps", alone=False)

    def exact(f: NoiseForgery) -> None:
        f.method["how"] = "exact"
        f.facts["moments"] = True

    refused(exact, "how noise was made is not what the method says", "anyhow")


def test_noise_by_whole_records_that_is_far_too_large():
    def forge(f: NoiseForgery) -> None:
        f.unlock()
        old = f.old["x"].to_pylist()
        f.changed["x"] = [round(a + 9 * (b - a), 2) for a, b in zip(old, f.changed["x"], strict=True)]
        f.tell("x")

    refused(forge, "noise is larger or smaller than chance lets it be", "anyhow")


def test_too_few_records_without_a_gap_are_said():
    forgery = NoiseForgery("anyhow")
    there = {i for i, value in enumerate(forgery.old["hole"].to_pylist()) if value is not None}
    few = sorted(there)[:6]
    gone = [value if i in few else None for i, value in enumerate(forgery.old["hole"].to_pylist())]
    place = forgery.old.column_names.index("hole")
    original = replace(forgery.custodian.original, columns=forgery.old.set_column(place, "hole", pa.array(gone)))
    forgery.custodian, forgery.old = replace(forgery.custodian, original=original), original.columns
    forgery.changed["hole"] = [v if i in few else None for i, v in enumerate(forgery.changed["hole"])]
    forgery.tell("hole")
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert "too few records have no gap to say how noise goes together" in found
