"""Families of certificates, with alternatives and insiders that are laid down beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from discreet.attack.pairs import Coalition, Rulers, Spared
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.model.evidence import DOWN, MOVES, UP
from discreet.solve.small import Alternative
from discreet.tables.suppress.attackers import EVERYBODY
from discreet.tables.suppress.coalitions import TRIES, CoalitionFamilies
from discreet.tables.suppress.families import EVERYWHERE, NEARBY, CertificateFamilies, Member, Unprotected

TARGET = 2


def moving(by: int, cost: float = 0.0, beside: int = 1) -> Alternative:
    """An alternative that moves the target, and another cell the other way."""
    return Alternative(np.array([beside, TARGET], np.int32), np.array([-by, by]), 1, cost)


class Programs:
    """Gives alternatives in the order in which they were laid down, and notes what was looked for."""

    def __init__(self, found: Sequence[Alternative | None]) -> None:
        self.waiting = list(found)
        self.withheld = np.zeros(5, np.bool_)
        self.spent = 100.0
        self.budgets: list[float] = []
        self.asked: list[tuple[int, int, tuple[int, int]]] = []
        self.held: list[list[int]] = []

    def find(self, target: int, direction: int, level: int, budget: float, *sizes: int) -> Alternative | None:
        assert target == TARGET
        self.asked.append((direction, level, (sizes[0], sizes[1])))
        self.budgets.append(budget)
        return self.waiting.pop(0) if self.waiting else None

    @contextmanager
    def fixed(self, cells: np.ndarray, lower_cells: np.ndarray, lower: np.ndarray) -> Iterator[None]:
        self.held.append(cells.tolist())
        yield

    def withhold(self, cells: np.ndarray) -> None:
        self.withheld[cells] = True

    def release(self, cells: np.ndarray) -> None:
        self.withheld[cells] = False


class Insiders:
    """Attackers of whom it is laid down who rules out which alternative. An insider fills the cell of its number."""

    def __init__(self, insiders: str | None, rules_out: dict[int, set[int] | None], turns: bool = True) -> None:
        self.insiders, self.rules_out, self.turns = insiders, rules_out, turns
        self.value, self.lower, self.upper = np.full(5, 100), np.zeros(5, np.int64), np.full(5, NO_UPPER)

    def against(self, alternative: Alternative, sign: int, target: int) -> set[int] | None:
        return self.rules_out[id(alternative)]

    def excluded(self, target: int, direction: int, level: int) -> set[int]:
        return {9}

    def reverses(self, alternative: Alternative) -> bool:
        return self.turns

    def knowledge(self, insiders: set[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        none = np.zeros(0, np.int64)
        return np.array(sorted(insiders), np.int64), none, none


def families(
    found: Sequence[Alternative | None], insiders: Insiders, up: int = 0, down: int = 0
) -> tuple[CertificateFamilies, Programs]:
    programs: Any = Programs(found)
    attackers: Any = insiders
    return CertificateFamilies(programs, attackers, np.full(5, up), np.full(5, down)), programs


def against(*pairs: tuple[Alternative, set[int] | None]) -> dict[int, set[int] | None]:
    return {id(alternative): insiders for alternative, insiders in pairs}


def test_outsiders_need_one_alternative_each_way():
    up, down = moving(5), moving(-7)
    maker, programs = families([up, down], Insiders(None, {}), up=5, down=7)
    assert maker.make(TARGET, []) == [Member(UP, up, 1), Member(DOWN, down, 1)]
    assert programs.asked == [(1, 5, (0, EVERYWHERE)), (-1, 7, (0, EVERYWHERE))]
    assert maker.found == [up, down]
    assert [cells.tolist() for cells in maker.new] == [[1, TARGET], []]


@pytest.mark.parametrize("insiders", [None, "full", "nonzero"])
def test_a_cell_that_needs_nothing_gets_nothing(insiders):
    maker, programs = families([moving(5)], Insiders(insiders, {}))
    assert maker.make(TARGET, []) == []
    assert programs.asked == []


@pytest.mark.parametrize(("by", "sign"), [(5, 1), (-5, -1)])
def test_what_goes_just_far_enough_serves_the_other_way_round(by, sign):
    up = moving(by)
    maker, programs = families([], Insiders(None, {}), up=5, down=5)
    assert maker.make(TARGET, [Member(UP, up, sign)]) == [Member(UP, up, sign), Member(DOWN, up, -sign)]
    assert programs.asked == []


def test_what_goes_not_far_enough_or_breaks_bounds_does_not():
    up, down = moving(5), moving(-6)
    for insiders, level in ((Insiders(None, {}), 6), (Insiders(None, {}, turns=False), 5)):
        maker, programs = families([down], insiders, up=5, down=level)
        assert maker.make(TARGET, [Member(UP, up, 1)]) == [Member(UP, up, 1), Member(DOWN, down, 1)]
        assert programs.asked == [(-1, level, (0, EVERYWHERE))]


def test_what_was_kept_goes_before_what_could_be_turned_round():
    up, down = moving(5), moving(-5)
    maker, _ = families([], Insiders(None, {}), up=5, down=5)
    kept = [Member(UP, up, 1), Member(DOWN, down, 1)]
    assert maker.make(TARGET, kept) == kept


def test_members_are_added_until_no_insider_rules_out_all():
    one, two, three = moving(5), moving(5), moving(5)
    rules = against((one, {1, 4}), (two, {3, 4}), (three, {1, 3}))
    maker, programs = families([one, two, three], Insiders("full", rules), up=5)
    assert maker.make(TARGET, []) == [Member(UP, a, 1) for a in (one, two, three)]
    assert programs.held == [[1, 4], [4]]
    assert [sizes for _, _, sizes in programs.asked] == [(0, EVERYWHERE), (0, NEARBY), (0, NEARBY)]


def test_whom_the_level_need_not_be_kept_from_is_not_looked_at():
    one = moving(5)
    maker, programs = families([one], Insiders("full", against((one, {9}))), up=5)
    assert maker.make(TARGET, []) == [Member(UP, one, 1)]
    assert len(programs.asked) == 1


def test_an_alternative_that_anybody_may_rule_out_is_not_enough():
    bad, good = moving(5), moving(5)
    maker, programs = families([bad, good], Insiders("full", against((bad, EVERYBODY), (good, set()))), up=5)
    assert maker.make(TARGET, []) == [Member(UP, good, 1)]
    assert programs.held == []
    maker, _ = families([bad, bad], Insiders("full", against((bad, EVERYBODY))), up=5)
    assert maker.make(TARGET, []) == Unprotected(UP)


def test_all_insiders_are_tried_nearby_then_one_then_further_away():
    one = moving(5)
    maker, programs = families([one], Insiders("full", against((one, {1, TARGET, 4}))), up=5)
    assert maker.make(TARGET, []) == Unprotected(UP, frozenset({1}))
    assert programs.held == [[1, 4], [1], [1, 4], [1]]  # the target itself has to move
    assert [sizes for _, _, sizes in programs.asked[1:]] == [(0, NEARBY)] * 2 + [(NEARBY, EVERYWHERE)] * 2
    maker, programs = families([one], Insiders("full", against((one, {4}))), up=5)
    assert maker.make(TARGET, []) == Unprotected(UP, frozenset({4}))
    assert programs.held == [[4], [4]]
    maker, programs = families([one], Insiders("full", against((one, {1, 4}))), up=5)
    assert maker.make(TARGET, []) == Unprotected(UP, frozenset({1}))
    assert programs.held == [[1, 4], [1]] * 2


def test_an_alternative_against_insiders_that_they_rule_out_ends_the_search():
    one, two = moving(5), moving(5)
    maker, programs = families([one, two, two], Insiders("full", against((one, {1}), (two, {1}))), up=5)
    assert maker.make(TARGET, []) == Unprotected(UP, frozenset({1}))
    assert len(programs.asked) == 2


def test_where_one_against_many_is_dear_each_half_is_looked_for():
    free, dear = moving(5), moving(5, cost=50, beside=0)
    low, high = moving(5, cost=0.5, beside=3), moving(5, cost=1, beside=4)
    rules = against((free, {1, 3, 5, 7}), (dear, set()), (low, {5, 7}), (high, {1}))
    maker, programs = families([free, dear, low, high], Insiders("full", rules), up=5)
    assert maker.make(TARGET, []) == [Member(UP, a, 1) for a in (free, low, high)]
    assert programs.held == [[1, 3, 5, 7], [1, 3], [5, 7]]
    assert programs.budgets[2:] == pytest.approx([50, 49.5])
    assert maker.found == [free, low, high]
    assert np.flatnonzero(programs.withheld).tolist() == [1, TARGET, 3, 4]
    assert maker.spent == 1.5


@pytest.mark.parametrize("second", [60.0, None])
def test_halves_that_are_dearer_together_or_not_to_be_had_are_given_up(second):
    free, dear = moving(5), moving(5, cost=50, beside=0)
    low = moving(5, cost=1, beside=3)
    high = None if second is None else moving(5, cost=second, beside=4)
    rules = against((free, {1, 3, 5, 7}), (dear, set()), (low, {5, 7}))
    if high is not None:
        rules |= against((high, set()))
    maker, programs = families([free, dear, low, high], Insiders("full", rules), up=5)
    assert maker.make(TARGET, []) == [Member(UP, free, 1), Member(UP, dear, 1)]
    assert maker.found == [free, dear]
    assert np.flatnonzero(programs.withheld).tolist() == [0, 1, TARGET]
    assert maker.spent == 50


def test_one_against_many_that_costs_little_of_what_is_withheld_is_kept():
    free, cheap = moving(5), moving(5, cost=1, beside=0)
    maker, programs = families([free, cheap], Insiders("full", against((free, {1, 3}), (cheap, set()))), up=5)
    assert maker.make(TARGET, []) == [Member(UP, free, 1), Member(UP, cheap, 1)]
    assert programs.held == [[1, 3]]


def test_kept_members_are_used_where_they_help():
    a, b, c, d = (moving(5) for _ in range(4))
    rules = against((a, {1, 4}), (b, {3, 4}), (c, {1}), (d, set()))
    maker, programs = families([], Insiders("full", rules), up=5)
    kept = [Member(UP, alternative, 1) for alternative in (a, b, c, d)]
    assert maker.make(TARGET, kept) == kept[:3]
    assert programs.asked == []


@pytest.mark.parametrize("useless", [EVERYBODY, {1}, {1, 3}])
def test_kept_members_that_leave_as_many_are_not_used(useless):
    a, b, good = (moving(5) for _ in range(3))
    maker, _ = families([good], Insiders("full", against((a, {1}), (b, useless), (good, set()))), up=5)
    kept = [Member(UP, alternative, 1) for alternative in (a, b)]
    assert maker.make(TARGET, kept) == [kept[0], Member(UP, good, 1)]
    maker, _ = families([good], Insiders("full", against((a, EVERYBODY), (b, EVERYBODY), (good, set()))), up=5)
    assert maker.make(TARGET, kept) == [Member(UP, good, 1)]


@pytest.mark.parametrize(("up", "down", "least"), [(5, 0, 1), (9000, 5000, 9), (5000, 9000, 9), (1999, 1, 1)])
def test_a_thousandth_of_the_level_is_enough_to_move_at_all(up, down, least):
    first, second, both = moving(up or 1), moving(-down or -1), moving(3)
    rules = against((first, {1}), (second, {1}), (both, set()))
    found = [a for a, level in ((first, up), (second, down)) if level]
    insiders = Insiders("nonzero", rules, turns=False)
    insiders.value[:] = 10**6
    maker, programs = families([*found, None, both], insiders, up=up, down=down)
    family = maker.make(TARGET, [])
    assert isinstance(family, list)
    assert family[-1] == Member(MOVES, both, 1)
    # First up, where nothing is found, then down.
    assert programs.asked[len(found) :] == [(1, least, (0, NEARBY)), (-1, least, (0, NEARBY))]


def test_there_is_no_room_beyond_what_everybody_knows():
    maker, _ = families([], Insiders(None, {}))
    attackers: Any = maker.attackers
    attackers.value[:], attackers.lower[:], attackers.upper[:] = 100, 90, 120
    assert [maker._room(TARGET, 1, level) for level in (19, 20, 21)] == [True, True, False]
    assert [maker._room(TARGET, -1, level) for level in (9, 10, 11)] == [True, True, False]
    attackers.lower[:], attackers.upper[:] = NO_LOWER, NO_UPPER
    attackers.value[:] = NO_UPPER - 1
    assert maker._room(TARGET, 1, 5)
    attackers.value[:] = NO_LOWER + 1
    assert maker._room(TARGET, -1, 5)


def test_a_level_without_room_is_not_looked_for():
    attackers = Insiders(None, {})
    maker, programs = families([moving(-101)], attackers, down=101)
    assert maker.make(TARGET, []) == Unprotected(DOWN)
    assert programs.asked == []


# ---- two together -------------------------------------------------------------------------------------------


class Pairs(Insiders):
    """The same, with coalitions that rule alternatives out."""

    def __init__(self, rulers: dict[int, Rulers | None]) -> None:
        super().__init__("full", {})
        self.pairs = rulers

    def rulers(self, alternative: Alternative, sign: int, target: int) -> Rulers | None:
        return self.pairs[id(alternative)]

    def spared(self, target: int, direction: int, level: int) -> Spared:
        return Spared({9})

    def guarded(self, insiders: set[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """They fill the cells of their numbers, and know something of the cells around the target."""
        cells = np.array([TARGET - 1, TARGET, TARGET + 1])
        return np.array(sorted(insiders), np.int64), cells, 10 * cells


def pair_families(found: Sequence[Alternative | None], *rules: Rulers | None) -> tuple[CoalitionFamilies, Programs]:
    """Each of the alternatives is ruled out by the coalitions in its place."""
    programs: Any = Programs(found)
    attackers: Any = Pairs({id(alternative): who for alternative, who in zip(found, rules, strict=True)})
    return CoalitionFamilies(programs, attackers, np.full(5, 5), np.zeros(5, np.int64)), programs


def two(one: int, other: int) -> Rulers:
    return Rulers(set(), {Coalition((one, other))})


def test_members_are_added_until_no_two_rule_out_all():
    found = [moving(5) for _ in range(3)]
    maker, programs = pair_families(found, Rulers({1, 3}), Rulers({1, 4}), Rulers(set()))
    assert maker.make(TARGET, []) == [Member(UP, alternative, 1) for alternative in found]
    assert programs.held == [[1, 3], [1, 3, 4]]
    one = moving(5)
    maker, programs = pair_families([one], Rulers({9}))
    assert maker.make(TARGET, []) == [Member(UP, one, 1)]


def test_an_alternative_that_any_two_may_rule_out_is_not_enough():
    bad, good = moving(5), moving(5)
    maker, programs = pair_families([bad, good], EVERYBODY, Rulers(set()))
    assert maker.make(TARGET, []) == [Member(UP, good, 1)]
    assert programs.held == []
    maker, _ = pair_families([bad], EVERYBODY)
    assert maker.make(TARGET, []) == Unprotected(UP)


def test_who_stands_in_the_way_of_a_family_is_named():
    one, more = moving(5), moving(5)
    maker, programs = pair_families([one, more], two(1, 4), two(1, 4))
    assert maker.make(TARGET, []) == Unprotected(UP, frozenset({1, 4}))
    assert len(programs.asked) == 2


def test_kept_members_are_used_against_pairs_where_they_help():
    a, useless, b, c = (moving(5) for _ in range(4))
    maker, programs = pair_families([a, useless, b, c], Rulers({1, 3}), EVERYBODY, two(3, 4), Rulers(set()))
    programs.waiting.clear()
    kept = [Member(UP, alternative, 1) for alternative in (a, useless, b, c)]
    assert maker.make(TARGET, kept) == [kept[0], kept[2], kept[3]]
    assert programs.asked == []
    maker, _ = pair_families([a, b, c], Rulers({1}), Rulers({4}), Rulers(set()))
    kept = [Member(UP, alternative, 1) for alternative in (a, b, c)]
    assert maker.make(TARGET, kept) == kept  # the first two leave 1 and 4 together
    maker, _ = pair_families([a, b, c], Rulers({1}), Rulers(set()), Rulers(set()))
    assert maker.make(TARGET, kept) == kept[:2]


def test_a_family_that_is_only_to_become_cheaper_gets_fewer_tries():
    found = [moving(5) for _ in range(TRIES + 2)]
    rules = [Rulers(set(range(10, 30 - number))) for number in range(len(found))]
    maker, programs = pair_families(found, *rules)
    assert isinstance(maker.make(TARGET, [], budget=7.0), Unprotected)
    assert len(programs.asked) == 1 + TRIES


def test_cells_around_the_target_are_held_and_the_target_is_not():
    maker, _ = pair_families([])
    alone, cells, floor = maker._held(TARGET, {1, TARGET, 4})
    assert (alone.tolist(), cells.tolist(), floor.tolist()) == ([1, 4], [1, 3], [10, 30])
