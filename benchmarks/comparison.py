"""Cell keys against small counts on a census of 100,000 persons, over 50 keys, in one command."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.registry import Measure, case, scratch

RECORDS, AREAS, RUNS = 100_000, 30, 50
CPU_LIMIT = 300.0
TABLES = {"age": ("area", "age_group", "labour"), "sex": ("area", "sex", "labour")}
RECIPE = """
version = 1
protect = []

[data]
file = "records.parquet"

[hierarchies]
{hierarchies}
{tables}
[[compare]]
name = "small count rounding"
method = "small_count"
vary = {{ base = [3, 5] }}

[[compare]]
name = "cell keys"
method = "cell_key"
identifier = "person"
vary = {{ V = [2.0, 3.0] }}

[output]
directory = "out"
"""


def write_kitchen(folder: Path, records: int) -> Path:
    """The persons, their hierarchies and the recipe."""
    import pyarrow.parquet as pq

    import discreet as ds

    census = ds.generate.census_population(records, areas=AREAS)
    variables = sorted({name for by in TABLES.values() for name in by})
    pq.write_table(census.records.select(["person", *variables]), folder / "records.parquet")
    listed = []
    for name in variables:
        hierarchy = ds.Hierarchy.from_parents(census.parents[name], "Total")
        ds.write_hierarchy(hierarchy, folder / f"{name}.hrc")
        listed.append(f'{name} = "{name}.hrc"')
    tables = "".join(f"\n[[tables]]\nname = '{name}'\nby = {list(by)}\n" for name, by in TABLES.items())
    recipe = folder / "census.toml"
    recipe.write_text(RECIPE.format(hierarchies="\n".join(listed), tables=tables), encoding="utf-8")
    return recipe


@case("comparison")
def comparison(scale: float) -> Sequence[Measure]:
    """Risk-utility map of cell keys and small count rounding through expected inner frequencies."""
    runs = max(2, round(RUNS * min(1.0, scale * 5)))
    with scratch() as folder:
        recipe = write_kitchen(folder, round(RECORDS * scale))
        page = folder / "compare.html"
        options = ["--runs", str(runs), "--no-attack", "--guess", "labour", "--report", str(page)]
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "discreet", "compare", str(recipe), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        after, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
        if done.returncode:
            raise RuntimeError(done.stderr)
        print(done.stdout)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        settings = f"discreet compare {recipe.name} {' '.join(options[:-1])} compare.html; {scale * RECORDS:,.0f} "
        settings += f"persons, {runs} keys; clock s {clock:.0f}; page {len(page.read_bytes()) / 1e6:.2f} MB; the peer "
        return [Measure("CPU s", cpu, CPU_LIMIT, 1.0, settings + "is the limit")]
