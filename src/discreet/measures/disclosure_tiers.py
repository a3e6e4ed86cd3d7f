"""Risks of a file by cells of its keys: rare in the population, values that hardly differ, values beyond a limit."""

from __future__ import annotations

from typing import Literal

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.model.arrays import Floats, Ints

Spread = Literal["variance", "range", "mean_deviation"]


def rarest_risk(population: Ints, sample: Ints | None = None) -> float:
    """The largest chance to name the right unit of the population: one over its smallest cell in the sample.

    Parameters
    ----------
    population
        Units of the population per cell of keys.
    sample
        Records per cell; cells without a record do not count.

    Examples
    --------
    >>> round(rarest_risk(np.array([19, 40, 3]), np.array([2, 1, 0])), 4)
    0.0526
    """
    units = np.asarray(population)
    there = np.ones(len(units), np.bool_) if sample is None else np.asarray(sample) > 0
    if np.any(there & (units < 1)):
        raise InputError("A cell has records and no unit of the population.", hint="Use a population that holds them.")
    return float(1 / units[there].min()) if there.any() else 0.0


def smallest_spread(values: Floats, cell: Ints, spread: Spread = "variance") -> float:
    """The smallest spread of values in any cell: where it is low, whoever knows the cell knows the value.

    ``"mean_deviation"`` is the mean absolute deviation from the mean of the cell.

    Examples
    --------
    >>> smallest_spread(np.array([1.0, 3.0, 5.0, 6.0]), np.array([0, 0, 1, 1]), "range")
    1.0
    """
    ways = {
        "variance": lambda x: float(x.var()),
        "range": lambda x: float(np.ptp(x)),
        "mean_deviation": lambda x: float(np.abs(x - x.mean()).mean()),
    }
    if spread not in ways:
        raise ParameterError(f"spread={spread!r} is not allowed.", hint=f"Use one of {', '.join(ways)}.")
    return min(ways[spread](values[cell == number]) for number in np.unique(cell))


def largest_tail(values: Floats, cell: Ints, *, above: float | None = None, below: float | None = None) -> float:
    """The largest share, over cells, of values beyond a limit: whoever knows the cell learns that much.

    Examples
    --------
    >>> largest_tail(np.array([1.0, 9.0, 5.0, 6.0]), np.array([0, 0, 1, 1]), above=8)
    0.5
    """
    if above is not None and below is None:
        beyond = values > above
    elif below is not None and above is None:
        beyond = values < below
    else:
        raise ParameterError("One limit is needed.", hint="Give above= or below=.")
    return max(float(beyond[cell == number].mean()) for number in np.unique(cell))
