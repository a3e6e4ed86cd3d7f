"""Cells of earlier releases: what they published is known, what only they hold and withhold moves for free."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.relations import build_system

REGION = ds.Hierarchy.flat(["a", "b", "c", "d"])
KIND = ds.Hierarchy.flat(["x", "y"])


def records() -> pa.Table:
    rng = np.random.default_rng(2)
    return pa.table(
        {
            "region": rng.choice(REGION.base_codes, 60),
            "kind": rng.choice(KIND.base_codes, 60),
            "firm": rng.integers(0, 25, 60),
            "v": rng.integers(1, 90, 60),
        }
    )


def test_known_cells_are_not_given_and_shared_cells_are_neither():
    """The earlier table has the regions too; its own inner cells are no part of the new one."""
    wide = ds.tabulate(records(), by={"region": REGION, "kind": KIND}, value="v", contributor="firm", name="wide")
    earlier = ds.protect(wide.assess(ds.PPercent(20), ds.MinContributors(6)), ds.Suppress())
    narrow = ds.tabulate(records(), by={"region": REGION}, value="v", contributor="firm", name="narrow")
    now = ds.protect(narrow.assess(ds.MinContributors(2)), ds.Suppress(), already_published=[earlier])
    system = build_system(now.custodian.tables, now.custodian.already)
    first, second = system.of
    hidden = earlier.custodian.withheld(0)
    inner = ~np.isin(second, first)
    assert (hidden & inner).any()
    assert (~hidden & inner).any()
    assert np.array_equal(system.known[second], ~hidden)
    assert np.array_equal(system.given[second], hidden & inner)
    assert not (system.given & system.known).any()
    assert not system.given[first].any()
