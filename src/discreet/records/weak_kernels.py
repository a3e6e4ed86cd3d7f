"""Compiled loops of the weaker meanings of a blank."""

from __future__ import annotations

from typing import Any

from discreet.jit import kernel


@kernel("b1(i8[:, ::1], i8, i8, i8)")
def agree_in(codes: Any, one: int, other: int, bits: int) -> bool:
    """Whether two cells agree in some columns, where a blank agrees with every code."""
    for column in range(codes.shape[1]):
        if bits >> column & 1:
            a, b = codes[one, column], codes[other, column]
            if a != b and a != 0 and b != 0:
                return False
    return True


@kernel("void(i8[:, ::1], i8[::1], i8[::1], i8[::1], i8[::1], i8, i8[::1], i8[::1], i8[::1])")
def blank_in_fibres(
    codes: Any, start: Any, member: Any, large: Any, nonblank: Any, bits: int, alive: Any, lacks: Any, gone: Any
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
                # Those that agreed before, because of a gap, gain nothing.
                if cell != worst and lacks[cell] > 0 and not agree_in(codes, cell, worst, bits):
                    lacks[cell] -= 1


@kernel("void(i8[:, ::1], i8[::1], i8[:, ::1], i8[::1], i8[::1], i8[::1], b1[:, ::1], i8[:, ::1])")
def rare_cells(
    shown: Any, records: Any, stride: Any, offset: Any, least: Any, count: Any, rare: Any, near: Any
) -> None:
    """By which tables each cell is rare that is blank in none of its columns.

    ``stride`` says by what each column of a table is multiplied (0 where it is no part of it), ``offset`` where the
    counts of a table begin in ``count``. ``near`` is for each column in how many tables others would be rare without
    the cell.
    """
    for table in range(len(least)):
        for judging in range(2):
            for cell in range(len(shown)):
                place, full = offset[table], True
                for column in range(shown.shape[1]):
                    if stride[table, column] != 0:
                        if shown[cell, column] == 0:
                            full = False
                            break
                        place += stride[table, column] * shown[cell, column]
                if not full:
                    continue
                if judging == 0:
                    count[place] += records[cell]
                elif count[place] < least[table]:
                    rare[cell, table] = True
                elif count[place] > records[cell] and count[place] - records[cell] < least[table]:
                    for column in range(shown.shape[1]):
                        if stride[table, column] != 0:
                            near[cell, column] += 1
