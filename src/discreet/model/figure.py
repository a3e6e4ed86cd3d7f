"""Published figures that are derived from cells: shares, means, growth rates, cumulations, differences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import ParameterError, counted

MOST_LETTERS = 20_000
DEEPEST = 50
"""Formulas come from others too: their length and the depth of their brackets are limited."""
LEAST_DECIMALS, MOST_DECIMALS = -15, 15
MOST_DIGITS = 100

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,40}(?:\.\d{1,40})?)"
    r"|(?P<name>[^\W\d][\w.]*|`[^`]+`)\s*\[(?P<codes>(?:'[^']*'|\"[^\"]*\"|[^\]'\"])*)\]"
    r"|(?P<sign>[-+*/()]))"
)
_CODE = re.compile(r"\s*(?P<variable>[^\W\d][\w.]*|`[^`]+`)\s*=\s*(?P<code>'[^']*'|\"[^\"]*\"|[^,'\"]+?)\s*(?:,|$)")


class Reference(NamedTuple):
    """A cell as a formula names it: a table or value variable, and codes; the other variables stand at their total."""

    name: str
    codes: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(f'{variable}={code}' for variable, code in self.codes)}]"


@dataclass(frozen=True)
class Linear:
    """A sum of cells times numbers, and a number; cells by their place among the references."""

    terms: Mapping[int, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)

    def plus(self, other: Linear, times: Fraction) -> Linear:
        """This and so many times another one."""
        terms = dict(self.terms)
        for cell, number in other.terms.items():
            terms[cell] = terms.get(cell, Fraction(0)) + times * number
        return Linear({cell: n for cell, n in terms.items() if n}, self.constant + times * other.constant)

    def times(self, number: Fraction) -> Linear:
        """So many times this."""
        return Linear().plus(self, number)


ONE = Linear({}, Fraction(1))


class Ratio(NamedTuple):
    """One sum of cells divided by another; the divisor is ``ONE`` where nothing is divided by cells."""

    above: Linear
    below: Linear

    @property
    def number(self) -> Fraction | None:
        """The number that this is where it names no cell."""
        return None if self.above.terms or self.below.terms else self.above.constant


@dataclass(frozen=True)
class Figure:
    """A published number that is computed from cells.

    It becomes a relation between these cells: everybody knows its result to half a unit of its last decimal.

    Parameters
    ----------
    formula
        Cells as ``name[variable=code, ...]`` with ``+ - * /``, numbers and brackets, where ``name`` is a table or its
        value variable (``count`` for counts of records) and variables left out stand at their total. ``period=``
        chooses between tables of several periods. Codes with commas or brackets stand in quotes. The formula must be
        a sum of cells times numbers, or one such sum divided by another.
    value
        The result as published; text keeps zeros at its end.
    decimals
        How many decimals it is rounded to; those of ``value`` when left out, below 0 for tens, hundreds, ...
    cells
        The cells meant, as table and codes; found by ``protect``.

    Raises
    ------
    ParameterError
        When the formula cannot be read, or is neither a sum of cells nor a ratio of two.

    Examples
    --------
    >>> share = Figure("100 * turnover[region=North] / turnover[region=Total]", value="12.5")
    >>> share.decimals, [str(cell) for cell in share.references]
    (1, ['turnover[region=North]', 'turnover[region=Total]'])
    """

    formula: str
    value: str | int | float | Decimal
    decimals: int | None = None
    cells: tuple[tuple[str, tuple[str, ...]], ...] = ()
    references: tuple[Reference, ...] = field(init=False, repr=False)
    ratio: Ratio = field(init=False, repr=False)

    def __post_init__(self) -> None:
        reader = _FormulaReader(self.formula)
        object.__setattr__(self, "ratio", reader.read())
        object.__setattr__(self, "references", tuple(reader.references))
        text = str(self.value)
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("nan")
        exponent = number.as_tuple().exponent
        if isinstance(self.value, bool) or not isinstance(exponent, int) or len(text) + abs(exponent) > MOST_DIGITS:
            raise ParameterError(
                f"The figure '{self.formula}' has the value {text[:40]!r}, which is not a number of reasonable length.",
                hint="Give it as published, with a decimal point: value='12.5'.",
            )
        shown = max(0, -exponent)
        decimals = shown if self.decimals is None else self.decimals
        if isinstance(decimals, bool) or not isinstance(decimals, int):
            raise ParameterError(f"decimals={self.decimals!r} is not allowed.", hint="Give a whole number.")
        if not LEAST_DECIMALS <= decimals <= MOST_DECIMALS or Fraction(text) % Fraction(10) ** -decimals:
            raise ParameterError(
                f"The figure '{self.formula}' cannot have {counted(decimals, 'decimal')}.",
                hint=f"Give {LEAST_DECIMALS} to {MOST_DECIMALS} decimals, and not fewer than its value has.",
            )
        object.__setattr__(self, "value", text)
        object.__setattr__(self, "decimals", decimals)
        cells = tuple((str(table), tuple(map(str, codes))) for table, codes in self.cells)
        object.__setattr__(self, "cells", cells)

    @property
    def interval(self) -> tuple[Fraction, Fraction]:
        """Between which numbers the result lies: half a unit of the last decimal around the value."""
        half = Fraction(10) ** -(self.decimals or 0) / 2
        return Fraction(str(self.value)) - half, Fraction(str(self.value)) + half

    def at(self, cells: tuple[tuple[str, tuple[str, ...]], ...]) -> Figure:
        """The same figure with its cells found."""
        return replace(self, cells=cells)

    def __str__(self) -> str:
        return f"figure '{self.formula}' = {self.value} (to {self.decimals} decimals)"


class _FormulaReader:
    """Reads a formula from left to right."""

    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.references: list[Reference] = []
        if not isinstance(formula, str) or len(formula) > MOST_LETTERS:
            raise ParameterError("A formula is not a text of reasonable length.", hint="Write it as text.")
        self.tokens: list[tuple[str, str, str]] = []
        at = 0
        while formula[at:].strip():
            match = _TOKEN.match(formula, at)
            if match is None:
                raise self._unreadable(f"at {formula[at:].strip()[:20]!r}")
            self.tokens.append((match["number"] or "", match["name"] or match["sign"] or "", match["codes"] or ""))
            at = match.end()
        self.place = 0

    def read(self) -> Ratio:
        """The whole formula."""
        result = self._sum(0)
        if self.place < len(self.tokens):
            raise self._unreadable(f"after item {self.place}")
        if result.number is not None:
            raise ParameterError(
                f"The formula '{self.formula}' depends on no cell.", hint="Name cells: turnover[region=North]."
            )
        return result

    def _unreadable(self, where: str) -> ParameterError:
        return ParameterError(
            f"Cannot read the formula '{self.formula}' {where}.",
            hint="Write cells as name[variable=code, ...], with + - * / and brackets between them.",
        )

    def _refused(self, why: str) -> ParameterError:
        return ParameterError(
            f"The formula '{self.formula}' {why}, so it is no linear relation between cells.",
            hint="Give a sum of cells times numbers, or one such sum divided by another.",
        )

    def _next(self) -> str:
        return self.tokens[self.place][1] if self.place < len(self.tokens) and not self.tokens[self.place][0] else ""

    def _sum(self, depth: int) -> Ratio:
        result = self._product(depth)
        while (sign := self._next()) in ("+", "-"):
            self.place += 1
            result = self._added(result, self._product(depth), Fraction(1 if sign == "+" else -1))
        return result

    def _product(self, depth: int) -> Ratio:
        result = self._factor(depth)
        while (sign := self._next()) in ("*", "/"):
            self.place += 1
            other = self._factor(depth)
            result = self._multiplied(result, other) if sign == "*" else self._divided(result, other)
        return result

    def _factor(self, depth: int) -> Ratio:
        if depth > DEEPEST:
            raise self._unreadable("because its brackets are too deep")
        if self.place >= len(self.tokens):
            raise self._unreadable("at its end")
        number, word, codes = self.tokens[self.place]
        self.place += 1
        if number:
            return Ratio(Linear({}, Fraction(number)), ONE)
        if word == "-":
            inner = self._factor(depth + 1)
            return Ratio(inner.above.times(Fraction(-1)), inner.below)
        if word == "(":
            inner = self._sum(depth + 1)
            if self._next() != ")":
                raise self._unreadable("because a bracket is not closed")
            self.place += 1
            return inner
        if word in ("+", "*", "/", ")"):
            raise self._unreadable(f"at {word!r}")
        return Ratio(Linear({self._reference(word.strip("`"), codes): Fraction(1)}), ONE)

    def _reference(self, name: str, text: str) -> int:
        codes, at = [], 0
        while text[at:].strip():
            match = _CODE.match(text, at)
            if match is None:
                raise self._unreadable(f"in the brackets of {name!r}")
            code = match["code"]
            codes.append((match["variable"].strip("`"), code[1:-1] if code[:1] in ("'", '"') else code))
            at = match.end()
        found = Reference(name, tuple(sorted(codes)))
        if len({variable for variable, _ in codes}) != len(codes):
            raise self._unreadable(f"because {found} names a variable twice")
        if found not in self.references:
            self.references.append(found)
        return self.references.index(found)

    def _added(self, one: Ratio, two: Ratio, sign: Fraction) -> Ratio:
        if one.below == two.below:
            return Ratio(one.above.plus(two.above, sign), one.below)
        if two.number is not None:
            return Ratio(one.above.plus(one.below, sign * two.number), one.below)
        if one.number is not None:
            return Ratio(two.below.times(one.number).plus(two.above, sign), two.below)
        raise self._refused("adds a ratio of cells to something that is divided by other cells")

    def _multiplied(self, one: Ratio, two: Ratio) -> Ratio:
        if two.number is not None:
            return Ratio(one.above.times(two.number), one.below)
        if one.number is not None:
            return Ratio(two.above.times(one.number), two.below)
        raise self._refused("multiplies cells with cells")

    def _divided(self, one: Ratio, two: Ratio) -> Ratio:
        if two.number is not None:
            if two.number == 0:
                raise self._refused("divides by zero")
            return Ratio(one.above.times(1 / two.number), one.below)
        if one.below == two.below:
            return Ratio(one.above, two.above)
        if one.number is not None:
            return Ratio(two.below.times(one.number), two.above)
        raise self._refused("divides ratios of cells by each other")
