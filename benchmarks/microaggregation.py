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


def paired(rows: int, effort: str) -> Timing:
    """Groups of two and three, and by how much they may exceed the least sum of squares by their prices."""
    from discreet.records.microaggregation.grouping import loss_of
    from discreet.records.microaggregation.pairing import paired_groups

    points = correlated(rows, 10)
    return timed(
        lambda: paired_groups(points, effort),
        lambda found: loss_of(points, found.group) / found.prices.bound,
        repeats=1,
    )


@case("microaggregation-pairs")
def microaggregation_pairs(scale: float) -> Sequence[Measure]:
    """Groups of two and three: within twice the least in 0.2 s (5,000 records 4 s), the least itself in 30 s."""
    measures = []
    for rows, effort, limit in ((1_000, "quick", 0.2), (5_000, "quick", 4.0), (1_000, "normal", 30.0)):
        found = apart(paired, int(rows * scale), effort)
        text = f"{int(rows * scale):,} x 10, {effort}: at most {found.answer:.7f} of the least sum of squares"
        measures.append(Measure(f"{effort}, {rows:,} records, CPU s", found.warm_cpu, limit, 1.0, text))
        most = 2.0 if effort == "quick" else 1 + 1e-6
        measures.append(Measure(f"{effort}, {rows:,} records, against the least", found.answer, most, 1.0, text))
    return measures


@case("microaggregation-million")
def microaggregation_million(scale: float) -> Sequence[Measure]:
    """A million records of ten columns: search in 60 s and 1 GiB, with at most 0.95 of the loss of MDAV."""
    rows = int(1_000_000 * scale)
    plain, ours = (apart(grouped, rows, 10, 3, algorithm) for algorithm in ("mdav", "search"))
    settings = f"{rows:,} x 10, k = 3: MDAV loses {plain.answer:.4f} %, search {ours.answer:.4f} %"
    return [
        Measure("loss of search against MDAV", ours.answer, plain.answer, 0.95, settings),
        Measure("CPU s, against the limit", ours.warm_cpu, 60.0, 1.0, settings),
        Measure("peak GiB, against the limit", ours.peak, 1.0, 1.0, settings),
    ]
