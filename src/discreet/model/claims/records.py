"""What methods for records claim, and what a release of records leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import counted, listed
from discreet.model.claims.base import INSECURE, Claim
from discreet.model.claims.noise import DRAWN, ONE_FACTOR

NO_RULE = "who can be recognised: no rule says which records are unsafe"
KEYS_ONLY = "readers who know of a person more than the keys"
OTHER_FILES = "what readers find by comparing the file with others, or with an earlier release of the same records"
HOUSEHOLDS = "readers who recognise a household by its members, whose records stand together"
ATTRIBUTES = "what readers learn of everybody in a group whose members all have the same sensitive value"


def swapped_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What an exchange of areas claims, from the method as plain data.

    ``facts`` are numbers of households, the columns on which they agree (those of the method, and strata), and columns
    that tell the area.
    """
    area, within, like = method["area"], method["within"], facts["profile"]
    alike = f"that agrees in size and {', '.join(like)}" if like else "of the same size"
    statement = (
        f"Done as stated: {facts['moved']} of {counted(facts['households'], 'household')} exchanged their {area} with "
        f"one {alike} in {f'the same {within}' if within else 'any area'}, {facts['alone']} selected ones found no "
        "partner; members of a household stayed together; nothing else changed."
    )
    left_out = (f"readers who know in which {area} each {name} lies: it stayed as it was" for name in facts["telling"])
    return _drawn("swap", statement, facts, tuple(left_out))


def multiplied_claim(method: Mapping[str, Any], facts: Mapping[str, Any]) -> Claim:
    """What noise on columns claims, from the method as plain data.

    ``facts`` are the columns, the decimals of each, and the column that says which company a record belongs to.
    """
    company = facts["company"]
    columns = zip(facts["columns"], facts["decimals"], strict=True)
    units = [f"{name} (in units of {10.0**-decimals:.{decimals}f})" for name, decimals in columns]
    one = method["factors"] == "record"
    whose = f"all records of a {company}" if company else "all values of a record" if one else ""
    apart = "" if one or not company else ", for each column apart"
    statement = (
        f"Done as stated: every value of {', '.join(units)} was multiplied by a factor {method['a'] - 1:.6g} to "
        f"{method['b'] - 1:.6g} away from 1 and its move rounded up to a whole unit; zeros and empty "
        f"fields stayed{f'; {whose} moved in one direction{apart}' if whose else ''}; nothing else changed."
    )
    return _drawn("multiplicative_noise", statement, facts, (ONE_FACTOR,) if one and len(units) > 1 else ())


def _drawn(kind: str, statement: str, facts: Mapping[str, Any], left_out: tuple[str, ...] = ()) -> Claim:
    """The claim of a method that draws at random."""
    return Claim(kind, statement, (), (DRAWN, *left_out, *((INSECURE,) if facts["insecure"] else ())))


def release_left_out(rules: bool, *, sensitive: bool, households: bool) -> tuple[str, ...]:
    """What a release of records does not consider."""
    if not rules:
        return (NO_RULE, OTHER_FILES)
    attributes = (ATTRIBUTES,) if sensitive else ()
    return (KEYS_ONLY, *attributes, *((HOUSEHOLDS,) if households else ()), OTHER_FILES)


def combined_keys(keys: Sequence[str], size: int | None) -> str:
    """Keys that are known at once, in words."""
    return listed(keys) if size is None or size >= len(keys) else f"any {size} of {listed(keys)}"
