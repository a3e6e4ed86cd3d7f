"""Relations of a hierarchical table of a million cells, against fixed limits of time and memory."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed

CODES = 1_000
BRANCHES = 4
CPU_LIMIT = 5.0
MEMORY_LIMIT = 2.0


def tree_of(codes: int) -> Any:
    """A tree of so many codes, four to a parent: five levels below the total for a thousand."""
    import discreet as ds

    return ds.Hierarchy.from_parents({f"c{i}": f"c{(i - 1) // BRANCHES}" for i in range(1, codes)}, "c0")


def table_of(codes: int, share: float) -> Any:
    """Two such trees crossed, with all cells or with those above a share of the finest ones."""
    import numpy as np
    from scipy.sparse import csr_array

    import discreet as ds

    tree = tree_of(codes)
    start, base, sign = tree.cover
    cover = csr_array((sign.astype(np.int64), base, start), shape=(codes, codes))
    random = np.random.default_rng(1)
    finest = np.outer(tree.base, tree.base) & (random.random((codes, codes)) < share)
    leaves = np.where(finest, random.integers(0, 1000, (codes, codes)), 0)
    value, records = ((cover @ (cover @ one).T).T.ravel() for one in (leaves, finest.astype(np.int64)))
    keep = np.flatnonzero(records) if share < 1 else np.arange(codes * codes)
    return ds.Table(
        spec=ds.TableSpec({"a": tree, "b": tree}, "v", cells="all" if share == 1 else "nonempty"),
        codes=np.column_stack((keep // codes, keep % codes)).astype(np.int32),
        value=value[keep],
        decimals=0,
        empty=records[keep] == 0,
    )


def built(codes: int, share: float) -> Timing:
    """Time of building all relations and checking that they add up."""
    from discreet.relations import System, build_system

    table = table_of(codes, share)

    def run() -> System:
        system = build_system(table)
        system.check_additive()
        return system

    def digest(system: System) -> tuple[int, int, int, str]:
        matrix = system.matrix
        rows = hashlib.sha256(matrix.indices.tobytes() + matrix.data.tobytes()).hexdigest()
        return len(system), int(matrix.shape[0]), int(matrix.nnz), rows

    return timed(run, digest)


@case("relations")
def relations(scale: float) -> Sequence[Measure]:
    """All relations of two trees of a thousand codes: every cell, and the cells above a tenth of the finest ones."""
    codes = max(2, round(CODES * scale**0.5))
    measures = []
    for what, share in (("all cells", 1.0), ("non-empty cells", 0.1)):
        timing = apart(built, codes, share)
        cells, rows, entries, _ = timing.answer
        settings = (
            f"{what}: {cells:,} cells, {rows:,} relations with {entries:,} entries; CPU s warm (cold) "
            f"{timing.warm_cpu:.2f} ({timing.cold_cpu:.2f}); the peer is the limit"
        )
        measures.append(Measure(f"CPU s, {what}", timing.cold_cpu, CPU_LIMIT, 1.0, settings))
        measures.append(Measure(f"peak GiB, {what}", timing.peak, MEMORY_LIMIT, 1.0, settings))
    return measures
