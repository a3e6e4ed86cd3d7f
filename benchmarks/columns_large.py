"""100 million records: written as columns from a Parquet file, and asked."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.columns import AREAS, DISTRICTS, MODULUS, QUESTIONS, hierarchies
from benchmarks.registry import Measure, apart, case, scratch

RECORDS = 100_000_000
PIECE = 5_000_000
REPEATS = 5
BY_NAME_ONLY = ("columns_large",)


def write_people(path: Path, records: int) -> None:
    """The census of the case ``columns``, area after area, a piece at a time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(24)
    by = hierarchies()
    writer = None
    for begin in range(0, records, PIECE):
        many = min(PIECE, records - begin)
        columns = {}
        for name, hierarchy in by.items():
            codes = pa.array(hierarchy.base_codes)
            if name == "area":
                number = ((begin + np.arange(many)) * AREAS // records).astype(np.int32)
            else:
                number = (len(codes) * draw.random(many, np.float32) ** 1.5).astype(np.int32)
                number = np.minimum(number, len(codes) - 1)
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(number), codes)
        columns["rkey"] = pa.array(draw.integers(0, MODULUS, many, dtype=np.int64))
        piece = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    assert writer is not None
    writer.close()


def build(folder: Path) -> tuple[float, float]:
    """Write the folder of columns; CPU seconds and peak GiB."""
    import discreet as ds
    from discreet.engine.column_files import write_columns

    data = ds.Microdata(folder / "people.parquet", record_key="rkey")
    started = time.process_time()
    write_columns(data, folder / "columns", variables=hierarchies(), geography="area")
    return time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def answers(folder: Path, records: int) -> dict[str, tuple[float, float, float]]:
    """Median seconds and CPU ms of each question, and peak GiB, mapped columns included."""
    import discreet as ds
    from discreet.model.condition import Condition

    by = hierarchies()
    data = ds.Microdata(folder / "columns", record_key="rkey", engine="columns")
    method = ds.CellKey(modulus=MODULUS)
    specs = {text: ds.TableSpec(by={name: by[name] for name in text.split()}, holders=False) for text in QUESTIONS}
    codes = tuple(by["area"].covered("D007"))
    three = {name: by[name] for name in ("sex", "age", "ethnic")}
    district = f"one district of {records // DISTRICTS:,} records"
    specs[district] = ds.TableSpec(by=three, where=(Condition("area", "in", codes),), holders=False)
    found = {}
    for text, spec in specs.items():
        ds.protect(data, method, tables=[spec])
        clock, cpu = [], []
        for _ in range(REPEATS):
            began, began_cpu = time.perf_counter(), time.process_time()
            ds.protect(data, method, tables=[spec])
            clock.append(time.perf_counter() - began)
            cpu.append(time.process_time() - began_cpu)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        found[text] = (sorted(clock)[REPEATS // 2], 1000 * min(cpu), peak)
    return found


@case("columns_large")
def large_columns(scale: float) -> Sequence[Measure]:
    """100 million records: protected answers within a second, in 3 GiB with all columns."""
    records = int(RECORDS * scale)
    with scratch() as folder:
        apart(write_people, folder / "people.parquet", records)
        cpu, peak = apart(build, folder)
        size = sum(path.stat().st_size for path in (folder / "columns").iterdir()) / 2**30
        found = apart(answers, folder, records)
    settings = f"{records:,} records; columns of {size:.2f} GiB were written in {cpu:.0f} s CPU with {peak:.1f} GiB"
    measures = [
        Measure(f"seconds, {text}", clock, 1.0, 1.0, f"{text}: {cpu_ms:.0f} ms CPU; {settings}")
        for text, (clock, cpu_ms, _) in found.items()
    ]
    most = max(one[2] for one in found.values())
    return [*measures, Measure("GiB, columns and answers", most, 3.0, 1.0, settings)]
