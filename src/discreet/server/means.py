"""Means, percentages and standard errors: of published cells only, so that nothing is closer to the truth."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.public import PublicTable
from discreet.server.quality import ErrorCurve
from discreet.server.question import QuestionRefusal

DIGITS = 2
"""Decimals of a mean beyond those of its sum."""
ERROR_DIGITS = 1
"""Decimals of a standard error in percent."""


def means_of(total: PublicTable, count: PublicTable) -> PublicTable:
    """The means of all cells, rounded half up; one whose published count is zero is empty, for it has none.

    Parameters
    ----------
    total
        The published sums.
    count
        The published counts, by the same variables.
    """
    shape = tuple(map(len, total.code_lists))
    sums, units = _dense(total, total), _dense(count, total)
    there = units > 0
    factor = 10 ** (DIGITS + count.decimals)
    value = np.zeros(len(sums), np.int64)
    value[there] = [
        (2 * s * factor + n) // (2 * n) for s, n in zip(sums[there].tolist(), units[there].tolist(), strict=True)
    ]
    return replace(
        total,
        name=f"mean_{total.name}",
        codes=np.stack(np.unravel_index(np.arange(len(sums)), shape), axis=1).astype(total.codes.dtype),
        value=value,
        decimals=total.decimals + DIGITS,
        shown=there,
        empty=~there,
        lower=None,
        upper=None,
        coverage=None,
    )


def percentages_of(table: PublicTable, whole: int) -> PublicTable:
    """Cells in percent of the published total of the whole table, rounded half up.

    Parameters
    ----------
    table
        The published cells.
    whole
        The published total, in units of the table.

    Raises
    ------
    QuestionRefusal
        When the published total is not above zero.
    """
    if whole <= 0:
        raise QuestionRefusal("no-total", "The total is published as zero.", hint="Ask for the counts.")
    factor = 100 * 10**DIGITS
    value = [(2 * part * factor + whole) // (2 * whole) for part in table.value.tolist()]
    return replace(
        table,
        name=f"percent_{table.name}",
        value=np.array(value, np.int64),
        decimals=DIGITS,
        lower=None,
        upper=None,
        coverage=None,
    )


def errors_of(table: PublicTable, curve: ErrorCurve) -> PublicTable:
    """Relative standard errors, in percent, of the published counts of a table; a count of zero has none."""
    percent = curve.percent(table.value / 10.0**table.decimals)
    there = np.isfinite(percent) & table.shown
    return replace(
        table,
        name=f"rse_{table.name}",
        value=np.where(there, np.floor(np.nan_to_num(percent) * 10**ERROR_DIGITS + 0.5), 0).astype(np.int64),
        decimals=ERROR_DIGITS,
        shown=there,
        empty=~there,
        lower=None,
        upper=None,
        coverage=None,
    )


def _dense(table: PublicTable, like: PublicTable) -> Ints:
    """Values of all cells of another table by their codes; those that are not listed are zero."""
    shape = tuple(map(len, like.code_lists))
    codes = np.empty_like(table.codes, np.int64)
    for k, (own, others) in enumerate(zip(table.code_lists, like.code_lists, strict=True)):
        place = {code: i for i, code in enumerate(others)}
        codes[:, k] = np.array([place.get(code, -1) for code in own], np.int64)[table.codes[:, k]]
    known = (codes >= 0).all(axis=1)
    found = np.zeros(prod(shape), np.int64)
    found[np.ravel_multi_index(tuple(codes[known].T), shape)] = table.value[known]
    return found
