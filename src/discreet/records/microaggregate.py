"""The method ``Microaggregate``: records of a group share one value."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.methods.base import RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.microaggregation import microaggregated_claim
from discreet.model.evidence import Evidence
from discreet.model.records import RecordSet
from discreet.parallel import shared
from discreet.parameters import AtLeastOne, Natural, Number
from discreet.records.exact_columns import FLOAT_LIMIT, ExactColumn
from discreet.records.microaggregation.grouping import (
    CLUSTERED,
    RecordGroups,
    automaton_groups,
    best_runs_of,
    blocks,
    clustered_groups,
    gower_groups,
    mdav_groups,
    pairs_groups,
    robust_mdav_groups,
    search_groups,
    variable_groups,
)
from discreet.records.microaggregation.locations import Location, located
from discreet.records.microaggregation.measured import from_least, loss, standardised, symmetric, widest
from discreet.records.microaggregation.proving import FoundGroups
from discreet.records.microaggregation.rows import SCORES
from discreet.records.microaggregation.steering import GroupMaterial, category_codes, weights_of
from discreet.records.value_columns import (
    exact_column,
    refuse_repeated,
    rows_by_kind,
    stratum_of,
    unknown_by_accident,
    value_columns,
    with_units,
)

if TYPE_CHECKING:
    import pyarrow as pa

EACH = ("onedims", "univariate")
"""Algorithms that make groups for each column by itself."""
FINER = 2
"""Means get so many decimals more than the column has."""
ONLY_FOR = {
    "effort": ("search", "optimal_2"),
    "gamma": ("v_mdav",),
    "restarts": ("automaton",),
    "clusters": CLUSTERED,
    "clustering": CLUSTERED,
    "transform": CLUSTERED,
    "distance": ("mdav", "mdav_pairs"),
}
"""Parameters that are for some algorithms."""
MOST_PAIRED = 20_000
"""More records are too many for the best groups of two and three: all pairs are looked at, many times."""
FAR = 6.0
"""Two members of a group that lie so many standard deviations apart are worth a note."""


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
        published variants of MDAV as they are; ``"v_mdav"``: with groups of variable size; ``"rmd"``: among robust
        distances of Mahalanobis. ``"optimal_2"``: the best groups of two and three, with a proof. ``"automaton"``: an
        automaton learns groups from near pairs. ``"univariate"``: the best groups of each column by itself.
        ``"onedims"``: each column by itself in blocks of ``k``. ``"single"``: blocks in the order of the first column;
        ``"sum"``: of the sum of standardised values; ``"pca"``: of the first principal component; ``"pppca"`` and
        ``"mcdpca"``: of its robust counterparts, by projection pursuit and by the covariance of least determinant;
        ``"clustpca"``, ``"clustpppca"``, ``"clustmcdpca"``: of these within clusters; ``"influence"``: of the column
        that sets a cluster apart most; ``"simple"``: in the order of the file.
    effort
        Of the search: ``"quick"`` for very large files, ``"normal"``, or ``"best"``, which anneals by so many draws. Of
        ``"optimal_2"``: ``"quick"`` for groups that lose at most twice as much as the best.
    draws, seed
        Number of draws of ``effort="best"``, and where they, or the starts of the automaton, begin.
    location
        What stands for a group: its ``"mean"``, which keeps sums, its ``"median"``, the mean without a share ``trim``
        of the values at each end (``"trimmed"``), the mean of values clipped at ``cut`` median deviations from the
        median (``"one_step"``), or Huber's estimate (``"m_estimate"``).
    trim, cut
        Of robust locations; the cut is 3 for one step and 2 for Huber's estimate where left out.
    decimals
        Decimals of the values that are published; two more than each column has where left out, fewer where its numbers
        are very large.
    missing
        Records with gaps are refused (``"refuse"``), or make groups with those that have the same gaps (``"apart"``).
    weighted
        Whether means are made with the weights of the records, so that weighted sums stay.
    gamma
        Of ``"v_mdav"``: a record joins a group that is nearer than so many times its nearest other record.
    restarts
        Random starts of the automaton, of which the best counts.
    clusters, clustering, transform
        How many clusters there are at most; whether they lie around ``"means"``, or are normal distributions, of which
        the criterion of Schwarz chooses number and shape (``"mixture"``); and whether columns are made symmetric before
        (``"log"``, ``"box_cox"``).
    distance, categories
        ``"gower"`` for MDAV by ranges and categories; ``categories`` are columns that only steer the groups.

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
        "search",
        "mdav",
        "mdav_pairs",
        "v_mdav",
        "rmd",
        "optimal_2",
        "automaton",
        "univariate",
        "onedims",
        "single",
        "sum",
        "pca",
        "pppca",
        "mcdpca",
        "clustpca",
        "clustpppca",
        "clustmcdpca",
        "influence",
        "simple",
    ] = "search"
    effort: Literal["quick", "normal", "best"] = "normal"
    draws: AtLeastOne = 20_000_000
    seed: Natural = 1
    location: Literal["mean", "median", "trimmed", "one_step", "m_estimate"] = "mean"
    decimals: Annotated[int, Number(least=0, most=9)] | None = None
    missing: Literal["refuse", "apart"] = "refuse"
    trim: Annotated[float, Number(least=0, below=0.5)] = 0.2
    cut: Annotated[float, Number(above=0)] | None = None
    weighted: bool = False
    gamma: Annotated[float, Number(least=0)] = 0.2
    restarts: AtLeastOne = 3
    clusters: AtLeastOne = 6
    transform: Literal["none", "log", "box_cox"] = "none"
    distance: Literal["euclidean", "gower"] = "euclidean"
    categories: tuple[str, ...] = ()
    clustering: Literal["means", "mixture"] = "means"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.columns)
        for name, algorithms in ONLY_FOR.items():
            given = getattr(self, name)
            if given != type(self).__dataclass_fields__[name].default and self.algorithm not in algorithms:
                shown = f'"{given}"' if isinstance(given, str) else f"{given:g}"
                raise ParameterError(
                    f'{name}={shown} is for algorithm={_either(algorithms)}, not for "{self.algorithm}".',
                    hint="Leave one of the two out.",
                )
        if self.algorithm == "optimal_2" and self.k != 2:
            raise ParameterError(
                f'algorithm="optimal_2" makes groups of two and three, and k is {self.k}.',
                hint='Ask for k=2, or use algorithm="search" for larger groups.',
            )
        if self.categories and self.distance != "gower":
            raise ParameterError('categories= are for distance="gower".', hint="Leave one of the two out.")
        self._refuse_mixed_locations()

    def _refuse_mixed_locations(self) -> None:
        """Refuse what is for other locations."""
        if self.weighted and self.location != "mean":
            raise ParameterError(
                f'weighted=True is for means, not for location="{self.location}".', hint="Leave one of the two out."
            )
        if self.cut is not None and self.location not in ("one_step", "m_estimate"):
            raise ParameterError(
                f'cut= is for location="one_step" and "m_estimate", not for "{self.location}".',
                hint="Leave one of the two out.",
            )
        if self.trim != Microaggregate.trim and self.location != "trimmed":
            raise ParameterError(
                f'trim= is for location="trimmed", not for "{self.location}".', hint="Leave one of the two out."
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
        material = self._material(records, names, exact)
        apart = self.algorithm in EACH
        groups = FoundGroups(len(records), len(names) if apart else 1)
        blocks_of = [
            (place, given if self.algorithm == "simple" else _ordered(given, material, records.identity), there)
            for given, there in parts
            for place in range(groups.columns)
            if place in there or not apart
        ]

        def block(one: tuple[int, Ints, list[int]]) -> GroupMaterial:
            place, rows, there = one
            return material.of(rows, [place] if apart else there)

        with closing(shared(self._grouped, block, blocks_of, "blocks", threads=False)) as results:
            for (place, rows, _), found in zip(blocks_of, results, strict=True):
                groups.add(place, rows, found)
        return self._outcome(records, names, exact, groups, material.points, [*notes, *groups.notes])

    def _material(self, records: RecordSet, names: Sequence[str], exact: Sequence[ExactColumn]) -> GroupMaterial:
        """Standardised columns, and what steers the groups besides."""
        gaps = [one.gaps for one in exact]
        points = standardised([from_least(column) for column in exact], gaps)
        made = points
        if self.transform != "none":
            columns = zip(exact, names, strict=True)
            made = standardised([symmetric(column, name, self.transform) for column, name in columns], gaps)
        return GroupMaterial(points, made, category_codes(records, self.categories, names))

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
            if self.algorithm == "optimal_2" and len(rows) > MOST_PAIRED:
                raise ProtectionError(
                    f'There are {len(rows):,} records, and algorithm="optimal_2" groups at most {MOST_PAIRED:,}.',
                    hint='Name strata, or use algorithm="search".',
                )
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

    def _grouped(self, material: GroupMaterial) -> RecordGroups:
        """Groups of some records."""
        points = material.points
        if self.algorithm == "optimal_2":
            return pairs_groups(points, self.effort)
        if len(points) < 2 * self.k:
            return RecordGroups(np.zeros(len(points), np.int64), {})
        if self.distance == "gower":
            return gower_groups(points, material.codes, self.k, self.algorithm == "mdav_pairs")
        if self.algorithm in ("mdav", "mdav_pairs"):
            return mdav_groups(points, self.k, self.algorithm == "mdav_pairs")
        if self.algorithm in CLUSTERED:
            mixed = self.clustering == "mixture"
            return clustered_groups(points, material.symmetric, self.k, self.algorithm, self.clusters, mixture=mixed)
        match self.algorithm:
            case "search":
                return search_groups(points, self.k, self.effort, self.draws, self.seed)
            case "v_mdav":
                return variable_groups(points, self.k, self.gamma)
            case "rmd":
                return robust_mdav_groups(points, self.k)
            case "automaton":
                return automaton_groups(points, self.k, self.restarts, self.seed)
            case "univariate":
                return best_runs_of(points, self.k)
        score = SCORES[self.algorithm](points) if self.algorithm in SCORES else points[:, 0]
        return blocks(score, self.k)

    def _outcome(
        self,
        records: RecordSet,
        names: Sequence[str],
        exact: Sequence[ExactColumn],
        groups: FoundGroups,
        points: Floats,
        notes: Sequence[str],
    ) -> RecordOutcome:
        changed, decimals, lost, width = {}, [], [], 0.0
        weight, weights = weights_of(records) if self.weighted else ("", None)
        location = Location(self.location, self.trim, self.cut, weights)
        for place, (name, column) in enumerate(zip(names, exact, strict=True)):
            group = groups.of(place)
            finer = _finer(column) if self.decimals is None else self.decimals - column.decimals
            new = located(column, group, location, finer, name)
            decimals.append(column.decimals + finer)
            changed[name] = with_units(records[name], new, column, decimals[-1], name)
            _refuse_unknown(records, name, changed[name], column)
            lost.append(loss(column, new, finer))
            if groups.columns > 1:
                width = max(width, widest(points[:, [place]], group))
        sizes = groups.sizes()
        facts = {
            "columns": list(names),
            "decimals": decimals,
            "apart": self.algorithm in EACH,
            "strata": list(records.strata),
            "weight": weight,
            "groups": len(sizes),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
            "widest": width if groups.columns > 1 else widest(points, groups.of(0)),
            "losses": lost,
            "loss": float(np.mean(lost)),
            **groups.proof(points),
        }
        plain = self.record()
        claim, parts = microaggregated_claim(plain, facts), {"records": groups.parts()}
        evidence = Evidence(plain, claim, effort=groups.effort, facts=facts, parts=parts)
        same = _equal_notes(names, exact)
        return RecordOutcome(changed, evidence, (*notes, *same, *_far_notes(self.k, facts["widest"])))


def _either(names: Sequence[str]) -> str:
    """Names in quotes, with "or" before the last."""
    quoted = [f'"{name}"' for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _equal_notes(names: Sequence[str], exact: Sequence[ExactColumn]) -> list[str]:
    """What to say of columns that are published as they are, because all their values are equal."""
    known = [column.units[~column.gaps] for column in exact]
    return [
        f"Column {name!r} has one value only: it tells no groups apart, and is published as it is."
        for name, units in zip(names, known, strict=True)
        if len(units) and units.min() == units.max()
    ]


def _far_notes(k: int, width: float) -> list[str]:
    """What to say of pairs that lie far apart."""
    if k > 2 or width <= FAR:
        return []
    return [
        f"Members of a group lie up to {width:.3g} standard deviations apart: an outlier is hardly hidden by one other "
        "record."
    ]


def _refuse_unknown(records: RecordSet, name: str, new: pa.ChunkedArray, column: ExactColumn) -> None:
    """Refuse values that readers would take for a code that stands for "unknown"."""
    if unknown_by_accident(new, column.gaps, records.about(name).missing):
        raise InputError(
            f'A group of column {name!r} has a value that is a code for "unknown".',
            hint="Give other decimals= or another k, or empty the fields that hold such codes first.",
        )


def _ordered(rows: Ints, material: GroupMaterial, identity: Ints | None) -> Ints:
    """Rows in an order that depends on what they hold and who they are, and not on where they stood."""
    ties = [] if identity is None else [identity[rows]]
    codes, points = material.codes[rows].T[::-1], material.points[rows].T[::-1]
    return np.asarray(rows[np.lexsort([*ties, *codes, *points])], np.int64)


def _finer(column: ExactColumn) -> int:
    """How many decimals more the means of a column get: as many as numbers of its size leave room for."""
    most = int(np.abs(column.units).max(initial=1))
    return next((finer for finer in range(FINER, 0, -1) if most * 10**finer < FLOAT_LIMIT), 0)
