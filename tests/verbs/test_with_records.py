"""Releases checked against their records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.cli import main
from discreet.errors import InputError
from discreet.keys import VARIABLE

AREA = ds.Hierarchy.from_nested({"North": ["N1", "N2"], "South": ["S1", "S2"]})
SEX = ds.Hierarchy.flat(["m", "f"])
METHODS = {
    "cell_key": ds.CellKey(identifier="id"),
    "small_count": ds.SmallCount(),
    "noise": ds.MultiplicativeNoise("id"),
    "drop_add": ds.DropAdd("id", rate=0.05),
    "swap": ds.Swap("area", "id"),
}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(VARIABLE, "ab" * 32)


def people(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(3)
    area, sex = rng.choice(AREA.base_codes, n), rng.choice(SEX.base_codes, n)
    return pa.table({"id": np.arange(n), "area": area, "sex": sex, "sales": rng.integers(1, 900, n)})


def spec(name: str) -> ds.TableSpec:
    return ds.TableSpec(by={"area": AREA, "sex": SEX}, value="sales" if name == "noise" else None, name="people")


@pytest.mark.parametrize("name", METHODS)
def test_a_true_release_holds_and_another_file_is_refused(name, tmp_path):
    data = ds.Microdata(people())
    ds.protect(data, METHODS[name], tables=[spec(name)]).save(tmp_path / "out")
    loaded = ds.load(tmp_path / "out")
    verdict = loaded.verify(data=data)
    assert verdict.holds
    assert any("took from the records is what they give" in text for text in verdict.proved)
    fewer = ds.Microdata(people().slice(1))
    assert not loaded.verify(data=fewer).holds
    evidence = loaded.custodian.evidence[0]
    part = next(iter(evidence.parts))
    column = next(iter(evidence.parts[part]))
    wrong = {**evidence.parts[part], column: evidence.parts[part][column] + 1}
    lying = replace(evidence, parts={**evidence.parts, part: wrong})
    release = ds.Release(loaded.public, replace(loaded.custodian, evidence=(lying,)))
    assert any(refusal.check == "records" for refusal in release.verify(data=data).refused)


def test_another_key_is_refused(monkeypatch):
    data = ds.Microdata(people())
    release = ds.protect(data, METHODS["cell_key"], tables=[spec("cell_key")])
    release = ds.Release(release.public, replace(release.custodian, key=None))
    monkeypatch.setenv(VARIABLE, "cd" * 32)
    with pytest.raises(InputError, match="another key"):
        release.verify(data=data)


def test_the_command_line_takes_the_records(tmp_path):
    arrow_csv.write_csv(people(), tmp_path / "people.csv")
    ds.protect(ds.Microdata(tmp_path / "people.csv"), METHODS["cell_key"], tables=[spec("")]).save(tmp_path / "out")
    done = CliRunner().invoke(main, ["verify", str(tmp_path / "out"), "--data", str(tmp_path / "people.csv")])
    assert done.exit_code == 0, done.output
    assert "those of the records" in done.output
    arrow_csv.write_csv(people().slice(2), tmp_path / "people.csv")
    done = CliRunner().invoke(main, ["verify", str(tmp_path / "out"), "--data", str(tmp_path / "people.csv")])
    assert done.exit_code == 5


def test_what_the_records_show_is_no_longer_asserted(tmp_path):
    data = ds.Microdata(people())
    for name, method in METHODS.items():
        release = ds.protect(data, method, tables=[spec(name)])
        before, after = release.verify(), release.verify(data=data)
        assert any("contributor counts" in text for text in before.asserted)
        assert len(before.asserted) >= 2
        assert not after.asserted


def test_who_contributes_is_held_against_the_records():
    frame = people().append_column("firm", pa.array(np.arange(300) // 3))
    firms = ds.Microdata(frame, contributor="firm")
    table = ds.tabulate(firms, by={"area": AREA, "sex": SEX}, value="sales").assess(ds.PPercent(10))
    release = ds.protect(table, ds.Suppress())
    assert not [text for text in release.verify(data=firms).asserted if text.startswith("table ")]
    unnamed = release.verify(data=ds.Microdata(frame))
    assert unnamed.holds
    assert any("contributor counts" in text for text in unnamed.asserted)
    other = frame.set_column(frame.column_names.index("firm"), "firm", pa.array(np.arange(300) // 5))
    refused = release.verify(data=ds.Microdata(other, contributor="firm")).refused
    assert any("who contributes" in str(refusal) for refusal in refused)


@pytest.mark.parametrize("value", [None, "sales"])
def test_a_saved_map_is_binned_anew_from_the_records(value, tmp_path):
    rng = np.random.default_rng(5)
    x, y = rng.normal(0, 2, (2, 300))
    frame = people().append_column("x", pa.array(x)).append_column("y", pa.array(y))
    data = ds.Microdata(frame, contributor="id")
    by = {"place": ds.HexGrid("x", "y", size=1.5, origin=(0.5, 0.0))}
    ds.protect(data, ds.Redistribute(3), tables=[ds.TableSpec(by=by, value=value)]).save(tmp_path / "out")
    loaded = ds.load(tmp_path / "out")
    assert loaded.custodian.tables.tables[0].spec.places == by
    assert loaded.verify(data=data).holds
    assert loaded.replay().verify().holds
    moved = frame.set_column(frame.column_names.index("x"), "x", pa.array(np.append(x[:-1], x[-1] + 3)))
    assert not loaded.verify(data=ds.Microdata(moved, contributor="id")).holds


def test_a_key_that_was_made_is_announced(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE)
    release = ds.protect(ds.Microdata(people()), METHODS["small_count"], tables=[spec("")])
    assert "A new secret key was made" in release.summary()
    release.save(tmp_path / "out")
    kept = replace(METHODS["small_count"], key_file=str(tmp_path / "out" / "custodian" / "key.txt"))
    again = ds.protect(ds.Microdata(people()), kept, tables=[spec("")])
    assert "A new secret key" not in again.summary()
    assert np.array_equal(again.custodian.published[0], release.custodian.published[0])
