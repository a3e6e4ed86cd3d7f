"""Patterns that one of the field's engines proposes: what they are worth, and how far certificates go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import ProtectionError, counted
from discreet.model.arrays import Bools, Floats
from discreet.relations import System
from discreet.tables.engines import propose
from discreet.tables.engines.proposal import Proposal
from discreet.tables.engines.standards import Standards, standards
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.certified import CertifiedPattern
from discreet.tables.suppress.classes import Failure
from discreet.tables.suppress.complete import LARGE, complete, completed_at_once, within_given
from discreet.tables.suppress.effort import EffortLimits


class Proposed(NamedTuple):
    """An engine's pattern, certified as far as it goes or completed, and what an audit found of it as it stood.

    ``within`` is how many unsafe cells have certificates in it as it stood; a large pattern that is to be completed is
    not attacked.
    """

    algorithm: str
    pattern: CertifiedPattern
    proposal: Proposal
    found: Standards | None
    within: int

    def sentence(self) -> str:
        """What is known of the engine's own pattern, in numbers without names."""
        if self.found is not None:
            return self.found.sentence()
        return (
            f"in which {counted(self.within, 'unsafe cell')} have certificates as it stood; it was completed at once "
            f"and not attacked, because the system has more than {LARGE:,} cells"
        )

    def findings(self, system: System) -> tuple[str, ...]:
        """What the evidence says of the engine's own pattern."""
        said = [f"the pattern of algorithm {self.algorithm!r}, {self.sentence()}"]
        added = int((self.pattern.withheld & ~self.proposal.withheld & system.now & ~system.unsafe).sum())
        if added:
            said.append(f"it was completed to a certified pattern by {added} further cells")
        return tuple(said)

    def notes(self) -> tuple[str, ...]:
        """What the custodian should know of the engine's own pattern, with the names of cells."""
        said = (*self.proposal.notes, *(() if self.found is None else self.found.names()))
        return tuple(f"{self.algorithm}, before anything was completed: {text}" for text in said)

    def left_open(self, failures: Sequence[Failure]) -> list[Failure]:
        """Cells that more secondaries may protect are left open by the pattern, which says how to go on."""
        return [
            f._replace(reason=f"in the pattern of algorithm {self.algorithm!r} {f.reason}", way_out="use repair=True")
            if f.kind == "undecided"
            else f
            for f in failures
        ]

    def short_error(self, error: ProtectionError) -> ProtectionError:
        """Nothing is published while the engine's pattern leaves cells open that nobody accepts."""
        return ProtectionError(
            f"The pattern of algorithm {self.algorithm!r} is not certified ({self.sentence()}). {error.message}",
            hint="Nothing is published. Use repair=True, which completes the pattern to a certified one; or accept the "
            "cells (accept=, by name or as the class 'undecided'), which stays in the evidence and in every verdict.",
            details=error.details,
        )


def propose_pattern(
    system: System,
    cost: Floats,
    attackers: Attackers,
    algorithm: str,
    settings: Mapping[str, Any],
    *,
    limits: EffortLimits,
    repair: bool,
) -> Proposed:
    """Let an engine propose a pattern, audit it over all relations, and look for certificates.

    Without ``repair`` nothing is withheld besides, and unsafe cells without a certificate are left unprotected.
    """
    known = replace(system, lower_bound=attackers.lower, upper_bound=attackers.upper)
    proposal = propose(algorithm, known, cost, **settings)
    given = replace(system, given=(system.given | proposal.withheld) & ~system.unsafe)
    if repair and len(system) > LARGE:
        pattern, found = completed_at_once(given, cost, attackers, limits), None
        within = int(_within(pattern, proposal).sum())
    else:
        certified = within_given(given, cost, attackers)
        proved = _within(certified, proposal)
        full, known_too = attackers.insiders == "full", attackers.insiders is not None
        found = standards(known, proposal.withheld, levels=full, proved=proved, insiders_too=known_too)
        pattern = complete(given, cost, attackers, limits, certified) if repair else certified
        within = int(proved.sum())
    counts = {f"{algorithm}_{name}": number for name, number in proposal.effort.items()}
    done = replace(pattern, effort={**pattern.effort, **counts})
    return Proposed(algorithm, done, proposal, found, within)


def _within(pattern: CertifiedPattern, proposal: Proposal) -> Bools:
    """Cells with certificates that move nothing but what an engine withholds."""
    result = np.zeros(len(proposal.withheld), np.bool_)
    for target, family in pattern.families.items():
        result[target] = all(bool(proposal.withheld[member.alternative.cells].all()) for member in family)
    return result
