"""Damaged files never crash: they are read, or refused with file and line."""

from __future__ import annotations

import re
from pathlib import Path

from tests.files.argus.fuzz import damaged_files, outcome, readers

PLACED = re.compile(r"line \d+|file '|^The hierarchy file|no <|metadata '|code '")


def test_damaged_files_are_read_or_refused_with_their_place(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    known = readers(work)
    counts = {"read": 0, "refused": 0}
    for damaged in damaged_files(3_000, seed=20):
        path = work / f"damaged-{damaged.name}"
        path.write_bytes(damaged.content)
        said = outcome(known[damaged.name], path)
        counts["read" if said == "read" else "refused"] += 1
        if said != "read":
            assert PLACED.search(said), (damaged.name, said)
    assert counts["refused"] > 1_000
    assert counts["read"] > 300
