"""How near released records come to original ones, beside how near they come to records that nobody used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.synthetic.asked import ATTEMPTS, checked_attempts
from discreet.attack.synthetic.compared_files import ComparedFiles, compared_files
from discreet.attack.synthetic.controlled_attack import ControlledAttack
from discreet.attack.synthetic.nearest import SAME, NearestFound, nearest_records
from discreet.model.arrays import Floats, Ints

LOW = 5.0
"""The percentile of distances that is usually stated."""


@dataclass(frozen=True, eq=False, repr=False)
class ClosestRecords:
    """Distances of released records to the closest original and held-out ones. For the custodian.

    Parameters
    ----------
    rows
        Positions of the released records that were tried.
    to_original, to_holdout
        Their distances to the closest record, added up over columns: 0 for a copy, at most 1 for each column.
    nearer
        Released records that are nearer to an original than to a held-out record; none without a hold-out file. With
        nothing taken over, the closest record is an original one as often as there are originals among both, and
        that is the baseline.
    copies
        Released records (all of them) that equal an original record in every column, beside those that equal a held-out
        one.

    Examples
    --------
    See :func:`closest_records`.
    """

    rows: Ints
    to_original: Floats
    to_holdout: Floats | None
    nearer: RecordAttack | None
    copies: ControlledAttack

    def percentile(self, percent: float = LOW) -> tuple[float, float | None]:
        """The distance that so many percent of released records do not exceed: to original and to held-out records."""
        held = None if self.to_holdout is None else float(np.percentile(self.to_holdout, percent))
        return float(np.percentile(self.to_original, percent)), held

    def summary(self) -> str:
        """The numbers in lines."""
        mine, held = self.percentile()
        ends = f"closest record: {LOW:g}th percentile of distances {mine:.4g} to the original"
        lines = [ends if held is None else f"{ends}, {held:.4g} to held-out records", self.copies.summary()]
        return "\n".join(lines if self.nearer is None else [*lines, self.nearer.summary()])

    __repr__ = summary


def closest_records(
    original: Any,
    released: Any,
    holdout: Any = None,
    *,
    columns: Sequence[str] | None = None,
    attempts: int = ATTEMPTS,
) -> ClosestRecords:
    """Distances of released records to the closest original record, with held-out records for comparison.

    The distance adds up over columns: numbers count as their difference in units of the range in the original,
    categories as 1 where they differ, and so does a gap beside a value.

    Parameters
    ----------
    original, released, holdout
        Records the file was made from, the file, and records that were not used.
    columns
        Columns that are compared; all that the files share where left out.
    attempts
        At most so many released records are tried, drawn by a public hash of what they hold.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": [20, 30, 40, 60], "job": ["a", "b", "c", "d"]})
    >>> others = pa.table({"age": [20, 50], "job": ["b", "c"]})
    >>> found = ds.attack.closest_records(people, people, others)
    >>> found.percentile(50), found.copies.right, found.nearer.share, round(found.nearer.baseline, 3)
    ((0.0, 0.625), 4.0, 1.0, 0.667)
    """
    return measure_closest(compared_files(original, released, holdout, columns), checked_attempts(attempts))


def measure_closest(files: ComparedFiles, attempts: int) -> ClosestRecords:
    """The distances of files that were read."""
    scaled = files.scaled()
    rows = files.released.tried(attempts)
    mine = nearest_records(scaled.released, rows, scaled.original)
    held = None
    if scaled.holdout is not None:
        held = nearest_records(scaled.released, rows, scaled.holdout)
    return ClosestRecords(
        rows,
        mine.distance,
        None if held is None else held.distance,
        None if held is None else _nearer(files, rows, mine, held),
        _copies(files),
    )


def _nearer(files: ComparedFiles, rows: Ints, mine: NearestFound, held: NearestFound) -> RecordAttack:
    """Equally near records share: of these the closest one is as likely to be any of them."""
    assert files.holdout is not None
    chance = np.where(mine.distance < held.distance, 1.0, 0.0)
    equal = np.abs(mine.distance - held.distance) <= SAME
    chance[equal] = (mine.ties / (mine.ties + held.ties))[equal]
    size, other = len(files.original), len(files.holdout)
    notes = list(files.notes)
    if size != other:
        notes.append(
            f"There are {size:,} original and {other:,} held-out records; distances to the larger file are smaller for "
            "that alone. The baseline allows for it, percentiles do not."
        )
    return RecordAttack(
        "closest record", "are nearer to an original than to a held-out record", "records", rows, chance,
        size / (size + other), files.names, notes=tuple(notes), of_records=False,
    )  # fmt: skip


def _copies(files: ComparedFiles) -> ControlledAttack:
    """Released records that equal an original one in every column."""
    mine, made, held, many = files.combinations()
    words, rows = "equal an original record", np.arange(len(made))
    chance = (np.bincount(mine, minlength=many)[made] > 0).astype(np.float64)
    control = None
    if held is not None:
        right = (np.bincount(held, minlength=many)[made] > 0).astype(np.float64)
        control = RecordAttack("copies", words, "records", rows, right, 0.0, files.names, of_records=False)
    return ControlledAttack(
        "copies", words, "records", rows, chance, 0.0, files.names, notes=files.notes, of_records=False, control=control
    )
