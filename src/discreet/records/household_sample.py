"""A systematic sample of households with implicit strata, and strata for variances that tell nobody's place.

Source: card 003-31 (restricted extracts), method 2.
"""

from __future__ import annotations

import numpy as np

from discreet.engine.draws import Draws
from discreet.errors import InputError, ParameterError
from discreet.model.arrays import Bools, Floats, Ints

LEAST_BLOCK = 10
"""Households of a stratum, where no population asks for more."""


def draw_systematic(household: Ints, area: Ints, density: float, start: float, alone: Bools | None = None) -> Bools:
    """Which records are in a systematic sample of whole households, sorted by area.

    Parameters
    ----------
    household
        Number of the household of every record.
    area
        Number of the finest area of every record; areas are the implicit strata.
    density
        Share of households that is drawn, above 0 and at most 1.
    start
        Where the first household is drawn, as a fraction in [0, 1) of the step.
    alone
        Records of collective dwellings: persons are drawn one by one.

    Raises
    ------
    ParameterError
        When density or start are out of range.
    InputError
        When the members of a private household live in different areas.

    Examples
    --------
    >>> import numpy as np
    >>> draw_systematic(np.arange(10), np.zeros(10, int), 0.2, 0.5).nonzero()[0].tolist()
    [2, 7]
    """
    if not 0 < density <= 1:
        raise ParameterError(f"density = {density} is no share.", hint="Give a number above 0, at most 1: 0.05.")
    if not 0 <= start < 1:
        raise ParameterError("The start of a sample is a fraction from 0 up to 1.", hint="Draw it from the key.")
    unit = np.unique(household, return_inverse=True)[1].astype(np.int64)
    if alone is not None and alone.any():
        unit = np.where(alone, unit.max(initial=-1) + 1 + np.cumsum(alone), unit)
    number, first, unit = _numbered(unit)
    if np.any(area[first][unit] != area):
        raise InputError("The members of a household live in different areas.", hint="Check households and areas.")
    # Households in the order of areas, within them as the file has them.
    order = np.lexsort((first, area[first]))
    step = 1 / density
    picks = np.floor(start * step + step * np.arange(int(np.ceil(number * density)) + 1)).astype(np.int64)
    chosen = np.zeros(number, np.bool_)
    chosen[order[picks[picks < number]]] = True
    found: Bools = chosen[unit]
    return found


def pseudo_strata(area: Ints, position: Floats, persons: Floats, least: float, shuffled: Draws) -> Ints:
    """A stratum for every household: neighbours in the sample, together at least ``least`` persons of the population.

    A block of ten neighbours would be an area of its own, far smaller than any that may be shown; so blocks are as
    large as areas must be.

    Parameters
    ----------
    area
        Number of the area that is released, per household; no stratum is in two.
    position
        Where the household stood; one that was exchanged has a place by chance in its new area.
    persons
        Persons that the household stands for.
    least
        Persons of the population that a stratum stands for at least, where its area has as many.
    shuffled
        Draws, at least one per household, for numbers of strata that tell no order.
    """
    order = np.lexsort((position, area))
    block = np.zeros(len(area), np.int64)
    number = 0
    edges = np.flatnonzero(np.diff(area[order], prepend=-1, append=-1))
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        places = order[begin:end]
        block[places] = number + _blocks(persons[places], least)
        number = int(block[places].max()) + 1
    names = np.argsort(np.argsort(shuffled[:number], kind="stable"), kind="stable") + 1
    found: Ints = names[block].astype(np.int64)
    return found


def _blocks(persons: Floats, least: float) -> Ints:
    """Blocks of neighbours in order, each large enough; what is left at the end joins the last one."""
    found = np.zeros(len(persons), np.int64)
    total, count, number = 0.0, 0, 0
    for place, one in enumerate(persons.tolist()):
        if total >= least and count >= LEAST_BLOCK:
            number, total, count = number + 1, 0.0, 0
        found[place] = number
        total, count = total + one, count + 1
    if number and (total < least or count < LEAST_BLOCK):
        found[found == number] = number - 1
    return found


def _numbered(unit: Ints) -> tuple[int, Ints, Ints]:
    """How many units there are, the first record of each, and their numbers without gaps."""
    _, first, number = np.unique(unit, return_index=True, return_inverse=True)
    return len(first), first.astype(np.int64), number.astype(np.int64)
