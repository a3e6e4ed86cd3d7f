"""Damaged files never crash: they are read, or refused with file and line."""

from __future__ import annotations

import re
from pathlib import Path

from tests.files.argus.fuzz import damaged_files, deep_readers, outcome, readers

PLACED = re.compile(r"line \d+|file '|^The hierarchy file|no <|metadata '|code '")


def test_damaged_files_are_read_or_refused_with_their_place(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    known = readers(work)
    counts = {"read": 0, "refused": 0}
    for damaged in damaged_files(1_300, seed=20):
        path = work / f"damaged-{damaged.name}"
        path.write_bytes(damaged.content)
        said = outcome(known[damaged.name], path)
        counts["read" if said == "read" else "refused"] += 1
        if said != "read":
            assert PLACED.search(said), (damaged.name, said)
    assert counts["refused"] > 500
    assert counts["read"] > 150


def test_damaged_files_never_crash_what_is_made_of_them(tmp_path: Path) -> None:
    known = deep_readers(tmp_path)
    refused: dict[str, list[bool]] = {}
    for damaged in damaged_files(1_350, seed=7):
        if damaged.name in known:
            path = tmp_path / f"damaged-{damaged.name}"
            path.write_bytes(damaged.content)
            said = outcome(known[damaged.name], path)
            refused.setdefault(damaged.name, []).append(said != "read")
            assert said.strip(), damaged.name
    assert sum(map(len, refused.values())) == 810
    # Some damage is harmless and some is not; a reader that takes anything, or nothing, would show here.
    for name, these in refused.items():
        assert 0 < sum(these) < len(these), (name, sum(these), len(these))
