"""Whether some pair of contributors rules out all certificates, against all pairs tried one by one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.model.table import NOBODY, Holders
from discreet.verify.coalitions import Against, Pair, Rows, _some_pair, has_unnamed_pairs

PEOPLE = range(1, 6)
against = st.builds(
    Against,
    st.sets(st.sampled_from(PEOPLE), max_size=3),
    st.sets(st.sampled_from([Pair(two) for two in combinations(PEOPLE, 2)]), max_size=4),
)


def nobody(_: Pair) -> bool:
    return False


@pytest.mark.parametrize(
    ("alone", "expected"),
    [
        ([{1}, {2, 3}, {2, 4}], True),
        ([{1}, {2, 3}, {4, 5}], False),
        ([{1}, {1}], True),
        ([], True),
        ([set()], False),
    ],
)
def test_a_pair_is_found_among_several_partners(alone, expected):
    assert _some_pair([Against(set(people), set()) for people in alone], nobody) is expected


@given(st.lists(against, min_size=1, max_size=4), st.sets(st.sampled_from(PEOPLE), max_size=2))
@settings(deadline=None, max_examples=200)
def test_pairs_are_found_wherever_there_are_some(found, people):
    """Whoever is spared is spared in every pair; one who rules out everything needs no partner."""

    def spared(pair: Pair) -> bool:
        return not people.isdisjoint(pair)

    attackers = [who for who in PEOPLE if who not in people]
    pairs = [Pair(two) for two in combinations(attackers, 2)]
    expected = any(all(a.has(pair) for a in found) for pair in pairs)
    expected |= any(all(one in a.alone for a in found) for one in attackers)
    assert _some_pair(found, spared) is expected


# ---- who rules a certificate out --------------------------------------------------------------------------------

LISTED, NAMED = 3, 6
"""So many contributors of a row are listed at most; so many have names, the others are numbered behind them."""


@dataclass
class OneRow:
    """A row of a table: how many contribute, the largest of them by name, how far it can fall, and how it moves."""

    count: int
    names: tuple[int, ...]
    own: tuple[int, ...]
    room: int
    amount: int
    floored: bool
    whole: bool
    of_target: bool

    @property
    def rest(self) -> int:
        """What somebody has at most who is not listed."""
        return min(self.own, default=0)

    @property
    def unlisted(self) -> int:
        return self.count - len(self.names)

    def together(self, pair: Pair) -> int:
        """What two have of the row at most, strangers among those who are not listed."""
        own, free = dict(zip(self.names, self.own, strict=True)), self.unlisted
        parts = [own[who] for who in pair if who in own]
        parts += [self.rest] * min(free, len(pair) - len(parts))
        filled = self.of_target and self.count == 2  # they are no attackers of it together
        return max(parts, default=0) if filled else sum(parts)


@st.composite
def rows(draw):
    count = draw(st.integers(0, 5))
    listed = draw(st.integers(1, min(count, LISTED))) if count == 1 else draw(st.integers(0, min(count, LISTED)))
    names = tuple(draw(st.permutations(range(NAMED)))[:listed])
    own = tuple(sorted((draw(st.integers(1, 6)) for _ in names), reverse=True))
    flags = [draw(st.booleans()) for _ in range(3)]
    room = sum(own) + draw(st.integers(0, 5))
    return OneRow(count, names, own, room, max(draw(st.integers(-9, 9)), -room), *flags)


def sees(row: OneRow, pair: Pair, full: bool, rigid: bool, denominator: int) -> bool:
    """Whether two see that a row cannot move as a certificate has it."""
    if row.amount == 0 or row.count == 0:
        return False
    if row.count == 1:
        return row.names[0] in pair
    if row.count == 2 and not row.of_target and row.names and set(row.names) <= pair:
        return True
    if row.amount > 0 or not row.names or not row.floored or (row.of_target and full and not rigid):
        return False
    falls = -(row.amount // denominator) if full or rigid else 1
    return row.together(pair) > row.room - falls


def checked_rows(given: list[OneRow], full: bool) -> Rows:
    holder = np.full((len(given), LISTED), -1)
    own = np.zeros((len(given), LISTED), np.int64)
    for i, row in enumerate(given):
        holder[i, : len(row.names)], own[i, : len(row.names)] = row.names, row.own
    insiders = SimpleNamespace(
        count=np.array([row.count for row in given]),
        sole=np.array([row.names[0] if row.count == 1 else -1 for row in given]),
        holder=holder,
        own=own,
        room=np.array([row.room for row in given]),
        rest=np.array([row.rest for row in given]),
        floored=np.array([row.floored for row in given]),
        named=NAMED,
    )
    cells = np.array([0 if row.of_target else i + 1 for i, row in enumerate(given)])
    return Rows(cells, np.array([row.whole for row in given]), insiders, full)


STAYS = OneRow(3, (2, 1), (5, 4), 12, 0, True, True, False)  # a count that does not move
SEEN_BY_ITS_TWO = OneRow(2, (0, 1), (3, 3), 6, -5, True, False, False)  # nobody else is there to see it
SEEN_WITH_A_STRANGER = OneRow(3, (0, 1), (3, 2), 7, -3, True, False, False)  # 3 and 2 are one more than the 4 left
FALLS_FAR = OneRow(4, (0,), (3,), 7, -5, True, False, False)


@example([STAYS, FALLS_FAR], False, 1)
@example([SEEN_BY_ITS_TWO], True, 1)
@example([SEEN_WITH_A_STRANGER], True, 1)
@given(st.lists(rows(), min_size=1, max_size=3), st.booleans(), st.sampled_from([1, 1, 2]))
@settings(deadline=None, max_examples=600)
def test_a_pair_rules_out_what_it_sees_in_one_of_the_rows(given, full, denominator):
    """The target is a row of its own in front, which nothing else is said of; strangers have numbers behind all."""
    given = [OneRow(3, (), (), 0, 0, False, False, True), *given]
    changes = [(i, row.amount) for i, row in enumerate(given)]
    found = checked_rows(given, full).against(0, changes, denominator)
    rigid = any(row.whole and row.amount != 0 for row in given)
    strangers = Pair((NAMED, NAMED + 1))
    anybody = any(sees(row, strangers, full, rigid, denominator) for row in given)
    assert (found is None) == anybody
    for pair in map(Pair, combinations(range(NAMED + 1), 2)) if found is not None else ():
        assert found.has(pair) == any(sees(row, pair, full, rigid, denominator) for row in given), pair


@pytest.mark.parametrize(
    ("counts", "named", "expected"),
    [
        ((9, 1, 2, 6), (True, True, False, True), True),
        ((9, 1, 3, 6), (True, True, False, True), True),
        ((9, 1, 2, 6), (True, False, True, True), False),
        ((9, 1, 2, 6), (True, True, True, True), False),
        ((9, 2, 2, 5), (False, False, False, False), True),
    ],
)
def test_several_contributors_of_whom_none_is_named(counts, named, expected):
    """One cell will do; a single contributor without a name is no pair."""
    flat = ds.Hierarchy.flat(["a", "b", "c"])
    table = ds.Table.from_cells(
        pa.table({"region": ["Total", "a", "b", "c"], "value": [60, 10, 20, 30]}), by={"region": flat}
    )
    identity = np.array([[k if known else NOBODY, NOBODY] for k, known in enumerate(named)])
    assert [str(code) for code in table.columns()["region"]] == ["Total", "a", "b", "c"]
    holders = Holders(np.array(counts), identity, np.where(identity == NOBODY, 0, 5))
    assert has_unnamed_pairs(table.with_(holders=holders)) is expected
