"""What local suppression claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import Claim
from discreet.model.claims.record_rules import MEANINGS, OPEN_MEANINGS
from discreet.model.claims.records import combined_keys

WEIGHTS_KNOWN = "readers who know who is in the sample: the risk counts on their not knowing it"


def blanked_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What local suppression claims, from the method as plain data.

    ``facts`` are the keys and strata, the number of fields of each key that were emptied, the numbers of records, what
    it cost, and what it must cost at least (0 where that is not known, or nothing had to be done).
    """
    emptied = [f"{number:,} of {name}" for name, number in zip(facts["keys"], facts["blanks"], strict=True) if number]
    what = (
        f"Fields were emptied in {facts['records']:,} of {counted(facts['rows'], 'record')} ({', '.join(emptied)})"
        if emptied
        else "No field had to be emptied"
    )
    within = f" within {listed(facts['strata'])}" if facts["strata"] else ""
    left_out = (OPEN_MEANINGS[method["missing"]],) if method["missing"] in OPEN_MEANINGS else ()
    if method["risk"] is not None:
        rule = _risk_words(method, facts, within)
        left_out = (*left_out, WEIGHTS_KNOWN)
    else:
        rule = f"{_combination_words(method, facts)}{within}"
    return Claim(
        "local_suppress",
        f"{what}{_along(method, facts)}, and nothing else changed. {rule}; {MEANINGS[method['missing']]}."
        f"{_price_words(method, facts)}",
        (),
        left_out,
    )


def _along(method: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """What was emptied together with what."""
    related: Mapping[str, Sequence[str]] = method.get("together", {})
    besides = [name for others in related.values() for name in others if name not in facts["keys"]]
    words = [f"{', '.join(others)} wherever {one} was" for one, others in related.items()]
    words += [f"{name} for all members of a household" for name in method.get("of_household", [])]
    if not words:
        return ""
    counts = zip(dict.fromkeys(besides), facts.get("together", []), strict=False)
    further = [f"{number:,} of {name}" for name, number in counts if number]
    return f", {'; '.join(words)}" + (f" (besides keys: {', '.join(further)})" if further else "")


def _combination_words(method: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    if method["combinations"]:
        parts = [f"{', '.join(table['keys'])} ({table['k']})" for table in method["combinations"]]
        return f"Every combination of values then occurred at least so many times as stated: {listed(parts, 20)}"
    known = combined_keys(facts["keys"], method["size"])
    fewer = ", or fewer of them," if method["missing"] == "exempt" and method["size"] is not None else ""
    return f"Every combination of values of {known}{fewer} then occurred at least {method['k']} times"


def _risk_words(method: Mapping[str, Any], facts: Mapping[str, Any], within: str) -> str:
    company = f"; {facts['company']:,} others keep them company" if facts["company"] else ""
    return (
        f"Only records with an individual risk above {method['risk']:g} lost fields: {facts['unsafe']:,} had "
        f"one{company}. By {listed(facts['keys'])} and the weights ({facts['weight']}){within}, no record then "
        f"had a risk above {method['risk']:g}"
    )


def _price_words(method: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    price = "fields" if not method["importance"] else "units of importance"
    if method["cost"] == "entropy":
        price = "bits" if not method["importance"] else "bits times importance"
    if method["weight"] is not None:
        price = f"{price} times weight"
    if not facts["cost"]:
        return ""
    if not facts["least"]:
        return f" It cost {facts['cost']:,.6g} {price}; what it costs at least is not known."
    if method["missing"] == "any":
        return (
            f" Whoever reaches this empties at least {facts['least']:,.6g} {price}: no more can be said, because a few "
            f"records that are empty throughout may serve all others; here it was {facts['cost']:,.6g}."
        )
    return f" Whoever reaches this empties at least {facts['least']:,.6g} {price}; here it was {facts['cost']:,.6g}."
