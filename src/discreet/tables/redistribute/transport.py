"""The cheapest way to bring units from cells that have some to cells that want some."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from discreet.errors import ProtectionError
from discreet.model.arrays import Floats, Ints

NEAREST = 16
BLOCK = 256
"""So many donors or receivers are compared with all others at a time, which bounds memory."""
Steps = Callable[[Ints, Ints], Ints]


class Shipment(NamedTuple):
    """Units from a donor to a receiver, by their numbers."""

    donor: Ints
    receiver: Ints
    units: Ints


def cheapest_shipment(steps: Steps, supply: Ints, demand: Ints) -> Shipment:
    """A shipment of least cost that uses up the supply or meets the demand, whichever is less.

    Of equally cheap shipments one with donors of low numbers is taken. Only the nearest pairs are looked at first;
    the prices that the solver finds prove that no other pair is cheaper, or name those to add.

    Parameters
    ----------
    steps
        Gives the steps between some donors (rows) and some receivers (columns), by their numbers.
    supply, demand
        Units of donors and of receivers.
    """
    donors, receivers = len(supply), len(demand)
    total = int(min(supply.sum(), demand.sum()))
    if total == 0:
        return Shipment(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    every_donor, every_receiver = np.arange(donors), np.arange(receivers)

    def weight(rows: Ints, columns: Ints) -> Floats:
        # Ties by the donors' numbers: all of them together weigh less than one step.
        tie: Floats = steps(rows, columns) + rows[:, None] / (donors * (total + 1.0))
        return tie

    gives_all = bool(supply.sum() <= demand.sum())
    near = NEAREST
    arcs = _nearest(weight, every_donor, every_receiver, near, gives_all)
    while True:
        donor, receiver = np.divmod(arcs, receivers)
        bounds = np.searchsorted(donor, np.arange(donors + 1))
        cost = np.concatenate(
            [weight(every_donor[d : d + 1], receiver[bounds[d] : bounds[d + 1]])[0] for d in range(donors)]
        )
        found = _solved(donor, receiver, cost, supply, demand, gives_all)
        if found is None:
            if near >= max(donors, receivers):
                raise ProtectionError("No shipment brings the units where they are wanted.")
            near *= 4
            arcs = np.union1d(arcs, _nearest(weight, every_donor, every_receiver, near, True))
            continue
        units, price_out, price_in = found
        missing: list[Ints] = []
        for part in np.array_split(every_donor, max(donors // BLOCK, 1)):
            reduced = weight(part, every_receiver) - price_out[part, None] - price_in
            row, column = np.nonzero(reduced < -1e-9)
            missing.append(part[row] * receivers + column)
        more = np.setdiff1d(np.concatenate(missing), arcs)
        if not len(more):
            break
        arcs = np.union1d(arcs, more)
    moved = units > 0
    return Shipment(donor[moved], receiver[moved], units[moved])


def _nearest(weight: Callable[[Ints, Ints], Floats], donors: Ints, receivers: Ints, near: int, gives_all: bool) -> Ints:
    """Pairs of receivers with their nearest donors, and of donors with their nearest receivers where all must give."""
    found: list[Ints] = []
    for part in np.array_split(receivers, max(len(receivers) // BLOCK, 1)):
        most = min(near, len(donors))
        closest = np.argpartition(weight(donors, part), most - 1, axis=0)[:most]
        found.append((closest * len(receivers) + part).ravel())
    for part in np.array_split(donors, max(len(donors) // BLOCK, 1)) if gives_all else []:
        most = min(near, len(receivers))
        closest = np.argpartition(weight(part, receivers), most - 1, axis=1)[:, :most]
        found.append((part[:, None] * len(receivers) + closest).ravel())
    return np.unique(np.concatenate(found))


def _solved(
    donor: Ints, receiver: Ints, cost: Floats, supply: Ints, demand: Ints, gives_all: bool
) -> tuple[Ints, Floats, Floats] | None:
    """Units of each pair and the prices of donors and receivers; nothing where these pairs do not suffice."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    pairs, ones = np.arange(len(donor)), np.ones(len(donor))
    out = csr_array((ones, (donor, pairs)), shape=(len(supply), len(pairs)))
    into = csr_array((ones, (receiver, pairs)), shape=(len(demand), len(pairs)))
    fixed, free = ((out, supply), (into, demand)) if gives_all else ((into, demand), (out, supply))
    answer = linprog(  # type: ignore[call-overload]  # its types leave sparse matrices out
        cost, A_ub=free[0], b_ub=free[1], A_eq=fixed[0], b_eq=fixed[1], method="highs-ds"
    )
    if answer.status != 0:
        return None
    equal, upper = answer.eqlin.marginals, answer.ineqlin.marginals
    prices = (equal, upper) if gives_all else (upper, equal)
    return np.rint(answer.x).astype(np.int64), *prices
