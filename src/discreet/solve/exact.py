"""Exact solutions from floating-point ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import lcm


def solve_exactly(equations: Iterable[tuple[Mapping[int, int], int]]) -> dict[int, Fraction] | None:
    """Solve sparse linear equations in rational numbers.

    Parameters
    ----------
    equations
        Pairs of (coefficients by unknown, right side).

    Returns
    -------
    dict or None
        The unknowns, free ones set to zero; ``None`` when the equations contradict each other.

    Examples
    --------
    >>> solve_exactly([({0: 1, 1: 1}, 3), ({0: 1, 1: -1}, 0)])
    {1: Fraction(3, 2), 0: Fraction(3, 2)}
    """
    pivots: list[tuple[int, dict[int, Fraction], Fraction]] = []
    position: dict[int, int] = {}
    for coefficients, right in sorted(equations, key=lambda e: len(e[0])):
        row = {unknown: Fraction(c) for unknown, c in coefficients.items() if c}
        value = Fraction(right)
        while True:
            unknown = next((u for u in row if u in position), None)
            if unknown is None:
                break
            _, other, other_value = pivots[position[unknown]]
            factor = row[unknown]
            for u, c in other.items():
                left = row.get(u, Fraction(0)) - factor * c
                if left:
                    row[u] = left
                else:
                    row.pop(u, None)
            value -= factor * other_value
        if not row:
            if value:
                return None
            continue
        pivot = min(row)
        scale = row[pivot]
        position[pivot] = len(pivots)
        pivots.append((pivot, {u: c / scale for u, c in row.items()}, value / scale))
    solution: dict[int, Fraction] = {}
    for pivot, row, value in reversed(pivots):
        known = sum((c * solution.get(u, Fraction(0)) for u, c in row.items() if u != pivot), Fraction(0))
        solution[pivot] = value - known
    return solution


def common_denominator(values: Iterable[Fraction]) -> int:
    """Least common denominator."""
    return lcm(*(value.denominator for value in values), 1)
