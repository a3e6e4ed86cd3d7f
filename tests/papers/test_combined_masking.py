"""The frontiers of combined masking (card 003-10-combined-sdc-methods)."""

from __future__ import annotations

import pytest

from discreet.report.riskmap import Axis, Point, RiskMap, Spot

METHODS = ("micz03", "noise100", "micmul10", "micpcp03", "micz03-micz03", "rank1")
RISK = {
    "SHN": (0.0025, 0.0044, 0.0046, 0.2516, 0.0015, 0.0119),
    "SHP": (0.0036, 0.0077, 0.0077, 0.0198, 0.0275, 0.0092),
    "SLN": (0.0019, 0.0044, 0.0025, 0.0029, 0.0023, 0.0067),
    "SLP": (0.0024, 0.0076, 0.0203, 0.0133, 0.0035, 0.0087),
    "AHN": (0.0011, 0.0079, 0.0947, 0.2926, 0.0004, 0.0079),
    "AHP": (0.0043, 0.0144, 0.1122, 0.0806, 0.0033, 0.034),
    "ALN": (0.0011, 0.0098, 0.1265, 0.18, 0.0009, 0.0091),
    "ALP": (0.0012, 0.0039, 0.0071, 0.0477, 0.0033, 0.0096),
}
LOSS = {
    "SHN": (281.51, 26.49, 16.53, 9.31, 28.30, 34.81),
    "SHP": (128.14, 9.00, 18.37, 12.83, 23.48, 28.58),
    "SLN": (233.40, 16.97, 12.97, 9.33, 33.92, 29.42),
    "SLP": (132.12, 9.27, 14.84, 7.86, 37.27, 27.26),
    "AHN": (639.42, 15.5, 9.15, 3.39, 180.10, 42.04),
    "AHP": (592.07, 5.69, 5.48, 4.99, 45.09, 14.82),
    "ALN": (639.04, 7.53, 8.68, 5.76, 94.10, 26.45),
    "ALP": (463.78, 28.75, 11.15, 8.61, 40.04, 39.48),
}
FRONTIER = {
    "SHN": {"noise100", "micmul10", "micpcp03", "micz03-micz03"},
    "SHP": {"micz03", "noise100"},
    "SLN": {"micz03", "micmul10", "micpcp03", "micz03-micz03"},
    "SLP": {"micz03", "noise100", "micpcp03", "micz03-micz03"},
    "AHN": {"noise100", "micmul10", "micpcp03", "micz03-micz03"},
    "AHP": {"noise100", "micpcp03", "micz03-micz03"},
    "ALN": {"noise100", "micpcp03", "micz03-micz03", "rank1"},
    "ALP": {"micz03", "noise100", "micmul10", "micpcp03", "micz03-micz03"},
}


@pytest.mark.parametrize("name", RISK)
def test_the_frontier_of_each_published_set(name):
    axes = (Axis("linked", "found again", "risk"), Axis("propensity", "propensity", "loss"))
    points = tuple(
        Point(method, "done", "", 1, {"linked": Spot(risk, risk, risk), "propensity": Spot(loss, loss, loss)})
        for method, risk, loss in zip(METHODS, RISK[name], LOSS[name], strict=True)
    )
    assert {point.name for point in RiskMap(axes, points).frontier("linked", "propensity")} == FRONTIER[name]


def test_the_first_stage_alone_is_off_the_frontier_in_four_of_eight_sets():
    assert [name for name in FRONTIER if "micz03" not in FRONTIER[name]] == ["SHN", "AHN", "AHP", "ALN"]
