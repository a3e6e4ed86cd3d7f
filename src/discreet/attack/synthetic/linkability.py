"""Finding out that entries of two files are about one person, by the released record that is nearest to both."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.synthetic.asked import ATTEMPTS, checked_attempts, named_columns, refuse_empty
from discreet.attack.synthetic.compared_files import ComparedFiles, FileColumns, compared_files
from discreet.attack.synthetic.controlled_attack import ControlledAttack
from discreet.attack.synthetic.nearest import parts_of
from discreet.errors import ParameterError, listed
from discreet.model.arrays import Floats, Ints


def linkability_attack(
    original: Any,
    released: Any,
    holdout: Any = None,
    *,
    first: Sequence[str] | str,
    second: Sequence[str] | str,
    neighbours: int = 1,
    attempts: int = ATTEMPTS,
) -> ControlledAttack:
    """Somebody has two files about the same people, with other columns in each, and links them by the released one.

    An entry of the first file and one of the second are taken for the same person where the same released record is
    nearest to both. The attack succeeds for a person whose two entries are linked. Which of several equally near
    records is taken is left to chance, and the chance of a link is worked out exactly.

    Parameters
    ----------
    original, released, holdout
        Records the file was made from, the file, and records that were not used.
    first, second
        Columns of the two files that the intruder has.
    neighbours
        So many nearest records are looked at on both sides; a link is one that stands among both.
    attempts
        At most so many people are tried, drawn by a public hash of what their records hold.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": [20, 30, 40, 50], "pay": [5, 9, 1, 7]})
    >>> others = pa.table({"age": [22, 32, 42, 52], "pay": [1, 7, 5, 9]})
    >>> found = ds.attack.linkability_attack(people, people, others, first="age", second="pay")
    >>> found.share, found.control_share, found.baseline
    (1.0, 0.0, 0.25)
    """
    one, other = named_columns("first", first), named_columns("second", second)
    both = [name for name in one if name in other]
    if both:
        raise ParameterError(
            f"{listed(both)} stands in first= and second=.", hint="Give two lists without a column in common."
        )
    files = compared_files(original, released, holdout, [*one, *other])
    return link(files, one, other, checked_attempts(neighbours, "neighbours"), checked_attempts(attempts))


def link(
    files: ComparedFiles, first: Sequence[str], second: Sequence[str], neighbours: int, attempts: int
) -> ControlledAttack:
    """The attack on files that were read."""
    refuse_empty(files, [*first, *second])
    many = min(neighbours, len(files.released))
    one, other = files.of(first).scaled(), files.of(second).scaled()
    baseline = by_chance(len(files.released), many)
    columns = (*first, *second)
    words = "link two entries of one person"
    rows = files.original.tried(attempts)
    chance = _linked(one, other, one.original, other.original, rows, many)
    control = None
    if files.holdout is not None and one.holdout is not None and other.holdout is not None:
        held = files.holdout.tried(attempts)
        right = _linked(one, other, one.holdout, other.holdout, held, many)
        control = RecordAttack("linkability", words, "records", held, right, baseline, columns)
    return ControlledAttack(
        "linkability", words, "records", rows, chance, baseline, columns, notes=files.notes, control=control
    )


def _linked(
    one: ComparedFiles, other: ComparedFiles, by_one: FileColumns, by_other: FileColumns, rows: Ints, many: int
) -> Floats:
    """The chance of a link for each of some rows."""
    from discreet.attack.synthetic.nearest_kernels import shared_neighbours

    counts = np.zeros((len(rows), 8), np.int64)
    points = [np.ascontiguousarray(file.values[:, rows].T) for file in (by_one, by_other)]
    for part in parts_of(len(rows)):
        shared_neighbours(
            points[0][part], one.released.values, points[1][part], other.released.values,
            many, counts[part],
        )  # fmt: skip
    return link_chances(counts, many)


def link_chances(counts: Ints, many: int) -> Floats:
    """The chance that two sets of the ``many`` nearest meet, where those as near as the last are drawn at random.

    ``counts`` are those of :func:`~discreet.attack.synthetic.nearest_kernels.shared_neighbours`.
    """
    kinds, place = np.unique(counts, axis=0, return_inverse=True)
    found = np.array([_chance([int(count) for count in kind], many) for kind in kinds])
    return np.asarray(found[place.ravel()], np.float64)


def _chance(counts: Sequence[int], many: int) -> float:
    sure_one, unsure_one, sure_other, unsure_other, both, sure_unsure, unsure_sure, unsure = counts
    if both:
        return 1.0
    drawn, drawn_other = many - sure_one, many - sure_other
    ways = comb(unsure_one, drawn) * comb(unsure_other, drawn_other)
    free = unsure_one - unsure_sure - unsure  # of the first side's, those that cannot meet anything
    apart = 0
    for meeting in range(max(drawn - free, 0), min(drawn, unsure) + 1):
        mine = comb(unsure, meeting) * comb(free, drawn - meeting)
        theirs = unsure_other - sure_unsure - meeting
        apart += mine * (comb(theirs, drawn_other) if theirs >= 0 else 0)
    return (ways - apart) / ways


def by_chance(size: int, many: int) -> float:
    """The chance that two sets of so many records of a file, drawn at random, meet.

    Examples
    --------
    >>> by_chance(4, 1), by_chance(4, 2)
    (0.25, 0.8333333333333334)
    """
    return 1 - comb(size - many, many) / comb(size, many)
