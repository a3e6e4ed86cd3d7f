"""Losses of microaggregation on the three public files of the CASC project.

The files are not part of this project: ``DISCREET_CASC_FILES`` names a folder with CASCrefmicrodata.csv, Tarragona.csv
and EIA.csv, written from the R package sdcMicro.
"""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from discreet.records.microaggregation.grouping import best_runs_of, loss_of, mdav_groups, search_groups

needs_files = pytest.mark.skipif(
    "DISCREET_CASC_FILES" not in os.environ, reason="DISCREET_CASC_FILES names no folder with the three public files"
)
pytestmark = needs_files
EIA = [
    "RESREVENUE",
    "RESSALES",
    "COMREVENUE",
    "COMSALES",
    "INDREVENUE",
    "INDSALES",
    "OTHREVENUE",
    "OTHRSALES",
    "TOTREVENUE",
    "TOTSALES",
]


@cache
def points(file: str) -> np.ndarray:
    """The numbers of a file, standardised."""
    with (Path(os.environ["DISCREET_CASC_FILES"]) / f"{file}.csv").open() as lines:
        head, *rows = csv.reader(lines)
    wanted = EIA if file == "EIA" else head
    values = np.array([[float(row[head.index(name)]) for name in wanted] for row in rows])
    return np.ascontiguousarray((values - values.mean(axis=0)) / values.std(axis=0))


def lost(file: str, group: np.ndarray) -> float:
    given = points(file)
    return 100 * loss_of(given, group) / float(((given - given.mean(axis=0)) ** 2).sum())


SINGLE = {
    ("Tarragona", 2): 9.27499,
    ("Tarragona", 3): 16.96607,
    ("Tarragona", 6): 26.40470,
    ("CASCrefmicrodata", 2): 3.16518,
    ("CASCrefmicrodata", 3): 5.65356,
    ("CASCrefmicrodata", 4): 7.44142,
    ("CASCrefmicrodata", 5): 8.88403,
    ("CASCrefmicrodata", 6): 10.19410,
}
PAIRS = {
    ("Tarragona", 2): 9.32866,
    ("Tarragona", 3): 16.93259,
    ("Tarragona", 4): 19.54596,
    ("Tarragona", 5): 22.46186,
    ("Tarragona", 6): 26.32515,
    ("Tarragona", 10): 33.19288,
    ("CASCrefmicrodata", 2): 3.17812,
    ("CASCrefmicrodata", 3): 5.69219,
    ("CASCrefmicrodata", 4): 7.49470,
    ("CASCrefmicrodata", 5): 9.08844,
    ("CASCrefmicrodata", 6): 10.38471,
    ("CASCrefmicrodata", 10): 14.15593,
}


def test_the_files_have_their_known_shapes():
    assert [points(file).shape for file in ("CASCrefmicrodata", "Tarragona", "EIA")] == [
        (1080, 13),
        (834, 13),
        (4092, 10),
    ]


@pytest.mark.parametrize(("pairs", "figures"), [(False, SINGLE), (True, PAIRS)], ids=["single", "pairs"])
def test_mdav_has_the_published_losses(pairs, figures):
    found = {(file, k): lost(file, mdav_groups(points(file), k, pairs).group) for file, k in figures}
    assert found == pytest.approx(figures, abs=1e-4)


@pytest.mark.parametrize(("pairs", "loss"), [(False, 59.2535), (True, 58.8163)])
def test_the_first_600_utilities(pairs, loss):
    """Standardised over all 4,092, as the authors did."""
    given = np.ascontiguousarray(points("EIA")[:600])
    assert loss_of(given, mdav_groups(given, 2, pairs).group) == pytest.approx(loss, abs=1e-4)


UNIVARIATE = [7.14095, 0.55260, 0.50964, 1.48615, 1.68754, 0.47314, 1.91953, 0.26456, 1.28545, 1.74606, 2.54015]
UNIVARIATE += [4.13548, 4.95108]


def test_the_optimum_of_each_column_of_tarragona():
    given = points("Tarragona")
    found = []
    for column in given.T:
        one = np.ascontiguousarray(column.reshape(-1, 1))
        best = loss_of(one, best_runs_of(one, 3).group)
        assert best <= loss_of(one, mdav_groups(one, 3, True).group) + 1e-9
        found.append(100 * best / len(one))
    assert found == pytest.approx(UNIVARIATE, abs=1e-4)


@pytest.mark.parametrize("file", ["CASCrefmicrodata", "Tarragona"])
def test_the_optimum_of_a_column_is_at_most_what_mdav_loses(file):
    """26 columns, both variants."""
    for column in points(file).T:
        one = np.ascontiguousarray(column.reshape(-1, 1))
        best = loss_of(one, best_runs_of(one, 3).group)
        assert best <= min(loss_of(one, mdav_groups(one, 3, pairs).group) for pairs in (False, True)) + 1e-9


@pytest.mark.parametrize(
    ("file", "most"), [("CASCrefmicrodata", 0.94 * 5.65356), ("Tarragona", 0.94 * 16.96607), ("EIA", 0.7 * 0.594)]
)
def test_the_search_loses_less(file, most):
    assert lost(file, search_groups(points(file), 3, "normal", 1, 1).group) <= most


@pytest.mark.paper
@pytest.mark.parametrize(("file", "most"), [("CASCrefmicrodata", 4.80), ("Tarragona", 14.75), ("EIA", 0.385)])
def test_the_best_effort(file, most):
    """The median of five seeds, 200 million draws each."""
    found = [lost(file, search_groups(points(file), 3, "best", 200_000_000, seed).group) for seed in range(1, 6)]
    assert np.median(found) <= most
