"""Risk of sample tables whose population counts are known (Shlomo and Young 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError


class SampleRisk(NamedTuple):
    """``uniques``: sample uniques; ``population_uniques``: those that are unique in the population too.

    ``matches`` is how many sample uniques a random match with the population is expected to get right.
    """

    uniques: int
    population_uniques: int
    matches: float


def sample_risk(sample: npt.ArrayLike, population: npt.ArrayLike) -> SampleRisk:
    """Uniques of a sample table and how many of them can be matched.

    Examples
    --------
    >>> sample_risk([1, 1, 3, 0], [1, 4, 9, 2])
    SampleRisk(uniques=2, population_uniques=1, matches=1.25)
    """
    small, large = np.asarray(sample).ravel(), np.asarray(population).ravel()
    if small.shape != large.shape or np.any(small > large) or small.min(initial=0) < 0:
        raise InputError(
            "Sample and population must have the same cells, and no cell more in the sample.",
            hint="Give counts of both, zero cells included.",
        )
    unique = small == 1
    return SampleRisk(
        int(unique.sum()), int((unique & (large == 1)).sum()), float((1 / large[unique].astype(np.float64)).sum())
    )
