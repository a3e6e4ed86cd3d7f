"""``ds.risk(file, original=...)`` and ``discreet risk --original``: two files that are no release, by one call."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv

import discreet as ds
from discreet.cli import main
from discreet.errors import InputError, ParameterError

ROWS = 120
LINKAGE = {"nearest", "nearest (range)", "probabilistic", "kernel", "Mahalanobis (zero)", "Mahalanobis (aligned)"}


def files(seed=1, rows=ROWS):
    draw = np.random.default_rng(seed)
    pay, tax = draw.lognormal(7, 0.5, rows).round(2), draw.lognormal(5, 0.5, rows).round(2)
    sex, area = draw.choice(["f", "m"], rows), draw.choice(["n", "s", "w"], rows)
    before = pa.table({"id": [f"p{i}" for i in range(rows)], "sex": sex, "area": area, "pay": pay, "tax": tax})
    before = before.append_column("ill", pa.array(np.where(pay > 1100, "yes", "no")))
    noise = draw.normal(size=(2, rows))
    moved = pay * (1 + noise[0] / 10), tax * (1 + noise[1] / 10)
    return before, before.set_column(3, "pay", pa.array(moved[0])).set_column(4, "tax", pa.array(moved[1]))


BEFORE, AFTER = files()
KEYS, NUMBERS = ["sex", "area"], ["pay", "tax"]


def test_every_way_of_linking_is_that_of_the_attack_itself():
    found = ds.risk(AFTER, keys=KEYS, sensitive="ill", original=BEFORE, numeric=NUMBERS, same_order=True)
    assert {one.attack for one in found.attacks} >= LINKAGE
    assert found.attacks["nearest"].right == ds.attack.link(BEFORE, AFTER, KEYS + NUMBERS).right
    aligned = ds.attack.link(BEFORE, AFTER, NUMBERS, way="mahalanobis", covariance="aligned", blocking=KEYS)
    assert found.attacks["Mahalanobis (aligned)"].right == aligned.right
    told = ds.attack.interval_disclosure(BEFORE, AFTER, NUMBERS)
    assert found.attacks["interval (±0.05 of the ranks)"].share == told.share
    assert "inference" in {one.attack for one in found.attacks}
    assert all("ill" not in one.columns for one in found.attacks if one.what == "name the right record")
    assert found.uniques == ds.risk(AFTER, keys=KEYS).uniques
    assert not found.released


def test_two_files_are_attacked_as_a_release_of_them():
    people = ds.Microdata(BEFORE.drop(["id"]), keys=KEYS, numeric=NUMBERS)
    release = ds.protect(people, ds.AddNoise(NUMBERS, 0.05))
    released = release.custodian.released
    shown = pa.table({name: released[name] for name in released.names})
    two = ds.risk(shown, keys=KEYS, original=people, same_order=True).attacks
    one = ds.audit(release)
    for attack in one.attacks:
        if attack.of_records:
            assert two[attack.attack].right == pytest.approx(attack.right), attack.attack
    assert {each.attack for each in one.attacks} == {each.attack for each in two.attacks}


@pytest.mark.parametrize("seed", range(8))
def test_the_nearest_is_that_of_all_pairs_whatever_the_order_of_rows(seed):
    """Random files; a loop over all pairs of records, numbers by their own deviations, 1 for other codes."""
    before, after = files(seed, 60)
    draw = np.random.default_rng(seed)
    order = draw.permutation(60)
    shuffled = after.take(pa.array(order))
    found = ds.risk(shuffled, keys=KEYS, original=before, numeric=NUMBERS, truth="id").attacks["nearest"]
    unit = [[(c - c.mean()) / c.std() for c in (t[n].to_numpy() for n in NUMBERS)] for t in (before, after)]
    codes = [[t[n].to_numpy(zero_copy_only=False) for n in KEYS] for t in (before, after)]
    right = 0.0
    for i in range(60):
        apart = [
            sum((a[i] - b[j]) ** 2 for a, b in zip(*unit, strict=True))
            + sum(a[i] != b[j] for a, b in zip(*codes, strict=True))
            for j in range(60)
        ]
        near = np.flatnonzero(np.isclose(apart, min(apart), rtol=1e-9, atol=0))
        right += (i in near) / len(near)
    assert found.right == pytest.approx(right)
    by_rows = ds.risk(shuffled, keys=KEYS, original=before, numeric=NUMBERS, truth=np.argsort(order).tolist())
    assert by_rows.attacks["nearest"].right == pytest.approx(right)


def test_nothing_is_taken_for_the_truth_that_nobody_said():
    """Rows in another order would make a file look safe."""
    found = ds.risk(AFTER, keys=KEYS, sensitive="ill", original=BEFORE, numeric=NUMBERS)
    assert not found.attacks.linked
    assert not LINKAGE & {one.attack for one in found.attacks}
    assert "linkage was not tried: nobody says which record is whose" in found.attacks.summary()
    assert "inference" in {one.attack for one in found.attacks}  # what needs no links is tried


def test_identifiers_say_which_record_is_whose_and_are_never_known():
    before = ds.Microdata(BEFORE, keys=KEYS, numeric=NUMBERS, identifier="id")
    after = ds.Microdata(AFTER.take(pa.array(np.arange(ROWS)[::-1])), keys=KEYS, numeric=NUMBERS, identifier="id")
    found = ds.risk(after, original=before).attacks
    assert found["nearest"].right == ds.attack.link(BEFORE, AFTER, KEYS + NUMBERS).right
    assert all("id" not in one.columns for one in found.attacks)


def test_files_of_different_sizes():
    part = AFTER.slice(20, 70)
    found = ds.risk(part, keys=KEYS, original=BEFORE, numeric=NUMBERS, truth="id").attacks
    assert found["nearest"].tried == ROWS
    assert found["nearest"].right == ds.attack.link(BEFORE, part, KEYS + NUMBERS, truth="id").right
    with pytest.raises(InputError, match="nothing says which record is whose"):
        ds.risk(part, keys=KEYS, original=BEFORE, same_order=True)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"truth": "id"}, ParameterError, "say how a file is linked with its original"),
        ({"numeric": ["pay"]}, ParameterError, "say how a file is linked with its original"),
        ({"original": BEFORE, "truth": "id", "same_order": True}, ParameterError, "Both truth= and same_order=True"),
        ({"original": BEFORE.drop(["sex"]), "truth": "id"}, InputError, "There is no column 'sex' in the original"),
        (
            {"original": BEFORE.set_column(0, "id", pa.array(["a"] * ROWS)), "truth": "id"},
            InputError,
            "119 records have the 'id' of an earlier one in the original",
        ),
    ],
)
def test_what_is_not_allowed_is_said(options, error, message):
    with pytest.raises(error, match=message):
        ds.risk(AFTER, keys=KEYS, **options)


def test_a_release_brings_its_original():
    release = ds.protect(ds.Microdata(BEFORE.drop(["id"]), keys=KEYS, numeric=NUMBERS), ds.AddNoise(NUMBERS, 0.05))
    with pytest.raises(ParameterError, match="A release brings its original along"):
        ds.risk(release, original=BEFORE)


def test_other_columns_and_types_are_named_and_the_rest_is_tried():
    bands = AFTER.set_column(3, "pay", pa.array(["low", "high"] * (ROWS // 2))).drop(["tax"])
    before = ds.Microdata(BEFORE, keys=KEYS, numeric=NUMBERS)
    found = ds.risk(bands, keys=KEYS, original=before, same_order=True).attacks
    why = {one.attack: one.why for one in found.not_run}
    assert why["linkage by 'pay'"] == "its released values are of another kind"
    assert why["linkage by 'tax'"] == "the released file has no such column"
    assert found.linked


def test_numbers_in_text_are_pointed_out():
    text = [table.set_column(3, "pay", table["pay"].cast(pa.string())) for table in (BEFORE, AFTER)]
    found = ds.risk(text[1], keys=[*KEYS, "pay"], original=text[0], same_order=True).attacks
    assert any("'pay' is text that holds numbers" in note for note in found.notes)
    assert not any("text that holds" in note for note in ds.risk(AFTER, KEYS, original=BEFORE, same_order=True).notes)


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_the_command_links_two_files(tmp_path):
    for name, table in (("before", BEFORE), ("after", AFTER)):
        csv.write_csv(table, tmp_path / f"{name}.csv")
    words = ("risk", tmp_path / "after.csv", "--original", tmp_path / "before.csv", "--keys", "sex,area,pay")
    done = run(*words, "--numeric", "pay,tax", "--truth", "id", "--json")
    assert done.exit_code == 0, done.output
    told = {row["attack"]: row for row in json.loads(done.stdout)["parts"]["attacks"]}
    by_python = ds.risk(AFTER, keys=[*KEYS, "pay"], original=BEFORE, numeric=NUMBERS, truth="id").attacks
    assert told["nearest"]["share"] == pytest.approx(by_python["nearest"].share)
    assert told["Mahalanobis (aligned)"]["share"] == pytest.approx(by_python["Mahalanobis (aligned)"].share)
    same = run(*words, "--numeric", "pay,tax", "--same-order", "--report", tmp_path / "page.html")
    assert same.exit_code == 0, same.output
    assert "name the right record" in same.output
    assert "Mahalanobis (aligned)" in (tmp_path / "page.html").read_text()
    nobody = run(*words)
    assert nobody.exit_code == 0
    both = run(*words, "--truth", "id", "--same-order")
    assert both.exit_code == 2
    assert run("risk", tmp_path / "after.csv", "--keys", "sex", "--truth", "id").exit_code == 2
