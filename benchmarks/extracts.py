"""Extracts of 10^7 records with 20 columns, by streaming: processor and memory, from file to sealed archive."""

from __future__ import annotations

import gzip
import hashlib
import os
import resource
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.registry import Measure, apart, case, scratch
from discreet.keys import Key
from discreet.server.extracts.codebook import Codebook, CodebookVariable
from discreet.server.extracts.definition import Definition
from discreet.server.extracts.file import BOOK, FORMAT, GROUP, LIMITS, MANIFEST, RECORDS, FileManifest, open_file
from discreet.server.extracts.package import PackageOrder, write_package
from discreet.server.extracts.plan import LimitsPart
from discreet.server.extracts.taking import ExtractOrder
from discreet.trust import SigningKey, make_keys
from discreet.trust.sealed_file import RecipientSecret

COLUMNS = 20
CODES = (2, 4, 7, 10, 20, 40, 86, 100, 400, 5_000)
KEY = Key(bytes(range(32)))


def _variables() -> list[CodebookVariable]:
    found = []
    for number in range(COLUMNS):
        count = CODES[number % len(CODES)]
        values = list(range(count)) if number % 3 == 0 else [f"{code:04}" for code in range(count)]
        kind = "whole" if number % 3 == 0 else "text"
        found.append(CodebookVariable(name=f"v{number}", label="", kind=kind, values=values, key=number < 4))
    return found


def make_file(folder: Path, rows: int) -> None:
    """A file as an edition has it, drawn at random group by group: it stands for one that was protected."""
    draw, variables = np.random.default_rng(1), _variables()
    kinds = [("_household", pa.int64()), ("_person", pa.int64()), ("_stratum", pa.int64())]
    schema = pa.schema([*kinds, *((one.name, pa.int16()) for one in variables)])
    with pq.ParquetWriter(folder / RECORDS, schema, compression="zstd") as writer:
        for begin in range(0, rows, GROUP):
            number = np.arange(begin, min(rows, begin + GROUP))
            columns = [pa.array(number // 2 + 1), pa.array(number % 2 + 1), pa.array(number % 50 + 1)]
            columns += [
                pa.array(draw.integers(0, len(one.values or ()), len(number)).astype(np.int16)) for one in variables
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=GROUP)
    book = Codebook(
        name="bench", edition="1", title="", citation="", licence="1", year=1990, rows=rows, strata=50,
        households=(rows + 1) // 2, density=0.1, threshold=20_000, variables=variables,
    )  # fmt: skip
    contents = {BOOK: msgspec.json.encode(book), LIMITS: msgspec.json.encode(LimitsPart(most_rows=10**9))}
    digests = {}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        digests[name] = hashlib.sha256(content).hexdigest()
    with (folder / RECORDS).open("rb") as stream:
        digests[RECORDS] = hashlib.file_digest(stream, "sha256").hexdigest()
    manifest = FileManifest(
        format=FORMAT, name="bench", edition="1", key=KEY.fingerprint, approval_months=12, files=digests
    )
    (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))


def ours(folder: Path) -> tuple[float, float, float, int]:
    """Seconds of processor and of the clock, peak memory in GiB and bytes of a sealed extract of everything."""
    file = open_file(folder)
    wanted = Definition(dataset="bench", edition="1", variables=[one.name for one in file.codebook.variables])
    if not (folder / "sign.key").exists():
        make_keys(folder / "sign.key")
    signer, work = SigningKey.from_file(folder / "sign.key"), folder / "work"
    work.mkdir(mode=0o700, exist_ok=True)
    order = PackageOrder(ExtractOrder(1, 1, wanted), "A", "P", RecipientSecret.new().public, signer, "now")
    began, clock = process_time(), perf_counter()
    with (folder / "sealed").open("wb") as stream:
        made = write_package(stream, file, order, KEY, work, lambda _: None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return process_time() - began, perf_counter() - clock, peak, made.size


def plain(folder: Path) -> float:
    """Seconds of processor to write the same columns as a gzipped csv file in their order, in the clear, by pyarrow."""
    file = open_file(folder)
    lists = {one.name: pa.array(one.values) for one in file.codebook.variables}
    began = process_time()
    with gzip.open(os.devnull, "wb", compresslevel=1) as target:
        for group in file.groups(list(lists)):
            table = pa.table({name: lists[name].take(group[name]) for name in lists})
            pyarrow.csv.write_csv(table, pa.PythonFile(target, "w"))
    return process_time() - began


@case("extracts")
def extracts(scale: float) -> Sequence[Measure]:
    """A whole extract beside a plain gzipped csv, and memory beside that of a tenth of the records."""
    rows = int(10**7 * scale)
    with scratch() as folder:
        places = {}
        for name, count in (("tenth", rows // 10), ("all", rows)):
            places[name] = folder / name
            places[name].mkdir()
            apart(make_file, places[name], count)
        fewer, more, peer = apart(ours, places["tenth"]), apart(ours, places["all"]), apart(plain, places["all"])
    said = f"{rows:,} x {COLUMNS}: {more[1]:.0f} s by the clock, {more[3] / 1e6:.0f} MB sealed; one process"
    return [
        Measure("choose, stir, check, zip, seal; CPU s (peer: plain csv.gz)", more[0], peer, 3.0, said),
        Measure("peak memory, GiB (peer: a tenth of the records)", more[2], fewer[2], 1.5, said),
    ]
