"""All attacks at once: on copies, on independent files, on files that are half copies; and what cannot be attacked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.attack import ControlledAttack, RecordAttack, attack_synthetic
from discreet.attack.synthetic.controlled_attack import success_rate
from discreet.progress import Step, reporting
from tests.attack.made_files import KEYS, SECRET, people, shuffled

MANY = 400
NAMES = {
    "copies",
    "closest record",
    "singling out by one column",
    "singling out by 3 columns",
    "replicated uniques",
    "attribute",
    "inference",
    "inference by majority",
    "linkability",
    "membership by distance",
    "membership by density",
}


@pytest.fixture(scope="module")
def original() -> pa.Table:
    return people(MANY, 21)


@pytest.fixture(scope="module")
def held() -> pa.Table:
    return people(MANY, 22)


@pytest.fixture(scope="module")
def foreign(original, held):
    return attack_synthetic(original, people(MANY, 24), held, keys=KEYS, secret=SECRET)


@pytest.fixture(scope="module")
def copied(original, held):
    return attack_synthetic(original, shuffled(original, 4), held, keys=KEYS, secret=SECRET)


@pytest.fixture(scope="module")
def half(original, held):
    made = pa.concat_tables([original.slice(0, MANY // 2), people(MANY // 2, 25)])
    return attack_synthetic(original, shuffled(made, 6), held, keys=KEYS, secret=SECRET)


def beyond(attack: RecordAttack) -> float:
    return attack.risk if isinstance(attack, ControlledAttack) else attack.advantage


def test_a_file_of_strangers_gives_nobody_away(foreign):
    assert {attack.attack for attack in foreign} == NAMES
    for attack in foreign:
        if isinstance(attack, ControlledAttack):
            assert attack.risk_interval().low == 0, attack
        else:
            low, high = attack.interval()
            assert low <= attack.baseline <= high, attack
    assert foreign.not_run == ()


def test_a_copied_file_gives_everything_away(copied):
    assert copied["copies"].share == copied["closest record"].share == 1
    for attack in copied:
        if attack.attack not in (
            "inference",
            "inference by majority",
            "linkability",
            "attribute",
            "replicated uniques",
        ):
            assert attack.share == 1, attack
            assert beyond(attack) == 1, attack
        else:  # those who share their keys with others are not told apart by them
            assert beyond(attack) > 0.4, attack
            assert attack.interval().low > attack.baseline, attack


def test_of_a_file_that_is_half_copies_about_half_is_given_away(half, copied):
    assert half["copies"].share == 0.5
    assert 0.4 < beyond(half["closest record"]) < 0.6
    for attack in half:
        if isinstance(attack, ControlledAttack):
            assert attack.risk_interval().low > 0, attack
            assert attack.risk < beyond(copied[attack.attack]), attack
    # Of 800 tried, the 200 that were copied come first; a third of the 200 places left goes to the other 200 members.
    assert half["membership by distance"].share == pytest.approx(2 / 3, abs=0.05)
    assert half["membership by distance"].found_at(0.01) == pytest.approx(0.5, abs=0.05)


def test_without_held_out_records_it_says_what_was_not_run(original):
    found = attack_synthetic(original, original, keys=KEYS, secret=SECRET)
    assert "membership and nearness, because no records were held out (holdout=)." in found.not_run
    assert any("the control of other attacks" in reason for reason in found.not_run)
    assert not [attack for attack in found if attack.attack.startswith(("membership", "closest"))]
    assert "not run: membership" in found.summary()
    inference = found["inference"]
    assert isinstance(inference, ControlledAttack)
    assert (inference.control_share, inference.risk) == (None, inference.share)
    assert "held out" not in inference.summary()


def test_without_keys_or_secrets_it_says_so(original):
    found = attack_synthetic(original, original)
    assert found.not_run[0].startswith("replicated uniques, attribute, inference and linkability, because no keys")
    found = attack_synthetic(original, original, keys=KEYS)
    assert found.not_run[0] == "attribute and inference, because no secret was named (secret=)."
    assert found["replicated uniques"].share > 0.3
    everything = attack_synthetic(original, original, keys=original.column_names)
    assert "linkability, because every column is a key and none is left for a second file." in everything.not_run
    one = attack_synthetic(original, original, people(1, 9), keys=KEYS)
    assert any("membership by density, because it divides" in reason for reason in one.not_run)


def test_roles_of_the_original_are_keys_and_secrets(original):
    records = ds.Microdata(original, keys=KEYS, sensitive=["job", "pay"])
    found = attack_synthetic(records, original)
    assert set(found.disclosures) == {"job", "pay"}
    assert [attack.attack for attack in found].count("inference") == 2
    assert [attack.attack for attack in found].count("replicated uniques") == 1
    note = "Numbers with very many values were looked up in groups: 'pay' in 20 groups (groups=)."
    assert note in found.disclosures["pay"].attribute.notes
    assert note in found.summary()
    told = attack_synthetic(records, original, groups={"pay": 4})
    assert note not in told.summary()


def test_a_masked_release_is_attacked_like_a_file(original):
    records = ds.Microdata(original, keys=KEYS, sensitive=SECRET, numeric=["pay", "rent"])
    release = ds.protect(records, ds.Microaggregate(k=3, columns=["pay", "rent"], missing="apart"))
    found = attack_synthetic(records, release)
    assert found["copies"].share < 0.2
    assert found["inference"].share > 0.5  # keys and job were not altered
    public = attack_synthetic(records, release.public.records)
    assert public["copies"].right == found["copies"].right


def test_the_frame_has_a_row_for_each_attack(foreign):
    frame = foreign.to_frame()
    assert frame["attack"].to_pylist() == [attack.attack for attack in foreign]
    assert frame["share"].to_pylist() == [attack.share for attack in foreign]
    known = dict(zip(frame["attack"].to_pylist(), frame["held_out"].to_pylist(), strict=True))
    assert known["inference"] == foreign["inference"].control_share
    assert np.isnan(known["membership by distance"])
    assert len(foreign) == len(NAMES)
    with pytest.raises(ds.DiscreetError, match=r"No attack is called 'guess'\. There are 'copies', 'closest record'"):
        foreign["guess"]


def test_the_order_of_rows_does_not_matter(original, held):
    made = people(150, 7)
    first = attack_synthetic(original, made, held, keys=KEYS, secret=SECRET, attempts=60)
    second = attack_synthetic(
        shuffled(original, 1), shuffled(made, 2), shuffled(held, 3), keys=KEYS, secret=SECRET, attempts=60
    )
    for one, other in zip(first, second, strict=True):
        assert one.right == pytest.approx(other.right), one.attack
        assert one.baseline == pytest.approx(other.baseline), one.attack


def test_progress_is_reported_in_parts(original):
    heard: list[Step] = []
    with reporting(heard.append):
        attack_synthetic(original, original, keys=KEYS, attempts=20)
    assert {step.stage for step in heard} == {"attacks on records"}
    assert heard[-1].done == heard[-1].total


def with_column(table: pa.Table, name: str, values: list[object]) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def test_other_columns_and_types_are_named(original, held):
    renamed = original.rename_columns(["Age", *original.column_names[1:]])
    with pytest.raises(ds.DiscreetError, match="Columns of the released file are not in the original: 'Age'"):
        attack_synthetic(original, renamed)
    text = with_column(original, "age", [str(age) for age in original["age"].to_pylist()])
    text = with_column(text, "sex", [1] * MANY)
    with pytest.raises(
        ds.DiscreetError,
        match=r"released file hold other types than the original: 'age' \(text instead of numbers\), 'sex' \(numbers",
    ):
        attack_synthetic(original, text)
    with pytest.raises(ds.DiscreetError, match=r"the hold-out file hold other types than the original: 'age' \(text"):
        attack_synthetic(original, original, with_column(held, "age", ["x"] * MANY))
    with pytest.raises(ds.DiscreetError, match="Columns are missing in the hold-out file: 'rent'"):
        attack_synthetic(original, original, held.drop_columns(["rent"]))
    with pytest.raises(ds.DiscreetError, match=r"Columns are missing in the released file: 'job'\. It has 'age'"):
        attack_synthetic(original, original.drop_columns(["job"]), keys=KEYS, secret="job")
    with pytest.raises(ds.DiscreetError, match="have no column in common that can be compared"):
        attack_synthetic(pa.table({"x": [1]}), pa.table({"x": [1]}), columns=[])


def test_names_that_do_not_fit_together_are_refused(original):
    with pytest.raises(ds.DiscreetError, match="'age' stands in keys= and secret="):
        attack_synthetic(original, original, keys=KEYS, secret=["age"])
    with pytest.raises(ds.DiscreetError, match="groups= names 'rent', which nobody looks up"):
        attack_synthetic(original, original, keys=KEYS, secret=SECRET, groups={"rent": 4})


def test_a_column_that_was_not_released_is_noted(original):
    found = attack_synthetic(original, original.drop_columns(["rent"]), keys=KEYS)
    assert "note: Not in the released file, and not compared: 'rent'." in found.summary()


def test_empty_files_and_columns_are_refused(original, held):
    empty = original.slice(0, 0)
    for files, where in (
        ((empty, original, held), "original"),
        ((original, empty), "released"),
        ((original, original, empty), "hold-out"),
    ):
        with pytest.raises(ds.DiscreetError, match=f"There are no records in the {where} file"):
            attack_synthetic(*files)
    gone = with_column(original, "age", [None] * MANY)
    with pytest.raises(ds.DiscreetError, match="Column 'age' is empty in every record of the released file"):
        attack_synthetic(original, gone, keys=KEYS)
    with pytest.raises(ds.DiscreetError, match="Column 'age' is empty in every record of the original file"):
        attack_synthetic(gone, original, keys=KEYS)
    assert attack_synthetic(original, gone)["copies"].share == 0  # empty columns that nobody looks up are compared


def test_records_that_were_used_are_not_held_out(original, held):
    with pytest.raises(ds.DiscreetError, match="100 records of the 100 held out occur in the original, too"):
        attack_synthetic(original, original, shuffled(original, 1).slice(0, 100))
    some = pa.concat_tables([held.slice(0, 300), original.slice(0, 20)])
    found = attack_synthetic(original, original, some)
    assert "20 records of the 320 held out equal original records in all columns" in found.summary()
    named = [table.append_column("id", pa.array(range(MANY))) for table in (original, held)]
    with pytest.raises(ds.DiscreetError, match="400 records of the 400 held out occur in the original, too"):
        attack_synthetic(ds.Microdata(named[0], identifier="id"), original, named[1])


def test_codes_for_unknown_are_gaps():
    original = ds.Microdata(pa.table({"age": [20, 30, 99, 40]}), numeric="age", missing_codes={"age": ["99"]})
    made = pa.table({"age": pa.array([None, 20, 99, 30])})
    found = attack_synthetic(original, made)
    assert found.closest.to_original.tolist() == [0.0, 0.0, 0.0, 0.0]


def test_numbers_that_were_read_as_text_are_noted(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,sex\n" + "\n".join(f"{20 + i},f" for i in range(40)))
    assert "Numbers were given as text and are compared as codes: 'age'" in attack_synthetic(path, path).summary()
    records = ds.Microdata(path, numeric="age")
    assert "as text" not in attack_synthetic(records, str(path)).summary()


def test_a_share_that_is_always_right_leaves_no_risk_to_be_told():
    every, none = np.ones(4), np.zeros(4)
    held = RecordAttack("inference", "guess it", "records", np.arange(4), every, 0.1)
    sure = ControlledAttack("inference", "guess it", "records", np.arange(4), every, 0.1, control=held)
    assert np.isnan(sure.risk)
    assert "the risk cannot be told" in sure.summary()
    worse = ControlledAttack("inference", "guess it", "records", np.arange(4), none, 0.1, control=held, scale=0.5)
    assert (worse.control_share, worse.risk, worse.risk_interval().low) == (0.5, 0.0, 0.0)


def test_shares_out_of_reach_are_refused():
    with pytest.raises(ds.DiscreetError, match="3 right guesses of 2 make no share"):
        success_rate(3, 2)
    with pytest.raises(ds.DiscreetError, match="confidence=1 is not allowed"):
        success_rate(1, 2, 1)
