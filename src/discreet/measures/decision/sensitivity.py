"""How much harm what is disclosed of a record does, if the person is identified: five forms, or any function.

With ``w`` for weights: ``phi1`` adds ``w[attribute]`` over what is disclosed; ``phi2`` is ``w[person]`` times how many
attributes are; ``phi3`` adds ``w[attribute, person]``; ``phi4`` adds those of sets of attributes that are disclosed
together, too; ``phi5`` is *e* to the power of such a sum. With nothing disclosed, ``phi5`` is 1 and all others are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.errors import ParameterError, counted, listed, unknown_name
from discreet.measures.decision.problem import DecisionProblem
from discreet.model.arrays import Bools, Floats
from discreet.parameters import Declared

Form = Literal["phi1", "phi2", "phi3", "phi4", "phi5"]


@dataclass(frozen=True)
class Sensitivity(Declared):
    """How much harm it does to identify somebody, by what is disclosed.

    Parameters
    ----------
    form
        ``"phi1"`` to ``"phi5"``.
    weights
        For every attribute a number, or (but for ``"phi1"``) a number for each record; for ``"phi4"`` and ``"phi5"``
        also for tuples of attributes that do harm together. A single number stands for all attributes. Weights may be
        infinite: no risk is worth disclosing that.
    persons
        For ``"phi2"``, a number for each record.

    Examples
    --------
    >>> Sensitivity("phi1", {"age": 0.2, "sex": 0.1}).form
    'phi1'
    """

    form: Form = "phi5"
    weights: Any = None
    persons: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.form == "phi2") != (self.persons is not None):
            raise ParameterError(
                f"{self.form} {'needs' if self.form == 'phi2' else 'does not take'} persons=.",
                hint="phi2 takes a weight for each person, and all others weights= of attributes.",
            )
        if (self.form == "phi2") == (self.weights is not None):
            raise ParameterError(
                f"{self.form} {'does not take' if self.form == 'phi2' else 'needs'} weights=.",
                hint="phi2 takes persons=, all others a number for every attribute.",
            )

    def of(self, problem: DecisionProblem, disclosed: Bools) -> Floats:
        """The harm of every record."""
        if self.form == "phi2":
            harm: Floats = _checked(self.persons, len(problem), "persons=")
            return np.asarray(np.where(disclosed.any(axis=1), harm, 0.0) * disclosed.sum(axis=1))
        single, together = self.parts(problem)
        total = np.where(disclosed, single, 0.0).sum(axis=1)
        for places, weight in together:
            total = total + np.where(disclosed[:, places].all(axis=1), weight, 0.0)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(total) if self.form == "phi5" else total)

    def parts(self, problem: DecisionProblem) -> tuple[Floats, list[tuple[list[int], Floats]]]:
        """Weights by record and attribute, and of sets of attributes by record."""
        names, many = problem.names, len(problem)
        given = self.weights if isinstance(self.weights, Mapping) else dict.fromkeys(names, self.weights)
        single, together = np.full((many, len(names)), np.nan), []
        for key, weight in given.items():
            chosen = (key,) if isinstance(key, str) else tuple(key)
            for name in chosen:
                if name not in names:
                    raise ParameterError(unknown_name("attribute", str(name), names, "the records"))
            if len(chosen) > 1 and self.form not in ("phi4", "phi5"):
                raise ParameterError(f"{self.form} has no weights of sets.", hint='Use form="phi4" or "phi5".')
            if np.ndim(weight) > 0 and self.form == "phi1":
                raise ParameterError("phi1 has one weight for all records.", hint='Use form="phi3".')
            found = _checked(weight, many, f"weights[{key!r}]")
            if len(chosen) == 1:
                single[:, names.index(chosen[0])] = found
            else:
                together.append(([names.index(name) for name in chosen], found))
        missing = [name for place, name in enumerate(names) if np.isnan(single[:, place]).any()]
        if missing:
            raise ParameterError(
                f"{listed(missing)} {'has' if len(missing) == 1 else 'have'} no weight.",
                hint="Give every attribute one: 0 for what harms nobody.",
            )
        return single, together


SensitivityLike = float | Sensitivity | Callable[[Mapping[str, Any]], float]
"""A number for all records; a :class:`Sensitivity`; or a function of what is disclosed of a record, by attribute."""


def sensitivities(problem: DecisionProblem, disclosed: Bools, sensitivity: SensitivityLike) -> Floats:
    """The harm of every record, from nothing to infinity."""
    if isinstance(sensitivity, Sensitivity):
        return sensitivity.of(problem, disclosed)
    if callable(sensitivity):
        found = np.array([sensitivity(shown) for shown in _shown(problem, disclosed)], np.float64)
        return _checked(found, len(problem), "sensitivity")
    return _checked(sensitivity, len(problem), "sensitivity")


def _shown(problem: DecisionProblem, disclosed: Bools) -> Sequence[dict[str, Any]]:
    """What is disclosed of every record, by attribute."""
    return [
        {
            attribute.name: attribute.values[attribute.records[row] - 1]
            for place, attribute in enumerate(problem.attributes)
            if disclosed[row, place]
        }
        for row in range(len(problem))
    ]


def _checked(given: Any, many: int, what: str) -> Floats:
    """Numbers from 0 to infinity, one for each record."""
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if found.ndim > 1 or (found.ndim == 1 and len(found) != many):
        raise ParameterError(
            f"{what} gives {counted(found.size, 'number')} for {counted(many, 'record')}.",
            hint="Give one number, or one for each record.",
        )
    if not (found >= 0).all():
        raise ParameterError(
            f"{what} holds what is no number of at least 0.", hint="Give numbers from 0; they may be infinite."
        )
    return np.broadcast_to(found, (many,)).astype(np.float64)
