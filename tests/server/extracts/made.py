"""A made-up census of households in districts, the file that extracts are taken from, and a plan for it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.generate.census import census_population
from discreet.keys import Key
from discreet.server.extracts.building import build_file
from discreet.server.extracts.definition import Definition, checked
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.package import PackageOrder, open_package, write_package
from discreet.server.extracts.taking import ExtractOrder
from discreet.trust import SigningKey, make_keys
from discreet.trust.sealed_file import RecipientSecret

KEY = Key(bytes(range(1, 33)))
RATE = 0.1234567
"""A rate of swapping that must be found nowhere."""
PLACE = {"dataset": "sample", "edition": "1990.1"}
PLAN = f"""
version = 1
name = "sample"
edition = "1990.1"
year = 1990
title = "A made-up census"

[data]
file = "records.parquet"
household = "household"
identifier = ["person"]
keys = ["age", "sex", "marital", "birth", "region", "district"]
numeric = ["income"]

[sample]
density = 0.25

[geography]
levels = ["region", "district", "area"]
threshold = 2000
guarded = ["birth"]

[swap]
rate = {RATE}

[variables]
region = {{ label = "Region" }}
district = {{ label = "District" }}
age = {{ label = "Age" }}
sex = {{ label = "Sex; \\"quoted\\"", names = {{ F = "Women", M = "Men" }} }}
marital = {{}}
birth = {{}}
education = {{}}
occupation = {{}}
income = {{ label = "Income" }}

[[protect]]
method = "recode"
column = "age"
top = 85

[[protect]]
method = "recode"
column = "income"
top = 60000

[limits]
most_rows = 100000
project_rows = 20000
refused = [["occupation", "birth"]]
"""


def census(folder: Path, records: int = 20_000, areas: int = 40) -> pa.Table:
    """Records of a census with the columns of areas, written beside the plan."""
    folder.mkdir(parents=True, exist_ok=True)
    made = census_population(records, seed=3, areas=areas).records
    codes = made["area"].cast(pa.string()).to_pylist()
    table = made.append_column("region", pa.array([code[:3] for code in codes]))
    table = table.append_column("district", pa.array([code[:5] for code in codes]))
    pq.write_table(table, folder / "records.parquet")
    return table


def build(folder: Path, change: dict[str, str] | None = None, name: str = "file", key: Key = KEY) -> ExtractFile:
    """The file of a plan with some of its words changed."""
    text = PLAN
    for old, new in (change or {}).items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return build_file(folder / f"{name}.toml", folder / name, key=key)


def wanted(file: ExtractFile, /, *variables: str, **more: Any) -> Definition:
    return checked(file, Definition(dataset=file.name, edition=file.edition, variables=list(variables), **more))


def rows_of(
    folder: Path, file: ExtractFile, definition: Definition, number: int = 1, principal: int = 7, key: Key = KEY
) -> list[dict[str, str]]:
    """The rows that a user reads after they opened an extract."""
    out = packed(folder, file, definition, number, principal, key)
    return list(csv.DictReader(io.StringIO((out / "data.csv").read_text("utf-8"))))


def packed(
    folder: Path, file: ExtractFile, definition: Definition, number: int = 1, principal: int = 7, key: Key = KEY
) -> Path:
    """The folder of an extract that was sealed and opened again."""
    place = folder / f"extract-{number}-{principal}"
    work = folder / f"work-{number}-{principal}"
    work.mkdir(mode=0o700)
    if not (folder / "sign.key").exists():
        make_keys(folder / "sign.key")
    secret = RecipientSecret.new()
    signer = SigningKey.from_file(folder / "sign.key")
    order = PackageOrder(ExtractOrder(number, principal, definition), "Ada", "Wages", secret.public, signer, "now")
    with (folder / f"{number}-{principal}.sealed").open("wb") as target:
        write_package(target, file, order, key, work, lambda _: None)
    assert list(work.iterdir()) == []
    open_package(folder / f"{number}-{principal}.sealed", place, secret, signer.public)
    return place
