"""Rank swapping, shuffling and microaggregated swapping of a million records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed


def records_of(rows: int, columns: int) -> Any:
    """Correlated columns: money in cents, whole numbers, and plain normals cubed; weights and cells beside them."""
    import numpy as np
    import pyarrow as pa

    import discreet as ds
    from discreet.engine.record_set import read_record_set

    draw = np.random.default_rng([20_261_117, columns])
    common = draw.normal(size=rows)
    made: dict[str, Any] = {}
    for place in range(columns):
        score = 0.6 * common + 0.8 * draw.normal(size=rows)
        kinds = (np.round(np.exp(score + 5), 2), np.round(1000 * score).astype(np.int64), score**3)
        made[f"x{place}"] = kinds[place % 3]
    made["w"] = np.round(draw.gamma(4, 200, rows) + 50, 4)
    made["cell"] = draw.integers(0, 150, rows).astype(str)
    return read_record_set(ds.Microdata(pa.table(made), weight="w"))


def masked(rows: int, what: str) -> Timing:
    """One method on records in memory; the answer is the largest change of a rank correlation between two columns."""
    import numpy as np

    import discreet as ds

    records = records_of(rows, 10 if what == "rank_swap" else 6)
    names = [name for name in records.names if name.startswith("x")]
    methods: dict[str, Any] = {
        "rank_swap": ds.RankSwap(names, 0.05),
        "shuffle": ds.Shuffle(names[:3], given=names[3:]),
        "microaggregated_swap": ds.MicroaggregatedSwap(names[:1], ["cell"]),
    }
    key = ds.Key(bytes(range(32)))

    def changed(outcome: Any) -> float:
        new = {name: outcome.changed.get(name, records[name]) for name in names}
        before, after = (
            np.corrcoef([np.argsort(np.argsort(columns[name].to_numpy())) for name in names[:6]])
            for columns in (records, new)
        )
        return float(np.abs(before - after).max())

    return timed(lambda: methods[what].run(records, key), changed, repeats=2)


@case("rank-methods")
def rank_methods(scale: float) -> Sequence[Measure]:
    """A million records: 10 columns rank-swapped in 2 s, 3 given 3 shuffled in 3 s, 150 cells in pieces in 5 s."""
    rows = int(1_000_000 * scale)
    limits = {"rank_swap": 2.0, "shuffle": 3.0, "microaggregated_swap": 5.0}
    measures = []
    for what, limit in limits.items():
        ours = apart(masked, rows, what)
        settings = f"{rows:,} records; largest change of a rank correlation {ours.answer:.4f}"
        measures.append(Measure(f"{what}, CPU s against the limit", ours.warm_cpu, limit, 1.0, settings))
    return measures
