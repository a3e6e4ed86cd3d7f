"""All attacks on a synthetic file of mixed columns by one call, with held-out records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed

LIMIT = 30.0
"""Seconds of processor to stay below, for 100,000 records of twelve columns."""
KEYS, SECRETS = ("age", "region", "sex", "education"), ("income", "occupation")


def _people(rows: int, seed: int) -> Any:
    """Twelve columns, half of them numbers, with gaps in one."""
    import numpy as np
    import pyarrow as pa

    draws = np.random.default_rng(seed)

    def codes(prefix: str, many: int) -> Any:
        return pa.array(np.char.add(prefix, draws.integers(0, many, rows).astype(str)))

    def amounts(middle: float, spread: float) -> Any:
        return np.exp(draws.normal(middle, spread, rows)).round()

    return pa.table(
        {
            "age": draws.integers(15, 95, rows),
            "region": codes("r", 40),
            "sex": codes("s", 2),
            "education": codes("e", 6),
            "income": pa.array(amounts(10, 0.8), mask=draws.random(rows) < 0.05),
            "wealth": amounts(9, 1.5),
            "hours": draws.normal(38, 8, rows).clip(0, 80).round(),
            "occupation": codes("o", 60),
            "marital": codes("m", 5),
            "children": draws.poisson(1.2, rows),
            "tenure": codes("t", 3),
            "rent": amounts(6, 0.5),
        }
    )


def attacks(rows: int) -> Timing:
    """Ten attacks, two of them for each of two secrets."""
    import discreet as ds

    original, released, holdout = (_people(rows, seed) for seed in (1, 2, 3))

    def run() -> Any:
        return ds.attack.attack_synthetic(original, released, holdout, keys=KEYS, secret=SECRETS)

    return timed(run, lambda found: [(attack.attack, attack.tried, attack.share) for attack in found], repeats=2)


@case("synthetic-attacks")
def synthetic_attacks(scale: float) -> Sequence[Measure]:
    """100,000 original, released and held-out records each; up to 2,000 attempts of each attack that searches."""
    rows = int(100_000 * scale)
    found = apart(attacks, rows)
    tried = ", ".join(f"{name} {many:,}" for name, many, _ in found.answer)
    about = f"{rows:,} x 12 in each of three files; attempts: {tried}; {found.peak:.1f} GiB"
    return [Measure("all attacks on a synthetic file, CPU s, against the limit", found.warm_cpu, LIMIT, 1.0, about)]
