"""Proofs that unsafe cells keep their levels where every true value is hidden behind an altered one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.evidence import Certificates, Proofs
from discreet.relations import System
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.certified import Limits, certify
from discreet.tables.suppress.proof import certificates_and_proofs


def prove_levels(system: System, lower: Ints, upper: Ints) -> tuple[Certificates, Proofs, list[int]]:
    """Certificates for all unsafe cells of which an attacker knows these bounds; and the cells that got none."""
    nobody = np.zeros(len(system), np.bool_)
    hidden = replace(system, given=~system.empty, forced=nobody)
    attackers = Attackers(hidden, None, None)
    attackers.lower, attackers.upper = np.maximum(attackers.lower, lower), np.minimum(attackers.upper, upper)
    attackers.base = np.minimum(attackers.lower, 0)
    pattern = certify(hidden, np.zeros(len(system)), attackers, Limits())
    certificates, proofs = certificates_and_proofs(system, pattern.families)
    return certificates, proofs, sorted(pattern.unprotected)
