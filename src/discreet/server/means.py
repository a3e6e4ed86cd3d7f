"""Means: a published sum over a published count, so that nothing is closer to the truth than those two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.public import PublicTable

DIGITS = 2
"""Decimals of a mean beyond those of its sum."""


def means_of(total: PublicTable, count: PublicTable) -> PublicTable:
    """The means of the cells that both tables have, rounded half up; a cell whose published count is zero has none.

    Parameters
    ----------
    total
        The published sums.
    count
        The published counts, by the same variables.
    """
    place: dict[tuple[str, ...], int] = {}
    for row, codes in enumerate(_texts(count)):
        place[codes] = row
    found = np.array([place.get(codes, -1) for codes in _texts(total)], np.int64)
    units = np.where(found >= 0, count.value[found], 0) if len(count) else np.zeros(len(total), np.int64)
    rows = np.flatnonzero(units > 0)
    factor = 10 ** (DIGITS + count.decimals)
    value: Ints = np.array(
        [
            (2 * int(s) * factor + int(n)) // (2 * int(n))
            for s, n in zip(total.value[rows].tolist(), units[rows].tolist(), strict=True)
        ],
        np.int64,
    )
    return replace(
        total,
        name=f"mean_{total.name}",
        codes=total.codes[rows],
        value=value,
        decimals=total.decimals + DIGITS,
        shown=np.ones(len(rows), np.bool_),
        empty=np.zeros(len(rows), np.bool_),
        lower=None,
        upper=None,
        coverage=None,
    )


def _texts(table: PublicTable) -> list[tuple[str, ...]]:
    """Codes of each cell."""
    columns = [[codes[i] for i in table.codes[:, k].tolist()] for k, codes in enumerate(table.code_lists)]
    return list(zip(*columns, strict=True)) if columns else []
