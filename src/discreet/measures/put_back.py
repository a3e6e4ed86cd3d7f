"""Whether altered design variables can be put back: from several synthetic copies, and from weights (Mitra, Reiter)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.attack.record_attack import RecordAttack
from discreet.errors import InputError, counted
from discreet.model.arrays import Floats, Ints


def put_back(original: ArrayLike, copies: Sequence[ArrayLike]) -> RecordAttack:
    """How often the code that most copies have of a record is its true one.

    Parameters
    ----------
    original
        The true code of every record: its stratum, or its cluster.
    copies
        The code that each copy publishes, records in the same order. Of codes that equally many copies have, one is
        guessed at random.

    Examples
    --------
    >>> found = put_back(["n", "s", "s"], [["n", "n", "s"], ["n", "s", "n"], ["s", "n", "e"]])
    >>> found.chance.round(3).tolist(), round(found.share, 3)
    ([1.0, 0.0, 0.333], 0.444)
    """
    truth, shown = _aligned(original, copies)
    _, codes = np.unique(np.concatenate([truth[None], shown]).astype(str), return_inverse=True)
    codes = codes.reshape(len(shown) + 1, len(truth))
    votes = _votes(codes[1:], codes[0])
    counts = np.bincount(codes[0])
    return RecordAttack(
        "put back by most copies",
        "name the right code",
        "nothing",
        np.arange(len(truth)),
        votes,
        float(counts.max() / counts.sum()),
        notes=(f"Copies: {len(shown)}. Who guesses at random takes the most frequent code.",),
    )


def _votes(copies: Ints, truth: Ints) -> Floats:
    """The chance for each record that one of its most frequent codes is the true one."""
    many = np.zeros_like(copies)
    for place in range(len(copies)):
        many[place] = (copies == copies[place]).sum(axis=0)
    most = many.max(axis=0)
    right = ((many == most) & (copies == truth)).any(axis=0)
    # A code with so many votes stands so often in the column of copies.
    leaders = (many == most).sum(axis=0) / most
    return np.asarray(right / leaders)


def put_back_sizes(
    original: ArrayLike, copies: Sequence[ArrayLike], population: ArrayLike | None = None
) -> RecordAttack:
    """How often the mean of the sizes that copies have of a record is nearest to its own in a list of all units.

    Parameters
    ----------
    original
        The true size of every record.
    copies
        The size that each copy publishes, records in the same order.
    population
        Sizes of all units that an intruder has a list of; those of the records where left out. Of several units with
        the nearest size, one is guessed at random.

    Examples
    --------
    >>> put_back_sizes([10, 20, 30], [[12, 14, 90], [10, 12, 30]]).chance.tolist()
    [1.0, 0.0, 1.0]
    """
    truth, shown = (np.asarray(one, np.float64) for one in _aligned(original, copies))
    units = np.sort(truth if population is None else np.asarray(population, np.float64))
    if not np.isfinite(truth).all() or not np.isfinite(shown).all() or not np.isfinite(units).all():
        raise InputError("Some sizes are missing or infinite.", hint="Leave these records out.")
    distinct, many = np.unique(units, return_counts=True)
    if len(set(truth.tolist()) - set(distinct.tolist())):
        raise InputError(
            "The list of units lacks the size of a record.", hint="Give the sizes of all units as population=."
        )
    guess = shown.mean(axis=0)
    upper = np.minimum(np.searchsorted(distinct, guess), len(distinct) - 1)
    sides = np.stack([np.maximum(upper - 1, 0), upper])
    away = np.abs(distinct[sides] - guess)
    nearest = away == away.min(axis=0)
    nearest[0] &= sides[0] != sides[1]
    candidates = np.where(nearest, many[sides], 0).sum(axis=0)
    own = (nearest & (distinct[sides] == truth)).any(axis=0)
    chance = np.where(own, 1.0 / candidates, 0.0)
    return RecordAttack(
        "put back by the mean size",
        "name the right unit",
        "register",
        np.arange(len(truth)),
        chance,
        1.0 / len(units),
        notes=(f"The list has {counted(len(units), 'unit')}.",),
    )


@dataclass(frozen=True)
class WeightTelling:
    """What weights tell of a design variable.

    ``values`` is how many different weights there are, ``telling`` how many of these belong to one code only,
    ``records`` how many records have one of those, ``share`` their share of all; ``reveals`` says whether every weight
    tells the code.
    """

    values: int
    telling: int
    records: int
    share: float

    @property
    def reveals(self) -> bool:
        """Whether weights disclose the design variable."""
        return self.telling == self.values


def weight_telling(weights: ArrayLike, design: ArrayLike) -> WeightTelling:
    """How many weights belong to one code of a design variable only, so that they tell it.

    Give the published weights and the original codes: where weights that were left on the file reveal them, altering
    the codes protects nothing.

    Examples
    --------
    >>> told = weight_telling([4, 4, 40, 40, 28], ["a", "a", "b", "b", "c"])
    >>> told.reveals, told.records
    (True, 5)
    >>> weight_telling([4, 4, 40, 40, 28], ["a", "b", "b", "b", "c"]).share
    0.6
    """
    numbers, codes = np.asarray(weights), np.asarray(design).astype(str)
    if numbers.shape != codes.shape or numbers.ndim != 1 or not len(numbers):
        raise InputError(
            f"{numbers.size:,} weights and {codes.size:,} codes do not belong together.", hint="Give one of each."
        )
    _, value = np.unique(numbers, return_inverse=True)
    code_names, code = np.unique(codes, return_inverse=True)
    pairs = np.unique(value.ravel() * len(code_names) + code.ravel())
    owners = np.bincount(pairs // len(code_names))
    alone = owners[value.ravel()] == 1
    # Where there is one code in all, there is nothing to tell.
    single = len(code_names) > 1
    telling = int((owners == 1).sum()) if single else 0
    records = int(alone.sum()) if single else 0
    return WeightTelling(len(owners), telling, records, records / len(numbers))


def _aligned(original: ArrayLike, copies: Sequence[ArrayLike]) -> tuple[NDArray[Any], NDArray[Any]]:
    truth = np.asarray(original)
    if not len(copies):
        raise InputError("There is no copy to put values back from.", hint="Give at least one.")
    shown = [np.asarray(copy) for copy in copies]
    if truth.ndim != 1 or not len(truth) or any(copy.shape != truth.shape for copy in shown):
        sizes = sorted({len(copy) for copy in shown})
        raise InputError(
            f"The original has {counted(truth.size, 'record')}, and copies have {', '.join(map(str, sizes))}.",
            hint="Give one value of every record in the same order.",
        )
    return truth, np.stack(shown)
