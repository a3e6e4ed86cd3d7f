"""Releases that say of post-randomised columns what is not so, each forged without leaving other traces."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.pram import pram_claim
from discreet.model.custodian import RecordCustodian
from discreet.model.transition_families import read_notation
from discreet.verify import Verdict, check_records
from discreet.verify.records import randomised
from tests.attack.forging import reseal

KEY = ds.Key(bytes(range(32)))
METHODS: dict[str, Callable[[], ds.Pram]] = {
    "strata": lambda: ds.Pram({"age": "9B(.7;2)", "job": "F(.8)"}, within=["area"]),
    "named": lambda: ds.Pram({"job": "Block(2; 1; 4E(.6))"}, codes={"job": ["9", "a", "b", "c", "d"]}),
    "mapped": lambda: ds.Pram({"sex": {"m": {"m": 0.7, "f": 0.3}, "f": {"f": 0.8, "m": 0.2}}}, within=["area"]),
    "invariant": lambda: ds.Pram({"job": "4E(.7)"}, invariant=True),
    "category": lambda: ds.Pram({"job": "E(.7)"}, missing="category"),
    "seeded": lambda: ds.Pram({"sex": "2E(.8)"}, insecure_seed=5),
    "unseen": lambda: ds.Pram({"job": "4F(.8)"}, within=["sex", "area"], publish=["job"]),
    "published": lambda: ds.Pram({"job": "4F(.8)", "sex": "2E(.8)"}, within=["area"], publish=["job", "sex"]),
}


def people() -> ds.Microdata:
    draw = np.random.default_rng(3)
    rows = 400
    table = pa.table(
        {
            "id": [f"p{i}" for i in range(rows)],
            "age": draw.integers(0, 9, rows),
            "sex": draw.choice(["f", "m"], rows),
            "job": pa.array([None if code == "?" else str(code) for code in draw.choice(list("abcd9?"), rows)]),
            "area": draw.choice(["N", "S"], rows),
            "weight": draw.integers(1, 5, rows),
        }
    )
    return ds.Microdata(table, identifier="id", weight="weight", missing_codes={"job": ["9"]})


@cache
def release(name: str) -> ds.Release[RecordCustodian]:
    return ds.protect(people(), METHODS[name](), key=None if name == "seeded" else KEY)


class PramForgery:
    """A release of which the step is rewritten; moves, numbers and claim follow where not forged themselves."""

    def __init__(self, name: str, key: ds.Key | None = None) -> None:
        self.custodian = replace(release(name).custodian, key=key)
        self.step = self.custodian.steps[-1]
        self.method = json.loads(json.dumps(self.step.evidence.method))
        self.facts = json.loads(json.dumps(self.step.evidence.facts))
        self.old = self.custodian.original.columns.to_pydict()
        self.changed = {name: self.step.changed[name].to_pylist() for name in self.step.changed.column_names}
        self.types: dict[str, pa.DataType] = {}
        self.forged: dict[str, Any] = {}
        self.claim: Any = None
        self.missing = self.custodian.original.info["job"].missing
        self.earlier: tuple[Any, ...] = ()
        self.recount = True

    @property
    def matrices(self) -> list[dict[str, Any]]:
        return self.facts["matrices"]

    def verdict(self) -> Verdict:
        if self.recount:
            self._count()
        facts = {**self.facts, **self.forged}
        evidence = replace(
            self.step.evidence, method=self.method, facts=facts, claim=self.claim or pram_claim(self.method, facts)
        )
        original = self.custodian.original
        types = {name: self.types.get(name, original[name].type) for name in self.old}
        columns = pa.table({name: pa.array(values, types[name]) for name, values in self.old.items()})
        info = {**original.info, "job": replace(original.info["job"], missing=self.missing)}
        changed = pa.table({name: pa.array(values, types[name]) for name, values in self.changed.items()})
        lie = replace(
            self.custodian,
            original=replace(original, columns=columns, info=info, identity=None),
            steps=(*self.earlier, replace(self.step, evidence=evidence, changed=changed)),
        )
        return check_records(lie, lie.public())

    def _count(self) -> None:
        category = self.method["missing"] == "category"
        changed = []
        for name in self.facts["columns"]:
            pairs = list(zip(self.old[name], self.changed.get(name, self.old[name]), strict=True))
            changed.append(sum(str(a) != str(b) for a, b in pairs))
            for entry in self.matrices:
                if entry["column"] != name:
                    continue
                counts = Counter(
                    ("" if a is None else str(a), "" if b is None else str(b))
                    for row, (a, b) in enumerate(pairs)
                    if (category or a is not None)
                    and (not entry["stratum"] or [self.old[n][row] for n in self.facts["within"]] == entry["stratum"])
                )
                entry["moves"] = [[counts[a, b] for b in entry["codes"]] for a in entry["codes"]]
        self.facts["changed"] = changed


Forge = Callable[[PramForgery], None]


def refused(forge: Forge, message: str, name: str = "strata", key: ds.Key | None = None, alone: bool = True) -> None:
    forgery = PramForgery(name, key)
    verdict = forgery.verdict()
    assert verdict.holds, verdict
    forge(forgery)
    found = {refusal.message for refusal in forgery.verdict().refused}
    assert any(message in text for text in found), found
    assert not alone or len(found) == 1, found


def first_row(f: PramForgery, name: str, code: Any) -> int:
    return f.old[name].index(code)


# ---- columns and strata -----------------------------------------------------------------------------------------


def test_another_column_changed():
    def forge(f: PramForgery) -> None:
        f.changed["sex"] = ["m"] * 400

    refused(forge, "other columns changed than those with a matrix")


@pytest.mark.parametrize("kept", ["age", "job"])
def test_a_column_with_a_matrix_is_called_unchanged(kept):
    def forge(f: PramForgery) -> None:
        f.facts["columns"] = [kept]
        f.facts["matrices"] = [m for m in f.matrices if m["column"] == kept]

    refused(forge, "other columns changed than those with a matrix")


def test_a_column_with_a_matrix_did_not_change():
    def forge(f: PramForgery) -> None:
        del f.changed["age"]

    refused(forge, "other columns changed than those with a matrix")


def test_no_column_at_all():
    def forge(f: PramForgery) -> None:
        f.method["matrices"], f.changed = {}, {}
        f.facts["columns"] = f.facts["matrices"] = []

    refused(forge, "other columns changed than those with a matrix", "mapped")


@pytest.mark.parametrize("within", [["sex"], []])
def test_other_strata_are_stated(within):
    def forge(f: PramForgery) -> None:
        f._count()
        f.recount = False
        f.facts["within"] = within

    refused(forge, "the strata are not those")


def test_a_stratum_that_is_not_there():
    def forge(f: PramForgery) -> None:
        f.recount = False
        f.method["within"] = f.facts["within"] = ["region"]

    refused(forge, "the strata are not those")


def test_a_stratum_that_is_drawn_itself():
    def forge(f: PramForgery) -> None:
        f.method["within"] = f.facts["within"] = ["age"]

    refused(forge, "the strata are not those")


@pytest.mark.parametrize("within", [["sex"], []])
def test_a_matrix_for_other_strata(within):
    def forge(f: PramForgery) -> None:
        next(m for m in f.matrices if m["stratum"])["within"] = within

    refused(forge, "a matrix is stated for other strata")


def test_a_weight_was_drawn():
    def forge(f: PramForgery) -> None:
        f.changed["weight"] = list(f.old["weight"])
        f.method["matrices"]["weight"] = "4E(.8)"
        f.facts["columns"] = ["age", "job", "weight"]

    refused(forge, "a column was drawn that holds no codes")


def test_another_type():
    def forge(f: PramForgery) -> None:
        f.changed["age"] = [str(age) for age in f.changed["age"]]
        f.types["age"] = pa.string()
        f.recount = False
        original = f.custodian.original.columns

        def verdict() -> Verdict:
            step = replace(
                f.step, changed=pa.table({**{n: f.step.changed[n] for n in ("job",)}, "age": f.changed["age"]})
            )
            lie = replace(f.custodian, steps=(step,))
            assert lie.original.columns is original
            return check_records(lie, lie.public())

        f.verdict = verdict  # type: ignore[method-assign]

    refused(forge, "a column is of another type than before")


def test_gaps_were_filled():
    def forge(f: PramForgery) -> None:
        f.changed["job"][f.old["job"].index(None)] = "a"
        f.recount = False

    refused(forge, "a column has other empty fields than before")


def test_gaps_were_made():
    def forge(f: PramForgery) -> None:
        f.changed["job"][first_row(f, "job", "a")] = None
        f.recount = False

    refused(forge, "a column has other empty fields than before")


def test_gaps_and_empty_text():
    def forge(f: PramForgery) -> None:
        row = first_row(f, "job", "a")
        f.old["job"][row] = f.changed["job"][row] = ""
        f.recount = False

    refused(forge, "gaps and empty text")


def test_nothing_to_draw():
    def forge(f: PramForgery) -> None:
        f.missing = tuple((code, code) for code in "abcd9")

    refused(forge, "a column has nothing to draw", "invariant", alone=False)


# ---- matrices ---------------------------------------------------------------------------------------------------


def test_a_matrix_is_missing():
    def forge(f: PramForgery) -> None:
        f.matrices.remove(next(m for m in f.matrices if m["stratum"] == ["N"]))

    refused(forge, "there is not one matrix for every stratum")


def test_one_matrix_too_many():
    def forge(f: PramForgery) -> None:
        f.matrices.append(dict(next(m for m in f.matrices if m["stratum"] == ["N"])))

    refused(forge, "there is not one matrix for every stratum")


def test_codes_in_another_order():
    def forge(f: PramForgery) -> None:
        entry = next(m for m in f.matrices if m["column"] == "age")
        entry["codes"] = entry["codes"][::-1]
        entry["chances"] = [row[::-1] for row in entry["chances"][::-1]]

    refused(forge, "a matrix has other codes than it must")


def test_a_code_without_a_row():
    def forge(f: PramForgery) -> None:
        f.method["codes"] = {"job": ["9", "a", "b", "c", "e"]}
        f.recount = False

    refused(forge, "a code occurs that the matrix does not have", "named")


@pytest.mark.parametrize("row", [[0.69, 0.3], [1.3, -0.3], [float("nan"), 0.3], [float("inf"), 0.3]])
def test_rows_that_are_no_chances(row):
    def forge(f: PramForgery) -> None:
        f.matrices[0]["chances"][0][:2] = row

    refused(forge, "the rows of a matrix are not chances that sum to 1")


def test_a_row_too_many():
    def forge(f: PramForgery) -> None:
        f.matrices[0]["chances"].append(f.matrices[0]["chances"][0])

    refused(forge, "the rows of a matrix are not chances that sum to 1")


def test_another_chance():
    def forge(f: PramForgery) -> None:
        row = f.matrices[0]["chances"][0]
        row[0], row[1] = row[0] - 1e-6, row[1] + 1e-6

    refused(forge, "a matrix is not the one that the method states")


def test_a_tiny_chance_for_an_impossible_move():
    def forge(f: PramForgery) -> None:
        f.matrices[0]["chances"][0][8] = 1e-10
        f.changed["age"][first_row(f, "age", 0)] = 8

    refused(forge, "a matrix is not the one that the method states")


def test_the_method_states_another_matrix():
    def forge(f: PramForgery) -> None:
        f.method["matrices"]["age"] = "9B(.7;3)"

    refused(forge, "a matrix is not the one that the method states")


def test_a_matrix_of_other_counts():
    def forge(f: PramForgery) -> None:
        entry = next(m for m in f.matrices if m["stratum"] == ["N"])
        chances = np.array(entry["chances"])
        chances[:4, :4] = read_notation("4F(.8)").chances(np.array([1.0, 2, 3, 4]))
        entry["chances"] = chances.tolist()

    refused(forge, "a matrix is not the one that the method states")


def test_a_matrix_that_is_not_invariant(monkeypatch):
    def forge(f: PramForgery) -> None:
        plain = np.array(f.matrices[0]["chances"])
        plain[:4, :4] = 0.999 * plain[:4, :4] + 0.001 * read_notation("4F(.8)").chances(np.array([9.0, 2, 3, 4]))
        f.matrices[0]["chances"] = plain.tolist()
        # As if the checker made the same mistake: the counts give it away all the same.
        monkeypatch.setattr(randomised, "stated_matrix", lambda *_: plain[:4, :4])

    refused(forge, "the expected counts are not those before", "invariant")


@pytest.mark.parametrize("way", ["from", "to"])
def test_unknown_codes_may_not_move(way):
    def forge(f: PramForgery) -> None:
        codes, chances = f.matrices[0]["codes"], np.array(f.matrices[0]["chances"])
        one, two = (0, 1) if way == "from" else (1, 0)
        chances[one, one] -= 0.01
        chances[one, two] += 0.01
        f.matrices[0]["chances"] = chances.tolist()
        f.method["matrices"]["job"] = {
            a: dict(zip(codes, row, strict=True)) for a, row in zip(codes, chances, strict=True)
        }
        f.method["codes"] = {}

    refused(forge, "a matrix moves codes that stand for 'unknown'", "named")


def test_a_matrix_that_moves_nothing():
    def forge(f: PramForgery) -> None:
        f.method["matrices"]["sex"] = {"m": {"m": 1.0}, "f": {"f": 1.0}}
        f.matrices[0]["chances"] = [[1.0, 0.0], [0.0, 1.0]]
        f.changed["sex"] = list(f.old["sex"])

    refused(forge, "a matrix leaves every code that occurs as it is", "mapped")


# ---- moves and draws --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [1, -1, 0.4])
def test_moves_that_were_not_counted(by):
    def forge(f: PramForgery) -> None:
        f._count()
        f.recount = False
        moves = f.matrices[0]["moves"]
        moves[0][0], moves[0][1] = moves[0][0] - by, moves[0][1] + by

    refused(forge, "the numbers of moves are not those that are counted")


@pytest.mark.parametrize(("name", "value"), [("changed", [1, 2]), ("rows", 399)])
def test_numbers_that_were_not_counted(name, value):
    def forge(f: PramForgery) -> None:
        f.forged[name] = value

    refused(forge, "the numbers of changed codes are not those that are counted")


def test_an_impossible_move():
    def forge(f: PramForgery) -> None:
        f.changed["age"][first_row(f, "age", 0)] = 8

    refused(forge, "a code became one that it has no chance to become")


def test_a_code_that_the_matrix_does_not_have():
    def forge(f: PramForgery) -> None:
        f.changed["age"][first_row(f, "age", 0)] = 77
        f.recount = False

    refused(forge, "a code was published that the matrix does not have", alone=False)


def test_codes_that_were_not_drawn_at_all():
    def forge(f: PramForgery) -> None:
        f.changed["job"] = list(f.old["job"])

    refused(forge, "codes moved far more or less often than the stated chances allow", "invariant")


def test_one_code_that_the_key_does_not_draw():
    def forge(f: PramForgery) -> None:
        row = next(i for i, (a, b) in enumerate(zip(f.old["job"], f.changed["job"], strict=True)) if a != b)
        f.changed["job"][row] = f.old["job"][row]

    refused(forge, "1 code is not what the secret key draws", key=KEY)
    # Without the key one code more or less is not seen, and the verdict says that draws are asserted.
    forgery = PramForgery("strata")
    forge(forgery)
    verdict = forgery.verdict()
    assert verdict.holds
    assert any("drawn at random with the stated chances" in text for text in verdict.asserted)


def test_another_version_of_the_draws():
    def forge(f: PramForgery) -> None:
        f.method["version"] = 2

    refused(forge, "not what the secret key draws", "mapped", key=KEY)


def test_a_key_that_is_said_to_be_a_seed():
    def forge(f: PramForgery) -> None:
        f.facts["insecure"] = True

    refused(forge, "it is not said whether draws came from a seed, or wrongly", key=KEY)


def test_a_seed_that_is_said_to_be_a_key():
    def forge(f: PramForgery) -> None:
        f.facts["insecure"] = False

    refused(forge, "it is not said whether draws came from a seed, or wrongly", "seeded", key=ds.Key.from_seed(5))


def test_nothing_is_said_of_a_seed():
    def forge(f: PramForgery) -> None:
        f.facts["insecure"] = None

    refused(forge, "it is not said whether draws came from a seed, or wrongly")


def test_drawn_twice_with_the_same_draws():
    def forge(f: PramForgery) -> None:
        f.earlier = (f.custodian.steps[0],)
        old = f.custodian.steps[0].changed["sex"].to_pylist()
        f.changed["sex"] = old

        def verdict() -> Verdict:
            lie = replace(f.custodian, steps=(f.step, f.step))
            return check_records(lie, lie.public())

        f.verdict = verdict  # type: ignore[method-assign]

    refused(forge, "a column was drawn twice with the same draws", "mapped", alone=False)


def test_another_claim():
    def forge(f: PramForgery) -> None:
        said = pram_claim(f.method, f.facts)
        f.claim = replace(said, statement="Done as stated: every code was drawn by a notary.")

    refused(forge, "pram does not claim what it may")


def test_facts_that_are_no_matrices():
    def forge(f: PramForgery) -> None:
        f.matrices[0]["codes"].append("10")
        f.recount = False

    refused(forge, "a matrix has other codes than it must")


def test_facts_that_are_no_numbers():
    def forge(f: PramForgery) -> None:
        f.matrices[0]["chances"][0][0] = "much"

    refused(forge, "what is stated of the method cannot be used (ValueError)")


# ---- what is published ------------------------------------------------------------------------------------------


def test_a_matrix_that_was_not_to_be_published():
    done = release("published")
    matrices = done.public.records.matrices
    lie = replace(done.public, records=replace(done.public.records, matrices=matrices[:-1]))
    found = {refusal.message for refusal in check_records(done.custodian, lie).refused}
    assert found == {"the published transition matrices are not those of the evidence"}


def test_a_published_matrix_of_a_column_that_changed_later():
    done = release("published")
    later = ds.Recode("sex", map={"m": "x"}).run(done.custodian.released)
    step = replace(done.custodian.steps[0], evidence=later.evidence, changed=pa.table(later.changed))
    lie = replace(done.custodian, steps=(*done.custodian.steps, step))
    found = {refusal.message for refusal in check_records(lie, lie.public()).refused}
    assert found == {"a published transition matrix does not fit a column that was changed after it"}


@pytest.mark.parametrize("columns", [["area"], ["sex", "sex"]])
def test_columns_are_published_that_have_no_matrix_or_stand_twice(columns):
    def forge(f: PramForgery) -> None:
        f.claim = pram_claim(f.method, f.facts)
        f.method["publish"] = columns

    refused(forge, "a matrix is to be published that readers cannot use", "mapped")


def test_matrices_within_what_readers_do_not_see():
    def forge(f: PramForgery) -> None:
        info = {**f.custodian.original.info, "area": replace(f.custodian.original.about("area"), role="contributor")}
        f.custodian = replace(f.custodian, original=replace(f.custodian.original, info=info))

    refused(forge, "a matrix is to be published that readers cannot use", "unseen", alone=False)


@pytest.fixture
def saved(tmp_path) -> Path:
    release("published").save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds
    return tmp_path / "out"


def test_the_public_file_of_matrices_is_checked(saved):
    file = saved / "public" / "records.matrices.json"
    text = file.read_text(encoding="utf-8")
    assert "0.8" in text
    file.write_text(text.replace("0.8", "0.9", 1), encoding="utf-8")
    reseal(saved)
    assert [refusal.where for refusal in ds.check_folder(saved).refused] == [file.name]


def test_the_public_file_of_matrices_may_not_be_left_out(saved):
    (saved / "public" / "records.matrices.json").unlink()
    reseal(saved)
    found = {refusal.message for refusal in ds.check_folder(saved).refused}
    assert found == {"the published transition matrices are missing"}


def test_a_public_file_of_matrices_that_nobody_asked_for(tmp_path):
    release("mapped").save(tmp_path / "out")
    (tmp_path / "out" / "public" / "records.matrices.json").write_text('{"transition_matrices": []}\n')
    reseal(tmp_path / "out")
    found = {refusal.message for refusal in ds.check_folder(tmp_path / "out").refused}
    assert found == {"a public file is not one that the checker can read back"}


def test_a_saved_key_lets_the_draws_be_checked(tmp_path):
    ds.protect(people(), METHODS["published"]()).save(tmp_path / "out")
    verdict = ds.check_folder(tmp_path / "out")
    assert verdict.holds
    assert any("the one that the secret key draws" in text for text in verdict.proved)
