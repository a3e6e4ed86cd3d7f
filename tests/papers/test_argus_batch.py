"""Batch examples of the public test suite of τ-ARGUS: 15 cells, pattern s s s s x u s s s s x x s s s."""

from __future__ import annotations

from pathlib import Path

from discreet.argus.run import run_batch

CELLS = {
    "Total": (5146, 2757, 2389),
    "A": (1032, 895, 137),
    "B": (1726, 753, 973),
    "C": (1055, 569, 486),
    "D": (1333, 540, 793),
}
METADATA = """<SEPARATOR> ","
<PROTECT> "Z"
region
  <RECODEABLE>
gender
  <RECODEABLE>
  <HIERCODELIST> gender.hrc
  <HIERARCHICAL>
freq
  <NUMERIC>
status
  <STATUS>
lpl
  <NUMERIC> <LOWERPL>
upl
  <NUMERIC> <UPPERPL>
"""
BATCH = """<OPENTABLEDATA> "cells.tab"
<OPENMETADATA> "cells.rda"
<SPECIFYTABLE> "region""gender"|"freq"|""|""
<SAFETYRULE> MAN(20)
<READTABLE>
<SUPPRESS> OPT(1,1)
<WRITETABLE> (1, 3, AS+FL+, "out.txt")
"""


def test_the_first_batch_example_gives_the_published_pattern(tmp_path: Path) -> None:
    lines = [
        f"{region:>5},{gender:>6},{value:>4},{'U' if value == 137 else 'S'},1,1\n"
        for region, row in CELLS.items()
        for gender, value in zip(("Total", "male", "female"), row, strict=True)
    ]
    (tmp_path / "cells.tab").write_text("".join(lines))
    (tmp_path / "cells.rda").write_text(METADATA)
    (tmp_path / "gender.hrc").write_bytes(b"male\r\nfemale\r\n")
    (tmp_path / "job.arb").write_text(BATCH)
    run_batch(tmp_path / "job.arb")
    head, *rows = (tmp_path / "out.txt").read_text().splitlines()
    assert head == '"region","gender","freq","Status"'
    letters = {"1": "s", "9": "u", "11": "x"}
    assert "".join(letters[row.rsplit(",", 1)[1]] for row in rows) == "ssssxussssxxsss"
    assert rows[0].split(",")[2] == "5146"
