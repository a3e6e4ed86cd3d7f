"""Lies about releases of post-randomised records, told alike in every file; and what is true of them."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

from tests.attack.forged_moves import Lie, Told, forgers_of

BANDS, AREAS, SEXES = ("a", "b"), ("N1", "N2", "S1", "S2"), ("f", "m")
NEAR = Fraction(1, 10**9)
Rows = list[list[Fraction]]


def truly_randomised(lie: Told) -> bool:
    """Whether moves are those that are there, with the matrices that the method states, and none is impossible."""
    facts, entries = lie.facts, lie.facts["matrices"]
    told = [(entry["column"], tuple(entry["stratum"])) for entry in entries]
    if sorted(told) != [("area", ("a",)), ("area", ("b",)), ("sex", ())] or set(lie.changed) != {"area", "sex"}:
        return False
    moved = [sum(a != b for a, b in zip(lie.old[n], lie.changed[n], strict=True)) for n in ("area", "sex")]
    if facts["changed"] != moved or facts["rows"] != len(lie.old["area"]) or facts["within"] != ["band"]:
        return False
    return all(_is_true(lie, entry) for entry in entries)


def _is_true(lie: Told, entry: dict[str, Any]) -> bool:
    name, codes = entry["column"], AREAS if entry["column"] == "area" else SEXES
    if tuple(entry["codes"]) != codes:
        return False
    moves = counted_moves(lie, name, entry["stratum"])
    times = [sum(moves[old, new] for new in codes) for old in codes]
    wanted = _wanted(lie.method["matrices"][name], codes, times)
    if wanted is None:
        return False
    for i, old in enumerate(codes):
        for j, new in enumerate(codes):
            chance = Fraction(entry["chances"][i][j])
            if entry["moves"][i][j] != moves[old, new] or abs(chance - wanted[i][j]) > NEAR:
                return False
            if moves[old, new] and not chance:
                return False
    return True


def counted_moves(lie: Told, name: str, stratum: list[str]) -> Counter[tuple[Any, Any]]:
    """How many records went from code to code, all or those of a band."""
    rows = zip(lie.old[name], lie.changed[name], lie.old["band"], strict=True)
    return Counter((old, new) for old, new, band in rows if not stratum or [band] == stratum)


def _wanted(given: Any, codes: tuple[str, ...], times: list[int]) -> Rows | None:
    """The matrix in exact fractions; nothing where the notation is for other numbers of codes."""
    size = range(len(codes))
    if isinstance(given, dict):
        return [[Fraction(given[old].get(new, 0)) for new in codes] for old in codes]
    kind, stay = given[1], Fraction(given[3:-1])
    if int(given[0]) != len(codes):
        return None
    found = []
    for i in size:
        rest = sum(times) - times[i]
        if kind == "F" and rest:
            row = [(1 - stay) * (rest - times[j]) / ((len(codes) - 2) * rest) for j in size]
        else:
            row = [(1 - stay) / (len(codes) - 1) for _ in size]
        row[i] = stay
        found.append(row)
    return found


# ---- lies -------------------------------------------------------------------------------------------------------


def _recounted(lie: Lie) -> None:
    lie.facts["changed"] = [
        sum(a != b for a, b in zip(lie.old[n], lie.changed[n], strict=True)) for n in ("area", "sex")
    ]
    for entry in lie.facts["matrices"]:
        moves = counted_moves(lie, entry["column"], entry["stratum"])
        entry["moves"] = [[moves[old, new] for new in entry["codes"]] for old in entry["codes"]]


def other_codes(lie: Lie, draw: random.Random) -> None:
    """Some records were published with another code, perhaps one that nobody knows."""
    for _ in range(draw.randrange(1, 3)):
        name = draw.choice(["area", "sex"])
        code = draw.choice([*(AREAS if name == "area" else SEXES), "N9"])
        lie.changed[name][draw.randrange(len(lie.changed[name]))] = code
    if draw.random() < 0.7:
        _recounted(lie)


def other_counts(lie: Lie, draw: random.Random) -> None:
    """Numbers of moves, of changes or of records are others."""
    way = draw.randrange(3)
    if way == 0:
        lie.facts["rows"] += draw.choice([-1, 1])
    elif way == 1:
        lie.facts["changed"][draw.randrange(2)] += draw.choice([-1, 1])
    else:
        row = draw.choice(draw.choice(lie.facts["matrices"])["moves"])
        row[0], row[1] = row[0] + 1, row[1] - 1


def other_chances(lie: Lie, draw: random.Random) -> None:
    """A chance is a little more, another a little less; or two rows of areas change places."""
    entry = lie.facts["matrices"][draw.randrange(2)]
    row = draw.choice(entry["chances"])
    less = draw.choice([1e-3, 1e-6, row[1]])
    row[0], row[1] = row[0] + less, row[1] - less
    if draw.random() < 0.3:
        entry["chances"][0], entry["chances"][1] = entry["chances"][1], entry["chances"][0]


def other_matrix(lie: Lie, draw: random.Random) -> None:
    """The method is said to have had another matrix, or other codes, or to be invariant."""
    way = draw.randrange(4)
    if way == 0:
        lie.method["matrices"]["area"] = draw.choice(["4E(0.7)", "4F(0.71)", "3F(0.7)", "4F(0.70)"])
    elif way == 1:
        stay = draw.choice([0.7, 0.75, 0.9])
        lie.method["matrices"]["sex"] = {"m": {"m": stay, "f": 1 - stay}, "f": {"f": 0.8, "m": 0.2}}
    elif way == 2:
        lie.method["matrices"]["sex"] = {"m": {"m": 0.75, "f": 0.25}, "f": {"f": 0.8, "m": 0.2}, "x": {"x": 1.0}}
    else:
        lie.facts["matrices"] = draw.choice([lie.facts["matrices"][:2], lie.facts["matrices"][::-1]])


def another_code_before(lie: Lie, draw: random.Random) -> None:
    """The original is said to have been otherwise; moves follow, matrices do not."""
    name = draw.choice(["area", "sex", "band"])
    row = draw.randrange(len(lie.old[name]))
    lie.old[name][row] = draw.choice(lie.old[name])
    if draw.random() < 0.8:
        _recounted(lie)


FORGERS_OF_PRAM = forgers_of(
    "pram", truly_randomised, other_codes, other_counts, other_chances, other_matrix, another_code_before
)
