"""What adjustment, rounding and interval publication claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from discreet.model.claims.base import (
    CONTRIBUTORS,
    CYCLE,
    EARLIER,
    EXTERNAL,
    INSECURE,
    NO_LEVELS,
    NOT_ADDITIVE,
    OTHER_UNIVERSES,
    Claim,
)

READER = "reader: takes the published values for the true ones"
ROUNDING_READER = (
    "external: knows the publication, the relations, the bounds of each cell, and the base and rule of the rounding"
)
KNOWN_LEVELS = "readers who know the protection levels or how the moves were found"
LEFT = "readers who know what was left as it is ({}): it bounds what moved, and an audit tells how closely"
REPEATED = (
    "readers who repeat the method on every table that fits and keep those that give the same publication: without a "
    "secret draw they may be left with the true one alone"
)
LIKELY = "what the rounding's probabilities or its objective make more likely"
MADE_INTERVALS = "what the way in which intervals are made tells beyond the intervals themselves"
HELD = (
    "Every published interval holds the true value and values without one are true; published values add up; every "
    "unsafe cell keeps its protection level over the relations of all tables together."
)
MOVED = (
    "Every unsafe cell is published at least its protection level away from its value; all relations add up; bounds, "
    "limits and fixed cells are kept."
)


def _left_out(universes: bool, *others: str) -> tuple[str, ...]:
    return (*((OTHER_UNIVERSES,) if universes else ()), EARLIER, CONTRIBUTORS, *(text for text in others if text))


def adjustment_claim(method: Mapping[str, Any], *, forced: bool, universes: bool, insecure: bool) -> Claim:
    """What adjustment may claim.

    Parameters
    ----------
    method
        The method as plain data: it says what was left as it is.
    forced
        Whether some cells are published by force.
    universes, insecure
        Whether there are tables of several universes; whether draws came from a seed.
    """
    kept = [*_left_as_it_is(method), *(["cells published by force"] if forced else [])]
    left = LEFT.format(", ".join(kept)) if kept else ""
    repeated = "" if method.get("randomised") else REPEATED
    left_out = _left_out(universes, KNOWN_LEVELS, repeated, left, INSECURE if insecure else "")
    return Claim("adjust", MOVED, (READER,), left_out)


def _left_as_it_is(method: Mapping[str, Any]) -> Iterator[str]:
    """What an adjustment does not change, in words."""
    if method.get("fixed") == "margins":
        yield "all sums"
    elif method.get("objective") in ("mdi", ("mdi",), ["mdi"]):
        yield "one-way margins"
    elif method.get("fixed") == "total":
        yield "grand totals"
    if method.get("zeros") != "movable":
        yield "zeros"
    if method.get("keep_mean"):
        yield "sums of some sets of cells"
    if method.get("limit") is not None:
        yield f"cells that are not unsafe, within {float(method['limit']):g} %"


def rounding_claim(
    base: str,
    *,
    additive: bool,
    reach: int,
    levels: bool,
    drawn: bool,
    secret: bool,
    universes: bool,
    insecure: bool,
    cycle: bool,
) -> Claim:
    """What rounding may claim.

    Parameters
    ----------
    base
        The base as text.
    additive
        Whether published values add up.
    reach
        How many steps of the base published values are away at most: each is nearer to its value than so many steps.
    levels
        Whether unsafe cells are shown to keep their levels.
    drawn
        Whether chance or an objective chose among the neighbouring multiples.
    secret
        Whether it was chance: then nobody can repeat it.
    universes, insecure
        Whether there are tables of several universes; whether draws came from a seed.
    cycle
        Whether variables of some tables form a cycle.
    """
    statement = f"Every value is a multiple of {base} and less than {reach} x {base} from the true one."
    if additive:
        statement += " All relations add up."
    if levels:
        statement += " Every unsafe cell keeps its protection level over the relations of all tables together."
    left_out = (
        "" if additive else NOT_ADDITIVE,
        "" if levels else NO_LEVELS,
        LIKELY if drawn else "",
        REPEATED if drawn and not secret else "",
        INSECURE if insecure else "",
        CYCLE if cycle and levels else "",
    )
    return Claim("round", statement, (ROUNDING_READER,), _left_out(universes, *left_out))


def intervals_claim(*, universes: bool, insecure: bool, cycle: bool) -> Claim:
    """What interval publication may claim; ``cycle`` says whether variables of some tables form one."""
    left_out = _left_out(universes, MADE_INTERVALS, INSECURE if insecure else "", CYCLE if cycle else "")
    return Claim("intervals", HELD, (EXTERNAL,), left_out)
