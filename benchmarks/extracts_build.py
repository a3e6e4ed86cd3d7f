"""The file that extracts are taken from, by the command: 10^7 records of 20 columns, one household in twenty."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.registry import Measure, apart, case, scratch
from discreet.generate.census import census_population
from discreet.keys import Key

PART = 10**6
AREAS = 2_000
MORE = {"rooms": 9, "tenure": 5, "transport": 12, "language": 30}
"""Further columns, drawn at random, and how many codes each has."""
PLAN = """\
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
density = 0.05

[geography]
levels = ["region", "district", "area"]
threshold = 20000
guarded = ["birth"]

[swap]
rate = 0.05

[variables]
region = {}
district = {}
age = {}
sex = {}
marital = {}
birth = {}
education = {}
labour = {}
occupation = {}
income = {}
household_size = {}
rooms = {}
tenure = {}
transport = {}
language = {}

[[protect]]
method = "recode"
column = "age"
top = 85

[[protect]]
method = "recode"
column = "income"
top = 100000
"""


def make_source(folder: Path, rows: int) -> int:
    """Write the records, part by part, and the plan; how many columns there are."""
    writer, persons, households = None, 0, 0
    for begin in range(0, rows, PART):
        made = census_population(min(PART, rows - begin), seed=begin // PART + 1, areas=AREAS).records
        draw = np.random.default_rng(begin)
        codes = made["area"].cast(pa.string()).to_pylist()
        table = made.append_column("region", pa.array([code[:3] for code in codes]))
        table = table.append_column("district", pa.array([code[:5] for code in codes]))
        for name, count in MORE.items():
            table = table.append_column(name, pa.array([f"{code:02}" for code in draw.integers(0, count, len(table))]))
        for name, before in (("person", persons), ("household", households)):
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.array(np.asarray(table[name]) + before))
        persons, households = int(np.max(table["person"])), int(np.max(table["household"]))
        writer = writer or pq.ParquetWriter(folder / "records.parquet", table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    (folder / "edition.key").touch(mode=0o600)
    (folder / "edition.key").write_text(Key.new().text, encoding="utf-8")
    return len(table.column_names)


def built(folder: Path, plan: Path) -> tuple[float, float, float, int]:
    """Seconds of processor and of the clock, peak GiB of the whole command, and records of the file."""
    words = [sys.executable, "-m", "discreet", "extracts", "build", str(plan / "plan.toml"), str(folder)]
    began = perf_counter()
    subprocess.run([*words, "--key", str(plan / "edition.key")], check=True, stdout=subprocess.DEVNULL)
    clock, used = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = pq.read_metadata(folder / "records.parquet").num_rows
    return used.ru_utime + used.ru_stime, clock, used.ru_maxrss / 2**20, rows


@case("extracts-build")
def extracts_build(scale: float) -> Sequence[Measure]:
    """The whole command beside the same of a tenth of the records."""
    rows = int(10**7 * scale)
    with scratch() as folder:
        found = {}
        for name, count in (("tenth", rows // 10), ("all", rows)):
            place = folder / name
            place.mkdir()
            columns = apart(make_source, place, count)
            found[name] = apart(built, folder / f"{name}-file", place)
            print(f"  {count:,} records: {found[name]}", flush=True)
    fewer, more = found["tenth"], found["all"]
    said = f"{rows:,} x {columns}, {more[3]:,} records drawn; {more[1]:.0f} s by the clock"
    return [
        Measure("discreet extracts build, CPU s (peer: ten times a tenth)", more[0], 10 * fewer[0], 1.0, said),
        Measure("peak memory, GiB (peer: a tenth)", more[2], fewer[2], 10.0, said),
    ]
