"""Models that a user names, fitted to the original and to the released file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.analyse.designs import Design
from discreet.analyse.formulas import Factor, ModelFormula
from discreet.analyse.models import fitted, refuse_outcome, sandwich
from discreet.errors import DiscreetError, InputError, ParameterError, counted, listed
from discreet.measures.file_pair import FilePair
from discreet.measures.model_changes import FittedModel, ModelChange, model_change
from discreet.model.arrays import Bools, Floats

MOST_LEVELS = 100
"""A column with more codes is no regressor."""


class _Regressor(NamedTuple):
    """One column of a design; ``coded`` where it says whether a record has some code."""

    name: str
    values: Floats
    coded: bool = False


def model_of_both(files: FilePair, formula: ModelFormula) -> ModelChange:
    """Fit a model to both files; a fit that fails is reported and not raised.

    Raises
    ------
    ParameterError
        Where the formula names a column that neither file has.
    """
    known = [one.name for one in files.standings]
    for name in formula.columns:
        if name not in known:
            raise ParameterError(
                f"The model {str(formula)!r} needs a column {name!r}, which neither file has.",
                hint=f"There are {listed(known)}.",
            )
    compared = [column.name for column in files.columns]
    for column in files.standings:
        if column.name in formula.columns and column.name not in compared:
            return ModelChange(str(formula), failed=f"Column {column.name!r} was not compared. {column.note}")
    fits, notes = [], []
    for side, which in enumerate(("original", "released file")):
        try:
            fit, gaps = _fit(files, formula, side)
        except DiscreetError as error:
            return ModelChange(str(formula), failed=f"The fit to the {which} failed: {error}")
        fits.append(fit)
        notes += [f"{which}: {gaps}"] if gaps else []
    for one, two, which in ((0, 1, "released file"), (1, 0, "original")):
        gone = [term for term in fits[one].terms if term not in fits[two].terms]
        notes += [f"The {which} has no {listed(gone)}: not compared."] if gone else []
    return model_change(str(formula), fits[0], fits[1], notes)


def _fit(files: FilePair, formula: ModelFormula, side: int) -> tuple[FittedModel, str]:
    """Coefficients with errors that hold whatever the spread of the outcome is, and what was left out."""
    outcome = _outcome(files, formula, side)
    regressors = [column for term in formula.terms for column in _columns(files, term, side)]
    weight = files.weights[side]
    rows: Bools = ~np.isnan(outcome) & (weight > 0)
    for column in regressors:
        rows &= ~np.isnan(column.values)
    terms = len(regressors) + 1
    if int(rows.sum()) < terms + 1:
        raise InputError(
            f"{counted(int(rows.sum()), 'record', 'have')} all values, and {counted(terms, 'coefficient', 'need')} at "
            f"least {terms + 1}."
        )
    refuse_outcome(formula.model, outcome[rows], str(formula.outcome))
    design = _design(regressors, outcome, weight, rows)
    found = fitted(formula.model, design.matrix, design.outcome, design.weights)
    spread = sandwich(formula.model, design.matrix, design.outcome, design.weights, found)
    errors = np.sqrt(np.maximum(np.diag(design.covariance_in_units(spread)), 0.0))
    left = int((~rows).sum())
    gaps = f"{counted(left, 'record', 'were')} left out of {str(formula)!r}: a value is missing." if left else ""
    return FittedModel(design.names, design.in_units(found), errors, int(rows.sum())), gaps


def _design(regressors: list[_Regressor], outcome: Floats, weight: Floats, rows: Bools) -> Design:
    """Records that have all values; codes that none of these has make no column."""
    kept = [(one, one.values[rows]) for one in regressors]
    plain = [(one.name, values) for one, values in kept if not one.coded or values.any()]
    names = ("intercept", *(name for name, _ in plain))
    matrix = np.stack([values for _, values in plain], axis=1) if plain else np.zeros((int(rows.sum()), 0))
    shift, scale = matrix.mean(axis=0), matrix.std(axis=0)
    constant = [name for name, width, at in zip(names[1:], scale, shift, strict=True) if width <= 1e-13 * abs(at)]
    if constant:
        raise InputError(f"The regressors {listed(constant)} never vary.")
    standard = np.column_stack([np.ones(len(matrix)), (matrix - shift) / scale])
    return Design(names, outcome[rows], standard, shift, scale, weight[rows], rows)


def _outcome(files: FilePair, formula: ModelFormula, side: int) -> Floats:
    """The outcome; of a logit model two codes become 0 and 1, in the order of their names."""
    column = files[formula.outcome.column]
    if column.is_number:
        return _number(files, formula.outcome, side)
    present = sorted({int(code) for code in np.unique(np.r_[column.before, column.after]) if code})
    names = sorted(column.labels[code] for code in present)
    if formula.model != "logit" or len(names) != 2:
        raise InputError(f"The outcome {column.name!r} holds {counted(len(names), 'code')}, not numbers.")
    codes = column.before if side == 0 else column.after
    found: Floats = (codes == column.labels.index(names[1])).astype(np.float64)
    return np.where(codes == 0, np.nan, found)


def _columns(files: FilePair, term: tuple[Factor, ...], side: int) -> list[_Regressor]:
    """The columns of a term: one for numbers, one for every code but the first, products of these."""
    found = [_Regressor("", np.ones(files.rows[side]))]
    for factor in term:
        own = _factor_columns(files, factor, side)
        found = [
            _Regressor(f"{one.name}:{two.name}".lstrip(":"), one.values * two.values, one.coded or two.coded)
            for one in found
            for two in own
        ]
    return found


def _factor_columns(files: FilePair, factor: Factor, side: int) -> list[_Regressor]:
    column = files[factor.column]
    if column.is_number and factor.way != "C":
        return [_Regressor(str(factor), _number(files, factor, side))]
    if factor.way not in ("", "C") or factor.power > 1:
        raise InputError(f"Column {column.name!r} holds codes, and {str(factor)!r} needs numbers.")
    values = column.before if side == 0 else column.after
    if column.is_number:
        levels = np.unique(np.r_[column.before, column.after])
        levels = levels[~np.isnan(levels)]
        words = [f"{level:g}" for level in levels.tolist()]
    else:
        there = [code for code in np.unique(np.r_[column.before, column.after]).astype(int).tolist() if code]
        there.sort(key=lambda code: column.labels[code])
        levels, words = np.array(there, np.float64), [column.labels[code] for code in there]
    if len(levels) > MOST_LEVELS:
        raise InputError(f"Column {column.name!r} has {len(levels):,} codes; at most {MOST_LEVELS} make a regressor.")
    empty = np.isnan(values) if column.is_number else values == 0
    return [
        _Regressor(f"{column.name}={word}", np.where(empty, np.nan, (values == level).astype(np.float64)), True)
        for level, word in zip(levels[1:], words[1:], strict=True)
    ]


def _number(files: FilePair, factor: Factor, side: int) -> Floats:
    """A function of a column of numbers; nothing where it has no value there."""
    column = files[factor.column]
    values: Floats = (column.before if side == 0 else column.after).astype(np.float64)
    with np.errstate(all="ignore"):
        made = {"log": np.log, "sqrt": np.sqrt, "exp": np.exp}.get(factor.way, np.asarray)(values) ** factor.power
    return np.where(np.isfinite(made), made, np.nan)
