"""Steps of a release of records that are taken back, and what each step did to unsafe records."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import ParameterError, ProtectionError

AGES = [3, 17, 19, 70, 81, 9, 4, 30, 66, 12]
PEOPLE = ds.Microdata(
    pa.table({"age": AGES, "sex": ["m", "f"] * 5, "pay": list(range(10))}), keys=["age", "sex"], numeric="pay"
)
STEPS = [ds.Recode("age", intervals=[15, 65]), ds.Recode("pay", top=5), ds.LocalSuppress(2)]


def released(**options):
    return ds.protect(PEOPLE, STEPS, rules=ds.KAnonymity(2), keep_order=True, **options)


def test_a_step_is_named_by_number_or_by_words():
    release = released()
    for step in (1, -2, "recode pay"):
        again = release.without(step)
        assert again.public.records.shown()["pay"] == list(range(10))
        assert again.public.records.shown()["age"] == release.public.records.shown()["age"]
        assert again.verify().holds
    assert release.custodian.log["protect"] == [method.record() for method in STEPS]  # as it was


def test_the_rules_stay():
    with pytest.raises(ProtectionError, match="The records are not safe yet"):
        released().without("local_suppress")


def test_another_method_takes_the_place_of_a_step():
    again = released().without("local_suppress", ds.Recode("sex", map={"m": "person", "f": "person"}))
    assert again.public.records.shown()["sex"] == ["person"] * 10
    assert again.verify().holds


def test_a_saved_release_is_taken_back_with_its_own_key_and_order(tmp_path: Path):
    release = ds.protect(PEOPLE, STEPS, rules=ds.KAnonymity(2))
    release.save(tmp_path / "out")
    again = ds.load(tmp_path / "out").without(1)
    assert again.custodian.order.tolist() == release.custodian.order.tolist()
    assert again.public.records.columns["age"].equals(release.public.records.columns["age"])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (3, r"There is no step 3 among 3 steps\. The steps are 0: recode age, 1: recode pay, 2: local_suppress"),
        ("recode", r"'recode' names 2 steps of the release\. Give a number: 0: recode age"),
        ("swap", "'swap' names no step of the release"),
        (True, "True names no step of the release"),
    ],
)
def test_other_steps_are_refused(step, message):
    with pytest.raises(ParameterError, match=message):
        released().without(step)


def test_some_step_must_be_left():
    release = ds.protect(PEOPLE, ds.Recode("pay", top=5))
    with pytest.raises(ParameterError, match=r"No step would be left\. Name methods"):
        release.without(0)


def test_tables_have_no_steps_of_records():
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    with pytest.raises(ParameterError, match=r"without\(\) is for releases of records"):
        release.without(0)


def unsafe(columns: dict[str, list], k: int) -> int:
    """Records whose combination occurs fewer than k times, counted one by one."""
    rows = list(zip(*columns.values(), strict=True))
    return sum(rows.count(row) < k for row in rows)


def test_every_step_says_what_it_did_to_unsafe_records():
    summary = released().summary()
    assert unsafe({"age": AGES, "sex": ["m", "f"] * 5}, 2) == 10
    groups = ["<15" if a < 15 else "15-64" if a < 65 else "65+" for a in AGES]
    left = unsafe({"age": groups, "sex": ["m", "f"] * 5}, 2)
    assert f"recode age: unsafe records 10 to {left} (k_anonymity, k=2)." in summary
    assert f"local_suppress: unsafe records {left} to 0 (k_anonymity, k=2)." in summary
    assert "recode pay: unsafe" not in summary  # no key


def test_each_rule_has_its_sentence_and_none_without_rules():
    rules = [ds.KAnonymity(2, keys=["sex"]), ds.KAnonymity(2, keys=["age"])]
    notes = ds.protect(PEOPLE, STEPS[:1], rules=rules).custodian.log["notes"]
    assert "recode age: unsafe records 10 to 0 (k_anonymity, k=2)." in notes
    assert sum("unsafe records" in note for note in notes) == 1
    assert not any("unsafe" in note for note in ds.protect(PEOPLE, STEPS[:1]).custodian.log["notes"])
