"""How finely the cells of a margin are read by those of a finer one."""

from __future__ import annotations

from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints


@kernel("f8(i4[:,::1], i8[::1], i8[::1], i8[:,::1], i4[::1])")
def mean_precision(codes: Codes, rows: Ints, used: Ints, adds: Ints, parts: Codes) -> float:
    """Mean of 1 / k over the cells of a margin that are sums of k > 1 cells of a finer one; 0 for those of one.

    Parameters
    ----------
    codes
        Codes of all cells of the table.
    rows
        The cells of the finer margin.
    used
        Variables that the coarser margin has.
    adds
        What each code of each of them adds to the number of the coarser cell.
    parts
        Room for one counter a coarser cell; zero before and afterwards.
    """
    for i in range(len(rows)):
        at = 0
        for j in range(len(used)):
            at += adds[j, codes[rows[i], used[j]]]
        parts[at] += 1
    cells, total = 0, 0.0
    for i in range(len(rows)):
        at = 0
        for j in range(len(used)):
            at += adds[j, codes[rows[i], used[j]]]
        if parts[at]:
            cells += 1
            total += 1.0 / parts[at] if parts[at] > 1 else 0.0
            parts[at] = 0
    return total / cells if cells else 0.0
