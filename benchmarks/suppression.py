"""Certified suppression of business tables: within fixed limits of time, and against the modular engine of τ-ARGUS.

The peer is pytauargus (installed beside the bench extra), in a process and a folder of its own. It gets the same cells,
unsafe cells and levels as a ready-made table, with all its singleton options: ``MOD(1,5,1,1,1)``. Its pattern is taken
as it is, although it leaves unsafe cells short in the table as a whole. Values are of secondaries, each cell once.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.registry import Measure, apart, case, scratch

SETTINGS = "MOD(1,5,1,1,1)"


class Shape(NamedTuple):
    """A table: records, activities, regions, variables, limit of CPU seconds, and most of the peer's value."""

    records: int
    activities: tuple[int, ...]
    regions: tuple[int, ...]
    by: tuple[str, ...]
    limit: float
    dearer: float | None


SHAPES = {
    "2-D, 1,000 cells, few unsafe": Shape(35_000, (6, 13, 27, 56), (3, 8), ("activity", "region"), 1.0, 1.02),
    "2-D, 1,000 cells, many unsafe": Shape(8_000, (6, 13, 27, 56), (3, 8), ("activity", "region"), 10.0, 1.1),
    "2-D, 10,000 cells": Shape(200_000, (6, 20, 60, 100), (5, 15, 36), ("activity", "region"), 30.0, 1.1),
    "3-D, 5,500 cells": Shape(45_000, (6, 20, 40), (4, 12), ("activity", "region", "size"), 30.0, None),
}


def assessed(shape: Shape, scale: float) -> Any:
    """The table of a shape, assessed with p% = 10 on holdings."""
    import discreet as ds
    from discreet.generate import business_survey

    survey = business_survey(max(1_000, int(shape.records * scale)), activities=shape.activities, regions=shape.regions)
    by = {name: ds.Hierarchy.from_parents(survey.parents[name], total="Total") for name in shape.by}
    return ds.tabulate(ds.Microdata(survey.records, contributor="holding"), by=by, value="turnover").assess(
        ds.PPercent(10)
    )


def ours(shape: Shape, scale: float, insiders: str) -> tuple[float, float, str]:
    """CPU seconds, value of the secondaries, and what came out."""
    import discreet as ds
    from discreet.relations import build_system

    table = assessed(shape, scale)
    ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())  # compile, import
    started = time.process_time()
    release = ds.protect(table, ds.Suppress(insiders=insiders, joint=insiders == "full"))  # type: ignore[arg-type]
    seconds = time.process_time() - started
    checked = audited(release)
    system = build_system(table)
    value = value_of(system, release.custodian.withheld(0))
    return seconds, value, f"{len(system):,} distinct cells, {int(system.unsafe.sum()):,} unsafe, {checked}"


def audited(release: Any) -> str:
    """Verify a release and audit it over the full relations: all unsafe cells, or 2,000 of a table above 50,000."""
    import discreet as ds

    release.verify().require()
    cells = sum(len(table) for table in release.custodian.tables)
    found = ds.audit(release, sample=None if cells <= 50_000 else 2_000)
    accepted = len(release.custodian.evidence[0].accepted)
    if found.short > accepted:
        raise AssertionError(f"{found.short} unsafe cells are short of their level in the audit")
    return f"all certificates verified, {found.short} of {'all' if cells <= 50_000 else '2,000'} audited cells short"


def value_of(system: Any, hidden: Any) -> float:
    """Value of the secondaries of a pattern over a table's rows, each distinct cell once."""
    import numpy as np

    withheld = np.zeros(len(system), np.bool_)
    withheld[system.of[0][hidden]] = True
    return float(system.value[withheld & ~system.unsafe].sum())


def modular(shape: Shape, scale: float, folder: str) -> tuple[float, float]:
    """CPU seconds and value of the peer's pattern."""
    import numpy as np
    from pytauargus.engine import run_batch  # type: ignore[import-not-found, unused-ignore]

    from discreet.relations import build_system

    table = assessed(shape, scale)
    write_for_peer(table, Path(folder))
    os.chdir(folder)  # the peer looks for its files, and leaves its own, where it is started
    started = time.process_time()
    run_batch(str(Path(folder) / "run.arb"))
    seconds = time.process_time() - started
    position = [{code: i for i, code in enumerate(h.codes)} for h in table.spec.hierarchies]
    rows, letters = [], []
    for line in (Path(folder) / "out.txt").read_text().splitlines():
        fields = [field.strip().strip('"') for field in line.split(",")]
        if fields[0] in position[0]:
            rows.append([places[code] for places, code in zip(position, fields, strict=False)])
            letters.append(fields[-1])
    at = table.find(np.array(rows, np.int32))
    hidden = np.zeros(len(table), np.bool_)
    hidden[at[(at >= 0) & np.isin(letters, ["9", "11", "12"])]] = True
    return seconds, value_of(build_system(table), hidden)


def write_for_peer(table: Any, folder: Path) -> None:
    """The table as the peer's files: cells with statuses and levels, metadata, hierarchies and a batch."""
    meta = ['<SEPARATOR> ";"', "<SAFE> S", "<UNSAFE> U", "<PROTECT> P"]
    for name, hierarchy in table.spec.by.items():
        meta += [name, "<RECODEABLE>", "<TOTCODE> Total"]
        if len(hierarchy.groupings) > 1:
            meta += ["<HIERARCHICAL>", f'<HIERCODELIST> "{name}.hrc"', '<HIERLEADSTRING> "@"']
        parts = {g.parent: [code for code, _ in g.parts] for g in hierarchy.groupings}
        (folder / f"{name}.hrc").write_text("\n".join(_indented(parts, "Total", 0)) + "\n")
    meta += ["value", "<NUMERIC>", "freq", "<FREQUENCY>", "stat", "<STATUS>"]
    meta += ["lpl", "<NUMERIC> <LOWERPL>", "upl", "<NUMERIC> <UPPERPL>"]
    (folder / "t.rda").write_text("\n".join(meta) + "\n")
    count, lower, upper = table.holders.count, table.assessment.lower, table.assessment.upper
    with (folder / "t.tab").open("w") as stream:
        for row in range(len(table)):
            status = [count[row], "U" if table.unsafe[row] else "S", lower[row], upper[row]]
            codes = table.spec_codes(table.codes[row].tolist())
            stream.write(";".join(str(field) for field in [*codes, table.value[row], *status]) + "\n")
    variables = "".join(f'"{name}"' for name in table.variables)
    (folder / "run.arb").write_text(
        f'<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n'
        f'<SPECIFYTABLE> {variables}|"value"||"value"\n<SAFETYRULE>\n'
        f'<READTABLE> 0\n<SUPPRESS> {SETTINGS}\n<WRITETABLE> (1,3,AS+,"out.txt")\n'
    )


def _indented(parts: dict[str, list[str]], code: str, depth: int) -> list[str]:
    lines = []
    for part in parts.get(code, []):
        lines += ["@" * depth + part, *_indented(parts, part, depth + 1)]
    return lines


@case("suppression")
def suppression(scale: float) -> Sequence[Measure]:
    """CPU seconds against the limits, value against the modular engine, with both kinds of insiders."""
    measures = []
    peer_there = importlib.util.find_spec("pytauargus") is not None
    for name, shape in SHAPES.items():
        seconds, value, text = apart(ours, shape, scale, "nonzero")
        full_seconds, full_value, _ = apart(ours, shape, scale, "full")
        settings = f"{name}: {text}; value {value:,.0f}; insiders full: {full_value:,.0f} in {full_seconds:.1f} s"
        measures.append(Measure(f"{name}, nonzero, CPU s", seconds, shape.limit, 1.0, settings))
        if peer_there and shape.dearer is not None:
            with scratch() as folder:
                peer_seconds, peer_value = apart(modular, shape, scale, str(folder))
            said = f"{name}: pytauargus {SETTINGS} in {peer_seconds:.1f} CPU s"
            measures.append(Measure(f"{name}, value in millions", value / 1e6, peer_value / 1e6, shape.dearer, said))
    if not peer_there:
        print(
            "  pytauargus is not installed: pip install pytauargus beside the bench extra for the comparison of values."
        )
    return measures
