"""Cells of a table in another order of its variables."""

from __future__ import annotations

from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints


@kernel("void(i4[:,::1], i8[::1], i8[::1], i8[::1], i4[::1], i4[:,::1], i8[::1])")
def put_in_order(
    codes: Codes, value: Ints, places: Ints, strides: Ints, row: Codes, moved: Codes, ordered: Ints
) -> None:
    """Enter codes and values in the order of the cells that they make in another order of the variables.

    Parameters
    ----------
    codes, value
        The cells, no two of which have the same codes.
    places
        The variables in the order in which they are to stand.
    strides
        How much each of these adds to the number of a cell.
    row
        Room for the number of a row for each combination of codes; -1 before.
    moved, ordered
        Room for what is found.
    """
    for i in range(len(value)):
        number = 0
        for k in range(len(places)):
            number += codes[i, places[k]] * strides[k]
        row[number] = i
    used = 0
    for number in range(len(row)):
        i = row[number]
        if i >= 0:
            for k in range(len(places)):
                moved[used, k] = codes[i, places[k]]
            ordered[used] = value[i]
            used += 1
