"""The method ``Suppress``: withhold unsafe cells and as many others as it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from discreet.errors import ParameterError, unknown_name
from discreet.model.evidence import OTHER_UNIVERSES, SUPPRESS, Evidence
from discreet.relations import System
from discreet.tables.method import Method, Outcome
from discreet.tables.suppress.certified import certify

COSTS = ("value", "count", "unity", "log", "variable")


@dataclass(frozen=True)
class Suppress(Method):
    """Withhold the unsafe cells, and others so that no unsafe cell can be worked out within its level.

    Every unsafe cell and direction gets an exact alternative table over all relations of all tables, in which it
    lies at its protection level; the cells that change there are withheld. The alternatives go into the evidence.

    Parameters
    ----------
    cost
        What withholding a cell costs: ``"value"``, ``"count"`` (contributors), ``"unity"``, ``"log"`` of the
        value, or ``"variable"`` (the table's cost column).
    algorithm
        ``"certified"``.

    Examples
    --------
    >>> Suppress(cost="unity").record()
    {'method': 'suppress', 'cost': 'unity', 'algorithm': 'certified'}
    """

    kind: ClassVar[str] = "suppress"
    cost: str = "value"
    algorithm: Literal["certified"] = "certified"

    def __post_init__(self) -> None:
        if self.cost not in COSTS:
            raise ParameterError(unknown_name("cost", str(self.cost), COSTS))
        if self.algorithm != "certified":
            raise ParameterError(unknown_name("algorithm", str(self.algorithm), ("certified",)))

    def run(self, system: System) -> Outcome:
        withheld, certificates, proofs, effort = certify(system, system.cost(self.cost))
        claim = SUPPRESS
        if len({table.spec.identity[1:] for table in system.tables}) > 1:
            claim = replace(claim, not_considered=(OTHER_UNIVERSES, *claim.not_considered))
        return Outcome(withheld, Evidence(self.record(), claim, system.decimals, certificates, proofs, effort))
