"""Attacks on plots: the simulator of the card, and Fourier inversion of a density line."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.attack import density_attack, histogram_attack
from discreet.errors import ParameterError
from discreet.keys import Key
from discreet.report.safe_plots.influence import bins_influence, kernels_influence
from discreet.report.safe_plots.publishing import publish
from discreet.report.safe_plots.request import plot_request

SAMPLE = np.array([-21, -15, -11, -9, -7, -3, 3, 7, 9, 11, 15, 21, 51], float)


@pytest.mark.parametrize(
    ("bins", "noise", "wanted"),
    [(9, 0.5, 0.98), (9, 1, 1.39), (9, 1e4, 1.65), (10, 0.5, 1.14), (10, 1, 1.58), (10, 1e4, 1.84)],
)
def test_the_error_of_who_reads_a_histogram_is_that_of_the_card(bins, noise, wanted):
    edges = (np.arange(bins + 1) - bins / 2) * 0.64
    assert histogram_attack(edges, noise, value=0.0, draws=20_000).error == pytest.approx(wanted, abs=0.05)


@pytest.mark.parametrize(("points", "noise"), [(11, 0.60), (25, 0.90), (61, 1.42), (121, 1.94), (241, 2.78)])
def test_more_points_need_more_noise(points, noise):
    found = density_attack(np.linspace(-3, 3, points), 0.3, noise, draws=8_000).error
    assert found == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("points", [25, 61, 241])
def test_default_noise_does_not_fall_behind_finer_grids(points):
    request = plot_request("density", "x", (-3, 3), width=0.3, points=points)
    noise = kernels_influence(request, (0.3,)).noise
    assert density_attack(np.linspace(-3, 3, points), 0.3, noise, draws=4_000).error > 1.0


def test_who_knows_all_records_but_one_reads_nothing_from_published_histograms():
    """The same attack on what is really published: counts of a key that the attacker does not have."""
    random = np.random.default_rng(3)
    known = random.normal(0, 1, 99)
    request = plot_request("histogram", "x", (-2.88, 2.88), width=0.64)
    edges = np.linspace(-2.88, 2.88, 10)
    counted, _ = np.histogram(np.clip(known, -2.88, 2.88), edges)
    middle = (edges[1:] + edges[:-1]) / 2
    values = np.append(known, 0.0)[:, None]
    guesses = [
        middle[np.argmax(publish(request, values, None, Key.from_seed(seed)).values - counted)] for seed in range(2000)
    ]
    assert np.sqrt(np.mean(np.square(guesses))) == pytest.approx(1.39, abs=0.07)
    assert bins_influence(request).noise == 1


@pytest.mark.parametrize("trim", [0, 1])
def test_trimming_hides_the_outlier_better_where_there_is_little_noise(trim):
    """Figure 5: the attacker recomputes the whole curve for every candidate of the missing value."""
    grid = np.linspace(-60, 120, 91)
    known = SAMPLE[:-1]
    curves = np.array([_curve(np.append(known, one), grid, trim) for one in grid])
    truth = _curve(SAMPLE, grid, trim)
    random = np.random.default_rng(1)
    errors = {}
    for noise in (0.003, 0.3):
        seen = truth + noise * random.standard_normal((400, len(grid)))
        misfit = (curves**2).sum(axis=1) - 2 * seen @ curves.T
        errors[noise] = np.sqrt(np.mean((grid[misfit.argmin(axis=1)] - 51) ** 2))
    assert errors[0.003] == pytest.approx(2.5 if trim == 0 else 4.0, rel=0.35)
    assert errors[0.3] == pytest.approx(53, rel=0.2)


def _curve(values, grid, trim):
    apart = np.abs(values[:, None] - values[None, :])
    np.fill_diagonal(apart, np.inf)
    h = np.maximum(2 * apart.min(axis=1), 2)
    z = np.exp(-0.5 * ((grid[:, None] - values) / h) ** 2) / (np.sqrt(2 * np.pi) * h)
    return z.sum(axis=1) - (z.max(axis=1) if trim else 0)


def _deconvolved(curve, step, bandwidth):
    """Division of transforms; the thirteen highest maxima of what comes back."""
    frequency = 2 * np.pi * np.fft.rfftfreq(len(curve), step)
    kernel = np.exp(-0.5 * (frequency * bandwidth) ** 2)
    usable = kernel > 1e-10
    line = np.fft.irfft(np.where(usable, np.fft.rfft(curve) / np.where(usable, kernel, 1), 0), len(curve))
    peaks = np.flatnonzero((line > np.roll(line, 1)) & (line >= np.roll(line, -1)))
    return np.sort(peaks[np.argsort(-line[peaks])[:13]])


@pytest.mark.parametrize("bandwidth", [1.0, 2.0])
def test_a_density_line_without_noise_gives_every_value_away_and_one_with_noise_does_not(bandwidth):
    grid = np.arange(-100, 156, 0.25)
    z = np.exp(-0.5 * ((grid[:, None] - SAMPLE) / bandwidth) ** 2) / (np.sqrt(2 * np.pi) * bandwidth)
    line = z.sum(axis=1)
    assert np.allclose(grid[_deconvolved(line, 0.25, bandwidth)], SAMPLE)
    noise = 0.05 * np.random.default_rng(1).standard_normal(len(grid))
    found = grid[_deconvolved(line + noise, 0.25, bandwidth)]
    assert np.abs(found - SAMPLE).mean() > 10


@pytest.mark.parametrize("bandwidth", [4.16, 8.32, 16.64])
def test_noise_defeats_deconvolution_of_wide_kernels_too(bandwidth):
    grid = np.arange(-100, 156, 0.25)
    z = np.exp(-0.5 * ((grid[:, None] - SAMPLE) / bandwidth) ** 2) / (np.sqrt(2 * np.pi) * bandwidth)
    noise = 0.05 * np.random.default_rng(1).standard_normal(len(grid))
    assert np.abs(grid[_deconvolved(z.sum(axis=1) + noise, 0.25, bandwidth)] - SAMPLE).mean() > 10


@pytest.mark.parametrize("bandwidth", [1.0, 2.0])
def test_published_densities_cannot_be_deconvolved(bandwidth):
    request = plot_request("density", "x", (-100, 150), width=bandwidth, points=1001, smooth=0)
    plot = publish(request, SAMPLE[:, None], None, Key.from_seed(1))
    found = plot.axes[0][_deconvolved(plot.values * plot.total, 0.25, bandwidth)]
    assert np.abs(found - SAMPLE).mean() > 10


@pytest.mark.parametrize("bad", [{"noise": 0.0}, {"draws": 0}, {"bandwidth": 0.0}])
def test_attacks_need_noise_and_draws(bad):
    with pytest.raises(ParameterError):
        density_attack(np.linspace(0, 1, 11), **{"bandwidth": 0.1, "noise": 1.0, **bad})
