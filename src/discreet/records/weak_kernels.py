"""Compiled loop of blanks that agree with every code."""

from __future__ import annotations

from typing import Any

from discreet.jit import kernel


@kernel("void(i8[::1], i8[::1], i8[::1], i8[::1], i8, i8[::1], i8[::1], i8[::1])")
def blank_in_fibres(
    start: Any, member: Any, large: Any, nonblank: Any, bits: int, alive: Any, lacks: Any, gone: Any
) -> None:
    """Blank records, one at a time, until no cell of a fibre that is large enough lacks company.

    ``start`` delimits fibres in ``member``; ``alive`` are the records of each cell that have no blank yet, ``lacks``
    how many records each cell still needs that agree with it, ``gone`` how many of its records become blank in the
    columns ``bits``. The cell that lacks most loses a record first: that record agrees with all others of the fibre.
    """
    for fibre in range(len(start) - 1):
        if large[fibre] == 0:
            continue
        while True:
            worst, most = -1, 0
            for at in range(start[fibre], start[fibre + 1]):
                cell = member[at]
                if lacks[cell] > most and alive[cell] > 0 and nonblank[cell] & bits == bits:
                    worst, most = cell, lacks[cell]
            if worst < 0:
                break
            gone[worst] += 1
            alive[worst] -= 1
            if alive[worst] == 0:
                lacks[worst] = 0
            for at in range(start[fibre], start[fibre + 1]):
                cell = member[at]
                if cell != worst and lacks[cell] > 0:
                    lacks[cell] -= 1
