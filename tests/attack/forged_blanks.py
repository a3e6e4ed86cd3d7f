"""Lies about releases of records in which fields were emptied, told alike in every file; and what is true of them.

Whether a lie is one is worked out here, record by record, without the checker.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import Any

from tests.attack.forged_moves import Lie, Told, forgers_of

KEYS = ("age", "sex", "region")


def truly_blanked(lie: Told) -> bool:
    """Whether fields of keys were emptied and nothing else, in the numbers told, so that what is left is frequent."""
    method, facts = lie.method, lie.facts
    keys = list(method["keys"]) or [name for name in lie.old if lie.truth.about(name).role == "key"]
    if facts["keys"] != keys or not keys or len(set(keys)) < len(keys) or not set(lie.changed) <= set(keys):
        return False
    if not set(keys) <= set(lie.old) or not set(method["importance"]) <= set(keys):
        return False
    price = {name: method["importance"].get(name, 1.0) for name in keys}
    after = {name: lie.changed.get(name, lie.old[name]) for name in keys}
    size = min(method["size"] or len(keys), len(keys))
    kept = all(new in (None, old) for name in keys for new, old in zip(after[name], lie.old[name], strict=True))
    often = all(
        min(Counter(zip(*(after[name] for name in chosen), strict=True)).values()) >= method["k"]
        for chosen in combinations(keys, size)
    )
    numbers = emptied(lie, keys)
    cost = sum(number * price[name] for name, number in zip(keys, numbers["blanks"], strict=True))
    return (
        kept
        and often
        and min(price.values()) > 0
        and all(facts[name] == number for name, number in numbers.items())
        and facts["rows"] == len(lie.old["age"])
        and abs(facts["cost"] - cost) < 1e-9
        and 0 <= facts["least"] <= least_cost(lie, keys, price, size) + 1e-9
    )


def emptied(lie: Told, keys: Sequence[str]) -> dict[str, Any]:
    """How many fields of each key are newly empty, and in how many records."""
    rows: set[int] = set()
    blanks = []
    for name in keys:
        pairs = enumerate(zip(lie.changed.get(name, lie.old[name]), lie.old[name], strict=True))
        mine = {row for row, (new, old) in pairs if new is None and old is not None}
        blanks.append(len(mine))
        rows |= mine
    return {"blanks": blanks, "records": len(rows)}


def least_cost(lie: Told, keys: Sequence[str], price: Mapping[str, float], size: int) -> float:
    """What must be emptied at least: of every record so much that enough others agree with it in what is left."""
    total = 0.0
    for row in range(len(lie.old["age"])):
        total += max(_least_of(lie, row, chosen, price) for chosen in combinations(keys, size))
    return total


def _least_of(lie: Told, row: int, chosen: Sequence[str], price: Mapping[str, float]) -> float:
    there = [name for name in chosen if lie.old[name][row] is not None]
    found = []
    for gone in chain.from_iterable(combinations(there, number) for number in range(len(there) + 1)):
        left = [name for name in there if name not in gone]
        agree = sum(
            all(lie.old[name][other] == lie.old[name][row] for name in left) for other in range(len(lie.old["age"]))
        )
        if agree >= lie.method["k"]:
            found.append(sum(price[name] for name in gone))
    return min(found, default=0.0)  # where nothing helps, nothing is claimed of the record


# ---- lies -------------------------------------------------------------------------------------------------------


def _count_again(lie: Lie) -> None:
    """The numbers of fields, records and cost follow from the columns."""
    lie.facts |= emptied(lie, KEYS)
    prices = [lie.method["importance"].get(name, 1.0) for name in KEYS]
    lie.facts["cost"] = sum(n * price for n, price in zip(lie.facts["blanks"], prices, strict=True))


def other_fields(lie: Lie, draw: random.Random) -> None:
    """Fields are empty that were not, or the other way round, or have another value."""
    for _ in range(draw.randrange(1, 4)):
        name = draw.choice(KEYS)
        column = lie.changed.setdefault(name, list(lie.old[name]))
        row, way = draw.randrange(len(column)), draw.randrange(4)
        if way == 0:
            column[row] = None
        elif way == 1:
            row = draw.choice([r for r, value in enumerate(column) if value is None] or [row])
            column[row] = lie.old[name][row]
        elif way == 2:
            same = [r for r, value in enumerate(lie.old[name]) if value == lie.old[name][row]]
            for r in same:  # all records of one code, which leaves no rare combination behind
                column[r] = None
        else:
            column[row] = draw.choice(lie.old[name])
    if draw.random() < 0.8:
        _count_again(lie)
    if draw.random() < 0.5:
        lie.facts["least"] = 0.0


def other_figures(lie: Lie, draw: random.Random) -> None:
    """One of the numbers that the claim rests on is another one."""
    name = draw.choice(["blanks", "records", "rows", "cost", "least", "keys"])
    if name == "blanks":
        place = draw.randrange(len(KEYS))
        lie.facts["blanks"] = list(lie.facts["blanks"])
        lie.facts["blanks"][place] = max(lie.facts["blanks"][place] + draw.choice([-1, 1, 5]), 0)
    elif name == "keys":
        lie.facts["keys"] = draw.choice([["age", "sex"], ["sex", "age", "region"], [*KEYS, "income"], ["age"]])
        lie.facts["blanks"] = [*lie.facts["blanks"], 0][: len(lie.facts["keys"])]
    elif name in ("cost", "least"):
        lie.facts[name] = max(lie.facts[name] + draw.choice([-100.0, -2.0, -0.5, 0.5, 1.0, 20.0]), -1.0)
    else:
        lie.facts[name] = max(lie.facts[name] + draw.choice([-60, -1, 1, 3]), 0)


def other_demands(lie: Lie, draw: random.Random) -> None:
    """The promise is said to have been another one."""
    way = draw.randrange(4)
    if way == 0:
        lie.method["k"] = draw.choice([2, 4, 5, 8, 20])
    elif way == 1:
        lie.method["size"] = draw.choice([size for size in (None, 1, 2, 3, 4) if size != lie.method["size"]])
    elif way == 2:
        importance = [{}, {"age": 3.0}, {"age": 0.25, "sex": 1.5}, {"age": -1.0}, {"income": 2.0}, {"region": 0.0}]
        lie.method["importance"] = draw.choice(importance)
        _count_again(lie)
    else:
        lie.method["keys"] = draw.choice([["age"], ["age", "sex"], ["region", "age", "sex"], ["age", "sex", "health"]])
        lie.facts["keys"] = list(lie.method["keys"])
        lie.facts["blanks"] = emptied(lie, lie.facts["keys"])["blanks"]
    if draw.random() < 0.6:
        lie.facts["least"] = 0.0


def another_field_before(lie: Lie, draw: random.Random) -> None:
    """The original is said to have been otherwise."""
    for _ in range(draw.randrange(1, 4)):
        name = draw.choice([*KEYS, *KEYS, "income"])
        row = draw.randrange(len(lie.old[name]))
        lie.old[name][row] = draw.choice([*lie.old[name], None])
    if draw.random() < 0.7:
        _count_again(lie)
    if draw.random() < 0.5:
        lie.facts["least"] = 0.0


LIES = (other_fields, other_figures, other_demands, another_field_before)
FORGERS_OF_BLANKS = forgers_of("blanks", truly_blanked, *LIES)
FORGERS_OF_PAIRS = forgers_of("pairs", truly_blanked, *LIES)
