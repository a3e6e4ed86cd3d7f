"""Whether some pair of contributors rules out all certificates, against all pairs tried one by one."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.verify.coalitions import Against, Pair, _some_pair

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
