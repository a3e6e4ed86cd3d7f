"""What synthesis claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import INSECURE, Claim

NOT_SAFE = (
    "how much synthetic records tell of real ones: models may follow single records closely, and nothing is proved of "
    "that"
)
RARE_CODES = "codes that few records have: they may be released, and show that somebody has them"
KEPT = (
    "readers who find somebody by {}, which stayed: synthesised values of that record were drawn for a record like it"
)
RULES_OF_FEW = (
    "rules of {}, which may give what fewer than {} {} have: whoever knows that somebody is under one knows the value"
)
WEIGHTS = "that weights stayed as they were, and who stands for how many may be known"
HOLDERS = {"record": "records", "household": "households", "contributor": "contributors"}
"""Whose values are counted."""
HOMES = "that households have as many members as before"


def synthesis_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What synthesis claims, from the method as plain data.

    ``facts`` are the columns in their order, what was found of each, those that stayed, strata and households, and in
    how many records nothing changed.
    """
    models = listed([f"{one['column']} ({one['model']})" for one in facts["models"]])
    within = f" within {', '.join(facts['strata'])}" if facts["strata"] else ""
    given = f", beginning with {listed(facts['given'])}" if facts["given"] else ""
    homes = f" {listed(facts['households'])} drawn once for each household." if facts["households"] else ""
    again = ", of records drawn with replacement" if method["proper"] else ""
    statement = (
        f"Done as stated: in {counted(facts['rows'], 'record')}, {models} were drawn{within}, one after the other, "
        f"each from a model by those before it{given}{again} (copy {method['copy']}).{homes} Codes and gaps are some "
        f"that the column has{within}.{_numbers(method, facts)}{_rules(method)} All of these are as before in "
        f"{counted(facts['same'], 'record')}. Nothing else changed."
    )
    codes = [one for one in facts["models"] if one["kind"] == "codes"]
    left_out = [NOT_SAFE, *([RARE_CODES] if codes else []), *_chance(method, facts)]
    if facts["given"]:
        left_out.append(KEPT.format(listed(facts["given"])))
    if method["rules_of_few"]:
        named = listed(method["rules_of_few"])
        left_out.append(RULES_OF_FEW.format(named, method["min_leaf"], HOLDERS[facts["holder"]]))
    left_out += [words for flag, words in ((facts["weighted"], WEIGHTS), (facts["homes"], HOMES)) if flag]
    return Claim("synthesise", statement, (), (*left_out, *((INSECURE,) if facts["insecure"] else ())))


def _numbers(method: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """What holds of columns of numbers."""
    numbers = [one["column"] for one in facts["models"] if one["kind"] == "numbers"]
    if not numbers:
        return ""
    least, holders = method["min_leaf"], HOLDERS[facts["holder"]]
    fine = [one["column"] for one in facts["models"] if one["kind"] == "numbers" and one["fine"]]
    none = f" No value of {listed(fine)} is released that fewer than {least} {holders} have" if fine else ""
    if fine:
        none += ", but for values of rules." if any(_gives_values(method, name) for name in fine) else "."
    return (
        f" Numbers of {listed(numbers)} were drawn around values of records, and the {least} largest and smallest "
        f"values cut off.{none}"
    )


def _gives_values(method: Mapping[str, Any], name: str) -> bool:
    """Whether a rule gives a column anything but an empty field."""
    return any(value not in (None, "") for value in method["rules"].get(name, {}).values())


def _chance(method: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """Columns without room between values, and how many released ones are also those of few records."""
    return [
        f"that {counted(one['met'], 'released value')} of {one['column']} {'is' if one['met'] == 1 else 'are'} also "
        f"one that fewer than {method['min_leaf']} {HOLDERS[facts['holder']]} have, by chance: the column has no room "
        "between its values"
        for one in facts["models"]
        if one["kind"] == "numbers" and not one["fine"]
    ]


def _rules(method: Mapping[str, Any]) -> str:
    if not method["rules"]:
        return ""
    said = [
        f"{name} is {'empty' if value in (None, '') else value} where {text}"
        for name, lines in method["rules"].items()
        for text, value in lines.items()
    ]
    return f" Rules hold: {'; '.join(said)}."
