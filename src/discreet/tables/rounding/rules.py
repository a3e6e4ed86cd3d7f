"""Rounding cell by cell: each value goes to one of its two neighbouring multiples."""

from __future__ import annotations

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints


def up_by_rule(rule: str, rest: Ints, step: int, draw: Floats) -> Bools:
    """Which values go up, given how far each lies above a multiple and a draw from 0 up to 1.

    ``conventional``: from one half on; ``modified``: halves by a fair coin; ``fifty_fifty``: all that are no multiples
    by a fair coin; ``unbiased``: with the chance that keeps the mean.
    """
    if rule == "conventional":
        up = 2 * rest >= step
    elif rule == "modified":
        up = (2 * rest > step) | ((2 * rest == step) & (draw < 0.5))
    elif rule == "fifty_fifty":
        up = (rest > 0) & (draw < 0.5)
    else:
        up = draw < rest / step
    return np.asarray(up, np.bool_)


def up_semi_controlled(rest: Ints, step: int, group: Ints, draw: Floats, common: Floats) -> Bools:
    """Which values go up when the number that do is fixed for each rest within each group.

    Of the cells of a group with the same rest, the expected number go up: those with the smallest draws. Fractions are
    decided together by one number for each group, so that the sum of a group changes by less than a step.
    """
    up = np.zeros(len(rest), np.bool_)
    order = np.lexsort((draw, rest, group))
    bounds = np.flatnonzero(np.diff(np.stack((group[order], rest[order]))).any(axis=0)) + 1
    cumulated: dict[int, int] = {}
    for cells in np.split(order, bounds):
        if not len(cells) or rest[cells[0]] == 0:
            continue
        mine, r = int(group[cells[0]]), int(rest[cells[0]])
        whole, fraction = divmod(len(cells) * r, step)
        before = cumulated.get(mine, 0)
        cumulated[mine] = before + fraction
        # Fractions are whole numbers of 1 / step, so that none is lost to rounding.
        shift = int(common[mine] * step)
        number = whole + (before + fraction + shift) // step - (before + shift) // step
        up[cells[:number]] = True
    return up
