"""Loss and risk: how likely the right person is picked, times how much harm that does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.errors import InputError, ParameterError, counted
from discreet.files.frames import to_frame
from discreet.measures.decision.agreement import EXACTLY, Match
from discreet.measures.decision.problem import DecisionProblem, decision_problem
from discreet.measures.decision.sensitivity import SensitivityLike, sensitivities
from discreet.model import doors
from discreet.model.arrays import Bools, Floats, Ints

LITTLE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class DecisionRisk:
    """What it costs to release some records, if an intruder has a dictionary. For the custodian.

    Parameters
    ----------
    consistent
        For every record how many persons of the dictionary are consistent with what is disclosed.
    chance
        How likely the right one is picked; 0 where nobody is consistent.
    sensitivity
        How much harm that does.
    disclosed
        What is disclosed, by record and attribute.
    persons
        How many persons the dictionary has.
    notes
        What to know before using the numbers.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"id": [1, 2, 3], "sex": ["f", "f", "m"]})
    >>> found = ds.measures.decision_risk(people, people, "id")
    >>> found.loss.tolist(), round(found.risk, 4), found.k
    ([0.5, 0.5, 1.0], 0.6667, 1)
    """

    consistent: Ints
    chance: Floats
    sensitivity: Floats
    disclosed: Bools
    persons: int
    notes: tuple[str, ...] = field(default=())

    @property
    def loss(self) -> Floats:
        """The loss of every record: harm times chance, and nothing where nobody is consistent."""
        lost = np.zeros(len(self.chance))
        some = (self.chance > 0) & (self.sensitivity > 0)  # infinite harm that cannot happen is no loss
        lost[some] = self.chance[some] * self.sensitivity[some]
        return lost

    @property
    def risk(self) -> float:
        """The mean loss."""
        return float(self.loss.mean())

    @property
    def largest(self) -> float:
        """The largest loss of a record."""
        return float(self.loss.max())

    @property
    def unmatched(self) -> int:
        """How many records nobody in the dictionary is consistent with."""
        return int((self.consistent == 0).sum())

    @property
    def k(self) -> int:
        """The least number of persons that a record may be, of those that may be somebody; 0 where none may.

        With the records themselves for a dictionary, this is the k of k-anonymity.
        """
        some = self.consistent[self.consistent > 0]
        return int(some.min()) if len(some) else 0

    @property
    def expected(self) -> float:
        """How many records an intruder who picks a consistent person for each is expected to get right."""
        return float(self.chance.sum())

    def ranking(self, most: int = 10) -> Ints:
        """Positions of the records with the largest losses, largest first."""
        return np.argsort(-self.loss, kind="stable")[:most]

    def summary(self) -> str:
        """The numbers in words, and notes below them."""
        lines = [
            f"risk {self.risk:.6g} (mean loss of {counted(len(self.chance), 'record')}), largest {self.largest:.6g}",
            f"{self.expected:,.1f} right identifications expected; a record may be at least "
            f"{counted(self.k, 'person')} of {self.persons:,} in the dictionary",
        ]
        if self.unmatched:
            lines.append(f"{counted(self.unmatched, 'record', 'agree')} with nobody in the dictionary: no loss by it")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    __repr__ = summary

    def image(self, beside: DecisionRisk | None = None) -> str:
        """Losses of all records, the largest first, as an inline ``svg`` element.

        Parameters
        ----------
        beside
            The risk of the same records by another dictionary, such as the true one beside an estimate: losses by both
            stand beside each other, record by record.

        Examples
        --------
        >>> import pyarrow as pa, discreet as ds
        >>> people = pa.table({"id": [1, 2, 3], "first": ["Mary", "Mary", "John"], "last": ["Ray", "Lee", "Lee"]})
        >>> ds.measures.decision_risk(people, people, "id").image().startswith("<svg")
        True
        """
        return doors.decision_image(self, beside)

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """Position, consistent persons, chance, harm and loss of every record, as a data frame."""
        columns = {
            "position": np.arange(len(self.chance)),
            "consistent": self.consistent,
            "chance": self.chance,
            "sensitivity": self.sensitivity,
            "loss": self.loss,
        }
        return to_frame(columns, backend)


def problem_risk(problem: DecisionProblem, disclosed: Any = None, sensitivity: SensitivityLike = 1.0) -> DecisionRisk:
    """The risk of what is disclosed of the records of a problem.

    Parameters
    ----------
    problem
        Records and a dictionary.
    disclosed
        A mask by record and attribute, or names of attributes; everything where left out.
    sensitivity
        How much harm an identification does: a number, a :class:`Sensitivity`, or a function of what is disclosed.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"id": [1, 2, 3], "sex": ["f", "f", "m"], "age": [30, 40, 30]})
    >>> problem = ds.measures.decision_problem(people, people, "id")
    >>> ds.measures.problem_risk(problem, "sex", 2.0).loss.tolist()
    [1.0, 1.0, 2.0]
    """
    mask = problem.mask(disclosed)
    many, chance = problem.chances(mask)
    notes = list(problem.notes)
    if disclosed is not None and not isinstance(disclosed, str):
        given = np.asarray(disclosed)
        beyond = int((given & ~problem.available).sum()) if given.shape == mask.shape and given.dtype.kind == "b" else 0
        if beyond:
            notes.append(f"{counted(beyond, 'field', 'are')} empty, and not disclosed although the mask says so.")
    harm = sensitivities(problem, mask, sensitivity)
    return DecisionRisk(many, chance, harm, mask, problem.persons, tuple(notes))


def decision_risk(
    records: Any,
    dictionary: Any,
    id: str | None = None,
    attributes: Sequence[str] | None = None,
    *,
    disclosed: Any = None,
    sensitivity: SensitivityLike = 1.0,
    match: Match | Mapping[str, Match] = EXACTLY,
    selection: str | None = None,
) -> DecisionRisk:
    """The risk of releasing some records, if an intruder has a list of identities (Lebanon et al. 2006).

    The intruder picks one of the persons who are consistent with what is published of a record. The loss is the chance
    that it is the right one, times how much harm that does; the risk is the mean loss.

    Parameters
    ----------
    records, dictionary, id, attributes, match, selection
        As for :func:`decision_problem`.
    disclosed
        A mask by record and attribute, or names of attributes; everything where left out.
    sensitivity
        How much harm an identification does: a number (1 makes the loss a probability), a :class:`Sensitivity`, or a
        function of what is disclosed of a record.

    Raises
    ------
    InputError
        Where the dictionary is empty, or a record's person is missing or repeated.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> register = pa.table({"id": ["a", "b", "c"], "first": ["Mary", "Mary", "John"], "last": ["Ray", "Lee", "Lee"]})
    >>> harm = ds.measures.Sensitivity("phi1", {"first": 0.2, "last": 0.5})
    >>> found = ds.measures.decision_risk(register, register, "id", disclosed=["first"], sensitivity=harm)
    >>> found.consistent.tolist(), found.loss.round(3).tolist()
    ([2, 2, 1], [0.1, 0.1, 0.2])
    """
    problem = decision_problem(records, dictionary, id, attributes, match=match, selection=selection)
    return problem_risk(problem, disclosed, sensitivity)


@dataclass(frozen=True, eq=False)
class DictionaryRisks:
    """The risk of one policy under several dictionaries.

    ``risks`` are those under each, ``prior`` how likely each is, ``bayes`` their mean by it and ``worst`` the largest.
    """

    risks: Floats
    prior: Floats
    bayes: float
    worst: float


def risk_over_dictionaries(
    records: Any, dictionaries: Sequence[tuple[Any, float]], id: str | None = None, **options: Any
) -> DictionaryRisks:
    """The Bayes risk and the worst case where nobody knows which dictionary an intruder has.

    Parameters
    ----------
    records, id
        As for :func:`decision_problem`.
    dictionaries
        Dictionaries, each with its probability; these add up to 1.
    options
        What :func:`decision_risk` takes besides.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"id": [1, 2, 3, 4], "sex": ["f", "f", "m", "m"]})
    >>> found = ds.measures.risk_over_dictionaries(people.slice(0, 1), [(people, 0.5), (people.slice(0, 1), 0.5)], "id")
    >>> found.risks.tolist(), found.bayes, found.worst
    ([0.5, 1.0], 0.75, 1.0)
    """
    prior = checked_prior(dictionaries)
    risks = np.array([decision_risk(records, one, id, **options).risk for one, _ in dictionaries])
    return DictionaryRisks(risks, prior, float(risks[prior > 0] @ prior[prior > 0]), float(risks.max()))


def checked_prior(dictionaries: Sequence[tuple[Any, float]]) -> Floats:
    """How likely each of several dictionaries is."""
    if not dictionaries:
        raise InputError("There is no dictionary.", hint="Give at least one, with its probability.")
    prior = np.array([chance for _, chance in dictionaries], np.float64)
    if not ((prior >= 0).all() and abs(prior.sum() - 1) <= LITTLE):
        raise ParameterError(
            f"The probabilities of the dictionaries add up to {prior.sum():g}, or one is negative.",
            hint="Give numbers from 0 that add up to 1.",
        )
    return prior
