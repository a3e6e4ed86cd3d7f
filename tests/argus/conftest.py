"""A small stand-in survey in ARGUS files."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as ds


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The batch file of the example, beside its data."""
    return ds.generate.argus_example(tmp_path, records=2_000, seed=3)


TAB = """Total;Total;100;9;30;20;S
Total;a;60;5;30;10;S
Total;b;40;4;20;10;S
x;Total;70;6;30;20;S
x;a;45;2;30;15;U
x;b;25;4;10;8;S
y;Total;30;3;15;10;S
y;a;15;3;6;5;S
y;b;15;3;15;0;S
"""
TAB_RDA = """<SEPARATOR> ";"
One
  <RECODEABLE>
Two
  <RECODEABLE>
Amount
  <NUMERIC>
Freq
  <FREQUENCY>
Top1
  <MAXSCORE>
Top2
  <MAXSCORE>
Status
  <STATUS>
"""
TAB_BATCH = """<OPENTABLEDATA> "t.tab"
<OPENMETADATA> "t.rda"
<SPECIFYTABLE> "One""Two"|"Amount"||
<READTABLE> {mode}
<SUPPRESS> {method}
<WRITETABLE> (1,3,{options},"safe.txt")
"""


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A ready-made table with its metadata and a batch file."""
    (tmp_path / "t.tab").write_text(TAB)
    (tmp_path / "t.rda").write_text(TAB_RDA)
    path = tmp_path / "t.arb"
    path.write_text(TAB_BATCH.format(mode=0, method="MOD(1)", options=""))
    return path
