"""The pages on releases of records: what they tell the custodian, and what they cannot tell the public."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.release import Release
from discreet.report import public_report, records_report
from discreet.report.record_columns import column_lines, frequencies
from discreet.report.record_risk import key_lines, moves, risk_lines, risk_pair, worst_sets

KEYS = ["age", "sex", "area"]


def table(rows: int = 200) -> Any:
    draw = np.random.default_rng(6)
    return pa.table(
        {
            "person": [f"p{i}" for i in range(rows)],
            "age": draw.integers(20, 40, rows),
            "sex": np.array(["f", "m"])[draw.integers(0, 2, rows)],
            "area": np.array(["N", "S", "W"])[draw.choice(3, rows, p=[0.6, 0.35, 0.05])],
            "ill": np.array(["flu", "none"])[draw.integers(0, 2, rows)],
            "weight": draw.uniform(1, 9, rows).round(1),
            "home": [str(i // 2) for i in range(rows)],
        }
    )


def released(**roles: Any) -> Release[Any]:
    given = {"keys": KEYS, "sensitive": ["ill"], "weight": "weight", "household": "home", "identifier": "person"}
    data = ds.Microdata(table(), **(given | roles))
    steps = [ds.Recode("age", intervals=[25, 30, 35]), ds.LocalSuppress(3)]
    return ds.protect(data, steps, rules=[ds.KAnonymity(3)])


@pytest.fixture(scope="module")
def release() -> Release[Any]:
    return released()


@pytest.fixture(scope="module")
def page(release: Release[Any]) -> str:
    return records_report(release)


def test_the_page_answers_who_why_what_it_cost_what_remains_and_how_to_repeat_it(page: str) -> None:
    headings = re.findall(r"<h2 id=\"\w+\">(\d [^<:]*)", page)
    assert [heading.strip() for heading in headings] == [
        "1 Verdict",
        "2 Who is at risk",
        "3 Why they are at risk",
        "4 What was done",
        "5 What it cost",
        "6 What remains",
        "7 How to repeat it",
    ]
    assert page.count("<svg role=") == 2
    assert "Confidential: for the custodian only." in page


def test_risks_before_and_after_are_those_of_the_two_files(release: Release[Any]) -> None:
    pair = risk_pair(release.custodian)
    assert pair is not None
    before = ds.Microdata(table(), keys=KEYS, sensitive=["ill"], weight="weight", household="home").risk()
    after = ds.risk(release)
    lines = {line.what: line for line in risk_lines(pair)}
    line = lines["records that nobody shares all keys with"]
    assert (line.before, line.after) == (f"{before.uniques}", f"{after.uniques}")
    assert pair.before.file.expected == pytest.approx(before.file.expected)
    assert pair.after.file.expected == pytest.approx(after.file.expected)
    moved = moves(pair)
    assert sum(sum(line.counts) for line in moved) == 200
    classes = np.searchsorted([0.01, 0.05, 0.1, 0.5, 1.0], before.individual)
    assert [sum(line.counts) for line in moved] == np.bincount(classes, minlength=5).tolist()


def test_keys_and_sets_that_are_to_blame_come_first(release: Release[Any]) -> None:
    pair = risk_pair(release.custodian)
    assert pair is not None
    shares = [float(line.before.removesuffix(" %")) for line in key_lines(pair)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0
    assert all(line.unsafe_after == "0" for line in key_lines(pair))
    sets = worst_sets(pair)
    assert [before for _, before, _ in sets] == sorted((before for _, before, _ in sets), reverse=True)
    assert all(after == 0 for _, _, after in sets)


def test_costs_are_told_column_by_column_and_code_by_code(release: Release[Any]) -> None:
    lines = {line.name: line for line in column_lines(release.custodian)}
    assert lines["person"].what == "left out"
    assert lines["home"].what == "numbered anew"
    assert lines["ill"].what == "as it was"
    assert (lines["age"].before, lines["age"].changed) == ("20", "100 %")
    changes = {one.name: one for one in frequencies(release.custodian)}
    assert set(changes) == set(KEYS)
    area = {line.code: line for line in changes["area"].codes}
    assert sum(line.after - line.before for line in area.values()) == 0
    emptied = int(lines["area"].empty_after)
    assert emptied > 0
    assert (area["(empty)"].before, area["(empty)"].after) == (0, emptied)


def test_numbers_with_many_values_are_told_by_their_moments() -> None:
    data = ds.Microdata(pa.table({"income": np.arange(500.0), "sex": ["f", "m"] * 250}), numeric="income", keys=["sex"])
    release = ds.protect(data, ds.Recode("income", top=400))
    (one,) = frequencies(release.custodian)
    assert one.codes == ()
    assert {words: (before, after) for words, before, after in one.numbers}["highest"] == ("499", "400")


def test_without_keys_the_page_says_that_nobody_knows() -> None:
    data = ds.Microdata(table().select(["age", "sex"]), numeric="age", sensitive="sex")
    page = records_report(ds.protect(data, ds.Recode("age", top=35)))
    assert "Nobody has named keys, so nobody knows what remains." in page
    assert "individual risk" not in page


def test_weights_that_cannot_be_used_are_left_out_with_a_note() -> None:
    light = table().set_column(5, "weight", pa.array([0.5] * 200))
    data = ds.Microdata(light, keys=KEYS, weight="weight", identifier="person", household="home")
    release = ds.protect(data, [ds.Recode("age", intervals=[25, 30, 35]), ds.LocalSuppress(3)])
    pair = risk_pair(release.custodian)
    assert pair is not None
    assert pair.notes[0] == "Weights in 'weight' cannot be used for individual risk: some are missing or below 1."
    assert pair.before.fraction is None


def test_many_keys_are_counted_in_smaller_sets() -> None:
    draw = np.random.default_rng(3)
    wide = pa.table({f"k{i}": draw.integers(0, 2, 40) for i in range(30)})
    data = ds.Microdata(wide, keys=list(wide.column_names))
    pair = risk_pair(ds.protect(data, ds.Recode("k0", top=1)).custodian)
    assert pair is not None
    assert pair.before.tables.size == 2


def test_the_public_page_tells_how_to_read_the_file(release: Release[Any]) -> None:
    page = public_report(release.public, notes=["Second edition."])
    assert "How to read the file" in page
    assert "Second edition." in page
    assert "An empty field says nothing about the value behind it" in page
    assert "household: who lives together" in page
    assert release.public.page(title="Persons").count("<h1>Persons</h1>") == 1


def test_the_public_page_sees_nothing_of_the_custodian(release: Release[Any]) -> None:
    """Originals, roles, rules, methods and risks may change: the page stays the same to the byte."""
    expected = public_report(release.public)
    canary = replace(release.custodian, name="canary", rules=(), log={"canary": 1})
    assert public_report(Release(release.public, canary).public) == expected
    for secret in ("p17", "local_suppress", "k_anonymity", "sensitive", "individual risk", "expected to be"):
        assert secret not in expected
    ages = {str(age) for age in table()["age"].to_pylist()}
    shown = set(re.findall(r"<bdi>(\d+)</bdi>", expected))
    assert not ages & shown


def test_labels_of_codes_are_escaped() -> None:
    data = ds.Microdata(
        pa.table({"sex": ["f", "m"] * 20}),
        keys=["sex"],
        labels={"sex": "<b>Sex</b>"},
        value_labels={"sex": {"f": "<i>"}},
    )
    release = ds.protect(data, ds.LocalSuppress(2))
    page = public_report(release.public)
    assert "<b>Sex" not in page
    assert "&lt;b&gt;Sex" in page
