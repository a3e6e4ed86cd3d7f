"""What microaggregation claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted
from discreet.model.claims.base import Claim

MEMBERS = "members of a group, who know their own values and learn more of the others"
PAIRS = "members of a group of two, who know their own values, and so the other one's"
APART = (
    "readers who know several columns of a record: each column was grouped by itself, and all together tell it apart"
)
BEST = 1 + 1e-6
"""Groups are called the best when they lie no further from the bound than this."""


def microaggregated_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What microaggregation claims, from the method as plain data.

    ``facts`` are the columns, the decimals of each, whether each was grouped by itself, the strata, the column of
    weights, the number of groups, the sizes of the smallest and the largest, the largest distance within one, and the
    shares of the variation that were lost; where there is one, what any groups of two and three lose at least.
    """
    columns = zip(facts["columns"], facts["decimals"], strict=True)
    named = ", ".join(f"{name} (to {counted(decimals, 'decimal')})" for name, decimals in columns)
    same = facts["smallest"] == facts["largest"]
    sizes = str(facts["smallest"]) if same else f"{facts['smallest']} to {facts['largest']}"
    which = "its group" if not facts["apart"] else "its group, which was made for each column by itself"
    within = f" Groups lie within {', '.join(facts['strata'])}." if facts["strata"] else ""
    statement = (
        f"Every value of {named} is the {location_words(method, facts)} of {which}, rounded: "
        f"{counted(facts['groups'], 'group')} of {sizes} records each.{within} Empty fields stayed, and nothing else "
        f"changed. {100 * facts['loss']:.4g} % of the variation was lost{_by_column(facts)}. Members of a group lie at "
        f"most {facts['widest']:.4g} standard deviations apart.{_bound_words(facts)}"
    )
    others = (MEMBERS, *([PAIRS] if facts["smallest"] == 2 else []), *([APART] if facts["apart"] else []))
    return Claim("microaggregate", statement, (), others)


def location_words(method: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """What stands for a group, in words."""
    if facts["weight"]:
        return f"mean (by {facts['weight']})"
    cut = method["cut"]
    return {
        "mean": "mean",
        "median": "median",
        "trimmed": f"trimmed mean ({method['trim']:g} at each end)",
        "one_step": f"one-step mean (clipped at {3 if cut is None else cut:g} median deviations)",
        "m_estimate": f"M-estimate (of Huber, {2 if cut is None else cut:g} median deviations)",
    }[str(method["location"])]


def _by_column(facts: Mapping[str, Any]) -> str:
    if len(facts["columns"]) == 1:
        return ""
    lost = zip(facts["columns"], facts["losses"], strict=False)  # the checker counts them
    return f" ({', '.join(f'{name} {100 * share:.3g} %' for name, share in lost)})"


def _bound_words(facts: Mapping[str, Any]) -> str:
    """How good the groups are, where there is a bound."""
    if "bound" not in facts:
        return ""
    within, bound = facts["within"], facts["bound"]
    if within <= BEST * bound:
        return " No groups of two and three records have a smaller sum of squares."
    return f" No groups of two and three records have less than {100 * bound / within:.6g} % of their sum of squares."
