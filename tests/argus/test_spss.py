"""Batches over SPSS files: the same as over text."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyreadstat
import pytest

from discreet.argus.data import read_argus
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError
from discreet.files.argus.rda import metadata_text, read_metadata
from discreet.files.argus.records import read_argus_records
from discreet.recipe.batch import run_batch

BATCH = """<OPENMICRODATA> "{data}"
<OPENMETADATA> "{metadata}"
<SPECIFYTABLE> "Size""Region"|"Turnover"||
<SAFETYRULE> NK(2,85)|FREQ(3,30)|MIS(1)
<READMICRODATA>
<SUPPRESS> MOD(1)
<WRITETABLE> (1,3,AS+,"{data}.txt")
"""
VARIABLES = """SIZE {place1} "9"
  <RECODEABLE>
Region {place2}
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
Turnover {place3}
  <NUMERIC>
  <DECIMALS> 1
"""


def survey(folder: Path, missing: bool = False) -> None:
    """The same records as text and as an SPSS file, whose codes have no blanks before them."""
    rows = [(1 + k % 3 if k % 17 else 9, 1 + k % 12, round(5.5 + (k * k) % 97, 1)) for k in range(120)]
    (folder / "firms.asc").write_text("".join(f"{size}{region:>2}{amount:>6}\n" for size, region, amount in rows))
    (folder / "region.hrc").write_text(
        "North\n" + "".join(f"@{n:>2}\n" for n in range(1, 7)) + "South\n" + "".join(f"@{n:>2}\n" for n in range(7, 13))
    )
    columns = {
        "size": [float(r[0]) for r in rows],
        "REGION": [float(r[1]) for r in rows],
        "turnover": [r[2] for r in rows],
    }
    if missing:
        columns["turnover"][7] = None
    pyreadstat.write_sav(pl.DataFrame(columns), str(folder / "firms.sav"), missing_ranges={"size": [9.0]})
    places = {"place1": "1 1", "place2": "2 2", "place3": "4 6"}
    text = VARIABLES.replace("SIZE", "Size")
    (folder / "text.rda").write_text(text.format(**places))
    (folder / "spss.rda").write_text("<SPSS>\n" + text.format(**places))
    (folder / "bare.rda").write_text("<SPSS>\n" + text.format(place1="", place2="", place3=""))


def test_a_batch_over_an_spss_file_gives_what_text_gives(tmp_path: Path) -> None:
    survey(tmp_path)
    written = {}
    for data, metadata in (("firms.asc", "text.rda"), ("firms.sav", "spss.rda"), ("firms.sav", "bare.rda")):
        (tmp_path / "job.arb").write_text(BATCH.format(data=data, metadata=metadata))
        done = run_batch(tmp_path / "job.arb")
        assert done.runs[0].verdict.holds
        written[metadata] = (tmp_path / f"{data}.txt").read_bytes()
    assert written["text.rda"] == written["spss.rda"] == written["bare.rda"]
    assert b'"Total"," 1",' in written["spss.rda"]


def test_metadata_of_spss_files_are_written_back(tmp_path: Path) -> None:
    survey(tmp_path)
    for name in ("spss.rda", "bare.rda"):
        found = read_metadata(tmp_path / name)
        assert found["Size"].missing == ("9",)
        (tmp_path / "again.rda").write_text(metadata_text(found))
        assert read_metadata(tmp_path / "again.rda") == found


def test_spss_files_are_refused_in_words(tmp_path: Path) -> None:
    survey(tmp_path, missing=True)
    metadata = read_metadata(tmp_path / "spss.rda")
    with pytest.raises(InputError, match=r"firms\.sav, line 8: .*Turnover.*a number that is known"):
        read_argus_records(tmp_path / "firms.sav", metadata)
    with pytest.raises(InputError, match=r"describe an SPSS file, and 'firms\.asc' is none"):
        read_argus_records(tmp_path / "firms.asc", metadata)
    (tmp_path / "more.rda").write_text((tmp_path / "spss.rda").read_text() + "Extra 10 1\n  <NUMERIC>\n")
    with pytest.raises(InputError, match=r"no column 'Extra' in the file 'firms\.sav'"):
        read_argus_records(tmp_path / "firms.sav", read_metadata(tmp_path / "more.rda"))


def test_records_of_mu_argus_keep_the_words_of_their_spss_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"sex": [1.0, 2.0, 9.0, 1.0], "JOB": ["a", "b", "a", "a"], "income": [5.5, None, -1.0, 7.0]})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "people.sav"),
        column_labels={"sex": "Sex of the person", "income": "Yearly income"},
        variable_value_labels={"sex": {1.0: "man", 2.0: "woman", 9.0: "unknown"}},
        missing_ranges={"sex": [9.0]},
    )
    (tmp_path / "people.rda").write_text(
        '<SPSS>\nSEX\n <RECODABLE>\n <IDLEVEL> 1\n <CODELIST> "sex.cdl"\nJob\n <RECODABLE>\n <IDLEVEL> 2\n'
        'INCOME 1 6 "-1"\n <NUMERIC>\n <LABEL> "Income"\n'
    )
    (tmp_path / "sex.cdl").write_text("1,male\n2,female\n")
    data = read_argus(tmp_path / "people.sav").microdata
    records = read_record_set(data)
    assert records.columns.to_pydict() == {
        "SEX": ["1", "2", "9", "1"],
        "Job": ["a", "b", "a", "a"],
        "INCOME": [5.5, None, None, 7.0],
    }
    assert records.about("SEX").label == "Sex of the person"
    assert dict(records.about("SEX").value_labels) == {"1": "male", "2": "female"}
    assert records.about("SEX").missing == (("9", "9"),)
    assert records.about("SEX").format.startswith("F")
    assert records.about("INCOME").label == "Income"
    assert records.with_role("key") == ("SEX", "Job")
