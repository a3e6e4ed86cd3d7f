"""Lies about records that were averaged in groups or exchanged by their ranks, and what is true of them."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.attack.forged_moves import Lie, Told, forgers_of

COLUMNS = ("income", "tax")


def exact(value: Any) -> Fraction:
    return Fraction(Decimal(str(value)))


# ---- what is true of groups -------------------------------------------------------------------------------------


def members(lie: Told) -> dict[int, list[int]]:
    """Rows of every group."""
    found: dict[int, list[int]] = {}
    for row, group in enumerate(lie.rows["group_0"]):
        found.setdefault(group, []).append(row)
    return found


def truly_averaged(lie: Told) -> bool:
    """Whether groups are large enough, lie in one band each, and hold their means or medians, rounded half up."""
    method, facts = lie.method, lie.facts
    if (
        list(method["columns"]) != list(COLUMNS)
        or facts["columns"] != list(COLUMNS)
        or set(lie.changed) != set(COLUMNS)
    ):
        return False
    if facts["apart"] is not (method["algorithm"] in ("onedims", "univariate")) or facts["strata"] != ["band"]:
        return False
    if facts["apart"] or len(lie.rows["group_0"]) != len(lie.old["band"]) or min(lie.rows["group_0"]) < 0:
        return False
    groups = list(members(lie).values())
    sizes = [len(rows) for rows in groups]
    if (facts["groups"], facts["smallest"], facts["largest"]) != (len(sizes), min(sizes), max(sizes)):
        return False
    if min(sizes) < method["k"] or any(len({lie.old["band"][row] for row in rows}) > 1 for rows in groups):
        return False
    lost = []
    for name, decimals in zip(COLUMNS, facts["decimals"], strict=True):
        if not 0 <= decimals <= 18 or method["decimals"] not in (None, decimals):
            return False
        if any(_shown(lie, name, rows, decimals) for rows in groups):
            return False
        lost.append(_lost([float(v) for v in lie.old[name]], [float(v) for v in lie.changed[name]]))
    stated = [*facts["losses"], facts["loss"]]
    wanted = [*lost, sum(lost) / len(lost)]
    return len(stated) == 3 and all(abs(a - b) <= 1e-6 for a, b in zip(stated, wanted, strict=True))


def _shown(lie: Told, name: str, rows: list[int], decimals: int) -> bool:
    """Whether a group shows something else than it should."""
    values = sorted(exact(lie.old[name][row]) for row in rows)
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    value = sum(values) / len(values) if lie.method["location"] == "mean" else middle
    right = Fraction(math.floor(value * 10**decimals + Fraction(1, 2)), 10**decimals)
    return any(exact(lie.changed[name][row]) != right for row in rows)


def _lost(before: list[float], after: list[float]) -> float:
    mean = sum(before) / len(before)
    return sum((a - b) ** 2 for a, b in zip(before, after, strict=True)) / sum((a - mean) ** 2 for a in before)


def _told_again(lie: Lie) -> None:
    """Means, sizes and losses as the groups give them."""
    facts = lie.facts
    groups = list(members(lie).values())
    sizes = [len(rows) for rows in groups]
    facts.update(groups=len(sizes), smallest=min(sizes), largest=max(sizes))
    for name, decimals in zip(COLUMNS, facts["decimals"], strict=True):
        for rows in groups:
            value = sum(exact(lie.old[name][row]) for row in rows) / len(rows)
            shown = math.floor(value * 10**decimals + Fraction(1, 2)) / 10**decimals
            for row in rows:
                lie.changed[name][row] = shown
    lost = [_lost([float(v) for v in lie.old[n]], [float(v) for v in lie.changed[n]]) for n in COLUMNS]
    facts.update(losses=lost, loss=sum(lost) / len(lost))


# ---- lies about groups ------------------------------------------------------------------------------------------


def other_means(lie: Lie, draw: random.Random) -> None:
    """A record, or its whole group, shows something else, by a unit of the last decimal or by much."""
    place = draw.randrange(2)
    name, rows = COLUMNS[place], draw.choice(list(members(lie).values()))
    unit = 10.0 ** -lie.facts["decimals"][place]
    more = draw.choice([unit, -unit, 100.0, lie.old[name][rows[0]] - lie.changed[name][rows[0]]])
    for row in rows if draw.random() < 0.5 else rows[:1]:
        lie.changed[name][row] = round(lie.changed[name][row] + more, lie.facts["decimals"][place])


def other_groups(lie: Lie, draw: random.Random) -> None:
    """Records are said to be in other groups; means, sizes and losses follow, or do not."""
    group = lie.rows["group_0"]
    for _ in range(draw.randrange(1, 3)):
        one, two = draw.sample(range(len(group)), 2)
        way = draw.randrange(4)
        if way == 0:
            group[one], group[two] = group[two], group[one]
        elif way == 1:
            group[one] = group[two]
        elif way == 2:
            group[one] = draw.choice([-1, max(group) + 1])
        else:
            whole = group[one]
            group[:] = [group[two] if g == whole else g for g in group]
    if min(group) >= 0 and draw.random() < 0.8:
        _told_again(lie)


def other_sizes(lie: Lie, draw: random.Random) -> None:
    """A number that the claim rests on is another one."""
    name = draw.choice(["groups", "smallest", "largest", "loss", "losses", "decimals", "strata", "apart", "columns"])
    facts = lie.facts
    if name in ("groups", "smallest", "largest"):
        facts[name] += draw.choice([-1, 1, 2])
    elif name == "loss":
        facts[name] *= draw.choice([0.0, 0.9, 0.9999, 1.1])
    elif name == "losses":
        facts[name] = draw.choice([facts[name][::-1], [0.0, 0.0], [2 * facts["loss"], 0.0]])
    elif name == "decimals":
        facts[name] = draw.choice([[0, 4], [2, 2], [3, 4], [2, 5], [4, 2]])
    else:
        facts[name] = {"strata": [], "apart": True, "columns": ["tax", "income"]}[name]


def other_grouping(lie: Lie, draw: random.Random) -> None:
    """The method is said to have been another one."""
    name, value = draw.choice(
        [
            *(("k", k) for k in (2, 4, 5, 10)),
            ("location", "median"),
            ("algorithm", "onedims"),
            ("algorithm", "mdav"),
            ("decimals", 2),
            ("decimals", 4),
            ("columns", ["income"]),
            ("missing", "apart"),
            ("seed", 2),
        ]
    )
    lie.method[name] = value


def other_values_before(lie: Lie, draw: random.Random) -> None:
    """The original is said to have been otherwise; means and losses follow, or do not."""
    name, row = draw.choice([*COLUMNS, "band"]), draw.randrange(len(lie.old["band"]))
    lie.old[name][row] = draw.choice(lie.old[name])
    if draw.random() < 0.3:
        _told_again(lie)


# ---- what is true of ranks --------------------------------------------------------------------------------------


def truly_exchanged(lie: Told) -> bool:
    """Whether partners have each other's values, lie near enough in one band, and nobody is alone who need not be.

    Whoever does not have the key cannot tell whether partners were drawn: that is asserted.
    """
    method, facts, size = lie.method, lie.facts, len(lie.old["band"])
    if (
        list(method["columns"]) != list(COLUMNS)
        or facts["columns"] != list(COLUMNS)
        or set(lie.changed) != set(COLUMNS)
    ):
        return False
    if facts["strata"] != ["band"] or type(facts["insecure"]) is not bool or not 0 < method["share"] <= 1:
        return False
    bands = lie.old["band"]
    for place, name in enumerate(COLUMNS):
        old, new, partner = lie.old[name], lie.changed[name], lie.rows[f"partner_{place}"]
        if sorted(partner) != list(range(size)) or any(partner[partner[row]] != row for row in range(size)):
            return False
        if new != [old[other] for other in partner] or any(bands[row] != bands[partner[row]] for row in range(size)):
            return False
        if facts["kept"][place] != sum(a == b for a, b in zip(old, new, strict=True)):
            return False
        for band in set(bands):
            if not _near(old, partner, [row for row in range(size) if bands[row] == band], exact(method["share"])):
                return False
    return any(kept < size for kept in facts["kept"])


def _near(old: list[Any], partner: list[int], rows: list[int], share: Fraction) -> bool:
    """Whether no partners of a band are too far apart, and no two without one are near; equal values may lie anyhow."""
    ordered, reach = sorted(old[row] for row in rows), int(share * len(rows))
    first = {value: ordered.index(value) for value in ordered}
    last = {value: place for place, value in enumerate(ordered)}
    for row in rows:
        low, high = sorted([old[row], old[partner[row]]])
        if first[high] - last[low] > reach:
            return False
    alone = sorted(old[row] for row in rows if partner[row] == row)
    return all(last[high] - first[low] > reach for low, high in pairwise(alone))


# ---- lies about ranks -------------------------------------------------------------------------------------------


def other_partners(lie: Lie, draw: random.Random) -> None:
    """Records are said to have had other partners; their values and how many kept theirs follow, or do not."""
    place = draw.randrange(2)
    name, partner = COLUMNS[place], lie.rows[f"partner_{place}"]
    for _ in range(draw.randrange(1, 3)):
        one, two = draw.sample(range(len(partner)), 2)
        for row in (one, two):
            partner[partner[row]] = partner[row]
            partner[row] = row
        if draw.random() < 0.8:
            partner[one], partner[two] = two, one
    if draw.random() < 0.8:
        lie.changed[name] = [lie.old[name][row] for row in partner]
        lie.facts["kept"][place] = sum(a == b for a, b in zip(lie.old[name], lie.changed[name], strict=True))


def other_exchanged_values(lie: Lie, draw: random.Random) -> None:
    """Values of two records change places, or one has what nobody had."""
    place = draw.randrange(2)
    name = COLUMNS[place]
    values = lie.changed[name]
    one, two = draw.sample(range(len(values)), 2)
    if draw.random() < 0.7:
        values[one], values[two] = values[two], values[one]
    else:
        values[one] = draw.choice([0, 1, 77])
    lie.facts["kept"][place] = sum(a == b for a, b in zip(lie.old[name], values, strict=True))


def other_sharing(lie: Lie, draw: random.Random) -> None:
    """The exchange is said to have been another one, or to have left more as it was."""
    way = draw.randrange(4)
    if way == 0:
        lie.method["share"] = draw.choice([0.05, 0.1, 0.19, 0.201, 0.25, 0.5, 1.0])
    elif way == 1:
        lie.method["version"] = draw.choice([2, 3])
    elif way == 2:
        lie.facts["kept"][draw.randrange(2)] += draw.choice([-1, 1])
    else:
        name, value = draw.choice(
            [("strata", []), ("strata", ["sex"]), ("insecure", True), ("columns", ["tax", "income"])]
        )
        lie.facts[name] = value


def other_past_values(lie: Lie, draw: random.Random) -> None:
    """The original is said to have been otherwise, where it was exchanged or elsewhere; values follow, or do not."""
    for _ in range(draw.randrange(1, 5)):
        name, row = draw.choice([*COLUMNS, *COLUMNS, "band", "sex"]), draw.randrange(len(lie.old["band"]))
        lie.old[name][row] = draw.choice(lie.old[name])
    if draw.random() < 0.5:
        for place, column in enumerate(COLUMNS):
            lie.changed[column] = [lie.old[column][other] for other in lie.rows[f"partner_{place}"]]
            kept = sum(a == b for a, b in zip(lie.old[column], lie.changed[column], strict=True))
            lie.facts["kept"][place] = kept


FORGERS_OF_GROUPS = dict(
    forgers_of("groups", truly_averaged, other_means, other_groups, other_sizes, other_grouping, other_values_before)
)
FORGERS_OF_RANKS = dict(
    forgers_of("ranks", truly_exchanged, other_partners, other_exchanged_values, other_sharing, other_past_values)
)
