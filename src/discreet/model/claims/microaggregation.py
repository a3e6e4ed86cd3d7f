"""What microaggregation claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted
from discreet.model.claims.base import Claim

MEMBERS = "members of a group, who know their own values and learn more of the others"
APART = (
    "readers who know several columns of a record: each column was grouped by itself, and all together tell it apart"
)


def microaggregated_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What microaggregation claims, from the method as plain data.

    ``facts`` are the columns, the decimals of each, whether each was grouped by itself, the strata, the number of
    groups, the sizes of the smallest and the largest, and the share of the variation that was lost.
    """
    columns = zip(facts["columns"], facts["decimals"], strict=True)
    named = ", ".join(f"{name} (to {counted(decimals, 'decimal')})" for name, decimals in columns)
    same = facts["smallest"] == facts["largest"]
    sizes = str(facts["smallest"]) if same else f"{facts['smallest']} to {facts['largest']}"
    which = "its group" if not facts["apart"] else "its group, which was made for each column by itself"
    within = f" Groups lie within {', '.join(facts['strata'])}." if facts["strata"] else ""
    statement = (
        f"Every value of {named} is the {method['location']} of {which}, rounded: {counted(facts['groups'], 'group')} "
        f"of {sizes} records each.{within} Empty fields stayed, and nothing else changed. "
        f"{100 * facts['loss']:.4g} % of the variation was lost."
    )
    return Claim("microaggregate", statement, (), (MEMBERS, APART) if facts["apart"] else (MEMBERS,))
