"""Whether noise protects sensitive cells as much as a rule asks, and how much it hurts the others (card 003-26)."""

from __future__ import annotations

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
