"""The cheapest way to bring units from cells that have some to cells that want some."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import ProtectionError
from discreet.model.arrays import Ints

NEAREST = 24


class Shipment(NamedTuple):
    """Units from a donor to a receiver, by their numbers."""

    donor: Ints
    receiver: Ints
    units: Ints


def cheapest_shipment(cost: Ints, supply: Ints, demand: Ints) -> Shipment:
    """A shipment of least cost that uses up the supply or meets the demand, whichever is less.

    Of equally cheap shipments one with donors of low numbers is taken. Only the nearest pairs are looked at first;
    the prices that the solver finds prove that no other pair is cheaper, or name those to add.

    Parameters
    ----------
    cost
        Steps between donors (rows) and receivers (columns).
    supply, demand
        Units of donors and of receivers.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    donors, receivers = cost.shape
    total = int(min(supply.sum(), demand.sum()))
    if total == 0:
        return Shipment(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    # Ties by the donors' numbers: all of them together weigh less than one step.
    weight = cost.astype(np.float64) + np.arange(donors)[:, None] / (donors * (total + 1.0))
    used = np.zeros(cost.shape, np.bool_)
    for axis, most in ((0, donors), (1, receivers)):
        nearest = np.argpartition(weight, min(NEAREST, most) - 1, axis=axis).take(range(min(NEAREST, most)), axis)
        np.put_along_axis(used, nearest, True, axis)
    supply_fixed = supply.sum() <= demand.sum()
    while True:
        donor, receiver = np.nonzero(used)
        arcs = np.arange(len(donor))
        ones = np.ones(len(donor))
        out = csr_array((ones, (donor, arcs)), shape=(donors, len(arcs)))
        into = csr_array((ones, (receiver, arcs)), shape=(receivers, len(arcs)))
        fixed, free = ((out, supply), (into, demand)) if supply_fixed else ((into, demand), (out, supply))
        answer = linprog(  # type: ignore[call-overload]  # its types leave sparse matrices out
            weight[donor, receiver], A_ub=free[0], b_ub=free[1], A_eq=fixed[0], b_eq=fixed[1], method="highs-ds"
        )
        if answer.status != 0:
            if used.all():
                raise ProtectionError("No shipment brings the units where they are wanted.")
            used[:] = True
            continue
        equal, upper = answer.eqlin.marginals, answer.ineqlin.marginals
        price_out, price_in = (equal, upper) if supply_fixed else (upper, equal)
        cheaper = (weight - price_out[:, None] - price_in[None, :] < -1e-9) & ~used
        if not cheaper.any():
            break
        used |= cheaper
    units = np.rint(answer.x).astype(np.int64)
    moved = units > 0
    return Shipment(donor[moved], receiver[moved], units[moved])
