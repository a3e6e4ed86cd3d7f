"""Blanking at random and noise, analysed with weights and SIMEX: the simulation of card 003-14."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.blanking import Blanking, KeptRange

TRUTH = np.array([0.5, 1.0, -1.0])
DESIGNS = {1: (0.01, 0.95), 2: (0.01, 0.90), 3: (0.5, 0.95), 4: (0.5, 0.90)}
"""Variance of the noise of X1, and the share below the upper limits of Y and X1."""
FULL_RMSE = {100: 0.10, 1000: 0.032}


class Published(NamedTuple):
    naive: tuple[float, float, float]
    naive_rmse: tuple[float, float, float]
    bsimex: tuple[float, float, float]
    bsimex_rmse: tuple[float, float, float]
    r_y: float
    r_x: float
    dropped: float


TABLE = {
    (1, 100): Published(
        (0.392, 0.910, -0.917),
        (0.162, 0.159, 0.148),
        (0.482, 0.982, -0.980),
        (0.139, 0.155, 0.140),
        80,
        78,
        19.827,
    ),
    (1, 1000): Published(
        (0.404, 0.913, -0.920),
        (0.103, 0.096, 0.089),
        (0.500, 0.997, -0.994),
        (0.049, 0.062, 0.054),
        80,
        74,
        185.193,
    ),
    (2, 100): Published(
        (0.328, 0.881, -0.896),
        (0.216, 0.180, 0.170),
        (0.468, 0.971, -0.978),
        (0.175, 0.182, 0.167),
        82,
        80,
        28.879,
    ),
    (2, 1000): Published(
        (0.343, 0.884, -0.889),
        (0.162, 0.123, 0.117),
        (0.497, 0.994, -0.990),
        (0.062, 0.069, 0.068),
        82,
        77,
        277.964,
    ),
    (3, 100): Published(
        (0.362, 0.582, -0.818),
        (0.187, 0.432, 0.223),
        (0.531, 0.906, -0.948),
        (0.160, 0.220, 0.169),
        80,
        38,
        17.970,
    ),
    (3, 1000): Published(
        (0.373, 0.586, -0.822),
        (0.133, 0.415, 0.182),
        (0.543, 0.920, -0.966),
        (0.072, 0.107, 0.072),
        78,
        32,
        167.944,
    ),
    (4, 100): Published(
        (0.301, 0.563, -0.787),
        (0.247, 0.455, 0.255),
        (0.549, 0.909, -0.937),
        (0.191, 0.246, 0.192),
        81,
        49,
        27.455,
    ),
    (4, 1000): Published(
        (0.299, 0.563, -0.786),
        (0.206, 0.439, 0.218),
        (0.567, 0.931, -0.960),
        (0.108, 0.115, 0.100),
        81,
        45,
        261.851,
    ),
}


def drawn(draw: np.random.Generator, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Outcome and two regressors with variance 1 and covariance 0.25."""
    mixed = draw.standard_normal((many, 2)) @ np.linalg.cholesky([[1, 0.25], [0.25, 1]]).T
    return 0.5 + mixed[:, 0] - mixed[:, 1] + draw.standard_normal(many), mixed


class Simulated(NamedTuple):
    """Over all repetitions: estimates, naive and full-data ones; dropped records; shares of risky records dropped."""

    bsimex: np.ndarray
    naive: np.ndarray
    full: np.ndarray
    errors: np.ndarray
    dropped: np.ndarray
    r_y: float
    r_x: float
    conventional: float


def simulated(design: int, many: int, runs: int, *, seed: int = 1, **options: object) -> Simulated:
    """The office's part written out here, the analyst's by ``ds.analyse``."""
    variance, share = DESIGNS[design]
    draw = np.random.default_rng([seed, design, many])
    place, tail = round(many * share) - 1, many * (1 - share)
    found: list[list[np.ndarray]] = [[], [], [], []]
    counts = []
    for run in range(runs):
        y, x = drawn(draw, many)
        masked = x[:, 0] + sqrt(variance) * draw.standard_normal(many)
        high_y, high_x = np.sort(y)[place], np.sort(masked)[place]
        kept = (y + draw.standard_normal(many) < high_y) & (masked + draw.standard_normal(many) < high_x)
        told = Blanking(
            ("x1", "x2", "y"),
            {"y": KeptRange(None, float(high_y), 1.0), "x1": KeptRange(None, float(high_x), 1.0)},
            {"x1": variance},
        )
        frame = pa.table({"y": y[kept], "x1": masked[kept], "x2": x[kept, 1]})
        fit = ds.analyse.bsimex(frame, "y", ["x1", "x2"], blanking=told, seed=run, **{"bootstrap": None, **options})
        full = np.linalg.lstsq(np.column_stack([np.ones(many), x]), y, rcond=None)[0]
        for listing, one in zip(found, (fit.coefficients, fit.naive, full, fit.standard_errors), strict=True):
            listing.append(one)
        counts.append(
            [
                (~kept).sum(),
                (~kept & (y > high_y)).sum() / tail,
                (~kept & (x[:, 0] > high_x)).sum() / tail,
                (~kept & (masked > high_x)).sum() / (masked > high_x).sum(),
            ]
        )
    shares = np.mean(counts, axis=0)
    stacked = [np.array(listing) for listing in found]
    return Simulated(*stacked, np.array(counts)[:, 0], *(float(share) for share in shares[1:]))


def rmse(estimates: np.ndarray) -> np.ndarray:
    return np.sqrt(((estimates - TRUTH) ** 2).mean(axis=0))


@pytest.mark.paper
@pytest.mark.parametrize(("design", "many"), TABLE)
def test_the_published_table(design, many):
    """All eight cells: means and root mean squared errors within 0.02, dropped records within 3 standard errors."""
    published, runs = TABLE[design, many], 600
    found = simulated(design, many, runs)
    for mine, theirs in (
        (found.naive.mean(axis=0), published.naive),
        (found.bsimex.mean(axis=0), published.bsimex),
        (rmse(found.naive), published.naive_rmse),
        (rmse(found.bsimex), published.bsimex_rmse),
    ):
        assert mine == pytest.approx(theirs, abs=0.02)
    assert rmse(found.full) == pytest.approx([FULL_RMSE[many]] * 3, rel=0.15)
    error = found.dropped.std() * sqrt(1 / runs + 1 / 1000)
    assert abs(found.dropped.mean() - published.dropped) < 3 * error
    assert 100 * found.r_y == pytest.approx(published.r_y, abs=2)
    assert 100 * found.r_x == pytest.approx(published.r_x, abs=2)
    assert 0.73 < found.conventional < 0.81


def test_design_3_in_200_repetitions():
    """Check 5; and the naive figures are those published, within 0.02."""
    found = simulated(3, 1000, 200, draws=25)
    assert 0.90 <= found.bsimex[:, 1].mean() <= 0.95
    assert 0.57 <= found.naive[:, 1].mean() <= 0.60
    assert found.bsimex.mean(axis=0) == pytest.approx(TABLE[3, 1000].bsimex, abs=0.02)
    assert found.naive.mean(axis=0) == pytest.approx(TABLE[3, 1000].naive, abs=0.02)
    assert rmse(found.bsimex) == pytest.approx(TABLE[3, 1000].bsimex_rmse, abs=0.02)


@pytest.mark.parametrize("design", [3, 4])
def test_a_linear_extrapolation_corrects_strong_noise_too_little(design):
    found = simulated(design, 1000, 150, extrapolation="linear", draws=10)
    assert 0.72 < found.bsimex[:, 1].mean() < 0.79


@pytest.mark.parametrize(("design", "many"), [(1, 100), (2, 1000), (3, 1000), (4, 100)])
def test_dropped_records_and_risky_ones_by_protect(design, many):
    """Check 6 with the method itself: its limits are rounded to a tenth, which moves counts either way."""
    variance, share = DESIGNS[design]
    runs, counts = 60, []
    for run in range(runs):
        y, x = drawn(np.random.default_rng([7, design, many, run]), many)
        table = pa.table({"y": y.round(6), "x1": x[:, 0].round(6), "x2": x[:, 1].round(6)})
        data = ds.Microdata(table, numeric=["y", "x1", "x2"])
        method = ds.BlankValues(
            {"y": share, "x1": share}, jitter={"y": 1, "x1": 1}, noise={"x1": sqrt(variance)}, insecure_seed=run
        )
        facts = ds.protect(data, method).custodian.evidence[0].facts
        beyond, emptied, _, truly = facts["beyond"]["x1"]
        tail = many * (1 - share)
        counts.append([facts["blanked"], facts["beyond"]["y"][1] / tail, truly / tail, emptied / max(beyond, 1)])
    published, means = TABLE[design, many], np.mean(counts, axis=0)
    error = np.std(counts, axis=0) / sqrt(runs)
    assert abs(means[0] - published.dropped) < 3 * sqrt(error[0] ** 2 + (error[0] ** 2) * runs / 1000)
    rounded = 6 if many == 100 else 0.5  # of a tail of one or two values, a limit that is rounded down adds one
    assert abs(100 * means[1] - published.r_y) < 3 * 100 * error[1] + rounded
    assert abs(100 * means[2] - published.r_x) < 3 * 100 * error[2] + rounded
    assert 0.70 < means[3] < 0.84


@pytest.fixture(scope="module")
def outcomes_blanked() -> tuple[ds.Release, np.ndarray, np.ndarray]:
    """100,000 records of which the outcome decided alone."""
    y, x = drawn(np.random.default_rng(11), 100_000)
    y = y.round(4)
    data = ds.Microdata(pa.table({"y": y, "x1": x[:, 0].round(4), "x2": x[:, 1].round(4)}))
    return ds.protect(data, ds.BlankValues({"y": 0.9}, jitter={"y": 1}, also=["x1"], insecure_seed=3)), y, x


def test_weights_take_the_bias_of_blanking_away(outcomes_blanked):
    """Check 2: 100,000 records, limits of the outcome only."""
    fit = ds.analyse.ipw(outcomes_blanked[0], "y", ["x1", "x2"])
    assert np.all(np.abs(fit.coefficients - TRUTH) < 3 * fit.standard_errors)
    assert np.all(np.abs(fit.naive - TRUTH) > 5 * fit.naive_errors)


def test_records_stay_as_often_as_their_probability_says_and_less_often_with_a_second_limit(outcomes_blanked):
    """Check 3."""
    done, y, x = outcomes_blanked
    (told,) = done.public.records.blankings
    chance = ds.analyse.retention_probabilities(pa.table({"y": y}), blanking=told)
    kept = done.custodian.released.columns["y"].is_valid().to_numpy()
    both = ds.protect(
        ds.Microdata(pa.table({"y": y, "x1": x[:, 0].round(4)})),
        ds.BlankValues({"y": 0.9, "x1": 0.9}, jitter={"y": 1, "x1": 1}, insecure_seed=3),
    )
    fewer = both.custodian.released.columns["y"].is_valid().to_numpy()
    for tenth in np.array_split(np.argsort(y), 10):
        error = sqrt(float((chance[tenth] * (1 - chance[tenth])).sum())) / len(tenth)
        assert abs(kept[tenth].mean() - chance[tenth].mean()) < 4 * error
        assert fewer[tenth].mean() < chance[tenth].mean() - 4 * error


@pytest.mark.paper
def test_bootstrap_errors_are_somewhat_too_small():
    """The mean standard error over the true spread: below 1 for all coefficients, as published (0.89 to 0.91)."""
    found = simulated(1, 100, 150, bootstrap=50, draws=20)
    ratio = found.errors.mean(axis=0) / found.bsimex.std(axis=0)
    assert np.all((ratio > 0.7) & (ratio < 1.05))
