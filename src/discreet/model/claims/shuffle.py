"""What data shuffling claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import listed
from discreet.model.claims.base import INSECURE, Claim
from discreet.model.claims.noise import DRAWN

OTHER_DEPENDENCE = (
    "what columns say together beyond correlations: shuffled ones rise and fall with each other as before, and "
    "everything else that ties them together is gone"
)
LARGEST = "readers who know whose value of a column is the largest or the smallest: it is still there to see"
GIVEN = "readers who reckon values from {}: the release shows how they depend on them, which explains up to {:.1%}"


def shuffled_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What shuffling claims, from the method as plain data.

    ``facts`` are the columns, the strata, and the share of each column that the given ones explain.
    """
    within = f" within {', '.join(facts['strata'])}" if facts["strata"] else ""
    given = list(method["given"])
    what = "rank correlations" if method["scale"] == "rank" else "correlations"
    on = f", and on {listed(given)}," if given else ""
    beyond = " beyond these" if given else ""
    drawn = "of a Latin hypercube sample" if method["sample"] == "latin_hypercube" else "that were drawn"
    exactly = "are uncorrelated with the values before" if method["exact"] else "know nothing of the values before"
    statement = (
        f"Done as stated: values of {listed(facts['columns'])} changed places{within} in the order of numbers {drawn} "
        f"to depend on each other{on} by the {what} of the columns, and {exactly}{beyond}. Every value "
        "stands as often as before; empty fields stayed, and nothing else changed."
    )
    explained = (GIVEN.format(listed(given), max(facts["explained"])),) if given else ()
    insecure = (INSECURE,) if facts["insecure"] else ()
    return Claim("shuffle", statement, (), (DRAWN, *explained, OTHER_DEPENDENCE, LARGEST, *insecure))
