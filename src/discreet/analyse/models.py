"""Linear, logit and Poisson models with weights: many fits at once, and how sure of them one can be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.model.arrays import Floats, Ints

ModelName = Literal["linear", "logit", "poisson"]
MODELS: tuple[ModelName, ...] = ("linear", "logit", "poisson")
MOST_NUMBERS = 3_000_000
"""Numbers of stacked designs that are worked on at a time."""
MOST_STEPS, CLOSE = 100, 1e-11
FARTHEST = 500.0
"""Linear predictors beyond this are cut: their exponentials would overflow."""
SINGULAR = 1e-13
"""Where the smallest spread of scaled regressors is so small beside the largest, they determine each other."""
MODEL_HINT = "Leave out a regressor that tells the outcome, merge rare groups, or take more records."


class NoFit(InputError):
    """A model has no finite coefficients for these records."""


def fitted(model: ModelName, design: Floats, outcome: Floats, weights: Floats) -> Floats:
    """Coefficients of one model; ``design`` has a row for every record."""
    found: Floats = fit_many(model, design[None], outcome, weights)[0]
    return found


def fit_many(model: ModelName, designs: Floats, outcome: Floats, weights: Floats) -> Floats:
    """Coefficients of many models with the same outcome and weights: one row for each design.

    Raises
    ------
    NoFit
        Where some design is singular, or a logit model separates the outcomes.
    """
    weighted: Floats = designs * weights[:, None]
    squares = weighted.transpose(0, 2, 1) @ designs
    _refuse_singular(squares)
    try:
        if model == "linear":
            return _solved(squares, weighted.transpose(0, 2, 1) @ outcome)
        return _newton(model, designs, outcome, weights)
    except np.linalg.LinAlgError:
        if model == "logit":
            raise _separated() from None
        raise _no_fit() from None


def _refuse_singular(squares: Floats) -> None:
    """Refuse weighted sums of squares and products of regressors that determine each other."""
    sizes = np.linalg.eigvalsh(squares)
    if np.any(sizes[..., 0] < SINGULAR * sizes[..., -1]):
        raise NoFit("The regressors determine each other, and have no coefficients of their own.", hint=MODEL_HINT)


def _solved(squares: Floats, products: Floats) -> Floats:
    return np.asarray(np.linalg.solve(squares, products[..., None])[..., 0], np.float64)


def fits_with_noise(
    model: ModelName, given: tuple[Floats, Floats, Floats], noise: Floats, columns: Ints, levels: Floats
) -> Floats:
    """Coefficients at every level (first axis), for every draw of noise (second axis).

    Parameters
    ----------
    model
        Which model.
    given
        Design, outcome and weights.
    noise
        For every draw and record, what is added to some columns of the design at level 1.
    columns
        Which columns of the design.
    levels
        Levels; noise of a level is that of level 1 times its root.
    """
    design, outcome, weights = given
    roots = np.sqrt(levels)[:, None, None, None]
    if model != "linear":
        designs = np.tile(design, (len(levels), len(noise), 1, 1))
        designs[..., columns] += roots * noise
        found = fit_many(model, designs.reshape(-1, *design.shape), outcome, weights)
        return found.reshape(len(levels), len(noise), -1)
    # Sums of squares of all levels follow from those of the noise and of its products with the design.
    weighted, side = design * weights[:, None], noise.transpose(0, 2, 1)
    squares = np.tile(weighted.T @ design, (len(levels), len(noise), 1, 1))
    across = roots * (weighted.T @ noise)
    squares[..., :, columns] += across
    squares[..., columns, :] += across.swapaxes(-1, -2)
    squares[..., columns[:, None], columns] += roots**2 * (side @ (noise * weights[:, None]))
    products = np.tile(weighted.T @ outcome, (len(levels), len(noise), 1))
    products[..., columns] += roots[..., 0] * (side @ (weights * outcome))
    _refuse_singular(squares)
    return _solved(squares, products)


def pieces(many: int, size: int) -> Iterator[slice]:
    """Slices of so many fits that their designs, of ``size`` numbers each, fit into memory together."""
    step = max(1, MOST_NUMBERS // max(1, size))
    return (slice(at, min(at + step, many)) for at in range(0, many, step))


def _newton(model: ModelName, designs: Floats, outcome: Floats, weights: Floats) -> Floats:
    """Newton's steps on the weighted likelihood, halved where they overshoot."""
    mean = float(np.average(outcome, weights=weights))
    coefficients = np.zeros((len(designs), designs.shape[2]))
    coefficients[:, 0] = np.log(mean / (1 - mean)) if model == "logit" else np.log(mean)
    going = np.arange(len(designs))
    value = _likelihood(model, designs @ coefficients[..., None], outcome, weights)
    for _ in range(MOST_STEPS):
        mine = designs[going]
        centre, spread = moments(model, (mine @ coefficients[going][..., None])[..., 0])
        slope = ((weights * (outcome - centre))[:, None, :] @ mine)[:, 0]
        curve = (mine * (weights * spread)[..., None]).transpose(0, 2, 1) @ mine
        step = np.asarray(np.linalg.solve(curve, slope[..., None])[..., 0], np.float64)
        if not np.isfinite(step).all():
            raise np.linalg.LinAlgError
        step, value[going] = _halved(model, mine, coefficients[going], step, value[going], (outcome, weights))
        coefficients[going] += step
        still = np.abs(step).max(axis=1) > CLOSE * (1 + np.abs(coefficients[going]).max(axis=1))
        going = going[still]
        if not len(going):
            return coefficients
        if model == "logit" and np.abs(coefficients[going]).max() > FARTHEST:
            break
    if model == "logit":
        raise _separated()
    raise _no_fit()


def _halved(
    model: ModelName, designs: Floats, start: Floats, step: Floats, value: Floats, given: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Steps that do not lower the likelihood, and the likelihood after them."""
    new = _likelihood(model, designs @ (start + step)[..., None], *given)
    for _ in range(40):
        worse = new < value - 1e-9 * (1 + np.abs(value))
        if not worse.any():
            break
        step = np.where(worse[:, None], step / 2, step)
        new = _likelihood(model, designs @ (start + step)[..., None], *given)
    return step, np.maximum(new, value)


def _likelihood(model: ModelName, linear: Floats, outcome: Floats, weights: Floats) -> Floats:
    predictor = np.clip(linear[..., 0], -FARTHEST, FARTHEST)
    rest = np.logaddexp(0, predictor) if model == "logit" else np.exp(predictor)
    found: Floats = (weights * (outcome * predictor - rest)).sum(axis=-1)
    return found


def moments(model: ModelName, predictor: Floats) -> tuple[Floats, Floats]:
    """The mean of the outcome, and the slope of the mean, at linear predictors."""
    if model == "linear":
        return predictor, np.ones_like(predictor)
    predictor = np.clip(predictor, -FARTHEST, FARTHEST)
    if model == "poisson":
        mean = np.exp(predictor)
        return mean, mean
    mean = 1 / (1 + np.exp(-predictor))
    return mean, mean * (1 - mean)


def sandwich(model: ModelName, design: Floats, outcome: Floats, weights: Floats, coefficients: Floats) -> Floats:
    """The covariance of coefficients that holds whatever the spread of the outcome is, and with any weights."""
    centre, spread = moments(model, design @ coefficients)
    bread = np.linalg.inv((design * (weights * spread)[:, None]).T @ design)
    scores = design * (weights * (outcome - centre))[:, None]
    many, terms = design.shape
    found: Floats = bread @ (scores.T @ scores) @ bread * many / (many - terms)
    return found


def refuse_outcome(model: ModelName, outcome: NDArray[np.float64], name: str) -> None:
    """Refuse outcomes that the model is not made for."""
    if model == "logit" and not np.isin(outcome, (0.0, 1.0)).all():
        raise InputError(
            f"The outcome {name!r} of a logit model has values other than 0 and 1.", hint="Code it as 0/1."
        )
    if model == "poisson" and np.any(outcome < 0):
        raise InputError(
            f"The outcome {name!r} of a Poisson model has negative values.",
            hint="Give counts. Counts with noise are no counts: take model='linear'.",
        )
    if len(outcome) and np.all(outcome == outcome[0]):
        raise InputError(
            f"The outcome {name!r} is the same in every record that has its values.",
            hint="There is nothing to explain.",
        )


def _no_fit() -> NoFit:
    return NoFit("The model has no finite coefficients for these records.", hint=MODEL_HINT)


def _separated() -> NoFit:
    return NoFit(
        "The regressors separate the outcomes 0 and 1, perfectly or nearly so: the logit model has no finite "
        "coefficients.",
        hint=MODEL_HINT,
    )
