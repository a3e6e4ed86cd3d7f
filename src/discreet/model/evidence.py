"""What a release claims, and the proof it carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Ints


@dataclass(frozen=True)
class Claim:
    """What a method says of its result, in words that a verdict can repeat."""

    method: str
    statement: str
    attackers: tuple[str, ...] = ()
    not_considered: tuple[str, ...] = ()


EXTERNAL = "external: knows the publication, the relations and the bounds of each cell"
"""The attacker who is not in the data."""
CONTRIBUTORS = "contributors and holdings who know their own contributions"
EARLIER = "what was published before or elsewhere"
OTHER_UNIVERSES = "differences between tables of different universes, periods or weights"
SUPPRESS = Claim(
    method="suppress",
    statement="Every unsafe cell keeps its protection level over the relations of all tables together.",
    attackers=(EXTERNAL,),
    not_considered=(EARLIER, CONTRIBUTORS),
)
"""What suppression may claim; a release that claims anything else is refused."""


@dataclass(frozen=True, eq=False)
class Certificates:
    """Alternative tables: changes of withheld cells that nobody outside can rule out.

    Certificate ``c`` changes the cells ``entry_table[i], entry_row[i]`` by ``amount[i] / denominator[c]`` units
    for ``i`` in ``start[c] .. start[c + 1]``. Amounts are exact integers (Python integers where 64 bits do not
    suffice).
    """

    start: Ints
    denominator: NDArray[Any]
    entry_table: Ints
    entry_row: Ints
    amount: NDArray[Any]

    def __len__(self) -> int:
        return len(self.denominator)

    @classmethod
    def none(cls) -> Certificates:
        """No certificates."""
        empty = np.zeros(0, np.int64)
        return cls(np.zeros(1, np.int64), empty, empty, empty, empty)


@dataclass(frozen=True, eq=False)
class Proofs:
    """For every unsafe cell the certificates that show its upper and lower level; -1 where none is needed."""

    table: Ints
    row: Ints
    up: Ints
    down: Ints

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True, eq=False)
class Evidence:
    """One method's claim with its proof."""

    method: Mapping[str, Any]
    claim: Claim
    decimals: int
    certificates: Certificates
    proofs: Proofs
    effort: Mapping[str, int] = field(default_factory=dict)
