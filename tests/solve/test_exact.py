"""Exact solutions of small linear systems."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreet.solve.exact import common_denominator, solve_exactly

coefficients = st.dictionaries(st.integers(0, 5), st.integers(-3, 3), min_size=1, max_size=4)


@given(st.lists(st.tuples(coefficients, st.integers(-20, 20)), max_size=7))
def test_a_solution_satisfies_every_equation(equations):
    solution = solve_exactly(equations)
    if solution is not None:
        for left, right in equations:
            assert sum(c * solution.get(u, Fraction(0)) for u, c in left.items()) == right


@given(st.lists(coefficients, max_size=7), st.lists(st.fractions(max_denominator=9), min_size=6, max_size=6))
def test_a_system_that_has_a_solution_is_solved(lefts, truth):
    scale = common_denominator(truth)
    equations = [(left, int(sum(c * truth[u] for u, c in left.items()) * scale)) for left in lefts]
    assert solve_exactly(equations) is not None


def test_a_contradiction_has_no_solution():
    assert solve_exactly([({0: 1}, 1), ({0: 1}, 2)]) is None


def test_halves_stay_exact():
    assert solve_exactly([({0: 1, 1: 1}, 3), ({0: 1, 1: -1}, 0)]) == {0: Fraction(3, 2), 1: Fraction(3, 2)}
