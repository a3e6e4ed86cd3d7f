"""Tables and log-linear models of the records of all owners: margins by secure sums, then proportional fitting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError
from discreet.private.joint.account import NO_ACCOUNTS, whole_records
from discreet.private.joint.design import Levels, level_codes, plain_columns
from discreet.private.joint.fits import likelihood_ratio
from discreet.private.joint.fixed_point import SCALE_BITS
from discreet.private.joint.safety import RevealLimits, require_no_small
from discreet.private.joint.small_cells import small_cells
from discreet.private.joint.sums import SumWay, secure_sum
from discreet.private.parties.conversation import Desk, RunPlan, plan_of
from discreet.private.parties.digests import digest_of
from discreet.private.parties.rounds import PartyTask, Talk
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript

Numbers = NDArray[np.float64]
MOST_CYCLES = 10_000
SETTLED = 1e-12
MOST_BOUNDED = 1_000
"""Cells of a table whose bounds are worked out, two linear programs each."""


@dataclass(frozen=True)
class MarginTerms:
    """How to add up; all owners agree on it."""

    sums: SumWay = "shares"
    scale_bits: int = SCALE_BITS
    limits: RevealLimits = field(default_factory=RevealLimits)


@dataclass(frozen=True)
class JointTable:
    """Counts of all owners.

    Parameters
    ----------
    variables, levels
        What they are by.
    counts
        One axis a variable.
    opened
        What was revealed to all owners, and how many numbers it has.
    accounts
        Whether owners keep account of their models, so that two of them cannot show what changed between them.
    transcript
        Messages, where all owners were in one process.
    """

    variables: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    counts: Numbers
    opened: tuple[tuple[str, int], ...]
    accounts: str = NO_ACCOUNTS
    transcript: Transcript | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "variables": list(self.variables),
            "levels": [list(one) for one in self.levels],
            "counts": self.counts.tolist(),
            "opened": [list(one) for one in self.opened],
            "accounts": self.accounts,
        }

    def summary(self) -> str:
        """How large the table is, and what was opened."""
        return (
            f"Table by {', '.join(self.variables)}: {self.counts.size:,} cells, {int(self.counts.sum()):,} persons\n"
            f"Opened to all owners: {sum(count for _, count in self.opened):,} numbers\n"
            f"Accounts: {self.accounts}"
        )


@dataclass(frozen=True)
class TableFit:
    """A fitted log-linear model.

    Parameters
    ----------
    generators
        The margins that it has.
    variables, levels
        Of the fitted table.
    fitted
        Expected counts, one axis a variable.
    parameters
        How many parameters the model has.
    cycles
        Of proportional fitting.
    opened
        What was revealed to all owners, and how many numbers it has.
    accounts
        Whether owners keep account of their models, so that two of them cannot show what changed between them.
    transcript
        Messages, where all owners were in one process.
    """

    generators: tuple[tuple[str, ...], ...]
    variables: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    fitted: Numbers
    parameters: int
    cycles: int
    opened: tuple[tuple[str, int], ...]
    accounts: str = NO_ACCOUNTS
    transcript: Transcript | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "generators": [list(one) for one in self.generators],
            "variables": list(self.variables),
            "levels": [list(one) for one in self.levels],
            "fitted": self.fitted.tolist(),
            "parameters": self.parameters,
            "cycles": self.cycles,
            "opened": [list(one) for one in self.opened],
            "accounts": self.accounts,
        }

    def summary(self) -> str:
        """The model, its size, and what was opened."""
        margins = "".join("[" + " ".join(one) + "]" for one in self.generators)
        return (
            f"{margins}: {self.parameters} parameters, {self.fitted.size:,} cells, {self.cycles} cycles\n"
            f"Opened to all owners: {sum(count for _, count in self.opened):,} numbers\n"
            f"Accounts: {self.accounts}"
        )

    def logits(self, response: str) -> Numbers:
        """Logarithm of the first code's count over the second's, for a response of two codes."""
        axis = self.variables.index(response)
        if self.fitted.shape[axis] != 2:
            raise ParameterError(f"{response!r} does not have two codes.", hint="Put codes together.")
        first, second = np.moveaxis(self.fitted, axis, 0)
        return np.asarray(np.log(first) - np.log(second))

    def against(self, larger: TableFit) -> tuple[float, int, float]:
        """The likelihood ratio of this model to a larger one that contains it: statistic, d.f., p-value.

        From the fitted tables alone: nothing more is opened.
        """
        from scipy.special import xlogy

        if self.variables != larger.variables:
            raise ParameterError("The two models have other variables.", hint="Compare models of the same table.")
        statistic = 2 * float((xlogy(larger.fitted, larger.fitted) - xlogy(larger.fitted, self.fitted)).sum())
        return likelihood_ratio(statistic, larger.parameters - self.parameters)

    def fit_to(self, table: JointTable) -> dict[str, float | int | str]:
        """Pearson's statistic and the deviance of the model from the opened table of all owners."""
        from scipy.special import xlogy

        if table.variables != self.variables:
            raise ParameterError("The table has other variables.", hint="Open it by the same ones.")
        n, m = table.counts, self.fitted
        return {
            "pearson": float(((n - m) ** 2 / np.where(m > 0, m, 1)).sum()),
            "deviance": 2 * float((xlogy(n, n) - xlogy(n, m)).sum()),
            "freedom": n.size - self.parameters,
            "basis": "cells of the pooled table",
        }


def _columns(data: Any, variables: Sequence[str], count: str | None) -> dict[str, NDArray[Any]]:
    return whole_records(plain_columns(data, [*variables, *([count] if count else [])]))


def own_counts(
    data: Any, variables: Sequence[str], count: str | None, agreed: Levels
) -> tuple[dict[str, list[str]], Numbers]:
    """An owner's codes and its counts by them."""
    names = [*variables, *([count] if count else [])]
    columns = plain_columns(data, names)
    codes = {name: level_codes(columns[name], name) for name in variables}
    levels = {name: [str(one) for one in agreed.get(name, sorted(set(codes[name])))] for name in variables}
    places = []
    for name in variables:
        where = {code: k for k, code in enumerate(levels[name])}
        if not set(codes[name]) <= where.keys():
            raise InputError(f"Column {name!r} has codes that were not agreed on.", hint="Agree on all in levels=.")
        places.append(np.array([where[code] for code in codes[name]], dtype=np.int64))
    persons = columns[count].astype(np.float64) if count else np.ones(len(places[0]))
    if not np.isfinite(persons).all() or (persons < 0).any() or (persons != np.rint(persons)).any():
        raise InputError("Counts are whole numbers from 0 on.", hint="Correct them; nothing was sent.")
    table = np.zeros([len(levels[name]) for name in variables])
    np.add.at(table, tuple(places), persons)
    return levels, table


def _plan(
    protocol: str, owners: Sequence[str], levels: dict[str, list[str]], terms: MarginTerms, more: dict[str, Any]
) -> RunPlan:
    codings = {f"coding of {name!r}": codes for name, codes in levels.items()}
    return plan_of(protocol, owners, {**more, **codings, **asdict(terms)})


def _sum(desk: Desk, terms: MarginTerms, values: Numbers, what: str) -> Talk[Numbers]:
    return secure_sum(desk, values, what, terms.sums, terms.scale_bits)


def joint_table(
    owners: Sequence[str], data: Any, variables: Sequence[str], count: str | None, agreed: Levels,
    terms: MarginTerms, sparse: bool,
) -> PartyTask[JointTable]:  # fmt: skip
    """What an owner agrees on for a table, and what it does then."""
    levels, own = own_counts(data, variables, count, agreed)
    more = {"variables": list(variables), "count": count, "sparse": sparse}

    def work(desk: Desk) -> Talk[JointTable]:
        flat = own.ravel()
        chosen = np.arange(flat.size)
        if sparse:
            from discreet.private.union.codes import union_of_codes

            mine = [str(k) for k in np.flatnonzero(flat)]
            found = yield from union_of_codes(desk, mine, "occupied cells")
            if not found <= {str(k) for k in range(flat.size)}:
                raise ProtocolError("tampered", "Somebody brought a cell that the table does not have.")
            chosen = np.array(sorted(int(one) for one in found), dtype=np.int64)
        small = yield from small_cells(desk, flat[chosen], terms.limits.min_cell, "small cells")
        require_no_small(small, terms.limits)
        totals = np.zeros(flat.size)
        totals[chosen] = yield from _sum(desk, terms, flat[chosen], "cells")
        codes = tuple(tuple(levels[name]) for name in variables)
        return JointTable(tuple(variables), codes, totals.reshape(own.shape), tuple(desk.opened))

    columns = partial(_columns, data, variables, count)
    return PartyTask(_plan("joint table 1", owners, levels, terms, more), work, digest_of([own]), columns)


def log_linear(
    owners: Sequence[str], data: Any, generators: Sequence[Sequence[str]], count: str | None, agreed: Levels,
    terms: MarginTerms, cycles: int | None,
) -> PartyTask[TableFit]:  # fmt: skip
    """What an owner agrees on for a log-linear model, and what it does then."""
    margins = tuple(tuple(one) for one in generators)
    if not margins or not all(margins):
        raise ParameterError("A log-linear model has no margins.", hint="Write [['a', 'b'], ['b', 'c']].")
    variables = sorted({name for one in margins for name in one})
    levels, own = own_counts(data, variables, count, agreed)
    axes = [tuple(variables.index(name) for name in sorted(one)) for one in margins]

    if own.size > MOST_BOUNDED:
        raise ProtocolError(
            "too much work",
            f"The table of the model has {own.size:,} cells; bounds of at most {MOST_BOUNDED:,} can be worked out.",
            hint="Use fewer variables or codes.",
        )

    def work(desk: Desk) -> Talk[TableFit]:
        parts = [_margin(own, kept) for kept in axes]
        flat = np.concatenate([part.ravel() for part in parts])
        require_no_small((yield from small_cells(desk, flat, terms.limits.min_cell, "small cells")), terms.limits)
        sums = yield from _sum(desk, terms, flat, "margins")
        ends = np.cumsum([part.size for part in parts])[:-1]
        targets = [one.reshape(part.shape) for one, part in zip(np.split(sums, ends), parts, strict=True)]
        _require_wide(own.shape, targets, terms.limits)
        fitted, done = proportional_fitting(own.shape, axes, targets, cycles)
        codes = tuple(tuple(levels[name]) for name in variables)
        size = _parameters(own.shape, axes)
        return TableFit(margins, tuple(variables), codes, fitted, size, done, tuple(desk.opened))

    more = {"generators": [list(one) for one in margins], "count": count, "cycles": cycles}
    columns = partial(_columns, data, variables, count)
    return PartyTask(_plan("joint log-linear model 1", owners, levels, terms, more), work, digest_of([own]), columns)


def _margin(table: Numbers, kept: tuple[int, ...]) -> Numbers:
    return np.asarray(table.sum(axis=tuple(k for k in range(table.ndim) if k not in kept), keepdims=True))


def proportional_fitting(
    shape: tuple[int, ...], axes: Sequence[tuple[int, ...]], targets: Sequence[Numbers], cycles: int | None = None
) -> tuple[Numbers, int]:
    """Start with ones, and bring margins to their targets in turn; how many cycles it took."""
    table = np.ones(shape)
    for cycle in range(1, (cycles or MOST_CYCLES) + 1):
        before = table
        for kept, target in zip(axes, targets, strict=True):
            now = _margin(table, kept)
            table = table * np.divide(target, now, out=np.zeros_like(now), where=now > 0)
        if cycles is None and np.abs(table - before).max() <= SETTLED * max(1.0, table.max()):
            return table, cycle
    if cycles is None:
        raise ProtocolError("did not converge", f"{MOST_CYCLES:,} cycles were not enough.", hint="Use fewer margins.")
    return table, cycles


def _parameters(shape: tuple[int, ...], axes: Sequence[tuple[int, ...]]) -> int:
    """Parameters of a hierarchical model: one for each combination of non-reference codes of each term."""
    from itertools import combinations

    terms = {sub for kept in axes for size in range(len(kept) + 1) for sub in combinations(sorted(kept), size)}
    return sum(int(np.prod([shape[k] - 1 for k in term])) for term in terms)


def _require_wide(shape: tuple[int, ...], targets: Sequence[Numbers], limits: RevealLimits) -> None:
    """Withhold the model where margins together tell small cells of the table."""
    lower, upper = cell_bounds(shape, targets)
    narrow = (upper > 0) & (lower < limits.min_cell) & (upper - lower < limits.min_cell)
    if narrow.any():
        raise ProtocolError(
            "not safe to reveal",
            f"The margins together tell {int(narrow.sum())} small cells to less than {limits.min_cell} persons.",
            hint="Use fewer or smaller margins, or put codes together; owners must not publish these margins.",
        )


def cell_bounds(shape: tuple[int, ...], targets: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """Between which counts each cell of the table lies, given the margins."""
    from scipy.optimize import linprog

    size = int(np.prod(shape))
    blocks, right = [], []
    for target in targets:
        group = np.broadcast_to(np.arange(target.size).reshape(target.shape), shape).ravel()
        blocks.append((group[None, :] == np.arange(target.size)[:, None]).astype(np.float64))
        right.append(target.ravel())
    equal, total = np.concatenate(blocks), np.concatenate(right)
    found = np.zeros((2, size))
    for k in range(size):
        for side, sign in enumerate((1.0, -1.0)):
            goal = np.zeros(size)
            goal[k] = sign
            solved = linprog(goal, A_eq=equal, b_eq=total, bounds=(0, None), method="highs")
            if solved.status != 0 or solved.fun is None:
                raise ProtocolError("wrong sum", "The margins of all owners contradict each other.")
            found[side, k] = sign * solved.fun
    lower, higher = np.ceil(found[0] - 1e-6), np.floor(found[1] + 1e-6)
    return lower.reshape(shape), higher.reshape(shape)
