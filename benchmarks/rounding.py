"""Controlled rounding at scale: worst violation y and CPU seconds, each against the figure that it is to reach.

``rounding-peer`` runs the rounding of pytauargus beside ours in a process of its own. It needs an interpreter that has
the package: name it in the environment variable ``DISCREET_PYTAUARGUS``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.registry import Measure, apart, case, scratch

BY_NAME_ONLY = ("rounding-tree", "rounding-millions")
TREE_LEAVES, TREE_PARENTS = 22_710, 5_425


def count_table(shape: Sequence[int], share: float, largest: int, seed: int, parents: Any = None) -> Any:
    """A count table with totals: inner cells are 0 or, with a chance of ``share``, drawn evenly from 1 to a largest.

    ``parents`` is the tree of the last variable; the others are flat.
    """
    import numpy as np
    import pyarrow as pa

    import discreet as ds

    random = np.random.default_rng(seed)
    inner = np.where(random.random(shape) < share, random.integers(1, largest + 1, shape), 0)
    place = np.indices(shape).reshape(len(shape), -1)
    by, columns = {}, {}
    for k, size in enumerate(shape):
        codes = [f"{'abcdefgh'[k]}{i}" for i in range(size)]
        tree = parents if parents is not None and k == len(shape) - 1 else dict.fromkeys(codes, "Total")
        by[f"v{k}"] = ds.Hierarchy.from_parents(tree, total="Total")
        columns[f"v{k}"] = pa.DictionaryArray.from_arrays(place[k].astype(np.int32), codes)
    columns["value"] = inner.ravel()
    return ds.Table.from_cells(pa.table(columns), by=by, counts=True, compute_totals=True).assess()


def rounded(table: Any, base: int, **options: Any) -> tuple[float, int, Any]:
    """CPU seconds, worst violation and the release; the answer is verified."""
    import numpy as np

    import discreet as ds

    warm = count_table((3, 3, 3), 0.5, 4, 1)
    ds.protect(warm, ds.Round(base, levels=False))  # compile, import
    started = time.process_time()
    release = ds.protect(table, ds.Round(base, levels=False, **options))
    seconds = time.process_time() - started
    if not release.verify().holds:
        raise AssertionError("The rounding does not verify.")
    worst = int(release.custodian.evidence[0].facts["worst_violation"])
    assert np.all(release.public.tables[0].value % base == 0)
    return seconds, worst, release


def flat(shape: Sequence[int], share: float, largest: int, base: int, seed: int) -> tuple[float, int, str]:
    """CPU seconds, worst violation and words for a flat table."""
    table = count_table(shape, share, largest, seed)
    seconds, worst, _ = rounded(table, base)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    words = f"{' x '.join(map(str, shape))} inner cells, {len(table):,} with totals, base {base}; {memory:.1f} GiB"
    return seconds, worst, words


@case("rounding-two-way")
def two_way(scale: float) -> Sequence[Measure]:
    """50 x 10,000 counts with margins at neighbouring multiples of 3: 60 s of CPU allowed."""
    seconds, worst, words = apart(flat, (50, max(10, int(10_000 * scale))), 0.7, 60, 3, 1)
    return [
        Measure("CPU s, against the limit", seconds, 60.0, 1.0, words),
        Measure("1 + worst violation y", 1 + worst, 1.0, 1.0, "a two-way table always has y = 0"),
    ]


@case("rounding-cube")
def cube(scale: float) -> Sequence[Measure]:
    """30 x 30 x 30 without zeros, base 5: y = 0 wanted."""
    side = max(4, int(30 * scale ** (1 / 3)))
    seconds, worst, words = apart(flat, (side, side, side), 1.0, 4, 5, 2)
    return [
        Measure("1 + worst violation y", 1 + worst, 1.0, 1.0, words),
        Measure("CPU s, against the source's", seconds, 2538.0, 1.0, "the source: mean of ten tables, another machine"),
    ]


@case("rounding-eight-way")
def eight_way(scale: float) -> Sequence[Measure]:
    """3^6 x 2^2, base 5, by share of cells that are not zero: y of at most 4 wanted; the source: 3, 4, 12, 15."""
    shape = (3, 3, 3, 3, 3, 3, 2, 2) if scale == 1 else (3, 3, 3, 2)
    measures = []
    for number, (percent, source) in enumerate(((25, 3), (50, 4), (75, 12), (100, 15))):
        seconds, worst, words = apart(flat, shape, percent / 100, 4, 5, 10 + number)
        said = f"{percent} % not zero: {seconds:.0f} CPU s; the source {source} after an hour; {words}"
        measures.append(Measure(f"worst violation y, {percent} %", worst, 4.0, 1.0, said))
    return measures


def tree_parents(leaves: int, parents: int) -> dict[str, str]:
    """A tree in which leaves are dealt evenly to parents, and these in groups of 40 to parents above them."""
    above = -(-parents // 41)
    below = parents - 1 - above
    made = {f"c{i}": f"p{i * below // leaves}" for i in range(leaves)}
    made |= {f"p{i}": f"q{i * above // below}" for i in range(below)}
    return made | {f"q{i}": "Total" for i in range(above)}


def tree(scale: float) -> tuple[float, int, str]:
    """CPU seconds, worst violation and words for the three-way table with a tree of codes."""
    leaves, parents = int(TREE_LEAVES * scale), int(TREE_PARENTS * scale)
    table = count_table((3, 6, leaves), 0.6, 12, 3, tree_parents(leaves, parents))
    seconds, worst, _ = rounded(table, 3)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, worst, f"3 x 6 x {leaves:,} leaves and {parents:,} parents, {len(table):,} cells; {memory:.1f} GiB"


@case("rounding-tree")
def hierarchical(scale: float) -> Sequence[Measure]:
    """787,780 cells of a three-way table with a tree of 28,135 codes, base 3: y of at most 5 (the source's)."""
    seconds, worst, words = apart(tree, scale)
    return [
        Measure("worst violation y", worst, 5.0, 1.0, words),
        Measure("CPU s, against the source's", seconds, 300_000.0, 1.0, "the source stopped at its limit"),
    ]


@case("rounding-millions")
def millions(scale: float) -> Sequence[Measure]:
    """140 x 140 x 140 counts, 2.8 million cells with totals, base 3: y of at most 1, and 300 s of CPU allowed."""
    side = max(4, int(140 * scale ** (1 / 3)))
    seconds, worst, words = apart(flat, (side, side, side), 0.6, 12, 3, 3)
    return [
        Measure("1 + worst violation y", 1 + worst, 2.0, 1.0, words),
        Measure("CPU s, against the limit", seconds, 300.0, 1.0),
    ]


# ---- beside pytauargus -------------------------------------------------------------------------------------------

PEER = """
import json, os, sys, time
from pytauargus import engine
original, taken = engine.Engine.suppress, []
def timed(*given):
    started = time.process_time()
    result = original(*given)
    taken.append(time.process_time() - started)
    return result
engine.Engine.suppress = timed
for _ in range(int(sys.argv[3])):
    engine.run_batch(sys.argv[1])
json.dump(sorted(taken)[len(taken) // 2], open(sys.argv[2], "w"))
"""
"""The median CPU time of the step that rounds, its tables being read and built already."""
REPEATS = 15


def deviation_beside(
    folder: str, shape: Sequence[int], largest: int, base: int, seed: int, interpreter: str
) -> list[float]:
    """CPU seconds and total deviation of ours and of the peer on the same counts.

    Both are timed from the table to the rounded table, several times in one process, and the median is taken.
    """
    import numpy as np

    table = count_table(shape, 0.8, largest, seed)
    runs = [rounded(table, base, objective="total") for _ in range(REPEATS)]
    seconds, release = sorted(run[0] for run in runs)[REPEATS // 2], runs[0][2]
    ours = int(np.abs(release.custodian.published[0] - table.value).sum())
    where = Path(folder)
    names = [f"v{k}" for k in range(len(shape))]
    rows = [
        [*table.spec_codes(codes), str(v)] for codes, v in zip(table.codes.tolist(), table.value.tolist(), strict=True)
    ]
    (where / "t.tab").write_text("\n".join(";".join([*r, r[-1], "S"]) for r in rows) + "\n")
    meta = '<SEPARATOR> ";"\n<SAFE> S\n<UNSAFE> U\n<PROTECT> P\n'
    meta += "".join(f"{name}\n<RECODEABLE>\n<TOTCODE> Total\n" for name in names)
    (where / "t.rda").write_text(meta + "value\n<NUMERIC>\nfreq\n<FREQUENCY>\nstat\n<STATUS>\n")
    listed = "".join(f'"{name}"' for name in names)
    (where / "t.arb").write_text(
        f'<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> {listed}|"value"||"value"\n<SAFETYRULE>\n'
        f'<READTABLE> 0\n<SUPPRESS> RND(1,{base},0,10,0,1)\n<WRITETABLE> (1,3,AS+,"out.txt")\n'
    )
    subprocess.run(
        [interpreter, "-c", PEER, str(where / "t.arb"), str(where / "cpu.json"), str(REPEATS)],
        check=True,
        cwd=folder,
        timeout=900,
        stdout=subprocess.DEVNULL,
    )
    theirs = published(where / "out.txt", table)
    return [seconds, ours, json.loads((where / "cpu.json").read_text()), int(np.abs(theirs - table.value).sum())]


def published(file: Path, table: Any) -> Any:
    """The peer's values in the order of our rows."""
    import numpy as np

    places = [{code: i for i, code in enumerate(h.codes)} for h in table.spec.hierarchies]
    values = np.where(table.value == 0, 0, -1)  # the peer leaves zeros out
    for line in file.read_text().splitlines():
        fields = [field.strip().strip('"').strip() for field in line.split(",")]
        if fields[0] not in places[0]:
            continue
        codes = np.array([[p[f] for p, f in zip(places, fields, strict=False)]], np.int32)
        text = fields[len(places)]
        values[table.find(codes)[0]] = 0 if text == "-" else int(float(text))  # the peer writes '-' for nothing
    if np.any(values < 0):
        raise AssertionError("The peer left cells out.")
    return values


@case("rounding-peer")
def beside_peer(scale: float) -> Sequence[Measure]:
    """Total deviation and CPU seconds beside the rounding of pytauargus, on the same count tables."""
    interpreter = os.environ.get("DISCREET_PYTAUARGUS")
    if not interpreter:
        return [Measure("not run", 0.0, 1.0, 1.0, "name an interpreter with pytauargus in DISCREET_PYTAUARGUS")]
    measures = []
    # The peer takes no base below the power of ten of the largest total.
    shapes = (
        ((3, 3), 9, 10, 21),
        ((6, 5), 25, 100, 22),
        ((9, 8), 90, 1000, 23),
        ((5, 4, 4), 90, 1000, 24),
        ((9, 9, 9), 90, 10_000, 25),
        ((30, 30), 90, 10_000, 26),
        ((15, 15, 15), 90, 100_000, 27),
    )
    for shape, largest, base, seed in shapes if scale == 1 else shapes[:1]:
        with scratch() as folder:
            seconds, ours, peer_seconds, theirs = apart(
                deviation_beside, str(folder), shape, largest, base, seed, interpreter
            )
        name = f"{' x '.join(map(str, shape))}, base {base}"
        measures.append(Measure(f"{name}: total deviation", ours, theirs, 1.0, "RND(1,base,0,10,0,1)"))
        measures.append(Measure(f"{name}: CPU s", seconds, peer_seconds, 1.0))
    return measures
