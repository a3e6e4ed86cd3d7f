"""Recodings of a million records, each way alone, and proposals of recodings."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed


def people(rows: int) -> Any:
    """Persons with columns of every type."""
    import numpy as np
    import pyarrow as pa

    import discreet as ds

    draw = np.random.default_rng(1)
    days = draw.integers(0, 18_000, rows).astype("int32")
    table = pa.table(
        {
            "age": draw.integers(0, 100, rows),
            "job": np.array([f"{i:03d}" for i in range(300)])[draw.integers(0, 300, rows)],
            "income": np.round(draw.lognormal(10, 1, rows), 2),
            "tax": draw.integers(0, 100_000, rows),
            "born": pa.array(days, pa.date32()),
            "weight": draw.uniform(1, 9, rows),
        }
    )
    return ds.Microdata(table, numeric=["income", "tax"], sensitive=["age", "job", "born"], weight="weight")


def slowest(rows: int) -> Timing:
    """The slowest of all ways; the answer names it and its seconds."""
    import discreet as ds
    from discreet.engine.record_set import read_record_set

    records = read_record_set(people(rows))
    ways = {
        "map": ds.Recode("job", map={f"{i:03d}": f"{i // 100}xx" for i in range(300)}),
        "groups": ds.Recode("job", groups={"low": ["000-099"], "high": ["100-"]}),
        "digits": ds.Recode("job", digits=1),
        "intervals": ds.Recode("age", intervals=[15, 30, 45, 65]),
        "rounding": ds.Recode("income", base=50),
        "month": ds.Recode("born", date="month"),
        "top": ds.Recode("income", top=60_000),
        "weighted quantile": ds.Recode("income", top_quantile=0.995, weight="weight"),
        "mean of the largest": ds.Recode("income", top_count=5_000, weight="weight", coded_as="mean"),
        "two columns together": ds.Recode(["income", "tax"], top_quantile=0.99, together=True, coded_as="median"),
    }
    seconds: dict[str, float] = {}

    def run() -> Any:
        for name, method in ways.items():
            begin = process_time()
            method.run(records)
            seconds[name] = process_time() - begin
        return max(seconds, key=lambda name: seconds[name])

    return timed(run, lambda name: (name, seconds[name]), repeats=1)


def proposed(rows: int) -> Timing:
    """Proposals for four keys."""
    import discreet as ds

    keys = ["age", "sex", "area", "education"]
    census = ds.generate.census_population(rows)
    tree = ds.Hierarchy.from_parents(census.parents["area"], total="Total")
    data = ds.Microdata(census.records.select(keys), keys=keys, hierarchies={"area": tree})
    return timed(
        lambda: ds.propose_recodes(data, rules=ds.KAnonymity(3)), lambda found: (found.unsafe, found.left), repeats=1
    )


@case("recode")
def recode(scale: float) -> Sequence[Measure]:
    """A million records: every way to recode within a second of processor, proposals for four keys within 15 s."""
    rows = int(1_000_000 * scale)
    ours = apart(slowest, rows)
    name, seconds = ours.answer
    found = apart(proposed, rows)
    before, after = found.answer
    settings = f"{rows:,} records; slowest way: {name}"
    told = f"census of {rows:,} persons, four keys, k = 3; unsafe records {before:,} to {after:,}"
    return [
        Measure("CPU s of the slowest way, against the limit", seconds, 1.0, 1.0, settings),
        Measure("CPU s of proposals, against the limit", found.warm_cpu, 15.0, 1.0, told),
    ]
