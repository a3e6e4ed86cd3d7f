"""A table of the shape of the tax study: activity of 7 levels by region of 4 levels, made up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import discreet as ds

BRANCHES = (5, 2, 2, 2, 2, 1)
"""Parts of every code of the activity tree, level by level, at most; some branches stop early."""


def activity_tree(sections: int, seed: int = 11) -> dict[str, str]:
    """A tree of 7 levels, the total included, as uneven as that of a classification: code to parent."""
    rng = np.random.default_rng(seed)
    parents: dict[str, str] = {}
    level = ["Total"]
    for depth, most in enumerate((sections, *BRANCHES[1:])):
        below = []
        for parent in level:
            # At least one branch goes down to the last level.
            parts = most if depth == 0 else int(rng.integers(0, most + 2)) if parent != level[0] else 2
            for i in range(parts if parts != 1 else 2):
                code = f"{'' if parent == 'Total' else parent}{'ABCDEFGH'[i]}"
                parents[code] = parent
                below.append(code)
        level = below
    return parents


def region_tree(states: int, districts: int, counties: int) -> dict[str, str]:
    """A tree of 4 levels: code to parent."""
    parents = {}
    for s in range(states):
        state = f"S{s + 1:02d}"
        parents[state] = "Total"
        for d in range(districts):
            district = f"{state}.{d + 1}"
            parents[district] = state
            parents |= {f"{district}.{c + 1}": district for c in range(counties)}
    return parents


def study(records: int, sections: int, regions: tuple[int, int, int], seed: int = 1) -> ds.Table:
    """Turnover by activity and region, assessed by the p% rule."""
    rng = np.random.default_rng(seed)
    trees = {"activity": activity_tree(sections), "region": region_tree(*regions)}
    by = {v: ds.Hierarchy.from_parents(tree, total="Total") for v, tree in trees.items()}
    order = np.random.default_rng(7)  # which codes are large does not change from period to period
    columns: dict[str, np.ndarray] = {}
    for variable, steep in (("activity", 1.0), ("region", 0.7)):
        codes = np.array(by[variable].base_codes)
        weight = 1.0 / np.arange(1, len(codes) + 1) ** steep
        columns[variable] = rng.choice(order.permutation(codes), records, p=weight / weight.sum())
    turnover = np.rint(rng.lognormal(5, 2, records)).astype(np.int64) + 1
    frame = pa.table({**columns, "turnover": turnover, "firm": np.arange(records)})
    table = ds.tabulate(frame, by=by, value="turnover", contributor="firm")
    return table.assess(ds.PPercent(10))
