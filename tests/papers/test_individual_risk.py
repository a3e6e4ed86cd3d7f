"""Card 003-21: individual risk from sampling weights, M3 and M4 of card 003-28, and special uniques."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.attack.suda import suda
from discreet.measures import household_risk, individual_risk
from discreet.rules.key_counts import KeyCodes

GOLDEN = [
    (1, 0.1, 0.2558427881),
    (2, 0.1, 0.08268413465),
    (3, 0.1, 0.04636842948),
    (4, 0.1, 0.03188498932),
    (10, 0.1, 0.01097600626),
    (1, 0.004, 0.02217454184),
    (2, 0.008, 0.007750499887),
    (5, 0.004, 0.0009986719396),
    (1, 0.03, 0.1084502442),
    (2, 0.03, 0.02757370379),
    (3, 0.03, 0.01461112256),
    (1, 0.5, 0.6931471806),
    (2, 0.5, 0.3068528194),
    (3, 0.5, 0.1931471806),
    (400, 0.001, 0.000002506259367),
]


@pytest.mark.parametrize(("f", "p", "risk"), GOLDEN)
def test_the_golden_values(f: int, p: float, risk: float) -> None:
    assert float(individual_risk(f, f / p)) == pytest.approx(risk, rel=1e-7)


@pytest.mark.parametrize(("population", "least", "most"), [(2, -0.487, -0.376), (5, -0.187, -0.076)])
def test_the_bias_of_uniques_explains_the_printed_rows(population: int, least: float, most: float) -> None:
    bias = [float(individual_risk(1, 1 / p)) - 1 / population for p in (0.0022, 0.036)]
    assert bias == pytest.approx([least, most], abs=5e-4)


@pytest.mark.parametrize(("f", "error"), [(1, -0.29), (4, -0.004), (10, -3e-5), (40, -2e-9)])
def test_eight_terms_of_the_series_are_not_enough(f: int, error: float) -> None:
    """What the card says of tools that cut the series: the whole series is ours."""
    p = 0.03
    terms = np.cumprod([1.0, *((1 - p) * k / (f + k) for k in range(1, 8))])
    cut = p / f * terms.sum()
    assert cut / float(individual_risk(f, f / p)) - 1 == pytest.approx(error, rel=0.5)


def test_weights_of_one_give_one_over_the_count() -> None:
    counts = np.arange(1, 200)
    assert individual_risk(counts, counts) == pytest.approx(1 / counts, rel=1e-14)


def test_risk_falls_with_the_sum_of_weights_and_a_group_is_no_safer_than_its_members() -> None:
    risk = individual_risk(3, np.arange(3.0, 400.0))
    assert np.all(np.diff(risk) < 0)
    own = np.array([0.1, 0.4, 0.0, 1.0])
    assert household_risk(own, [0, 0, 1, 2]) == pytest.approx([0.46, 0.46, 0.0, 1.0])


def test_the_odds_of_special_uniques() -> None:
    """2,140 uniques and 736 records in pairs, six keys; the sum of score ** -1.1 over the uniques was 853.66609."""
    uniques, paired, fraction, harmonic = 2140, 736, 0.01, 853.6660933522312
    rows = [(i, i) for i in range(1, uniques + 1)] + [(-i, -i) for i in range(1, paired // 2 + 1) for _ in range(2)]
    codes = np.unique(np.array(rows)[:, 0], return_inverse=True)[1]
    found = suda(KeyCodes(("a",), (codes.astype(np.int64),), (int(codes.max()) + 1,)))
    assert (found.uniques, found.paired) == (uniques, paired)
    chance = found.file_probability(fraction)
    odds = chance / (1 - chance)
    assert odds == pytest.approx(0.0293698, rel=1e-6)
    assert harmonic / uniques * odds == pytest.approx(0.0117158829, rel=1e-6)
