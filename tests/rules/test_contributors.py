"""Contributors of groups that are no cells, as the rules see them."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.rules import contributors

LISTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 3)), max_size=25)


@settings(max_examples=150, deadline=None)
@given(LISTS, st.integers(1, 4))
def test_contributions_of_groups_are_counted_one_by_one(listed, top):
    found = contributors.contributions_by_group(
        *(np.array([row[k] for row in listed], np.int64) for k in range(3)), 4, top
    )
    held: dict[int, dict[int, int]] = {group: defaultdict(int) for group in range(4)}
    for group, who, amount in listed:
        held[group][who] += amount
    most = max(1, *(len(people) for people in held.values()))
    assert found.top.shape == (4, min(top, most))
    for group, people in held.items():
        assert found.count[group] == len(people)
        assert found.total[group] == sum(people.values())
        assert found.nonzero is not None
        assert found.nonzero[group] == sum(amount > 0 for amount in people.values())
        largest = sorted(people.values(), reverse=True)[: found.top.shape[1]]
        assert found.top[group].tolist() == largest + [0] * (found.top.shape[1] - len(largest))
