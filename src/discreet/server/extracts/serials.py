"""Serial numbers of an extract, which nobody can join with those of another, and the marks that trace a leak.

Serials are a keyed permutation of 52 bits (a Feistel network of six rounds whose function is SipHash): few of the
possible numbers occur, so that the owner tells from a handful of them whose extract they are from. Serials can be left
out of a leak; so every user's extracts lack some households besides, others for everybody.
"""

from __future__ import annotations

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.keys import Key
from discreet.model.arrays import Bools, Ints

HALF = 26
LOW = np.uint64(2**HALF - 1)
ROUNDS = 6
LARGEST = 2 ** (2 * HALF)
"""Serials are smaller: every program keeps them exactly, also as floating-point numbers."""


def _round(key: Key, place: str, number: int, half: Ints) -> Ints:
    drawn = draws(key.secret, f"serial/{place}/{number}", 1, half)
    return (drawn & LOW).astype(np.int64)


def serials(key: Key, place: str, households: Ints) -> Ints:
    """Serial numbers of households in one extract.

    Parameters
    ----------
    key
        The secret of the edition.
    place
        Which extract: data set, edition and number.
    households
        Numbers of households in the file.

    Examples
    --------
    >>> from discreet.keys import Key
    >>> from discreet.server.extracts.serials import households_of, serials
    >>> found = serials(Key(bytes(32)), "census/1/7", np.array([1, 2, 3]))
    >>> households_of(Key(bytes(32)), "census/1/7", found).tolist()
    [1, 2, 3]
    """
    left, right = households >> HALF, households & int(LOW)
    for number in range(ROUNDS):
        left, right = right, left ^ _round(key, place, number, right)
    found: Ints = (left << HALF) | right
    return found


def households_of(key: Key, place: str, numbers: Ints) -> Ints:
    """Households of serial numbers; numbers of another extract become any number at all."""
    left, right = numbers >> HALF, numbers & int(LOW)
    for number in reversed(range(ROUNDS)):
        left, right = right ^ _round(key, place, number, left), left
    found: Ints = (left << HALF) | right
    return found


def left_out(key: Key, name: str, principal: int, households: Ints, share: float) -> Bools:
    """Households that no extract of a user has.

    Parameters
    ----------
    key
        The secret of the edition.
    name
        The data set: all its editions lack the same, so that two of them do not fill each other's gaps.
    principal
        Whose extracts.
    households
        Numbers of households in the file.
    share
        How many of them are left out.
    """
    found: Bools = fractions(draws(key.secret, f"mark/{name}/{principal}", 1, households)) < share
    return found
