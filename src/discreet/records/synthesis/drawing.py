"""Draws from models of one column: trees, straight lines, chances of codes, or the column itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.errors import InputError, counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.records.synthesis.columns import UnitColumn
from discreet.records.synthesis.leaf_kernels import neighbours, spread_out

Model = Literal["cart", "normal_rank", "normal", "logit", "polytomous", "sample"]
WORTH = 1e-8
"""The share of what a column leaves open that a cut of a tree must be worth."""
HALF_STEP = 2.0**-54
RIDGE = 1e-4
"""What large coefficients of chances cost per record: codes that a predictor tells for sure keep finite ones."""


class LeafSizes(NamedTuple):
    """How many leaves draws came from, and the sizes of the smallest and the largest."""

    leaves: int
    smallest: int
    largest: int

    def joined(self, other: LeafSizes) -> LeafSizes:
        """Those of both."""
        return LeafSizes(
            self.leaves + other.leaves, min(self.smallest, other.smallest), max(self.largest, other.largest)
        )


@dataclass(frozen=True, eq=False)
class Setting:
    """What a model of one column is made of, and what it is drawn for.

    Parameters
    ----------
    old, new, ordered
        Bins of predictors for the records that the model is made of, and for those that it is drawn for.
    before, after
        The same as columns of a straight-line model; only where one is asked for.
    least
        Records in a leaf, at least.
    """

    name: str
    old: Any
    new: Any
    ordered: Bools
    before: Floats
    after: Floats
    least: int


class Donors(NamedTuple):
    """For every draw the records that it is from, as a part of a list of records, and how large leaves are."""

    rows: Ints
    start: Ints
    end: Ints
    sizes: LeafSizes


def donors(setting: Setting, values: Floats, codes: Ints, size: int, *, tree: bool) -> Donors:
    """The leaf of a tree that each draw is from, or all records."""
    from discreet.records.synthesis.tree_kernels import grown, leaves_of

    many = setting.old.shape[1]
    if not tree:
        all_rows = LeafSizes(1, many, many)
        whole = setting.new.shape[1]
        return Donors(np.arange(many), np.zeros(whole, np.int64), np.full(whole, many), all_rows)
    made = grown(
        np.ascontiguousarray(setting.old),
        setting.ordered,
        values,
        codes.astype(np.int32),
        size,
        setting.least,
        WORTH,
    )
    predictor, goes_left, child, begin, stop, rows = made
    leaf = leaves_of(predictor, goes_left, child, np.ascontiguousarray(setting.new))
    lengths = (stop - begin)[predictor < 0]
    sizes = LeafSizes(len(lengths), int(lengths.min()), int(lengths.max()))
    return Donors(rows.astype(np.int64), begin[leaf].astype(np.int64), stop[leaf].astype(np.int64), sizes)


def drawn_codes(setting: Setting, codes: Ints, model: Model, chance: Floats) -> tuple[Ints, LeafSizes]:
    """Codes drawn for every record: those of a record of its leaf, or by chances of a logistic model."""
    distinct, place = np.unique(codes, return_inverse=True)
    many = len(codes)
    if len(distinct) == 1:
        return np.full(len(chance), distinct[0]), LeafSizes(1, many, many)
    if model in ("logit", "polytomous"):
        chances = code_chances(setting, place.ravel(), len(distinct))
        found = (np.cumsum(chances, axis=1) <= chance[:, None]).sum(axis=1)
        return distinct[np.minimum(found, len(distinct) - 1)], LeafSizes(1, many, many)
    two = len(distinct) == 2
    values = place.ravel().astype(np.float64) if two else np.zeros(1)
    found = donors(setting, values, place.ravel(), 0 if two else len(distinct), tree=model == "cart")
    taken = found.start + (chance * (found.end - found.start)).astype(np.int64)
    return codes[found.rows[taken]], found.sizes


def code_chances(setting: Setting, codes: Ints, size: int) -> Floats:
    """Chances of each code by a multinomial logistic model, for every record that is drawn."""
    from scipy.optimize import minimize
    from scipy.special import log_softmax, softmax

    x, width = setting.before, setting.before.shape[1]
    _refuse_few(setting.name, len(codes), width)
    seen = np.zeros((len(codes), size))
    seen[np.arange(len(codes)), codes] = 1.0

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = np.concatenate((np.zeros((width, 1)), flat.reshape(width, size - 1)), axis=1)
        scores = x @ weights
        penalty = RIDGE * weights
        penalty[0] = 0.0  # how frequent codes are is not held back
        slope = x.T @ (softmax(scores, axis=1) - seen) / len(codes) + penalty
        value = -float((seen * log_softmax(scores, axis=1)).sum()) / len(codes) + 0.5 * float((penalty * weights).sum())
        return value, slope[:, 1:].ravel()

    found = minimize(loss, np.zeros(width * (size - 1)), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    weights = np.concatenate((np.zeros((width, 1)), found.reshape(width, size - 1)), axis=1)
    return np.asarray(softmax(setting.after @ weights, axis=1))


def drawn_units(
    setting: Setting, column: UnitColumn, units: Ints, model: Model, smoothing: str, chance: Floats, spread: Floats
) -> tuple[Ints, LeafSizes]:
    """Units drawn for every record, so that none is that of few records.

    ``chance`` draws from the model, ``spread`` where between its neighbours a value lies.
    """
    many = len(units)
    if model == "normal":
        mean, size = _line(setting, units.astype(np.float64))
        return column.on_grid(mean + size * _normal(chance), spread), LeafSizes(1, many, many)
    if model == "normal_rank":
        from scipy.special import ndtr

        mean, size = _line(setting, _normal((_middle_ranks(units) - 0.5) / many - HALF_STEP))
        chance = np.clip(ndtr(mean + size * _normal(chance)), 0.0, 1 - 1e-12)
    ranks = _middle_ranks(units) / many if model == "cart" else np.zeros(1)
    found = donors(setting, ranks, np.zeros(1, np.int64), 0, tree=model == "cart")
    rows = _by_value(found, units)
    taken = found.start + (chance * (found.end - found.start)).astype(np.int64)
    values = units[rows]
    shared = np.isin(values, column.shared)
    lower, upper = neighbours(values, shared, _leaf_ends(found, many))
    in_leaf = smoothing == "leaf" and model == "cart"
    made = spread_out(taken, spread, values, shared, lower, upper, column.alone, (setting.least + 1) // 2, in_leaf)
    result = column.on_grid(made, spread)
    return np.where(shared[taken], values[taken], result), found.sizes


def _by_value(found: Donors, units: Ints) -> Ints:
    """The records of each leaf by their value; leaves stay where they are."""
    ends = _leaf_ends(found, len(units))
    leaf = np.repeat(np.arange(len(ends)), np.diff(np.append(0, ends)))
    return np.asarray(found.rows[np.lexsort((found.rows, units[found.rows], leaf))])


def _leaf_ends(found: Donors, rows: int) -> Ints:
    """Where leaves end in the list of records, from the first on; leaves that nothing is drawn from are no matter."""
    ends = np.unique(np.concatenate((found.start, found.end)))
    ends = ends[ends > 0]
    return np.asarray(ends if len(ends) and ends[-1] == rows else np.append(ends, rows), np.int64)


def _middle_ranks(units: Ints) -> Floats:
    """Ranks from 1 on; equal values share the mean of theirs."""
    _, place, often = np.unique(units, return_inverse=True, return_counts=True)
    last = np.cumsum(often)
    middle = last - (often - 1) / 2
    return np.asarray(middle[place.ravel()], np.float64)


def _normal(chance: Floats) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(chance + HALF_STEP))


def _line(setting: Setting, response: Floats) -> tuple[Floats, float]:
    """What a straight line says of every draw, and the standard deviation of what it leaves open."""
    _refuse_few(setting.name, len(response), setting.before.shape[1])
    weights = np.linalg.lstsq(setting.before, response, rcond=1e-10)[0]
    rest = response - setting.before @ weights
    free = len(response) - setting.before.shape[1]
    return setting.after @ weights, float(np.sqrt((rest @ rest) / free))


def _refuse_few(name: str, rows: int, columns: int) -> None:
    if rows <= columns:
        raise InputError(
            f"The model of column {name!r} has {counted(columns, 'coefficient')}, and there "
            f"{'is' if rows == 1 else 'are'} {counted(rows, 'record')} to make it of.",
            hint="Name fewer columns in given=, merge strata, or give the column the model 'cart'.",
        )
