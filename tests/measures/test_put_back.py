"""Putting altered design variables back: against counting by hand, on every small case."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InputError


def by_hand(truth: str, votes: tuple[str, ...]) -> float:
    counts = Counter(votes)
    best = [code for code, many in counts.items() if many == max(counts.values())]
    return 1 / len(best) if truth in best else 0.0


def test_the_code_of_most_copies_on_all_small_cases():
    cases = list(product("abc", repeat=5))
    truth = [case[0] for case in cases]
    found = ds.measures.put_back(truth, [[case[i] for case in cases] for i in range(1, 5)])
    assert found.chance.tolist() == [by_hand(case[0], case[1:]) for case in cases]
    assert found.baseline == pytest.approx(1 / 3)
    assert found.knows == "nothing"


def test_copies_that_changed_nothing_put_all_back():
    codes = list("aabbc")
    assert ds.measures.put_back(codes, [codes] * 5).share == 1
    assert ds.measures.put_back([1, 2, 3], [[2, 3, 1]]).share == 0
    sizes = [5.0, 7.5, 9.0]
    assert ds.measures.put_back_sizes(sizes, [sizes] * 3).share == 1


def test_nearest_sizes_by_hand():
    draw = np.random.default_rng(1)
    units = draw.integers(1, 30, 60).astype(float)
    truth = units[:20]
    copies = truth + draw.integers(-4, 5, (3, 20))
    found = ds.measures.put_back_sizes(truth, list(copies), units)
    for place, guess in enumerate(copies.mean(axis=0)):
        away = np.abs(units - guess)
        near = units[away == away.min()]
        assert found.chance[place] == pytest.approx(1 / len(near) if truth[place] in near else 0.0)
    assert found.baseline == 1 / 60


def test_weights_that_tell_and_that_do_not():
    area = np.repeat(list("abcd"), 25)
    weights = np.repeat([4.0, 8.0, 40.0, 28.0], 25)
    told = ds.measures.weight_telling(weights, area)
    assert told.reveals
    assert (told.values, told.telling, told.records, told.share) == (4, 4, 100, 1.0)
    mixed = ds.measures.weight_telling(weights, np.roll(area, 10))
    assert not mixed.reveals
    assert mixed.records == 0
    assert ds.measures.weight_telling([1, 2], ["a", "a"]).records == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ds.measures.put_back(["a"], []), "There is no copy to put values back from"),
        (lambda: ds.measures.put_back(["a", "b"], [["a"]]), "The original has 2 records, and copies have 1"),
        (lambda: ds.measures.put_back_sizes([1.0], [[np.nan]]), "Some sizes are missing or infinite"),
        (lambda: ds.measures.put_back_sizes([1.0], [[1.0]], [2.0]), "The list of units lacks the size of a record"),
        (lambda: ds.measures.weight_telling([1, 2], ["a"]), "2 weights and 1 codes do not belong together"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
