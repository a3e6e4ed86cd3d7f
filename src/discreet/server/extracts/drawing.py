"""Drawing the sample of an edition from its source, which is read twice and never held: places first, then the drawn.

Of every record a few numbers are kept (household, area, whether it lives alone); all columns only of those drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.engine.record_batches import RecordBatches, record_batches
from discreet.engine.record_set import mixed_identity, record_names, refuse_gaps, refuse_repeated
from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed, unknown_column
from discreet.files.frames import condition_mask, no_records, read_columns
from discreet.keys import Key
from discreet.methods.base import Method
from discreet.model.arrays import Bools, Codes, Ints
from discreet.model.microdata import Microdata
from discreet.model.records import HOUSEHOLD, IDENTIFIER
from discreet.recipe.job import RecipeJob
from discreet.records.guarded_areas import GuardedAreas, guard_areas
from discreet.records.household_sample import draw_systematic
from discreet.server.extracts.plan import ExtractPlan

if TYPE_CHECKING:
    import pyarrow as pa

POPULATION = "population"
Unit = tuple[str, ...]


@dataclass(frozen=True)
class DrawnSample:
    """Records that were drawn, how areas may be shown, and where the households stood."""

    columns: pa.Table
    areas: GuardedAreas | None
    levels: tuple[str, ...]
    """Levels of areas that are shown, from the coarsest on."""
    finest: str
    """The finest level that the records have, shown or not."""
    guarded: Mapping[str, GuardedAreas]
    household: Ints
    position: Ints
    """Of every record in the source, sorted by area."""


@dataclass(frozen=True)
class RecordPlaces:
    """What the draw looks at, of every record that is not left out."""

    kept: Bools
    """Which records of the source these are."""
    names: pa.ChunkedArray
    """Names of their households."""
    area: Ints
    """Number of the finest area, in the order of their codes."""
    units: Mapping[Unit, int]
    """Persons of every finest area, by its codes from the coarsest level on, in their order."""
    alone: Bools | None
    guarded: Mapping[str, Mapping[Unit, float]]


def draw_sample(plan: ExtractPlan, job: RecipeJob, key: Key) -> DrawnSample:
    """Draw households, and see how areas may be shown: by the population of all records."""
    data, part = job.microdata(), plan.geography
    if plan.data.weight is not None:
        raise ParameterError(
            "The records have weights, and a systematic sample of them would need others.",
            hint="Leave weight out of [data]; give populations of areas by reference.",
        )
    names = _needed(plan, data)
    records = record_batches(data, names, [name for method in plan.methods for name in _numbers(method)])
    places = look_at_places(records, plan)
    shown = _shown_levels(plan)
    areas = None
    if shown:
        areas = guard_areas(_population(plan, job, places.units, len(shown)), part.threshold)
        shown = shown[: areas.levels]
    guarded = {name: guard_areas(found, part.threshold) for name, found in places.guarded.items()}
    household, area, alone = _encoded(places.names), places.area, places.alone
    # By the name alone: a later edition of the same records draws the same households, so that no two editions differ
    # in whom they show.
    purpose = f"systematic sample/{plan.name}"
    start = float(fractions(draws(key.secret, purpose, 1, np.zeros(1, np.int64)))[0])
    chosen = draw_systematic(household, area, plan.sample.density, start, alone)
    if not chosen.any():
        raise ProtectionError("No household was drawn.", hint="Raise density of [sample].")
    position = np.empty(len(area), np.int64)
    position[np.lexsort((np.arange(len(area)), area))] = np.arange(len(area))
    if alone is not None and alone.any():  # drawn one by one, so that nobody tells who lives with whom
        household = np.where(alone, household.max() + 1 + np.cumsum(alone), household)
    rows = np.flatnonzero(chosen)
    table = taken_rows(records, names, places, rows, str(plan.data.household))
    return DrawnSample(table, areas, shown, part.levels[-1], guarded, household[rows], position[rows])


def _needed(plan: ExtractPlan, data: Microdata) -> list[str]:
    """Columns that are read: what is let out, areas, and what the draw and the exchange look at."""
    there = record_names(data)
    conditions = [one.column for one in plan.collective]
    asked = (*plan.variables, *plan.geography.levels, *swap_columns(plan), *conditions)
    for name in asked:
        if name not in there:
            raise unknown_column(name, there, "the records")
    return list(dict.fromkeys([*asked, str(plan.data.household), *plan.data.identifier]))


def _numbers(method: Method) -> Sequence[str]:
    found: Sequence[str] = getattr(method, "numbers", ())
    return found


def swap_columns(plan: ExtractPlan) -> list[str]:
    """Columns that households are alike in when they exchange their areas."""
    return [] if plan.swap is None else [*plan.swap.profile, *([plan.swap.within] if plan.swap.within else [])]


def _shown_levels(plan: ExtractPlan) -> tuple[str, ...]:
    """Levels down to the finest that is a variable; none where all areas are suppressed."""
    part = plan.geography
    named = [place for place, name in enumerate(part.levels) if name in plan.variables]
    return () if part.suppress or not named else tuple(part.levels[: max(named) + 1])


def _encoded(column: pa.ChunkedArray) -> Ints:
    found: Ints = np.asarray(column.combine_chunks().dictionary_encode().indices, np.int64)
    return found


# ---- the first reading --------------------------------------------------------------------------------------


class _Numbered:
    """Numbers of codes as they come."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}
        self.parts: list[Codes] = []

    def add(self, column: pa.ChunkedArray) -> None:
        """Number the codes of a part; gaps, which are refused in the end, have any number."""
        import pyarrow as pa

        encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        new = [self.found.setdefault(code, len(self.found)) for code in encoded.dictionary.to_pylist()]
        numbers = np.array([*new, 0], np.int32)
        self.parts.append(numbers[np.asarray(encoded.indices.fill_null(len(new)), np.int64)])

    def ranked(self) -> tuple[list[str], Ints]:
        """All codes in their order, and the place of every record's code among them."""
        codes = sorted(self.found)
        place = np.empty(len(codes), np.int64)
        place[[self.found[code] for code in codes]] = np.arange(len(codes))
        return codes, place[np.concatenate(self.parts)]


def look_at_places(records: RecordBatches, plan: ExtractPlan) -> RecordPlaces:
    """Read what the draw looks at, and refuse gaps, identifiers that stand twice, and areas without a code."""
    import pyarrow as pa

    home, named, part = str(plan.data.household), list(plan.data.identifier), plan.geography
    levels = {name: _Numbered() for name in part.levels}
    counts: dict[str, Counter[str]] = {name: Counter() for name in part.guarded}
    gaps: Counter[str] = Counter()
    kept, homes, alone, identities = [], [], [], []
    conditions = [one.column for one in (*records.leave_out, *plan.collective)]
    for piece in records.pieces(list(dict.fromkeys([home, *named, *part.levels, *part.guarded, *conditions]))):
        kept.append(_not_left_out(piece, records))
        piece = piece.filter(pa.array(kept[-1]))
        gaps.update({name: piece[name].null_count for name in (home, *named, *part.levels)})
        homes += piece[home].chunks
        for name, numbered in levels.items():
            numbered.add(piece[name])
        for name, counter in counts.items():
            counter.update(piece[name].cast(pa.string()).drop_null().to_pylist())
        if named:
            identities.append(mixed_identity([piece[name] for name in named]))
        if plan.collective:
            masks = [np.asarray(condition_mask(piece, one).fill_null(False), np.bool_) for one in plan.collective]
            alone.append(np.logical_and.reduce(masks))
    if not kept:
        raise no_records()
    every = np.concatenate(kept)
    if not every.any():
        raise InputError(
            f"Every record meets {listed(map(str, records.leave_out))}, and none is left.", hint="Correct leave_out."
        )
    for name in named:
        refuse_gaps(gaps[name], name, IDENTIFIER)
    refuse_gaps(gaps[home], home, HOUSEHOLD)
    if named:
        refuse_repeated(np.concatenate(identities), named)
    for name in part.levels:
        if gaps[name]:
            raise InputError(f"{counted(gaps[name], 'record')} have no {name!r}.", hint="Fill it in.")
    area, units = _areas(list(levels.values()))
    guarded: dict[str, dict[Unit, float]] = {
        name: {(code,): float(many) for code, many in found.items()} for name, found in counts.items()
    }
    together = np.concatenate(alone) if plan.collective else None
    return RecordPlaces(every, pa.chunked_array(homes), area, units, together, guarded)


def _not_left_out(piece: pa.Table, records: RecordBatches) -> Bools:
    found = np.ones(len(piece), np.bool_)
    for condition in records.leave_out:
        found &= ~np.asarray(condition_mask(piece, condition).fill_null(False), np.bool_)
    return found


def _areas(levels: Sequence[_Numbered]) -> tuple[Ints, dict[Unit, int]]:
    """The number of every record's finest area in the order of codes, and persons of each."""
    ranked = [one.ranked() for one in levels]
    area = np.zeros(len(ranked[0][1]), np.int64)
    for codes, rank in ranked:
        area = np.unique(area * len(codes) + rank, return_inverse=True)[1].reshape(-1)
    _, first, persons = np.unique(area, return_index=True, return_counts=True)
    paths = zip(*([codes[place] for place in rank[first].tolist()] for codes, rank in ranked), strict=True)
    return area, dict(zip(paths, persons.tolist(), strict=True))


def _population(plan: ExtractPlan, job: RecipeJob, units: Mapping[Unit, int], depth: int) -> dict[Unit, float]:
    """Persons per unit: in the reference census where there is one, otherwise among all records."""
    here: dict[Unit, float] = {}
    for unit, persons in units.items():
        here[unit[:depth]] = here.get(unit[:depth], 0.0) + persons
    if plan.geography.reference is None:
        return here
    found: dict[Unit, float] = {}
    names = list(plan.geography.levels[:depth])
    rows = read_columns(job.input(plan.geography.reference), [*names, POPULATION], text=names)
    listing = zip(*(rows[name].to_pylist() for name in names), rows[POPULATION].to_pylist(), strict=True)
    for *codes, persons in listing:
        if persons is None or not float(persons) >= 0:
            raise InputError("The reference has units without a population.", hint="Give persons for every unit.")
        found[tuple(codes)] = found.get(tuple(codes), 0.0) + float(persons)
    missing = len(set(here) - set(found))
    if missing:
        raise InputError(f"The reference lacks {counted(missing, 'unit')} of the records.", hint="Add them.")
    return {unit: found[unit] for unit in here}


# ---- the second reading -------------------------------------------------------------------------------------


def taken_rows(records: RecordBatches, names: Sequence[str], places: RecordPlaces, rows: Ints, home: str) -> pa.Table:
    """Columns of the drawn records, read part by part.

    Raises
    ------
    InputError
        When these are not the records that were looked at before.
    """
    import pyarrow as pa

    wanted, begin = np.flatnonzero(places.kept)[rows], 0
    found = []
    for piece in records.pieces(names):
        mine: Any = wanted[np.searchsorted(wanted, begin) : np.searchsorted(wanted, begin + len(piece))] - begin
        found.append(piece.take(pa.array(mine)))
        begin += len(piece)
    table = pa.concat_tables(found).combine_chunks()
    same = begin == len(places.kept) and table[home].equals(places.names.take(pa.array(rows)))
    if not same:
        raise InputError("The records changed while they were read.", hint="Build from a copy that nobody writes to.")
    return table
