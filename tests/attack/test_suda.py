"""Special uniques against a list of all sets of keys, with code that shares nothing with the search."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attack import suda as suda_module
from discreet.attack.suda import Suda, suda
from discreet.errors import ParameterError
from discreet.rules.key_counts import KeyCodes


def coded(rows: list[tuple[int, ...]], keys: int) -> KeyCodes:
    table = np.array(rows, np.int64).reshape(len(rows), keys)
    sizes = tuple(int(column.max(initial=0)) + 1 for column in table.T)
    return KeyCodes(tuple(f"k{i}" for i in range(keys)), tuple(column.copy() for column in table.T), sizes)


def alone(rows: list[tuple[int, ...]], row: int, chosen: tuple[int, ...], missing: str) -> bool:
    """Whether nobody else agrees with a record in some keys."""
    mine = [rows[row][i] for i in chosen]
    if missing == "exempt" and 0 in mine:
        return False
    for other, values in enumerate(rows):
        theirs = [values[i] for i in chosen]
        if other == row or (missing == "exempt" and 0 in theirs):
            continue
        wild = missing == "any"
        if all(a == b or (wild and 0 in (a, b)) for a, b in zip(mine, theirs, strict=True)):
            return False
    return True


def listed_uniques(rows: list[tuple[int, ...]], keys: int, most: int, missing: str) -> list[list[tuple[int, ...]]]:
    """The minimal sample uniques of every record."""
    sets = [chosen for size in range(1, most + 1) for chosen in combinations(range(keys), size)]
    found = []
    for row in range(len(rows)):
        unique = [chosen for chosen in sets if alone(rows, row, chosen, missing)]
        found.append([one for one in unique if not any(set(other) < set(one) for other in unique)])
    return found


files = st.integers(1, 4).flatmap(
    lambda keys: st.tuples(
        st.just(keys),
        st.lists(st.tuples(*[st.integers(0, 3)] * keys), min_size=1, max_size=14),
        st.integers(1, keys),
        st.sampled_from(["category", "any", "exempt"]),
    )
)


def compared(found: Suda, keys: int, expected: list[list[tuple[int, ...]]]) -> None:
    worth = [[factorial(keys - len(one)) for one in mine] for mine in expected]
    assert found.score.tolist() == [sum(mine) for mine in worth]
    assert found.smallest.tolist() == [min((len(one) for one in mine), default=0) for mine in expected]
    sizes = [len(one) for mine in expected for one in mine]
    assert list(found.sizes) == [sizes.count(size) for size in range(1, found.size + 1)]
    shares = found.record_contributions()
    total = sum(map(sum, worth))
    for key in range(keys):
        per_record = [
            sum(value for one, value in zip(mine, values, strict=True) if key in one)
            for mine, values in zip(expected, worth, strict=True)
        ]
        own = [part / sum(values) if values else 0.0 for part, values in zip(per_record, worth, strict=True)]
        assert shares[:, key] == pytest.approx(own)
        assert found.contributions[f"k{key}"] == pytest.approx(sum(per_record) / total if total else 0.0)


@settings(deadline=None, max_examples=150)
@given(files)
def test_scores_and_shares_equal_those_of_a_list_of_all_sets(case: tuple[int, list[Any], int, Any]) -> None:
    keys, rows, most, missing = case
    compared(suda(coded(rows, keys), missing, most), keys, listed_uniques(rows, keys, most, missing))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=14), st.sampled_from(["category", "exempt"]))
def test_hashing_finds_the_same(rows: list[Any], missing: Any) -> None:
    dense = suda(coded(rows, 4), missing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suda_module, "DENSE", 1)
        hashed = suda(coded([tuple(code * 1_000 for code in row) for row in rows], 4), missing)
    assert hashed.score.tolist() == dense.score.tolist()
    assert hashed.record_contributions().tolist() == dense.record_contributions().tolist()


def test_numbers_of_combinations_beyond_64_bits_are_told_apart() -> None:
    """Eight keys of a million codes each have 10**48 combinations."""
    draw = np.random.default_rng(5)
    small = draw.integers(0, 3, (40, 8))
    plain = suda(coded([tuple(row) for row in small.tolist()], 8))
    wide = suda(coded([tuple(row) for row in (small * 499_999).tolist()], 8))
    assert wide.score.tolist() == plain.score.tolist()


def test_shares_of_values_sum_to_that_of_their_key() -> None:
    rows = [(1, 1), (1, 2), (2, 1), (2, 1), (3, 2)]
    found = suda(coded(rows, 2))
    for key in ("k0", "k1"):
        assert found.value_contributions(key).sum() == pytest.approx(found.contributions[key])
    # record 0: no minimal unique; records 1 and 4: (1, 2) and the value 3 alone
    assert found.score.tolist() == [1, 1, 0, 0, 1]
    assert found.value_contributions("k0").tolist() == pytest.approx([0, 2 / 3, 0, 1 / 3])


def test_twelve_keys_are_searched_whole_and_more_only_up_to_a_size() -> None:
    draw = np.random.default_rng(3)
    twelve = draw.integers(0, 2, (60, 12))
    found = suda(coded([tuple(row) for row in twelve.tolist()], 12))
    assert found.size == 12
    assert found.special == found.uniques
    wide = coded([tuple(row) for row in draw.integers(0, 2, (30, 20)).tolist()], 20)
    with pytest.raises(ParameterError, match=r"20 keys have 1,048,575 sets of keys\. Give size=3"):
        suda(wide)
    assert suda(wide, size=2).size == 2
    with pytest.raises(ParameterError, match=r"20 keys have 21,699 sets of up to 5; at most 20,000 are looked at"):
        suda(wide, size=5)
    with pytest.raises(ParameterError, match=r"size=0 is not allowed"):
        suda(wide, size=0)
    with pytest.raises(ParameterError, match="need keys"):
        suda(KeyCodes((), (), ()))


def test_the_probability_of_a_right_match_follows_the_score() -> None:
    """One key and 8 - 1 = 7 twentieths: odds in proportion to score ** 1.35, their harmonic mean that of the file."""
    rows = [(1,), (2,), (3,), (4,), (4,), (5,), (5,), (6,), (6,), (6,)]
    found = suda(coded(rows, 1))
    assert (found.uniques, found.paired) == (3, 4)
    assert found.file_probability(0.1) == pytest.approx(0.3 / (0.3 + 3.6))
    probability = found.probability(0.1)
    assert probability[:3] == pytest.approx([0.3 / 3.9] * 3)
    assert not probability[3:].any()


def test_odds_have_the_harmonic_mean_of_the_file() -> None:
    draw = np.random.default_rng(1)
    found = suda(coded([tuple(row) for row in draw.integers(0, 4, (200, 5)).tolist()], 5))
    assert found.paired
    probability = found.probability(0.01)
    special = probability > 0
    odds = probability[special] / (1 - probability[special])
    file = found.file_probability(0.01)
    assert len(odds) / (1 / odds).sum() == pytest.approx(file / (1 - file))
    power = found.score[special] ** (1 + 3 / 20)
    assert odds / power == pytest.approx(np.full(len(odds), odds[0] / power[0]))


def test_without_pairs_every_special_record_is_certain() -> None:
    assert suda(coded([(1,), (2,)], 1)).probability(0.5).tolist() == [1, 1]
    nobody = suda(coded([(1,), (1,)], 1))
    assert nobody.probability(0.5).tolist() == [0, 0]
    assert nobody.contributions == {"k0": 0.0}
    for wrong in (0, 1, -1, 2):
        with pytest.raises(ParameterError, match=rf"fraction={wrong} is not allowed\. Use the share of the population"):
            nobody.probability(wrong)
