"""l and t of groups, against their definitions written out; unsafe combinations against a count by hand."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from discreet.errors import InputError, ParameterError
from discreet.measures.diversity import (
    distances_apart,
    distances_ordered,
    distinct_values,
    entropy_values,
    group_values,
    sensitive_risk,
)
from discreet.measures.key_tables import count_key_tables
from discreet.rules.key_counts import KeyCodes

people = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=25)


def arrays(pairs: list[tuple[int, int]]) -> tuple[Any, Any]:
    return np.array([g for g, _ in pairs], np.int64), np.array([v for _, v in pairs], np.int64)


@given(people)
def test_measures_of_every_group_equal_their_definitions(pairs: list[tuple[int, int]]) -> None:
    group, value = arrays(pairs)
    found = group_values(group, value)
    all_values = [v for _, v in pairs]
    last = max(all_values)
    for place, here in enumerate(sorted(set(group.tolist()))):
        own = [v for g, v in pairs if g == here]
        shares = {v: n / len(own) for v, n in Counter(own).items()}
        whole = {v: n / len(all_values) for v, n in Counter(all_values).items()}
        assert distinct_values(found)[place] == len(shares)
        assert entropy_values(found)[place] == pytest.approx(exp(-sum(p * log(p) for p in shares.values())))
        apart = sum(abs(shares.get(v, 0) - q) for v, q in whole.items()) / 2
        assert distances_apart(found)[place] == pytest.approx(apart, abs=1e-12)
        moved = wasserstein_distance(own, all_values) / last if last else 0.0
        assert distances_ordered(found)[place] == pytest.approx(moved, abs=1e-9)


@given(people)
def test_values_that_are_known_of_everybody_with_some_keys(pairs: list[tuple[int, int]]) -> None:
    found = sensitive_risk("x", *arrays(pairs))
    by_group: dict[int, list[int]] = {}
    for group, value in pairs:
        by_group.setdefault(group, []).append(value)
    sole = [values for values in by_group.values() if len(set(values)) == 1]
    assert found.known == sum(map(len, sole))
    assert found.spread == sum(len(values) for values in sole if len(values) > 1)
    assert found.distinct == min(len(set(values)) for values in by_group.values())


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InputError, match="at least one record"):
        group_values(np.zeros(0, np.int64), np.zeros(0, np.int64))


rows_of_keys = st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=15)


def agree(one: tuple[int, ...], other: tuple[int, ...], missing: str) -> bool:
    if missing == "exempt" and 0 in other:
        return False
    return all(a == b or (missing == "any" and 0 in (a, b)) for a, b in zip(one, other, strict=True))


@settings(max_examples=80)
@given(rows_of_keys, st.integers(2, 4), st.integers(1, 4), st.sampled_from(["category", "any", "exempt"]))
def test_unsafe_combinations_are_those_that_occur_rarely(rows: Any, k: int, size: int, missing: Any) -> None:
    table = np.array(rows, np.int64)
    keys = KeyCodes(("a", "b", "c"), tuple(c.copy() for c in table.T), (3, 3, 3))
    found = count_key_tables(keys, k, size, missing)
    at_risk: set[int] = set()
    counted = iter(found.sets)
    for number in range(1, min(size, 3) + 1):
        for chosen in combinations(range(3), number):
            own = [tuple(row[i] for i in chosen) for row in rows]
            judged = [i for i, one in enumerate(own) if missing != "exempt" or 0 not in one]
            like = {i: sum(agree(own[i], other, missing) for other in own) for i in judged}
            rare = [i for i in judged if like[i] < k]
            one = next(counted)
            assert one.keys == tuple("abc"[i] for i in chosen)
            assert one.combinations == len({own[i] for i in judged})
            assert (one.unsafe, one.records) == (len({own[i] for i in rare}), len(rare))
            assert one.uniques == sum(n == 1 for n in like.values())
            assert one.fewest == min(like.values(), default=len(rows))
            at_risk |= set(rare)
        assert set(np.flatnonzero(found.at_risk[number - 1]).tolist()) == at_risk
    assert next(counted, None) is None


def test_unsafe_combinations_per_key_count_every_set_that_holds_it() -> None:
    keys = KeyCodes(("a", "b"), (np.array([1, 1, 2]), np.array([1, 2, 2])), (3, 3))
    found = count_key_tables(keys, 2, 2)
    assert found.by_key(("a", "b")) == {"a": (1, 3), "b": (1, 3)}


def test_too_many_sets_are_refused_before_work() -> None:
    keys = KeyCodes(tuple(map(str, range(20))), (np.ones(3, np.int64),) * 20, (2,) * 20)
    with pytest.raises(ParameterError, match=r"20 keys have 21,699 sets of up to 5; at most 20,000 are counted"):
        count_key_tables(keys, 2, 5)
