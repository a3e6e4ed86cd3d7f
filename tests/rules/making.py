"""Small tables from lists of contributions, and what an assessment says of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.model.hierarchy import Hierarchy
from discreet.model.spec import TableSpec
from discreet.model.table import Contributions, Table

Number = int | float | str
Cell = Sequence[Number]


def units(number: Number, decimals: int = 0) -> int:
    """A number as whole units; what does not fit the decimals is a mistake of the test."""
    exact = Fraction(str(number)) * 10**decimals
    assert exact.denominator == 1, f"{number} has more than {decimals} decimals"
    return exact.numerator


def magnitudes(
    *cells: Cell,
    decimals: int = 0,
    top: int = 4,
    consent: Sequence[Sequence[bool]] | None = None,
    asked: Sequence[Sequence[int]] | None = None,
    values: Sequence[Number] | None = None,
    absolute: bool = False,
    levels: tuple[str, ...] = ("holding",),
    weights: Sequence[Sequence[int]] | None = None,
    spec: Mapping[str, Any] | None = None,
    **columns: Any,
) -> Table:
    """A table without totals: one cell per list of contributions, one contribution per contributor.

    ``consent`` says who has waived protection, ``asked`` who has requested it. ``values`` are the published values
    where the contributions are those of a shadow variable. ``weights`` are whole numbers. An empty list is an empty
    cell.
    """
    raw = [[units(x, decimals) for x in cell] for cell in cells]
    own = [[abs(x) for x in cell] for cell in raw] if absolute else raw
    size = len(cells)
    times = [[1] * len(cell) for cell in cells] if weights is None else weights
    copies = [
        [x for x, w in zip(cell, mine, strict=True) for _ in range(w)] for cell, mine in zip(own, times, strict=True)
    ]
    largest, once = np.zeros((size, top), np.int64), np.zeros((size, top), np.int64)
    unwaived = None if consent is None else np.full(size, -1, np.int64)
    requested = None if asked is None else np.full((size, 2), -1, np.int64)
    for i, cell in enumerate(own):
        for lists, amounts in ((largest, copies[i]), (once, cell)):
            listed = sorted((x for x in amounts if x > 0), reverse=True)[:top]
            lists[i, : len(listed)] = listed
        for j, x in enumerate(cell):
            if unwaived is not None and consent is not None and not consent[i][j]:
                unwaived[i] = max(unwaived[i], x, 0)
            if requested is not None and asked is not None and asked[i][j]:
                requested[i, asked[i][j] - 1] = max(requested[i, asked[i][j] - 1], x, 0)
    found = Contributions(
        count=np.array([len(cell) for cell in cells], np.int64),
        total=np.array([sum(cell) for cell in copies], np.int64),
        top=largest,
        negative=np.array([any(x < 0 for x in cell) for cell in raw], np.bool_),
        unwaived=unwaived,
        requested=requested,
        nonzero=np.array([sum(x != 0 for x in cell) for cell in own], np.int64),
        own=None if weights is None else once,
        own_total=None if weights is None else np.array([sum(cell) for cell in own], np.int64),
    )
    value = np.array(
        [sum(x * w for x, w in zip(*both, strict=True)) for both in zip(raw, times, strict=True)], np.int64
    )
    if values is not None:
        value = np.array([units(v, decimals) for v in values], np.int64)
    options: dict[str, Any] = {"value": "turnover", "name": "turnover", "decimals": decimals, "absolute": absolute}
    options["shadow"] = None if values is None else "employees"
    options["weight"] = False if weights is None else "w"
    return Table(
        spec=TableSpec(by={"cell": Hierarchy.flat(names(size), total=None)}, **{**options, **(spec or {})}),
        codes=np.arange(size, dtype=np.int32)[:, None],
        value=value,
        decimals=decimals,
        empty=np.array([not cell for cell in cells], np.bool_),
        shadow_decimals=decimals,
        contributions=dict.fromkeys(levels, found),
        **{"records": found.count, "nonzero": found.nonzero, **columns},
    )


def names(size: int) -> list[str]:
    """Codes of the cells of :func:`magnitudes`: a, b, c, ..."""
    return [chr(ord("a") + i) if size <= 26 else f"c{i}" for i in range(size)]


def counts(by: Mapping[str, Hierarchy], people: Mapping[tuple[str, ...], int], **columns: Any) -> Table:
    """A table of counts with all its cells, from the numbers of people in the finest ones."""
    hierarchies = list(by.values())
    codes = list(itertools.product(*(range(len(h)) for h in hierarchies)))
    value = np.zeros(len(codes), np.int64)
    for row, place in enumerate(codes):
        covers = [h.covered(h.codes[i]) for h, i in zip(hierarchies, place, strict=True)]
        for finest in itertools.product(*covers):
            sign = int(np.prod([cover[code] for cover, code in zip(covers, finest, strict=True)]))
            value[row] += sign * people.get(finest, 0)
    return Table(
        spec=TableSpec(by=by, name="people", cells="all"),
        codes=np.array(codes, np.int32).reshape(len(codes), len(by)),
        value=value,
        decimals=0,
        empty=value == 0,
        **{"records": value, **columns},
    )


def assessed(table: Table, *rules: Any, **options: Any) -> list[tuple[Number, Number] | None]:
    """For every cell its lower and upper level in units of the value, ``None`` where it is safe."""
    found = table.assess(*rules, **options).assessment
    assert found is not None
    shown = [[exact(int(x), table.decimals) for x in side] for side in (found.lower, found.upper)]
    return [(low, up) if bad else None for bad, low, up in zip(found.unsafe.tolist(), *shown, strict=True)]


def exact(amount: int, decimals: int) -> int | float:
    """Units as a number: whole where it is, otherwise the float that is written the same way."""
    number = Fraction(amount, 10**decimals)
    return number.numerator if number.denominator == 1 else float(number)
