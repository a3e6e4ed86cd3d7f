"""Pictures of linked series and of decision-theoretic risk: drawings only, and words that say what they show."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.measures.decision import RiskCurve

WALKS = np.random.default_rng(1).normal(size=(60, 6)).cumsum(axis=1)


def grouped(size):
    """Groups of the nearest by level get their mean."""
    order = np.argsort(WALKS.mean(axis=1))
    made = WALKS.copy()
    for low in range(0, 60, size):
        made[order[low : low + size]] = WALKS[order[low : low + size]].mean(axis=0)
    return made


def words_of(drawn):
    """What a picture says to those who cannot see it."""
    assert drawn.startswith("<svg")
    assert "<image" not in drawn
    label = re.search(r'aria-label="([^"]+)"', drawn)
    assert label
    return label[1]


@pytest.fixture(scope="module")
def curve():
    return ds.attack.series_links_over(WALKS, {size: grouped(size) for size in (2, 3, 6)})


def test_distances_stand_beside_each_other(curve):
    compared = curve.found[2]
    said = words_of(compared.image())
    for name, one in compared.found.items():
        assert f"{name} {one.share:.1%}" in said


def test_links_over_sizes_of_groups_stay_below_their_cap(curve):
    """Groups of k leave n / k series that differ, and no distance gets more right."""
    assert curve.caps() == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    for share in curve.shares().values():
        assert (share <= curve.caps() + 1e-12).all()
    said = words_of(curve.image())
    for size, compared in curve.found.items():
        assert f"{size}: {compared.worst.share:.1%} by the worst distance" in said
    frame = curve.to_frame()
    assert frame.num_rows == 3 * 5
    assert frame["cap"].to_pylist()[::5] == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    assert curve.summary().startswith("k 2: ")


def test_how_sure_an_intruder_can_be():
    found = ds.attack.link_series(WALKS, WALKS + 0.01)
    said = words_of(found.image())
    right = int((found.chance >= 0.5).sum())
    sure = int(((found.gap >= 0.5) & (found.chance >= 0.5)).sum())
    assert f"{right} of 60 guesses are right, {sure} of them with a gap of a half or more" in said
    assert sure > 50


def test_no_release_to_link_with():
    with pytest.raises(InputError, match="There is no release to link with"):
        ds.attack.series_links_over(WALKS, {})


PEOPLE = pa.table(
    {
        "id": [1, 2, 3, 4],
        "first": ["Mary", "Mary", "John", "Ann"],
        "last": ["Ray", "Lee", "Lee", "Ray"],
        "town": ["A", "A", "B", "B"],
    }
)


def test_the_risk_curve_says_every_risk():
    problem = ds.measures.decision_problem(PEOPLE, PEOPLE, "id")
    curve = ds.measures.risk_curve(problem)
    said = words_of(curve.image())
    for k, risk in zip(curve.k.tolist(), curve.risk.tolist(), strict=True):
        assert f"{k}: {risk:.4g}" in said
    drawn = curve.image()
    assert "largest loss" in drawn
    assert "without end" not in drawn


def test_infinite_losses_are_drawn_above_all_others():
    curve = RiskCurve(np.array([0, 1, 2]), np.array([0.2, 0.5, np.inf]), np.array([0.2, np.inf, np.inf]))
    drawn = curve.image()
    assert "2: inf" in words_of(drawn)
    assert "without end" in drawn
    assert "nan" not in drawn.lower()


def test_losses_of_records_largest_first():
    found = ds.measures.decision_risk(PEOPLE, PEOPLE, "id")
    assert (
        words_of(found.image())
        == f"Losses of records: largest {found.largest:.4g}, mean {found.risk:.4g} of 4 records."
    )


def test_losses_by_an_estimate_beside_the_truth():
    short = PEOPLE.slice(0, 2)
    found = ds.measures.decision_risk(short.select(["id", "first"]), short.select(["id", "first"]), "id")
    true = ds.measures.decision_risk(short.select(["id", "first"]), PEOPLE.select(["id", "first"]), "id")
    assert words_of(found.image(true)) == "Losses by two dictionaries: 0 of 2 records lose more by the other, 0 less."
    wider = pa.table({"id": [1, 2, 5, 6], "first": ["Mary"] * 4})
    less = ds.measures.decision_risk(short.select(["id", "first"]), wider, "id")
    assert "0 of 2 records lose more by the other, 2 less" in words_of(found.image(less))
    other = ds.measures.decision_risk(PEOPLE, PEOPLE, "id")
    with pytest.raises(InputError, match="Risks of 2 and of 4 records"):
        found.image(other)
