"""``discreet risk``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import csv, parquet

import discreet as ds
from discreet.cli import main

PEOPLE = pa.table(
    {
        "age": ["old", "old", "young", "young", "young", "middle"],
        "sex": ["f", "m", "m", "m", "f", "f"],
        "ill": ["flu", "flu", "none", "cold", "flu", "none"],
        "w": [10.5, 20.0, 5.0, 8.0, 8.0, 4.0],
        "home": ["1", "1", "2", "2", "3", "3"],
    }
)


def discreet(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    csv.write_csv(PEOPLE, tmp_path / "people.csv")
    return tmp_path / "people.csv"


def test_it_prints_what_python_prints(file: Path) -> None:
    done = discreet("risk", file, "--keys", "age,sex", "--sensitive", "ill", "--weight", "w", "--household", "home")
    assert done.exit_code == 0, done.output
    found = ds.risk(file, keys=["age", "sex"], sensitive=["ill"], weight="w", household="home")
    assert str(found) in done.stdout


def test_keys_may_be_given_one_by_one_and_files_may_be_of_any_kind(tmp_path: Path) -> None:
    parquet.write_table(PEOPLE, tmp_path / "people.parquet")
    once = discreet("risk", tmp_path / "people.parquet", "--keys", "age", "--keys", "sex", "--k", 2)
    again = discreet("risk", tmp_path / "people.parquet", "--keys", "age, sex", "--k", 2)
    assert once.exit_code == again.exit_code == 0
    assert once.stdout == again.stdout


def test_json_is_one_object(file: Path) -> None:
    told = json.loads(discreet("risk", file, "--keys", "age,sex", "--k", 2, "--json").stdout)
    assert told["records"] == 6
    assert told["uniques"] == 4
    assert told["parts"]["findings"][0]["knows"]
    assert told == json.loads(json.dumps(ds.risk(file, keys=["age", "sex"], k=2).to_dict()))


def test_parts_are_written_for_the_owner_only(file: Path, tmp_path: Path) -> None:
    where = tmp_path / "records.csv"
    done = discreet("risk", file, "--keys", "age,sex", "--part", "records", "--output", where)
    assert done.exit_code == 0, done.output
    assert where.stat().st_mode & 0o077 == 0
    assert csv.read_csv(where)["position"].to_pylist() == list(range(6))
    assert discreet("risk", file, "--keys", "age,sex", "--output", where).exit_code == 6


def test_a_saved_release_is_measured_as_it_went_out(tmp_path: Path) -> None:
    data = ds.Microdata(PEOPLE, keys=["age", "sex"], weight="w", household="home")
    ds.protect(data, ds.LocalSuppress(2), rules=[ds.KAnonymity(2)]).save(tmp_path / "out")
    done = discreet("risk", tmp_path / "out", "--k", 2, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["uniques"], told["rare"], told["occurs_at_least"] >= 2) == (0, 0, True)


def test_bad_input_ends_with_the_codes_of_other_commands(file: Path, tmp_path: Path) -> None:
    nothing = discreet("risk", file)
    assert nothing.exit_code == 2
    assert "What to do: Give --keys age,sex,region." in nothing.output
    unknown = discreet("risk", file, "--keys", "agee")
    assert unknown.exit_code == 3
    assert "Did you mean 'age'" in unknown.output
    assert discreet("risk", file, "--keys", "age", "--k", 1).exit_code == 2
    assert discreet("risk", file, "--keys", "age,,sex").exit_code == 2
    assert discreet("risk", tmp_path / "none.csv", "--keys", "age").exit_code == 3
    light = PEOPLE.set_column(3, "w", pa.array([0.5, 2, 2, 2, 2, 2.0]))
    csv.write_csv(light, file)
    bad = discreet("risk", file, "--keys", "age", "--weight", "w")
    assert bad.exit_code == 3
    assert "1 record has a weight below 1 in 'w' (row 1)." in bad.output
    assert "or leave --weight out" in bad.output
