"""How heavy a group of records must be for nobody in it to be at risk (individual risk, Benedetti and Franconi)."""

from __future__ import annotations

from math import ceil

import numpy as np

from discreet.measures.individual_risk import individual_risk
from discreet.model.arrays import Floats

HALVINGS = 80


def least_weights(limit: float, most: int | None = None) -> Floats:
    """For every number of records, from 0 to ``most``, the least weight with which their risk is not above a limit.

    The risk of ``f`` records is at most one in ``f``: beyond the last entry there is none above the limit.

    Examples
    --------
    >>> least_weights(0.25).round(3).tolist()
    [0.0, 10.347, 5.248, 4.358]
    """
    last = ceil(1 / limit) if most is None else min(ceil(1 / limit), most + 1)
    records = np.arange(1, last, dtype=np.float64)
    low, high = records.copy(), np.maximum(2 * records, 1 / limit)
    while np.any(above := individual_risk(records, high) > limit):
        low, high = np.where(above, high, low), np.where(above, 2 * high, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = individual_risk(records, middle) <= limit
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        if np.all(high - low <= 1e-12 * high):
            break
    return np.concatenate(([0.0], high))
