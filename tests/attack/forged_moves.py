"""Lies about releases of records, told alike in every file; those of swapped and multiplied ones, and what is true.

A lie has its step, its numbers, its claim and its public files written as a true release would have them, so that only
the check of the method itself can find it. Whether it is one is worked out here, without the checker.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from discreet.files.records import write_record_file
from discreet.model.claims.blanked import blanked_claim
from discreet.model.claims.microaggregation import microaggregated_claim
from discreet.model.claims.pram import pram_claim
from discreet.model.claims.rank_swap import rank_swapped_claim
from discreet.model.claims.recoding import recoded_claim
from discreet.model.claims.records import multiplied_claim, swapped_claim
from discreet.model.layout import claim_description
from discreet.model.records import RecordSet
from tests.attack.record_folders import RELEASES, edit_both, formats_of, write_arrow

Columns = dict[str, list[Any]]
CLAIMS = {
    "local_suppress": blanked_claim,
    "microaggregate": microaggregated_claim,
    "pram": pram_claim,
    "rank_swap": rank_swapped_claim,
    "swap": swapped_claim,
    "multiplicative_noise": multiplied_claim,
    "recode": recoded_claim,
}


@dataclass
class Lie:
    """A release of one step, to be edited and written; ``rows`` is what the evidence says of every record."""

    kind: str
    old: Columns
    changed: Columns
    method: dict[str, Any]
    facts: dict[str, Any]
    rows: Columns = field(default_factory=dict)

    @classmethod
    def about(cls, kind: str) -> Lie:
        """The truth, to begin with."""
        custodian = RELEASES[kind]().custodian
        (step,) = custodian.steps
        old, changed = custodian.original.columns.to_pydict(), step.changed.to_pydict()
        rows = {name: row.tolist() for name, row in step.evidence.parts.get("records", {}).items()}
        method, facts = deepcopy(dict(step.evidence.method)), deepcopy(dict(step.evidence.facts))
        return cls(kind, old, changed, method, facts, rows)

    @property
    def truth(self) -> RecordSet:
        """What the columns are."""
        return RELEASES[self.kind]().custodian.original

    def homes(self) -> dict[Any, list[int]]:
        """Rows of every household, as the method has them."""
        rows: dict[Any, list[int]] = {}
        for row, home in enumerate(self.old[self.method.get("household", "home")]):
            rows.setdefault(home, []).append(row)
        return rows

    def write(self, folder: Path) -> None:
        """Write it over the true release."""
        custodian = RELEASES[self.kind]().custodian
        (step,) = custodian.steps
        types = {name: custodian.original[name].type for name in self.old}
        old = pa.table({name: pa.array(values, types[name]) for name, values in self.old.items()})
        types |= {one.name: one.type for one in step.changed.schema}
        changed = pa.table({name: pa.array(values, types[name]) for name, values in self.changed.items()})
        claim = CLAIMS[step.evidence.claim.method](self.method, self.facts)
        evidence = replace(step.evidence, method=self.method, facts=self.facts, claim=claim)
        told = replace(
            custodian,
            original=replace(custodian.original, columns=old),
            steps=(replace(step, evidence=evidence, changed=changed),),
        )
        closed = folder / "custodian"
        write_arrow(closed / "original.arrow", old)
        write_arrow(closed / "step_0.arrow", changed)
        if self.rows:
            write_arrow(
                closed / "step_0_rows.arrow", pa.table({n: pa.array(v, pa.int64()) for n, v in self.rows.items()})
            )

        def edit(description: Any, log: Any) -> None:
            entry = description["steps"][0]
            entry["method"] = log["protect"][0] = self.method
            entry["facts"], entry["claim"] = self.facts, claim_description(claim)
            entry["columns"] = [{"name": f.name, "type": str(f.type)} for f in changed.schema]

        edit_both(folder, edit)
        shown = told.public().records
        assert shown is not None
        for name in formats_of(self.kind):
            write_record_file(shown, folder / "public" / f"records.{name}", name)


class Told(Protocol):
    """What is told of a release of one step, true or not."""

    old: Columns
    changed: Columns
    method: dict[str, Any]
    facts: dict[str, Any]
    rows: Columns

    @property
    def truth(self) -> RecordSet: ...

    def homes(self) -> dict[Any, list[int]]: ...


# ---- what is true -----------------------------------------------------------------------------------------------


def truly_swapped(lie: Told) -> bool:
    """Whether households that agree can be paired so that each pair exchanged areas, in the numbers that are told."""
    method, facts, old, new = lie.method, lie.facts, lie.old, lie.changed["area"]
    like = list(dict.fromkeys([*method["profile"], *lie.truth.strata]))
    if None in new or facts["profile"] != like or not {method["household"], *like} <= set(old):
        return False
    broad = old[method["within"]] if method["within"] else ["all"] * len(new)
    if len(set(zip(old["area"], broad, strict=True))) > len(set(old["area"])):
        return False
    waiting: Counter[tuple[Any, ...]] = Counter()
    regions: Counter[Any] = Counter()
    moved = 0
    for rows in lie.homes().values():
        places = {(old["area"][row], new[row], broad[row]) for row in rows}
        if len(places) > 1:
            return False
        here, there, region = places.pop()
        regions[region] += 1
        if here == there:
            continue
        moved += 1
        who = (region, len(rows), *(tuple(sorted(old[name][row] for row in rows)) for name in like))
        if waiting[(*who, there, here)]:
            waiting[(*who, there, here)] -= 1
        else:
            waiting[(*who, here, there)] += 1
    selected = sum(int(Fraction(str(method["rate"])) * count + Fraction(1, 2)) for count in regions.values())
    told = facts["households"] == regions.total() and facts["moved"] == moved > 0
    alone = type(facts["alone"]) is int and 0 <= facts["alone"] <= selected - moved // 2
    return told and alone and not waiting.total() and facts["telling"] == _telling(lie)


def _telling(lie: Told) -> list[str]:
    """Columns in sight whose codes each lie in one area, though most are there more than once."""
    found = []
    for name, values in lie.old.items():
        if name == "area" or lie.truth.about(name).role in ("identifier", "household") or name == "tax":
            continue
        pairs = Counter(zip(values, lie.old["area"], strict=True))
        alone = sum(count == 1 for count in pairs.values())
        if len(pairs) == len(set(values)) and 2 * alone <= len(values):
            found.append(name)
    return found


def truly_multiplied(lie: Told) -> bool:
    """Whether every value moved as far as the factors say, rounded up to a unit, and households one way."""
    method, facts = lie.method, lie.facts
    least, most = (Fraction(str(method[end])) - 1 for end in "ab")
    columns = list(method["columns"]) or ["income", "tax"]
    if not 0 < least < most < 1 or facts["columns"] != columns != [] or facts["company"] != "home":
        return False
    if set(lie.changed) != set(columns) or facts["decimals"] != [0 if name == "income" else 2 for name in columns]:
        return False
    ways: dict[Any, set[bool]] = {}
    for name in columns:
        unit = 1 if name == "income" else 100
        one = name if method["factors"] == "variable" else ""
        for home, old, new in zip(lie.old["home"], lie.old[name], lie.changed[name], strict=True):
            if new is None or any(value != round(value * unit) / unit for value in (old, new)) or old < 0:
                return False
            own, far = round(old * unit), round(new * unit) - round(old * unit)
            if not _up(own * least) <= abs(far) <= _up(own * most):
                return False
            ways.setdefault((home, one), set()).update({far > 0} if far else ())
    return all(len(way) < 2 for way in ways.values())


def _up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)


# ---- lies about swapped records ---------------------------------------------------------------------------------

Edit = Callable[[Lie, random.Random], None]


def other_areas(lie: Lie, draw: random.Random) -> None:
    """Households, or some of their members, are somewhere else; two may have exchanged areas."""
    area, homes = lie.changed["area"], list(lie.homes().values())
    for _ in range(draw.randrange(1, 4)):
        one, two = draw.sample(homes, 2)
        if draw.random() < 0.6:
            here, there = area[one[0]], area[two[0]]
            for rows, code in ((one, there), (two, here)):
                for row in rows:
                    area[row] = code
        else:
            code = draw.choice(["N1", "N2", "S1", "S2"])
            for row in one[: draw.randrange(1, 4)]:
                area[row] = code
    if draw.random() < 0.8:
        lie.facts["moved"] = sum(lie.old["area"][rows[0]] != area[rows[0]] for rows in homes)
    lie.facts["alone"] = draw.choice([0, 0, lie.facts["alone"]])


def other_numbers(lie: Lie, draw: random.Random) -> None:
    """One of the numbers or lists that the claim rests on is another one."""
    name = draw.choice(["households", "moved", "alone", "profile", "telling"])
    if name in ("profile", "telling"):
        lie.facts[name] = draw.choice([[], ["sex"], ["sex", "band"], ["region"], ["band", "sex"]])
    else:
        lie.facts[name] = max(lie.facts[name] + draw.choice([-40, -2, -1, 1, 2, 5, 40]), -1)


def other_exchange(lie: Lie, draw: random.Random) -> None:
    """The exchange is said to have been another one."""
    way = draw.randrange(3)
    if way == 0:
        lie.method["rate"] = draw.choice([0.01, 0.1, 0.2, 0.3, 0.4, 0.6, 1.0])
    elif way == 1:
        lie.method["within"] = draw.choice([None, "band", "sex", "area"])
    else:
        lie.method["profile"] = draw.choice([[], ["band"], ["band", "sex"], ["region"], ["income"]])
        lie.facts["profile"] = list(dict.fromkeys([*lie.method["profile"], "band"]))


def another_past(lie: Lie, draw: random.Random) -> None:
    """The original is said to have been otherwise, of one record or of a household."""
    name = draw.choice(["area", "region", "sex", "band", "home"])
    rows = draw.choice(list(lie.homes().values()))
    value = draw.choice(lie.old[name])
    for row in rows if draw.random() < 0.7 else rows[:1]:
        lie.old[name][row] = value
    homes = list(lie.homes().values())
    lie.facts["households"] = len(homes)
    if draw.random() < 0.5:
        lie.facts["moved"] = sum(lie.old["area"][one[0]] != lie.changed["area"][one[0]] for one in homes)


# ---- lies about multiplied records ------------------------------------------------------------------------------


def other_values(lie: Lie, draw: random.Random) -> None:
    """Values moved by another share of what they were, or by a unit more or less."""
    for _ in range(draw.randrange(1, 3)):
        name = draw.choice(list(lie.changed))
        unit, row = 1 if name == "income" else 100, draw.randrange(len(lie.changed[name]))
        own = round(lie.old[name][row] * unit)
        if draw.random() < 0.5:
            new = round(lie.changed[name][row] * unit) + draw.choice([-1, 1])
        else:
            new = own + draw.choice([-1, 1]) * _up(own * Fraction(draw.choice([0, 5, 9, 10, 15, 20, 21, 40]), 100))
        lie.changed[name][row] = new if unit == 1 else new / unit


def other_units(lie: Lie, draw: random.Random) -> None:
    """Units, columns or companies are said to be others."""
    name, value = draw.choice(
        [
            ("decimals", [0, 3]),
            ("decimals", [0, 1]),
            ("decimals", [1, 2]),
            ("decimals", [0, 9]),
            ("columns", ["tax", "income"]),
            ("columns", ["income", "sex"]),
            ("company", None),
            ("company", "id"),
            ("company", "region"),
        ]
    )
    lie.facts[name] = value


def other_factors(lie: Lie, draw: random.Random) -> None:
    """The factors are said to have been others."""
    name, value = draw.choice(
        [
            *(("a", a) for a in (1.0, 1.01, 1.05, 1.12, 1.15, 1.19, 1.2)),
            *(("b", b) for b in (1.11, 1.15, 1.19, 1.3, 1.99, 2.0, 3.0)),
            ("factors", "variable"),
            ("columns", ["income"]),
            ("columns", ["income", "tax"]),
        ]
    )
    lie.method[name] = value
    if name == "columns":
        lie.facts["columns"], lie.facts["decimals"] = value, [0, 2][: len(value)]


def another_value_before(lie: Lie, draw: random.Random) -> None:
    """The original is said to have been otherwise, or somebody to live elsewhere."""
    name, row = draw.choice(["income", "tax", "home"]), draw.randrange(len(lie.old["home"]))
    lie.old[name][row] = draw.choice(lie.old[name]) if draw.random() < 0.5 else lie.old[name][row] + 1


# ---- forgers ----------------------------------------------------------------------------------------------------


def _told(kind: str, edit: Edit, true: Callable[[Lie], bool]) -> Callable[[Path, random.Random], bool | None]:
    """A forger that tells a lie; it must be refused unless it is true after all."""

    def forge(folder: Path, draw: random.Random) -> bool | None:
        lie, before = Lie.about(kind), Lie.about(kind)
        edit(lie, draw)
        if lie == before:
            return None
        lie.write(folder)
        return not true(lie)

    return forge


def forgers_of(kind: str, true: Callable[[Lie], bool], *edits: Edit) -> Mapping[str, Any]:
    """Forgers of one kind of release, by their names."""
    return {edit.__name__: _told(kind, edit, true) for edit in edits}


FORGERS_OF_SWAPS = forgers_of("swap", truly_swapped, other_areas, other_numbers, other_exchange, another_past)
FORGERS_OF_NOISE = forgers_of("noise", truly_multiplied, other_values, other_units, other_factors, another_value_before)
