"""Least costs of emptying, by code of the checker's own, against going through everything."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from scipy.integrate import quad

from discreet.verify.records.blank_risk import risk_of_groups
from discreet.verify.records.weak_bounds import RiskLimits, cheapest_breaks, witness_cost


def subsets(some):
    return [*chain.from_iterable(combinations(some, size) for size in range(len(some) + 1))]


# ---- risks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0.1, 0.3, 0.5])
def test_groups_are_enough_where_their_risk_is_not_above_the_limit(limit):
    records, each = (grid.ravel() for grid in np.meshgrid(np.arange(1, 13), np.geomspace(1, 60, 40), indexing="ij"))
    weight = records * each
    risk = risk_of_groups(records.astype(np.float64), weight, limit)
    assert np.any(risk > limit)
    assert RiskLimits(limit).enough(records, weight).tolist() == (risk <= limit).tolist()


@pytest.mark.parametrize("records", [1, 5, 40])
@pytest.mark.parametrize("each", [1.0, 1.1, 2.4, 2.6, 30.0])
def test_risks_are_integrals(records, each):
    """Also where nearly everybody is in the file, and one more record loses digits."""
    share = 1 / each
    wanted = quad(lambda w: share * w ** (records - 1) / (share + (1 - share) * w), 0, 1)[0]
    found = risk_of_groups(np.array([float(records)]), np.array([records * each]), 0.001)
    assert found.tolist() == pytest.approx([wanted], rel=1e-8)


def test_so_many_records_that_their_weight_does_not_count():
    """The risk is one over the number of records at most."""
    assert RiskLimits(0.3).enough(np.array([5, 4, 3]), np.array([1.0, 1.0, 1.0])).tolist() == [True, True, False]
    assert RiskLimits(0.5).enough(np.array([2, 1]), np.array([1.0, 1.0])).tolist() == [True, False]


def test_nobody_is_not_enough():
    limits = RiskLimits(0.3)
    assert limits.enough(np.array([0, 1, 5]), np.array([1e9, 1e9, 1e9])).tolist() == [False, True, True]
    assert limits.enough(np.array([0]), np.array([1e9])).tolist() == [False]
    assert limits.enough(np.zeros(0, np.int64), np.zeros(0)).tolist() == []


# ---- records that stand for themselves ------------------------------------------------------------------------------


def test_one_column_of_each_rare_table_is_emptied_at_least():
    draw = np.random.default_rng(5)
    for many in (1, 2, 3, 4):
        tables = [sorted(draw.choice(many, draw.integers(1, many + 1), replace=False).tolist()) for _ in range(4)]
        rare, price = draw.random((40, 4)) < 0.5, draw.integers(1, 9, (40, many)).astype(float)
        expected = [
            min(
                sum(mine[place] for place in gone)
                for gone in subsets(range(many))
                if all(set(gone) & set(table) for table, judged in zip(tables, wanted, strict=True) if judged)
            )
            for wanted, mine in zip(rare.tolist(), price.tolist(), strict=True)
        ]
        assert cheapest_breaks(rare, price, tables).tolist() == expected


# ---- witnesses ------------------------------------------------------------------------------------------------------


def company_cost(codes: list[list[int]], price: list[list[float]], row: int, k: int) -> float:
    """What it costs that k records agree with one, itself among them; -1 is an empty field."""
    places, rows = range(len(codes)), range(len(codes[0]))
    least = [min([price[i][p] for i in rows if codes[p][i] >= 0], default=np.inf) for p in places]
    found = []
    for gone in subsets([p for p in places if codes[p][row] >= 0]):
        others = []
        for other in rows:
            apart = [p for p in places if p not in gone and -1 not in (codes[p][row], codes[p][other])]
            others.append(sum(least[p] for p in apart if codes[p][row] != codes[p][other]))
        if len(others) >= k:
            found.append(sum(price[row][p] for p in gone) + sum(sorted(others)[:k]))
    return min(found, default=np.inf)


def test_enough_others_come_to_agree_with_a_witness():
    draw = np.random.default_rng(6)
    for _ in range(60):
        rows, many, k = draw.integers(2, 7), draw.integers(1, 4), int(draw.integers(1, 7))
        codes = [draw.integers(-1, 3, rows) for _ in range(many)]
        price = draw.integers(1, 9, (rows, many)).astype(float)

        def enough(agrees, k=k):
            return bool(agrees.sum() >= k), k - int(agrees.sum())

        for row in range(rows):
            expected = company_cost([column.tolist() for column in codes], price.tolist(), row, k)
            assert witness_cost(codes, price, row, enough) == expected
