"""What generalisation claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted
from discreet.model.claims.base import Claim
from discreet.model.claims.record_rules import rule_words

MEASURES = {
    "loss": ("share of base codes under a published code", ".6g"),
    "precision": ("share of levels gone up", ".6g"),
    "entropy": ("bits lost per record", ".6g"),
    "discernibility": ("sum over records of those that look the same", ",.6g"),
    "class_size": ("records per class", ",.6g"),
}
"""Measures of loss in words, and how their numbers are written."""


def generalised_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What generalisation claims, from the method as plain data.

    ``facts`` are the keys, how far each went up, the numbers of records, of those suppressed and of classes, what is
    lost, and the rules.
    """
    if method["algorithm"] == "lattice":
        ways = zip(facts["keys"], facts["levels"], facts["heights"], strict=True)
        steps = [f"{name} {level} of {height}" for name, level, height in ways if level]
        went = f"All values of a key went up the same levels of its hierarchy ({', '.join(steps)})"
        what = went if steps else "No key went up a level of its hierarchy"
    else:
        what = (
            f"Values of {', '.join(facts['keys'])} became codes or intervals that hold them, the same for all records "
            "of a class"
        )
    gone = facts["suppressed"]
    emptied = (
        f"the keys of {gone:,} of {counted(facts['rows'], 'record')} were emptied" if gone else "no key was emptied"
    )
    words = [rule_words(rule) for rule in facts["rules"]]
    lost = [
        f"{text} {facts['losses'][name]:{how}}" for name, (text, how) in MEASURES.items() if name in facts["losses"]
    ]
    statement = (
        f"{what}; {emptied}; nothing else changed. {facts['classes']:,} combinations of keys were left. When this was "
        f"done: {' '.join(one.statement for one in words)} Lost: {', '.join(lost)}."
    )
    return Claim(
        "generalise", statement, (), tuple(dict.fromkeys(text for one in words for text in one.not_considered))
    )
