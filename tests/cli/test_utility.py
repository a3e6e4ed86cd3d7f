"""``discreet utility``: what it prints, writes and refuses."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import csv, parquet

import discreet as ds
from discreet.cli import main

DRAW = np.random.default_rng(3)
BEFORE = pa.table(
    {
        "id": [f"p{row}" for row in range(80)],
        "sex": DRAW.choice(["f", "m"], 80),
        "age": DRAW.integers(20, 60, 80),
        "wage": DRAW.normal(3000, 500, 80).round(2),
    }
)
AFTER = BEFORE.set_column(3, "wage", pa.array((BEFORE["wage"].to_numpy() * 1.08).round(2)))
QUICK = ("--propensity", "none")


def discreet(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    parquet.write_table(BEFORE, tmp_path / "before.parquet")
    parquet.write_table(AFTER.take(DRAW.permutation(80)), tmp_path / "after.parquet")
    return tmp_path / "before.parquet", tmp_path / "after.parquet"


def test_it_prints_what_python_prints(files) -> None:
    done = discreet("utility", *files, "--models", "wage ~ age + sex", "--tables", "sex,age", "--by", "sex")
    assert done.exit_code == 0, done.output
    found = ds.utility(*files, models=["wage ~ age + sex"], tables=[["sex", "age"]], by=["sex"])
    assert str(found) in done.stdout


def test_records_are_matched_by_identifiers(files) -> None:
    told = json.loads(discreet("utility", *files, "--identifier", "id", *QUICK, "--json").stdout)
    assert told["aligned"]
    assert told["parts"]["losses"][0]["value"] > 0
    assert not json.loads(discreet("utility", *files, *QUICK, "--json").stdout)["aligned"]


def test_numbers_of_csv_files_are_named(tmp_path: Path) -> None:
    csv.write_csv(BEFORE, tmp_path / "a.csv")
    csv.write_csv(AFTER, tmp_path / "b.csv")
    names = [tmp_path / "a.csv", tmp_path / "b.csv"]
    done = discreet("utility", *names, "--numeric", "age,wage", "--aligned", "--statistics", "mean", *QUICK, "--json")
    told = json.loads(done.stdout)
    assert [one["quantity"] for one in told["parts"]["statistics"]] == ["age", "wage"]
    assert told["parts"]["statistics"][1]["percent"] == pytest.approx(-8, abs=0.01)


def test_parts_and_pages_are_written_for_the_owner_only(files, tmp_path: Path) -> None:
    part, page = tmp_path / "statistics.csv", tmp_path / "utility.html"
    done = discreet("utility", *files, *QUICK, "--part", "statistics", "--output", part, "--html", page)
    assert done.exit_code == 0, done.output
    assert csv.read_csv(part).column_names[:3] == ["quantity", "statistic", "group"]
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {stat.S_IMODE(path.stat().st_mode) for path in (part, page)} == {0o600}
    again = discreet("utility", *files, *QUICK, "--html", page)
    assert again.exit_code != 0
    assert "exists" in again.output


def test_the_public_version_holds_classes(files, tmp_path: Path) -> None:
    page = tmp_path / "public.html"
    done = discreet("utility", *files, *QUICK, "--public", "--html", page, "--json")
    told = json.loads(done.stdout)
    assert set(told) == {"lines", "left_out", "notes"}
    assert {"part": "statistics", "what": "mean of wage", "group": "all", "change": "5 to 10 %"} in told["lines"]
    assert "custodian" not in page.read_text(encoding="utf-8")


def test_the_folder_of_a_release(tmp_path: Path) -> None:
    people = ds.Microdata(BEFORE, identifier="id", keys=["sex"], numeric=["age", "wage"])
    ds.protect(people, ds.Microaggregate(["age", "wage"], k=3)).save(tmp_path / "out")
    told = json.loads(discreet("utility", tmp_path / "out", *QUICK, "--json").stdout)
    assert told["aligned"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--models", "wage"], "'wage' is no formula"),
        (["--statistics", "mode"], "There is no statistic 'mode'"),
        (["--tables", "sex,,age"], "A list of columns has an empty name"),
        (["--weight", "mass"], "There is no column 'mass' in the files"),
        (["--public", "--part", "models", "--output", "x.csv"], "--public writes one list"),
    ],
)
def test_what_is_not_allowed(files, options, message) -> None:
    done = discreet("utility", *files, *options)
    assert done.exit_code != 0
    assert message in done.output


def test_one_file_needs_another(files) -> None:
    done = discreet("utility", files[0])
    assert done.exit_code != 0
    assert "Give two files, or the folder of a release." in done.output
