"""Groups of two and three (card 003-12), the learning automaton (003-11) and projections (003-10, 003-29)."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.records.microaggregation.automaton import learnt_groups, pairs_to_show
from discreet.records.microaggregation.covering import cheapest_ties
from discreet.records.microaggregation.grouping import (
    blocks,
    loss_of,
    mdav_groups,
    renumbered,
)
from discreet.records.microaggregation.pairing import paired_groups, tied_groups
from discreet.records.microaggregation.rows import principal_scores, sum_of_scores
from tests.papers.test_microaggregation import lost, needs_files, points


def file_points(name: str) -> np.ndarray:
    """A file; EIA-600 are its first 600 rows, standardised over all."""
    return np.ascontiguousarray(points("EIA")[:600]) if name == "EIA-600" else points(name)


@needs_files
@pytest.mark.parametrize(
    ("file", "published", "loss", "weight", "pairs", "triples"),
    [
        ("Tarragona", 958.496, 958.4875, 1910.1332, 402, 10),
        ("EIA-600", 65.8851, 65.8852, 99.3807, 252, 32),
        ("CASCrefmicrodata", None, 400.667, 768.708, 504, 24),
    ],
)
def test_the_cheapest_ties(file, published, loss, weight, pairs, triples):
    """Table 1 of the paper to 5e-5, and the card's own figures, which differ from it by rounding."""
    given = file_points(file)
    ties = cheapest_ties(given)
    group = renumbered(tied_groups(given, ties))
    assert ties.weight == pytest.approx(weight, rel=1e-6)
    assert loss_of(given, group) == pytest.approx(loss, rel=2e-6)
    assert published is None or loss_of(given, group) == pytest.approx(published, rel=5e-5)
    assert np.bincount(np.bincount(group))[2:].tolist() == [pairs, triples]
    assert 2 * ties.prices.bound == pytest.approx(ties.weight, rel=1e-6)


PER_CENT = {"CASCrefmicrodata": 2.75827, "Tarragona": 8.81547, "EIA-600": 1.00307}


@needs_files
@pytest.mark.parametrize(
    ("file", "loss"), [("CASCrefmicrodata", 387.2607), ("Tarragona", 955.7737), ("EIA-600", 55.5851)]
)
def test_the_least_loss_of_two_and_three_is_proved(file, loss):
    """Census 2.75827 %, Tarragona 8.81547 %; of EIA-600 a bound of 55.354 was known before."""
    given = file_points(file)
    found = paired_groups(given, "normal")
    assert loss_of(given, found.group) == pytest.approx(loss, abs=5e-5)
    assert loss_of(given, found.group) <= (1 + 1e-6) * found.prices.bound
    share = 100 * loss / float(((given - given.mean(axis=0)) ** 2).sum())
    assert share == pytest.approx(
        {"CASCrefmicrodata": 2.75827, "Tarragona": 8.81547, "EIA-600": 1.00307}[file], abs=1e-5
    )


TABLE_2 = """12.042,12.042,1
12.2066,12.8186,0.9522
14.8156,14.8156,1
12.5545,12.5545,1
51.6481,52.0665,0.9920
74.1998,74.1998,1
15.6783,16.5705,0.9462
9.9702,9.9702,1
21.4293,22.7064,0.9438
33.3882,33.3882,1"""


def test_the_ratios_of_table_2_follow_from_its_losses():
    for line in TABLE_2.splitlines():
        best, found, ratio = map(float, line.split(","))
        assert best / found == pytest.approx(ratio, abs=1e-4)


@needs_files
def test_samples_of_fifteen_of_the_census_file():
    """The samples of the paper are unknown; in 20 others ties are the best groups in most, never worse than 2."""
    draw, exact, worst = np.random.default_rng(12), 0, 1.0
    for _ in range(20):
        given = np.ascontiguousarray(points("CASCrefmicrodata")[draw.permutation(1080)[:15]])
        quick, best = (paired_groups(given, effort) for effort in ("quick", "normal"))
        ratio = loss_of(given, best.group) / loss_of(given, quick.group)
        assert loss_of(given, best.group) <= (1 + 1e-6) * best.prices.bound
        exact, worst = exact + (ratio > 1 - 1e-9), min(worst, ratio)
    assert exact >= 10
    assert 0.5 <= worst <= 1


# ---- the automaton ---------------------------------------------------------------------------------------------

COLUMNS = {
    "Tarragona": (
        "7.15200 0.63586 0.51702 1.48854 1.69394 0.47503 1.96623 0.42182 1.28625 1.74929 2.58368 4.14703 5.00563"
    ),
    "CASCrefmicrodata": (
        "0.13155 0.00138 0.00828 0.00489 0.02449 0.03262 0.00171 0.43418 0.72176 0.00611 0.01353 0.00689 0.00808"
    ),
}


@needs_files
@pytest.mark.paper
@pytest.mark.parametrize("file", list(COLUMNS))
def test_single_columns(file):
    """Table 1: both variants of MDAV to 1e-4, the automaton to 1e-3 with the best of three starts."""
    wanted = [float(figure) for figure in COLUMNS[file].split()]
    found: dict[str, list[float]] = {"one": [], "pairs": [], "learnt": []}
    for column in points(file).T:
        one = np.ascontiguousarray(column.reshape(-1, 1))
        total = float((one**2).sum()) / 100
        found["one"].append(loss_of(one, mdav_groups(one, 3, False).group) / total)
        found["pairs"].append(loss_of(one, mdav_groups(one, 3, True).group) / total)
        found["learnt"].append(learnt_groups(one, 3, 3, 1).history[-1] / total)
    assert found["one"] == pytest.approx(wanted, abs=1e-4)
    assert found["pairs"] == pytest.approx(wanted, abs=1e-4)
    assert found["learnt"] == pytest.approx(wanted, abs=1e-3)


PUBLISHED = {
    ("Tarragona", 2): 9.24351,
    ("Tarragona", 3): 15.12901,
    ("Tarragona", 6): 24.26087,
    ("CASCrefmicrodata", 2): 3.25152,
    ("CASCrefmicrodata", 3): 5.22899,
    ("CASCrefmicrodata", 4): 6.76231,
    ("CASCrefmicrodata", 5): 8.09004,
    ("CASCrefmicrodata", 6): 9.14287,
}
MOST = {("Tarragona", 3): 15.6, ("CASCrefmicrodata", 6): 9.5}


@needs_files
@pytest.mark.paper
@pytest.mark.parametrize(("file", "k"), list(PUBLISHED))
def test_the_automaton_on_whole_files(file, k):
    """Table 2: the best of ten starts within 1.06 of the one run that was published."""
    found = lost(file, learnt_groups(points(file), k, 10, 1).group)
    assert found <= min(1.06 * PUBLISHED[file, k], MOST.get((file, k), np.inf))
    if k > 2:
        assert found < lost(file, mdav_groups(points(file), k, True).group)


@pytest.mark.paper
def test_the_automaton_in_24_dimensions():
    """Hardly any pair is near, and it loses more than MDAV; with the nearest fifth of all pairs it does not."""
    given = np.random.default_rng(24).random((3000, 24))
    given = np.ascontiguousarray((given - given.mean(axis=0)) / given.std(axis=0))
    mdav = loss_of(given, mdav_groups(given, 3, True).group)
    assert pairs_to_show(given, 3, fallback=False).share <= 0.002
    assert learnt_groups(given, 3, 1, 1, fallback=False).history[-1] > mdav
    assert learnt_groups(given, 3, 3, 1).history[-1] <= mdav


# ---- losses and projections ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 7])
def test_squares_within_and_between_groups_add_up(k):
    given = np.random.default_rng(k).lognormal(size=(200, 4))
    for group in (mdav_groups(given, k, True).group, blocks(sum_of_scores(given), k).group):
        middles = np.stack([np.bincount(group, column) / np.bincount(group) for column in given.T], axis=1)
        within = loss_of(given, group)
        between = (np.bincount(group)[:, None] * (middles - given.mean(axis=0)) ** 2).sum()
        assert within + between == pytest.approx(((given - given.mean(axis=0)) ** 2).sum(), rel=1e-9)
        masked = middles[group]
        assert masked.mean(axis=0) == pytest.approx(given.mean(axis=0), abs=1e-9)
        fallen = np.trace(np.cov(given.T, bias=True)) - np.trace(np.cov(masked.T, bias=True))
        assert fallen == pytest.approx(within / 200, abs=1e-10)


@pytest.mark.parametrize("records", [30, 31, 32])
def test_projections_make_one_group_larger_at_most(records):
    given = np.random.default_rng(records).normal(size=(records, 2))
    for scores in (sum_of_scores, principal_scores):
        sizes = np.bincount(blocks(scores(given), 3).group)
        assert 3 <= sizes.min() <= sizes.max() <= 5
        assert (sizes > 3).sum() <= 1


def test_losses_depend_neither_on_the_order_of_rows_nor_on_units():
    draw = np.random.default_rng(5)
    raw = draw.normal(size=(150, 3))
    found = []
    for given in (raw, raw[draw.permutation(150)], raw * [3.0, 0.01, 250.0] + 7):
        scaled = np.ascontiguousarray((given - given.mean(axis=0)) / given.std(axis=0))
        found.append([loss_of(scaled, mdav_groups(scaled, 4, pairs).group) for pairs in (False, True)])
    assert found[1] == pytest.approx(found[0], rel=1e-9)
    assert found[2] == pytest.approx(found[0], rel=1e-9)
