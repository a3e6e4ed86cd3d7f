"""All models of the population that need nothing but keys and weights, by one call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.errors import counted
from discreet.measures.population.cells import SampleCells, sample_cells
from discreet.measures.population.estimate import PopulationEstimate, without_uniques
from discreet.measures.population.formulas import unique_risk
from discreet.measures.population.log_linear import best_log_linear, log_linear
from discreet.measures.population.superpopulation import ClassSizes, superpopulation_of
from discreet.rules.key_counts import KeyCodes

QUICK_CELLS, QUICK_CYCLES, QUICK_TOLERANCE = 50_000, 100, 1e-3
"""How far log-linear models are searched by default."""
FEW_UNIQUES = 30
"""With fewer sample uniques no estimate of their share says much."""


def weight_only(cells: SampleCells) -> PopulationEstimate:
    """Population uniques by the weight of each record alone: the model of Benedetti and Franconi.

    Examples
    --------
    >>> keys = KeyCodes(("age",), (np.array([1, 2, 3, 3]),), (4,))
    >>> found = weight_only(sample_cells(keys, fraction=0.1))
    >>> round(found.uniques, 4), round(found.matches, 4)
    (0.2, 0.5117)
    """
    if not cells.uniques:
        return without_uniques("weights alone", cells.records)
    risk = unique_risk(0.0, np.inf, cells.fractions[cells.alone])
    note = "It knows nothing but the sampling fraction, and is often far too low for small cells."
    total = float(risk.unique.sum()), float(risk.match.sum())
    name = "weights alone"
    return PopulationEstimate(name, cells.records, cells.uniques, *total, *risk.deviations(), notes=(note,))


def population_estimates(
    keys: KeyCodes | SampleCells, weight: npt.ArrayLike | None = None, fraction: float | None = None
) -> tuple[PopulationEstimate, ...]:
    """How many sample uniques are unique in the population, and how many a register matches: by every quick model.

    Parameters
    ----------
    keys
        Keys of the records as codes, or the cells of a sample that were counted already.
    weight, fraction
        One of them, unless cells were given: how many persons each record stands for, or the share of the population
        that is in the sample.

    Returns
    -------
    tuple of PopulationEstimate
        The log-linear model with the best error estimate, the superpopulation model that the rule of Dankar and others
        chooses, then all others, and the one of weights alone last. They differ: none knows the population.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> keys = KeyCodes(("a", "b"), (rng.integers(1, 9, 60), rng.integers(1, 9, 60)), (9, 9))
    >>> for found in population_estimates(keys, fraction=0.1):
    ...     print(found.model, round(found.matches, 1))
    log-linear, main effects 4.3
    Pitman 5.7
    Zayatz 11.7
    shifted negative binomial 4.1
    weights alone 6.1
    """
    cells = keys if isinstance(keys, SampleCells) else sample_cells(keys, weight, fraction)
    best = best_log_linear(cells, QUICK_CELLS, QUICK_CYCLES, QUICK_TOLERANCE).estimate
    found = [best]
    sizes, many = cells.class_sizes()
    classes = ClassSizes(sizes.astype(np.float64), many.astype(np.float64), cells.fraction)
    found += superpopulation_of(classes)
    independent = log_linear(cells).estimate
    if independent.model != best.model:
        found.insert(2, independent)
    found.append(weight_only(cells))
    notes = _about(cells)
    return tuple(one.with_notes(*notes) for one in found)


def _about(cells: SampleCells) -> list[str]:
    """What is true of every model."""
    if 0 < cells.uniques < FEW_UNIQUES:
        return [f"There are only {counted(cells.uniques, 'sample unique')}: any share of them is a guess."]
    return []
