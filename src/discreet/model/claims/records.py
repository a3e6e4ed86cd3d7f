"""What methods for records claim, and what a release of records leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import Claim

UNKNOWN_STAYS = 'codes that stand for "unknown" stayed, and nothing else in it changed'
NO_RULE = "who can be recognised: no rule says which records are unsafe"
KEYS_ONLY = "readers who know of a person more than the keys"
OTHER_FILES = "what readers find by comparing the file with others, or with an earlier release of the same records"
HOUSEHOLDS = "readers who recognise a household by its members, whose records stand together"
ATTRIBUTES = "what readers learn of everybody in a group whose members all have the same sensitive value"


def record_claim(kind: str, statement: str) -> Claim:
    """What a method for records claims: that it was done as stated, never that the records are safe."""
    return Claim(kind, statement)


def release_left_out(rules: bool, *, sensitive: bool, households: bool) -> tuple[str, ...]:
    """What a release of records does not consider."""
    if not rules:
        return (NO_RULE, OTHER_FILES)
    attributes = (ATTRIBUTES,) if sensitive else ()
    return (KEYS_ONLY, *attributes, *((HOUSEHOLDS,) if households else ()), OTHER_FILES)


def recoded_statement(method: Mapping[str, Any]) -> str:
    """What a recoding did, from the method as plain data."""
    column = method["column"]
    if method["map"] is not None:
        how = f"{counted(len(method['map']), 'code', 'have')} new codes by a stated map"
    elif method["level"] is not None:
        how = f"codes below level {method['level']} of its hierarchy became the codes above them at that level"
    elif method["intervals"]:
        how = f"numbers became intervals that begin at {listed(method['intervals'], 6)}"
    else:
        ends = [
            f"values {word} {method[end]:,g} became {method[end]:,g}" for end, word in ENDS if method[end] is not None
        ]
        how = " and ".join(ends)
    kept = "nothing else in it changed" if method["map"] is not None else UNKNOWN_STAYS
    return f"Column {column}: {how}; {kept}."


ENDS = (("top", "above"), ("bottom", "below"))


def anonymity_statement(rule: Mapping[str, Any]) -> str:
    """What k-anonymity says of a public file, from the rule as plain data."""
    keys, size = rule["keys"], rule.get("size")
    what = listed(keys) if size is None or size >= len(keys) else f"any {size} of {listed(keys)}"
    return (
        f"Every combination of values of {what} that occurs in the public file occurs at least {rule['k']} times; an "
        "empty field is a value of its own."
    )
