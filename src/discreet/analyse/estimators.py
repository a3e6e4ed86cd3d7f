"""Estimates from published records that were blanked at random, or have noise, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from discreet.analyse.designs import (
    AnalystRecords,
    Blankings,
    Design,
    design_of,
    model_probabilities,
    opened,
    refuse_probabilities,
    stated_probabilities,
)
from discreet.analyse.extrapolation import Extrapolant, checked_levels, without_rational
from discreet.analyse.models import MODELS, ModelName, NoFit, fits_with_noise, fitted, pieces, sandwich
from discreet.analyse.results import CorrectedFit, SimulationPath, WeightDiagnostics, corrected
from discreet.errors import InputError, ParameterError, counted, listed, unknown_name
from discreet.model.arrays import Floats
from discreet.model.blanking import Blanking
from discreet.parallel import shared, sharing

Noise = Mapping[str, float] | Mapping[str, Mapping[str, float]]
LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0)
MOST_TRIES = 10
"""So many times as many bootstrap samples as asked for are drawn at most, where some cannot be fitted."""
FEW = 0.5
"""Where fewer records than this share of the complete ones would do with equal weights, a note says so."""


class ModelInput(NamedTuple):
    """A model, its records, and what they are weighted with."""

    model: ModelName
    outcome: str
    records: int
    design: Design
    weights: WeightDiagnostics | None
    blankings: tuple[Blanking, ...]

    @property
    def all_weights(self) -> Floats:
        """Weights of the sample, times those for blanking."""
        return self.design.weights if self.weights is None else self.design.weights * self.weights.weights


@dataclass(frozen=True)
class Simulation:
    """How noise is simulated: which levels, how often, how it is carried back, and from which draws."""

    levels: Floats
    draws: int
    extrapolation: Extrapolant
    bootstrap: int | None
    seed: int


# ---- the three estimators ------------------------------------------------------------------------------------


def ipw(
    records: Any,
    outcome: str,
    regressors: str | Sequence[str],
    *,
    model: ModelName = "linear",
    blanking: Blankings = None,
    probabilities: Any = None,
    weight: str | None = None,
    trim: float | None = None,
) -> CorrectedFit:
    """Weight every complete record by one over the probability that it was kept.

    Parameters
    ----------
    records
        Public records: a release or its public part, a data frame, or a file.
    outcome, regressors
        Columns of numbers; the model has an intercept besides.
    model
        ``"linear"``, ``"logit"`` (an outcome of 0 and 1) or ``"poisson"`` (counts).
    blanking
        What is published of the blanking (:func:`discreet.read_blanking`); what the release says where left out.
    probabilities
        In place of it, a column or a number for every record.
    weight
        Column with the weights of the sample.
    trim
        Weights for blanking above this are cut to it: less noise, some bias.

    Returns
    -------
    CorrectedFit
        Coefficients with standard errors of a sandwich, and what the weights are like.

    Raises
    ------
    InputError
        Where no record is complete, a probability is none, the design is singular, or outcomes are separated.

    Notes
    -----
    Limits of regressors need no weight: they do not bias a model of the outcome given these regressors. Source:
    Flossmann and Lechner (2006).

    Examples
    --------
    >>> import discreet as ds, numpy as np, pyarrow as pa
    >>> draw = np.random.default_rng(103)
    >>> x = draw.normal(size=4000).round(3)
    >>> people = ds.Microdata(pa.table({"x": x, "y": (x + draw.normal(size=4000)).round(3)}), numeric=["x", "y"])
    >>> release = ds.protect(people, ds.BlankValues({"y": 0.9}, jitter={"y": 1}, insecure_seed=3))
    >>> fit = ds.analyse.ipw(release, "y", "x")
    >>> f"{fit['x']:.2f} with weights, {fit.naive[1]:.2f} without"
    '1.03 with weights, 0.89 without'
    """
    given = _input(records, outcome, regressors, model, blanking, weight, (True, probabilities, trim))
    weights = given.all_weights
    design = given.design
    found = fitted(model, design.matrix, design.outcome, weights)
    errors = np.sqrt(
        np.diag(design.covariance_in_units(sandwich(model, design.matrix, design.outcome, weights, found)))
    )
    return _result("ipw", given, design.in_units(found), errors)


def simex(
    records: Any,
    outcome: str,
    regressors: str | Sequence[str],
    *,
    model: ModelName = "linear",
    blanking: Blankings = None,
    noise: Noise | None = None,
    weight: str | None = None,
    levels: Sequence[float] = LEVELS,
    draws: int = 50,
    extrapolation: Extrapolant = "quadratic",
    bootstrap: int | None = 50,
    seed: int = 1,
    jobs: int | None = None,
) -> CorrectedFit:
    """Add more and more noise to regressors that have some, see how coefficients move, and carry them back to none.

    Blanked records are left out and nothing is weighted; :func:`discreet.analyse.bsimex` corrects for both.

    Parameters
    ----------
    records, outcome, regressors, model, blanking, weight
        As in :func:`discreet.analyse.ipw`.
    noise
        For a regressor the variance of its noise; or, for noise that is correlated, its covariance with every one:
        ``{"a": {"a": 2, "b": 1}, "b": {"a": 1, "b": 2}}``. What the release says where left out.
    levels
        Noise that is added, as multiples of the noise there is; rising, from 0 on.
    draws
        How many times noise is added at each level.
    extrapolation
        ``"quadratic"``, ``"linear"`` (corrects too little) or ``"rational"`` (exact in the simplest cases, unstable in
        others).
    bootstrap
        Samples of records for standard errors; ``None`` for none.
    seed
        Where the draws begin. They are no secret.
    jobs
        How many processes share the samples, through joblib (``discreet[jobs]``): all records are sent to each of them.

    Returns
    -------
    CorrectedFit
        Coefficients with standard errors of the bootstrap, and the path of the extrapolation.

    Notes
    -----
    Source: Flossmann and Lechner (2006).

    Examples
    --------
    >>> import discreet as ds, numpy as np, pyarrow as pa
    >>> draw = np.random.default_rng(1)
    >>> x = draw.normal(size=2000)
    >>> y = x + draw.normal(size=2000)
    >>> seen = pa.table({"x": x + draw.normal(0, 0.5, 2000), "y": y})
    >>> fit = ds.analyse.simex(seen, "y", "x", noise={"x": 0.25}, bootstrap=None)
    >>> f"{fit['x']:.2f} corrected, {fit.naive[1]:.2f} naive"
    '0.95 corrected, 0.79 naive'
    """
    given = _input(records, outcome, regressors, model, blanking, weight, (False, None, None))
    with sharing(jobs):
        return _simulated("simex", given, noise, _simulation(levels, draws, extrapolation, bootstrap, seed))


def bsimex(
    records: Any,
    outcome: str,
    regressors: str | Sequence[str],
    *,
    model: ModelName = "linear",
    blanking: Blankings = None,
    probabilities: Any = None,
    noise: Noise | None = None,
    weight: str | None = None,
    trim: float | None = None,
    levels: Sequence[float] = LEVELS,
    draws: int = 50,
    extrapolation: Extrapolant = "quadratic",
    bootstrap: int | None = 50,
    seed: int = 1,
    jobs: int | None = None,
) -> CorrectedFit:
    """Correct for blanking by weights and for noise by simulation and extrapolation, both at once.

    Parameters
    ----------
    records, outcome, regressors, model, blanking, probabilities, weight, trim
        As in :func:`discreet.analyse.ipw`.
    noise, levels, draws, extrapolation, bootstrap, seed, jobs
        As in :func:`discreet.analyse.simex`.

    Returns
    -------
    CorrectedFit
        Coefficients with standard errors of the bootstrap, the path of the extrapolation, and what weights are like.

    Notes
    -----
    Where values with noise decided what was blanked, a small bias stays: among kept records the noise depends on the
    true values. Source: Flossmann and Lechner (2006).

    Examples
    --------
    >>> import discreet as ds, numpy as np, pyarrow as pa
    >>> draw = np.random.default_rng(1)
    >>> x = draw.normal(size=2000).round(3)
    >>> people = ds.Microdata(pa.table({"x": x, "y": (x + draw.normal(size=2000)).round(3)}), numeric=["x", "y"])
    >>> method = ds.BlankValues({"y": 0.9}, jitter={"y": 1}, noise={"x": 0.5}, insecure_seed=1)
    >>> fit = ds.analyse.bsimex(ds.protect(people, method), "y", "x", bootstrap=None)
    >>> f"{fit['x']:.2f} corrected, {fit.naive[1]:.2f} naive"
    '0.94 corrected, 0.66 naive'
    """
    given = _input(records, outcome, regressors, model, blanking, weight, (True, probabilities, trim))
    with sharing(jobs):
        return _simulated("bsimex", given, noise, _simulation(levels, draws, extrapolation, bootstrap, seed))


# ---- what they begin with ------------------------------------------------------------------------------------


def _input(
    records: Any,
    outcome: str,
    regressors: str | Sequence[str],
    model: ModelName,
    blanking: Blankings,
    weight: str | None,
    weighting: tuple[bool, Any, float | None],
) -> ModelInput:
    """The records of a model, with weights for blanking where they are asked for."""
    if model not in MODELS:
        raise ParameterError(unknown_name("model", str(model), MODELS))
    wanted, probabilities, trim = weighting
    names = [regressors] if isinstance(regressors, str) else list(regressors)
    besides = [name for name in (weight, probabilities) if isinstance(name, str)]
    given = opened(records, [outcome, *names, *besides], blanking)
    design = design_of(given, outcome, names, model, weight)
    weights = _weights(given, design, outcome, probabilities, trim) if wanted else None
    return ModelInput(model, outcome, given.table.num_rows, design, weights, given.blankings or ())


def _weights(
    given: AnalystRecords, design: Design, outcome: str, probabilities: Any, trim: float | None
) -> WeightDiagnostics:
    if trim is not None and (isinstance(trim, bool) or not isinstance(trim, int | float) or not trim >= 1):
        raise ParameterError(f"trim={trim!r} is not allowed.", hint="Give a number of at least 1, or leave it out.")
    if probabilities is None:
        chances = model_probabilities(given, design, outcome)
    else:
        chances = stated_probabilities(given, design, probabilities)
    refuse_probabilities(chances)
    weights = 1 / chances
    if trim is None:
        return WeightDiagnostics(chances, weights)
    return WeightDiagnostics(chances, np.minimum(weights, trim), int((weights > trim).sum()))


def _simulation(
    levels: Sequence[float], draws: int, extrapolation: Extrapolant, bootstrap: int | None, seed: int
) -> Simulation:
    for name, number, least in (("draws", draws, 1), ("bootstrap", bootstrap, 2), ("seed", seed, 0)):
        if number is None and name == "bootstrap":
            continue
        if not isinstance(number, int) or isinstance(number, bool) or number < least:
            raise ParameterError(f"{name}={number!r} is not allowed.", hint=f"Give a whole number of at least {least}.")
    return Simulation(checked_levels(levels, extrapolation), draws, extrapolation, bootstrap, seed)


def _noise_root(given: ModelInput, noise: Noise | None) -> Floats:
    """A matrix that makes noise of the regressors, in their scaled units, of independent normal draws."""
    names = given.design.names[1:]
    if noise is None:
        noise = {name: variance for one in given.blankings for name, variance in one.noise.items() if name in names}
        if not noise:
            raise ParameterError(
                f"Nothing says how much noise {listed(names)} {'has' if len(names) == 1 else 'have'}: the noise "
                "variance is unknown.",
                hint="Give noise={'COLUMN': variance}, or blanking=ds.read_blanking(...). Without noise, take "
                "ds.analyse.ipw.",
            )
    covariance = np.zeros((len(names), len(names)))
    for name, entry in noise.items():
        if name not in names:
            raise ParameterError(unknown_name("regressor", str(name), names, "noise"))
        for other, number in (entry if isinstance(entry, Mapping) else {name: entry}).items():
            if other not in names:
                raise ParameterError(unknown_name("regressor", str(other), names, "noise"))
            good = isinstance(number, int | float | np.number) and not isinstance(number, bool) and np.isfinite(number)
            if not good or (other == name and number < 0):
                raise ParameterError(f"The noise of {name!r} is {number!r}.", hint="Give a variance of at least 0.")
            covariance[names.index(name), names.index(other)] = float(number)
    scaled = covariance / np.outer(given.design.scale, given.design.scale)
    sizes, basis = np.linalg.eigh(scaled)
    if not np.allclose(scaled, scaled.T, rtol=1e-9, atol=0) or sizes.min() < -1e-9 * max(1e-300, sizes.max()):
        raise ParameterError(
            "The covariance of the noise is not symmetric, or not that of any noise.",
            hint="Give variances, or all covariances both ways: {'a': {'a': 2, 'b': 1}, 'b': {'a': 1, 'b': 2}}.",
        )
    there = sizes > 0
    return np.asarray(basis[:, there] * np.sqrt(sizes[there]))


# ---- simulation ----------------------------------------------------------------------------------------------


def _simulated(method: str, given: ModelInput, noise: Noise | None, how: Simulation) -> CorrectedFit:
    root = _noise_root(given, noise)
    design, weights = given.design, given.all_weights
    everybody = np.arange(len(design.outcome))
    path = _path(given, root, how, everybody, weights, np.random.default_rng([how.seed, 0]))
    errors, again = np.full(len(design.names), np.nan), 0
    if how.bootstrap is not None:
        errors, again = _bootstrapped(given, root, how, weights)
    notes = [f"{counted(again, 'bootstrap sample')} had no fit and were drawn again"] if again else []
    if how.extrapolation == "rational":
        others = [design.names[place] for place in without_rational(path.levels, path.coefficients)]
        notes += [f"no rational curve for {listed(others)}: quadratic in its place"] if others else []
    return _result(method, given, corrected(path), errors, path, notes)


def _path(
    given: ModelInput, root: Floats, how: Simulation, rows: Any, weights: Floats, draw: np.random.Generator
) -> SimulationPath:
    """Mean coefficients of some records at every level; the same draws serve all levels."""
    design = given.design
    matrix, outcome, weights = design.matrix[rows], design.outcome[rows], weights[rows]
    plain = fitted(given.model, matrix, outcome, weights)
    noisy = np.flatnonzero(np.abs(root).sum(axis=1) > 0)
    if not len(noisy):
        return SimulationPath(how.levels, np.tile(design.in_units(plain), (len(how.levels), 1)), how.extrapolation)
    total = np.zeros((len(how.levels) - 1, matrix.shape[1]))
    size = len(matrix) * len(noisy) if given.model == "linear" else matrix.size * len(total)
    for piece in pieces(how.draws, size):
        added = draw.standard_normal((piece.stop - piece.start, len(matrix), root.shape[1])) @ root[noisy].T
        found = fits_with_noise(given.model, (matrix, outcome, weights), added, noisy + 1, how.levels[1:])
        total += found.sum(axis=1)
    total = np.vstack([plain, total / how.draws])
    return SimulationPath(how.levels, design.in_units(total), how.extrapolation)


def _bootstrapped(given: ModelInput, root: Floats, how: Simulation, weights: Floats) -> tuple[Floats, int]:
    """Standard errors from samples of the complete records, and how many samples had no fit."""
    assert how.bootstrap is not None
    again = partial(_refitted, given, root, how, weights)
    found, failed = list[Floats](), 0
    while len(found) < how.bootstrap:
        # All samples after one without a fit begin with other draws, so that they are begun anew.
        tries = [(number, failed) for number in range(len(found), how.bootstrap)]
        results = shared(again, tuple, tries, "bootstrap", len(found), how.bootstrap, threads=False)
        with closing(results):
            for one in results:
                if one is None:
                    failed += 1
                    break
                found.append(one)
        if failed > MOST_TRIES * how.bootstrap:
            raise InputError(
                "Samples of the records have no fit, so that there are no standard errors.",
                hint="Take fewer regressors, merge rare groups, or give bootstrap=None.",
            )
    return np.std(found, axis=0, ddof=1), failed


def _refitted(
    given: ModelInput, root: Floats, how: Simulation, weights: Floats, tried: tuple[int, ...]
) -> Floats | None:
    """Coefficients of the sample with a number after so many that had no fit; ``None`` where this one has none."""
    many = len(given.design.outcome)
    draw = np.random.default_rng([how.seed, 1, *tried])
    rows = draw.integers(0, many, many)
    try:
        return corrected(_path(given, root, how, rows, weights, draw))
    except NoFit:
        return None


def _result(
    method: str,
    given: ModelInput,
    coefficients: Floats,
    errors: Floats,
    path: SimulationPath | None = None,
    notes: Sequence[str] = (),
) -> CorrectedFit:
    design = given.design
    plain = fitted(given.model, design.matrix, design.outcome, design.weights)
    covariance = sandwich(given.model, design.matrix, design.outcome, design.weights, plain)
    said = list(notes)
    if given.weights is not None and given.weights.effective < FEW * len(design.outcome):
        said.append("few records carry most of the weight: look at the weights, and think of trim=")
    return CorrectedFit(
        method,
        given.model,
        given.outcome,
        design.names,
        coefficients,
        errors,
        design.in_units(plain),
        np.sqrt(np.diag(design.covariance_in_units(covariance))),
        given.records,
        len(design.outcome),
        given.weights,
        path,
        tuple(said),
    )
