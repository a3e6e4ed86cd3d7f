"""Nobody can change a release and have it pass: not by a byte, and not by rewriting what it says."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest

import discreet as ds
from discreet.model.layout import FORMAT
from discreet.verify import check_folder
from tests.attack.changed_suppressions import (
    MUTATIONS,
    NEVER,
    Draft,
    attack,
    changed_bytes,
    level_lowered,
    original_value_changed,
    proof_dropped,
    release,
    value_put_back,
)

TRIALS = 400
PARTS = 5

# ---- bytes --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "out"
    ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress()).save(folder)
    return folder


@pytest.mark.parametrize("part", range(PARTS))
def test_no_byte_of_a_saved_release_can_change(saved, part):
    """`tests/attack/changed_suppressions.py` makes 10,000 such changes."""
    assert check_folder(saved).holds
    assert changed_bytes(saved, TRIALS, part) == []
    assert check_folder(saved).holds


# ---- meaning ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(PARTS))
def test_no_claim_can_be_made_false_unnoticed(part, capsys):
    """Every kind of change a hundred times; `tests/attack/changed_suppressions.py` makes 10,000."""
    trials = 20 * len(MUTATIONS)
    found = attack(trials, seed=1_000 + part)
    assert capsys.readouterr().out == ""
    assert found["changes"] == trials
    assert not any(found[name] for name in NEVER)


# ---- files, resealed ----------------------------------------------------------------------------------------


def reseal(folder: Path) -> None:
    """Recompute all digests, as somebody would who wants to deceive the checker."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not path.name.startswith("manifest"):
            data = path.read_bytes()
            files[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    manifest = folder / "custodian" / "manifest.json"
    manifest.write_text(json.dumps({"format": FORMAT, "files": files}))
    seal = hashlib.sha256(manifest.read_bytes()).hexdigest()
    (folder / "custodian" / "manifest.sha256").write_text(seal + "\n")


@pytest.fixture
def copy(tmp_path) -> Path:
    release().save(tmp_path / "out")
    reseal(tmp_path / "out")
    assert check_folder(tmp_path / "out").holds
    return tmp_path / "out"


def test_every_dropped_relation_is_noticed(copy):
    path = copy / "custodian" / "tables.json"
    text = path.read_text()
    for k in range(2):
        for g in range(len(json.loads(text)["tables"][0]["variables"][k]["groupings"])):
            description = json.loads(text)
            dropped = description["tables"][0]["variables"][k]["groupings"].pop(g)
            path.write_text(json.dumps(description))
            reseal(copy)
            assert not check_folder(copy).holds, dropped


def test_every_dropped_part_of_a_relation_is_noticed(copy):
    path = copy / "custodian" / "tables.json"
    text = path.read_text()
    for k in range(2):
        for g, grouping in enumerate(json.loads(text)["tables"][0]["variables"][k]["groupings"]):
            for p in range(len(grouping[1])):
                description = json.loads(text)
                description["tables"][0]["variables"][k]["groupings"][g][1].pop(p)
                path.write_text(json.dumps(description))
                reseal(copy)
                assert not check_folder(copy).holds, grouping


def test_a_withheld_value_in_a_public_file_is_noticed(copy):
    path = copy / "public" / "turnover_by_region_trade.csv"
    lines = path.read_text().splitlines()
    for at in [i for i, line in enumerate(lines) if line.endswith("X")]:
        changed = [*lines]
        changed[at] = changed[at].replace(",X", "42,V")
        path.write_text("\n".join(changed) + "\n")
        reseal(copy)
        codes = lines[at].split(",")[:2]
        verdict = check_folder(copy)
        assert any(all(code in str(r) for code in codes) for r in verdict.refused), verdict


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text + "Total,Total,1,V\n", "another number of cells"),
        (lambda text: text.replace("region,trade,value,status", "region,trade,value,status,note"), "other columns"),
        (lambda text: text.replace("\n", ",,\n").replace("status,,", "status"), "not a cell of the table"),
        (lambda text: text.replace("Total,Total", "Total,Totall", 1), "not a cell of the table"),
    ],
)
def test_a_public_file_shows_nothing_else(copy, change, message):
    path = copy / "public" / "turnover_by_region_trade.csv"
    path.write_text(change(path.read_text()))
    reseal(copy)
    assert message in str(check_folder(copy))


def test_a_further_public_file_is_noticed(copy):
    (copy / "public" / "extra.csv").write_text("a,b\n")
    assert "does not belong" in str(check_folder(copy))
    reseal(copy)
    assert "cannot read back" in str(check_folder(copy)) or "can read back" in str(check_folder(copy))


def test_cell_files_that_are_not_well_formed_are_refused_not_raised(copy):
    path = copy / "custodian" / "turnover_by_region_trade.csv"
    text = path.read_text()
    for old, new in ((",U,", ",Q,"), ("value", "valuee"), ("Total,Total,", "Total,Total,x"), ("N2a", "N2x")):
        path.write_text(text.replace(old, new, 1))
        reseal(copy)
        assert not check_folder(copy).holds, (old, new)


def test_the_verdict_names_what_was_proved_and_what_was_not(copy):
    text = str(check_folder(copy))
    for words in ("proved", "against", "external", "not considered", "contributors", "asserted, not re-checked"):
        assert words in text
    assert "safe" not in text.replace("unsafe", "")


def test_what_was_refused_is_not_called_proved():
    draft = Draft(release(), random.Random(1))
    value_put_back(draft)
    assert not any("public tables" in text for text in draft.verdict().proved)
    draft = Draft(release(), random.Random(1))
    level_lowered(draft)
    assert not any("levels follow" in text for text in draft.verdict().proved)
    draft = Draft(release(), random.Random(1))
    proof_dropped(draft)
    assert not any("keeps its protection level" in text for text in draft.verdict().proved)
    draft = Draft(release(), random.Random(1))
    original_value_changed(draft)
    assert not any("add up" in text for text in draft.verdict().proved)
