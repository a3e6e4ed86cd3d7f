"""Finding out who was among the records that a file was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from discreet.attack.record_attack import RecordAttack
from discreet.attack.synthetic.asked import ATTEMPTS, checked_attempts
from discreet.attack.synthetic.compared_files import ComparedFiles, FileColumns, compared_files
from discreet.attack.synthetic.nearest import nearest_records
from discreet.errors import InputError, ParameterError, listed
from discreet.model.arrays import Floats, Ints

By = Literal["distance", "density"]
TINY = 1e-6
"""Added to distances before they are compared as shares, so that copies count as very near and not as infinitely."""


@dataclass(frozen=True, eq=False, repr=False)
class MembershipAttack(RecordAttack):
    """How well members are told from others. For the custodian.

    As many members as others are tried, and the nearer half is called members: the share of members called so is then
    the share of right answers, of both kinds.

    Parameters
    ----------
    attack, what, knows, rows, chance, baseline, columns, notes, of_records
        As those of :class:`RecordAttack`; the rows are those of members.
    members, others
        Scores; members are taken to have higher ones.

    Examples
    --------
    >>> import numpy as np
    >>> scores = {"members": np.array([3.0, 2, 0]), "others": np.array([1.0, 0, 0])}
    >>> found = MembershipAttack(
    ...     "membership", "are called members", "records", np.arange(3), np.array([1.0, 1, 0]), 0.5, **scores
    ... )
    >>> round(found.ranked, 3), found.found_at(0.5)
    (0.778, 0.75)
    """

    members: Floats = field(default_factory=lambda: np.zeros(0))
    others: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def ranked(self) -> float:
        """The chance that a member scores higher than another (the area under the curve); 0.5 for guessing."""
        if not len(self.members) or not len(self.others):
            return 0.5
        ordered = np.sort(self.others)
        below, upto = (np.searchsorted(ordered, self.members, side) for side in ("left", "right"))
        return float((below + upto).mean() / 2 / len(ordered))

    def found_at(self, wrong: float = 0.01) -> float:
        """The share of members that is found where a share of the others is called members; equal scores share."""
        if not 0 <= wrong <= 1:
            raise ParameterError(f"wrong={wrong!r} is not allowed.", hint="Give a share from 0 to 1.")
        ordered = np.sort(self.others)[::-1]
        allowed = wrong * len(ordered)
        if int(allowed) >= len(ordered):
            return 1.0
        last = ordered[int(allowed)]
        some = (allowed - (ordered > last).sum()) / (ordered == last).sum()
        return float((self.members > last).mean() + some * (self.members == last).mean())

    def summary(self) -> str:
        """The numbers in one line, and notes below it."""
        first, *others = super().summary().split("\n")
        more = f"a member scores higher than another with a chance of {self.ranked:.1%}; "
        more += f"{self.found_at():.1%} of members are found where 1% of others are called so."
        return "\n".join([first, more, *others])

    __repr__ = summary


def membership_attack(
    original: Any,
    released: Any,
    holdout: Any,
    *,
    columns: Sequence[str] | None = None,
    by: By = "distance",
    attempts: int = ATTEMPTS,
) -> MembershipAttack:
    """Somebody has records of people, some of them in the original, and takes those for members whom the file is near.

    Parameters
    ----------
    original, released, holdout
        Records the file was made from, the file, and records that were not used.
    columns
        Columns that the intruder knows; all that the files share where left out.
    by
        ``"distance"``: near is who has a close released record. ``"density"``: near is whose closest released record is
        close for such a person, as the closest of other records tells; half of the hold-out file is used for that.
        Unusual people are told apart by that.
    attempts
        At most so many members, and as many others.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = pa.table({"age": [20, 30, 40, 60], "job": ["a", "b", "c", "d"]})
    >>> others = pa.table({"age": [25, 35, 45, 55], "job": ["b", "c", "d", "a"]})
    >>> found = ds.attack.membership_attack(people, people, others)
    >>> found.share, found.ranked
    (1.0, 1.0)
    """
    if by not in get_args(By):
        raise ParameterError(f"by={by!r} is not allowed.", hint=f"Give {listed(get_args(By))}.")
    return tell_members(compared_files(original, released, holdout, columns), by, checked_attempts(attempts))


def tell_members(files: ComparedFiles, by: By, attempts: int) -> MembershipAttack:
    """The attack on files that were read."""
    files.held_out("Finding out members")
    scaled = files.scaled()
    assert scaled.holdout is not None
    held, reference = np.arange(len(scaled.holdout)), None
    if by == "density":
        held, reference = _halves(scaled.holdout)
    many = min(attempts, len(files.original), len(held))
    rows = files.original.tried(many)
    others = held[FileColumns(scaled.holdout.values[:, held], scaled.holdout.identity[held]).tried(many)]
    scores = [
        _scores(scaled, file, asked, reference) for file, asked in ((scaled.original, rows), (scaled.holdout, others))
    ]
    return MembershipAttack(
        f"membership by {by}", "are called members", "records", rows, called_members(*scores), 0.5, files.names,
        notes=files.notes, members=scores[0], others=scores[1],
    )  # fmt: skip


def _halves(holdout: FileColumns) -> tuple[Ints, Ints]:
    """The hold-out file in two, by a public hash of what records hold."""
    if len(holdout) < 2:
        raise InputError(
            "A hold-out file of one record cannot be divided.", hint='Give more records, or by="distance".'
        )
    order = np.argsort(holdout.identity.view(np.uint64), kind="stable")
    return np.sort(order[::2]), np.sort(order[1::2])


def _scores(files: ComparedFiles, file: FileColumns, rows: Ints, reference: Ints | None) -> Floats:
    near = nearest_records(file, rows, files.released).distance
    if reference is None:
        return -near
    assert files.holdout is not None
    some = FileColumns(np.ascontiguousarray(files.holdout.values[:, reference]), files.holdout.identity[reference])
    usual = nearest_records(file, rows, some).distance
    return np.asarray(np.log(usual + TINY) - np.log(near + TINY), np.float64)


def called_members(members: Floats, others: Floats) -> Floats:
    """For every member the chance to be in the half of all that scores highest; equal scores share places.

    Examples
    --------
    >>> called_members(np.array([2.0, 0.0]), np.array([1.0, 0.0])).tolist()
    [1.0, 0.0]
    >>> called_members(np.array([1.0, 1.0]), np.array([1.0, 1.0])).tolist()
    [0.5, 0.5]
    """
    both = np.sort(np.concatenate([members, others]))[::-1]
    last = both[len(members) - 1]
    above, equal = int((both > last).sum()), int((both == last).sum())
    return np.where(members > last, 1.0, np.where(members == last, (len(members) - above) / equal, 0.0))
