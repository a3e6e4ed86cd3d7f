"""Draws from regressions (003-20): what stays exactly, and how many records are linked in the public files.

The files are not part of this project: ``DISCREET_CASC_FILES`` names a folder with CASCrefmicrodata.csv and EIA.csv,
written from the R package sdcMicro.
"""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.records.regression_draws import RegressionFit, model_basis, regression_fit, synthetic_values

needs_files = pytest.mark.skipif(
    "DISCREET_CASC_FILES" not in os.environ, reason="DISCREET_CASC_FILES names no folder with the public files"
)
KEY = ds.Key(bytes(32))
S1, S2, POWER = (1, 3, 4, 6, 7, 9, 11, 12, 13), (4, 7, 12, 13), (1, 2, 7, 8, 9)
SCENARIOS = {"S1": ("CASCrefmicrodata", S1), "S2": ("CASCrefmicrodata", S2), "EIA": ("EIA", POWER)}
FITTED = {
    ("S1", (7, 12)): (145, 133, 135, 123, 146),
    ("S1", (4, 7, 11, 12)): (91, 75, 126, 60, 89),
    ("S1", (4, 7, 12, 13)): (95, 87, 137, 66, 94),
    ("S1", (4, 7, 11, 12, 13)): (98, 87, 129, 62, 97),
    ("S1", S1): (23, 40, 123, 67, 24),
    ("S2", (7, 12)): (104, 92, 93, 84, 100),
    ("S2", (4, 13)): (59, 65, 63, 57, 61),
    ("S2", (7, 12, 13)): (94, 85, 89, 68, 91),
    ("S2", S2): (109, 104, 106, 44, 106),
    ("EIA", (1,)): (14, 9, 9, 9, 14),
    ("EIA", (1, 7, 8)): (16, 15, 18, 9, 16),
    ("EIA", POWER): (65, 121, 3206, 143, 63),
}
"""Right links of fitted values: standardised by each file, by both variances, Mahalanobis aligned and zero, kernel."""
DRAWN = {
    ("S1", (7, 12)): (35.2, 4.7),
    ("S1", (4, 7, 11, 12)): (38.7, 6.5),
    ("S2", (4, 13)): (19.2, 4.7),
    ("S2", S2): (34.8, 5.4),
    ("EIA", (1, 7, 8)): (9.4, 2.9),
}
"""Mean and deviation of right links by own standardisation, of variant c."""


@cache
def numbers(file: str) -> np.ndarray:
    with (Path(os.environ["DISCREET_CASC_FILES"]) / f"{file}.csv").open() as lines:
        rows = list(csv.reader(lines))[1:]
    return np.array(
        [[float(cell) for cell in row[5:] if file == "EIA"] or [float(cell) for cell in row] for row in rows]
    )


@cache
def fitted(scenario: str) -> tuple[np.ndarray, RegressionFit]:
    file, own = SCENARIOS[scenario]
    places = [place - 1 for place in own]
    values = numbers(file)
    return values[:, places], regression_fit(values[:, places], model_basis(np.delete(values, places, axis=1)))


def right(distance: np.ndarray) -> int:
    return int((distance.argmin(axis=1) == np.arange(len(distance))).sum())


def euclid(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return sum((one[:, [i]] - other[:, i]) ** 2 for i in range(one.shape[1]))


def standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


def whitened(one: np.ndarray, other: np.ndarray, covariance: np.ndarray) -> int:
    root = np.linalg.cholesky(np.linalg.inv(covariance))
    return right(euclid(one @ root, other @ root))


def links(before: np.ndarray, after: np.ndarray) -> tuple[int, int, int, int, int]:
    size = before.shape[1]
    both = before.var(axis=0) + after.var(axis=0)
    apart = np.cov(before, rowvar=False).reshape(size, size) + np.cov(after, rowvar=False).reshape(size, size)
    aligned = np.cov(before - after, rowvar=False).reshape(size, size)
    one, two = standard(before), standard(after)
    kernel = ((1 + one @ two.T) ** 2) * -2 + (1 + (two**2).sum(axis=1)) ** 2
    return (
        right(euclid(one, two)),
        right(euclid(before / both**0.5, after / both**0.5)),
        whitened(before, after, aligned),
        whitened(before, after, apart),
        right(kernel),
    )


@needs_files
@pytest.mark.parametrize(("scenario", "chosen"), FITTED, ids=str)
def test_links_of_fitted_values_to_the_digit(scenario, chosen):
    values, fit = fitted(scenario)
    places = [SCENARIOS[scenario][1].index(one) for one in chosen]
    assert links(values[:, places], fit.fitted[:, places]) == FITTED[scenario, chosen]


@needs_files
def test_the_rank_of_collinear_columns_and_the_direction_that_is_nearly_fixed():
    assert [fitted(name)[1].basis.shape[1] for name in SCENARIOS] == [4, 9, 6]
    assert fitted("EIA")[1].eigenvalues[0] == pytest.approx(6.87e-4, rel=1e-3)


@needs_files
def test_the_method_gives_the_fitted_values_of_the_public_file_and_tells_what_is_nearly_fixed():
    values = numbers("EIA")
    names = [f"v{place}" for place in range(1, 11)]
    own = [f"v{place}" for place in POWER]
    data = ds.Microdata(pa.table(dict(zip(names, values.astype(int).T, strict=True))), numeric=names)
    given = [name for name in names if name not in own]
    release = ds.protect(data, ds.Ipso(own, given=given, variant="fit", decimals=6), key=KEY)
    shown = np.stack([release.custodian.released[name].to_numpy() for name in own], axis=1)
    assert np.allclose(shown, fitted("EIA")[1].fitted, atol=1e-5)
    assert release.verify().holds
    assert links(fitted("EIA")[0], shown)[2] == 3206
    assert release.custodian.evidence[0].facts["least"] == pytest.approx(6.87e-4, rel=1e-3)
    assert any("The given columns nearly fix a combination" in note for note in release.custodian.log["notes"])


def drawn(scenario: str, seed: int) -> np.ndarray:
    values, fit = fitted(scenario)
    return synthetic_values(fit, np.random.default_rng(seed).normal(size=values.shape), "c")


@needs_files
@pytest.mark.parametrize(("scenario", "chosen"), DRAWN, ids=str)
def test_links_of_exact_draws(scenario, chosen):
    values, _ = fitted(scenario)
    places = [SCENARIOS[scenario][1].index(one) for one in chosen]
    before = values[:, places]
    mean, deviation = DRAWN[scenario, chosen]
    counts = []
    for seed in range(5):
        after = drawn(scenario, seed)[:, places]
        own = right(euclid(standard(before), standard(after)))
        both = (before.var(axis=0) + after.var(axis=0)) ** 0.5
        assert own == right(euclid(before / both, after / both))  # means and variances are the same
        counts.append(own)
    assert abs(np.mean(counts) - mean) < 4 * deviation / 5**0.5


@needs_files
def test_links_of_exact_draws_by_the_covariance_of_the_error():
    values, _ = fitted("EIA")
    own, both, aligned, zero, _ = links(values, drawn("EIA", 1))
    assert 720 <= aligned <= 840
    assert 25 <= zero <= 60
    assert own == both


# ---- properties, on made-up files --------------------------------------------------------------------------------


def made_up() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    x = draw.lognormal(8, 1, (400, 3))
    x = np.column_stack([x, x[:, 0] + x[:, 1]])
    y = x[:, :2] @ [[1.0, 0.3], [0.2, 2.0]] + draw.normal(0, 3000, (400, 2))
    return x, y


@pytest.mark.parametrize("variant", ["fit", "a", "b", "c"])
def test_what_every_variant_keeps(variant):
    """Fitted values are compared, because coefficients of columns that follow from others are not unique."""
    x, y = made_up()
    fit = regression_fit(y, model_basis(x))
    assert fit.basis.shape[1] == 4
    new = synthetic_values(fit, np.random.default_rng(2).normal(size=y.shape), variant)
    again = regression_fit(new, fit.basis)
    apart = np.abs(again.fitted - fit.fitted).max() / np.abs(fit.fitted).max()
    assert (apart < 1e-9) == (variant != "a")
    covariance = [one.residual.T @ one.residual / len(y) for one in (fit, again)]
    change = np.abs(covariance[1] - covariance[0]).max() / np.abs(covariance[0]).max()
    assert (change < 1e-9) == (variant == "c")
    if variant == "c":
        before, after = (np.cov(np.column_stack([x, part]), rowvar=False) for part in (y, new))
        assert np.abs(after - before).max() < 1e-9 * np.abs(before).max()
        assert np.allclose(new.mean(axis=0), y.mean(axis=0), rtol=1e-12)


def people(rows: int = 60) -> ds.Microdata:
    x, y = (part[:rows].round() for part in made_up())
    columns = {f"x{i}": column for i, column in enumerate(x.T)} | {f"y{i}": column for i, column in enumerate(y.T)}
    return ds.Microdata(pa.table(columns), numeric=list(columns))


def test_draws_differ_between_seeds_and_are_equal_for_equal_ones():
    for variant in ("fit", "a", "b", "c"):
        shown = [
            ds.protect(people(), ds.Ipso(["y0", "y1"], given=["x0", "x1"], variant=variant, insecure_seed=seed))
            .custodian.steps[0]
            .changed
            for seed in (1, 1, 2)
        ]
        assert shown[0].equals(shown[1])
        assert shown[0].equals(shown[2]) == (variant == "fit")


def test_as_many_records_as_rank_and_columns_are_too_few():
    method = ds.Ipso(["y0", "y1"], given=["x0", "x1"], insecure_seed=1)
    with pytest.raises(
        InputError, match="There are 5 records, and 2 columns with a regression of rank 3 need at least 6"
    ):
        ds.protect(people(5), method)
    assert ds.protect(people(6), method).verify().holds


def test_mahalanobis_links_are_more_than_others_where_a_combination_is_nearly_fixed():
    """The ordering of the public file on a made-up one: a total that given columns fix but for a little."""
    draw = np.random.default_rng(5)
    parts = draw.lognormal(8, 1, (300, 3))
    total = parts.sum(axis=1) + draw.normal(0, 30, 300)
    before = np.column_stack([total, parts[:, 0]])
    fit = regression_fit(before, model_basis(parts[:, 1:]))
    assert fit.eigenvalues[0] < 1e-3
    own, _, aligned, zero, _ = links(before, fit.fitted)
    assert aligned > 5 * max(own, zero, 1)
