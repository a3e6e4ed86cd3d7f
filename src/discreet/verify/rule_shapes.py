"""The rules that this checker knows, and what each may state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from discreet.verify.shapes import Shape, by_name, either, flag, many, number, one_of, record, text, whole, wrong

SOME = text(r".+", most=1000)
TEXTS = many(text())
LEVEL = one_of("holding", "record")


def above_zero(most: float = math.inf) -> Shape:
    """A number that is not zero either."""
    allowed = number(0, most)

    def look(value: Any, place: str) -> None:
        allowed(value, place)
        if value == 0:
            raise wrong(place, "is zero")

    return look


PERCENT = above_zero()
TABLES = {"tables": many(SOME)}
LARGE: dict[str, Shape] = {"inclusive": flag, "weights": one_of("once", "ignore"), **TABLES}
BELOW_ONE = {"below_one": flag}

RULES: dict[str, Shape] = {
    "p_percent": record({"p": PERCENT, "coalition": whole(1), "level": LEVEL}, LARGE | BELOW_ONE),
    "prior_posterior": record({"p": PERCENT, "q": PERCENT, "coalition": whole(1), "level": LEVEL}, LARGE | BELOW_ONE),
    "dominance": record({"n": whole(1), "k": PERCENT, "level": LEVEL}, LARGE | BELOW_ONE),
    "max_share": record({"share": above_zero(1), "level": LEVEL}, LARGE),
    "min_contributors": record(
        {"n": whole(1), "level": LEVEL}, {"range": PERCENT, "zeros": flag, **BELOW_ONE, **TABLES}
    ),
    "min_frequency": record(
        {"n": whole(1), "range": PERCENT}, {"weighted": flag, "zeros": flag, **BELOW_ONE, **TABLES}
    ),
    "zero_unsafe": record({"range": PERCENT}, TABLES),
    "request": record(
        {"p1": PERCENT, "n": whole(1), "range": PERCENT, "level": LEVEL}, {"p2": PERCENT, **BELOW_ONE, **TABLES}
    ),
    "group_disclosure": record({"variable": SOME, "k": whole()}, {"unknown": flag, **TABLES}),
}
"""Rules that this checker knows, with their parameters: those that must be stated, and those that may."""


def rule(value: Any, place: str) -> None:
    """A rule that this checker knows, or one whose name says that it is somebody's own: it has a dot in it."""
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        raise wrong(place, "is not a rule")
    kind = value["kind"]
    given = {name: parameter for name, parameter in value.items() if name != "kind"}
    if kind in RULES:
        RULES[kind](given, place)
    elif "." not in kind:
        unknown = f"is a rule {kind[:60]!r}, which this checker does not know"
        raise wrong(place, f"{unknown}; rules of one's own are named with a dot, such as 'office.rule'")
    else:
        by_name(either(flag, number(), text(), TEXTS))(given, place)
