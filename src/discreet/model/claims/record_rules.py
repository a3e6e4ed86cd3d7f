"""What rules for records say of a public file, in words, and what they leave open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from discreet.errors import listed
from discreet.model.claims.records import combined_keys

MEANINGS = {
    "category": "an empty field is a value of its own",
    "any": "an empty field agrees with every value",
    "exempt": "records are not judged by combinations in which they are empty",
}
"""What an empty field means to a rule."""
OPEN_MEANINGS = {
    "any": (
        "rows of the public file that occur less often as they stand: an empty field was counted as every value, and "
        "two records with nothing in them agree with everybody"
    ),
    "exempt": "records with an empty field: the rule does not judge them, though one may fit a single person",
}
"""What a rule leaves open where an empty field is not a value of its own."""


class RuleWords(NamedTuple):
    """What a rule says of a public file where it holds, and what it leaves open."""

    statement: str
    not_considered: tuple[str, ...] = ()


def rule_words(rule: Mapping[str, Any]) -> RuleWords:
    """A rule for records in words, from plain data."""
    return WORDS[str(rule["kind"])](rule)


def anonymity_words(rule: Mapping[str, Any]) -> RuleWords:
    """What k-anonymity says."""
    unit, meaning = "times", str(rule["missing"])
    left_out: tuple[str, ...] = ()
    if rule.get("household"):
        unit = f"times in different households ({rule['household']})"
    elif rule.get("weight"):
        unit = f"times by the weights ({rule['weight']})"
        left_out = ("readers who know who is in the sample: weights count those who are not",)
    tables = rule.get("combinations") or ()
    if tables:
        parts = [f"{', '.join(table['keys'])} ({table['k']})" for table in tables]
        what = (
            f"Every combination of values that occurs in the public file occurs at least so many {unit} as stated "
            f"beside its columns: {listed(parts, 20)}"
        )
    else:
        known = combined_keys(rule["keys"], rule.get("size"))
        known = f"{known}, or fewer of them," if meaning == "exempt" and "size" in rule else known
        what = (
            f"Every combination of values of {known} that occurs in the public file occurs at least {rule['k']} {unit}"
        )
    if meaning in OPEN_MEANINGS:
        left_out = (*left_out, OPEN_MEANINGS[meaning])
    return RuleWords(f"{what}; {MEANINGS[meaning]}.", left_out)


WORDS = {"k_anonymity": anonymity_words}
"""For every rule for records what says it in words."""
