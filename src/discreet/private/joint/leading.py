"""Do few persons lead the sums of an owner? Asked of its own records alone, before any sum of products is opened.

Sums of products show, for every direction v, the squares of v'x added up over persons. Persons of an owner that have at
most a share of its own squares in every direction have at most that share of the squares of all owners, and of what is
left when others take their own off. So what holds at home holds for whatever is opened; the reverse is not so, and an
owner may refuse although the records of others would have hidden its persons.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.private.joint.design import OwnerRows
from discreet.private.joint.safety import RevealLimits
from discreet.private.problems import ProtocolError

Numbers = NDArray[np.float64]
FLAT = 1e-8
"""Of the largest square: directions with less are found from the records, not from their sums of squares."""
AT_ONCE = 4_000_000
"""Products of persons that are looked at together."""


class OwnDirections:
    """An owner's persons in directions in which its own squares add up to 1.

    Parameters
    ----------
    values
        A row for each person, or for several alike.
    weights
        Of a person's squares.
    persons
        Of each row.
    """

    def __init__(self, values: Numbers, weights: Numbers, persons: Numbers) -> None:
        there = persons > 0
        rows = values[there] * np.sqrt(weights[there])[:, None]
        self._persons = persons[there]
        self.turn = _turn(rows, self._persons)
        self._places = rows @ self.turn
        self.shares = np.einsum("ij,ij->i", self._places, self._places)
        """Of one person of each row: its leverage among this owner's persons."""

    def led(self, size: int, most: float) -> bool:
        """Whether so many persons or fewer may have more than a share of the squares in some direction.

        Their share is the largest eigenvalue of their products with each other; of whoever has the largest part in it,
        the own share and the products with the others are at least as much.
        """
        candidates = np.flatnonzero(self.shares > most / size)
        if not candidates.size:
            return False
        copies = np.minimum(self._persons, size).astype(np.int64)
        places = np.repeat(self._places, copies, axis=0)
        firsts = np.cumsum(copies) - copies
        several = min(size, len(places)) - 1
        step = max(1, AT_ONCE // len(places))
        for start in range(0, len(candidates), step):
            chosen = candidates[start : start + step]
            products = np.abs(self._places[chosen] @ places.T)
            products[np.arange(len(chosen)), firsts[chosen]] = 0.0
            with_others = np.partition(products, -several, axis=1)[:, -several:].sum(axis=1) if several else 0.0
            if (self.shares[chosen] + with_others).max() > most:
                return True
        return False

    def bound(self, curvature: Numbers, variances: Numbers) -> float:
        """What no person's share is above when squares are weighted by variances, of which sums are the curvature."""
        within = np.linalg.eigvalsh(self.turn.T @ curvature @ self.turn)[0]
        return float((variances * self.shares).max() / within) if within > 0 else np.inf


def _turn(rows: Numbers, persons: Numbers) -> Numbers:
    """What brings rows to directions in which their squares add up to 1; directions without any are left out."""
    sizes = np.sqrt(((rows**2) * persons[:, None]).sum(axis=0))
    kept = sizes > 0
    scaled = rows[:, kept] / sizes[kept]
    values, vectors = np.linalg.eigh((scaled * persons[:, None]).T @ scaled)
    if values[0] <= FLAT * values[-1]:
        triangle = np.linalg.qr(scaled * np.sqrt(persons)[:, None], mode="r")
        _, singular, turned = np.linalg.svd(triangle)
        there = singular > singular[0] * max(rows.shape) * np.finfo(float).eps
        values, vectors = singular[there] ** 2, turned[: len(singular)][there].T
    found = np.zeros((rows.shape[1], len(values)))
    found[kept] = vectors / np.sqrt(values) / sizes[kept][:, None]
    return found


def looks_at_leading(limits: RevealLimits) -> bool:
    """Whether limits ask for it: cells of one person are no cells too small, and a share of 1 is everything."""
    return limits.min_cell > 1 and limits.most_own_leverage < 1


def require_nobody_leads(own: OwnDirections, limits: RevealLimits, me: str) -> None:
    """Stop before sums are opened of which few persons of an owner may be nearly all, in some direction.

    Raises
    ------
    ProtocolError
        ``not safe to reveal``.
    """
    if looks_at_leading(limits) and own.led(limits.min_cell - 1, limits.most_own_leverage):
        raise led_by_few(limits, me)


def led_by_few(limits: RevealLimits, me: str) -> ProtocolError:
    """The error of an owner whose sums few persons lead."""
    return ProtocolError(
        "not safe to reveal",
        f"Among the records of {me} alone, fewer than {limits.min_cell} persons have more than "
        f"{limits.most_own_leverage:g} of some sum of squares over several columns.",
        hint="Recode extreme values, put rare codes together, or use a smaller model. If the records of the others "
        "hide them, all owners can agree on most_own_leverage=1.",
    )


def leads_step(
    own: OwnDirections, rows: OwnerRows, curvature: Numbers, variance: Numbers, limits: RevealLimits
) -> bool:
    """Whether few persons lead in one step of a model, where squares are weighted by the variances of outcomes.

    Most often the shares of before bound those of now, and records are not gone through again.
    """
    size, there = limits.min_cell - 1, rows.trials > 0
    each = variance[there] / rows.trials[there]
    if own.bound(curvature, each) * size <= limits.most_own_leverage:
        return False
    weights = rows.weights[there] * each
    return OwnDirections(rows.X[there], weights, rows.trials[there]).led(size, limits.most_own_leverage)
