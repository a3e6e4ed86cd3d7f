"""Every file of the checker is weakened in some group."""

from __future__ import annotations

from tests.mutants.__main__ import SOURCE
from tests.mutants.targets import GROUPS
from tests.mutants.weaken import weakenings


def test_no_check_is_left_out():
    weakened = {path for group in GROUPS.values() for pattern in group.files for path in SOURCE.glob(pattern)}
    there = {path for path in (SOURCE / "verify").rglob("*.py") if weakenings(path, path.name)}
    assert sorted(path.name for path in there - weakened) == []


def test_no_file_of_records_is_weakened_twice():
    groups = ("verify", "records", "record-formats")
    files = [f for name in groups for f in GROUPS[name].files if "/records/" in f]
    assert len(files) == len(set(files))
