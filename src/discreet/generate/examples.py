"""Tiny tables with known answers, for documentation and tests.

Examples
--------
>>> import discreet as ds
>>> len(ds.examples.small_table())
16
"""

from __future__ import annotations

import numpy as np

from discreet.model.hierarchy import Hierarchy
from discreet.model.spec import TableSpec
from discreet.model.table import Contributions, Table


def small_table() -> Table:
    """Turnover of three trades in three regions; one firm dominates trade in the south.

    Examples
    --------
    >>> small_table().row(trade="retail", region="South")
    7
    """
    inner = np.array([[120, 80, 200], [90, 60, 150], [40, 110, 70]])
    values = np.zeros((4, 4), np.int64)
    values[1:, 1:] = inner
    values[0, 1:] = inner.sum(axis=0)
    values[1:, 0] = inner.sum(axis=1)
    values[0, 0] = inner.sum()
    value, nine = values.ravel(), np.full(16, 9, np.int64)
    top = np.column_stack((value // 4, value // 5, value // 6))
    top[7] = (180, 10, 5)  # retail in the south: the rest of the cell is 10 of the largest firm's 180
    trade = Hierarchy.flat(["retail", "food", "crafts"])
    region = Hierarchy.flat(["North", "East", "South"])
    return Table(
        spec=TableSpec(by={"trade": trade, "region": region}, value="turnover", name="turnover"),
        codes=np.array([(i, j) for i in range(4) for j in range(4)], np.int32),
        value=value,
        decimals=0,
        empty=np.zeros(16, np.bool_),
        contributions={
            "holding": Contributions(nine, value, top, np.zeros(16, np.bool_), nonzero=nine),
        },
        records=nine,
        nonzero=nine,
    )
