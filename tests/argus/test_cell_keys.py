"""``CKM`` in batch files: counts and magnitudes, with noise tables of the batch or of the metadata."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.argus.cell_keys import cell_key_record
from discreet.errors import ParameterError
from discreet.files.argus.rda import ArgusMetadata, RdaVariable, read_metadata
from discreet.files.noise_tables import read_noise_table, write_noise_table
from discreet.methods.registry import method_from_record
from discreet.recipe.batch import convert_batch, run_batch
from discreet.recipe.schema import read_recipe
from discreet.recipe.to_batch import recipe_batch

CELL_KEYS = """<OPENMICRODATA> "people.csv"
<OPENMETADATA> "people.rda"
<SPECIFYTABLE> "One""Two"|{value}||
<SAFETYRULE> {rule}
<READMICRODATA>
<SUPPRESS> CKM(1){file}
<WRITETABLE> (1,7,AO+AD+AC+,"safe.txt")
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
{more}"""
NOISE = ds.CellKey(D=3, V=2, js=0).table


def batch(folder: Path, value: str = "<freq>", rule: str = "FREQ(3,30)", file: str = "", more: str = "") -> Path:
    """A batch of cell keys beside three hundred people."""
    rng = np.random.default_rng(1)
    pay = rng.lognormal(4, 1, 300).astype(int)
    codes = zip(rng.choice(list("xyz"), 300), rng.choice(list("ab"), 300), rng.random(300), pay, strict=True)
    (folder / "people.csv").write_text("".join(f"{one},{two},{key:.10f},{pay}\n" for one, two, key, pay in codes))
    (folder / "people.rda").write_text(PEOPLE.format(more=more))
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
    total = sum(float(line[2]) for line in lines) % 1
    assert float(written[0][5]) == pytest.approx(total, abs=1e-9)
    assert len(written[0][5]) == len("0.") + 10


def test_a_batch_without_a_noise_table_says_which_one_it_takes(tmp_path: Path) -> None:
    done = run_batch(batch(tmp_path))
    assert "CKM names no noise table; the usual one of the method is taken" in done.log
    assert done.runs[0].release.custodian.evidence[0].method["D"] == ds.CellKey().D


MAGNITUDE = """  <CKM> T(2)
  <INCLUDEZEROS> N
  <SEPARATION> N
  <PARITY> N
  <SCALING> F(0.03,0.30,100,3,0.5)
"""


def test_a_batch_changes_magnitudes_as_the_method_does(tmp_path: Path) -> None:
    job = batch(tmp_path, '"Pay"', "P(10,1)", '"cont.txt"||1', MAGNITUDE)
    write_noise_table(ds.MagnitudeNoise(small=0.1).noise, tmp_path / "cont.txt", layout="argus")
    (done,) = run_batch(job).runs
    assert done.verdict.holds
    lines = [line.split(",") for line in (tmp_path / "people.csv").read_text().splitlines()]
    columns = {"One": 0, "Two": 1}
    people = pa.table(
        {name: [line[k] for line in lines] for name, k in columns.items()}
        | {"Key": [float(line[2]) for line in lines], "Pay": [int(line[3]) for line in lines]}
    )
    by = {"One": ds.Hierarchy.flat(list("xyz")), "Two": ds.Hierarchy.flat(list("ab"))}
    table = ds.tabulate(people, by=by, value="Pay", record_key="Key").assess(ds.PPercent(10), profile="argus")
    noise = ds.MagnitudeNoise(
        small=0.3, large=0.03, flex_point=100, q=3, top=2, epsilon=(0.5,), extra=1,
        noise=read_noise_table(tmp_path / "cont.txt"),
    )  # fmt: skip
    expected = ds.protect(table, ds.CellKey(magnitudes=noise)).public.tables[0]
    assert np.array_equal(done.release.public.tables[0].value, expected.value)
    assert not np.array_equal(expected.value, table.value)
    written = [line.split(";") for line in (tmp_path / "safe.txt").read_text().splitlines()]
    assert [float(row[2]) - float(row[3]) for row in written] == pytest.approx([float(row[4]) for row in written])
    assert (tmp_path / "safe.txt").stat().st_mode & 0o077 == 0


def test_a_recipe_of_magnitudes_is_written_back(tmp_path: Path) -> None:
    job = batch(tmp_path, '"Pay"', "P(10,1)", '"noise.txt"||1', MAGNITUDE)
    (text,) = convert_batch(job).values()
    back = recipe_batch(read_recipe(text), read_metadata(tmp_path / "people.rda"))
    assert '<SUPPRESS> CKM(1)"noise.txt"||1' in back
    job.write_text(back)
    assert list(convert_batch(job).values()) == [text]
    with pytest.raises(ParameterError, match="magnitudes that the metadata do not describe"):
        recipe_batch(read_recipe(text.replace("small = 0.3", "small = 0.2")), read_metadata(tmp_path / "people.rda"))


def made(files: tuple[str, ...], response: str = "", **said: str) -> dict[str, object]:
    named = (("freq", "f.txt"), ("cont", "c.txt"), ("sep", "s.txt")) if said.pop("named", "") else ()
    metadata = ArgusMetadata(
        (
            RdaVariable("Pay", numeric=True, cell_key=tuple(said.items())),
            RdaVariable("Key", record_key=True, noise_files=named),
        )
    )
    return cell_key_record(files, response, metadata, str, [])


def test_noise_tables_come_from_the_batch_or_else_from_the_metadata() -> None:
    assert method_from_record(made(("table.txt",))) == ds.CellKey(noise="table.txt")
    assert made((), named="yes") == {"method": "cell_key", "noise": "f.txt"}
    assert made(()) == {"method": "cell_key"}
    both = made((), "Pay", named="yes", ckm="M", scaling="N(0.1)", separation="Y", parity="Y")
    assert both["magnitudes"] == {
        "small": 0.1, "magnifier": "mean", "top": 1, "epsilon": [], "separation": True, "zeros": False,
        "noise": "c.txt", "odd": "c.txt", "small_noise": "s.txt",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("files", "said", "message"),
    [
        (("a", "b"), None, "CKM of counts takes one noise table"),
        (("a",), {}, "do not say how large the noise of Pay is"),
        (("a",), {"ckm": "N", "scaling": "N(0.1)"}, "do not say how large the noise of Pay is"),
        (("a",), {"ckm": "V"}, "<SCALING> of Pay is 'missing'"),
        (("a",), {"ckm": "V", "scaling": "F(0.1,0.2)"}, "<SCALING> of Pay is"),
        ((), {"ckm": "V", "scaling": "N(0.1)"}, "names no noise table"),
        (("a",), {"ckm": "V", "scaling": "N(0.1)", "separation": "Y"}, "no noise table for small values"),
        (("a", "", "x"), {"ckm": "V", "scaling": "N(0.1)"}, "'x' as its least noise"),
    ],
)
def test_what_is_missing_is_said(files: tuple[str, ...], said: dict[str, str] | None, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        made(files, "" if said is None else "Pay", **(said or {}))


def test_files_of_noise_tables_may_hold_several_parts(tmp_path: Path) -> None:
    path = tmp_path / "parts.txt"
    rows = ["i;j;p;v;p_int_ub;type"]
    for kind, width in (("even", 1), ("odd", 2)):
        rows += ["0;0;1;0;1;" + kind, f"2;0;0.5;-{width};0.5;{kind}", f"2;4;0.5;{width};1;{kind}"]
    path.write_text("\n".join(rows) + "\n")
    assert read_noise_table(path, part=("odd", "all")).largest == 2
    assert read_noise_table(path, part=("all", "even")).largest == 1
