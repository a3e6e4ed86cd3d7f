"""A given pattern is completed: first what it protects already, at no cost, then the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.model.arrays import Bools, Floats
from discreet.progress import onwards
from discreet.relations import System
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.certified import STRUCK, CertifiedPattern, certify
from discreet.tables.suppress.effort import EffortLimits
from discreet.tables.suppress.several import certify_often

LARGE = 5_000
"""In systems of more cells, patterns of engines are completed in one pass."""


def complete(
    system: System,
    cost: Floats,
    attackers: Attackers,
    limits: EffortLimits,
    within: CertifiedPattern | None = None,
    likely: Bools | None = None,
) -> CertifiedPattern:
    """A certified pattern that withholds whatever the given one does.

    Families are first looked for among the unsafe and the given cells alone, so that a pattern which is safe as it
    stands stays as it is; only cells without one may cost anything. Limits count for these. ``within`` is what
    :func:`within_given` found, where somebody asked already, and ``likely`` cells that a cheap pattern withholds.
    """
    if not (system.given & system.now & ~system.known).any():
        return certify_often(system, cost, attackers, limits, likely)
    within = within_given(system, cost, attackers) if within is None else within
    if not within.unprotected:
        return within
    found = certify(_only(system, within), cost, attackers, limits)
    counted = {name: number + within.effort.get(name, 0) for name, number in found.effort.items()}
    return CertifiedPattern(found.withheld, {**within.families, **found.families}, found.unprotected, counted)


def completed_at_once(system: System, cost: Floats, attackers: Attackers, limits: EffortLimits) -> CertifiedPattern:
    """A certified pattern that withholds whatever the given one does, in one pass; for large patterns of engines.

    Most of a large pattern's time goes into showing that cells have *no* certificate within it. Here each cell gets the
    first family that is found, in which given cells are free; what it pays for although something free lies further
    away is the price. Without limits the search is the plainest.
    """
    found = certify(system, cost, attackers, limits if limits.limited else EffortLimits(effort=0))
    return found if limits.limited else _unlimited(found)


def within_given(system: System, cost: Floats, attackers: Attackers) -> CertifiedPattern:
    """Certificates for the unsafe cells that the given pattern protects as it stands; nothing is withheld besides."""
    # A limit that strikes at once means the plainest search, which is enough where everything is free.
    with onwards("within the pattern: "):
        found = certify(system, cost, attackers, EffortLimits(effort=0), allowed=system.unsafe | system.given)
    return _unlimited(found)


def _unlimited(found: CertifiedPattern) -> CertifiedPattern:
    """A pattern without a word of a limit that nobody set."""
    return replace(found, effort={name: number for name, number in found.effort.items() if name not in STRUCK})


def _only(system: System, pattern: CertifiedPattern) -> System:
    """The system with the levels of those cells that a pattern left unprotected."""
    open_ = np.zeros(len(system), np.int64)
    open_[list(pattern.unprotected)] = 1
    return replace(
        system,
        lower_level=system.lower_level * open_,
        upper_level=system.upper_level * open_,
        sliding_level=system.sliding_level * open_,
    )
