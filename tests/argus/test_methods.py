"""What ``<SUPPRESS>`` becomes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.argus.commands import Protect
from discreet.argus.methods import method_record
from discreet.argus.rules import TableRules
from discreet.argus.run import run_batch
from discreet.errors import NeedsError, ParameterError
from discreet.files.noise_tables import write_noise_table
from discreet.tables import method_from_record


def record(method: str, *numbers: float | None, **options: object) -> dict[str, object]:
    command = Protect(1, method, 1, numbers, ("table.txt",) if method == "CKM" else ())
    return method_record(command, [TableRules(least=4)], False, [], "table.txt", **options)  # type: ignore[arg-type]


def test_numbers_become_settings() -> None:
    assert record("MOD", 5, 1, 1, 1)["settings"] == {"singletons": "sums", "least_contributors": 4}
    assert record("MOD", 5, 0, 0, 0)["settings"] == {"singletons": "none"}
    assert record("MOD", None, None, None, None, None, 0.95, 1.05)["settings"] == {
        "singletons": "sums", "least_contributors": 4, "carried": 5.0,
    }  # fmt: skip
    assert record("GH", 40, 1, 0)["settings"] == {"singletons": "none", "known_within": 40}
    assert record("OPT", 2)["time_limit"] == 120
    assert record("RND", 5) == {"method": "round", "base": 5}
    assert record("RND", 2.5, 1, 3, 1, 1, 1) == {
        "method": "round", "base": 2.5, "steps": 2, "time_limit": 180, "effort": 0,
    }  # fmt: skip


def test_cell_keys_are_the_method_of_that_name() -> None:
    assert method_from_record(record("CKM")) == ds.CellKey(noise="table.txt")
    several = Protect(1, "CKM", 1, (), ("cont.txt", "sep.txt", "2"))
    with pytest.raises(ParameterError, match="more than a batch file can say"):
        method_record(several, [TableRules()], False, [], "cont.txt")


CELL_KEYS = """<OPENMICRODATA> "people.csv"
<OPENMETADATA> "people.rda"
<SPECIFYTABLE> "One""Two"|{value}||
<SAFETYRULE> {rule}
<READMICRODATA>
<SUPPRESS> CKM(1){file}
<WRITETABLE> (1,7,AO+AD+,"safe.txt")
"""
PEOPLE = """<SEPARATOR> ","
One 1
  <RECODEABLE>
Two 1
  <RECODEABLE>
Key 12
  <RECORDKEY>
Pay 4
  <NUMERIC>
"""
NOISE = ds.CellKey(D=3, V=2, js=0).table


def batch(folder: Path, value: str = "<freq>", rule: str = "FREQ(3,30)", file: str = "") -> Path:
    """A batch of cell keys beside three hundred people."""
    rng = np.random.default_rng(1)
    codes = zip(rng.choice(list("xyz"), 300), rng.choice(list("ab"), 300), rng.random(300), strict=True)
    (folder / "people.csv").write_text("".join(f"{one},{two},{key:.10f},{7}\n" for one, two, key in codes))
    (folder / "people.rda").write_text(PEOPLE)
    write_noise_table(NOISE, folder / "noise.txt", layout="argus")
    (folder / "job.arb").write_text(CELL_KEYS.format(value=value, rule=rule, file=file))
    return folder / "job.arb"


def test_a_batch_changes_counts_as_the_method_does(tmp_path: Path) -> None:
    (done,) = run_batch(batch(tmp_path, file='"noise.txt"')).runs
    assert done.verdict.holds
    lines = [line.split(",") for line in (tmp_path / "people.csv").read_text().splitlines()]
    people = pa.table({"One": [x[0] for x in lines], "Two": [x[1] for x in lines], "Key": [float(x[2]) for x in lines]})
    by = {"One": ds.Hierarchy.flat(list("xyz")), "Two": ds.Hierarchy.flat(list("ab"))}
    table = ds.tabulate(people, by=by, record_key="Key").assess(ds.MinFrequency(3))
    expected = ds.protect(table, ds.CellKey(noise=NOISE)).public.tables[0].value
    assert np.array_equal(done.release.public.tables[0].value, expected)
    assert not np.array_equal(expected, table.value)
    written = [line.split(";") for line in (tmp_path / "safe.txt").read_text().splitlines()]
    assert [int(row[2]) for row in written] == expected.tolist()
    assert all(int(row[2]) - int(row[3]) == int(row[4]) for row in written)


def test_a_batch_without_a_noise_table_says_which_one_it_takes(tmp_path: Path) -> None:
    done = run_batch(batch(tmp_path))
    assert "CKM names no noise table; the usual one of the method is taken" in done.log
    assert done.runs[0].release.custodian.evidence[0].method["D"] == ds.CellKey().D


def test_cell_keys_of_a_batch_are_for_counts(tmp_path: Path) -> None:
    with pytest.raises(NeedsError, match="does not know how large their noise is"):
        run_batch(batch(tmp_path, '"Pay"', "P(10)", '"noise.txt"'))


def test_an_encoding_that_was_guessed_stands_in_the_log(job: Path) -> None:
    (job.parent / "region.cdl").write_bytes("Nr,Nördlich\n".encode("latin-1"))
    done = run_batch(job)
    note = "region.cdl is not UTF-8 and was read as Latin-1."
    assert f"note: {note}" in done.log
    assert note in done.runs[0].release.custodian.log["notes"]
    assert done.runs[1].release.custodian.log["inputs"].keys() >= {"region.cdl", "region2.hrc", "stand_in.asc"}
