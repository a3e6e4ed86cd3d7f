"""What a claim is, and the words that several families share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What a method says of its result, in words that a verdict can repeat."""

    method: str
    statement: str
    attackers: tuple[str, ...] = ()
    not_considered: tuple[str, ...] = ()
    together_with: tuple[str, ...] = ()


CONTRIBUTORS = "contributors and holdings who know their own contributions"
EARLIER = "what was published before or elsewhere"
OTHER_UNIVERSES = "differences between tables of different universes, periods or weights"
CYCLE = "that tables whose variables form a cycle stand on one table by all of these variables without negative cells"
EXTERNAL = "external: knows the publication, the relations and the bounds of each cell"
"""The attacker who is not in the data."""
INSECURE = "that the draws came from a seed and not from a secret key"
NO_LEVELS = "protection levels: cells may be known more closely than their level"
NOT_ADDITIVE = "that published sums differ from the sums of published values"
