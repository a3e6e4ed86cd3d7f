"""Card 003-09: entries that margins fix, and the trap of linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from discreet.attack import Entry, attainable_values, unique_entries
from discreet.attack.holes import hole_intervals
from discreet.errors import InputError


def digits(text: str) -> np.ndarray:
    return np.array([[int(d) for d in line] for line in text.split()])


SMALL = {
    (1, 0): digits("212020 102002 100220 010202"),
    (2, 0): digits("212300 210021 002123"),
    (1, 2): digits("232 212 212 212"),
}
LARGE = {
    (1, 0): digits("1000101000 0100100100 0010100010 0001100001 0100011000 1000010100 0010010010 0001010001"),
    (2, 0): digits("1111220000 1111001111 0000221111"),
    (1, 2): np.ones((8, 3), int),
}


def test_example_1_has_a_gap():
    found = unique_entries(margins=SMALL, shape=(6, 4, 3), bounds=True)
    assert found.unique == 46
    assert found.unknown == 0
    assert (found.lower[0, 0, 0], found.upper[0, 0, 0]) == (0, 2)
    assert attainable_values((0, 0, 0), margins=SMALL, shape=(6, 4, 3)) == [0, 2]


def test_example_2_moves_three_entries_together():
    found = unique_entries(margins=LARGE, shape=(10, 8, 3))
    assert found.unique == 192
    assert [found.status[at] for at in ((0, 0, 0), (2, 6, 0), (3, 7, 0))] == [Entry.VARIES] * 3
    assert found.solves < 2 * 240


def test_linear_programs_call_a_disclosed_entry_free():
    trap = {axes: values.copy() for axes, values in SMALL.items()}
    trap[1, 0][0, 0] = 1
    trap[2, 0][1, 0] = 1
    trap[1, 2][0, 1] = 2
    found = unique_entries(margins=trap, shape=(6, 4, 3))
    assert found.unique == 72
    assert attainable_values((0, 0, 0), margins=trap, shape=(6, 4, 3)) == [0]
    from discreet.attack.uniqueness import _EntryPrograms, _Margins

    linear = _EntryPrograms(_Margins.of(None, None, trap, (6, 4, 3)), 10)._solve(0, 1.0, whole=False)
    assert linear.value == pytest.approx(1)


def test_margins_that_contradict_each_other_are_refused():
    wrong = {**SMALL, (1, 2): SMALL[1, 2] + np.eye(4, 3, dtype=int)}
    with pytest.raises(InputError, match="contradict"):
        unique_entries(margins=wrong, shape=(6, 4, 3))


@pytest.mark.parametrize("u", [1, 2, 7, 40])
def test_linear_programs_can_be_arbitrarily_far_from_whole_numbers(u):
    """2 y1 + (2u+1) y2 = 4u+1 has one whole solution, y1 = u; the linear program says 0 to 2u + 1/2."""
    equation = csr_array(np.array([[2, 2 * u + 1, -1]]))
    right = float(4 * u + 1)
    lower, upper = np.array([0.0, 0.0, right]), np.array([np.inf, np.inf, right])
    asked = np.array([True, False, False])
    real, whole = (hole_intervals(equation, lower, upper, asked, whole=kind) for kind in (False, True))
    assert (real.lower[0], real.upper[0]) == pytest.approx((0, 2 * u + 0.5))
    assert (whole.lower[0], whole.upper[0]) == pytest.approx((u, u))
