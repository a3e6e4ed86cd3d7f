"""Card 003-28, μ-ARGUS: keys, thresholds, local suppression by priorities, files and a log that repeats the job."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.verbs.load import load
from discreet.verbs.replay import replay

VARIABLES = {"REGION": (1, 1), "SEX": (2, 2), "AGE": (3, 3), "JOB": (4, 3)}
"""Where each variable stands, and its identification level."""


def files(folder: Path, priorities: dict[str, int]) -> Path:
    rng = np.random.default_rng(28)
    shares = [0.45, 0.3, 0.2, 0.03, 0.02]
    rows = ["".join(str(rng.choice(5, p=shares)) for _ in VARIABLES) for _ in range(400)]
    (folder / "people.asc").write_text("".join(f"{row}\n" for row in rows), encoding="ascii")
    lines = []
    for name, (start, level) in VARIABLES.items():
        lines += [f'{name} {start} 1 "9"', "  <RECODABLE>", f"  <IDLEVEL> {level}"]
        lines += [f"  <SUPPRESSPRIORITY> {priorities[name]}"] if name in priorities else []
    (folder / "people.rda").write_text("\n".join(lines) + "\n", encoding="ascii")
    return folder / "people.asc"


def safe(folder: Path, threshold: int, priorities: dict[str, int]) -> tuple[ds.Release, list[tuple[str, ...]]]:
    read = ds.read_argus(files(folder, priorities))
    sets = ds.level_combinations(read.levels)
    rule = ds.KAnonymity(threshold + 1, combinations=sets)
    step = ds.LocalSuppress(threshold + 1, size=len(sets[0]), importance=read.importance)
    return ds.protect(read.microdata, step, rules=rule), sets


def rarest(columns: dict[str, list], keys: tuple[str, ...]) -> int:
    """The least frequency of a key value, counted by hand."""
    rows = list(zip(*(columns[name] for name in keys), strict=True))
    return min(rows.count(row) for row in set(rows))


@pytest.mark.parametrize("threshold", [1, 2, 4])
def test_no_key_value_at_or_below_the_threshold_remains(tmp_path, threshold):
    release, sets = safe(tmp_path, threshold, {})
    shown = release.public.records.shown()
    assert sets == [("REGION", "SEX", "AGE"), ("REGION", "SEX", "JOB")]
    for keys in sets:
        for size in range(1, len(keys) + 1):
            assert all(rarest(shown, part) > threshold for part in combinations(keys, size))
    before = ds.read_argus(tmp_path / "people.asc").microdata
    at_threshold = before.assess(ds.KAnonymity(threshold + 1, combinations=sets)).assessment.unsafe
    assert at_threshold > (0,)


def test_priorities_change_only_the_choice_of_blanks(tmp_path):
    blanks = {}
    for dear in ("AGE", "JOB"):
        folder = tmp_path / dear
        folder.mkdir()
        release, sets = safe(folder, 2, {dear: 1000})
        shown = release.public.records.shown()
        original = release.custodian.original.columns.to_pydict()
        for name in VARIABLES:
            left = [code for code in shown[name] if code is not None]
            assert all(left.count(code) <= original[name].count(code) for code in set(left))
        assert all(rarest(shown, keys) > 2 for keys in sets)
        blanks[dear] = {name: shown[name].count(None) for name in VARIABLES}
    assert blanks["AGE"]["AGE"] < blanks["JOB"]["AGE"]
    assert blanks["JOB"]["JOB"] < blanks["AGE"]["JOB"]


def test_the_log_alone_repeats_the_job(tmp_path):
    release, _ = safe(tmp_path, 2, {"JOB": 10})
    release.save(tmp_path / "out", formats=["asc"])
    again = replay(load(tmp_path / "out"))
    assert again.public.records.columns.equals(release.public.records.columns)
