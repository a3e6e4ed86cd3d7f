"""The method ``Swap``: households exchange their areas, in records or before tables are made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import numpy as np

from discreet.attack.readings import Ends, TableReading, after_exchange, read_cells
from discreet.attack.whole import whole_steps
from discreet.engine.encode import needed_columns, number_contributors
from discreet.engine.identities import identities_of
from discreet.engine.protocol import columns_of, open_records
from discreet.engine.sources import one_source, tabulated_again
from discreet.errors import (
    InputError,
    NeedsError,
    ParameterError,
    ProtectionError,
    counted,
    listed,
    unknown_column,
    unknown_name,
)
from discreet.files import frames
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod, TablePublisher
from discreet.methods.outcome import NotAudited, Reading, RecordOutcome, TableOutcome, Whole
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.noise import noise_claim, swapped_statement
from discreet.model.claims.records import swapped_claim
from discreet.model.evidence import Evidence, Parts
from discreet.model.microdata import Microdata
from discreet.model.records import HOUSEHOLD, NEVER_PUBLIC, RecordSet
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.parameters import Number
from discreet.progress import checkpoint
from discreet.records.swapping import Swaps, household_profiles, swapped_households, with_swapped_areas
from discreet.relations import System

if TYPE_CHECKING:
    import pyarrow as pa


KNOWS = "which households could be exchanged and how many were, but not which"
VALUES = (
    "values and weights move with households that readers do not know, and nobody has worked out what they can tell of "
    "tables of them"
)
CHANCES = (
    "chances: {} of {} published as they are, and whoever knows how few households move trusts single cells accordingly"
)
NAMED = "readers who know who lives where: a person alone in a published cell may have stayed"
PROFILES = "readers who know how many households of each profile live in each area, which the tables do not show"
TELLING = "Every code of {1} lies in one {0}: who knows which can tell where records of the file were before."
HIDDEN = (*NEVER_PUBLIC, HOUSEHOLD)
UNCHANGED = "are published as they are, because the exchange changed no cell"


class Exchanged(NamedTuple):
    """The areas of all records after the exchange, records of households that could move, numbers of households, the
    broad area of every area, and how many persons moved in each at most."""

    column: pa.ChunkedArray
    movable: Bools
    counts: dict[str, int]
    areas: dict[str, int]
    moved: Ints


@dataclass(frozen=True)
class Swap(Keyed, TablePublisher, RecordMethod):
    """Let households of the same profile exchange their areas: in a file of records, or before tables are made of it.

    Parameters
    ----------
    area
        Column of the records whose codes are exchanged; a variable of the tables, where tables are made.
    household
        Column that says which household a record belongs to; that of the record where every record is one.
    within
        Column of broader areas that households do not leave; every area lies in one.
    profile
        Columns on which the members of two households must agree (broad age, sex, and the like), besides their
        number; they agree on the strata of the records, too.
    rate
        Share of households selected in every broader area. Partners need not be selected: up to twice as many move.
    risk
        Column of numbers: the riskier a household (its riskiest member), the likelier it is selected. All are equally
        likely where left out.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = ds.Microdata(pa.table({"home": range(40), "area": list("NS") * 20, "job": ["a", "b", "c", "a"] * 10}))
    >>> spec = ds.TableSpec(by={"area": ds.Hierarchy.flat(["N", "S"]), "job": ds.Hierarchy.flat(["a", "b", "c"])})
    >>> release = ds.protect(people, ds.Swap("area", "home", rate=0.2, insecure_seed=1), tables=[spec])
    >>> release.verify().holds
    True
    """

    kind: ClassVar[str] = "swap"
    alters: ClassVar[bool] = True
    relates: ClassVar[bool] = False
    secret: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("records",)
    area: str
    household: str
    within: str | None = None
    profile: tuple[str, ...] = ()
    rate: Annotated[float, Number(above=0, most=1)] = 0.1
    risk: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.area in self.profile:
            raise ParameterError(
                f"There is no rule that keeps {self.area!r} and exchanges it.", hint="Take it out of profile."
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """The column of risks."""
        return (self.risk,) if self.risk else ()

    def tabulated(self, spec: TableSpec) -> TableSpec:
        """All combinations of codes: a household may come into a cell that was empty."""
        return spec.with_(cells="all")

    # ---- on the records ------------------------------------------------------------------------------------

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Exchange areas of records."""
        assert key is not None
        made = self._exchanged(records.columns, records.strata, key)
        if not made.counts["moved"]:
            raise ProtectionError(
                f"No household found a partner to exchange {self.area!r} with: the records would stay as they are.",
                hint="Raise rate, match on fewer columns (profile), or exchange within larger areas.",
            )
        like = list(dict.fromkeys([*self.profile, *records.strata]))
        telling = _telling(records, self.area)
        facts = {**made.counts, "profile": like, "telling": telling, "insecure": key.insecure}
        plain = self.record()
        evidence = Evidence(plain, swapped_claim(plain, facts), facts=facts, findings=(self._share(made.counts),))
        notes = (TELLING.format(self.area, listed(telling)),) if telling else ()
        return RecordOutcome({self.area: made.column}, evidence, notes)

    def _exchanged(self, frame: pa.Table, strata: Sequence[str], key: Key) -> Exchanged:
        """Exchanged areas of records, and who could move."""
        import pyarrow as pa

        number, first, identity = _households(_column(frame, self.household), self.household)
        if self.area in strata:
            raise InputError(f"Nobody leaves {self.area!r}: it is a stratum.", hint="Take it out of strata.")
        profile_columns = dict.fromkeys([*self.profile, *strata])
        area_words, area = _numbered(frame, self.area)
        broad = _numbered(frame, self.within)[1] if self.within else np.zeros(len(area), np.int64)
        if np.any(area[first][number] != area):
            raise InputError("The members of a household live in different areas.", hint=f"Check {self.household!r}.")
        profile = household_profiles(number, *(_numbered(frame, column)[1] for column in profile_columns))
        swaps = swapped_households(
            identity,
            area[first],
            broad[first],
            profile,
            key.secret,
            rate=self.rate,
            risk=self._risk(frame, number),
            version=self.version,
        )
        # Every record takes the area of the first record of the household whose place its own takes.
        home = with_swapped_areas(np.arange(len(first)), swaps)
        column = frame[self.area].take(pa.array(first[home][number]))
        areas = dict(zip((area_words[i] for i in area[first].tolist()), broad[first].tolist(), strict=True))
        size = np.bincount(number)
        persons = np.zeros(int(broad.max(initial=-1)) + 1, np.int64)
        np.add.at(persons, broad[first][swaps.first], np.maximum(size[swaps.first], size[swaps.second]))
        movable = ~_without_partner(profile, broad[first], area[first])[number]
        return Exchanged(column, movable, _counts(identity, swaps), areas, persons)

    def _risk(self, frame: pa.Table, number: Ints) -> Floats | None:
        if self.risk is None:
            return None
        _column(frame, self.risk)
        risk = np.zeros(int(number.max(initial=-1)) + 1)
        np.maximum.at(risk, number, np.asarray(frames.numbers(frame, self.risk), np.float64))
        return risk

    def _share(self, counts: Mapping[str, int]) -> str:
        share = counts["moved"] / max(counts["households"], 1)
        return f"{share:.3%} of the households moved, {self.rate:.3%} were to be selected"

    def supply(self, tables: TableSet, key: Key | None) -> Parts:
        """Tables of the records after the exchange, how many moved, and which areas lie together."""
        import pyarrow as pa

        assert key is not None
        data = one_source(tables)
        self._refuse_other_tables(tables)
        checkpoint("swap", 0, len(tables) + 1)
        frame = self._columns(data, tables)
        made = self._exchanged(frame, data.strata, key)
        swapped = frame.set_column(frame.column_names.index(self.area), self.area, made.column)
        some = swapped.filter(pa.array(made.movable))
        checkpoint("swap", 1, len(tables) + 1)
        values, movable = [], []
        for number, table in enumerate(tables):
            values.append(_values_of(table, swapped))
            # Readers are taken to know which households could move; only of counts of records anything follows.
            known = _plain(table) and len(some)
            movable.append(_values_of(table, some) if known else np.zeros_like(values[-1]))
            checkpoint("swap", number + 2, len(tables) + 1)
        broad = np.array([made.areas.get(code, -1) for code in self._listing(tables)], np.int64)
        counts = {**made.counts, "strata": len(set(data.strata) - set(self.profile))}
        return {
            "altered": {"value": np.concatenate(values), "movable": np.concatenate(movable)},
            "areas": {"broad": broad},
            "moved": {"persons": made.moved},
            "households": {name: np.array([count], np.int64) for name, count in counts.items()},
        }

    def _refuse_other_tables(self, tables: TableSet) -> None:
        """Refuse tables that are not by the area, or that leave areas out."""
        for table in tables:
            if self.area not in table.spec.by:
                raise NeedsError(
                    unknown_name("variable", self.area, table.variables, f"table {table.name!r} (area)"),
                    hint="Swap tables by the area that is exchanged.",
                )
            if any(condition.column == self.area for condition in table.spec.where):
                raise NeedsError(
                    f"The filter of table {table.name!r} looks at {self.area!r}, which is exchanged.",
                    hint="Tabulate all areas.",
                )

    def _columns(self, data: Microdata, tables: TableSet) -> pa.Table:
        """Columns of all records that the exchange and the tables need."""
        specs = [table.spec for table in tables]
        codes, numeric = needed_columns(data, specs, None)
        where = [condition for spec in specs for condition in spec.where]
        text = [*codes, self.household, *([self.within] if self.within else []), *self.profile, *data.strata]
        text += [c.column for c in where if any(isinstance(v, str) for v in c.values)]
        others = [data.contributor, self.risk, *(spec.weight for spec in specs), *(c.column for c in where)]
        return columns_of(data, [*text, *numeric, *(name for name in others if name)], text)

    def _listing(self, tables: TableSet) -> list[str]:
        """The areas, in the order in which the evidence speaks of them."""
        return sorted(dict.fromkeys(c for t in tables for c in t.spec.by[self.area].base_codes))

    # ---- on the cells --------------------------------------------------------------------------------------

    def publish(self, system: System, key: Key | None = None) -> TableOutcome:
        """Publish the tables of the exchanged records."""
        parts = system.parts
        published = np.zeros(len(system), np.int64)
        first = 0
        for table, cells in zip(system.tables, system.of, strict=True):
            value = parts["altered"]["value"][first : first + len(table)]
            published[cells] = value * 10 ** (system.decimals - table.decimals)
            first += len(table)
        if np.array_equal(published, system.value):
            raise ProtectionError(
                "The exchange changed no cell: the tables would be published as they are.",
                hint="Raise rate, match on fewer columns (profile), or tabulate by variables that are not matched on.",
            )
        counts = {name: int(column[0]) for name, column in parts["households"].items()}
        insecure = key is not None and key.insecure
        claim = noise_claim(
            self.kind,
            swapped_statement(self.area, self.within, counts),
            additive=True,
            universes=len({table.spec.identity[1:] for table in system.tables}) > 1,
            insecure=insecure,
        )
        evidence = Evidence(
            self.record(),
            claim,
            system.decimals,
            facts={**counts, "insecure": insecure},
            findings=(self._share(counts),),
            parts=parts,
        )
        return TableOutcome(np.zeros(len(system), np.bool_), evidence, published)

    def reading(self, system: System, published: Ints, evidence: Evidence) -> Reading | NotAudited:
        """Counts can be what the households that moved make them; of other values nobody has worked it out."""
        if not all(_plain(table) for table in system.tables):
            return NotAudited(VALUES)
        listing = self._listing(system.tables)

        def told(shown: TableReading) -> Ends:
            return after_exchange(shown, self.area, self.profile, evidence.parts, listing)

        lower, upper = read_cells(system, published, told)
        same = system.unsafe & (published == system.value)
        chances = CHANCES.format(int(same.sum()), counted(int(system.unsafe.sum()), "unsafe cell", "are"))
        certain = (same, UNCHANGED) if np.array_equal(published, system.value) else None
        households = {name: int(column[0]) for name, column in evidence.parts["households"].items()}
        shown = any(self._shows_profiles(table, households) for table in system.tables)
        left_out = (chances, NAMED) if shown else (chances, NAMED, PROFILES)
        return Reading(lower, upper, KNOWS, left_out, Whole(whole_steps(system)), certain)

    def _shows_profiles(self, table: Table, households: Mapping[str, int]) -> bool:
        """Whether a table counts the households of each profile: all records by all that was matched on.

        Of households of several persons no table of persons tells which of them live together.
        """
        matched = set(self.profile) <= set(table.variables) and households.get("strata") == 0
        return matched and not table.spec.where and int(table.value.max(initial=0)) == households["households"]


def _telling(records: RecordSet, area: str) -> list[str]:
    """Columns of which every code lies in one area, so that the old area can be told from it.

    Codes that occur once say nothing: of numbers such as incomes nobody knows where they belong.
    """
    here = number_contributors(records[area]).number
    found = []
    for name in records.names:
        column = records[name].drop_null()
        if name == area or records.about(name).role in HIDDEN or str(column.type) not in ("string", "int64"):
            continue
        code, there = number_contributors(column).number, here[~records[name].is_null().to_numpy()]
        times = np.bincount(code)
        if int((times == 1).sum()) * 2 > len(code) or not len(code):
            continue
        first = np.zeros(len(times), np.int64)
        first[code[::-1]] = there[::-1]
        if np.array_equal(first[code], there) and len(np.unique(there)) > 1:
            found.append(name)
    return found


def _plain(table: Table) -> bool:
    """Whether a table holds counts of records without weights."""
    return table.spec.value is None and table.weighted is None


def _values_of(table: Table, frame: pa.Table) -> Ints:
    """Values of a table's cells with other records."""
    data = table.source.with_(source=frame, engine="memory", encoded=None)
    with open_records(data, [table.spec], table.spec.weight or None) as records:
        return tabulated_again(records, table).value


def _without_partner(profile: Ints, broad: Ints, area: Ints) -> Bools:
    """Households that nobody of the same profile could exchange with: all of them are in one area."""
    _, group = np.unique(np.stack([profile, broad]), axis=1, return_inverse=True)
    group = group.ravel()
    pairs = np.unique(np.stack([group, area]), axis=1)
    result: Bools = np.bincount(pairs[0])[group] < 2
    return result


def _counts(identity: Ints, swaps: Swaps) -> dict[str, int]:
    return {"households": len(identity), "moved": 2 * len(swaps.first), "alone": len(swaps.alone)}


def _column(frame: pa.Table, name: str) -> pa.ChunkedArray:
    """A column of some records."""
    if name not in frame.column_names:
        raise unknown_column(name, frame.column_names, "the records")
    return frame[name]


def _households(column: pa.ChunkedArray, name: str) -> tuple[Ints, Ints, Ints]:
    """Number of each record's household, the first record of each household, and the identities of households."""
    if column.null_count:
        raise InputError(
            f"{counted(column.null_count, 'record', 'have')} no household in {name!r}.", hint="Give every record one."
        )
    found = identities_of(column.combine_chunks())
    identity, first, number = np.unique(found, return_index=True, return_inverse=True)
    return number.astype(np.int64), first.astype(np.int64), identity


def _numbered(frame: pa.Table, name: str) -> tuple[list[str], Ints]:
    """Codes of a column in alphabetical order, and the number of each record's code."""
    column = _column(frame, name)
    if column.null_count:
        raise InputError(
            f"{counted(column.null_count, 'record', 'have')} no code in {name!r}.", hint="Give every record one."
        )
    coded = number_contributors(column)
    words = [frames.code_text(word) or "" for word in coded.values.to_pylist()]
    seen = set(np.unique(coded.number).tolist())
    known = sorted({word for i, word in enumerate(words) if i in seen})
    place = {word: i for i, word in enumerate(known)}
    return known, np.array([place.get(word, -1) for word in words], np.int64)[coded.number]
