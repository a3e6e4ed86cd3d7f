"""Lies about a release of which the tops of two columns were coded together, and what is true of them."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.attack.forged_moves import Lie, Told, forgers_of

COLUMNS = ("income", "tax")


def fraction(value: Any) -> Fraction:
    return Fraction(Decimal(str(value)))


def truly_coded(lie: Told) -> bool:
    """Whether limits, numbers, means and rows are those that the method gives; worked out value by value."""
    share, rows = fraction(lie.method["top_quantile"]), len(lie.old["income"])
    limits = {}
    for name in COLUMNS:
        known = sorted(fraction(v) for v in lie.old[name] if v is not None)
        limits[name] = next(v for v in known if Fraction(sum(w <= v for w in known), len(known)) >= share)
    far = [
        [lie.old[name][row] is not None and fraction(lie.old[name][row]) > limits[name] for row in range(rows)]
        for name in COLUMNS
    ]
    coded = [any(flags) for flags in zip(*far, strict=True)]
    if sum(coded) != lie.facts["coded"] or lie.facts["rows"] != rows or sum(coded) < lie.method.get("least", 5):
        return False
    for place, name in enumerate(COLUMNS):
        tail = lie.facts["tails"][place]
        values = [fraction(lie.old[name][row]) for row in range(rows) if coded[row]]
        unit = fraction(tail["unit"])
        mean = round(sum(values) / len(values) / unit) * unit
        told = (tail["column"], tail["end"], fraction(tail["limit"]), tail["records"], fraction(tail["value"]))
        if told != (name, "top", limits[name], sum(far[place]), mean):
            return False
        if unit not in [Fraction(1, 10**n) for n in range(10)]:
            return False
        wanted = [float(mean) if flag else value for flag, value in zip(coded, lie.old[name], strict=True)]
        if lie.changed[name] != wanted:
            return False
    return set(lie.changed) == set(COLUMNS)


def other_rows(lie: Lie, draw: random.Random) -> None:
    """One value after the step is another one that the column has."""
    name, row = draw.choice(COLUMNS), draw.randrange(len(lie.old["income"]))
    lie.changed[name][row] = draw.choice([lie.old[name][row], *lie.changed[name]])


def other_facts(lie: Lie, draw: random.Random) -> None:
    """A limit, a number or a mean is told otherwise; rows with the mean, too."""
    lie.facts = copy.deepcopy(lie.facts)
    tail = draw.choice(lie.facts["tails"])
    what = draw.choice(["limit", "records", "value", "unit", "coded"])
    if what == "coded":
        lie.facts["coded"] += draw.choice([-1, 1])
    elif what == "unit":
        tail["unit"] = draw.choice([1, 0.1, 0.001, 0.5])
    elif what == "value":
        before, tail["value"] = tail["value"], tail["value"] + draw.choice([-1, 1])
        name = tail["column"]
        lie.changed[name] = [tail["value"] if value == before else value for value in lie.changed[name]]
    else:
        tail[what] += draw.choice([-1, 1])


def other_method(lie: Lie, draw: random.Random) -> None:
    """The method is said to have been another one."""
    what, value = draw.choice(
        [("top_quantile", 0.79), ("top_quantile", 0.9), ("top_quantile", 0.799), ("least", 60), ("least", 4)]
    )
    lie.method[what] = value


def other_original(lie: Lie, draw: random.Random) -> None:
    """The original is said to have been otherwise."""
    name, row = draw.choice(COLUMNS), draw.randrange(len(lie.old["income"]))
    lie.old[name][row] = draw.choice(lie.old[name])


FORGERS_OF_TAILS: Mapping[str, Callable[..., Any]] = forgers_of(
    "tails", truly_coded, other_rows, other_facts, other_method, other_original
)
