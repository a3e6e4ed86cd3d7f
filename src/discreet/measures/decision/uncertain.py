"""What to disclose where nobody knows which dictionary an intruder has: the least mean risk, or worst case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb, prod
from typing import Any, Literal

import numpy as np

from discreet.errors import ParameterError, counted, unknown_name
from discreet.measures.decision.policies import MOST_POLICIES, MOST_SETS, refuse_k, short_notes
from discreet.measures.decision.problem import DecisionProblem, decision_problem
from discreet.measures.decision.risk import DictionaryRisks, checked_prior, problem_risk
from discreet.measures.decision.sensitivity import SensitivityLike
from discreet.model.arrays import Bools, Floats, Ints

ROUNDS = 400
"""So many rounds of a game between policies and dictionaries are played."""
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class UncertainPolicy:
    """What to disclose of every record under several dictionaries.

    Parameters
    ----------
    disclosed
        What is disclosed, by record and attribute.
    risks
        The risk under every dictionary, its mean and the worst case.
    exact
        Whether no policy that discloses as much has a lower mean, or a lower worst case.
    bound
        What the mean, or the worst case, is at least, whatever the policy.
    notes
        What to know of it.
    """

    disclosed: Bools
    risks: DictionaryRisks
    exact: bool
    bound: float
    notes: tuple[str, ...] = field(default=())


def policy_over_dictionaries(
    records: Any,
    dictionaries: Sequence[tuple[Any, float]],
    k: int,
    id: str | None = None,
    *,
    sensitivity: SensitivityLike = 1.0,
    criterion: Literal["bayes", "minimax"] = "bayes",
    **options: Any,
) -> UncertainPolicy:
    """The policy that discloses ``k`` attributes of every record with the least Bayes risk, or the least worst case.

    Parameters
    ----------
    records, id
        As for :func:`decision_problem`.
    dictionaries
        Dictionaries, each with its probability; these add up to 1.
    k
        How many attributes to disclose of every record.
    sensitivity
        How much harm an identification does.
    criterion
        ``"bayes"``, the mean over dictionaries; or ``"minimax"``, the worst of them, whatever their probabilities.
    options
        ``attributes`` and ``match`` of :func:`decision_problem`.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"id": [1, 2, 3], "first": ["Mary", "Mary", "John"], "last": ["Ray", "Lee", "Lee"]})
    >>> lists = [(people.select(["id", "first"]), 0.5), (people.select(["id", "last"]), 0.5)]
    >>> found = ds.measures.policy_over_dictionaries(people, lists, 1, "id")
    >>> round(found.risks.bayes, 4), found.exact
    (0.4167, True)
    """
    prior = checked_prior(dictionaries)
    if criterion not in ("bayes", "minimax"):
        raise ParameterError(unknown_name("criterion", str(criterion), ["bayes", "minimax"]))
    problems = [decision_problem(records, one, id, **options) for one, _ in dictionaries]
    first = problems[0]
    refuse_k(k, len(first.names))
    if comb(len(first.names), k) > MOST_SETS:
        raise ParameterError(
            f"There are more than {MOST_SETS:,} sets of {counted(k, 'attribute')}.",
            hint="Name fewer attributes, or choose for one dictionary with best_policy.",
        )
    masks, losses = _losses(problems, k, sensitivity)
    choose = _least_mean if criterion == "bayes" else _least_worst
    chosen, bound = choose(losses, prior)
    rows = np.arange(len(first))
    risks = losses[chosen, :, rows].mean(axis=0)
    mean = float(risks[prior > 0] @ prior[prior > 0])
    reached = mean if criterion == "bayes" else float(risks.max())
    notes = short_notes(first.available.sum(axis=1), k, "record")
    return UncertainPolicy(
        masks[chosen, rows],
        DictionaryRisks(risks, prior, mean, float(risks.max())),
        bool(reached <= bound + SAME * abs(bound)) if np.isfinite(bound) else True,
        bound,
        tuple(notes),
    )


def _losses(problems: Sequence[DecisionProblem], k: int, sensitivity: SensitivityLike) -> tuple[Bools, Floats]:
    """For every set of attributes what it discloses, and losses by dictionary and record; NaN where it cannot be."""
    there = problems[0].available
    short = there.sum(axis=1) <= k
    masks, losses = [], []
    for chosen in combinations(range(there.shape[1]), k):
        mask = np.zeros(there.shape, np.bool_)
        mask[:, chosen] = True
        able = short | there[:, chosen].all(axis=1)
        mask = np.where(short[:, None], there, mask & able[:, None])
        found = np.stack([problem_risk(problem, mask, sensitivity).loss for problem in problems])
        masks.append(mask)
        losses.append(np.where(able, found, np.nan))
    return np.stack(masks), np.stack(losses)


def _least_mean(losses: Floats, prior: Floats) -> tuple[Ints, float]:
    """For every record the set with the least mean loss, and the mean over records."""
    likely = prior > 0
    mean = np.tensordot(losses[:, likely], prior[likely], axes=(1, 0))
    mean = np.where(np.isnan(mean), np.inf, mean)
    allowed = ~np.isnan(losses[:, 0])
    # Among sets of infinite loss, one that the record has.
    chosen = np.where(np.isfinite(mean).any(axis=0), mean.argmin(axis=0), allowed.argmax(axis=0))
    return chosen, float(mean[chosen, np.arange(mean.shape[1])].mean())


def _least_worst(losses: Floats, prior: Floats) -> tuple[Ints, float]:
    """Sets with the least worst case: all policies where they are few, a game against the dictionaries otherwise."""
    able = [np.flatnonzero(~np.isnan(losses[:, 0, row])) for row in range(losses.shape[2])]
    able = [_distinct(losses[:, :, row], one) for row, one in enumerate(able)]
    if prod(len(one) for one in able) <= MOST_POLICIES:
        return _by_listing(losses, able)
    return _by_game(losses, prior)


def _distinct(losses: Floats, able: Ints) -> Ints:
    """The sets of a record with different losses."""
    return able[np.sort(np.unique(losses[able], axis=0, return_index=True)[1])]


def _by_listing(losses: Floats, able: Sequence[Ints]) -> tuple[Ints, float]:
    rows = np.arange(losses.shape[2])
    best, least = np.array([one[0] for one in able]), np.inf
    for chosen in product(*(one.tolist() for one in able)):
        worst = float(losses[list(chosen), :, rows].mean(axis=0).max())
        if worst < least:
            best, least = np.array(chosen), worst
    return best, least


def _by_game(losses: Floats, prior: Floats) -> tuple[Ints, float]:
    """Answer every mixture of dictionaries by the best policy, and move the mixture towards the worst for it.

    The least mean risk under any mixture is a bound that no policy's worst case falls below.
    """
    rows = np.arange(losses.shape[2])
    mixture = np.full(len(prior), 1.0 / len(prior))
    best, least, bound = np.zeros(len(rows), np.int64), np.inf, 0.0
    for turn in range(1, ROUNDS + 1):
        chosen, mean = _least_mean(losses, mixture)
        risks = losses[chosen, :, rows].mean(axis=0)
        bound = max(bound, mean)
        if turn == 1 or float(risks.max()) < least:
            best, least = chosen, float(risks.max())
        mixture = mixture * turn / (turn + 1)
        mixture[int(risks.argmax())] += 1 / (turn + 1)
    return best, bound
