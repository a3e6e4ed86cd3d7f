"""What an engine hands over: a pattern, and what it could not do."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.relations import System


@dataclass(frozen=True, eq=False)
class Proposal:
    """A pattern that an engine proposes. It claims nothing: what the pattern is worth is for an audit to say.

    Parameters
    ----------
    withheld
        Cells of the system that are withheld, the unsafe and the given ones among them.
    unprotected
        Unsafe cells (or secondaries) that the engine itself knows it has not protected by its own standard.
    effort
        Counted work, by name.
    notes
        What the custodian should know, in words without confidential values.
    """

    withheld: Bools
    unprotected: Ints
    effort: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def starting_pattern(system: System) -> Bools:
    """Cells that nobody is told in any pattern: unsafe ones, given ones, and what earlier releases hide."""
    hidden: Bools = (system.unsafe | system.given | ~(system.now | system.empty)) & ~system.known
    return hidden


def candidates(system: System) -> Bools:
    """Cells that an engine may add: published now, neither empty, nor forced, nor known from before."""
    may: Bools = system.now & ~(starting_pattern(system) | system.forced | system.empty | system.known)
    return may


def singletons(system: System) -> Bools:
    """Withheld cells that one contributor fills alone."""
    result: Bools = starting_pattern(system) & (system.contributors == 1)
    return result


def numbers(mask: Bools) -> Ints:
    """Numbers of the cells that a mask marks."""
    return np.flatnonzero(mask).astype(np.int64)
