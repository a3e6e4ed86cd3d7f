"""Draws of post-randomisation: rows of several transition matrices as one list, searched for every record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Floats, Ints
from discreet.model.transition import TransitionMatrix
from discreet.parallel import by_rows


class DrawnCodes(NamedTuple):
    """For every record the place of its new code (-1 where it has none), and the moves of every matrix."""

    place: Ints
    moves: list[Ints]


class ListedRows(NamedTuple):
    """Rows of matrices: where each begins, sums of chances, the codes that they lead to, and whose they are."""

    begin: Ints
    upper: Floats
    to: Ints
    matrix: Ints
    entry: Ints


def drawn_codes(
    place: Ints, stratum: Ints, codes: Sequence[str], matrices: Sequence[TransitionMatrix], fraction: Floats
) -> DrawnCodes:
    """Draw a code for every record.

    Parameters
    ----------
    place
        The place of every record's code in ``codes``; -1 for fields that stay empty.
    stratum
        The number of every record's matrix.
    codes
        All codes of the column.
    matrices
        The matrices; each has the codes that its records have.
    fraction
        A number from 0 up to 1 for every record, which decides.
    """
    rows = _listed(codes, matrices)
    search = partial(_found, len(codes), rows.begin, rows.upper)
    found = np.concatenate(by_rows(search, place, stratum, fraction))
    some = found >= 0
    counts = np.bincount(found[some], minlength=len(rows.upper))
    moves = []
    for number, matrix in enumerate(matrices):
        mine = rows.matrix == number
        counted = np.zeros(len(matrix.codes) ** 2, np.int64)
        counted[rows.entry[mine]] = counts[mine]
        moves.append(counted.reshape(len(matrix.codes), -1))
    return DrawnCodes(np.where(some, rows.to[found], -1), moves)


def _listed(codes: Sequence[str], matrices: Sequence[TransitionMatrix]) -> ListedRows:
    """What can be drawn, row by row; what has no chance is not in the list, so that nothing can lead there."""
    where: Mapping[str, int] = {code: i for i, code in enumerate(codes)}
    lengths = np.zeros(len(codes) * len(matrices), np.int64)
    upper, to, owner, entry = [], [], [], []
    for number, matrix in enumerate(matrices):
        rows = {where[code]: row for row, code in enumerate(matrix.codes)}
        for at in range(len(codes)):
            if at not in rows:
                continue
            chance = matrix.chances[rows[at]]
            (leads,) = np.nonzero(chance)
            ends = np.cumsum(chance[leads])
            ends[-1] = 1.0  # whatever rounding left of it
            lengths[number * len(codes) + at] = len(leads)
            upper.append(ends)
            to.append([where[matrix.codes[i]] for i in leads.tolist()])
            owner.append(np.full(len(leads), number))
            entry.append(rows[at] * len(matrix.codes) + leads)
    begin = np.concatenate(([0], np.cumsum(lengths)))
    made = [np.concatenate(part).astype(np.int64) for part in (to, owner, entry)]
    return ListedRows(begin, np.concatenate(upper), *made)


def _found(codes: int, begin: Ints, upper: Floats, place: Ints, stratum: Ints, fraction: Floats) -> Ints:
    return _searched(place, stratum, codes, begin, upper, fraction)


@kernel("i8[::1](i8[::1], i8[::1], i8, i8[::1], f8[::1], f8[::1])")
def _searched(place: Ints, stratum: Ints, codes: int, begin: Ints, upper: Floats, fraction: Floats) -> Ints:
    """For every record the first entry of its row whose sum of chances lies above its fraction."""
    found = np.empty(len(place), np.int64)
    for i in range(len(place)):
        if place[i] < 0:
            found[i] = -1
            continue
        row = stratum[i] * codes + place[i]
        low, high = begin[row], begin[row + 1] - 1
        while low < high:
            middle = (low + high) // 2
            if upper[middle] > fraction[i]:
                high = middle
            else:
                low = middle + 1
        found[i] = low
    return found
