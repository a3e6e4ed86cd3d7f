"""ARGUS files: records and solver instances against fixed limits of time, and damaged files by the hundred thousand."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.registry import Measure, Timing, apart, case, scratch, timed

RECORDS, RECORDS_LIMIT = 2_000_000, 10.0
CELLS, CELLS_LIMIT = 1_000_000, 30.0
DAMAGED, SECONDS_LIMIT, MEMORY_LIMIT = 100_000, 5.0, 1.5
BINARY_SECONDS_LIMIT = 20.0
METADATA = """\
IndustryCode 1 5 99999
  <RECODEABLE>
Size 7 2 99
  <RECODEABLE>
Region 10 2 99
  <RECODEABLE>
Wgt 13 4
  <WEIGHT>
Var1 18 9
  <NUMERIC>
Var2 28 10
  <NUMERIC>
"""


def write_records(folder: Path, records: int) -> None:
    """Fixed-width records: three codes, a weight and two amounts."""
    import numpy as np

    draw = np.random.default_rng(1)
    (folder / "big.rda").write_text(METADATA)
    with (folder / "big.asc").open("w") as stream:
        for start in range(0, records, 100_000):
            size = min(100_000, records - start)
            columns = (
                draw.integers(10_000, 11_000, size),
                draw.integers(1, 10, size),
                draw.integers(1, 13, size),
                draw.integers(10, 60, size),
                draw.integers(0, 10**7, size),
                draw.integers(0, 10**8, size),
            )
            stream.writelines(
                f"{a:05d} {s:2d} {r:2d} {w / 10:4.1f} {e:9d} {v / 100:10.2f}\n"
                for a, s, r, w, e, v in zip(*(column.tolist() for column in columns), strict=True)
            )


def read_records(folder: Path) -> Timing:
    """Read them, all columns."""
    from discreet.files.argus.rda import read_metadata
    from discreet.files.argus.records import read_argus_records

    metadata = read_metadata(folder / "big.rda")
    return timed(lambda: read_argus_records(folder / "big.asc", metadata), lambda table: table.num_rows, repeats=1)


@case("argus-records")
def fixed_width(scale: float) -> Sequence[Measure]:
    """Two million records of fixed width."""
    records = max(1_000, int(RECORDS * scale))
    with scratch() as folder:
        write_records(folder, records)
        found = apart(read_records, folder)
    assert found.answer == records
    settings = f"{records:,} records, 6 columns, peak {found.peak:.2f} GiB; the first run took {found.cold_cpu:.2f} s"
    return [Measure("CPU s, cold", found.cold_cpu, RECORDS_LIMIT, 1.0, settings)]


def write_and_read_instance(folder: Path, cells: int) -> tuple[float, float]:
    """Processor seconds for writing and reading an instance."""
    import numpy as np

    from discreet.files.argus.jj import Instance, jj_weights, read_jj, write_jj

    draw = np.random.default_rng(0)
    relations, width = cells // 10, 10
    value = draw.integers(0, 1000, relations * width).astype(float)
    value.reshape(relations, width)[:, 0] = value.reshape(relations, width)[:, 1:].sum(axis=1)
    coefficient = np.ones(len(value), np.int64)
    coefficient[::width] = -1
    instance = Instance(
        value,
        jj_weights(value),
        draw.integers(0, 4, len(value)),
        *(share * value for share in (0.0, 1.5, 0.1, 0.1, 0.0)),
        np.zeros(relations),
        np.arange(relations + 1) * width,
        np.arange(len(value)),
        coefficient,
    )
    started = time.process_time()
    write_jj(instance, folder / "big.jj", 2)
    written = time.process_time()
    again = read_jj(folder / "big.jj")
    ended = time.process_time()
    assert np.array_equal(again.value, value)
    assert not again.residual().any()
    return written - started, ended - written


@case("argus-jj")
def instances(scale: float) -> Sequence[Measure]:
    """A solver instance of a million cells."""
    cells = max(100, int(CELLS * scale))
    with scratch() as folder:
        writing, reading = apart(write_and_read_instance, folder, cells)
    settings = f"{cells:,} cells, {cells // 10:,} relations of 10 cells"
    return [
        Measure("CPU s to read", reading, CELLS_LIMIT, 1.0, settings),
        Measure("CPU s to write", writing, CELLS_LIMIT, 1.0, settings),
    ]


class Fuzzed(NamedTuple):
    """How many damaged files were read and refused, the slowest, and the peak of memory in GiB."""

    read: int
    refused: int
    unplaced: int
    slowest: float
    peak: float


def read_damaged(folder: Path, count: int) -> Fuzzed:
    """Read damaged files of all formats; whatever is not an error of ours ends the benchmark."""
    from tests.files.argus.fuzz import damaged_files, outcome, readers
    from tests.files.argus.test_fuzz import PLACED

    known: dict[str, Any] = readers(folder)
    read = refused = unplaced = 0
    slowest = 0.0
    for damaged in damaged_files(count, seed=100):
        path = folder / f"damaged-{damaged.name}"
        path.write_bytes(damaged.content)
        started = time.perf_counter()
        said = outcome(known[damaged.name], path)
        slowest = max(slowest, time.perf_counter() - started)
        read += said == "read"
        refused += said != "read"
        unplaced += said != "read" and not PLACED.search(said)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Fuzzed(read, refused, unplaced, slowest, peak)


@case("argus-fuzz")
def damaged(scale: float) -> Sequence[Measure]:
    """A hundred thousand damaged files: none crashes, hangs or eats memory, and each error says where it is."""
    count = max(1_000, int(DAMAGED * scale))
    with scratch() as folder:
        found = apart(read_damaged, folder, count)
    assert found.unplaced == 0, f"{found.unplaced} errors without a place"
    settings = f"{count:,} files: {found.read:,} read, {found.refused:,} refused with their place, none crashed"
    return [
        Measure("s of the slowest", found.slowest, SECONDS_LIMIT, 1.0, settings),
        Measure("GiB at the peak", found.peak, MEMORY_LIMIT, 1.0, settings),
    ]


class FuzzedBinary(NamedTuple):
    """How many damaged files ended how, the slowest, and the peak of memory of one of them in GiB."""

    read: int
    refused: int
    killed: int
    bad: int
    slowest: float
    peak: float


def read_damaged_binary(folder: Path, count: int) -> FuzzedBinary:
    """Read damaged sav, dta, sas7bdat, Parquet and xlsx files, each in a process of its own."""
    from tests.files.fuzz_binary import READ, REFUSED, damaged_files, is_fine, outcome, seeds

    made = seeds(folder)
    read = refused = killed = bad = 0
    slowest = 0.0
    for damaged in damaged_files(made, count, seed=100):
        path = folder / f"damaged{damaged.suffix}"
        path.write_bytes(damaged.content)
        started = time.perf_counter()
        ended = outcome(path)
        slowest = max(slowest, time.perf_counter() - started)
        read += ended == READ
        refused += ended == REFUSED
        killed += ended < 0
        bad += not is_fine(damaged.suffix, ended)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return FuzzedBinary(read, refused, killed, bad, slowest, peak)


@case("argus-fuzz-binary")
def damaged_binary(scale: float) -> Sequence[Measure]:
    """A hundred thousand damaged binary files: none crashes what reads it, hangs or eats memory."""
    count = max(1_000, int(DAMAGED * scale))
    with scratch() as folder:
        found = apart(read_damaged_binary, folder, count)
    assert found.bad == 0, f"{found.bad} files crashed a reader or kept it busy"
    settings = (
        f"{count:,} files: {found.read:,} read, {found.refused:,} refused, {found.killed:,} ended the process that "
        "reads SPSS, Stata and SAS files, and were refused by the one that asked"
    )
    return [
        Measure("s of the slowest", found.slowest, BINARY_SECONDS_LIMIT, 1.0, settings),
        Measure("GiB at the peak", found.peak, MEMORY_LIMIT, 1.0, settings),
    ]
