"""Codes that add up without a declared sum, looked for a second time: a reader sees them, certificates do not.

Only what is plain is looked for: a code that is all others of its variable together, or its neighbours, or another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import counted
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.verify.verdict import Verdict

MOST_CODES = 400
"""Neighbours are tried among so many codes; among more, only all others together."""


def check_undeclared(verdict: Verdict, tables: TableSet) -> None:
    """Refuse tables in which a code is the sum of others and no total says so, unless that was said by name."""
    for table in tables:
        options = {} if table.assessment is None else table.assessment.options
        named = options.get("unrelated", ())
        for k, variable in enumerate(table.variables):
            found = next(_sums(table, k), None)
            if found is None:
                continue
            parent, parts, lines = found
            text = f"code {parent} of {variable} is the sum of {counted(parts, 'other')} in {counted(lines, 'line')}"
            if variable in named:
                verdict.asserted.append(f"table {table.name}: that it is a coincidence that {text}")
            else:
                verdict.refuse("relations", f"{text}, and no total says so", table.name)


def _sums(table: Table, k: int) -> Iterator[tuple[str, int, int]]:
    """A code, how many others it is the sum of, and in how many lines two of them have something."""
    hierarchy = table.spec.hierarchies[k]
    within = {part for grouping in hierarchy.groupings for part, _ in grouping.parts}
    tops = [code for code in hierarchy.codes if code not in within]
    if len(tops) < 2:
        return
    lines: dict[tuple[int, ...], int] = {}
    places = [lines.setdefault((*c[:k], *c[k + 1 :]), len(lines)) for c in table.codes.tolist()]
    value: NDArray[Any] = np.zeros((len(tops), len(lines)), object)
    row_of = {hierarchy.codes.index(code): i for i, code in enumerate(tops)}
    for code, line, amount in zip(table.codes[:, k].tolist(), places, table.value.tolist(), strict=True):
        if code in row_of:
            value[row_of[code], line] = amount
    off = 0 if table.slack is None else abs(table.slack)
    half = 2 if table.slack is not None and table.slack < 0 else 1
    for i, code in enumerate(tops):
        for parts in _neighbours(len(tops), i):
            gap = np.abs(value[i] - value[parts].sum(axis=0)) * half
            if np.any(gap > off * (len(parts) + 1)):
                continue
            told = int(((value[parts] != 0).sum(axis=0) >= min(2, len(parts))).sum())
            everybody = len(parts) == len(tops) - 1 and len(parts) > 1
            if told >= (1 if everybody and not table.from_records else 2):
                yield code, len(parts), told


def _neighbours(size: int, i: int) -> Iterator[list[int]]:
    """All others; then one other, and those that follow or go before, as many as there may be."""
    yield [j for j in range(size) if j != i]
    if size > MOST_CODES:
        return
    yield from ([j] for j in range(i + 1, size))
    yield from (list(range(i + 1, end)) for end in range(i + 3, size + 1))
    yield from (list(range(first, i)) for first in range(i - 2, -1, -1))
