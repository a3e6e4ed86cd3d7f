"""The method ``Microaggregate``: records of a group share one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.methods.base import RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.microaggregation import microaggregated_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.parameters import AtLeastOne, Natural, Number
from discreet.records.exact_columns import FLOAT_LIMIT, WHOLE_LIMIT, ExactColumn
from discreet.records.microaggregation.grouping import (
    SCORES,
    RecordGroups,
    best_runs_of,
    blocks,
    mdav_groups,
    search_groups,
)
from discreet.records.value_columns import (
    exact_column,
    refuse_repeated,
    rows_by_kind,
    stratum_of,
    unknown_by_accident,
    value_columns,
    with_units,
)

EACH = ("onedims", "univariate")
"""Algorithms that make groups for each column by itself."""
FINER = 2
"""Means get so many decimals more than the column has."""


@dataclass(frozen=True)
class Microaggregate(RecordMethod):
    """Put similar records in groups of at least ``k``, and give all members of a group its mean.

    Parameters
    ----------
    columns
        Columns of numbers; those with the role ``numeric`` where left out.
    k
        The least size of a group.
    algorithm
        ``"search"``: MDAV, then members change groups while the loss falls. ``"mdav"`` and ``"mdav_pairs"``: the two
        published variants of MDAV as they are. ``"univariate"``: the best groups of each column by itself.
        ``"onedims"``: each column by itself in blocks of ``k``. ``"single"``: blocks in the order of the first column;
        ``"sum"``: of the sum of standardised values; ``"pca"``: of the first principal component; ``"pppca"``: of its
        robust counterpart; ``"simple"``: in the order of the file.
    effort
        Of the search: ``"quick"`` for very large files, ``"normal"``, or ``"best"``, which anneals by so many draws.
    draws, seed
        Number of draws of ``effort="best"``, and where they begin.
    location
        What stands for a group: its ``"mean"``, which keeps sums, or its ``"median"``.
    decimals
        Decimals of the values that are published; two more than each column has where left out, fewer where its numbers
        are very large.
    missing
        Records with gaps are refused (``"refuse"``), or make groups with those that have the same gaps (``"apart"``).

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> firms = ds.Microdata(pa.table({"sales": [10, 11, 12, 90, 95, 97], "staff": [1, 1, 2, 9, 8, 9]}))
    >>> release = ds.protect(firms, ds.Microaggregate(["sales", "staff"], 3), keep_order=True)
    >>> release.public.records.shown()["sales"], release.verify().holds
    ([11.0, 11.0, 11.0, 94.0, 94.0, 94.0], True)
    """

    kind: ClassVar[str] = "microaggregate"
    columns: tuple[str, ...] = ()
    k: Annotated[int, Number(least=2)] = 3
    algorithm: Literal[
        "search", "mdav", "mdav_pairs", "univariate", "onedims", "single", "sum", "pca", "pppca", "simple"
    ] = "search"
    effort: Literal["quick", "normal", "best"] = "normal"
    draws: AtLeastOne = 20_000_000
    seed: Natural = 1
    location: Literal["mean", "median"] = "mean"
    decimals: Annotated[int, Number(least=0, most=9)] | None = None
    missing: Literal["refuse", "apart"] = "refuse"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.columns)
        if self.effort != "normal" and self.algorithm != "search":
            raise ParameterError(
                f'effort="{self.effort}" is for algorithm="search", not for "{self.algorithm}".',
                hint="Leave one of the two out.",
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        return self.columns

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Group the records, and give each the values of its group."""
        names = value_columns(records, self.columns, "Microaggregate")
        exact = [exact_column(records, name) for name in names]
        parts, notes = self._parts(records, names, np.stack([one.gaps for one in exact], axis=1))
        points = _standardised([_from_least(column) for column in exact], [one.gaps for one in exact])
        apart = self.algorithm in EACH
        groups, effort = _Groups(len(records), len(names) if apart else 1), dict[str, int]()
        for given, there in parts:
            rows = given if self.algorithm == "simple" else _ordered(given, points, records.identity)
            for place in range(groups.columns):
                chosen = [place] if apart else there
                if place in there or not apart:
                    found = self._grouped(np.ascontiguousarray(points[rows][:, chosen]))
                    groups.add(place, rows, found.group)
                    effort = {what: effort.get(what, 0) + number for what, number in found.effort.items()}
        return self._outcome(records, names, exact, groups, effort, notes)

    def _parts(
        self, records: RecordSet, names: Sequence[str], gaps: Bools
    ) -> tuple[list[tuple[Ints, list[int]]], list[str]]:
        """Rows that are grouped together, with the places of the columns that they have: strata, and kinds of gaps."""
        empty = [name for name, column in zip(names, gaps.T, strict=True) if column.any()]
        if empty and self.missing == "refuse":
            raise InputError(
                f"{counted(int(gaps.any(axis=1).sum()), 'record', 'have')} gaps in {listed(empty)}.",
                hint='Fill them in first, or group records with the same gaps: missing="apart".',
            )
        kind = stratum_of(records)
        for column in gaps.T:
            _, kind = np.unique(kind * 2 + column, return_inverse=True)
        parts, notes = list[tuple[Ints, list[int]]](), list[str]()
        for rows in rows_by_kind(kind):
            there = np.flatnonzero(~gaps[rows[0]]).tolist()
            if not there:
                continue
            if len(rows) < self.k:
                raise self._too_few(records, names, gaps, rows)
            if len(rows) < 2 * self.k and not notes:
                notes.append("Some records make one group by themselves: there are fewer than 2 k of them.")
            parts.append((rows, there))
        if not parts:
            raise InputError(f"There is no value in any of {listed(names)}.", hint="Name columns that hold numbers.")
        return parts, notes

    def _too_few(self, records: RecordSet, names: Sequence[str], gaps: Bools, rows: Ints) -> ProtectionError:
        where = [f"{name} {records[name][int(rows[0])].as_py()!r}" for name in records.strata]
        empty = [name for name, gap in zip(names, gaps[rows[0]], strict=True) if gap]
        where += [f"a gap in {listed(empty)}"] if empty else []
        what = f" with {', '.join(where)}" if where else ""
        return ProtectionError(
            f"There {'is' if len(rows) == 1 else 'are'} {counted(len(rows), 'record')}{what}, and a group has at least "
            f"{self.k}.",
            hint="Merge strata or fill gaps, or ask for a smaller k.",
        )

    def _grouped(self, points: Floats) -> RecordGroups:
        """Groups of some records."""
        if len(points) < 2 * self.k:
            return RecordGroups(np.zeros(len(points), np.int64), {})
        if self.algorithm == "search":
            return search_groups(points, self.k, self.effort, self.draws, self.seed)
        if self.algorithm in ("mdav", "mdav_pairs"):
            return mdav_groups(points, self.k, self.algorithm == "mdav_pairs")
        if self.algorithm == "univariate":
            return best_runs_of(points, self.k)
        score = SCORES[self.algorithm](points) if self.algorithm in SCORES else points[:, 0]
        return blocks(score, self.k)

    def _outcome(
        self,
        records: RecordSet,
        names: Sequence[str],
        exact: Sequence[ExactColumn],
        groups: _Groups,
        effort: dict[str, int],
        notes: Sequence[str],
    ) -> RecordOutcome:
        changed, decimals, lost = {}, [], []
        for place, (name, column) in enumerate(zip(names, exact, strict=True)):
            group = groups.of(place)
            finer = _finer(column) if self.decimals is None else self.decimals - column.decimals
            new = _located(column, group, self.location, finer, name)
            decimals.append(column.decimals + finer)
            changed[name] = with_units(records[name], new, column, decimals[-1], name)
            if unknown_by_accident(changed[name], column.gaps, records.about(name).missing):
                raise InputError(
                    f'A group of column {name!r} has a value that is a code for "unknown".',
                    hint="Give other decimals= or another k, or empty the fields that hold such codes first.",
                )
            lost.append(_loss(column, new, finer))
        sizes = groups.sizes()
        facts = {
            "columns": list(names),
            "decimals": decimals,
            "apart": self.algorithm in EACH,
            "strata": list(records.strata),
            "groups": len(sizes),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
            "losses": lost,
            "loss": float(np.mean(lost)),
        }
        plain = self.record()
        evidence = Evidence(
            plain, microaggregated_claim(plain, facts), effort=effort, facts=facts, parts={"records": groups.parts()}
        )
        return RecordOutcome(changed, evidence, tuple(notes))


class _Groups:
    """The number of every record's group, -1 where it is in none; for all columns, or for each by itself."""

    def __init__(self, rows: int, columns: int) -> None:
        self.columns = columns
        self._group = np.full((columns, rows), -1, np.int64)
        self._next = [0] * columns

    def add(self, place: int, rows: Ints, group: Ints) -> None:
        """Add the groups of some rows."""
        self._group[place, rows] = group + self._next[place]
        self._next[place] += int(group.max()) + 1

    def of(self, place: int) -> Ints:
        """Groups of a column."""
        return np.asarray(self._group[place if self.columns > 1 else 0])

    def sizes(self) -> Ints:
        """How many records each group has."""
        return np.concatenate([np.bincount(row[row >= 0]) for row in self._group])

    def parts(self) -> dict[str, Ints]:
        """The columns that the custodian keeps."""
        return {f"group_{place}": row for place, row in enumerate(self._group)}


def _from_least(column: ExactColumn) -> Floats:
    """How far the units of a column lie above the least one: exact where the numbers themselves are too large."""
    there = column.units[~column.gaps]
    return np.asarray((column.units - (there.min() if len(there) else 0)).astype(np.float64))


def _standardised(columns: Sequence[Floats], gaps: Sequence[Bools]) -> Floats:
    """Columns with mean 0 and variance 1 over what they have; 0 where they have nothing, or never vary."""
    found = np.zeros((len(columns[0]), len(columns)))
    for place, (values, empty) in enumerate(zip(columns, gaps, strict=True)):
        there = ~empty
        if not there.any():
            continue
        known = np.sort(values[there])  # sums of the same numbers in another order differ in the last bit
        middle, spread = known.mean(), known.std()
        found[there, place] = (values[there] - middle) / spread if spread > 0 else 0.0
    return found


def _ordered(rows: Ints, points: Floats, identity: Ints | None) -> Ints:
    """Rows in an order that depends on what they hold and who they are, and not on where they stood."""
    ties = [] if identity is None else [identity[rows]]
    return np.asarray(rows[np.lexsort([*ties, *points[rows].T[::-1]])], np.int64)


def _finer(column: ExactColumn) -> int:
    """How many decimals more the means of a column get: as many as numbers of its size leave room for."""
    most = int(np.abs(column.units).max(initial=1))
    return next((finer for finer in range(FINER, 0, -1) if most * 10**finer < FLOAT_LIMIT), 0)


class _Runs(NamedTuple):
    """Rows that have a group, in the order of their groups, and where each group starts."""

    rows: Ints
    start: Ints
    size: Ints


def _runs(group: Ints) -> _Runs:
    rows = np.flatnonzero(group >= 0)
    rows = rows[np.argsort(group[rows], kind="stable")]
    _, start, size = np.unique(group[rows], return_index=True, return_counts=True)
    return _Runs(rows, start.astype(np.int64), size.astype(np.int64))


def _located(column: ExactColumn, group: Ints, location: str, finer: int, name: str) -> Ints:
    """The value of every record's group, in units that are ``finer`` decimals finer; halves are rounded up."""
    runs = _runs(group)
    found: Any = np.zeros(len(group), np.int64)
    if not len(runs.rows):
        return np.asarray(found)
    units = column.units[runs.rows]
    if location == "mean":
        fits = int(np.abs(units).max()) * int(runs.size.max()) < WHOLE_LIMIT
        top: Any = np.add.reduceat(units if fits else units.astype(object), runs.start).astype(object)
        bottom: Any = runs.size.astype(object)
    else:
        units = units[np.lexsort((units, group[runs.rows]))]
        low, high = runs.start + (runs.size - 1) // 2, runs.start + runs.size // 2
        top, bottom = (units[low].astype(object) + units[high]), np.full(len(low), 2, object)
    if finer >= 0:
        top = top * 10**finer
    else:
        bottom = bottom * 10**-finer
    value = (2 * top + bottom) // (2 * bottom)
    limit = WHOLE_LIMIT if column.whole and column.decimals + finer == 0 else FLOAT_LIMIT
    if max(abs(v) for v in value) >= limit:
        raise InputError(
            f"Column {name!r} holds numbers too large for means of {counted(column.decimals + finer, 'decimal')}.",
            hint="Give decimals=, or express the column in a larger unit.",
        )
    found[runs.rows] = np.repeat(value.astype(np.int64), runs.size)
    return np.asarray(found)


def _loss(column: ExactColumn, new: Ints, finer: int) -> float:
    """The share of the variation of a column that is lost."""
    there = ~column.gaps
    old = _from_least(column)[there]
    if not len(old) or not old.std() > 0:
        return 0.0
    least = int(column.units[there].min())
    moved = new[there] - least * 10**finer if finer >= 0 else new[there] * 10**-finer - least
    moved = moved / 10.0 ** max(finer, 0)
    return float(((old - moved) ** 2).sum() / ((old - old.mean()) ** 2).sum())
