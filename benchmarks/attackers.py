"""Attackers on margins, against fixed limits."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.registry import Measure, Timing, apart, case, timed

ROWS = 1_000_000
COLUMNS = 1_000
SHAPE = (10, 10, 4)


def two_way(rows: int) -> Timing:
    """Time of all four kinds of disclosure from the margins of a long table."""
    import numpy as np

    from discreet.attack import two_way_disclosure

    random = np.random.default_rng(1)
    long = random.integers(0, 100, rows)
    wide = random.multinomial(long.sum(), np.full(COLUMNS, 1 / COLUMNS))

    def run() -> list[int]:
        ways = (("existence", None), ("upward", 5), ("downward", 5), ("approximation", 5))
        return [len(two_way_disclosure(long, wide, kind, threshold)) for kind, threshold in ways]

    return timed(run, list, repeats=1)


def entries() -> Timing:
    """Time of deciding every entry of a sparse table from all its two-way margins."""
    import numpy as np

    from discreet.attack import EntryBounds, unique_entries

    table = np.random.default_rng(1).poisson(0.8, SHAPE)

    def digest(found: EntryBounds) -> tuple[int, int, int]:
        return found.unique, found.unknown, found.solves

    return timed(lambda: unique_entries(table), digest, repeats=1)


@case("attackers")
def attackers(scale: float) -> Sequence[Measure]:
    """Four kinds of disclosure in a million rows by a thousand columns; unique entries of 10 x 10 x 4."""
    rows = max(2, round(ROWS * scale))
    long, unique = apart(two_way, rows), apart(entries)
    found, unknown, solves = unique.answer
    return [
        Measure("CPU s, margins", long.warm_cpu, 1.0, 1.0, f"{rows:,} x {COLUMNS:,} cells; the peer is the limit"),
        Measure(
            "CPU s, unique entries",
            unique.warm_cpu,
            5.5,
            1.0,
            f"400 entries: {found} unique, {unknown} unknown, {solves} programs; the peer is the figure of card 003-09",
        ),
    ]
