"""What rank swapping claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import listed
from discreet.model.claims.base import INSECURE, Claim
from discreet.model.claims.noise import DRAWN

BOUNDS = (
    "readers who are told how far ranks were exchanged: a value lay within so many ranks of the published one, which "
    "says much of values that lie close together (discreet.attack.rank_bounds says how much)"
)


def rank_swapped_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What rank swapping claims, from the method as plain data.

    ``facts`` are the columns, how far apart ranks were at most, how many records kept their value in each column, and
    the strata.
    """
    how = "together, in the order of the first" if method["joint"] else "each by itself"
    within = f" within {', '.join(facts['strata'])}" if facts["strata"] else ""
    statement = (
        f"Done as stated: records exchanged their values of {listed(facts['columns'])} in pairs, {how}{within}, "
        f"whose ranks were at most {method['share']:.4%} of the records apart. Every value stands as often as before; "
        "empty fields stayed, and nothing else changed."
    )
    return Claim("rank_swap", statement, (), (DRAWN, BOUNDS, *((INSECURE,) if facts["insecure"] else ())))
