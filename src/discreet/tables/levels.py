"""Proofs that unsafe cells keep their levels where every true value is hidden behind an altered one."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.model.evidence import Certificates, Proofs
from discreet.relations import System
from discreet.relations.whole_counts import InWholeCounts, in_whole_counts
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.certified import certify
from discreet.tables.suppress.effort import EffortLimits
from discreet.tables.suppress.proof import certificates_and_proofs


def prove_levels(system: System, lower: Ints, upper: Ints) -> tuple[Certificates, Proofs, list[int]]:
    """Certificates for all unsafe cells of which an attacker knows these bounds; and the cells that got none."""
    nobody = np.zeros(len(system), np.bool_)
    hidden, whole, unit = _bounded(replace(system, given=~system.empty, forced=nobody), lower, upper)
    pattern = certify(hidden, np.zeros(len(system)), Attackers(hidden, None, None, whole), EffortLimits())
    certificates, proofs = certificates_and_proofs(system, pattern.families, unit)
    return certificates, proofs, sorted(pattern.unprotected)


def _bounded(system: System, lower: Ints, upper: Ints) -> InWholeCounts:
    """The system with what an attacker knows of its cells besides, counts in whole numbers."""
    low, high = np.maximum(system.lower_bound, lower), np.minimum(system.upper_bound, upper)
    return in_whole_counts(replace(system, lower_bound=low, upper_bound=high))


class LevelProofs(NamedTuple):
    """Proofs of levels, the cells that got none, and how far each cell must be able to fall and rise for them."""

    certificates: Certificates
    proofs: Proofs
    left: list[int]
    fall: Ints
    rise: Ints


def room_for_levels(system: System, hidden: Bools, lower: Ints, upper: Ints) -> LevelProofs:
    """Proofs in which hidden cells move for free and as few others as it takes, by value, all within bounds."""
    free, whole, unit = _bounded(replace(system, given=hidden & ~system.empty), lower, upper)
    pattern = certify(free, system.cost("value") + 1.0, Attackers(free, None, None, whole), EffortLimits())
    certificates, proofs = certificates_and_proofs(system, pattern.families, unit)
    fall, rise = np.zeros(len(system), np.int64), np.zeros(len(system), np.int64)
    for family in pattern.families.values():
        for member in family:
            cells, times = member.alternative.cells, member.alternative.denominator
            # A certificate that is taken the other way must be possible both ways.
            for sign in {1, member.sign}:
                amount = member.alternative.amount * unit[cells] * sign
                np.maximum.at(rise, cells, np.maximum(-(-amount // times), 0).astype(np.int64))
                np.maximum.at(fall, cells, np.maximum(-(amount // times), 0).astype(np.int64))
    return LevelProofs(certificates, proofs, sorted(pattern.unprotected), fall, rise)
