"""The field's own engines: within the limits of their figures, and modular against the engine of τ-ARGUS.

Limits are seconds of processor for the proposal alone; tabulating and auditing stand beside it. The peer is the one of
:mod:`benchmarks.peer`. ``python -m benchmarks.engines`` prints the comparison over sizes that the documentation shows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.peer import MISSING, SETTINGS, interpreter
from benchmarks.registry import Measure, apart, case, scratch
from benchmarks.suppression import SHAPES, Shape, assessed, by_peer, value_of

SIZES = {
    "1,000": Shape(8_000, (6, 13, 27, 56), (3, 8), ("activity", "region"), 0.0, None),
    "10,000": Shape(200_000, (6, 20, 60, 112), (5, 15, 42), ("activity", "region"), 0.0, None),
    "40,000": Shape(500_000, (8, 40, 120, 300), (6, 24, 90), ("activity", "region"), 0.0, None),
    "200,000": Shape(2_500_000, (10, 60, 200, 540), (8, 40, 160, 260), ("activity", "region"), 0.0, None),
}
"""Tables of the comparison, by about how many cells they have."""
THREE_WAY: dict[str, tuple[Shape, dict[str, Any]]] = {
    "5,200 cells, all sub-tables to their optimum": (SHAPES["3-D, 5,500 cells"], {"nodes": None}),
    "5,900 cells": (Shape(45_000, (6, 20, 45), (4, 14), ("activity", "region", "size"), 0.0, None), {}),
}
"""Tables on both sides of 5,600 cells; the first is that of the suppression cases, the second has harder sub-tables."""
AUDITED = 60_000
"""Of patterns of larger tables a sample of the unsafe cells is attacked in the comparison."""
SAMPLED = 2_000
"""How many unsafe cells such a sample has."""
ALGORITHMS = ("hypercube", "modular", "gauss", "certified")


class Proposed(NamedTuple):
    """Processor and clock seconds of a proposal, value and number of its secondaries, and the table in words."""

    seconds: float
    elapsed: float
    value: float
    secondaries: int
    text: str


def proved_part(effort: dict[str, int]) -> str:
    """How many sub-tables of the modular engine were solved to a proved optimum; nothing for other engines."""
    if "subtables_solved" not in effort:
        return ""
    return f"{effort['subtables_proved']:,} of {effort['subtables_solved']:,}"


def proposed(algorithm: str, table: Any, settings: dict[str, Any] | None = None) -> Proposed:
    """What an engine proposes for a table, after it was compiled on a small one."""
    import discreet as ds
    from discreet.relations import build_system
    from discreet.tables.engines import propose

    small = build_system(ds.examples.small_table().assess(ds.PPercent(10)))
    propose(algorithm, small, small.cost("value"), **(settings or {}))
    system = build_system(table)
    cost = system.cost("value")
    started, begun = time.process_time(), time.monotonic()
    found = propose(algorithm, system, cost, **(settings or {}))
    seconds, elapsed = time.process_time() - started, time.monotonic() - begun
    secondary = found.withheld & ~system.unsafe
    value = value_of(system, found.withheld[system.of[0]])
    text = (
        f"{int((~system.empty).sum()):,} cells, {int(system.unsafe.sum()):,} unsafe, {int(secondary.sum()):,} besides"
    )
    part = proved_part(found.effort)
    text += f", {part} sub-tables solved to a proved optimum" if part else ""
    return Proposed(seconds, elapsed, value, int(secondary.sum()), text)


def hypercube_case(scale: float) -> Proposed:
    """Hypercubes on 212,000 cells."""
    return proposed("hypercube", assessed(SIZES["200,000"], scale))


def modular_case(shape: Shape, scale: float, settings: dict[str, Any] | None = None) -> Proposed:
    """The modular engine on a table."""
    return proposed("modular", assessed(shape, scale), settings)


def gauss_case(records: int, activities: tuple[int, ...], regions: tuple[int, ...], scale: float) -> Proposed:
    """Elimination on a table of counts."""
    import discreet as ds
    from discreet.generate import business_survey

    survey = business_survey(max(1_000, int(records * scale)), activities=activities, regions=regions)
    by = {name: ds.Hierarchy.from_parents(survey.parents[name], total="Total") for name in ("activity", "region")}
    return proposed("gauss", ds.tabulate(survey.records, by=by).assess(ds.MinFrequency(3)))


def network_case(side: int) -> Proposed:
    """Network flows on a square table, one side of which has a hierarchy."""
    import numpy as np
    import pyarrow as pa

    import discreet as ds

    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(side), side)
    columns = np.tile(np.arange(side), side)
    value = np.rint(rng.lognormal(5, 1.5, side * side)).astype(np.int64) + 1
    # Every firm fills a cell alone or with many others, so that one cell in a hundred is unsafe.
    few = rng.random(side * side) < 0.01
    frame = pa.table(
        {
            "r": np.concatenate([np.char.mod("r%04d", rows), np.char.mod("r%04d", rows[~few])]),
            "c": np.concatenate([np.char.mod("c%04d", columns), np.char.mod("c%04d", columns[~few])]),
            "value": np.concatenate([value, value[~few]]),
        }
    )
    parents = {f"r{i:04d}": f"R{i // 10:03d}" for i in range(side)}
    parents |= {f"R{i:03d}": "Total" for i in range((side + 9) // 10)}
    by = {
        "r": ds.Hierarchy.from_parents(parents, total="Total"),
        "c": ds.Hierarchy.flat([f"c{i:04d}" for i in range(side)]),
    }
    return proposed("network", ds.tabulate(frame, by=by, value="value").assess(ds.MinContributors(2)))


@case("engines")
def engines(scale: float) -> Sequence[Measure]:
    """Seconds of processor against the limits, and modular against its peer."""
    measures = []
    done = apart(hypercube_case, scale)
    measures.append(Measure("hypercube, 212,000 cells, CPU s", done.seconds, 60.0, 1.0, f"hypercube: {done.text}"))
    for what, (shape, settings) in THREE_WAY.items():
        three = apart(modular_case, shape, scale, settings)
        said = f"modular, 3-D, {what}: {three.text}, {three.elapsed:.0f} s by the clock"
        measures.append(Measure(f"modular, 3-D, {what}, CPU s", three.seconds, 180.0, 1.0, said))
    two = apart(modular_case, SIZES["10,000"], scale)
    if interpreter() is not None:
        with scratch() as folder:
            seconds, value = apart(by_peer, SIZES["10,000"], scale, str(folder))
        said = f"modular, 2-D: {two.text}; peer pytauargus {SETTINGS}"
        measures.append(Measure("modular, 10,000 cells, CPU s", two.seconds, seconds, 1.5, said))
        measures.append(Measure("modular, 10,000 cells, value in millions", two.value / 1e6, value / 1e6, 1.02, said))
    else:
        print(f"  {MISSING} modular on 10,000 cells alone: {two.seconds:.1f} CPU s, {two.text}")
    counts = apart(gauss_case, 120_000, (6, 20, 60, 104), (4, 12, 33), scale)
    measures.append(Measure("gauss, counts, 7,000 cells, CPU s", counts.seconds, 2.0, 1.0, f"gauss: {counts.text}"))
    large = apart(gauss_case, 1_000_000, (8, 50, 160, 460), (8, 30, 120, 192), scale)
    measures.append(Measure("gauss, counts, 107,000 cells, CPU s", large.seconds, 120.0, 1.0, f"gauss: {large.text}"))
    square = apart(network_case, max(20, int(1_000 * scale**0.5)))
    measures.append(Measure("network, 1,000 x 1,000, CPU s", square.seconds, 60.0, 1.0, f"network: {square.text}"))
    return measures


def compared(algorithm: str, size: str) -> list[str]:
    """One line of the comparison over sizes: the pattern as it stands, attacked by outsiders and every contributor."""
    import discreet as ds
    from discreet.relations import build_system
    from discreet.tables.engines import SETTINGS as ENGINES
    from discreet.tables.engines import propose

    method = ds.Suppress(algorithm=algorithm, insiders="nonzero", joint=False)  # type: ignore[arg-type]
    small = build_system(ds.examples.small_table().assess(ds.PPercent(10)))
    method.propose(small)
    system = build_system(assessed(SIZES[size], 1.0))
    started = time.process_time()
    if algorithm in ENGINES:
        found = propose(algorithm, system, system.cost("value"))
        withheld, part = found.withheld | system.unsafe, proved_part(found.effort)
    else:
        withheld, part = method.propose(system), ""
    seconds = time.process_time() - started
    secondary = withheld & ~system.unsafe
    value = float(system.value[secondary].sum()) / 1e6
    cells = [f"{int(mask.sum()):,}" for mask in (~system.empty, system.unsafe, secondary)]
    return [algorithm, *cells, f"{value:,.1f}", *attacked(method, system, withheld), part, f"{seconds:.1f}"]


def attacked(method: Any, system: Any, withheld: Any) -> list[str]:
    """How many unsafe cells are short of their level, and known to an insider; of a sample in large tables."""
    from dataclasses import replace

    import numpy as np

    of = ""
    if len(system) > AUDITED:
        sample = np.zeros(len(system), np.bool_)
        unsafe = np.flatnonzero(system.unsafe)
        sample[np.random.default_rng(1).choice(unsafe, min(SAMPLED, len(unsafe)), replace=False)] = True
        system, of = replace(system, unsafe=sample), f" of {int(sample.sum()):,}"
    found = method.attacked(system, withheld).counts()
    return [f"{found[name]:,}{of}" for name in ("short", "recoverable_insiders")]


def main() -> None:
    """Print the comparison over sizes as a table for the documentation; names of sizes may be given."""
    names = ["algorithm", "cells", "unsafe", "besides", "their value, millions", "short", "known to an insider"]
    names += ["sub-tables proved", "CPU s"]
    print("| " + " | ".join(names) + " |")
    print("|---" * len(names) + "|")
    for size in sys.argv[1:] or SIZES:
        for algorithm in ALGORITHMS:
            print("| " + " | ".join(apart(compared, algorithm, size)) + " |", flush=True)


if __name__ == "__main__":
    main()
