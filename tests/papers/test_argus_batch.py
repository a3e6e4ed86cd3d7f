"""Batch examples of the public test suite of τ-ARGUS: 15 cells, pattern s s s s x u s s s s x x s s s."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import discreet as ds
from discreet.recipe.batch import run_batch

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


SUMS = {
    "A": ((193_879, 18), (18_940, 2)),
    "B": ((147_606, 14), (199_880, 19)),
    "C": ((119_216, 12), (105_736, 10)),
    "D": ((111_806, 11), (151_432, 14)),
}
"""Cents and records of men and women; shares are alike, so that the unsafe cell is the one with two records."""
RECORDS_METADATA = """<SEPARATOR> ","
region 1
  <RECODEABLE>
gender 6
  <RECODEABLE>
  <HIERCODELIST> gender.hrc
  <HIERARCHICAL>
num1 9
  <NUMERIC>
  <DECIMALS> 2
"""
SECOND = """<LOGBOOK> "log.txt"
<OPENMICRODATA> "records.asc"
<OPENMETADATA> "records.rda"
<SPECIFYTABLE> "region""gender"|"num1"|""|""
<SAFETYRULE> FREQ(5,20)|P(20,5)|
<READMICRODATA>
<SOLVER> FREE
<SUPPRESS> OPT(1,1)
<WRITETABLE> (1, 3, AS+FL+, "out.txt")
"""


def test_the_second_batch_example_gives_the_published_total_and_pattern(tmp_path: Path) -> None:
    lines = []
    for region, row in SUMS.items():
        for gender, (cents, records) in zip(("  male", "female"), row, strict=True):
            share = cents // records
            amounts = [share] * (records - 1) + [cents - share * (records - 1)]
            lines += [f"{region},{gender},{amount // 100}.{amount % 100:02d}\n" for amount in amounts]
    (tmp_path / "records.asc").write_text("".join(lines))
    (tmp_path / "records.rda").write_text(RECORDS_METADATA)
    (tmp_path / "gender.hrc").write_text("male\nfemale\n")
    (tmp_path / "job.arb").write_text(SECOND)
    run_batch(tmp_path / "job.arb")
    head, *rows = (tmp_path / "out.txt").read_text().splitlines()
    assert head == '"region","gender","num1","Status"'
    assert rows[0].split(",")[2] == "10484.95"
    letters = {"1": "s", "3": "u", "5": "u", "11": "x"}
    assert "".join(letters[row.rsplit(",", 1)[1]] for row in rows) == "ssssxussssxxsss"


@pytest.mark.skipif("DISCREET_TAU_TESTW" not in os.environ, reason="DISCREET_TAU_TESTW names no folder with the data")
def test_size_by_region_of_the_standard_file(tmp_path: Path) -> None:
    """Card 003-28: 162 cells, 43 empty, 9 unsafe; secondaries worth at most 2,524,351, and the audit passes."""
    for file in Path(os.environ["DISCREET_TAU_TESTW"]).iterdir():
        shutil.copy(file, tmp_path)
    [data], [metadata] = list(tmp_path.glob("*.asc")), list(tmp_path.glob("*.rda"))
    read = ds.read_argus(data, metadata, by=["Size", "Region"], values=["Var2"])
    table = ds.tabulate(read.microdata, by=read.hierarchies, value="Var2", weight=False)
    table = table.assess(ds.PPercent(15), profile="argus")
    assert (table.shape, int((~table.empty).sum()), int(table.unsafe.sum())) == ((9, 18), 119, 9)
    method = ds.Suppress(algorithm="modular", insiders="none", joint=False, repair=True)
    release = ds.protect(table, method)
    hidden = release.custodian.withheld(0) & ~table.unsafe
    assert table.values[hidden].sum() <= 2_524_351
    assert ds.audit(release).short == 0
