"""Somebody who knows all records but one reads the missing value from a plot (attack simulator of Heitzig 2006).

Of a histogram they subtract what they know and guess the bin where most is left; of a density they take the place
whose kernel fits best what is left. What they know cancels, so that the result depends on grid and noise alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import ParameterError
from discreet.model.arrays import Floats


@dataclass(frozen=True)
class PlotAttack:
    """Guesses of a value from plots with fresh noise.

    Parameters
    ----------
    truth
        The value.
    guesses
        One guess a plot.
    """

    truth: float
    guesses: Floats

    @property
    def error(self) -> float:
        """Root of the mean squared distance between guess and truth."""
        return float(np.sqrt(np.mean((self.guesses - self.truth) ** 2)))


def histogram_attack(
    edges: Floats, noise: float, *, value: float | None = None, draws: int = 1000, seed: int = 0
) -> PlotAttack:
    """Guess a value from histograms with noise.

    Parameters
    ----------
    edges
        Limits of bins.
    noise
        Standard deviation of the noise of a count.
    value
        The value; the middle where left out.
    draws
        How many plots.
    seed
        Of the simulated noise.

    Examples
    --------
    >>> import discreet as ds, numpy as np
    >>> ds.attack.histogram_attack(np.linspace(-2.88, 2.88, 10), 1.0).error > 1.2
    True
    """
    _refuse(edges, noise, draws)
    truth = float((edges[0] + edges[-1]) / 2) if value is None else value
    number = len(edges) - 1
    left_over = noise * np.random.default_rng(seed).standard_normal((draws, number))
    left_over[:, min(max(int(np.searchsorted(edges, truth, side="right")) - 1, 0), number - 1)] += 1
    middle = (edges[:-1] + edges[1:]) / 2
    return PlotAttack(truth, middle[left_over.argmax(axis=1)])


def density_attack(
    grid: Floats, bandwidth: float, noise: float, *, value: float | None = None, draws: int = 1000, seed: int = 0
) -> PlotAttack:
    """Guess a value from density lines with noise (before smoothing, which an attacker undoes).

    Parameters
    ----------
    grid
        Points of the grid.
    bandwidth
        Of the Gaussian kernel.
    noise
        Standard deviation of the noise on the scale of counts.
    value
        The value; the middle where left out.
    draws
        How many plots.
    seed
        Of the simulated noise.

    Examples
    --------
    >>> import discreet as ds, numpy as np
    >>> ds.attack.density_attack(np.linspace(-3, 3, 61), 0.3, 1.42).error > 0.9
    True
    """
    _refuse(grid, noise, draws)
    if not bandwidth > 0:
        raise ParameterError(f"bandwidth={bandwidth!r} is not allowed.", hint="Give a number above 0.")
    truth = float((grid[0] + grid[-1]) / 2) if value is None else value
    kernels = np.exp(-0.5 * ((grid[:, None] - grid[None, :]) / bandwidth) ** 2) / (np.sqrt(2 * np.pi) * bandwidth)
    own = np.exp(-0.5 * ((grid - truth) / bandwidth) ** 2) / (np.sqrt(2 * np.pi) * bandwidth)
    left_over = own + noise * np.random.default_rng(seed).standard_normal((draws, len(grid)))
    misfit = (kernels**2).sum(axis=0) - 2 * left_over @ kernels
    return PlotAttack(truth, grid[misfit.argmin(axis=1)])


def _refuse(places: Floats, noise: float, draws: int) -> None:
    if len(places) < 2 or not noise > 0 or draws < 1:
        raise ParameterError(
            "An attack on a plot needs places, noise above 0 and at least one draw.", hint="See its parameters."
        )
