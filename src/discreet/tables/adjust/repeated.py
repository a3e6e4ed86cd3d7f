"""Readers who know an adjustment, the unsafe cells and the rule, and repeat it for every table that could be behind it.

Without a secret draw the same table always gives the same publication. Whoever finds one table alone that gives it has
the true one; somebody who finds two does not know which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Protocol

import numpy as np

from discreet.errors import NeedsError, ParameterError, ProtectionError
from discreet.model.arrays import Bools, Floats, Ints
from discreet.relations import System
from discreet.tables.adjust.moves import MoveLimits

ALONE = (
    "a reader who also knows the rule and repeats the adjustment is left with, no other table having been found that "
    "gives the same publication"
)
TOO_LARGE = (
    "nothing bounds the moves, and the table is too large to repeat the adjustment for all tables that could lie "
    "behind it; a reader who does may be left with the true one (randomised=True draws the moves)"
)
CELLS, UNSAFE = 200, 30
"""Tables of more cells or unsafe cells are not looked at."""
TRIES = 8
"""So many choices of directions are tried for another table; all of them for up to three unsafe cells."""
ROUNDS = 3
"""Weights and limits depend on the values: so many times a table is worked back from them."""


class Adjusting(Protocol):
    """An adjustment that can be repeated."""

    def moves(self, system: System, stretch: Floats | None = None) -> MoveLimits:
        """How far cells may and must move."""

    def moved(self, system: System, moves: MoveLimits) -> Ints:
        """Values after the best moves within limits."""


def left_alone(method: Adjusting, system: System, published: Ints) -> Bools | None:
    """Unsafe cells whose true value is the same in every table that was found to give the publication.

    ``None`` where the table is too large to look. Every other table that counts was adjusted anew and gave the same
    publication, so that nothing rests on how it was found.
    """
    unsafe = np.flatnonzero(system.unsafe)
    if len(system) > CELLS or len(unsafe) > UNSAFE:
        return None
    alone = system.unsafe.copy()
    up = published[unsafe] > system.value[unsafe]
    for directions in _choices(up):
        if not alone.any():
            break
        other = _behind(method, system, published, directions)
        if other is not None:
            alone &= other == system.value
    return alone


def _choices(true: Bools) -> Iterator[Bools]:
    """Directions to try: all the other way first, then all, or single cells the other way from both."""
    size = len(true)
    if not size:
        return
    yield ~true
    if 2**size <= TRIES:
        for chosen in product((False, True), repeat=size):
            found = np.array(chosen, np.bool_)
            if not (np.array_equal(found, true) or np.array_equal(found, ~true)):
                yield found
        return
    for number in range(TRIES - 1):
        found = (~true if number % 2 == 0 else true).copy()
        found[number // 2 % size] ^= True
        yield found


def _behind(method: Adjusting, system: System, published: Ints, directions: Bools) -> Ints | None:
    """A table whose adjustment in these directions gives the publication, where it is adjusted so by itself."""
    value = system.value
    try:
        for _ in range(ROUNDS):
            mine = _with_values(system, value)
            move = method.moved(mine, _forced(method.moves(mine), directions)) - value
            before, value = value, published - move
            if np.array_equal(before, value):
                break
        if np.any(value < system.lower_bound) or np.any(value > system.upper_bound):
            return None
        mine = _with_values(system, value)
        again = method.moved(mine, method.moves(mine))
    except (NeedsError, ParameterError, ProtectionError):  # nobody could have published that table so
        return None
    return value if np.array_equal(again, published) else None


def _with_values(system: System, value: Ints) -> System:
    """The system with other values, and levels that are the same shares of them, as those of rules in per cent are."""
    size, other = np.abs(system.value).astype(object), np.abs(value).astype(object)
    known = np.flatnonzero(system.unsafe & (system.value != 0))
    changed = {}
    for name in ("lower_level", "upper_level", "sliding_level"):
        level = getattr(system, name).copy()
        # Rounded up, as rules do.
        level[known] = -(-level[known].astype(object) * other[known] // size[known])
        changed[name] = level
    return replace(system, value=value, **changed)


def _forced(moves: MoveLimits, directions: Bools) -> MoveLimits:
    """The same limits with every unsafe cell moving one way only."""
    most_up, most_down = moves.most_up.copy(), moves.most_down.copy()
    most_up[moves.unsafe[~directions]] = 0.0
    most_down[moves.unsafe[directions]] = 0.0
    return replace(moves, most_up=most_up, most_down=most_down)
