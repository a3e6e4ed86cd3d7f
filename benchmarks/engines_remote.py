"""Tables made in duckdb, PostgreSQL and Spark through ibis, against SQL written by hand for the same.

CPU seconds are of all processes that worked: ours and, of PostgreSQL, the one that answered (without parallel workers,
whose time nobody keeps). ``--scale 0.02`` gives a quick try. Spark and PostgreSQL are left out where they are missing.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.registry import Measure, apart, case, scratch
from benchmarks.tabulation import BUSINESS_BY, _parents

COLUMNS = ("activity", "region", "holding", "turnover", "wkey")
SQL = "SELECT activity, region, count(*) AS n, sum(wkey) AS keys, sum(turnover) AS total FROM firms GROUP BY 1, 2"
REGIONS = (6, 24, 130)
"""About 68,000 finest cells by activity and region."""
TOP_LIMIT = 6.0
MEMORY_LIMIT = 2.0


def write_firms(folder: Path, records: int, name: str = "firms.parquet", seed: int = 1) -> tuple[int, int, int]:
    """Firms with a whole record key; how many there are, and the sums of their keys and turnover."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from discreet.generate import LARGE_ACTIVITIES, business_survey

    survey = business_survey(records, activities=LARGE_ACTIVITIES, regions=REGIONS, seed=seed)
    (folder / "parents.json").write_text(json.dumps({name: survey.parents[name] for name in BUSINESS_BY}))
    frame = pa.table({name: survey.records[name] for name in ("activity", "region", "holding", "turnover")})
    keys = np.random.default_rng(6 + seed).integers(0, 4096, len(frame)).astype(np.int32)
    pq.write_table(frame.append_column("wkey", pa.array(keys)), folder / name)
    return len(frame), int(keys.sum(dtype=np.int64)), pc.sum(frame["turnover"]).as_py()


def hierarchies(folder: Path) -> dict[str, Any]:
    from discreet.model.hierarchy import Hierarchy

    return {name: Hierarchy.from_parents(_parents(folder)[name], total="Total") for name in BUSINESS_BY}


# ---- what is asked ------------------------------------------------------------------------------------------


def finest(source: Any, folder: Path) -> Any:
    """Counts, key sums and sums of the finest cells."""
    from discreet.engine.plan import ColumnPlan
    from discreet.engine.protocol import open_records
    from discreet.model.microdata import Microdata
    from discreet.model.spec import TableSpec

    spec = TableSpec(by=hierarchies(folder), value="turnover")
    with open_records(Microdata(source, record_key="wkey"), [spec], None) as records:
        return records.leaf_cells(ColumnPlan(spec, records))


def top_two(source: Any, folder: Path) -> Any:
    """All cells, with distinct holdings and the two largest, at every level."""
    from discreet.model.microdata import Microdata
    from discreet.verbs.tabulate import tabulate

    return tabulate(Microdata(source, contributor="holding"), by=hierarchies(folder), value="turnover", top=2)


def summary(leaf: Any) -> tuple[int, ...]:
    """What two sides must agree on."""
    return len(leaf.keys), int(leaf.records.sum()), int(leaf.key_sum.sum()), int(leaf.sums[0].sum())


def summary_of_table(table: Any) -> tuple[int, ...]:
    """The same of a table with contributors."""
    found = table.contributions["holding"]
    return len(table), int(table.value.sum()), int(found.count.sum()), int(found.top.sum())


def seconds(run: Callable[[], Any], cpu: Callable[[], float], repeats: int = 3) -> tuple[float, float, Any]:
    """Least processor seconds and clock seconds of several runs, and the last answer."""
    best, clock, answer = [], [], None
    for _ in range(repeats):
        before, begun = cpu(), time.monotonic()
        answer = run()
        best.append(cpu() - before)
        clock.append(time.monotonic() - begun)
    return min(best), min(clock), answer


# ---- engines ------------------------------------------------------------------------------------------------


def in_memory(folder: Path) -> tuple[Any, ...]:
    from discreet.engine.encode import read_records
    from discreet.engine.plan import ColumnPlan
    from discreet.model.microdata import Microdata
    from discreet.model.spec import TableSpec

    data, spec = (
        Microdata(folder / "firms.parquet", record_key="wkey"),
        TableSpec(by=hierarchies(folder), value="turnover"),
    )
    records = read_records(data, [spec], None)
    leaf = records.leaf_cells(ColumnPlan(spec, records))
    top, _, table = seconds(lambda: top_two(folder / "firms.parquet", folder), time.process_time, 2)
    return summary(leaf), summary_of_table(table), top


def through_duckdb(folder: Path) -> tuple[Any, ...]:
    import ibis

    backend = ibis.duckdb.connect(folder / "firms.duckdb")
    backend.raw_sql("SET enable_progress_bar = false")
    backend.raw_sql(f"CREATE TABLE firms AS SELECT * FROM read_parquet('{folder / 'firms.parquet'}')")
    hand, _, _ = seconds(lambda: backend.con.sql(SQL).to_arrow_table(), time.process_time, 5)
    ours, _, leaf = seconds(lambda: finest(backend.table("firms"), folder), time.process_time, 5)
    top, clock, table = seconds(lambda: top_two(backend.table("firms"), folder), time.process_time, 2)
    return hand, ours, top, clock, summary(leaf), summary_of_table(table)


@contextmanager
def postgres_with_firms(folder: Path) -> Iterator[Any]:
    """A server of our own with the firms in it."""
    import ibis
    import pyarrow.csv
    import pyarrow.parquet as pq

    from tests.server.postgres import make_postgres

    server = make_postgres()
    try:
        backend = ibis.postgres.connect(host=str(server.folder), user="postgres", database="postgres")
        with backend.con.cursor() as cursor:
            cursor.execute("SET max_parallel_workers_per_gather = 0; SET work_mem = '512MB'; SET jit = off")
            cursor.execute(
                "CREATE TABLE firms (activity text, region text, holding integer, turnover bigint, wkey integer)"
            )
            with cursor.copy("COPY firms FROM STDIN (FORMAT csv)") as copy:
                for batch in pq.ParquetFile(folder / "firms.parquet").iter_batches(columns=list(COLUMNS)):
                    sink = pyarrow.BufferOutputStream()
                    pyarrow.csv.write_csv(batch, sink, pyarrow.csv.WriteOptions(include_header=False))
                    copy.write(sink.getvalue().to_pybytes())
            cursor.execute("ANALYZE firms")
        yield backend
        backend.disconnect()
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


def through_postgres(folder: Path) -> tuple[Any, ...]:
    import psutil

    with postgres_with_firms(folder) as backend:
        server = psutil.Process(backend.con.info.backend_pid)

        def cpu() -> float:
            times = server.cpu_times()
            return float(time.process_time() + times.user + times.system)

        def by_hand() -> Any:
            with backend.con.cursor() as cursor, cursor.copy(f"COPY ({SQL}) TO STDOUT") as copy:
                return b"".join(bytes(part) for part in copy)

        finest(backend.table("firms"), folder)
        hand, _, _ = seconds(by_hand, cpu)
        ours, _, leaf = seconds(lambda: finest(backend.table("firms"), folder), cpu)
        top, clock, table = seconds(lambda: top_two(backend.table("firms"), folder), cpu, 1)
    return hand, ours, top, clock, summary(leaf), summary_of_table(table)


def spark_session(folder: Path) -> Any:
    """Spark on this machine, which nobody outside can reach."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        "spark.driver.memory": "6g",
        "spark.local.dir": str(folder),
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def spark_cpu() -> Callable[[], float]:
    """Processor seconds of this process and of the Java process that it started."""
    import psutil

    java = [child for child in psutil.Process().children(recursive=True) if "java" in child.name()]

    def cpu() -> float:
        times = [child.cpu_times() for child in java]
        return time.process_time() + sum(one.user + one.system for one in times)

    return cpu


def through_spark(folder: Path) -> tuple[Any, ...]:
    session = spark_session(folder)
    try:
        frame = session.read.parquet(str(folder / "firms.parquet"))
        cpu = spark_cpu()
        ours, _, leaf = seconds(lambda: finest(frame, folder), cpu, 2)
        top, clock, table = seconds(lambda: top_two(frame, folder), cpu, 1)
    finally:
        session.stop()
    return ours, top, clock, summary(leaf), summary_of_table(table)


# ---- many records -------------------------------------------------------------------------------------------


def write_parts(folder: Path, records: int, parts: int) -> tuple[int, ...]:
    """A folder of files whose firms are all drawn anew; what :func:`write_firms` says, added up."""
    (folder / "parts").mkdir()
    found = [write_firms(folder, records, f"parts/part{part:02d}.parquet", part + 1) for part in range(parts)]
    return tuple(sum(column) for column in zip(*found, strict=True))


def spark_memory(folder: Path) -> tuple[float, float, tuple[int, ...]]:
    """Peak memory of our process in GiB and clock seconds while Spark tabulates the records of a folder."""
    import resource

    session = spark_session(folder)
    try:
        frame = session.read.parquet(str(folder / "parts"))
        begun = time.monotonic()
        leaf = finest(frame, folder)
        clock = time.monotonic() - begun
    finally:
        session.stop()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, clock, summary(leaf)


def _refuse_other_answers(one: Any, other: Any) -> None:
    if tuple(one) != tuple(other):
        raise SystemExit(f"The two sides do not agree: {one} and {other}.")


BY_NAME_ONLY = ("spark-many",)


@case("engines-remote")
def engines_remote(scale: float) -> Sequence[Measure]:
    """Finest cells and holdings of five million firms where they lie."""
    from tests.server.postgres import missing

    records = int(5_000_000 * scale)
    measures = []
    with scratch() as folder:
        apart(write_firms, folder, records)
        leaf, table, memory_top = apart(in_memory, folder)
        words = f"{records:,} firms, {leaf[0]:,} finest cells, {table[0]:,} cells"
        hand, ours, top, clock, *answers = apart(through_duckdb, folder)
        _refuse_other_answers(answers, (leaf, table))
        said = f"{words}; two largest holdings of all cells in memory {memory_top:.1f} CPU s"
        measures.append(Measure("duckdb, counts, keys, sums, CPU s", ours, hand, 2.0, said))
        measures.append(
            Measure("duckdb, two largest holdings, CPU s", top, TOP_LIMIT, 1.0, f"{clock:.1f} s by the clock")
        )
        if missing():
            print(f"  {missing()}")
        else:
            hand, ours, top, clock, *answers = apart(through_postgres, folder)
            _refuse_other_answers(answers, (leaf, table))
            said = f"PostgreSQL: two largest holdings of all cells {top:.1f} CPU s, {clock:.1f} s by the clock"
            measures.append(Measure("PostgreSQL, counts, keys, sums, CPU s", ours, hand, 1.2, said))
        if shutil.which("java") is None:
            print("  Spark is left out: there is no java.")
        else:
            ours, top, clock, *answers = apart(through_spark, folder)
            _refuse_other_answers(answers, (leaf, table))
            print(
                f"  Spark: counts, keys, sums {ours:.1f} CPU s; two largest {top:.1f} CPU s, {clock:.1f} s by the clock"
            )
    return measures


@case("spark-many")
def spark_many(scale: float) -> Sequence[Measure]:
    """A hundred million records in a folder of Parquet files under Spark: what our own process takes."""
    with scratch() as folder:
        written = apart(write_parts, folder, int(5_000_000 * scale), 20)
        peak, clock, found = apart(spark_memory, folder)
    _refuse_other_answers(found[1:], written)
    said = f"{found[1]:,} records of 20 files, {found[0]:,} finest cells, {clock:.0f} s by the clock"
    return [Measure("GiB of our process", peak, MEMORY_LIMIT, 1.0, said)]
