"""Releases of records are linked with their originals, and what is found is said with what it takes."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.attack import NotRun, RecordAttack, RecordAudit
from discreet.cli import main
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.report import risk_report
from discreet.report.risk_page import share_class
from discreet.verbs.recoded_knowledge import as_recoded

ROWS = 300


@pytest.fixture(scope="module")
def people() -> ds.Microdata:
    rng = np.random.default_rng(7)
    frame = pa.table(
        {
            "age": rng.integers(16, 90, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "pay": rng.lognormal(7, 1, ROWS).round(),
            "tax": rng.lognormal(5, 1, ROWS).round(),
            "ill": rng.choice(["yes", "no"], ROWS),
        }
    )
    return ds.Microdata(frame, keys=["age", "sex"], numeric=["pay", "tax"], sensitive="ill")


@pytest.fixture(scope="module")
def release(people):
    steps = [ds.Recode("age", intervals=[30, 50, 70]), ds.Microaggregate(["pay", "tax"], k=5)]
    return ds.protect(people, steps)


@pytest.fixture(scope="module")
def audit(release) -> RecordAudit:
    return release.audit()


def test_every_way_of_linking_is_tried_and_the_best_comes_first(audit):
    names = {one.attack for one in audit.attacks}
    assert {"nearest", "probabilistic", "Mahalanobis (zero)", "inference"} <= names
    gains = [one.advantage for one in audit.findings]
    assert gains == sorted(gains, reverse=True)
    assert audit.worst is audit.findings[0]
    assert audit.summary().startswith(f"The best of {len(audit.attacks)} attacks: {audit.worst.attack}")


def test_a_release_that_was_loaded_is_attacked_as_it_was(tmp_path):
    """Draws went by the original values of a row in memory, and by the released ones after loading."""
    rng = np.random.default_rng(3)
    frame = pa.table({name: rng.lognormal(7, 1, 900).round() for name in ("pay", "tax", "rent")})
    people = ds.Microdata(frame, numeric=frame.column_names)
    release = ds.protect(people, ds.AddNoise(frame.column_names, 0.2))
    release.save(tmp_path / "out")
    again = ds.load(tmp_path / "out")
    assert release.custodian.released.identity is None
    for sample in (None, 200):
        before, after = (one.audit(sample=sample) for one in (release, again))
        assert before["singling out by 3 columns"].tried > 100
        for one in before.attacks:
            assert np.array_equal(one.rows, after[one.attack].rows), one.attack
            assert np.array_equal(one.chance, after[one.attack].chance), one.attack


def test_an_intruder_recodes_what_he_has_as_the_file_does(release):
    found = release.audit(columns=["age", "sex"])
    groups = {}
    for row in zip(*(release.custodian.released[name].to_pylist() for name in ("age", "sex")), strict=True):
        groups[row] = groups.get(row, 0) + 1
    assert found["nearest"].right == pytest.approx(len(groups))


def classes_of(release, names):
    """How many combinations of codes the released file has."""
    return len(set(zip(*(release.custodian.released[name].to_pylist() for name in names), strict=True)))


def test_codes_of_single_classes_lead_to_the_class(people):
    """Intervals of local recoding were not compared with ages, and linkage found a third of what it finds."""
    local = ds.protect(people, ds.Generalise(3, algorithm="local"))
    found = local.audit(columns=["age", "sex"])
    assert found["nearest"].right == pytest.approx(classes_of(local, ["age", "sex"]))
    assert not [one for one in found.not_run if one.attack.startswith("linkage")]
    assert any("'age'" in note and "the class is found" in note for note in found.notes)


def test_what_was_blanked_before_it_was_recoded_is_recoded_by_the_intruder(people):
    steps = [ds.LocalSuppress(3), ds.Recode("age", intervals=[30, 50, 70])]
    recoded = ds.protect(people, steps)
    known = as_recoded(recoded.custodian)["age"].to_pylist()
    ages = recoded.custodian.original["age"].to_pylist()
    released = recoded.custodian.released["age"].to_pylist()
    assert all(a == b for a, b in zip(known, released, strict=True) if b is not None)
    assert None not in known
    left = {age for age, code in zip(ages, released, strict=True) if code is not None}
    assert all((age < 30) == (code == "<30") for age, code in zip(ages, known, strict=True) if age in left)
    found = recoded.audit(columns=["age", "sex"])
    assert not [one for one in found.not_run if "age" in one.attack]


def test_noisy_numbers_that_became_intervals_are_still_compared(people):
    noisy = ds.protect(people, [ds.AddNoise(["pay"], 0.1), ds.Recode("pay", intervals=[1000, 2000])])
    known = as_recoded(noisy.custodian)["pay"].to_pylist()
    true = [
        "<1000" if pay < 1000 else "1000-1999" if pay < 2000 else "2000+"
        for pay in noisy.custodian.original["pay"].to_pylist()
    ]
    same = np.mean([one[:4] == other[:4] for one, other in zip(known, true, strict=True)])
    assert same > 0.95
    assert noisy.audit(columns=["pay", "sex"])["nearest"].share > 0


def test_the_best_attack_is_the_one_that_is_right_most_often():
    """Ways within codes that stayed were set beside guesses within these, and the headline was of another way."""
    draw = np.random.default_rng(9)
    areas = [f"a{one}" for one in draw.integers(0, 150, 200)]
    table = pa.table(
        {"area": areas, "pay": draw.lognormal(7, 1, 200).round(2), "tax": draw.lognormal(5, 1, 200).round(2)}
    )
    kept = ds.protect(
        ds.Microdata(table, keys=["area"], numeric=["pay", "tax"]),
        ds.AddNoise(["pay", "tax"], 3, insecure_seed=2),
    )
    linked = [one for one in kept.audit().findings if one.what == "name the right record"]
    assert linked[0].share == max(one.share for one in linked)
    assert {one.baseline for one in linked} == {1 / 200}
    assert kept.audit(columns=["area", "pay"])["kernel"].share > 0.5


def test_a_file_that_nobody_altered_is_found_again_whole(people):
    unaltered = ds.protect(people, ds.Recode("sex", map={"f": "F", "m": "M"}))
    assert unaltered.audit(columns=["pay", "tax"])["nearest"].share == 1


def test_shuffled_numbers_are_not_found_again(people):
    away = ds.protect(people, ds.RankSwap(["pay", "tax"], share=1.0, insecure_seed=3))
    found = away.audit(columns=["pay", "tax"], most=0.5)
    assert found["nearest"].share < 0.05
    assert "rank" in {one.attack for one in found.attacks}


def test_a_limit_decides_whether_the_audit_holds(release, audit):
    assert not audit.holds
    strict, kind = release.audit(most=0.01), release.audit(most=0.999)
    assert not strict.holds
    assert strict.too_often
    assert "right more often than 1.0% allows" in strict.summary()
    assert kind.holds
    assert kind.summary().startswith("No attack is right more often than 99.9%.")


def test_chances_of_records_are_those_of_the_best_attack(audit):
    chances = audit.chances()
    assert len(chances) == ROWS
    of_records = [one for one in audit.attacks if one.of_records]
    assert np.nanmax(chances) == max(one.chance.max() for one in of_records if one.tried)


def test_an_audit_without_attacks_does_not_hold():
    nobody = RecordAudit(5, (), (NotRun("linkage", "no columns"),), most=0.5)
    assert not nobody.holds
    assert "Nobody attacked these 5 records." in nobody.summary()
    assert "linkage was not tried: no columns" in nobody.summary()


def test_an_audit_that_linked_no_records_does_not_hold():
    copies = RecordAttack("copies", "equal an original record", "records", np.arange(5), np.zeros(5), 0.0)
    found = RecordAudit(5, (copies,), (NotRun("linkage", "no way is left"),), most=0.5)
    assert not found.holds
    assert found.summary().startswith("Nobody linked records, so nothing holds")


def test_an_attack_that_is_not_there_is_named(audit):
    with pytest.raises(ParameterError, match=r"no attack 'nearst' in this audit. Did you mean 'nearest'"):
        audit["nearst"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"insiders": "full"}, "options are for tables"),
        ({"pattern": object()}, "options are for tables"),
        ({"most": 1.5}, "most=1.5 is not allowed"),
        ({"sample": 0}, "sample=0"),
    ],
)
def test_impossible_questions_are_refused(release, given, message):
    with pytest.raises(ParameterError, match=message):
        release.audit(**given)


def test_options_for_records_are_refused_for_tables():
    made = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    with pytest.raises(ParameterError, match="for releases of records"):
        ds.audit(made, most=0.1)


def test_without_keys_and_numbers_somebody_must_say_what_an_intruder_has():
    plain = ds.protect(ds.Microdata(pa.table({"job": ["a", "b"] * 10})), ds.Recode("job", map={"a": "c", "b": "d"}))
    with pytest.raises(NeedsError, match="which columns an intruder has"):
        plain.audit()


def test_the_risk_of_a_release_shows_attacks(release):
    found = ds.risk(release)
    assert found.attacks is not None
    best = max((one for one in found.attacks.attacks if one.what == "name the right record"), key=lambda o: o.advantage)
    assert best.attack in {one.measure for one in found.findings}
    assert ds.risk(release, attacks=False).attacks is None
    assert "attacks" in found.to_dict()["parts"]


def test_guesses_and_rows_belong_together():
    with pytest.raises(Exception, match="do not belong together"):
        RecordAttack("a", "b", "records", np.arange(2), np.zeros(3), 0.0)
    with pytest.raises(ParameterError, match="knows='everything'"):
        RecordAttack("a", "b", "everything", np.arange(2), np.zeros(2), 0.0)


def test_a_column_that_is_not_there_is_named(release):
    with pytest.raises(InputError, match="no column 'salary' in the records"):
        release.audit(columns=["salary"])


def test_the_command_audits_saved_records(release, tmp_path):
    release.save(tmp_path / "out")
    run = CliRunner().invoke(main, ["audit", str(tmp_path / "out"), "--most", "0.01", "--json", "--columns", "pay,tax"])
    assert run.exit_code == 5, run.output
    assert json.loads(run.output)["most"] == 0.01
    page = tmp_path / "risk.html"
    run = CliRunner().invoke(main, ["risk", str(tmp_path / "out"), "--report", str(page)])
    assert run.exit_code == 0, run.output
    assert "What attackers find again" in page.read_text()
    outside = tmp_path / "public.html"
    run = CliRunner().invoke(main, ["risk", str(tmp_path / "out"), "--report", str(outside), "--public"])
    assert run.exit_code == 0, run.output
    assert "Confidential" in page.read_text()
    assert "Confidential" not in outside.read_text()
    assert "were right, in classes" in outside.read_text()


def test_a_public_page_does_not_count_original_records():
    """Whole per cents of forty records are numbers of original records."""
    draw = np.random.default_rng(5)
    table = pa.table({"age": [*draw.integers(20, 60, 39).tolist(), 113], "pay": draw.lognormal(7, 1, 40).round(2)})
    small = ds.Microdata(table, keys=["age"], numeric=["pay"])
    risk = ds.risk(ds.protect(small, [ds.Recode("age", intervals=[40]), ds.AddNoise(["pay"], 0.3, insecure_seed=1)]))
    text = risk_report(risk, public=True).split("What attackers find again")[1]
    assert risk.attacks is not None
    assert not re.findall(r">\d+ %<", text)
    classes = set(re.findall(r'<td class="n">([^<]*)</td>', text))
    assert classes == {share_class(one.share) for one in risk.attacks.attacks}
    assert classes <= {"up to 1 %", "1 to 5 %", "5 to 10 %", "10 to 25 %", "25 to 50 %", "above 50 %"}
    assert "113" not in text


def test_the_risk_of_an_original_has_no_public_page(people):
    with pytest.raises(NeedsError, match="this is the risk of the original"):
        risk_report(people.risk(), public=True)
