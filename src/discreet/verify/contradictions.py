"""Cell files that contradict themselves: whatever the records are, not all that is said of a cell can be true."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.model.table import NOBODY, Table
from discreet.verify.verdict import Verdict

MOST = 20
"""So many cells are named for each thing that is wrong."""


def check_contradictions(verdict: Verdict, table: Table) -> None:
    """Nothing is in empty cells, values lie within their bounds, and contributors are as many and large as named."""
    for wrong, message in (
        (_filled(table), "a cell is called empty and has a value, records or contributors"),
        (_outside(table), "a value lies outside the bounds that are stated of it"),
        (_others(table), "the named contributors of a cell are not as many or as large as its contributions"),
    ):
        for row in np.flatnonzero(wrong)[:MOST].tolist():
            verdict.refuse("cells", message, f"{table.name}: {table.cell_name(row)}")


def _filled(table: Table) -> NDArray[np.bool_]:
    """Empty cells with something in them."""
    something = table.value != 0
    for number in (table.records, *(found.count for found in table.contributions.values())):
        if number is not None:
            something = something | (number != 0)
    return np.asarray(table.empty & something, np.bool_)


def _outside(table: Table) -> NDArray[np.bool_]:
    wrong = np.zeros(len(table), np.bool_)
    if table.lower_bound is not None:
        wrong |= table.value < table.lower_bound
    if table.upper_bound is not None:
        wrong |= table.value > table.upper_bound
    return wrong


def _others(table: Table) -> NDArray[np.bool_]:
    """Cells whose list of contributors differs from what the rules look at, where both are of the value itself."""
    found, holders = table.contributions.get("holding"), table.holders
    if found is None or holders is None:
        return np.zeros(len(table), np.bool_)
    wrong = found.count != holders.count
    if table.spec.shadow is None and not table.spec.absolute and not table.spec.weight:
        both = min(found.top.shape[1], holders.amount.shape[1])
        named = (holders.identity[:, :both] != NOBODY) & ~found.negative[:, None]
        wrong = wrong | np.any(named & (found.top[:, :both] != holders.amount[:, :both]), axis=1)
    return np.asarray(wrong, np.bool_)
