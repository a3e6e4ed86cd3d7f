"""The sliver attack on a table server: subtract the table of everybody but one from the table of everybody.

Source: Li and Krenzke (2013).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import steps

Server = Callable[[Bools], npt.ArrayLike]
"""Answers with the table (its cells in a fixed order) of the records that are marked."""


class Slivers(NamedTuple):
    """How often the attack succeeds, as shares, over the records that were attacked.

    ``zeros``: cells of the difference that are empty and look it. ``ones``: the record's own cell shows it.
    ``tables``: the whole difference is right. ``half_changed``: at least half of its cells are wrong. ``largest`` and
    ``nearest``: the record's cell is guessed as the largest difference, or as the one nearest to its weight.
    ``ones_by_cell`` is the second by cell (not a number where nobody was attacked), ``error`` the standard error of it.
    """

    records: int
    zeros: float
    ones: float
    tables: float
    half_changed: float
    largest: float
    nearest: float
    ones_by_cell: Floats
    error: float

    def linked(self, tables: int, strategy: str = "largest") -> float:
        """Chance that a strategy finds the record in so many tables independently."""
        if strategy not in ("largest", "nearest"):
            raise ParameterError(f"strategy={strategy!r} is not known.", hint="Use 'largest' or 'nearest'.")
        return float(getattr(self, strategy)) ** tables


def sliver_attack(
    server: Server,
    cells: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    sample: int | None = None,
    zero_within: float = 0.0,
    one_within: float = 0.0,
    seed: int = 0,
) -> Slivers:
    """Attack every record of a universe, or a sample of them.

    Parameters
    ----------
    server
        Takes a mask of records and gives the published table of these.
    cells
        The cell of each record in the server's table.
    weights
        Weights of the records in weighted tables; 1 when left out.
    sample
        Attack so many records, drawn at random.
    zero_within
        A difference below this counts as zero; 0 asks for exactly zero.
    one_within
        The record's difference is right within this share of its weight; 0 asks for exactly it.
    seed
        Draws the sample.

    Raises
    ------
    InputError
        When the server gives two answers to one question, or there are fewer than two records.

    Examples
    --------
    >>> cell = np.array([0, 0, 1, 2])
    >>> found = sliver_attack(lambda who: np.bincount(cell[who], minlength=3), cell)
    >>> found.zeros, found.ones, found.tables, found.largest
    (1.0, 1.0, 1.0, 1.0)
    """
    place = np.asarray(cells, np.int64)
    weight = np.ones(len(place)) if weights is None else np.asarray(weights, np.float64)
    if len(place) < 2 or len(weight) != len(place):
        raise InputError("The attack needs at least two records, and a weight for each.")
    if zero_within < 0 or one_within < 0:
        raise ParameterError("zero_within and one_within are distances.", hint="Give numbers of at least 0.")
    everybody = np.ones(len(place), np.bool_)
    whole = _answer(server, everybody)
    if not np.array_equal(whole, _answer(server, everybody)):
        raise InputError(
            "The server gives different answers to the same question.",
            hint="Averaging undoes such noise; fix the draws by what is asked.",
        )
    if place.min() < 0 or place.max() >= len(whole):
        raise InputError(f"A record's cell lies outside the server's table of {counted(len(whole), 'cell')}.")
    attacked = _attacked(len(place), sample, seed)
    outcomes = [_outcome(server, whole, place, weight, i, zero_within, one_within) for i in steps("Slivers", attacked)]
    zeros, ones, tables, half, largest, nearest = np.array(outcomes, np.float64).T
    size = len(whole)
    count = np.bincount(place[attacked], minlength=size)
    by_cell = np.full(size, np.nan)
    np.divide(np.bincount(place[attacked], ones, size), count, out=by_cell, where=count > 0)
    share = float(ones.mean())
    return Slivers(
        len(attacked),
        float(zeros.sum() / max(len(attacked) * (size - 1), 1)),
        share,
        float(tables.mean()),
        float(half.mean()),
        float(largest.mean()),
        float(nearest.mean()),
        by_cell,
        float(np.sqrt(share * (1 - share) / len(attacked))),
    )


def _attacked(records: int, sample: int | None, seed: int) -> Sequence[int]:
    if sample is None:
        return range(records)
    if isinstance(sample, bool) or not isinstance(sample, int) or sample < 1:
        raise ParameterError(f"sample={sample!r} is not allowed.", hint="Give a number of records, at least 1.")
    drawn: Ints = np.random.default_rng(seed).choice(records, min(sample, records), replace=False)
    return sorted(drawn.tolist())


def _answer(server: Server, who: Bools) -> Floats:
    return np.asarray(server(who), np.float64).ravel()


def _outcome(
    server: Server, whole: Floats, place: Ints, weight: Floats, i: int, zero_within: float, one_within: float
) -> tuple[float, ...]:
    """Right zeros, right cell, right table, half changed, and the chances of both guesses; ties are drawn."""
    who = np.ones(len(place), np.bool_)
    who[i] = False
    gap = whole - _answer(server, who)
    mine, own = int(place[i]), float(weight[i])
    zero = np.abs(gap) < zero_within if zero_within else gap == 0
    zero[mine] = False
    one = abs(gap[mine] - own) < one_within * abs(own) if one_within else gap[mine] == own
    right = int(zero.sum()) + int(one)
    return (
        float(zero.sum()),
        float(one),
        float(right == len(gap)),
        float(2 * (len(gap) - right) >= len(gap)),
        _guess(gap == gap.max(), mine),
        _guess(np.abs(gap - own) == np.abs(gap - own).min(), mine),
    )


def _guess(tied: Bools, mine: int) -> float:
    return float(tied[mine]) / int(tied.sum())
