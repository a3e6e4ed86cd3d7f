"""Linear, logistic and Poisson regression over horizontally split records, by secure sums alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.analyse.formulas import ModelFormula
from discreet.errors import listed
from discreet.private.joint.design import OwnerRows
from discreet.private.joint.fits import OWN_ROWS, PERSONS, JointFit
from discreet.private.joint.fixed_point import SCALE_BITS
from discreet.private.joint.leading import (
    OwnDirections,
    leads_step,
    led_by_few,
    looks_at_leading,
    require_nobody_leads,
)
from discreet.private.joint.safety import (
    RevealLimits,
    require_enough_rows,
    require_few_opened,
    require_freedom,
    require_independent,
    require_low_leverage,
    require_no_small,
    shown_cells,
)
from discreet.private.joint.small_cells import few_and_alone, small_cells
from discreet.private.joint.sums import SumWay, all_say_yes, secure_sum
from discreet.private.joint.values import (
    column_kinds,
    far_out,
    require_none_out,
    require_spread,
    value_cells,
    with_kinds,
)
from discreet.private.parties.conversation import Desk
from discreet.private.parties.rounds import Talk, TalkRound
from discreet.private.problems import ProtocolError

Numbers = NDArray[np.float64]
FLATTEST = 1e-8
"""Of the curvature at the start: below, responses are separated."""
PRECISE = 1e-9
"""What rounding to fixed point may do to a coefficient."""


@dataclass(frozen=True)
class NewtonTerms:
    """How to fit; all owners agree on it."""

    sums: SumWay = "shares"
    scale_bits: int = SCALE_BITS
    tolerance: float = 1e-10
    most_rounds: int = 25
    limits: RevealLimits = field(default_factory=RevealLimits)


def joint_regression(desk: Desk, formula: ModelFormula, rows: OwnerRows, terms: NewtonTerms) -> Talk[JointFit]:
    """What an owner does in a regression. Checks come first: see :mod:`discreet.private.joint.safety`."""
    require_enough_rows(rows, desk.me)
    p = len(rows.names)
    enough = np.array([min(rows.trials.sum(), p + terms.limits.min_freedom)])
    require_freedom((yield from _sum(desk, terms, enough, "persons, cut off"))[0], p, terms.limits)
    rows, own = yield from _looked_at(desk, rows, terms)
    weight = rows.weights * rows.trials
    gram = full((yield from _sum(desk, terms, upper(rows.X, weight), "X'X")), p)
    require_fine_columns(gram, rows.names, desk, terms)
    require_independent(gram, rows.names)
    require_low_leverage(rows, gram, terms.limits, desk.me)
    totals = yield from _sum(desk, terms, _totals(rows), "totals")
    if formula.model == "linear":
        return (yield from _linear(desk, formula, rows, terms, gram, totals))
    return (yield from _newton(desk, formula, rows, terms, gram, totals, own))


def _looked_at(desk: Desk, rows: OwnerRows, terms: NewtonTerms) -> Talk[tuple[OwnerRows, OwnDirections | None]]:
    """Stop before sums of columns are opened that would show single persons.

    Gives the rows, and the directions in which they were looked at: none where sums are counts of cells.
    """
    limit = terms.limits.min_cell
    kinds = yield from all_say_yes(desk, column_kinds(rows), "kinds of columns", terms.sums)
    rows, few, binary = with_kinds(rows, kinds)
    cells = np.concatenate([shown_cells(rows, binary), value_cells(rows, few, binary)])
    require_no_small((yield from small_cells(desk, cells, limit, "small cells")), terms.limits)
    persons, squares = far_out(rows, not binary, terms.scale_bits)
    require_none_out((yield from few_and_alone(desk, persons, squares, limit, "values far out")), limit)
    counts = binary and rows.dummies[1:].all() and (rows.weights == rows.weights[0]).all()
    if counts or not looks_at_leading(terms.limits):
        return rows, None
    own = OwnDirections(rows.X, rows.weights, rows.trials)
    require_nobody_leads(own, terms.limits, desk.me)
    if not binary:
        with_outcome = np.column_stack([rows.X, rows.y])
        require_nobody_leads(OwnDirections(with_outcome, rows.weights, rows.trials), terms.limits, desk.me)
    return rows, own


def _sum(desk: Desk, terms: NewtonTerms, values: Numbers, what: str) -> Talk[Numbers]:
    return secure_sum(desk, values, what, terms.sums, terms.scale_bits)


def upper(X: Numbers, weight: Numbers) -> Numbers:
    """The upper triangle of X'WX, as a vector."""
    return np.asarray(((X * weight[:, None]).T @ X)[np.triu_indices(X.shape[1])])


def full(triangle: Numbers, p: int) -> Numbers:
    """A symmetric matrix from its upper triangle."""
    found = np.zeros((p, p))
    found[np.triu_indices(p)] = triangle
    return found + np.triu(found, 1).T


def _totals(rows: OwnerRows) -> Numbers:
    """Persons, rows, weighted trials, weighted outcome."""
    return np.array(
        [
            rows.trials.sum(),
            len(rows.y),
            (rows.weights * rows.trials).sum(),
            (rows.weights * rows.y).sum(),
        ]
    )


def _linear(
    desk: Desk, formula: ModelFormula, rows: OwnerRows, terms: NewtonTerms, gram: Numbers, totals: Numbers
) -> Talk[JointFit]:
    p, mean = len(rows.names), totals[3] / totals[2]
    # Around the mean: sums of squares of large numbers would lose the digits that matter.
    shifted = rows.y - mean
    sums = yield from _sum(desk, terms, rows.X.T @ (rows.weights * shifted), "X'y")
    inverse: Numbers = np.asarray(np.linalg.inv(gram), dtype=np.float64)
    beta = yield from _agreed(desk, inverse @ sums, "coefficients")
    require_precision(inverse, beta, desk, terms)
    residual = shifted - rows.X @ beta
    squares = yield from _sum(
        desk,
        terms,
        np.array(
            [
                (rows.weights * residual**2).sum(),
                (rows.weights * shifted**2).sum(),
                np.log(rows.weights[rows.weights > 0]).sum(),
            ]
        ),
        "sums of squares",
    )
    require_spread(squares[0], squares[1])
    beta[0] += mean
    n, freedom = totals[1], round(totals[1]) - p
    scale = squares[0] / freedom
    logliks = [0.5 * (squares[2] - n * (np.log(2 * np.pi * square / n) + 1)) for square in squares[:2]]
    return JointFit(
        str(formula), rows.names, beta, inverse * scale, round(totals[0]), logliks[0], logliks[1],
        squares[0], squares[0], freedom, PERSONS, float(np.sqrt(scale)), 1, tuple(desk.opened),
    )  # fmt: skip


def _newton(
    desk: Desk, formula: ModelFormula, rows: OwnerRows, terms: NewtonTerms, gram: Numbers, totals: Numbers,
    own: OwnDirections | None,
) -> Talk[JointFit]:  # fmt: skip
    p = len(rows.names)
    logit = formula.model == "logit"
    beta, last, best, known = np.zeros(p), np.zeros(p), -np.inf, rows.names[1:]
    if not logit:
        beta[0] = np.log(totals[3] / totals[2]) if totals[3] > 0 else 0.0
    for step in range(1, terms.most_rounds + 1):
        what = f"step {step}: X'WX, X'(y-mu), log-likelihood"
        so_far = sum(count for _, count in desk.opened)
        require_few_opened(so_far + p * (p + 3) // 2 + 1, totals[0], p, terms.limits)
        part, variance = _own_step(rows, beta, logit)
        if own is not None and leads_step(own, rows, full(part[: -p - 1], p), variance, terms.limits):
            raise _led(rows, beta, logit, known, terms.limits, desk.me)
        sums = yield from _sum(desk, terms, part, what)
        curvature, score, loglik = full(sums[: -p - 1], p), sums[-p - 1 : -1], sums[-1]
        known = _require_curved(curvature, gram, rows.names)
        if loglik < best - 1e-9 * abs(best):
            beta = yield from _agreed(desk, (beta + last) / 2, f"step {step}: half the way")
            continue
        inverse: Numbers = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
        change = inverse @ score
        best, last = loglik, beta
        told = yield from _agreed(desk, np.append(beta + change, np.abs(change).max()), f"step {step}: coefficients")
        beta = told[:-1]
        if told[-1] <= terms.tolerance * (1 + np.abs(beta).max()):
            require_precision(inverse, beta, desk, terms)
            return (yield from _diagnosed(desk, formula, rows, terms, beta, inverse, step, totals))
    raise ProtocolError(
        "did not converge",
        f"{terms.most_rounds} steps were not enough.",
        hint="Use other units or a smaller model, or allow more steps.",
    )


def means(rows: OwnerRows, beta: Numbers, logit: bool) -> tuple[Numbers, Numbers]:
    """Expected outcomes, and their variances."""
    eta = rows.X @ beta
    if logit:
        share = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
        return rows.trials * share, rows.trials * share * (1 - share)
    mu = np.exp(np.clip(eta, -700, 40))
    return mu, mu


def own_loglik(rows: OwnerRows, beta: Numbers, logit: bool) -> float:
    """The owner's part of the log-likelihood."""
    from scipy.special import gammaln

    eta = rows.X @ beta
    if logit:
        return float((rows.weights * (rows.y * eta - rows.trials * np.logaddexp(0, eta))).sum())
    mu = np.exp(np.clip(eta, -700, 40))
    return float((rows.weights * (rows.y * eta - mu - gammaln(rows.y + 1))).sum())


def _own_step(rows: OwnerRows, beta: Numbers, logit: bool) -> tuple[Numbers, Numbers]:
    """The owner's part of a step, and the variances that it is made with."""
    mu, variance = means(rows, beta, logit)
    score = rows.X.T @ (rows.weights * (rows.y - mu))
    part = np.concatenate([upper(rows.X, rows.weights * variance), score, [own_loglik(rows, beta, logit)]])
    return part, variance


def _require_curved(curvature: Numbers, gram: Numbers, names: tuple[str, ...]) -> tuple[str, ...]:
    """Stop when the log-likelihood gets flat: coefficients would grow without end. Gives the flattest columns."""
    sizes = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(curvature / np.outer(sizes, sizes))
    base = np.linalg.eigvalsh(gram / np.outer(sizes, sizes))[0]
    along = np.abs(vectors[:, 0])
    named = tuple(name for name, size in zip(names, along, strict=True) if size > 0.1 * along.max())
    if values[0] < FLATTEST * base:
        raise _separable(named, "")
    return named


def _separable(named: tuple[str, ...], whose: str) -> ProtocolError:
    return ProtocolError(
        "separable responses",
        f"Columns {listed(named)} separate the responses{whose}; their coefficients grow without end.",
        hint="Leave them out, or put codes together.",
    )


def _led(
    rows: OwnerRows, beta: Numbers, logit: bool, flattest: tuple[str, ...], limits: RevealLimits, me: str
) -> ProtocolError:
    """Why few persons lead: because all others' responses are certain by now, or because they are far out."""
    eta = rows.X @ beta
    if logit and np.where(eta > 0, rows.y == rows.trials, (eta < 0) & (rows.y == 0)).all():
        return _separable(flattest, f", at least those of {me}")
    return led_by_few(limits, me)


def _agreed(desk: Desk, values: Numbers, what: str) -> Talk[Numbers]:
    """What the first owner computed from sums that all have; an owner that computed something else stops."""
    first = desk.parties[0]
    body = values.astype("<f8").tobytes()
    says = dict.fromkeys(desk.others, body) if desk.me == first else {}
    heard = yield TalkRound(what, says, frozenset([first] if desk.me != first else []))
    if desk.me == first:
        return values.copy()
    if len(heard[first]) != len(body):
        raise ProtocolError("wrong length", f"{first} told another number of coefficients.")
    told = np.frombuffer(heard[first], "<f8").astype(np.float64)
    if not np.allclose(told, values, rtol=1e-6, atol=1e-9):
        raise ProtocolError("wrong sum", f"{first} computed other numbers from the same sums in {what!r}.")
    return told


def rounding(desk: Desk, terms: NewtonTerms, columns: int) -> float:
    """What rounding to fixed point does to a sum, times the columns that it enters with."""
    return len(desk.parties) * 2.0 ** -(terms.scale_bits + 1) * columns


def require_fine_columns(gram: Numbers, names: tuple[str, ...], desk: Desk, terms: NewtonTerms) -> None:
    """Refuse columns of such small numbers that rounding to fixed point would change their sums of squares."""
    squares = np.diag(gram)
    coarse = [
        name for name, one in zip(names, squares, strict=True) if 0 < one < rounding(desk, terms, len(names)) / PRECISE
    ]
    if coarse:
        raise _too_coarse(f"column {listed(coarse)}", terms)


def require_precision(inverse: Numbers, beta: Numbers, desk: Desk, terms: NewtonTerms) -> None:
    """Refuse coefficients that rounding to fixed point may have moved."""
    moved = np.abs(inverse).sum(axis=1) * rounding(desk, terms, len(beta))
    if (moved > PRECISE * np.maximum(1.0, np.abs(beta))).any():
        raise _too_coarse("this model", terms)


def _too_coarse(what: str, terms: NewtonTerms) -> ProtocolError:
    return ProtocolError(
        "too coarse",
        f"Sums with {terms.scale_bits} bits behind the point are too coarse for {what}.",
        hint="Use units that make numbers larger, or more scale_bits.",
    )


def _diagnosed(
    desk: Desk, formula: ModelFormula, rows: OwnerRows, terms: NewtonTerms, beta: Numbers, inverse: Numbers,
    steps: int, totals: Numbers,
) -> Talk[JointFit]:  # fmt: skip
    logit = formula.model == "logit"
    mu, variance = means(rows, beta, logit)
    null = np.zeros_like(beta)
    mean = totals[3] / totals[2]
    null[0] = np.log(mean / (1 - mean)) if logit else np.log(mean)
    w = rows.weights
    deviance = _log_ratio(rows.y, mu) + (_log_ratio(rows.trials - rows.y, rows.trials - mu) if logit else mu - rows.y)
    own = np.array(
        [
            own_loglik(rows, beta, logit),
            own_loglik(rows, null, logit),
            2 * (w * deviance).sum(),
            (w * (rows.y - mu) ** 2 / variance).sum(),
        ]
    )
    sums = yield from _sum(desk, terms, own, "log-likelihoods, deviance, Pearson")
    basis = PERSONS if logit and totals[0] == totals[1] else OWN_ROWS
    freedom = round(totals[1]) - len(beta)
    return JointFit(
        str(formula), rows.names, beta, inverse, round(totals[0]), float(sums[0]), float(sums[1]),
        float(sums[2]), float(sums[3]), freedom, basis,
        1.0, steps, tuple(desk.opened),
    )  # fmt: skip


def _log_ratio(observed: Numbers, expected: Numbers) -> Numbers:
    """Observed times the logarithm of observed over expected; 0 for 0."""
    from scipy.special import xlogy

    return np.asarray(xlogy(observed, observed) - xlogy(observed, expected), dtype=np.float64)
