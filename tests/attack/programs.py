"""An attacker with linear and integer programs over the unseen table, written on HiGHS through scipy alone."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from tests.attack.publication import Unseen

NODES = 100
"""So many nodes of an integer program are looked at."""


class Programs:
    """All tables that fit a publication, as one program.

    Parameters
    ----------
    unseen
        The base cells and what is known of them.
    floor
        The least that each base cell can be, to this attacker.
    unit
        What base cells are whole multiples of, to this attacker; None where they may be any number.
    """

    def __init__(self, unseen: Unseen, floor: np.ndarray, unit: float | None) -> None:
        self.size = len(unseen.cells)
        self.unit = 1.0 if unit is None else unit
        low, high = floor.astype(float), np.full(self.size, np.inf)
        low[unseen.zero] = high[unseen.zero] = 0.0
        self.bounds = Bounds(low / self.unit, high)
        self.whole = np.full(self.size, 0 if unit is None else 1)
        rows, values, half = unseen.known, unseen.values / self.unit, unseen.halves / self.unit
        if unit is not None:
            values = np.where(half > 0, values, np.rint(values))
        half = np.where(half > 0, half + 1e-7, 0.0)  # the truth may lie at the very end, which binary fractions miss
        self.constraints = [LinearConstraint(rows, values - half, values + half)] if len(rows) else []
        for row, least, most in unseen.limits:
            self.constraints.append(LinearConstraint(row[None, :], least / self.unit - 1e-7, most / self.unit + 1e-7))

    def ends(self, row: np.ndarray) -> tuple[float, float]:
        """The least and the largest value of a sum of base cells."""
        found = []
        for sign in (1.0, -1.0):
            answer = self._solved(sign * row)
            if answer.status in (3, 4):  # no limit; 4 says that or that there is no table, and the truth is one
                found.append(-sign * np.inf)
            elif answer.status == 1:  # the attacker stops looking, and knows what was ruled out so far
                found.append(sign * answer.mip_dual_bound * self.unit)
            else:
                assert answer.status == 0, answer.message
                found.append(sign * answer.fun * self.unit)
        return found[0], found[1]

    def _solved(self, cost: np.ndarray):
        """The least of a sum; HiGHS now and then finds in advance that nothing fits, and the truth does."""
        for first in (True, False):
            answer = milp(
                cost,
                integrality=self.whole,
                bounds=self.bounds,
                constraints=self.constraints,
                options={"node_limit": NODES, "presolve": first},
            )
            if answer.status != 2:
                break
        return answer
