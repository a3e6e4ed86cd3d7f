"""What bounded simulation of single records claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import listed
from discreet.model.claims.base import INSECURE, Claim
from discreet.model.claims.noise import DRAWN
from discreet.model.claims.random_rounding import NO_IDENTIFIER

NEAR = "readers who know that a record was altered: its values lie near to the published ones"
RELATIONS = (
    "relations that hold in all records but the altered ones (sums, ratios, equal columns, limits), unless totals= "
    "names them: they would tell which were altered"
)
NO_CAMOUFLAGE = "readers who take unusual records for altered ones: no others were altered beside them"


def redrawn_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What bounded simulation claims, from the method as plain data; it says of no record that it was altered.

    ``facts`` are the columns, the strata, whether records have an identifier, and whether the draws came from a seed.
    How many records were altered, and within what bounds, stays with the custodian.
    """
    within = f" within {', '.join(facts['strata'])}" if facts["strata"] else ""
    given = [*(name for name in facts["columns"]), *method["predictors"]]
    sums = "; ".join(f"{total!r} is the sum of {listed(parts)}" for total, parts in method["totals"].items())
    statement = (
        f"Done as stated: in some records, values of {listed(facts['columns'])} were drawn anew, one column after the "
        f"other, from models of each by the others ({listed(given)}){within}, and lie within secret bounds of what "
        "they were. Each is as round a number as it was, as far as the bounds allow. Zeros, empty fields and codes "
        f"stayed.{f' Added up anew: {sums}.' if sums else ''} All other records are as they were."
    )
    left_out = [DRAWN, NEAR, RELATIONS]
    left_out += [] if method["camouflage"] else [NO_CAMOUFLAGE]
    left_out += [] if facts["identified"] else [NO_IDENTIFIER]
    left_out += [INSECURE] if facts["insecure"] else []
    return Claim("redraw", statement, (), tuple(left_out))
