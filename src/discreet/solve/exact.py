"""Exact solutions from floating-point ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    given = [({u: c for u, c in coefficients.items() if c}, right) for coefficients, right in equations]
    alone, left = _peeled([coefficients for coefficients, _ in given])
    solution = _eliminated([given[e] for e in left])
    if solution is None:
        return None
    for unknown, number in reversed(alone):
        coefficients, right = given[number]
        known = sum((c * solution[u] for u, c in coefficients.items() if u != unknown and u in solution), Fraction(0))
        solution[unknown] = (right - known) / coefficients[unknown]
    return solution


def _peeled(equations: Sequence[Mapping[int, int]]) -> tuple[list[tuple[int, int]], list[int]]:
    """Unknowns that stand in one equation alone, once those before them are gone, and the equations that are left.

    Such an equation only says what that unknown is. Most equations are of that kind, and what is left is small.
    """
    uses: dict[int, set[int]] = {}
    for number, coefficients in enumerate(equations):
        for unknown in coefficients:
            uses.setdefault(unknown, set()).add(number)
    waiting = [unknown for unknown, numbers in uses.items() if len(numbers) == 1]
    alone: list[tuple[int, int]] = []
    while waiting:
        unknown = waiting.pop()
        if not uses[unknown]:
            continue
        number = uses[unknown].pop()
        alone.append((unknown, number))
        for other in equations[number]:
            uses[other].discard(number)
            if len(uses[other]) == 1:
                waiting.append(other)
    gone = {number for _, number in alone}
    return alone, [number for number in range(len(equations)) if number not in gone]


def _eliminated(equations: Sequence[tuple[Mapping[int, int], int]]) -> dict[int, Fraction] | None:
    """The same by elimination, shortest equations first."""
    pivots: list[tuple[int, dict[int, Fraction], Fraction]] = []
    position: dict[int, int] = {}
    for coefficients, right in sorted(equations, key=lambda e: len(e[0])):
        row = {unknown: Fraction(c) for unknown, c in coefficients.items()}
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
