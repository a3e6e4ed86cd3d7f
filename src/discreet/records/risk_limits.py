"""Individual risk (Benedetti and Franconi): how heavy a group of records must be for nobody in it to be at risk.

Some records of a sample look alike and stand for so many persons by their weights; the chance that one of them is found
is the mean of one over the unknown number of persons who look like them.
"""

from __future__ import annotations

from math import ceil, log

import numpy as np

from discreet.model.arrays import Floats

TERMS = ((10, 20_000), (50, 2_000), (np.inf, 400))
"""Terms of the series that are enough for fewer than so many records."""
HALVINGS = 80


def individual_risk(records: int, weight: float) -> float:
    """The risk of a record among ``records`` that look alike and weigh ``weight`` together.

    Examples
    --------
    >>> round(individual_risk(1, 10), 10), round(individual_risk(4, 40), 10), individual_risk(5, 5)
    (0.2558427881, 0.0318849893, 0.2)
    """
    if weight <= records:
        return 1 / records
    p = records / weight
    q = 1 - p
    if q > 0.1 and records == 1:
        return -p * log(p) / q
    if q > 0.1 and records == 2:
        return p / q**2 * (p * log(p) + q)
    if q > 0.1 and records == 3:
        return p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * log(p))
    step = np.arange(1, next(terms for most, terms in TERMS if records < most), dtype=np.float64)
    return p / records * (1 + float(np.cumprod(q * step / (records + step)).sum()))


def least_weights(limit: float, most: int | None = None) -> Floats:
    """For every number of records, from 0 to ``most``, the least weight with which their risk is not above a limit.

    The risk of ``f`` records is at most one in ``f``: beyond the last entry there is none above the limit.
    """
    found = [0.0]
    last = ceil(1 / limit) if most is None else min(ceil(1 / limit), most + 1)
    for records in range(1, last):
        low, high = float(records), max(2.0 * records, 1 / limit)
        while individual_risk(records, high) > limit:
            low, high = high, 2 * high
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if individual_risk(records, middle) <= limit else (middle, high)
            if high - low <= 1e-12 * high:
                break
        found.append(high)
    return np.array(found)
