"""From an owner's records to the columns of a model, in the coding that all owners agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.analyse.formulas import Factor, ModelFormula
from discreet.errors import InputError, ParameterError, unknown_column
from discreet.model.microdata import Microdata

Levels = Mapping[str, Sequence[str]]
FUNCTIONS = {"log": np.log, "sqrt": np.sqrt, "exp": np.exp}


@dataclass(frozen=True)
class OwnerRows:
    """What one owner brings into a model.

    Parameters
    ----------
    names
        Columns of the model, the intercept first.
    dummies
        Which of them are 0 or 1 by their coding.
    X, y
        Columns and outcome; with trials, the outcome counts successes.
    trials
        Persons in each row; 1 where rows are persons.
    weights
        Survey weights; 1 where there are none.
    """

    names: tuple[str, ...]
    dummies: NDArray[np.bool_]
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    trials: NDArray[np.float64]
    weights: NDArray[np.float64]


def plain_columns(data: Any, wanted: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns of a frame, of a mapping or of microdata."""
    if isinstance(data, Mapping):
        there = {str(name): _array(values) for name, values in data.items()}
    else:
        import narwhals as nw

        native = data.source if isinstance(data, Microdata) else data
        try:
            frame: Any = nw.from_native(native, eager_only=True)
        except TypeError:
            raise InputError(
                f"Records of an owner are a frame or a mapping of columns, not {type(data).__name__}.",
                hint="Give a pandas, polars or Arrow table.",
            ) from None
        there = {name: frame[name].to_numpy() for name in frame.columns}
    for name in wanted:
        if name not in there:
            raise unknown_column(name, there, "the records of an owner")
    if len({len(there[name]) for name in wanted}) > 1:
        raise InputError("Columns of an owner have different lengths.", hint="Give as many values in each.")
    return {name: there[name] for name in wanted}


def _array(values: Any) -> NDArray[Any]:
    """A column as an array; numbers and missing values among texts are not made texts."""
    found = np.asarray(values)
    if isinstance(values, np.ndarray) or (found.size and found.dtype.kind not in "US"):
        return found
    kept = list(values)
    if kept and all(isinstance(one, str) for one in kept):
        return found
    plain = np.empty(len(kept), dtype=object)
    plain[:] = kept
    return plain


def is_coded(values: NDArray[Any]) -> bool:
    """Whether a column holds codes and no numbers."""
    return values.dtype.kind not in "biuf"


def level_codes(values: NDArray[Any], name: str) -> list[str]:
    """The codes of a column; a missing one is none."""
    found = values.tolist()
    missing = sum(one is None or one != one for one in found)
    if missing:
        raise InputError(
            f"Column {name!r} has no code in {missing:,} rows.", hint="Give missing ones a code of their own."
        )
    return [str(one) for one in found]


def own_levels(formula: ModelFormula, data: Any, agreed: Levels) -> dict[str, list[str]]:
    """The codes of each coded column of a model: as agreed, otherwise those that the owner has, in their order."""
    found = {}
    columns = plain_columns(data, formula.columns)
    for factor in dict.fromkeys(one for term in formula.terms for one in term):
        name = factor.column
        if factor.way != "C" and not is_coded(columns[name]) and name not in agreed:
            continue
        there = sorted(set(level_codes(columns[name], name)))
        levels = [str(one) for one in agreed.get(name, there)]
        unknown = set(there) - set(levels)
        if unknown:
            raise InputError(
                f"Column {name!r} has {len(unknown)} codes that the agreed coding does not have.",
                hint="Agree on all codes in levels=.",
            )
        found[name] = levels
    return found


def owner_rows(
    formula: ModelFormula, data: Any, levels: Levels, trials: str | None = None, weights: str | None = None
) -> OwnerRows:
    """The columns of a model from an owner's records.

    Raises
    ------
    InputError
        When numbers are missing or do not fit the model; rows are counted, values are not shown.
    """
    wanted = [*formula.columns, *(name for name in (trials, weights) if name is not None)]
    columns = plain_columns(data, wanted)
    count = len(columns[formula.outcome.column])
    if not count:
        raise InputError("An owner has no records.", hint="Leave it out.")
    names, blocks, dummies = ["(Intercept)"], [np.ones((count, 1))], [np.array([False])]
    for term in formula.terms:
        words, block, flags = [""], np.ones((count, 1)), np.array([True])
        for factor in term:
            more_words, more, more_flags = _factor_columns(factor, columns[factor.column], levels)
            words = [f"{a}:{b}".strip(":") for a in words for b in more_words]
            block = (block[:, :, None] * more[:, None, :]).reshape(count, -1)
            flags = (flags[:, None] & more_flags[None, :]).ravel()
        names += words
        blocks.append(block)
        dummies.append(flags)
    outcome = _numbers(formula.outcome, columns[formula.outcome.column])
    n = np.ones(count) if trials is None else _numbers(Factor(trials), columns[trials])
    w = np.ones(count) if weights is None else _numbers(Factor(weights), columns[weights])
    X = np.concatenate(blocks, axis=1)
    _require_fitting(formula, outcome, n, w)
    return OwnerRows(tuple(names), np.concatenate(dummies), X, outcome, n, w)


def _factor_columns(
    factor: Factor, values: NDArray[Any], levels: Levels
) -> tuple[list[str], NDArray[np.float64], NDArray[np.bool_]]:
    if factor.column in levels:
        codes = np.asarray(level_codes(values, factor.column), dtype=object)
        rest = list(levels[factor.column])[1:]
        if not rest:
            raise InputError(f"Column {factor.column!r} has one code only.", hint="Leave it out of the model.")
        block = np.stack([(codes == level) for level in rest], axis=1).astype(np.float64)
        return [f"{factor.column}[{level}]" for level in rest], block, np.ones(len(rest), dtype=bool)
    return [str(factor)], _numbers(factor, values)[:, None], np.array([False])


def _numbers(factor: Factor, values: NDArray[Any]) -> NDArray[np.float64]:
    if is_coded(values):
        raise InputError(
            f"Column {factor.column!r} has codes where numbers are needed.", hint=f"Write C({factor.column})."
        )
    plain = values.astype(np.float64)
    with np.errstate(all="ignore"):
        found = FUNCTIONS[factor.way](plain) if factor.way in FUNCTIONS else plain
        found = found**factor.power
    bad = int((~np.isfinite(found)).sum())
    if bad:
        raise InputError(
            f"Column {str(factor)!r} has no number in {bad:,} rows.", hint="Leave out or fill in those records."
        )
    return np.asarray(found, dtype=np.float64)


def _require_fitting(
    formula: ModelFormula, y: NDArray[np.float64], n: NDArray[np.float64], w: NDArray[np.float64]
) -> None:
    if (n < 1).any() or (n != np.rint(n)).any() or (w < 0).any():
        raise InputError("Trials are whole numbers from 1 on, and weights are not negative.", hint="Correct them.")
    if formula.model == "logit" and ((y < 0).any() or (y > n).any() or (y != np.rint(y)).any()):
        raise InputError(
            f"The outcome {formula.outcome.column!r} of a logit is 0 or 1, or successes up to the trials.",
            hint="Recode it, or name the column of trials.",
        )
    if formula.model == "poisson" and (y < 0).any():
        raise InputError("Counts are not negative.", hint="Use a linear model.")
    if formula.model != "logit" and (n != 1).any():
        raise ParameterError(f"A {formula.model} model has no trials.", hint="Leave trials out.")
