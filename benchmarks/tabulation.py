"""Tabulation against duckdb: leaf tables with record keys, hierarchical magnitude tables, files beyond memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, scratch, timed

CENSUS_BY = ("area", "sex", "age_group")
BUSINESS_BY = ("activity", "region")
KEY_MODULUS = 10**15
MEMORY_TARGET = 4.0


# ---- data ---------------------------------------------------------------------------------------------------


def write_census(folder: Path, records: int, variables: Sequence[str] = CENSUS_BY) -> None:
    from discreet.generate import census_population

    population = census_population(records, areas=35_000)
    population.write(folder)
    codes = {name: population.records[name].chunk(0).dictionary.to_pylist() for name in variables}
    (folder / "codes.json").write_text(json.dumps(codes))


def write_business(folder: Path, records: int, format: str) -> None:
    from discreet.generate import LARGE_ACTIVITIES, LARGE_REGIONS, business_survey

    survey = business_survey(records, activities=LARGE_ACTIVITIES, regions=LARGE_REGIONS)
    survey.write(folder, format=format)  # type: ignore[arg-type]
    (folder / "parents.json").write_text(json.dumps({name: survey.parents[name] for name in BUSINESS_BY}))


def digest_of(frame: Any) -> str:
    """A frame as a short text that is the same for the same rows in any order."""
    import pyarrow as pa

    ordered = frame.sort_by([(name, "ascending") for name in frame.column_names])
    digest = hashlib.sha256()
    for name in ordered.column_names:
        digest.update(json.dumps([name, *ordered[name].cast(pa.string()).to_pylist()]).encode())
    return digest.hexdigest()


def frame_of(table: Any, columns: Mapping[str, Any]) -> Any:
    """Cells as an Arrow table with plain text codes."""
    import pyarrow as pa

    codes = {
        variable: pa.DictionaryArray.from_arrays(pa.array(table.codes[:, k]), pa.array(hierarchy.codes)).cast(
            pa.string()
        )
        for k, (variable, hierarchy) in enumerate(table.spec.by.items())
    }
    return pa.table({**codes, **columns})


# ---- counts and key sums of leaf cells ----------------------------------------------------------------------


def census_ours(folder: Path) -> Timing:
    from discreet.model.hierarchy import Hierarchy
    from discreet.model.microdata import Microdata
    from discreet.verbs.tabulate import tabulate

    by = {name: Hierarchy.flat(codes, total=None) for name, codes in _codes(folder).items()}

    def run() -> Any:
        table: Any = tabulate(Microdata(folder / "records.parquet", record_key="record_key"), by=by)
        return frame_of(table, {"count": table.value, "key": table.key_sum})

    return timed(run, digest_of)


def census_duckdb(folder: Path, threads: int) -> Timing:
    connection = _connected(threads)
    query = (
        f"SELECT area, sex, age_group, count(*) AS count, "
        f"CAST(sum(CAST(record_key * 1e15 AS BIGINT)) % {KEY_MODULUS} AS BIGINT) AS key "
        f"FROM read_parquet('{folder / 'records.parquet'}') GROUP BY ALL"
    )
    return timed(lambda: connection.sql(query).to_arrow_table(), digest_of)


def encoded_ours(folder: Path) -> Timing:
    import numpy as np
    import pyarrow.parquet as pq

    from discreet.engine.cells import LeafSums, strides_of
    from discreet.engine.encode import BLOCK, CodeColumn, number_cells

    listing = _codes(folder)
    columns = pq.read_table(folder / "records.parquet", columns=[*CENSUS_BY, "record_key"])
    codes = [_positions(columns[name], listing[name]) for name in CENSUS_BY]
    key = np.rint(columns["record_key"].to_numpy() * 1e15).astype(np.int64)
    shape = tuple(len(listing[name]) for name in CENSUS_BY)
    strides = strides_of(shape)
    same = [np.arange(size, dtype=np.int32) for size in shape]
    none = np.zeros((0, 0), np.int64)

    def run() -> Any:
        sums = LeafSums(shape, 0, KEY_MODULUS, True)
        buffer = np.empty(BLOCK, np.int64)
        for start in range(0, len(key), BLOCK):
            block = slice(start, min(start + BLOCK, len(key)))
            cells = buffer[: block.stop - block.start]
            number_cells([CodeColumn(c[block], p) for c, p in zip(codes, same, strict=True)], strides, cells)
            sums.add(cells, none, key[block])
        return sums.finish()

    return timed(run, lambda leaf: [len(leaf.keys), int(leaf.records.sum()), int(leaf.key_sum.sum())])


def encoded_duckdb(folder: Path, threads: int) -> Timing:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    listing = _codes(folder)
    columns = pq.read_table(folder / "records.parquet", columns=[*CENSUS_BY, "record_key"])
    encoded = pa.table(
        {
            **{name: _positions(columns[name], listing[name]) for name in CENSUS_BY},
            "key": np.rint(columns["record_key"].to_numpy() * 1e15).astype(np.int64),
        }
    )
    connection = _connected(threads)
    connection.register("arrow", encoded)
    connection.execute("CREATE TABLE encoded AS SELECT * FROM arrow")
    query = (
        f"SELECT area, sex, age_group, count(*) AS count, CAST(sum(key) % {KEY_MODULUS} AS BIGINT) AS key "
        "FROM encoded GROUP BY ALL"
    )

    def digest(found: Mapping[str, Any]) -> list[int]:
        return [len(found["key"]), int(found["count"].sum()), int(found["key"].sum())]

    return timed(lambda: connection.execute(query).fetchnumpy(), digest)


@case("census-leaves")
def census_leaves(scale: float) -> Sequence[Measure]:
    """Counts and record-key sums of 35,000 x 2 x 20 leaf cells: from Parquet, and on encoded columns."""
    records = int(10_000_000 * scale)
    with scratch() as folder:
        apart(write_census, folder, records)
        sides = {
            "from Parquet": (apart(census_ours, folder), census_duckdb, 1 / 2),
            "encoded": (apart(encoded_ours, folder), encoded_duckdb, 1 / 8),
        }
        measures: list[Measure] = []
        for what, (ours, peer, target) in sides.items():
            for threads in (1, 0):
                theirs = apart(peer, folder, threads)
                _refuse_other_answers(ours, theirs)
                named = "1 thread" if threads == 1 else "default threads"
                measures.append(
                    Measure(
                        f"CPU s, {what}, duckdb with {named}",
                        ours.warm_cpu,
                        theirs.warm_cpu,
                        target,
                        f"{records:,} records, {what}: clock s warm (cold) {_clock(ours)} against duckdb, {named}, "
                        f"{_clock(theirs)}; cold CPU s {ours.cold_cpu:.2f} against {theirs.cold_cpu:.2f}",
                    )
                )
    return measures


# ---- all levels, distinct holdings and largest contributions ----------------------------------------------------


def business_ours(folder: Path) -> Timing:
    from discreet.model.hierarchy import Hierarchy
    from discreet.model.microdata import Microdata
    from discreet.verbs.tabulate import tabulate

    by = {name: Hierarchy.from_parents(parents, total="Total") for name, parents in _parents(folder).items()}

    def run() -> Any:
        data = Microdata(folder / "records.parquet", contributor="holding")
        table: Any = tabulate(data, by=by, value="turnover", top=2)
        found = table.contributions["holding"]
        amounts = {"total": table.value, "records": table.records, "holdings": found.count}
        return frame_of(table, {**amounts, "top1": found.top[:, 0], "top2": found.top[:, 1]})

    return timed(run, digest_of)


def business_duckdb(folder: Path, threads: int) -> Timing:
    import pyarrow as pa

    connection = _connected(threads)
    for name, parents in _parents(folder).items():
        codes = ["Total", *parents]
        place = {code: position for position, code in enumerate(codes)}
        pairs: list[tuple[str, int]] = []
        for leaf in sorted(set(parents) - set(parents.values())):
            above = leaf
            while above != "Total":
                pairs.append((leaf, place[above]))
                above = parents[above]
            pairs.append((leaf, 0))
        ancestors = pa.table({"leaf": [leaf for leaf, _ in pairs], "id": pa.array([i for _, i in pairs], pa.int32())})
        listing = pa.table({"id": pa.array(range(len(codes)), pa.int32()), "code": codes})
        for table, columns in ((f"above_{name}", ancestors), (f"codes_{name}", listing)):
            connection.register("arrow", columns)
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM arrow")
    # Faster than GROUPING SETS over level columns, and than grouping by text codes.
    query = f"""
        WITH leaf AS (
            SELECT activity, region, holding, CAST(sum(turnover) AS BIGINT) AS v, count(*) AS n
            FROM read_parquet('{folder / "records.parquet"}') GROUP BY ALL
        ), up AS (
            SELECT CAST(a.id * 10000 + r.id AS INTEGER) AS cell, holding, CAST(sum(v) AS BIGINT) AS v,
                CAST(sum(n) AS BIGINT) AS n
            FROM leaf JOIN above_activity a ON a.leaf = activity JOIN above_region r ON r.leaf = region GROUP BY ALL
        ), cells AS (
            SELECT cell, CAST(sum(v) AS BIGINT) AS total, CAST(sum(n) AS BIGINT) AS records, count(*) AS holdings,
                max(v, 2) AS top
            FROM up GROUP BY cell
        )
        SELECT a.code AS activity, r.code AS region, total, records, holdings, coalesce(top[1], 0) AS top1,
            coalesce(top[2], 0) AS top2
        FROM cells JOIN codes_activity a ON a.id = cell // 10000 JOIN codes_region r ON r.id = cell % 10000"""
    return timed(lambda: connection.sql(query).to_arrow_table(), digest_of, repeats=2)


@case("business-magnitude")
def business_magnitude(scale: float) -> Sequence[Measure]:
    """Turnover by activity and region at all levels, with distinct holdings and the two largest."""
    records = int(2_000_000 * scale)
    with scratch() as folder:
        apart(write_business, folder, records, "parquet")
        ours = apart(business_ours, folder)
        measures: list[Measure] = []
        for threads in (1, 0):
            theirs = apart(business_duckdb, folder, threads)
            _refuse_other_answers(ours, theirs)
            named = "1 thread" if threads == 1 else "default threads"
            measures.append(
                Measure(
                    f"clock s, duckdb with {named}",
                    ours.warm,
                    theirs.warm,
                    1.0,
                    f"{records:,} records from Parquet: clock s warm (cold) {_clock(ours)} against duckdb, {named}, "
                    f"{_clock(theirs)}; warm CPU s {ours.warm_cpu:.2f} against {theirs.warm_cpu:.2f}",
                )
            )
    return measures


# ---- files beyond memory ----------------------------------------------------------------------------------------


def file_ours(folder: Path) -> Timing:
    from discreet.model.hierarchy import Hierarchy
    from discreet.model.microdata import Microdata
    from discreet.verbs.tabulate import tabulate

    by = {name: Hierarchy.from_parents(parents, total="Total") for name, parents in _parents(folder).items()}
    data = Microdata(folder / "records.csv", contributor="holding")
    return timed(lambda: tabulate(data, by=by, value="turnover", top=2, engine="duckdb"), len, repeats=0)


@case("file-beyond-memory")
def file_beyond_memory(scale: float) -> Sequence[Measure]:
    """The same table from a csv file of ten million records, within bounds of memory."""
    records = int(10_000_000 * scale)
    with scratch() as folder:
        apart(write_business, folder, records, "csv")
        size = (folder / "records.csv").stat().st_size / 2**30
        ours = apart(file_ours, folder)
    settings = (
        f"{records:,} records, csv of {size:.2f} GiB, engine='duckdb': {ours.cold:.1f} s, CPU {ours.cold_cpu:.1f} s"
    )
    return [Measure("peak GiB, against the limit", ours.peak, MEMORY_TARGET, 1.0, settings)]


# ---- shared -------------------------------------------------------------------------------------------------------


def _codes(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads((folder / "codes.json").read_text())
    return found


def _parents(folder: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((folder / "parents.json").read_text())
    return found


def _positions(column: Any, listing: Sequence[str]) -> Any:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    return pc.index_in(plain, value_set=pa.array(listing)).to_numpy().astype(np.int32)


def _connected(threads: int) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    if threads:
        connection.execute(f"SET threads = {threads}")
    return connection


def _refuse_other_answers(ours: Timing, theirs: Timing) -> None:
    if ours.answer != theirs.answer:
        raise AssertionError("The two sides give different answers.")


def _clock(timing: Timing) -> str:
    return f"{timing.warm:.2f} ({timing.cold:.2f})"
