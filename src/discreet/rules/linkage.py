"""A rule that looks at the original beside the release: how many records an intruder finds again by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from discreet.errors import InputError, NeedsError, counted, listed
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import NUMERIC, RecordSet
from discreet.parameters import AtLeastOne, Share
from discreet.rules.key_counts import codes_of
from discreet.rules.records import RecordFinding, RecordRule

SAME = 1e-9
"""Distances that differ by a smaller share are equal."""
NEAREST = 4
"""So many of the nearest are looked up at once; more where all of them are equally near."""


class Links(NamedTuple):
    """What an intruder gets who takes every released record for the nearest original one.

    ``chance`` is for each of the ``rows`` that were tried the chance that the guess is right: equally near ones share.
    """

    rows: Ints
    chance: Floats

    @property
    def share(self) -> float:
        """The share of right guesses to expect."""
        return float(self.chance.mean()) if len(self.chance) else 0.0


@dataclass(frozen=True)
class MaxLinked(RecordRule):
    """At most a share of the records are found again by somebody who has the original numbers.

    The intruder takes every released record for the original one whose numbers are nearest, all columns in units of
    their standard deviation. Equally near ones share the guess. Empty fields count as the mean of their column.

    Parameters
    ----------
    share
        The largest share of right guesses.
    columns
        Columns that the intruder knows; those with the role ``numeric`` where left out.
    sample
        At most so many records are tried; those of large files are drawn by a public hash of what they hold.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> firms = ds.Microdata(pa.table({"sales": [10, 11, 12, 90, 95, 97]}), numeric="sales")
    >>> release = ds.protect(firms, ds.Microaggregate(k=3), rules=[ds.MaxLinked(0.4)])
    >>> release.custodian.log["notes"][0]
    'microaggregate: right guesses 100.0% to 33.3% (at most 40.0%).'
    """

    kind: ClassVar[str] = "max_linked"
    compares: ClassVar[bool] = True
    share: Share = 0.05
    columns: tuple[str, ...] = ()
    sample: AtLeastOne = 20_000

    def resolved(self, records: RecordSet) -> MaxLinked:
        """The rule with its columns."""
        columns = self.columns or records.with_role(NUMERIC)
        if not columns:
            raise NeedsError(
                "MaxLinked needs to know which columns an intruder has.",
                hint="Give MaxLinked(columns=[...]), or Microdata(numeric=[...]).",
            )
        for name in columns:
            records[name]  # refuses what is not there
        return replace(self, columns=columns)

    def evaluate(self, records: RecordSet) -> RecordFinding:
        """Refuses: there is nothing to compare with."""
        raise NeedsError(
            "MaxLinked compares a release with its original, and there is only one file.",
            hint="Give it as a rule of a release, beside methods that change the numbers.",
        )

    def compared(self, original: RecordSet, released: RecordSet) -> RecordFinding:
        """Which records are found again; all of those where they are few enough, none."""
        links = self.links(original, released)
        found = np.zeros(len(original), np.bool_)
        if links.share > self.share + SAME:
            found[links.rows[links.chance > 0]] = True
        tried = "" if len(links.rows) == len(original) else f" of {counted(len(links.rows), 'record')} that were tried"
        return RecordFinding(
            found,
            f"{links.share:.1%} of right guesses{tried} by {listed(self.columns)}, at most {self.share:.1%} wanted",
        )

    def links(self, original: RecordSet, released: RecordSet) -> Links:
        """What the intruder gets."""
        assert original.identity is not None
        rows = tried_rows(original.identity, self.sample)
        before, after = standardised_pair(original, released, self.columns)
        return Links(rows, right_guesses(before, after, rows))


def tried_rows(identity: Ints, sample: int) -> Ints:
    """Rows that are tried: all, or those with the lowest identities."""
    if len(identity) <= sample:
        return np.arange(len(identity))
    words = np.asarray(identity).view(np.uint64)
    return np.sort(np.argsort(words, kind="stable")[:sample])


def standardised_pair(original: RecordSet, released: RecordSet, columns: Sequence[str]) -> tuple[Floats, Floats]:
    """Columns of both files by mean and deviation of the original, without those that never vary; 0 for empty ones."""
    pair: tuple[list[Floats], list[Floats]] = ([], [])
    for name in columns:
        (old, gone), (new, empty) = (_numbers(records, name) for records in (original, released))
        there = ~gone
        middle = old[there].mean() if there.any() else 0.0
        spread = old[there].std() if there.any() else 0.0
        if spread > 0:
            pair[0].append(np.where(gone, 0.0, (old - middle) / spread))
            pair[1].append(np.where(empty, 0.0, (new - middle) / spread))
    if not pair[0]:
        return np.zeros((len(original), 1)), np.zeros((len(original), 1))
    return np.stack(pair[0], axis=1), np.stack(pair[1], axis=1)


def _numbers(records: RecordSet, name: str) -> tuple[Floats, Bools]:
    import pyarrow as pa

    column, unknown = records[name], records.about(name).missing
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(
            f"Column {name!r} holds {column.type}, not numbers.",
            hint=f"Leave it out; or, of a csv file, say Microdata(numeric=[{name!r}]).",
        )
    empty = codes_of(column, unknown)[0] == 0 if unknown else np.asarray(column.is_null().to_numpy(), np.bool_)
    return np.asarray(column.fill_null(0).to_numpy(), np.float64), empty


def right_guesses(original: Floats, released: Floats, rows: Ints) -> Floats:
    """The chance for some released rows that the nearest original is their own."""
    from scipy.spatial import cKDTree

    if not len(rows):
        return np.zeros(0)
    tree = cKDTree(original, balanced_tree=False)
    many = min(NEAREST, len(original))
    near = np.asarray(tree.query(released[rows], k=many)[0]).reshape(len(rows), many)
    reach = near[:, 0] * (1 + SAME) + SAME**2
    own = np.sqrt(((original[rows] - released[rows]) ** 2).sum(axis=1)) <= reach
    ties = (near <= reach[:, None]).sum(axis=1)
    more = np.flatnonzero(own & (ties == many) & (many < len(original)))
    if len(more):
        points, place = np.unique(np.column_stack([released[rows[more]], reach[more]]), axis=0, return_inverse=True)
        inside = tree.query_ball_point(points[:, :-1], points[:, -1], return_length=True)
        ties[more] = np.asarray(inside)[place.ravel()]
    found: Floats = np.where(own, 1.0 / np.maximum(ties, 1), 0.0)
    return found
