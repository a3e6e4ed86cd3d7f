"""Published figures as relations: each is a sum of cells that lies between two known numbers.

The sum gets a cell of its own, which nobody sees and which moves between these numbers, so that a search needs no
special case for figures. A ratio of sums is known from two such cells, because ``low < a / b < high`` says that
``a - low * b`` and ``high * b - a`` are above zero; where everybody knows ``b``, one is enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import LARGEST, NO_LOWER, NO_UPPER, Bools, Ints
from discreet.model.figure import ONE, Figure, Linear
from discreet.model.tableset import TableSet

COARSE = 20
"""Ends of the interval of a ratio are moved inwards by up to this part of its room, to fractions of few digits."""

Terms = dict[int, Fraction]


class HiddenSum(NamedTuple):
    """A sum of cells with whole coefficients, its value, what everybody knows of it, and the figure that says so."""

    figure: int
    coefficient: Mapping[int, int]
    value: int
    lower: int
    upper: int


def hidden_sums(
    figures: Sequence[Figure], tables: TableSet, of: Sequence[Ints], value: Ints, known: Bools, decimals: int
) -> list[HiddenSum]:
    """The sums that figures tell something of, over the cells of a system.

    Raises
    ------
    InputError
        When a figure is not what its cells give, or is too fine to be kept exactly.
    """
    found = []
    for number, figure in enumerate(figures):
        cells = [_cell(tables, of, name, codes) for name, codes in figure.cells]
        above, below = (_terms(part, cells) for part in (figure.ratio.above, figure.ratio.below))
        unit = 10**decimals
        shift = [part.constant * unit for part in (figure.ratio.above, figure.ratio.below)]
        result = [_total(terms, value) + s for terms, s in zip((above, below), shift, strict=True)]
        if figure.ratio.below == ONE:
            sums = _of_a_sum(figure, number, above, shift[0], result[0], unit, value)
        else:
            divisor_known = all(bool(known[cell]) for cell in below)
            sums = _of_a_ratio(figure, number, (above, below), shift, result, value, divisor_known)
        for found_sum in sums:
            _refuse_large(figure, found_sum, value)
        found += sums
    return found


def _cell(tables: TableSet, of: Sequence[Ints], name: str, codes: tuple[str, ...]) -> int:
    """The cell that a table has for some codes; -1 where it is empty and therefore zero."""
    number = [table.name for table in tables].index(name)
    table = tables.tables[number]
    position = [h.position(code) for h, code in zip(table.spec.hierarchies, codes, strict=True)]
    row = int(table.find(np.array([position], np.int32))[0])
    return -1 if row < 0 else int(of[number][row])


def _terms(part: Linear, cells: Sequence[int]) -> Terms:
    """Coefficients by cell; empty cells add nothing."""
    terms: Terms = {}
    for reference, number in part.terms.items():
        if cells[reference] >= 0:
            terms[cells[reference]] = terms.get(cells[reference], Fraction(0)) + number
    return {cell: number for cell, number in terms.items() if number}


def _total(terms: Terms, value: Ints) -> Fraction:
    return sum((number * int(value[cell]) for cell, number in terms.items()), Fraction(0))


def _of_a_sum(
    figure: Figure, number: int, terms: Terms, shift: Fraction, result: Fraction, unit: int, value: Ints
) -> list[HiddenSum]:
    low, high = (end * unit for end in figure.interval)
    _refuse_other(figure, low <= result <= high, result / unit)
    strict = (result != low, result != high)
    return _limited(number, terms, value, low - shift, high - shift, strict)


def _of_a_ratio(
    figure: Figure,
    number: int,
    parts: tuple[Terms, Terms],
    shift: Sequence[Fraction],
    result: Sequence[Fraction],
    value: Ints,
    divisor_known: bool,
) -> list[HiddenSum]:
    above, below = parts
    if result[1] == 0:
        raise InputError(
            f"The figure '{figure.formula}' divides by zero.",
            hint="Leave it out, or correct the cells that it divides by.",
        )
    sign = 1 if result[1] > 0 else -1
    ratio = result[0] / result[1]
    low, high = figure.interval
    _refuse_other(figure, low <= ratio <= high, ratio)
    if divisor_known:
        first, last = sorted(end * result[1] for end in (low, high))
        strict = (result[0] != first, result[0] != last)
        return _limited(number, above, value, first - shift[0], last - shift[0], strict)
    found = []
    for outer, way in ((low, sign), (high, -sign)):
        end = _inwards(outer, ratio)
        terms = {cell: way * above.get(cell, Fraction(0)) for cell in above}
        for cell, n in below.items():
            terms[cell] = terms.get(cell, Fraction(0)) - way * end * n
        constant = way * (shift[0] - end * shift[1])
        strict = (end == outer != ratio, False)
        found += _limited(number, {c: n for c, n in terms.items() if n}, value, -constant, None, strict)
    positive = {cell: sign * n for cell, n in below.items()}
    found += _limited(number, positive, value, min(Fraction(1), sign * result[1]) - sign * shift[1], None)
    return found


def _inwards(end: Fraction, inside: Fraction) -> Fraction:
    """An end moved a little towards a number inside, so that it has few digits."""
    return _simplest(*sorted((end, end + (inside - end) / COARSE)))


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the smallest denominator between two others."""
    whole = ceil(low)
    if whole <= high:
        return Fraction(whole)
    if low == high:
        return low
    below = floor(low)
    return below + 1 / _simplest(1 / (high - below), 1 / (low - below))


def _limited(
    number: int,
    terms: Terms,
    value: Ints,
    low: Fraction | None,
    high: Fraction | None,
    strict: tuple[bool, bool] = (False, False),
) -> list[HiddenSum]:
    """A sum in whole numbers with its bounds, rounded inwards; nothing where no cell is left in it."""
    if not terms:
        return []
    times = Fraction(lcm(*(n.denominator for n in terms.values())))
    times /= gcd(*(int(n * times) for n in terms.values()))
    coefficient = {cell: int(n * times) for cell, n in terms.items()}
    exact = sum(n * int(value[cell]) for cell, n in coefficient.items())
    lower, upper = NO_LOWER, NO_UPPER
    if low is not None:
        lower = floor(low * times) + 1 if strict[0] else ceil(low * times)
    if high is not None:
        upper = ceil(high * times) - 1 if strict[1] else floor(high * times)
    return [HiddenSum(number, coefficient, exact, lower, upper)]


def _refuse_other(figure: Figure, agrees: bool, result: Fraction) -> None:
    if not agrees:
        raise InputError(
            f"The figure '{figure.formula}' is not {figure.value} to {figure.decimals} decimals.",
            hint="Correct its value, decimals or formula; give tables of another vintage another period.",
            details=f"The cells give {float(result)!r}.",
        )


def _refuse_large(figure: Figure, found: HiddenSum, value: Ints) -> None:
    size = sum(abs(n * int(value[cell])) for cell, n in found.coefficient.items())
    ends = [abs(end) for end in (found.lower, found.upper) if NO_LOWER < end < NO_UPPER]
    if max(size, *ends, *(abs(n) for n in found.coefficient.values())) >= LARGEST // 4:
        raise InputError(
            f"The figure '{figure.formula}' is too fine to be kept exactly in 64 bits.",
            hint="State fewer decimals, or numbers with fewer digits in the formula.",
        )
