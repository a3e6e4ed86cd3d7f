"""Published figures: certificates leave each of them what was published, whatever the search made of it."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, gcd, lcm
from typing import NamedTuple

import numpy as np

from discreet.errors import counted
from discreet.model.evidence import Certificates
from discreet.model.figure import ONE, Figure, Linear, Reference
from discreet.verify.certificates import CertificateEntries
from discreet.verify.known import Ground
from discreet.verify.verdict import Verdict


class FigureSums(NamedTuple):
    """A figure with its two sums over rows (terms by row, and the number besides), in values of the tables."""

    figure: Figure
    above: tuple[dict[int, Fraction], Fraction]
    below: tuple[dict[int, Fraction], Fraction]


def check_figures(verdict: Verdict, ground: Ground) -> list[FigureSums]:
    """Every figure is about the cells that its formula names, and is what they give."""
    placed = []
    for figure in ground.already.figures:
        if len(figure.cells) != len(figure.references):
            verdict.refuse("figures", "a figure does not name its cells", figure.formula)
            continue
        rows = []
        for reference, (name, codes) in zip(figure.references, figure.cells, strict=True):
            found = _row(ground, reference, name, codes)
            if found is None:
                verdict.refuse("figures", f"a figure takes another cell for {reference}", figure.formula)
            else:
                rows.append(found)
        if len(rows) < len(figure.cells):
            continue
        made = FigureSums(figure, _sum(figure.ratio.above, rows), _sum(figure.ratio.below, rows))
        if not _keeps(made, ground, {}, Fraction(1)):
            verdict.refuse("figures", "a figure is not what its cells give", figure.formula)
        else:
            placed.append(made)
    return placed


def _row(ground: Ground, reference: Reference, name: str, codes: tuple[str, ...]) -> int | None:
    """The row of a cell, if it is what a reference says; -1 where the table has the codes and no such cell."""
    originals = {earlier.table.name: earlier.original for earlier in ground.already.tables}
    for table in ground.tables:
        if table.name != name:
            continue
        wanted = dict(reference.codes)
        if "period" not in table.spec.by and wanted.pop("period", table.spec.period) != table.spec.period:
            return None
        if reference.name not in (name, originals.get(name), table.spec.value or "count"):
            return None
        if not set(wanted) <= set(table.variables) or len(codes) != len(table.variables):
            return None
        for (variable, hierarchy), code in zip(table.spec.by.items(), codes, strict=True):
            if code not in hierarchy.index or code != wanted.get(variable, hierarchy.total):
                return None
        return ground.row(name, codes)
    return None


def _sum(part: Linear, rows: list[int]) -> tuple[dict[int, Fraction], Fraction]:
    terms: dict[int, Fraction] = {}
    for reference, number in part.terms.items():
        if rows[reference] >= 0:
            terms[rows[reference]] = terms.get(rows[reference], Fraction(0)) + number
    return terms, part.constant


def check_certificates_of_figures(
    verdict: Verdict,
    ground: Ground,
    placed: list[FigureSums],
    c: Certificates,
    entries: CertificateEntries,
    decimals: int,
) -> None:
    """No certificate, nor its opposite where that is taken too, changes what was published of a figure."""
    unit = Fraction(1, 10**decimals)
    which = np.repeat(np.arange(len(c), dtype=np.int64), np.diff(c.start))
    for made in placed:
        rows = np.array(sorted({*made.above[0], *made.below[0]}), np.int64)
        mine = np.flatnonzero(np.isin(entries.row, rows))
        changes: dict[int, dict[int, int]] = {}
        for i in mine.tolist():
            changes.setdefault(int(which[i]), {})[int(entries.row[i])] = int(c.amount[i])
        broken = 0
        for number, change in changes.items():
            scale = unit / int(c.denominator[number])
            ways = (scale, -scale) if c.both[number] else (scale,)
            broken += not all(_keeps(made, ground, change, way) for way in ways)
        if broken:
            verdict.refuse(
                "figures", f"{counted(broken, 'certificate', 'change')} a published figure", made.figure.formula
            )


def _keeps(made: FigureSums, ground: Ground, change: dict[int, int], times: Fraction) -> bool:
    """Whether a figure is the published one after a change of rows, within its rounding.

    The ends of the interval do not count, because nobody knows how halves were rounded, unless the truth lies there.
    """
    low, high = made.figure.interval
    true, now = ([_value(part, ground, moved, times) for part in (made.above, made.below)] for moved in ({}, change))
    if true[1] == 0 or not low <= true[0] / true[1] <= high:
        return False
    if made.figure.ratio.below == ONE:
        return _same_whole_steps(made, ground, low, high, true[0], now[0])
    if now[1] * true[1] <= 0:  # everybody knows that what is divided by is not zero
        return False
    ratio, new = true[0] / true[1], now[0] / now[1]
    return (low < new or new == low == ratio) and (new < high or new == high == ratio)


def _same_whole_steps(
    made: FigureSums, ground: Ground, low: Fraction, high: Fraction, true: Fraction, now: Fraction
) -> bool:
    """A sum of cells moves in steps of their smallest unit, so that it is known to the steps inside the interval."""
    finest = Fraction(1, 10 ** max(table.decimals for table in ground.tables))
    terms = [n * finest for n in made.above[0].values() if n]
    if not terms:
        return now == true
    common = lcm(*(t.denominator for t in terms))
    step = Fraction(gcd(*(int(t * common) for t in terms)), common)
    down, up = (true - low) / step, (high - true) / step
    fewest = 0 if down == 0 else ceil(down) - 1
    most = 0 if up == 0 else ceil(up) - 1
    return -fewest * step <= now - true <= most * step


def _value(
    part: tuple[dict[int, Fraction], Fraction], ground: Ground, change: dict[int, int], times: Fraction
) -> Fraction:
    terms, total = part
    for row, number in terms.items():
        total += number * (ground.exact(row) + times * change.get(row, 0))
    return total
