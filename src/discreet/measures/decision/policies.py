"""Policies of equal information: how many fields are disclosed is given, and which of them does least harm is sought.

Three classes: so many fields of the whole file (``"file"``), of every record (``"record"``), of every attribute
(``"attribute"``). The risk is a mean over records, so that the best policy of the second class is found record by
record, and that of the first by giving fields to records one after the other, both exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb
from typing import Any, Literal, get_args

import numpy as np

from discreet.errors import InputError, ParameterError, counted, unknown_name
from discreet.measures.decision.problem import DecisionProblem
from discreet.measures.decision.risk import DecisionRisk, problem_risk
from discreet.measures.decision.sensitivity import Sensitivity, SensitivityLike
from discreet.model import doors
from discreet.model.arrays import Bools, Floats, Ints

PolicyClass = Literal["file", "record", "attribute"]
MOST_SETS = 4096
"""So many sets of attributes are tried one by one."""
MOST_POLICIES = 100_000
"""So many policies of the third class are tried one by one."""
MOST_SHARED = 20_000_000
"""So many pairs of a record and a number of fields are shared out exactly."""
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Policy:
    """What to disclose of every record, and the risk of that.

    Parameters
    ----------
    disclosed
        What is disclosed, by record and attribute.
    risk
        Losses and risk under the dictionary that it was chosen for.
    exact
        Whether no policy of the class has a lower risk; otherwise it is what a search found.
    gamma
        For :func:`min_risk`, what each field multiplies the loss by: the largest drive the risk.
    notes
        What to know of it.
    """

    disclosed: Bools
    risk: DecisionRisk
    exact: bool
    gamma: Floats | None = None
    notes: tuple[str, ...] = field(default=())

    def sets(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """What is disclosed of each record, by name."""
        return [tuple(name for name, shown in zip(names, row, strict=True) if shown) for row in self.disclosed.tolist()]


def policy_count(records: int, attributes: int, k: int, kind: PolicyClass = "record") -> int:
    """How many policies a class has.

    Examples
    --------
    >>> [policy_count(3, 3, 2, kind) for kind in ("file", "record", "attribute")]
    [36, 27, 27]
    """
    _refuse_kind(kind)
    if kind == "file":
        return comb(records * attributes, k)
    one, times = (attributes, records) if kind == "record" else (records, attributes)
    return int(comb(one, k) ** times)


def is_policy(disclosed: Any, k: int, kind: PolicyClass = "record", available: Any = None) -> bool:
    """Whether a mask discloses exactly so many fields of the file, of every record or of every attribute.

    ``available`` says which fields hold something: where fewer than ``k`` do, all of them must be disclosed.

    Examples
    --------
    >>> mask = np.array([[True, False], [False, True]])
    >>> is_policy(mask, 1), is_policy(mask, 1, "attribute"), is_policy(mask, 2, "file"), is_policy(mask, 2)
    (True, True, True, False)
    """
    _refuse_kind(kind)
    mask = np.asarray(disclosed, np.bool_)
    there = np.ones(mask.shape, np.bool_) if available is None else np.asarray(available, np.bool_)
    if mask.ndim != 2 or there.shape != mask.shape:
        raise ParameterError("A policy says it by record and attribute.", hint="Give a mask with two directions.")
    if (mask & ~there).any():
        return False
    axis = {"file": None, "record": 1, "attribute": 0}[kind]
    return bool((mask.sum(axis=axis) == np.minimum(there.sum(axis=axis), k)).all())


def min_risk(problem: DecisionProblem, k: int, sensitivity: Sensitivity, *, refine: bool = False) -> Policy:
    """Disclose ``k`` attributes of every record, those with the smallest factors (MinRisk, Lebanon et al. 2006).

    If attributes of the dictionary are independent, each disclosed one multiplies the loss by ``e ** w`` times the
    number of persons over that of persons who agree with it alone. Where they are not, this is a rule of thumb.

    Parameters
    ----------
    problem
        Records and a dictionary.
    k
        How many attributes to disclose of every record.
    sensitivity
        A :class:`Sensitivity` of the form ``"phi5"``, with weights of single attributes.
    refine
        Then exchange single attributes as long as the true loss falls.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"id": [1, 2, 3], "first": ["Mary", "Mary", "John"], "last": ["Ray", "Lee", "Lee"]})
    >>> problem = ds.measures.decision_problem(people, people, "id")
    >>> chosen = ds.measures.min_risk(problem, 1, ds.measures.Sensitivity("phi5", 0.3))
    >>> chosen.sets(problem.names)
    [('first',), ('first',), ('last',)]
    """
    refuse_k(k, len(problem.names))
    if not isinstance(sensitivity, Sensitivity) or sensitivity.form != "phi5":
        raise ParameterError(
            "MinRisk is for the multiplicative sensitivity.", hint='Give Sensitivity("phi5", ...), or use best_policy.'
        )
    weights, together = sensitivity.parts(problem)
    if together:
        raise ParameterError("MinRisk takes weights of single attributes only.", hint="Use best_policy.")
    gamma, notes = _factors(problem, weights)
    order = np.argsort(np.where(problem.available, gamma, np.inf), axis=1, kind="stable")
    place = np.argsort(order, axis=1, kind="stable")
    mask = (place < k) & problem.available
    exact = not notes and independent_attributes(problem)
    notes += short_notes(problem.available.sum(axis=1), k, "record")
    if refine:
        mask = _exchanged(problem, mask, sensitivity)
    return Policy(mask, problem_risk(problem, mask, sensitivity), exact, gamma, tuple(notes))


def _factors(problem: DecisionProblem, weights: Floats) -> tuple[Floats, list[str]]:
    """What every field multiplies the loss by, if attributes are independent."""
    gamma, strange = np.ones(problem.available.shape), 0
    for place, name in enumerate(problem.names):
        many = problem.consistent([name])
        strange += int(((many == 0) & problem.available[:, place]).sum())
        with np.errstate(over="ignore"):
            gamma[:, place] = np.exp(weights[:, place]) * problem.persons / np.maximum(many, 1)
    if not strange:
        return gamma, []
    return gamma, [
        f"{counted(strange, 'field', 'hold')} what no entry of the dictionary has; one entry is taken to have it."
    ]


def independent_attributes(problem: DecisionProblem) -> bool:
    """Whether the attributes of the dictionary are independent: then MinRisk finds the least risk.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> square = pa.table({"id": [1, 2, 3, 4], "x": ["a", "a", "b", "b"], "y": ["c", "d", "c", "d"]})
    >>> independent_attributes(ds.measures.decision_problem(square, square, "id"))
    True
    """
    columns = [attribute.entries for attribute in problem.attributes if attribute.entries is not None]
    total = len(problem.person)
    if problem.persons < total:
        return False  # persons with several entries count once, and products no longer hold
    if not columns:
        return True
    rows, count = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    each = [np.bincount(column) for column in columns]
    if len(rows) != np.prod([float((one > 0).sum()) for one in each]):
        return False
    for row, many in zip(rows.tolist(), count.tolist(), strict=True):
        expected = 1
        for one, code in zip(each, row, strict=True):
            expected *= int(one[code])
        if many * total ** (len(columns) - 1) != expected:
            return False
    return True


def _exchanged(problem: DecisionProblem, mask: Bools, sensitivity: SensitivityLike) -> Bools:
    """Exchange a disclosed attribute for another, record by record, as long as the loss falls."""
    best = mask.copy()
    loss = problem_risk(problem, best, sensitivity).loss
    pairs = list(product(range(mask.shape[1]), repeat=2))
    while True:
        better, chosen = loss.copy(), best.copy()
        for out, into in pairs:
            able = best[:, out] & ~best[:, into] & problem.available[:, into]
            if not able.any():
                continue
            trial = best.copy()
            trial[able, out], trial[able, into] = False, True
            tried = problem_risk(problem, trial, sensitivity).loss
            gains = able & _less(tried, better)
            better[gains], chosen[gains] = tried[gains], trial[gains]
        if not _less(better, loss).any():
            return best
        best, loss = chosen, better


def best_policy(
    problem: DecisionProblem, k: int, sensitivity: SensitivityLike = 1.0, kind: PolicyClass = "record"
) -> Policy:
    """The policy with the least risk among those that disclose equally many fields.

    Parameters
    ----------
    problem
        Records and a dictionary.
    k
        How many fields to disclose: of the whole file, of every record, or of every attribute, as ``kind`` says. Where
        fewer hold something, all of them are.
    sensitivity
        How much harm an identification does.
    kind
        ``"record"``, ``"file"`` or ``"attribute"``.

    Returns
    -------
    Policy
        ``exact`` says whether it is proved to be the best. The first two classes are searched exactly where there are
        few sets of attributes; otherwise attributes are added one by one, and exchanged as long as the risk falls.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"id": [1, 2, 3], "first": ["Mary", "Mary", "John"], "last": ["Ray", "Lee", "Lee"]})
    >>> problem = ds.measures.decision_problem(people, people, "id")
    >>> found = ds.measures.best_policy(problem, 3, kind="file")
    >>> found.sets(problem.names), found.risk.loss.tolist(), found.exact
    ([('first',), ('first',), ('last',)], [0.5, 0.5, 0.5], True)
    """
    _refuse_kind(kind)
    there = problem.available
    many = {"file": there.size, "record": there.shape[1], "attribute": there.shape[0]}[kind]
    refuse_k(k, many)
    axis = {"file": None, "record": 1, "attribute": 0}[kind]
    notes = short_notes(np.atleast_1d(there.sum(axis=axis)), k, kind)
    if kind == "record":
        mask, exact = _by_record(problem, k, sensitivity)
    elif kind == "file":
        mask, exact = _by_file(problem, min(k, int(there.sum())), sensitivity)
    else:
        mask, exact = _by_attribute(problem, k, sensitivity)
    return Policy(mask, problem_risk(problem, mask, sensitivity), exact, None, tuple(notes))


def _by_record(problem: DecisionProblem, k: int, sensitivity: SensitivityLike) -> tuple[Bools, bool]:
    there = problem.available
    many = there.shape[1]
    open_ = there.sum(axis=1) > k  # of all others everything is disclosed
    best, loss = there & ~open_[:, None], np.full(len(there), np.inf)
    picked = np.zeros(len(there), np.bool_)
    if comb(many, k) > MOST_SETS:
        return _exchanged(problem, _added(problem, k, sensitivity), sensitivity), False
    for chosen in combinations(range(many), k):
        here = open_ & there[:, chosen].all(axis=1)
        trial = np.zeros(there.shape, np.bool_)
        trial[:, chosen] = here[:, None]
        tried = problem_risk(problem, trial, sensitivity).loss
        gains = here & (_less(tried, loss) | ~picked)
        loss[gains], best[gains], picked[gains] = tried[gains], trial[gains], True
    return best, True


def _added(problem: DecisionProblem, k: int, sensitivity: SensitivityLike) -> Bools:
    """Attributes one after the other, each time the one with which a record's loss is least."""
    mask = np.zeros(problem.available.shape, np.bool_)
    for _ in range(k):
        loss, choice = np.full(len(mask), np.inf), np.full(len(mask), -1)
        for place in range(len(problem.names)):
            able = problem.available[:, place] & ~mask[:, place]
            trial = mask.copy()
            trial[able, place] = True
            tried = problem_risk(problem, trial, sensitivity).loss
            gains = able & (_less(tried, loss) | (choice < 0))
            loss[gains], choice[gains] = tried[gains], place
        rows = np.flatnonzero(choice >= 0)
        mask[rows, choice[rows]] = True
    return mask


def _by_file(problem: DecisionProblem, k: int, sensitivity: SensitivityLike) -> tuple[Bools, bool]:
    """So many fields of the whole file: the best set of each size of every record, then sizes that add up."""
    many = problem.available.shape[1]
    sizes = [_by_record(problem, size, sensitivity) for size in range(many + 1)]
    masks = [mask for mask, _ in sizes]
    exact = all(proved for _, proved in sizes)
    losses = np.stack([problem_risk(problem, mask, sensitivity).loss for mask in masks], axis=1)
    beyond = np.arange(many + 1)[None, :] > problem.available.sum(axis=1)[:, None]
    losses[beyond] = np.nan
    if len(problem) * (k + 1) <= MOST_SHARED:
        size = _shared_out(losses, k)
    else:
        size, exact = _one_by_one(losses, k), False
    return np.stack([masks[fields][row] for row, fields in enumerate(size.tolist())]), exact


def _shared_out(losses: Floats, k: int) -> Ints:
    """Numbers of fields of all records that add up to ``k`` with the least sum of losses; NaN is not allowed.

    Infinite losses are counted before finite ones are added up, so that as few as possible are taken.
    """
    endless, finite = np.isposinf(losses).astype(np.float64), np.where(np.isposinf(losses), 0.0, losses)
    total, many_endless = np.full(k + 1, np.inf), np.full(k + 1, np.inf)
    total[0], many_endless[0] = 0.0, 0.0
    taken = np.zeros((len(losses), k + 1), np.int16)
    for row in range(len(losses)):
        best, worst = np.full(k + 1, np.inf), np.full(k + 1, np.inf)
        for fields in np.flatnonzero(~np.isnan(losses[row])).tolist():
            if fields > k:
                break
            tried = total[: k + 1 - fields] + finite[row, fields]
            bad = many_endless[: k + 1 - fields] + endless[row, fields]
            here_best, here_worst = best[fields:], worst[fields:]
            gains = (bad < here_worst) | ((bad == here_worst) & (tried < here_best))
            here_best[gains], here_worst[gains] = tried[gains], bad[gains]
            taken[row, fields:][gains] = fields
        total, many_endless = best, worst
    size, left = np.zeros(len(losses), np.int64), k
    for row in range(len(losses) - 1, -1, -1):
        size[row] = taken[row, left]
        left -= int(size[row])
    return size


def _one_by_one(losses: Floats, k: int) -> Ints:
    """The same for large files: one field more where it costs least, again and again."""
    from heapq import heapify, heappop, heappush

    size = np.zeros(len(losses), np.int64)

    def step(row: int) -> tuple[float, int]:
        after, now = losses[row, size[row] + 1], losses[row, size[row]]
        return (float(after - now) if np.isfinite(now) else 0.0), row

    most = (~np.isnan(losses)).sum(axis=1) - 1
    waiting = [step(row) for row in range(len(losses)) if most[row] > 0]
    heapify(waiting)
    for _ in range(k):
        _, row = heappop(waiting)
        size[row] += 1
        if size[row] < most[row]:
            heappush(waiting, step(row))
    return size


def _by_attribute(problem: DecisionProblem, k: int, sensitivity: SensitivityLike) -> tuple[Bools, bool]:
    there = problem.available
    columns = [np.flatnonzero(there[:, place]) for place in range(there.shape[1])]
    many = np.prod([float(comb(len(rows), min(k, len(rows)))) for rows in columns])
    if many > MOST_POLICIES or 2 ** there.shape[1] > MOST_SETS:
        return _column_by_column(problem, k, sensitivity), False
    losses = np.stack([_losses_of_set(problem, number, sensitivity) for number in range(2 ** there.shape[1])], axis=1)
    best, least = None, np.inf
    rows = np.arange(len(there))
    for chosen in product(*(combinations(one.tolist(), min(k, len(one))) for one in columns)):
        number = np.zeros(len(there), np.int64)
        for place, one in enumerate(chosen):
            number[list(one)] += 1 << place
        total = float(losses[rows, number].sum())
        if best is None or total < least - SAME * abs(least if np.isfinite(least) else 0.0):
            best, least = number, total
    assert best is not None
    return (best[:, None] >> np.arange(there.shape[1]) & 1).astype(np.bool_), True


def _losses_of_set(problem: DecisionProblem, number: int, sensitivity: SensitivityLike) -> Floats:
    """Losses of all records if the attributes of a set, by its number, are disclosed."""
    chosen = (number >> np.arange(len(problem.names)) & 1).astype(np.bool_)
    return problem_risk(problem, np.broadcast_to(chosen, problem.available.shape), sensitivity).loss


def _column_by_column(problem: DecisionProblem, k: int, sensitivity: SensitivityLike) -> Bools:
    """For one attribute after the other the records in which it costs least, until nothing changes."""
    mask = np.zeros(problem.available.shape, np.bool_)
    while True:
        before = mask.copy()
        risk = problem_risk(problem, mask, sensitivity).risk
        for place in range(len(problem.names)):
            without, within = mask.copy(), mask.copy()
            without[:, place], within[:, place] = False, problem.available[:, place]
            losses = [problem_risk(problem, trial, sensitivity).loss for trial in (without, within)]
            with np.errstate(invalid="ignore"):
                cost = np.nan_to_num(losses[1] - losses[0], nan=0.0, posinf=np.inf, neginf=-np.inf)
            cost[~problem.available[:, place]] = np.inf
            open_ = np.flatnonzero(problem.available[:, place])
            chosen = open_[np.argsort(cost[open_], kind="stable")[:k]]
            mask[:, place] = False
            mask[chosen, place] = True
        filled = bool((before.sum(axis=0) == mask.sum(axis=0)).all())
        if filled and not problem_risk(problem, mask, sensitivity).risk < risk - SAME * abs(risk):
            return before


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """The risk of policies that disclose more and more.

    ``k`` is how many attributes of every record are disclosed, ``risk`` the risk, ``largest`` the largest loss.
    """

    k: Ints
    risk: Floats
    largest: Floats

    def image(self) -> str:
        """Risk and largest loss by how much is disclosed, as an inline ``svg`` element.

        Examples
        --------
        >>> import pyarrow as pa, discreet as ds
        >>> people = pa.table({"id": [1, 2, 3], "first": ["Mary", "Mary", "John"], "last": ["Ray", "Lee", "Lee"]})
        >>> problem = ds.measures.decision_problem(people, people, "id")
        >>> ds.measures.risk_curve(problem).image().startswith("<svg")
        True
        """
        return doors.risk_curve_image(self)


def risk_curve(
    problem: DecisionProblem, sensitivity: SensitivityLike = 1.0, ks: Sequence[int] | None = None
) -> RiskCurve:
    """How the risk rises with the number of attributes that are disclosed of every record, at best.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"id": [1, 2, 3], "first": ["Mary", "Mary", "John"], "last": ["Ray", "Lee", "Lee"]})
    >>> problem = ds.measures.decision_problem(people, people, "id")
    >>> ds.measures.risk_curve(problem).risk.round(3).tolist()
    [0.333, 0.5, 1.0]
    """
    chosen = list(range(len(problem.names) + 1) if ks is None else ks)
    if not chosen:
        raise InputError("No number of attributes is given.", hint="Give ks= some numbers from 0.")
    found = [best_policy(problem, k, sensitivity).risk for k in chosen]
    return RiskCurve(np.array(chosen), np.array([one.risk for one in found]), np.array([one.largest for one in found]))


def _less(tried: Floats, best: Floats) -> Bools:
    """Whether losses are clearly less than others."""
    finite = np.where(np.isfinite(best), np.abs(best), 0.0)
    return np.asarray(tried < best - SAME * finite)


def short_notes(there: Ints, k: int, kind: PolicyClass) -> list[str]:
    """What to know where fewer fields hold something than are to be disclosed."""
    short = int((there < k).sum())
    if not short:
        return []
    if kind == "file":
        return [f"The file has fewer than {counted(k, 'value')}: all are disclosed."]
    return [f"{counted(short, kind, 'have')} fewer than {counted(k, 'value')}: all of these are disclosed."]


def refuse_k(k: int, most: int) -> None:
    """Refuse a number of fields that there are not."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 0 <= k <= most:
        raise ParameterError(f"k={k!r} is not allowed.", hint=f"Give a whole number from 0 to {most:,}.")


def _refuse_kind(kind: str) -> None:
    if kind not in get_args(PolicyClass):
        raise ParameterError(unknown_name("kind", str(kind), get_args(PolicyClass)))
