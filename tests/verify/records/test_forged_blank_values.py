"""Releases that say of values emptied at random, and of noise, what is not so; each forged without other traces."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache
from math import erf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.blanking import published_blankings
from discreet.model.claims.blank_values import blanked_values_claim
from discreet.model.custodian import RecordCustodian
from discreet.verify import Verdict, check_records
from tests.attack.forging import reseal

KEY = ds.Key(bytes(32))
ROWS = 120
METHODS: dict[str, Callable[[], ds.BlankValues]] = {
    "both": lambda: ds.BlankValues(
        upper={"x": 0.9, "y": 0.9}, lower={"y": 0.1}, jitter={"x": 1.5, "y": 4}, noise={"x": 0.7}, also=["job"]
    ),
    "limits": lambda: ds.BlankValues({"x": 0.9}, jitter={"x": 1.5}, also=["job"]),
    "noise": lambda: ds.BlankValues(noise={"x": 0.7}),
}


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    draw = np.random.default_rng(4)
    x = [None if i % 5 == 0 else float(v) for i, v in enumerate(np.round(draw.normal(3, 1, ROWS), 2))]
    y = [99 if i % 7 == 0 else int(v) for i, v in enumerate(draw.integers(0, 40, ROWS))]
    table = pa.table({"x": x, "y": y, "job": ["a", "b"] * (ROWS // 2)})
    data = ds.Microdata(table, numeric=["x", "y"], missing_codes={"y": ["99"]})
    return ds.protect(data, METHODS[name](), key=KEY)


class BlankForgery:
    """A release of which the step is rewritten; what follows from an edit, it follows."""

    def __init__(self, name: str = "both") -> None:
        self.custodian = release(name).custodian
        self.key: ds.Key | None = self.custodian.key
        self.step = self.custodian.steps[0]
        self.method: dict[str, Any] = deepcopy(dict(self.step.evidence.method))
        self.facts: dict[str, Any] = deepcopy(dict(self.step.evidence.facts))
        self.parts = {name: row.copy() for name, row in self.step.evidence.parts.get("records", {}).items()}
        self.old = self.custodian.original.columns.to_pydict()
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.types = {name: self.custodian.original.columns[name].type for name in self.changed}

    # What the columns hold, row by row, where a forger empties or fills some.
    def blanked(self) -> list[int]:
        return [
            i
            for i in range(ROWS)
            if any(self.old[n][i] is not None and self.changed[n][i] is None for n in self.changed)
        ]

    def value(self, name: str, row: int) -> Any:
        """What a kept record has."""
        old = self.old[name][row]
        place = sorted({*self.method["upper"], *self.method["lower"], *self.method["noise"]})
        noise = self.parts.get(f"noise_{place.index(name)}") if name in place else None
        return old if noise is None or old is None else (round(old * 100) + int(noise[row])) / 100

    def keep(self, row: int, kept: bool) -> None:
        """Empty a record, or fill it again, and count anew."""
        for name in self.changed:
            self.changed[name][row] = self.value(name, row) if kept else None
        self.count()

    def count(self) -> None:
        self.facts["blanked"] = len(self.blanked())
        for name, ends in self.facts["kept"].items():
            low, high = (
                (-np.inf if ends["low"] is None else ends["low"]),
                (np.inf if ends["high"] is None else ends["high"]),
            )
            counts = []
            for values in ([self.value(name, i) for i in range(ROWS)], self.old[name]):
                known = [i for i in range(ROWS) if values[i] is not None and not (name == "y" and values[i] == 99)]
                beyond = [i for i in known if not low <= values[i] <= high]
                counts += [len(beyond), len(set(beyond) & set(self.blanked()))]
            self.facts["beyond"][name] = counts

    def verdict(self) -> Verdict:
        claim = blanked_values_claim(self.method, self.facts)
        parts = {"records": self.parts} if self.parts else {}
        evidence = replace(self.step.evidence, method=self.method, facts=self.facts, claim=claim, parts=parts)
        changed = pa.table({n: pa.array(v, self.types[n]) for n, v in self.changed.items()})
        lie = replace(self.custodian, key=self.key, steps=(replace(self.step, evidence=evidence, changed=changed),))
        return check_records(lie, lie.public())


def refused(forge: Callable[[BlankForgery], object], message: str, name: str = "both", alone: bool = True) -> None:
    forgery = BlankForgery(name)
    assert not forgery.verdict().refused
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


@pytest.mark.parametrize("name", METHODS)
def test_true_releases_hold_with_and_without_the_key(name):
    forgery = BlankForgery(name)
    assert "Noise and decisions are those that the secret key draws." in forgery.verdict().proved[0]
    forgery.key = None
    assert forgery.verdict().holds
    assert "that noise and decisions were drawn at random as stated" in forgery.verdict().asserted
    forgery.count()  # the forger counts as the method does
    assert forgery.facts == release(name).custodian.steps[0].evidence.facts


# ---- values ---------------------------------------------------------------------------------------------------


def kept_row(f: BlankForgery) -> int:
    return next(i for i in range(ROWS) if all(f.changed[n][i] is not None for n in f.changed) and f.old["y"][i] != 99)


def test_a_value_from_nowhere():
    def forge(f: BlankForgery) -> None:
        f.changed["x"][kept_row(f)] += 0.01

    refused(forge, "a value is not the original one with its noise")


def test_a_value_with_more_decimals_than_the_others():
    def forge(f: BlankForgery) -> None:
        f.changed["x"][kept_row(f)] += 0.001

    refused(forge, "a value is not the original one with its noise")


def test_a_field_that_had_to_stay():
    def job(f: BlankForgery) -> None:
        row = kept_row(f)
        f.changed["job"][row] = "b" if f.old["job"][row] == "a" else "a"

    def code(f: BlankForgery) -> None:
        row = next(i for i in range(ROWS) if f.changed["y"][i] == 99)
        f.changed["y"][row] = 12

    def gap(f: BlankForgery) -> None:
        row = next(i for i in range(ROWS) if f.old["x"][i] is None and f.changed["y"][i] is not None)
        f.changed["x"][row] = 3.0

    for forge in (job, code, gap):
        refused(forge, "a field changed that had to stay")


def test_a_record_that_lost_one_value_and_kept_another():
    def number(f: BlankForgery) -> None:
        row = next(i for i in f.blanked() if f.old["x"][i] is not None)
        f.changed["x"][row] = f.value("x", row)

    def text(f: BlankForgery) -> None:
        row = f.blanked()[0]
        f.changed["job"][row] = f.old["job"][row]

    for forge in (number, text):
        refused(forge, "a record lost one value and kept another")


def test_a_value_that_became_a_code_for_unknown():
    def forge(f: BlankForgery) -> None:
        row = kept_row(f)
        f.method["noise"]["y"] = 30.0
        f.facts["noise"]["y"] = 900 + 1 / 12
        f.parts["noise_1"] = np.zeros(ROWS, np.int64)
        f.parts["noise_1"][row] = 99 - f.old["y"][row]
        f.changed["y"][row] = 99
        f.facts["columns"] = ["x", "y", "job"]
        f.count()

    refused(forge, "a value became a code for 'unknown', or was lost", alone=False)


# ---- noise ----------------------------------------------------------------------------------------------------


def quiet(f: BlankForgery) -> None:
    """No noise at all, and limits and values that follow."""
    f.parts["noise_0"][:] = 0
    for row in range(ROWS):
        if f.changed["x"][row] is not None:
            f.changed["x"][row] = f.old["x"][row]


def test_noise_that_the_key_does_not_draw():
    def forge(f: BlankForgery) -> None:
        row = kept_row(f)
        f.parts["noise_0"][row] += 1
        f.changed["x"][row] = f.value("x", row)

    refused(forge, "1 record has other noise than the key draws", "noise")
    refused(lambda f: f.method.update(version=2), "other noise than the key draws", "noise")
    refused(lambda f: setattr(f, "key", ds.Key(bytes([1] * 32))), "other noise than the key draws", "noise")
    forgery = BlankForgery("noise")
    forgery.key = None
    forge(forgery)
    assert forgery.verdict().holds  # nobody can tell a draw of one unit more without the key


def test_no_noise_where_some_is_stated_is_seen_without_the_key():
    def forge(f: BlankForgery) -> None:
        f.key = None
        quiet(f)

    refused(forge, "the noise all but certainly has another variance than stated", "noise")

    def much(f: BlankForgery) -> None:
        f.key = None
        f.parts["noise_0"] *= 3
        for row in range(ROWS):
            f.changed["x"][row] = f.value("x", row)

    refused(much, "the noise all but certainly has another variance than stated", "noise")


def test_another_variance_than_that_of_the_noise():
    refused(lambda f: f.facts["noise"].update(x=0.49), "the stated variance is not that of the noise")
    refused(lambda f: f.facts["noise"].update(x=1), "the stated variance is not that of the noise")


def test_noise_below_the_unit_of_the_column():
    def forge(f: BlankForgery) -> None:
        f.method["noise"]["x"] = 0.009
        f.facts["noise"]["x"] = 0.009**2 + 1e-4 / 12
        quiet(f)

    refused(forge, "noise is smaller than the unit of the column", "noise")


def test_noise_of_just_one_unit_is_allowed():
    data = ds.Microdata(pa.table({"x": list(range(200))}), numeric=["x"])
    done = ds.protect(data, ds.BlankValues(noise={"x": 1}), key=KEY)
    assert done.verify().holds
    assert check_records(replace(done.custodian, key=None), done.public).holds


def test_decimals_that_the_column_does_not_have():
    refused(lambda f: f.facts["decimals"].update(x=3), "numbers have other decimals than stated")
    refused(lambda f: f.facts["decimals"].update(x=1), "numbers have other decimals than stated")
    refused(lambda f: f.facts["decimals"].update(x=True), "numbers have other decimals than stated")


def test_noise_that_is_not_stated():
    refused(lambda f: f.parts.clear(), "the noise of the records is not stated", "noise")
    refused(lambda f: f.parts.update(noise_5=f.parts["noise_0"]), "the noise of the records is not stated")
    refused(lambda f: f.parts.update(noise_0=f.parts["noise_0"][1:]), "the noise of the records is not stated")
    refused(
        lambda f: f.parts.update(noise_0=np.zeros(ROWS, np.int64)), "the noise of the records is not stated", "limits"
    )


def test_noise_of_empty_fields():
    def forge(f: BlankForgery) -> None:
        f.parts["noise_0"][f.old["x"].index(None)] = 5

    refused(forge, "noise is stated of empty fields", "noise")


# ---- limits and decisions ---------------------------------------------------------------------------------------


def test_a_limit_that_is_no_quantile():
    def other(f: BlankForgery) -> None:
        f.facts["kept"]["x"]["high"] += 0.1
        f.count()

    def kind(f: BlankForgery) -> None:
        f.facts["kept"]["y"]["high"] = float(f.facts["kept"]["y"]["high"])

    def share(f: BlankForgery) -> None:
        f.method["upper"]["x"] = 0.8

    for forge in (other, kind, share):
        refused(forge, "a limit is not the quantile of the values")


def test_other_jitter_or_nothing_stated():
    refused(lambda f: f.method["jitter"].update(x=2.0), "the limits are not stated, or other jitter")

    true = release("limits")
    step = true.custodian.steps[0]
    facts = deepcopy(dict(step.evidence.facts))
    facts["kept"]["x"]["more"] = 1
    lie = replace(true.custodian, steps=(replace(step, evidence=replace(step.evidence, facts=facts)),))
    messages = {refusal.message for refusal in check_records(lie, true.public).refused}
    assert messages == {"the limits are not stated, or other jitter"}


def test_records_that_are_empty_against_the_draws():
    refused(lambda f: f.keep(f.blanked()[0], True), "1 record is empty, or not, against what the key draws")
    refused(lambda f: f.keep(kept_row(f), False), "1 record is empty, or not, against what the key draws")
    refused(lambda f: f.method.update(version=2), "against what the key draws", "limits")
    forgery = BlankForgery()
    forgery.key = None
    forgery.keep(forgery.blanked()[0], True)
    assert forgery.verdict().holds


@pytest.mark.parametrize("lost", ["one", "the lower half"])
def test_other_empty_records_than_the_chances_give_are_seen_without_the_key(lost):
    """Limits of which every second value is beyond, and hardly a record that is empty, or as many, the wrong ones."""
    draw = np.random.default_rng(1)
    data = ds.Microdata(pa.table({"x": draw.integers(0, 10_000, 2000)}), numeric=["x"])
    done = ds.protect(data, ds.BlankValues({"x": 0.5}, jitter={"x": 100}), key=KEY)
    step = done.custodian.steps[0]
    facts = deepcopy(dict(step.evidence.facts))
    old, high = data.source["x"].to_pylist(), facts["kept"]["x"]["high"]
    above = [i for i, value in enumerate(old) if value > high]
    gone = set(above[:1] if lost == "one" else set(range(2000)) - set(above))
    facts["blanked"] = len(gone)
    facts["beyond"]["x"] = [len(above), len(gone & set(above))] * 2
    facts_claim = blanked_values_claim(step.evidence.method, facts)
    method = {**step.evidence.method, "least_chance": 0.0}
    column = pa.array([None if i in gone else value for i, value in enumerate(old)])
    evidence = replace(step.evidence, facts=facts, claim=facts_claim, method=method)
    lie = replace(done.custodian, key=None, steps=(replace(step, evidence=evidence, changed=pa.table({"x": column})),))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert messages == {"all but certainly other records are empty than the stated chances give"}


def test_a_kept_value_that_had_hardly_a_chance():
    def forge(f: BlankForgery) -> None:
        f.method["least_chance"] = 0.4

    refused(forge, "a value was kept with less than the least chance")


def test_counts_that_are_not_so():
    refused(lambda f: f.facts.update(blanked=f.facts["blanked"] + 1), "another number of records is empty than stated")
    refused(lambda f: f.facts.update(rows=ROWS + 1), "another number of records is empty than stated")

    def beyond(f: BlankForgery) -> None:
        f.facts["beyond"]["x"][1] += 1

    refused(beyond, "another number of values lies beyond the limits than stated")


def test_limits_that_meet():
    """Values of one kind only: quantiles are the same, whatever the shares."""
    data = ds.Microdata(pa.table({"x": [5] * 40, "y": list(range(40))}), numeric=["x", "y"])
    done = ds.protect(data, ds.BlankValues({"x": 0.9}, jitter={"x": 1}), key=KEY)
    step = done.custodian.steps[0]
    method = {**step.evidence.method, "lower": {"x": 0.1}}
    facts = {**step.evidence.facts, "kept": {"x": {"low": 5, "high": 5, "jitter": 1.0}}}
    evidence = replace(step.evidence, method=method, facts=facts, claim=blanked_values_claim(method, facts))
    lie = replace(done.custodian, key=None, steps=(replace(step, evidence=evidence),))
    shown = replace(done.public, records=replace(done.public.records, blankings=()))
    messages = {refusal.message for refusal in check_records(lie, shown).refused}
    assert "the limits leave no room between them" in messages


# ---- parameters and words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (lambda f: f.method["upper"].update(x=1.0), "a share, a jitter or a noise is none"),
        (lambda f: f.method["lower"].update(y=0.0), "a share, a jitter or a noise is none"),
        (lambda f: f.method["jitter"].update(x=float("inf")), "a share, a jitter or a noise is none"),
        (lambda f: f.method["noise"].update(x=-0.7), "a share, a jitter or a noise is none"),
        (lambda f: f.method["noise"].update(x=0.0), "a share, a jitter or a noise is none"),
        (lambda f: f.method["lower"].update(y=0.9), "limits and jitter do not fit each other"),
        (lambda f: f.method["jitter"].pop("x"), "limits and jitter do not fit each other"),
        (lambda f: f.facts.update(columns=["y", "x", "job"]), "other columns changed than the stated ones"),
        (lambda f: f.method.update(also=()), "other columns changed than the stated ones"),
        (lambda f: f.changed.pop("job"), "other columns changed than the stated ones"),
        (lambda f: f.facts["noise"].pop("x"), "limits or variances are stated of other columns"),
        (lambda f: f.facts.update(insecure=True), "it is not said whether draws came from a seed"),
        (lambda f: f.facts.update(insecure=0), "it is not said whether draws came from a seed"),
    ],
)
def test_parameters_and_facts_that_do_not_fit(forge, message):
    refused(forge, message)


def test_columns_to_empty_without_a_limit():
    def forge(f: BlankForgery) -> None:
        f.method["also"] = ("job",)
        f.facts["columns"] = ["x", "job"]
        f.changed["job"] = list(f.old["job"])
        f.types["job"] = pa.string()

    refused(forge, "columns were to be emptied with others, and none decides", "noise")


def test_a_column_of_another_type():
    def forge(f: BlankForgery) -> None:
        f.types["y"] = pa.float64()

    refused(forge, "a column is of another type than before")


def test_text_among_columns_with_limits():
    def forge(f: BlankForgery) -> None:
        f.method.update(also=(), jitter={"job": 1.0, "x": 1.5}, upper={"job": 0.5, "x": 0.9})
        f.facts.update(columns=["job", "x"], decimals={"x": 2, "job": 0})
        f.facts["kept"]["job"] = {"low": None, "high": 1, "jitter": 1.0}
        f.facts["beyond"]["job"] = [0, 0, 0, 0]

    refused(forge, "that holds no numbers", "limits", alone=False)


def test_roles_that_hold_no_values():
    forgery = BlankForgery("limits")
    info = {**forgery.custodian.original.info}
    info["job"] = replace(info["job"], role="household")
    forgery.custodian = replace(forgery.custodian, original=replace(forgery.custodian.original, info=info))
    assert "a column was emptied that holds no values" in {r.message for r in forgery.verdict().refused}


def test_nothing_that_changed():
    def forge(f: BlankForgery) -> None:
        f.key = None
        for row in f.blanked():
            f.keep(row, True)

    refused(forge, "every record was emptied, or nothing changed", "limits", alone=False)


def test_another_claim():
    forgery = BlankForgery()
    better = replace(forgery.step.evidence.claim, statement="Nobody can be recognised.")
    step = replace(forgery.step, evidence=replace(forgery.step.evidence, claim=better))
    lie = replace(forgery.custodian, steps=(step,))
    assert [r.message for r in check_records(lie, lie.public()).refused] == ["blank_values does not claim what it may"]


def test_a_later_step_on_the_same_column():
    true = release("limits")
    more = ds.protect(
        ds.Microdata(true.custodian.original.columns, numeric=["x", "y"], missing_codes={"y": ["99"]}),
        ds.Recode("job", map={"a": "c", "b": "c"}),
        key=KEY,
    )
    second = more.custodian.steps[0]
    emptied = true.custodian.released.columns["job"].to_pylist()
    second = replace(second, changed=pa.table({"job": [None if job is None else "c" for job in emptied]}))
    lie = replace(true.custodian, steps=(*true.custodian.steps, second))
    messages = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert "published probabilities or variances do not fit a column that was changed after them" in messages


# ---- what is published ----------------------------------------------------------------------------------------------


def test_other_probabilities_in_the_public_part():
    true = release("both")
    (told,) = true.public.records.blankings
    other = replace(told, noise={"x": 9.0})
    for lies in ((other,), (), (told, told)):
        public = replace(true.public, records=replace(true.public.records, blankings=lies))
        messages = [refusal.message for refusal in check_records(true.custodian, public).refused]
        assert messages == ["the published probabilities and variances are not those of the evidence"]
    evidence = true.custodian.steps[0].evidence
    assert published_blankings([(evidence.method, evidence.facts)]) == (told,)


@pytest.fixture
def folder(tmp_path) -> Path:
    release("both").save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds
    return tmp_path / "out"


def refusals(folder: Path) -> set[str]:
    reseal(folder)
    return {refusal.message for refusal in ds.check_folder(folder).refused}


def test_public_files_that_tell_analysts_something_else(folder):
    path = folder / "public" / "records.blanking.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    told["blankings"][0]["noise"]["x"] *= 2
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    words = folder / "public" / "records.README.md"
    words.write_text(words.read_text(encoding="utf-8").replace("variance", "Variance"), encoding="utf-8")
    assert any("byte" in message for message in refusals(folder))
    assert len([r for r in ds.check_folder(folder).refused if "byte" in r.message]) == 2


@pytest.mark.parametrize("name", ["records.blanking.json", "records.README.md"])
def test_public_files_that_are_missing(folder, name):
    (folder / "public" / name).unlink()
    assert refusals(folder) == {"what analysts are told of blanked values is missing"}


def test_the_checker_computes_probabilities_by_itself():
    from discreet.verify.records.blanked_values import _distribution, _limit

    places = np.linspace(-8, 8, 33)
    assert _distribution(places) == pytest.approx([(1 + erf(z / sqrt(2))) / 2 for z in places], abs=1e-15)
    for jitter, grain in ((0.1, 1), (1.0, 10), (9.999, 10), (10.0, 100), (1000.0, 10_000)):
        assert _limit([12_345], 0.5, jitter, 2) == (12_345 + grain // 2) // grain * grain
