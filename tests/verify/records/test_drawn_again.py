"""Partners by rank, drawn one after the other in plain Python, beside the checker's counting by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest

from discreet.verify.records.rank_swapped import RankedColumn, _far, _needlessly_alone, _not_drawn


def drawn(values: list[int], identity: list[int], fraction: list[float], reach: int) -> list[int]:
    """The partner of every row: from the lowest rank on, whoever is free takes one above it, or stays alone."""
    order = sorted(range(len(values)), key=lambda row: (values[row], identity[row]))
    partner: dict[int, int] = {}
    for own in range(len(order)):
        if own in partner:
            continue
        last = min(own + reach, len(order) - 1)
        free = [rank for rank in range(own + 1, last + 1) if rank not in partner]
        taken = free[min(int(fraction[order[own]] * len(free)), len(free) - 1)] if free else own
        partner[own], partner[taken] = taken, own
    found = [0] * len(order)
    for rank, other in partner.items():
        found[order[rank]] = order[other]
    return found


def column(values: list[int], partner: list[int]) -> RankedColumn:
    size = len(values)
    return RankedColumn(np.array(values), np.zeros(size, np.bool_), np.array(partner), np.zeros(size, np.int64))


def at_random(seed: int) -> tuple[list[int], list[int], list[float], int]:
    draw = np.random.default_rng(seed)
    size = int(draw.integers(1, 18))
    values = draw.integers(0, 3 * size if seed % 3 else 4, size).tolist()
    fractions = draw.random(size) if seed % 5 else draw.choice([0.0, 1 - 2**-53], size)
    return values, draw.permutation(size).tolist(), fractions.tolist(), int(draw.integers(0, size + 2))


def altered(partner: list[int], draw: np.random.Generator) -> list[int]:
    """Other partners: two rows have each other, or nobody."""
    found = list(partner)
    one, two = draw.integers(0, len(found), 2).tolist()
    for row in (one, two):
        found[found[row]] = found[row]
        found[row] = row
    if draw.random() < 0.6:
        found[one], found[two] = two, one
    return found


def together(partner: list[int]) -> list[list[int]]:
    """Any two who are alone have each other, however far away they are."""
    lonely = [row for row, other in enumerate(partner) if row == other]
    found = []
    for one, two in combinations(lonely, 2):
        found.append(list(partner))
        found[-1][one], found[-1][two] = two, one
    return found


@pytest.mark.parametrize("part", range(3))
def test_the_checker_finds_exactly_the_partners_that_are_drawn(part):
    other = 0
    for seed in range(part * 300, part * 300 + 300):
        values, identity, fraction, reach = at_random(seed)
        true = drawn(values, identity, fraction, reach)
        rows, draw = np.arange(len(values)), np.random.default_rng(seed)
        for told in [true, *together(true), *(altered(true, draw) for _ in range(4))]:
            wrong = _not_drawn(column(values, told), rows, reach, np.array(identity), np.array(fraction))
            assert (wrong == 0) == (told == true), (seed, told, true)
            other += told != true
    assert other > 500


def pairings(rows: list[int]) -> Iterator[dict[int, int]]:
    """Every way in which some rows have each other, or nobody."""
    if not rows:
        yield {}
        return
    first, *others = rows
    for rest in pairings(others):
        yield {first: first, **rest}
    for other in others:
        for rest in pairings([row for row in others if row != other]):
            yield {first: other, other: first, **rest}


@pytest.mark.parametrize("size", range(1, 7))
def test_of_all_ways_to_pair_a_few_records_one_is_drawn(size):
    values, identity, rows = [7] * size, list(range(size)), np.arange(size)
    every = [[found[row] for row in range(size)] for found in pairings(list(range(size)))]
    draw = np.random.default_rng(size)
    for reach in range(size + 1):
        for fraction in draw.random((3, size)).tolist():
            right = [
                told
                for told in every
                if not _not_drawn(column(values, told), rows, reach, np.array(identity), np.array(fraction))
            ]
            assert right == [drawn(values, identity, fraction, reach)]


def test_both_of_two_who_have_each_other_are_counted_where_nobody_may_have_a_partner():
    told = column([1, 2, 3], [1, 0, 2])
    assert _not_drawn(told, np.arange(3), 0, np.arange(3), np.zeros(3)) == 2


def test_partners_among_some_rows_only():
    """The other rows are those of other strata, or have no value."""
    for seed in range(100):
        values, identity, fraction, reach = at_random(seed)
        draw = np.random.default_rng(seed)
        rows = np.flatnonzero(draw.random(len(values)) < 0.7)
        if not len(rows):
            continue
        mine = [[one[row] for row in rows] for one in (values, identity, fraction)]
        partner = list(range(len(values)))
        for row, place in zip(rows.tolist(), drawn(*mine, reach), strict=True):
            partner[row] = int(rows[place])
        assert _not_drawn(column(values, partner), rows, reach, np.array(identity), np.array(fraction)) == 0


@pytest.mark.parametrize("seed", range(40))
def test_who_is_too_far_away_or_alone_without_need(seed):
    """Equal values may have any of their ranks: the nearest count for who is far, the farthest for who is alone."""
    values, _, _, reach = at_random(seed)
    draw = np.random.default_rng(seed)
    partner = list(range(len(values)))
    for _ in range(3):
        partner = altered(partner, draw)
    ordered = sorted(values)
    first = {value: ordered.index(value) for value in values}
    last = {value: place for place, value in enumerate(ordered)}
    far = sum(
        first[max(values[row], values[other])] - last[min(values[row], values[other])] > reach
        for row, other in enumerate(partner)
    )
    lonely = sorted(values[row] for row, other in enumerate(partner) if row == other)
    needless = sum(last[b] - first[a] <= reach for a, b in pairwise(lonely))
    rows = np.arange(len(values))
    assert _far(column(values, partner), rows, reach) == far
    assert _needlessly_alone(column(values, partner), rows, reach) == needless
