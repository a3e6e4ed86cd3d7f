"""Microaggregation: time and loss on correlated, skewed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed


def correlated(rows: int, columns: int) -> Any:
    """Five correlated normals mixed, half of the columns exponentiated; standardised."""
    import numpy as np

    draw = np.random.default_rng([20_261_117, columns])
    shape = draw.normal(size=(5, columns, columns)) / np.sqrt(columns)
    middle = draw.normal(0, 1.5, (5, columns))
    part = draw.choice(5, rows, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    values = draw.normal(size=(rows, columns))
    for start in range(0, rows, 50_000):  # a matrix for every record takes much memory
        some = slice(start, start + 50_000)
        values[some] = np.einsum("rc,rdc->rd", values[some], shape[part[some]]) + middle[part[some]]
    values[:, : columns // 2] = np.exp(0.6 * values[:, : columns // 2] + 3)
    values = np.round(values, 2)
    return np.ascontiguousarray((values - values.mean(axis=0)) / values.std(axis=0))


def grouped(rows: int, columns: int, k: int, algorithm: str) -> Timing:
    """Groups by one algorithm, and the loss that they mean, counted by numpy."""
    from discreet.records.microaggregation.grouping import loss_of, mdav_groups, search_groups

    points = correlated(rows, columns)

    def run() -> Any:
        if algorithm == "search":
            return search_groups(points, k, "normal", 1, 1).group
        return mdav_groups(points, k, algorithm == "mdav_pairs").group

    return timed(run, lambda group: 100 * loss_of(points, group) / points.size, repeats=1)


@case("microaggregation")
def microaggregation(scale: float) -> Sequence[Measure]:
    """100,000 records of ten columns: exact MDAV in 1.5 s (pairs 4 s), search in 5 s with at most 0.94 of its loss."""
    rows = int(100_000 * scale)
    measures = []
    for k, share in ((3, 0.94), (5, 0.90), (10, 0.87)):
        plain, ours = (apart(grouped, rows, 10, k, algorithm) for algorithm in ("mdav", "search"))
        settings = f"{rows:,} x 10, k = {k}: MDAV loses {plain.answer:.4f} %, search {ours.answer:.4f} %"
        measures.append(Measure(f"search, k = {k}, CPU s", ours.warm_cpu, 5.0, 1.0, settings))
        measures.append(Measure(f"loss of search, k = {k}, against MDAV", ours.answer, plain.answer, share, settings))
        if k == 3:
            measures.append(Measure("MDAV, k = 3, CPU s", plain.warm_cpu, 1.5, 1.0, settings))
    pairs = apart(grouped, rows, 10, 3, "mdav_pairs")
    measures.append(Measure("MDAV in pairs, k = 3, CPU s", pairs.warm_cpu, 4.0, 1.0, f"loses {pairs.answer:.4f} %"))
    wide = [apart(grouped, rows, 20, 3, algorithm) for algorithm in ("mdav", "search")]
    text = f"20 columns: {wide[0].answer:.3f} and {wide[1].answer:.3f} %"
    measures.append(Measure("20 columns, search, CPU s", wide[1].warm_cpu, 20.0, 1.0, text))
    measures.append(Measure("20 columns, loss of search against MDAV", wide[1].answer, wide[0].answer, 1.0, text))
    return measures


@case("microaggregation-million")
def microaggregation_million(scale: float) -> Sequence[Measure]:
    """A million records of ten columns: search in 60 s and 1 GiB."""
    rows = int(1_000_000 * scale)
    ours = apart(grouped, rows, 10, 3, "search")
    settings = f"{rows:,} x 10, k = 3: loses {ours.answer:.4f} %"
    return [
        Measure("CPU s, against the limit", ours.warm_cpu, 60.0, 1.0, settings),
        Measure("peak GiB, against the limit", ours.peak, 1.0, 1.0, settings),
    ]
