"""Compiled loop that takes back superfluous blanks."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel


@kernel("i8(i8[::1], i8[::1], i8[:, ::1], i8[:, ::1], i8[::1], i8[:, ::1], i8[::1], i8[::1], i8[::1])")
def show_again(
    row: Any, column: Any, codes: Any, shown: Any, times: Any, stride: Any, offset: Any, least: Any, count: Any
) -> int:
    """Show blanked codes again, in an order, where no combination of any table becomes rare; gives how many.

    ``stride`` says by what each column of a table is multiplied (0 where it is no part of it), ``offset`` where the
    counts of a table begin in ``count``, and ``least`` how many records its combinations must be in.
    """
    found, tables = 0, len(least)
    old, new = np.zeros(tables, np.int64), np.zeros(tables, np.int64)
    again = True
    while again:
        again = False
        for at in range(len(row)):
            cell, key = row[at], column[at]
            if shown[cell, key] != 0:
                continue
            good = True
            for table in range(tables):
                if stride[table, key] == 0:
                    continue
                place = offset[table]
                for one in range(shown.shape[1]):
                    place += stride[table, one] * shown[cell, one]
                old[table] = place
                new[table] = place + stride[table, key] * codes[cell, key]
                left = count[place] - times[cell]
                if (left != 0 and left < least[table]) or count[new[table]] + times[cell] < least[table]:
                    good = False
                    break
            if not good:
                continue
            for table in range(tables):
                if stride[table, key] != 0:
                    count[old[table]] -= times[cell]
                    count[new[table]] += times[cell]
            shown[cell, key] = codes[cell, key]
            found += 1
            again = True
    return found
