"""Lies about releases of generalised keys, told alike in both descriptions, with the claim that goes with them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.model.claims.generalised import generalised_claim
from discreet.model.layout import claim_description
from tests.attack.record_folders import edit_both


def _told(folder: Path, edit: Callable[[dict[str, Any], dict[str, Any]], None]) -> bool:
    """Edit method and facts; the claim follows."""

    def both(description: Any, log: Any) -> None:
        step = description["steps"][0]
        edit(step["method"], step["facts"])
        log["protect"][0] = step["method"]
        step["claim"] = claim_description(generalised_claim(step["method"], step["facts"]))

    edit_both(folder, both)
    return True


def other_level(folder: Path, draw: random.Random) -> bool | None:
    """A key is said to have gone up another number of levels."""

    def edit(method: dict[str, Any], facts: dict[str, Any]) -> None:
        free = [place for place, height in enumerate(facts["heights"]) if height]
        place = draw.choice(free)
        others = [level for level in range(facts["heights"][place] + 1) if level != facts["levels"][place]]
        facts["levels"][place] = draw.choice(others)
        facts["table"] = []

    return _told(folder, edit)


def other_loss(folder: Path, draw: random.Random) -> bool | None:
    """Another loss is stated."""

    def edit(method: dict[str, Any], facts: dict[str, Any]) -> None:
        name = draw.choice(sorted(facts["losses"]))
        facts["losses"][name] = facts["losses"][name] * draw.choice([0.5, 0.99, 1.01, 2]) + draw.choice([0, 0.001])
        facts["table"] = []

    return _told(folder, edit)


def other_number(folder: Path, draw: random.Random) -> bool | None:
    """Another number of records, of emptied ones or of classes is stated."""

    def edit(method: dict[str, Any], facts: dict[str, Any]) -> None:
        facts[draw.choice(["suppressed", "classes", "rows", "nodes"])] += draw.choice([-1, 1, 7])
        facts["table"] = []

    return _told(folder, edit)


def stricter_rule(folder: Path, draw: random.Random) -> bool | None:
    """The method is said to have kept a stricter rule."""

    def edit(method: dict[str, Any], facts: dict[str, Any]) -> None:
        more = draw.choice([1000, 2000])
        method["k"] = more
        facts["rules"][0]["k"] = more

    return _told(folder, edit)


def fewer_outliers(folder: Path, draw: random.Random) -> bool | None:
    """The method is said to have allowed no record to be emptied, although one was."""

    def edit(method: dict[str, Any], facts: dict[str, Any]) -> None:
        method["outliers"] = 0 if draw.random() < 0.5 else 0.001

    return _told(folder, edit)


FORGERS_OF_LEVELS = {f.__name__: f for f in (other_level, other_loss, other_number, stricter_rule, fewer_outliers)}
