"""What linking two files gives: a record for a record, and how often it is the right one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.files.frames import to_frame
from discreet.model.arrays import Bools, Floats, Ints


def _no_rows() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Linkage(RecordAttack):
    """Records of one file linked with those of another.

    Parameters
    ----------
    linked
        For every record that was tried the position of the record it is taken for in the other file: the first of
        those that fit best. -1 where its block holds none.
    truth
        The position of its own record there; -1 where it has none.
    ties
        How many fit equally well.
    distance
        How far the linked record is, in units of the way; for probabilistic linkage minus the weight of the evidence.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> before = pa.table({"age": [20, 30, 40, 50], "pay": [10, 30, 20, 40]})
    >>> after = pa.table({"age": [21, 29, 49, 41], "pay": [11, 29, 39, 19]})
    >>> found = ds.attack.link(before, after, ["age", "pay"])
    >>> found.linked.tolist(), found.share, found.baseline
    ([0, 1, 3, 2], 0.5, 0.25)
    """

    linked: Ints = field(default_factory=_no_rows)
    truth: Ints = field(default_factory=_no_rows)
    ties: Ints = field(default_factory=_no_rows)
    distance: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def hits(self) -> int:
        """Right guesses of somebody who takes the first of equally good ones; it depends on the order of rows."""
        return int(((self.linked == self.truth) & (self.truth >= 0)).sum())

    @property
    def among(self) -> float:
        """The share of records whose own record is among those that fit best.

        Where groups of records were given one value, it is the share that is led to its group.
        """
        return float((self.chance > 0).mean()) if self.tried else 0.0

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """Every record that was tried: its position, the linked one, the true one, ties, distance and chance."""
        return to_frame(
            {
                "position": self.rows,
                "linked": self.linked,
                "truth": self.truth,
                "ties": self.ties,
                "distance": self.distance,
                "chance": self.chance,
            },
            backend,
        )


def random_guess(truth: Ints, sizes: Ints, together: Bools) -> float:
    """The share of right guesses of somebody who takes any record of the same block.

    ``sizes`` is how many there are for each record, ``together`` whether its own is one of them.
    """
    right = (truth >= 0) & together & (sizes > 0)
    return float(np.where(right, 1 / np.maximum(sizes, 1), 0.0).mean()) if len(truth) else 0.0
