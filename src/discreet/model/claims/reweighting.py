"""What weights claim that were computed anew for published values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import EARLIER, Claim

KNOWN_DESIGN = (
    "readers who know the sampling design and the old weight of a record: that a published stratum, cluster or size is "
    "another one than its own, they see"
)
FACTORS = (
    "readers who know how weights were adjusted (non-response, calibration): every record keeps its own adjustment, by "
    "which it may be found again"
)
OTHER_COLUMNS = "columns that say of a record what its weight said, unless they are multiples of the old weights"
LOST_POPULATION = "{} of the population: no record is published for {} group{} of it, and the others stand for them"
VARIANCES = "standard errors by formulas that take the published design for the one that was sampled by"


def reweighted_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What new weights claim, from the method as plain data.

    ``facts`` are the column, the groups and those without a record, and the sums of weights before and after.
    """
    column = facts["weight"]
    if method["size"] is not None:
        how = (
            f"each is the total size ({facts['total']:.12g}) by the number of records times the published "
            f"{method['size']!r}"
        )
    elif method["how"] == "copy":
        how = f"each is the old weight of the records whose {listed(method['by'])} was what is published of this one"
    else:
        shared = "in proportion to its adjustment" if method["factors"] == "keep" else "by the number of its records"
        how = f"the population of every group by the published {listed(method['by'])} is shared among its records, "
        how += "equally" if method["factors"] != "keep" else shared
    words = [f"Done as stated: weights in {column!r} were computed anew for the published values; {how}."]
    words.append(f"They add up to {facts['after']:.9g}, the old ones to {facts['before']:.9g}.")
    if facts["few"]:
        words.append(f"Fewer than two records are published for {counted(facts['few'], 'group')}.")
    words.append("Nothing else changed.")
    left_out = [EARLIER, KNOWN_DESIGN, OTHER_COLUMNS, VARIANCES]
    left_out += [FACTORS] if method["factors"] == "keep" else []
    if facts["empty"]:
        share, many = f"{facts['lost']:.3%}", facts["empty"]
        left_out.append(LOST_POPULATION.format(share, many, "" if many == 1 else "s"))
    return Claim("reweight", " ".join(words), (), tuple(left_out))
