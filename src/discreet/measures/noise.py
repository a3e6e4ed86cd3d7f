"""Whether noise protects sensitive cells as much as a rule asks, and how much it hurts the others.

Source: Massell, Zayatz and Funk (2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Floats


class NoiseErrors(NamedTuple):
    """``alpha``: missing protection of sensitive cells; ``beta``: needless change of the others; both on average.

    ``approximate_beta`` is the mean relative change of all cells. ``multiplier`` says, for every sensitive cell, how
    often its change is what it must be.
    """

    alpha: float
    beta: float
    approximate_beta: float
    multiplier: Floats
    sensitive: int
    unprotected: int
    skipped: int

    @property
    def lowest(self) -> float:
        """The least multiplier; not a number without sensitive cells."""
        return float(self.multiplier.min()) if len(self.multiplier) else float("nan")

    @property
    def middle(self) -> tuple[float, float]:
        """Between which multipliers the middle nine tenths of the sensitive cells lie."""
        if not len(self.multiplier):
            return float("nan"), float("nan")
        low, high = np.percentile(self.multiplier, [5, 95])
        return float(low), float(high)


def noise_errors(before: Floats, after: Floats, needed: Floats) -> NoiseErrors:
    """Alpha and beta of a table.

    Parameters
    ----------
    before, after
        Estimates; cells that were zero are skipped and counted.
    needed
        The change that the rule asks for; above zero the cell is sensitive.

    Examples
    --------
    >>> noise_errors(np.array([100.0, 50.0]), np.array([105.0, 50.0]), np.array([10.0, -1.0])).alpha
    0.5
    """
    if not (np.isfinite(needed).all() and np.isfinite(before).all() and np.isfinite(after).all()):
        raise InputError("An estimate or a required change is missing.")
    if not len(before) == len(after) == len(needed):
        raise InputError("Estimates and required changes must be of the same cells.")
    there = before > 0
    value, change, need = before[there], np.abs(after - before)[there], needed[there]
    sensitive = need > 0
    multiplier = change[sensitive] / need[sensitive]
    alpha = float(np.maximum(0, 1 - multiplier).mean()) if sensitive.any() else 0.0
    relative = change / value
    over = (change[sensitive] - need[sensitive]) / value[sensitive]
    protected = multiplier >= 1
    counted = int((~sensitive).sum()) + int(protected.sum())
    beta = (float(relative[~sensitive].sum()) + float(over[protected].sum())) / counted if counted else 0.0
    return NoiseErrors(
        alpha,
        beta,
        float(relative.mean()) if len(relative) else 0.0,
        multiplier,
        int(sensitive.sum()),
        int((multiplier < 1).sum()),
        int((~there).sum()),
    )


def change_shares(before: Floats, after: Floats, steps: int = 5) -> Floats:
    """Per cent of cells by relative change: below 1 %, 1 to 2 %, ... and, last, ``steps`` % and more.

    It serves estimates and their coefficients of variation alike; cells that were zero are left out.

    Examples
    --------
    >>> change_shares(np.array([100.0, 100.0, 100.0, 0.0]), np.array([100.5, 101.5, 110.0, 1.0]), 2).round(1).tolist()
    [33.3, 33.3, 33.3]
    """
    if len(before) != len(after):
        raise InputError("Numbers before and after must be of the same cells.")
    there = before != 0
    if not there.any():
        return np.zeros(steps + 1)
    change = np.abs(after[there] - before[there]) / np.abs(before[there])
    # Percents that fall on a step in decimal numbers must not lie below it in floating point.
    bins = np.minimum(np.floor(100 * change + 1e-9), steps).astype(np.int64)
    shares: Floats = 100 * np.bincount(bins, minlength=steps + 1) / int(there.sum())
    return shares


class NoiseRuns(NamedTuple):
    """Mean and spread of alpha and beta over several seeds."""

    alpha: float
    alpha_spread: float
    beta: float
    beta_spread: float
    runs: int


def noise_over_runs(before: Floats, runs: Sequence[Floats], needed: Floats) -> NoiseRuns:
    """Alpha and beta over several noisy versions of a table, with their standard deviations."""
    if not len(runs):
        raise InputError("There is no noisy version of the table.", hint="Give at least one.")
    found = [noise_errors(before, after, needed) for after in runs]
    alpha, beta = np.array([f.alpha for f in found]), np.array([f.beta for f in found])
    spread = 1 if len(found) > 1 else 0
    return NoiseRuns(
        float(alpha.mean()), float(alpha.std(ddof=spread)), float(beta.mean()), float(beta.std(ddof=spread)), len(found)
    )
