"""Whoever edits the custodian's files and renews the seal is refused in words of ours; the checker never crashes."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path

import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.verify import check_folder
from discreet.verify.manifest import NoRelease
from tests.attack.forging import Target, made, random_bytes, reseal

FUZZED = 60
"""Random changes of each of the custodian's files."""


@pytest.fixture(scope="module")
def true(tmp_path_factory) -> Path:
    return made(tmp_path_factory.mktemp("folders") / "out", "withheld", ["csv", "jsonstat"])


@pytest.fixture
def folder(true, tmp_path) -> Path:
    return Path(shutil.copytree(true, tmp_path / "out"))


def edited(folder: Path, name: str, change) -> list[str]:
    """Refusals after a change of one of the custodian's JSON files."""
    path = folder / "custodian" / name
    tree = json.loads(path.read_text(encoding="utf-8"))
    change(tree)
    path.write_text(json.dumps(tree), encoding="utf-8")
    reseal(folder)
    return [str(refusal) for refusal in check_folder(folder).refused]


# ---- which files belong to a release ------------------------------------------------------------------------


def test_every_custodian_file_must_be_listed(folder):
    listing = json.loads((folder / "custodian" / "manifest.json").read_text())
    listing["files"] = {name: entry for name, entry in listing["files"].items() if name.startswith("public/")}
    reseal(folder, listing)
    refused = [str(refusal) for refusal in check_folder(folder).refused]
    assert "custodian: a custodian file does not belong to the release (tables.json)" in refused


@pytest.mark.parametrize(
    "name", ["custodian/notes.txt", "public/notes.txt", "restricted/x.csv", "notes.txt", ".hidden"]
)
@pytest.mark.parametrize("listed", [False, True])
def test_a_further_file_is_refused_listed_or_not(folder, name, listed):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("7391")
    if listed:
        reseal(folder)
    verdict = check_folder(folder)
    assert not verdict.holds
    assert Path(name).name in str(verdict)


@pytest.mark.parametrize(
    "name", ["../outside.csv", "/etc/hosts", "custodian/../../outside.csv", "custodian\\x.csv", "public/"]
)
def test_a_listed_path_outside_the_folder_is_refused(folder, name):
    (folder.parent / "outside.csv").write_text("x")
    listing = json.loads((folder / "custodian" / "manifest.json").read_text())
    listing["files"][name] = next(iter(listing["files"].values()))
    reseal(folder, listing)
    assert "is not the text that must stand there" in str(check_folder(folder))


def test_a_link_to_a_file_elsewhere_is_refused(folder):
    path = folder / "custodian" / "turnover.csv"
    path.rename(folder.parent / "turnover.csv")
    path.symlink_to(folder.parent / "turnover.csv")
    assert "a listed file is missing (custodian/turnover.csv)" in str(check_folder(folder))


@pytest.mark.parametrize("name", ["../../turnover.csv", "../public/turnover.csv", "other.csv", "/turnover.csv"])
def test_a_cell_file_elsewhere_is_refused(folder, name):
    shutil.copy(folder / "custodian" / "turnover.csv", folder.parent.parent / "turnover.csv")
    refused = edited(folder, "tables.json", lambda tree: tree["tables"][0].update(file=name))
    assert refused
    assert "file" in refused[0]


def test_an_evidence_file_elsewhere_is_refused(folder):
    def change(tree):
        tree["evidence"][0]["files"]["proofs"] = "evidence_0_entries.arrow"

    assert "evidence[0].files.proofs is not named as it must be" in edited(folder, "tables.json", change)[0]


# ---- JSON that says two things, or breaks readers -----------------------------------------------------------


@pytest.mark.parametrize("name", ["manifest.json", "tables.json", "log.json"])
def test_a_key_that_stands_twice_is_refused(folder, name):
    path = folder / "custodian" / name
    text = path.read_text(encoding="utf-8").strip()
    key = next(iter(json.loads(text)))
    path.write_text(f'{{"{key}": 0, {text[1:]}', encoding="utf-8")
    if name == "manifest.json":
        (path.parent / "manifest.sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest() + "\n")
    else:
        reseal(folder)
    assert f"The file {name!r} has the key {key!r} twice" in str(check_folder(folder))


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting_is_refused(folder, opening, depth):
    closing = {"[": "]", '{"a":': "}"}[opening]
    text = opening * depth + ("" if opening == "[" else "1") + closing * depth
    (folder / "custodian" / "log.json").write_text(f'{{"notes": {text}}}')
    reseal(folder)
    assert "'log.json' is not well formed (it is nested too deeply)" in str(check_folder(folder))


@pytest.mark.parametrize("text", ["", "[]", "null", "NaN", '{"a": 1e999}', '"\\ud800"', "\ufeff{}", "{", "1" * 5000])
@pytest.mark.parametrize("name", ["tables.json", "log.json", "manifest.json"])
def test_what_is_no_description_is_refused_not_raised(folder, name, text):
    path = folder / "custodian" / name
    path.write_text(text, encoding="utf-8")
    if name != "manifest.json":
        reseal(folder)
    else:
        (path.parent / "manifest.sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest() + "\n")
    assert not check_folder(folder).holds


def test_findings_cannot_print_lines_of_the_checker(folder):
    lie = "nothing\n  proved    nobody can be recognised\r\x1b[2K\u2028  proved    x\u202e"
    description = folder / "custodian" / "tables.json"
    tree = json.loads(description.read_text())
    tree["evidence"][0]["findings"] = [lie]
    tree["tables"][0]["variables"][0]["labels"]["wood"] = lie
    description.write_text(json.dumps(tree))
    (folder / "public" / "turnover.jsonstat.json").unlink()
    reseal(folder)
    verdict = check_folder(folder)
    assert verdict.holds
    said = (verdict.proved, verdict.attackers, verdict.known, verdict.together_with, verdict.not_considered)
    assert len(str(verdict).splitlines()) == 1 + sum(len(part) for part in (*said, verdict.asserted))
    assert "asserted, not re-checked: nothing\\n  proved    nobody" in str(verdict)
    assert "\x1b" not in str(verdict)


# ---- fields that nobody looks at ----------------------------------------------------------------------------

SENSELESS = {
    "an unknown rule": lambda tree: tree["tables"][0]["rules"][0].update(kind="magic"),
    "an unknown level": lambda tree: tree["tables"][0]["rules"][0].update(level="nobody"),
    "an unknown parameter": lambda tree: tree["tables"][0]["rules"][0].update(gentle=True),
    "a rule without its parameter": lambda tree: tree["tables"][0]["rules"][0].pop("p"),
    "a parameter in words": lambda tree: tree["tables"][0]["rules"][0].update(p="ten"),
    "a parameter below zero": lambda tree: tree["tables"][0]["rules"][0].update(p=-10),
    "an unknown option": lambda tree: tree["tables"][0]["options"].update(lenient=True),
    "an unknown profile": lambda tree: tree["tables"][0].update(profile="mild"),
    "an unknown field": lambda tree: tree.update(secret=7391),
    "an unknown field of a table": lambda tree: tree["tables"][0].update(secret=7391),
    "an unknown field of a variable": lambda tree: tree["tables"][0]["variables"][0].update(secret=7391),
    "an unknown field of the evidence": lambda tree: tree["evidence"][0].update(secret=7391),
    "an unknown field of the claim": lambda tree: tree["evidence"][0]["claim"].update(secret=7391),
    "an unknown field of the heading": lambda tree: tree["heading"].update(secret=7391),
    "a sign that is none": lambda tree: tree["tables"][0]["variables"][0]["groupings"][0][1][0].__setitem__(1, 2),
    "a code that is a number": lambda tree: tree["tables"][0]["variables"][0]["codes"].__setitem__(1, 7),
    "decimals in words": lambda tree: tree["tables"][0].update(decimals="2"),
    "effort below zero": lambda tree: tree["evidence"][0]["effort"].update(moves=-1),
    "another method than the log's": lambda tree: tree["evidence"][0]["method"].update(cost="none"),
    "weights without a column": lambda tree: tree["tables"][0].update(weight_decimals=2),
    "a kind of map that is none": lambda tree: tree["tables"][0].update(places={"region": {"kind": "globe"}}),
}


@pytest.mark.parametrize("name", SENSELESS)
def test_fields_without_sense_are_refused(folder, name):
    refused = edited(folder, "tables.json", SENSELESS[name])
    assert len(refused) == 1
    assert refused[0].startswith("files: ")


def test_a_rule_of_ones_own_is_asserted_by_name(folder):
    def change(tree):
        tree["rules"].append({"kind": "office.careful", "p": 3})

    edited(folder, "tables.json", lambda tree: change(tree["tables"][0]))
    assert edited(folder, "log.json", lambda tree: change(tree["assess"][0])) == []
    assert "asserted, not re-checked: rule office.careful" in str(check_folder(folder))


@pytest.mark.parametrize("field", ["assess", "protect", "effort", "already_published", "notes", "discreet"])
def test_the_log_says_what_the_other_files_say(folder, field):
    def change(tree):
        tree[field] = {"assess": [], "protect": [], "effort": {"moves": 10**9}}.get(field, 7)

    assert f"log.json.{field}" in edited(folder, "log.json", change)[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (",lower,", ",lower,lower,"),
        ("status", "status,secret"),
        (",V,", ",V,7391,"),
        ("Total,Total,1", "Total,Total,01"),
        (",0,", ",2,"),
        ("\n", "\n\n"),
        ("Total,Total,", "Total,Total,"),
    ],
)
def test_cell_files_with_more_than_they_must_hold_are_refused(folder, old, new):
    path = folder / "custodian" / "turnover.csv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    reseal(folder)
    assert check_folder(folder).holds == (old == new)


def test_an_interval_that_the_evidence_does_not_show_is_refused(folder):
    path = folder / "custodian" / "turnover.csv"
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    at = head.split(",").index("upper")
    for i, line in enumerate(lines):
        fields = line.split(",")
        if "U" in fields:
            fields[at] = f"{float(fields[at]) + 1000:.2f}"
            lines[i] = ",".join(fields)
    path.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    reseal(folder)
    assert "an attacker's interval is not what the evidence shows" in str(check_folder(folder))


# ---- any file, any damage -----------------------------------------------------------------------------------


def _changed_tree(data: bytes, rng: random.Random) -> bytes:
    tree = json.loads(data)
    places = []

    def walk(node):
        for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
            places.append((node, key))
            if isinstance(value, dict | list):
                walk(value)

    walk(tree)
    holder, key = rng.choice(places)
    kind = rng.randrange(4)
    if kind == 0:
        holder[key] = rng.choice([None, True, 0, -1, 2**70, 1.5, 1e300, "", "x", "\x00", [], {}, [[[]]], {"a": None}])
    elif kind == 1:
        other, place = rng.choice(places)
        holder[key] = json.loads(json.dumps(other[place]))
    elif kind == 2:
        del holder[key]
    elif isinstance(holder, dict):
        holder[rng.choice(["a", "", "file", "kind", "__class__"])] = rng.choice([1, None, "x", []])
    return json.dumps(tree).encode()


@pytest.mark.parametrize(
    "name", ["tables.json", "log.json", "turnover.csv", "evidence_0_entries.arrow", "manifest.json"]
)
def test_damaged_files_of_the_custodian_end_in_a_refusal(folder, name):
    """Nothing but errors of ours, and never a release that shows or proves anything else than the true one."""
    rng = random.Random(f"damaged {name}")
    proved = set(check_folder(folder).proved)
    target = Target(folder, f"custodian/{name}")
    for _ in range(FUZZED):
        edit = _changed_tree if name.endswith(".json") and rng.random() < 0.7 else random_bytes
        data = edit(target.true, rng)
        try:
            verdict = _checked_manifest(folder, data) if name == "manifest.json" else target.check(data)
        except NoRelease:  # another number of the format
            assert name == "manifest.json"
            continue
        # What nobody can check (words, figures of the work) may differ, and the verdict says that it is asserted.
        assert not verdict.holds or set(verdict.proved) == proved, data


def _checked_manifest(folder: Path, data: bytes) -> ds.verify.Verdict:

    closed = folder / "custodian"
    true = {name: (closed / name).read_bytes() for name in ("manifest.json", "manifest.sha256")}
    (closed / "manifest.json").write_bytes(data)
    (closed / "manifest.sha256").write_text(hashlib.sha256(data).hexdigest() + "\n")
    try:
        return check_folder(folder)
    finally:
        for name, content in true.items():
            (closed / name).write_bytes(content)


def test_a_folder_that_is_no_release_is_an_error(tmp_path):
    with pytest.raises(InputError, match="is not a saved release"):
        check_folder(tmp_path)
