"""What random rounding of records claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import listed
from discreet.model.claims.base import INSECURE, NOT_ADDITIVE, Claim
from discreet.model.claims.noise import DRAWN

WITHIN_A_BASE = "readers who know the bases: every value lies less than one base from the published one"
NO_IDENTIFIER = (
    "readers of several releases of these records: without an identifier, a release with other columns draws anew, and "
    "the mean of many comes near to the true values"
)
OTHER_BASES = "readers of another release of the same values with other bases, or of another version of the draws"


def randomly_rounded_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What random rounding claims, from the method as plain data.

    ``facts`` are the columns, whether records have an identifier, and whether the draws came from a seed.
    """
    own = method["bases_of"]
    plain = [name for name in facts["columns"] if name not in own]
    said = [f"{listed(plain)} ({bases_words(method['bases'])})"] if plain else []
    said += [f"{name!r} ({bases_words(own[name])})" for name in facts["columns"] if name in own]
    sums = "; ".join(f"{total!r} is the sum of {listed(parts)}" for total, parts in method["totals"].items())
    statement = (
        f"Done as stated: every value of {', '.join(said)} became one of the two multiples of its base next to it, the "
        "nearer one with the greater chance, so that its expectation stayed. Multiples, empty fields and codes stayed."
        f"{f' Added up anew: {sums}.' if sums else ''} Nothing else changed."
    )
    left_out = [DRAWN, WITHIN_A_BASE, OTHER_BASES, *(() if sums else (NOT_ADDITIVE,))]
    left_out += [] if facts["identified"] else [NO_IDENTIFIER]
    left_out += [INSECURE] if facts["insecure"] else []
    return Claim("round_randomly", statement, (), tuple(left_out))


def bases_words(bases: Sequence[Sequence[float]]) -> str:
    """Bases in words, the largest first.

    Examples
    --------
    >>> bases_words([(1000, 100), (0, 10)]), bases_words([(0, 5)])
    ('base 100 from 1,000 on, base 10 below', 'base 5')
    """
    if len(bases) == 1:
        return f"base {bases[0][1]:,.15g}"
    above = [f"base {base:,.15g} from {threshold:,.15g} on" for threshold, base in bases[:-1]]
    return f"{', '.join(above)}, base {bases[-1][1]:,.15g} below"
