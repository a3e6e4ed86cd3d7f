"""What contributors can rule out, cell by cell against the plain definition, where borders are met often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from discreet.attack.pairs import Coalition
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.relations.filling import Filling
from discreet.solve.small import Alternative
from discreet.tables.suppress.attackers import EVERYBODY, Attackers
from discreet.tables.suppress.coalitions import Coalitions, _first, _groups

LISTED = 3
"""So many contributors of a cell are known by name."""
PEOPLE, UNNAMED = 5, -9


@dataclass
class Cells:
    """As much of a system as attackers ask for."""

    value: np.ndarray
    lower_bound: np.ndarray
    upper_bound: np.ndarray
    contributors: np.ndarray
    holder: np.ndarray
    own: np.ndarray
    without_negative: np.ndarray
    filling: Filling

    def __len__(self) -> int:
        return len(self.value)


def cells_of(rng: np.random.Generator, size: int = 6) -> Cells:
    """Cells of up to five contributors with very small contributions; some of them name fewer than they could."""
    value, lower, upper, count = (np.zeros(size, np.int64) for _ in range(4))
    holder, own = np.full((size, LISTED), -1, np.int64), np.zeros((size, LISTED), np.int64)
    for cell in range(size):
        negative = rng.random() < 0.3
        parts = sorted(rng.integers(-2 if negative else 0, 4, rng.integers(0, PEOPLE + 1)).tolist(), reverse=True)
        count[cell], value[cell] = len(parts), sum(parts)
        named = min(len(parts), int(rng.integers(0, LISTED + 1)))
        holder[cell, :named] = rng.permutation(PEOPLE)[:named]
        own[cell, :named] = parts[:named]
        if len(parts) == 1 and not named:
            holder[cell, 0] = -2 - cell
        low = (
            min(int(value[cell]), int(rng.choice([-7, -2, -1])))
            if negative
            else int(rng.integers(0, value[cell] + 1))
            if rng.random() < 0.3
            else 0
        )
        lower[cell] = NO_LOWER if rng.random() < 0.2 else low
        upper[cell] = NO_UPPER if rng.random() < 0.5 else value[cell] + rng.integers(0, 3)
    return Cells(value, lower, upper, count, holder, own, lower >= 0, filling_of(rng, size))


def filling_of(rng: np.random.Generator, size: int) -> Filling:
    """Somebody without a name fills a part of every other cell."""
    start = (np.arange(size + 1) + 1) // 2
    return Filling(start, np.full(start[-1], UNNAMED), rng.integers(1, 6, start[-1]))


def alternative_of(rng: np.random.Generator, size: int) -> Alternative:
    cells = np.sort(rng.permutation(size)[: rng.integers(1, 4)]).astype(np.int32)
    amount = rng.choice([-4, -3, -2, -1, 0, 1, 2, 3], len(cells)).astype(np.int64)
    return Alternative(cells, amount, int(rng.choice([1, 1, 2, 3])), 0.0)


class Plain:
    """The definitions, one cell at a time and in fractions."""

    several: frozenset[int] = frozenset()

    def __init__(self, cells: Cells, insiders: str | None, integral: np.ndarray) -> None:
        self.cells, self.insiders, self.integral = cells, insiders, integral

    def count(self, cell: int) -> int:
        return int(self.cells.contributors[cell])

    def bounded(self, cell: int) -> bool:
        return bool(self.cells.lower_bound[cell] != NO_LOWER)

    def named(self, cell: int) -> dict[int, int]:
        """Who is listed, and what they have; where a cell may be of any size, that says nothing."""
        pairs = zip(self.cells.holder[cell].tolist(), self.cells.own[cell].tolist(), strict=True)
        return {h: max(own, 0) if h >= 0 and self.bounded(cell) else 0 for h, own in pairs if h != -1}

    def more(self, cell: int) -> int:
        """How many are not listed, where somebody is."""
        return self.count(cell) - len(self.named(cell)) if self.named(cell) else 0

    def last(self, cell: int) -> int:
        """The most that somebody can have who is not listed."""
        return list(self.named(cell).values())[-1] if self.named(cell) else 0

    def others(self, cell: int) -> int:
        """What a cell has above the least that others must leave it."""
        return int(self.cells.value[cell]) - min(int(self.cells.lower_bound[cell]), 0)

    def whole(self, alternative: Alternative) -> bool:
        return any(self.integral[c] for c in alternative.cells)

    def sees(self, alternative: Alternative, cell: int, move: Fraction, own: int) -> bool:
        """Whether somebody with so much in a cell knows that it cannot have fallen so far, or at all."""
        if self.insiders == "nonzero" and not self.whole(alternative):
            return own >= self.others(cell)
        return self.others(cell) + move < own

    def falling(self, alternative: Alternative, sign: int, target: int) -> Iterator[tuple[int, Fraction]]:
        """Cells of several that fall, and by how much; the target may do so in smaller steps."""
        for cell, amount in zip(alternative.cells.tolist(), alternative.amount.tolist(), strict=True):
            one = cell == target and cell not in self.several
            smaller = one and self.insiders == "full" and not self.whole(alternative)
            if sign * amount < 0 and self.bounded(cell) and not smaller and self.count(cell) != 1:
                yield cell, Fraction(sign * amount, alternative.denominator)

    def against(self, alternative: Alternative, sign: int, target: int) -> set[int] | None:
        found = {int(self.cells.holder[c, 0]) for c in alternative.cells if self.count(c) == 1}
        for cell, move in self.falling(alternative, sign, target):
            if self.more(cell) and self.sees(alternative, cell, move, self.last(cell)):
                return EVERYBODY
            found |= {h for h, own in self.named(cell).items() if self.sees(alternative, cell, move, own)}
        return found

    def pairs_against(self, alternative: Alternative, sign: int, target: int) -> tuple[set[int], set[Coalition]] | None:
        alone = self.against(alternative, sign, target)
        if alone is EVERYBODY:
            return EVERYBODY
        pairs: set[Coalition] = set()
        for cell in set(alternative.cells.tolist()) - {target}:
            if self.count(cell) == 2 and len(self.named(cell)) == 2:
                pairs.add(Coalition(self.named(cell)))
            elif self.count(cell) == 2:
                alone |= set(self.named(cell))
        for cell, move in self.falling(alternative, sign, target):
            named, last, more = self.named(cell), self.last(cell), self.more(cell)
            if self.count(cell) == 2 or not named:
                continue
            if more > 1 and self.sees(alternative, cell, move, 2 * last):
                return EVERYBODY
            alone |= {h for h, own in named.items() if more and self.sees(alternative, cell, move, own + last)}
            pairs |= {
                Coalition(two)
                for two in combinations(named, 2)
                if self.sees(alternative, cell, move, named[two[0]] + named[two[1]])
            }
        return alone, pairs

    def reverses(self, alternative: Alternative) -> bool:
        value = [self.cells.value[c] - alternative.move(c) for c in alternative.cells.tolist()]
        low, high = self.cells.lower_bound[alternative.cells], self.cells.upper_bound[alternative.cells]
        return all(
            (lo == NO_LOWER or v >= lo) and (hi == NO_UPPER or v <= hi)
            for v, lo, hi in zip(value, low, high, strict=True)
        )

    def excluded(self, target: int, direction: int, level: int) -> set[int]:
        named = self.named(target)
        if self.count(target) == 1:
            return set(named)
        if direction > 0 or not self.bounded(target):
            return set()
        left = self.others(target) - level
        no_room = {h for h, own in named.items() if own > left}
        start, _, amount = self.cells.filling
        for fills in amount[start[target] : start[target + 1]].tolist():
            no_room |= {UNNAMED} if fills > min(left, self.cells.value[target] / 2) else set()
        return set(list(named)[:1]) | (no_room if self.cells.without_negative[target] else set())

    def spared(self, target: int, direction: int, level: int, pair: Coalition) -> bool:
        named = self.named(target)
        if not self.excluded(target, direction, level).isdisjoint(pair):
            return True
        fill = pair == set(named) if named else max(pair) < -1
        if self.count(target) == len(pair) == 2 and fill:
            return True
        if direction > 0 or not self.cells.without_negative[target]:
            return False
        return sum(named.get(h, 0) for h in pair) > self.others(target) - level

    def floor(self, cell: int, together: int) -> int:
        """How far a cell may fall in a search, where so many together may be among those who are not listed."""
        low, value = int(self.cells.lower_bound[cell]), int(self.cells.value[cell])
        most = together * self.last(cell)
        if self.insiders is None or not self.bounded(cell) or self.more(cell) < together:
            return low
        if self.insiders == "nonzero" and not self.integral[cell] and most < self.others(cell):
            return low
        return max(low, min(min(low, 0) + most, value))

    def known(self, insiders: set[int], pairs: bool, assumed: bool) -> tuple[set[int], dict[int, int]]:
        """Cells that some insiders know, each alone or any two, and the least that they know of others."""
        alone, least = set(), {}
        for cell in range(len(self.cells)):
            mine = sorted((own for h, own in self.named(cell).items() if h in insiders), reverse=True)
            if not mine:
                continue
            with_another = assumed and self.more(cell) > 0
            if self.count(cell) == 1 or (pairs and self.count(cell) == 2 and (len(mine) == 2 or with_another)):
                alone.add(cell)
            elif self.bounded(cell):
                low, value = int(self.cells.lower_bound[cell]), int(self.cells.value[cell])
                most = max(sum(mine[: 1 + pairs]), mine[0] + (self.last(cell) if with_another else 0))
                known = max(low, min(low, 0) + most)
                least[cell] = min(known, value) if pairs else known
        return alone, least


def drawn(kind: type[Attackers], insiders: str | None, rounds: int) -> Iterator[tuple[Any, Plain, np.random.Generator]]:
    """Random cells, what is tested and what is expected."""
    rng = np.random.default_rng(18)
    for _ in range(rounds):
        cells = cells_of(rng)
        integral = rng.random(len(cells)) < 0.2
        yield kind(cells, insiders, None, integral), Plain(cells, insiders, integral), rng


def as_plain(known: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[set[int], dict[int, int]]:
    alone, cells, least = known
    return set(alone.tolist()), dict(zip(cells.tolist(), least.tolist(), strict=True))


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_who_rules_out_an_alternative(insiders):
    outcomes = set()
    for attackers, plain, rng in drawn(Attackers, insiders, 600):
        alternative = alternative_of(rng, len(plain.cells))
        for sign in (1, -1):
            target = int(rng.choice(alternative.cells))
            expected = plain.against(alternative, sign, target)
            assert attackers.against(alternative, sign, target) == expected
            outcomes.add("everybody" if expected is EVERYBODY else len(expected))
    assert {"everybody", 0, 1, 2} <= outcomes


def test_a_target_that_stands_for_twins_is_not_spared():
    differs = 0
    for attackers, plain, rng in drawn(Attackers, "full", 600):
        twins = rng.random(len(plain.cells)) < 0.5
        attackers.several, plain.several = twins, frozenset(np.flatnonzero(twins).tolist())
        alternative = alternative_of(rng, len(plain.cells))
        target = int(rng.choice(alternative.cells))
        expected = plain.against(alternative, -1, target)
        assert attackers.against(alternative, -1, target) == expected
        plain.several = frozenset()
        differs += expected != plain.against(alternative, -1, target)
    assert differs > 3


@pytest.mark.parametrize("insiders", ["full", "nonzero"])
def test_which_two_rule_out_an_alternative(insiders):
    outcomes = set()
    for attackers, plain, rng in drawn(Coalitions, insiders, 900):
        alternative = alternative_of(rng, len(plain.cells))
        for sign in (1, -1):
            target = int(rng.choice(alternative.cells))
            expected = plain.pairs_against(alternative, sign, target)
            found = attackers.rulers(alternative, sign, target)
            assert (found is EVERYBODY) == (expected is EVERYBODY)
            if expected is not EVERYBODY:
                assert (found.alone, found.pairs) == expected
                outcomes.add((bool(expected[0]), bool(expected[1])))
    assert len(outcomes) == 4


def test_two_who_are_not_listed_may_be_anybody():
    """Two of four are listed, with 4 and 3; of the rest each may have 3, so that the cell cannot fall below 6."""
    cells = cells_of(np.random.default_rng(0), 1)
    cells.value[:], cells.lower_bound[:], cells.contributors[:] = 12, 0, 4
    cells.holder[:], cells.own[:] = [[0, 1, -1]], [[4, 3, 0]]
    attackers = Coalitions(cells, "nonzero", None, np.ones(1, np.bool_))

    def falls(by: int) -> Alternative:
        return Alternative(np.zeros(1, np.int32), np.array([-by]), 1, 0.0)

    assert attackers.rulers(falls(7), 1, target=5) is EVERYBODY
    six = attackers.rulers(falls(6), 1, target=5)
    assert six is not None
    assert (six.alone, six.pairs) == ({0}, {Coalition((0, 1))})
    five = attackers.rulers(falls(5), 1, target=5)
    assert five is not None
    assert (five.alone, five.pairs) == (set(), set())


def test_the_opposite_of_an_alternative_keeps_the_bounds():
    outcomes = []
    for attackers, plain, rng in drawn(Attackers, "full", 600):
        alternative = alternative_of(rng, len(plain.cells))
        outcomes.append(plain.reverses(alternative))
        assert attackers.reverses(alternative) == outcomes[-1]
    assert len(set(outcomes)) == 2


@pytest.mark.parametrize("direction", [1, -1])
def test_from_whom_a_level_need_not_be_kept(direction):
    for attackers, plain, rng in drawn(Coalitions, "full", 300):
        target, level = int(rng.integers(len(plain.cells))), int(rng.integers(1, 5))
        assert attackers.excluded(target, direction, level) == plain.excluded(target, direction, level)
        spared = attackers.spared(target, direction, level)
        people = [UNNAMED, -3, -2, *range(PEOPLE)]
        for pair in map(Coalition, [*combinations(people, 1), *combinations(people, 2)]):
            assert spared.has(pair) == plain.spared(target, direction, level, pair)


@pytest.mark.parametrize("insiders", ["full", "nonzero", None])
def test_how_far_cells_may_fall_in_a_search(insiders):
    for attackers, plain, _ in drawn(Attackers, insiders, 100):
        assert attackers.floor.tolist() == [plain.floor(c, 1) for c in range(len(plain.cells))]
    if insiders:
        for attackers, plain, _ in drawn(Coalitions, insiders, 200):
            expected = [max(plain.floor(c, 1), plain.floor(c, 2)) for c in range(len(plain.cells))]
            assert attackers.floor.tolist() == expected


def test_what_insiders_know():
    for attackers, plain, rng in drawn(Attackers, "full", 200):
        insiders = set(rng.choice(range(-4, PEOPLE), rng.integers(1, 4)).tolist()) - {-1}
        assert as_plain(attackers.knowledge(insiders)) == plain.known(insiders, pairs=False, assumed=False)
    for attackers, plain, rng in drawn(Coalitions, "full", 300):
        insiders = set(rng.choice(range(-4, PEOPLE), rng.integers(1, 4)).tolist()) - {-1}
        assert as_plain(attackers.knowledge(insiders)) == plain.known(insiders, pairs=True, assumed=False)
        assert as_plain(attackers.guarded(insiders)) == plain.known(insiders, pairs=True, assumed=True)


def test_an_alternative_is_looked_for_against_all_then_the_busiest_then_one_coalition():
    left = {Coalition((3,)), Coalition((1, 2)), Coalition((2, 4))}
    assert _groups(left) == [{1, 2, 3, 4}, {1, 2, 4}, {3}]
    assert _groups({Coalition((1, 2))}) == [{1, 2}]
    assert _groups(EVERYBODY) == _groups(set()) == [set()]
    assert _first(left) == {3}
    assert _first({Coalition((1, 4)), Coalition((1, 2))}) == {1, 2}
    assert _first(EVERYBODY) == Coalition()
