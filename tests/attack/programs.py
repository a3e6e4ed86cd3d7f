"""An attacker with linear and integer programs over the unseen table, written on HiGHS through scipy alone."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from tests.attack.publication import Unseen


class Programs:
    """All tables that fit a publication, as one program.

    Parameters
    ----------
    unseen
        The base cells and what is known of them.
    floor
        The least that each base cell can be, to this attacker.
    whole
        Whether base cells are whole numbers.
    """

    def __init__(self, unseen: Unseen, floor: np.ndarray, whole: bool) -> None:
        self.size = len(unseen.cells)
        low, high = floor.astype(float), np.full(self.size, np.inf)
        low[unseen.zero] = high[unseen.zero] = 0.0
        self.bounds = Bounds(low, high)
        self.whole = np.full(self.size, 1 if whole else 0)
        rows, values, half = unseen.known, unseen.values, unseen.halves
        self.constraints = [LinearConstraint(rows, values - half, values + half)] if len(rows) else []
        for row, least, most in unseen.limits:
            self.constraints.append(LinearConstraint(row[None, :], least, most))

    def ends(self, row: np.ndarray) -> tuple[float, float]:
        """The least and the largest value of a sum of base cells."""
        found = []
        for sign in (1.0, -1.0):
            answer = milp(sign * row, integrality=self.whole, bounds=self.bounds, constraints=self.constraints)
            if answer.status in (3, 4):  # no limit; 4 says that or that there is no table, and the truth is one
                found.append(-sign * np.inf)
            else:
                assert answer.status == 0, answer.message
                found.append(sign * answer.fun)
        return found[0], found[1]
