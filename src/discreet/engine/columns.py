"""The engine for folders of narrow columns, which are mapped and not read: any table of them at once.

Counts, and sums of whole record keys, are made in one pass with one counter a cell. Whatever else a table has is added
up block by block. Columns that no decimals write exactly go through the engine in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.cells import LeafCells, LeafSums, RowFinder, code_space, strides_of
from discreet.engine.checks import bad_flags, bad_requests
from discreet.engine.column_counts import (
    AmountCells,
    PackedCells,
    Recoded,
    amounts_of_cells,
    contributions_of_amounts,
    counted,
    leaves_of_amounts,
    leaves_of_counters,
    numbered_codes,
)
from discreet.engine.column_cubes import Cube, cube_of, cubes_of, whole
from discreet.engine.column_files import Columns, open_columns
from discreet.engine.column_numbers import fewest_decimals
from discreet.engine.column_universe import Selected, Span, known_columns, universe_of
from discreet.engine.contributions import ContributorRecords
from discreet.engine.encode import WEIGHT_DECIMALS, Records, needed_columns, recoded
from discreet.engine.plan import ColumnPlan, Scale, WantedLists
from discreet.engine.protocol import KeyedAmounts, OpenedRecords
from discreet.engine.record_keys import MadeKeys
from discreet.engine.rollup import signed
from discreet.errors import NeedsError, ParameterError, unknown_codes
from discreet.files.frames import PLACE
from discreet.keys import Key
from discreet.model.arrays import LARGEST, Bools, Ints, Status
from discreet.model.condition import Condition
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import Contributions, Holders

if TYPE_CHECKING:
    import pyarrow as pa

MOST_COUNTERS = 2**24
"""Tables with more combinations of base codes are made by the sums of all engines."""
MOST_SUMS = 2**19
"""The same for amounts, of which each combination has ten numbers."""
LARGE_PART = 2**20
MOST_NUMBERED = 1024
"""Variables by hierarchy and recoding whose numbers are kept."""


class ColumnsEngine:
    """Folders that :func:`discreet.engine.column_files.write_columns` made."""

    name = "columns"

    @contextmanager
    def open(
        self, data: Microdata, specs: Sequence[TableSpec], weight: str | None, keys: MadeKeys | None = None
    ) -> Iterator[ColumnRecords]:
        """Records of a universe, where they lie."""
        yield self.opened(data, specs, weight, keys)

    def opened(
        self, data: Microdata, specs: Sequence[TableSpec], weight: str | None, keys: MadeKeys | None = None
    ) -> ColumnRecords:
        """The same, which nobody need close."""
        columns = _columns(data)
        if keys is not None:
            data = data.with_(record_key=_kept_keys(columns, keys))
        codes, numeric = needed_columns(data, specs, weight)
        known_columns(columns, [*codes, *numeric, *([data.contributor] if data.contributor else [])])
        return ColumnRecords(columns, universe_of(columns, specs[0].where), data, weight)

    def selected(self, data: Microdata, where: tuple[Condition, ...], weight: str | None = None) -> ColumnRecords:
        """Records that meet conditions, for who knows that the columns are there."""
        columns = _columns(data)
        return ColumnRecords(columns, universe_of(columns, where), data, weight)

    def names(self, data: Microdata) -> list[str]:
        """Names of the columns."""
        return _columns(data).manifest.names

    def pieces(
        self, data: Microdata, names: Iterable[str], text: Iterable[str] = (), where: Sequence[Condition] = ()
    ) -> Iterator[pa.Table]:
        """All columns in one piece, in the order of the source."""
        columns = _columns(data)
        wanted, words = list(dict.fromkeys(names)), set(text)
        known_columns(columns, wanted)
        yield _as_table(columns, universe_of(columns, tuple(where)), wanted, words)

    def keys(self, data: Microdata) -> Any:
        """Record keys of all records, as they lie."""
        columns = _columns(data)
        kept = columns.manifest.keys
        if kept is None or kept.name != data.record_key:
            raise columns.unknown(str(data.record_key), [] if kept is None else [kept.name])
        return columns.keys / float(kept.modulus) if kept.modulus else columns.keys

    def kept(self, data: Microdata) -> dict[str, Any] | None:
        """What belongs to the folder."""
        return _columns(data).kept

    def records(self, data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> Records:
        """The records in memory, for methods that change single ones."""
        return self.opened(data, specs, weight).in_memory(specs)


ENGINE = ColumnsEngine()


def _columns(data: Microdata) -> Columns:
    if not isinstance(data.source, Path):
        raise ParameterError(
            "engine='columns' reads folders of columns, and these data are in memory already.",
            hint="Use engine='memory', or give the path of a folder that was made by discreet dataset build.",
        )
    return open_columns(data.source)


def _kept_keys(columns: Columns, keys: MadeKeys) -> str:
    """The column of record keys, where they are those that are asked for."""
    kept = columns.manifest.keys
    asked = (keys.identifier, keys.version, keys.modulus, Key(keys.secret).fingerprint)
    if kept is None or (kept.identifier, kept.version, kept.made_modulus, kept.fingerprint) != asked:
        raise NeedsError(
            f"The columns {columns.folder.name!r} have no record keys of this identifier, key, version and modulus.",
            hint="Columns bring the record keys that they were written with: name them (Microdata(record_key=)), and "
            "leave identifier= out.",
        )
    return kept.name


class ColumnRecords(OpenedRecords):
    """Records of a universe and weight in a folder of columns."""

    def __init__(self, columns: Columns, universe: Selected, data: Microdata, weight: str | None) -> None:
        self.columns = columns
        self.universe = universe
        self.data = data
        self.weight_name = weight
        self._amounts: AmountCells | None = None
        """What the last table found out of amounts, until it asks for contributors."""
        self._plain = self._is_plain(weight, WEIGHT_DECIMALS) if weight is not None else True

    def __len__(self) -> int:
        return self.universe.records

    def prepare(self, spec: TableSpec) -> None:
        """Work out what is kept of the variables of a table, so that no later question is the first."""
        for variable, hierarchy in spec.by.items():
            self._numbered(variable, hierarchy)

    # ---- codes --------------------------------------------------------------------------------------------

    def _numbered(self, variable: str, hierarchy: Hierarchy) -> Recoded:
        recode = self.data.recode.get(variable, {})
        kept: dict[Any, Any] = self.columns.kept.setdefault("numbered", {})
        key = (variable, id(hierarchy), id(recode) if recode else 0)
        if key not in kept:
            # Both are kept with the numbers: others could have their addresses once they are gone.
            kept[key] = (numbered_codes(self.columns.base_codes(variable), hierarchy, recode), hierarchy, recode)
            while len(kept) > MOST_NUMBERED:
                kept.pop(list(kept)[0], None)  # noqa: RUF015  (at one go: threads enter others meanwhile)
        found: Recoded = kept[key][0]
        if len(found.look_up) and found.positions.min() < 0:
            self._refuse_unknown(variable, found, recode)
        return found

    def _refuse_unknown(self, variable: str, numbered: Recoded, recode: Mapping[str, str]) -> None:
        """Refuse codes that the hierarchy does not have, where records of the universe have them."""
        codes, column = self.columns.base_codes(variable), self.columns.codes(variable)
        count = np.zeros(len(codes), np.int64)
        for part in self.universe.parts():
            count += np.bincount(part.of(column), minlength=len(codes))
        unknown: dict[str, int] = {}
        for number in np.flatnonzero((numbered.positions < 0) & (count > 0)).tolist():
            code = recoded(codes[number], recode)
            unknown[code] = unknown.get(code, 0) + int(count[number])
        if unknown:
            raise unknown_codes(variable, unknown)

    def _keys_of(self, by: Mapping[str, Hierarchy]) -> list[tuple[Any, Ints]]:
        """Columns of some variables, and what each number adds to the key of a cell."""
        strides = strides_of([len(hierarchy) for hierarchy in by.values()])
        return [
            (self.columns.codes(variable), self._numbered(variable, hierarchy).positions * stride)
            for (variable, hierarchy), stride in zip(by.items(), strides, strict=True)
        ]

    @staticmethod
    def _cells(part: Span, columns: Sequence[tuple[Any, Ints]]) -> Ints:
        from discreet.engine.column_kernels import add_positions

        cells = np.empty(part.span.stop - part.span.start, np.int64)
        for number, (column, adds) in enumerate(columns):
            add_positions(column[part.span], adds, number == 0, cells)
        return cells if part.inside is None else cells[part.inside]

    # ---- amounts ------------------------------------------------------------------------------------------

    def _is_plain(self, name: str, most: int) -> bool:
        """Whether a column has exact units, no finer than some."""
        part = self.columns.numbers_part(name)
        return part.column.kind == "i8" and part.source != "decimal" and part.decimals <= most

    def _once(self, what: str, name: str, work: Any) -> Any:
        """What is worked out of the universe once."""
        key = (what, name)
        if key not in self.universe.kept:
            self.universe.kept[key] = work()
        return self.universe.kept[key]

    def _decimals(self, name: str) -> int:
        """Decimals that the numbers of the universe need."""
        part, column = self.columns.numbers_part(name), self.columns.numbers(name)
        if not part.decimals or self.universe.records == len(self.columns):
            return part.decimals
        parts = self.universe.parts(LARGE_PART)
        return int(self._once("decimals", name, lambda: fewest_decimals((p.of(column) for p in parts), part.decimals)))

    def _units(self, name: str, part: Span) -> Ints:
        """Numbers of some records in units of the universe."""
        found: Ints = np.array(part.of(self.columns.numbers(name)), np.int64)
        more = self.columns.numbers_part(name).decimals - self._decimals(name)
        return found // 10**more if more else found

    @property
    def _weight_decimals(self) -> int:
        return 0 if self.weight_name is None else self._decimals(self.weight_name)

    def _own(self, variable: str | None, part: Span) -> Ints:
        """What each record has, in units of the sums."""
        own = np.ones(len(part), np.int64) if variable is None else self._units(variable, part)
        return own * np.int64(10**self._weight_decimals) if self._weight_decimals else own

    def _weighted(self, variable: str | None, part: Span) -> Ints:
        """What each record stands for with its weight; without weights nothing."""
        if self.weight_name is None:
            return np.zeros(0, np.int64)
        weight = self._units(self.weight_name, part)
        return weight if variable is None else self._units(variable, part) * weight

    def _summed(self, variable: str | None, part: Span) -> Ints:
        return self._own(variable, part) if self.weight_name is None else self._weighted(variable, part)

    def _refuse_large_sums(self, variable: str | None) -> None:
        """Refuse sums beyond 64 bits, in the words of the engine in memory, which looks again where it is close."""
        total = self._once(f"total {self.weight_name}", variable or "", lambda: self._total(variable))
        if total >= 0.99 * LARGEST:
            names = [name for name in (variable, self.weight_name) if name]
            frame = _as_table(self.columns, self.universe, names, set())
            Records(frame, self.data, self.weight_name).amounts(variable)

    def _total(self, variable: str | None) -> float:
        """At least the sum of all absolute amounts, with weights and in units of weights."""
        total = 0.0
        for part in self.universe.parts(LARGE_PART):
            own = np.ones(len(part)) if variable is None else np.abs(self._units(variable, part).astype(np.float64))
            weight = np.ones(1) if self.weight_name is None else self._units(self.weight_name, part).astype(np.float64)
            total += max(float((own * weight).sum()), float(own.sum()) * 10.0**self._weight_decimals)
        return total

    def scale(self, variable: str | None) -> Scale:
        """Decimals of a variable; ``None`` counts records."""
        if variable is None:
            return Scale(self._weight_decimals, 0) if self._plain else self._memory(()).scale(None)
        if not self._plain or not self._is_plain(variable, 2**8):
            return self._memory((variable,)).scale(variable)
        decimals = self._decimals(variable)
        return Scale(decimals + self._weight_decimals, decimals)

    @property
    def lightest(self) -> float | None:
        """The smallest weight."""
        name = self.weight_name
        if name is None:
            return None
        if not self._plain:
            light: float | None = self._memory(()).lightest
            return light
        least = self._once("least", name, lambda: min(int(self._units(name, p).min()) for p in self.universe.parts()))
        lightest: float = float(least) / 10**self._weight_decimals
        return lightest

    # ---- record keys and roles ----------------------------------------------------------------------------

    @cached_property
    def key_modulus(self) -> int:
        """What sums of record keys are taken to: whole numbers are added up as they are, which is 0."""
        if self.data.record_key is None:
            return 0
        kept = self.columns.manifest.keys
        if kept is None or kept.name != self.data.record_key:
            raise self.columns.unknown(self.data.record_key, [] if kept is None else [kept.name])
        return kept.modulus

    def _record_keys(self, part: Span) -> Ints:
        if self.data.record_key is None:
            return np.zeros(0, np.int64)
        assert self.key_modulus >= 0
        return np.array(part.of(self.columns.keys), np.int64)

    def _flags(self, part: Span) -> Bools:
        name = self.data.waiver
        if name is None:
            return np.zeros(0, np.bool_)
        raw = part.of(self.columns.numbers(name))
        if self.columns.numbers_part(name).decimals or not np.isin(raw, (0, 1)).all():
            raise bad_flags(name)
        flags: Bools = raw.astype(np.bool_)
        return flags

    def _requests(self, part: Span) -> Status:
        name = self.data.request
        if name is None:
            return np.zeros(0, np.int8)
        raw = part.of(self.columns.numbers(name))
        if self.columns.numbers_part(name).decimals or not np.isin(raw, (0, 1, 2)).all():
            raise bad_requests(name)
        requests: Status = raw.astype(np.int8)
        return requests

    # ---- what tables and methods ask for ------------------------------------------------------------------

    def _through_memory(self, names: Iterable[str | None]) -> bool:
        roles = [self.data.waiver, self.data.request]
        wanted = [name for name in (*names, *roles) if name is not None]
        return not self._plain or not all(self._is_plain(name, 2**8) for name in wanted)

    def leaf_cells(self, plan: ColumnPlan) -> LeafCells:
        """Sums of the finest cells that have records."""
        self._amounts = None
        if self._through_memory([*plan.columns, plan.watched]):
            return self.in_memory([plan.spec]).leaf_cells(plan)
        for column in dict.fromkeys([*plan.columns, plan.watched]):
            if column is not None or self.weight_name is not None:
                self._refuse_large_sums(column)
        found = None
        if not plan.summed and not self.key_modulus:
            found = self._counted(plan.spec)
        else:
            self._amounts = self._amounts_of(plan.spec, plan.spec.top) if self._single(plan) else None
            found = (
                None if self._amounts is None else leaves_of_amounts(self._amounts, self.data.record_key is not None)
            )
        return self._summed_cells(plan) if found is None else found

    def _single(self, plan: ColumnPlan) -> bool:
        """Whether amounts of single records are all that a table needs: one value, no weights, nobody to be named."""
        data, spec = self.data, plan.spec
        others = data.contributor or data.waiver or data.request or self.weight_name or spec.holders or spec.absolute
        return not others and plan.summed == [spec.value] == [plan.watched] and not signed(spec.hierarchies)

    def contributions(self, plan: ColumnPlan, level: str, wanted: WantedLists) -> tuple[Contributions, Holders | None]:
        """Contributors of every cell, of which sums know all that is asked where every record is one."""
        from discreet.engine.column_kernels import LARGEST

        found = self._amounts
        if found is None or not self._single(plan) or found.known.shape[1] != LARGEST + wanted.kept:
            return super().contributions(plan, level, wanted)
        return contributions_of_amounts(found, wanted.above, len(wanted.cells), wanted.top), None

    def amounts_by_size(self, spec: TableSpec, top: int) -> AmountCells | None:
        """What noise for magnitudes needs of the finest cells; nothing where it takes a look at each record."""
        if self.weight_name is not None or self._through_memory([spec.value]):
            return None
        self._refuse_large_sums(spec.value)
        return self._amounts_of(spec, top, by_size=True)

    def _amounts_of(self, spec: TableSpec, top: int, *, by_size: bool = False) -> AmountCells | None:
        """Sums and largest amounts in one pass; nothing where cells are too many, or units not those of the column."""
        numbered = {variable: self._numbered(variable, hierarchy) for variable, hierarchy in spec.by.items()}
        space = code_space([len(one.distinct) for one in numbered.values()])
        value = str(spec.value)
        if self.key_modulus or space > MOST_SUMS:
            return None
        if self._decimals(value) != self.columns.numbers_part(value).decimals:
            return None
        keys = self.columns.keys if self.data.record_key is not None else None
        strides = strides_of([len(h) for h in spec.hierarchies])
        return amounts_of_cells(
            self.columns, self.universe, numbered, strides, self.columns.numbers(value), keys, top, by_size=by_size
        )

    def _summed_cells(self, plan: ColumnPlan) -> LeafCells:
        spec, amounts = plan.spec, plan.spec.value is not None
        shape = tuple(len(h) for h in spec.hierarchies)
        sums = LeafSums(shape, len(plan.summed) + amounts, self.key_modulus, self.data.record_key is not None)
        columns = self._keys_of(spec.by)
        for part in self.universe.parts():
            parts = [self._summed(column, part) for column in plan.summed]
            if amounts:  # how many records have a value other than zero
                parts.append((parts[0] != 0).astype(np.int64))
            stacked = np.stack(parts) if parts else np.zeros((0, 0), np.int64)
            sums.add(self._cells(part, columns), stacked, self._record_keys(part))
        leaf = sums.finish()
        return leaf._replace(sums=leaf.sums[:-1], nonzero=leaf.sums[-1]) if amounts else leaf

    def _counted(self, spec: TableSpec) -> LeafCells | None:
        """Finest cells from counters; nothing where these have no room."""
        found = self.packed(spec.by)
        if found is None:
            return None
        keyed = self.data.record_key is not None
        return leaves_of_counters(
            found.counters, found.shift, found.numbered, strides_of([len(h) for h in spec.hierarchies]), keyed
        )

    def packed(self, by: Mapping[str, Hierarchy]) -> PackedCells | None:
        """Counts and sums of whole record keys, in one counter a cell; nothing where that has no room for both."""
        numbered = [self._numbered(variable, hierarchy) for variable, hierarchy in by.items()]
        sizes = [len(one.distinct) for one in numbered]
        space = code_space(sizes)
        keyed = self.data.record_key is not None
        shift = 64 - len(self.columns).bit_length() if keyed else 0
        kept = self.columns.manifest.keys
        reach = 1 if not keyed or kept is None else kept.reach
        if space > MOST_COUNTERS or (keyed and self.universe.records * (reach - 1) >= 2**shift):
            return None
        names = list(by)
        cubes = [one for one in self._cubes() if one.covers(names, shift)]
        cube = min(cubes, key=lambda one: len(one.packed), default=None)
        if cube is not None:
            counters = cube.counters(names, [one.look_up for one in numbered], sizes)
        else:
            counters = counted(
                self.columns, self.universe, names, numbered, self.columns.keys if keyed else None, shift
            )
        return PackedCells(counters, shift, numbered)

    def _cubes(self) -> list[Cube]:
        return cubes_of(self.columns) if whole(self.columns, self.universe) else []

    def make_cube(self, names: Sequence[str]) -> bool:
        """Count all records by some variables, for all tables by those; whether that is worth it."""
        keyed = self.data.record_key is not None
        kept, space = self.columns.manifest.keys, code_space([len(self.columns.base_codes(name)) for name in names])
        shift = 64 - len(self.columns).bit_length() if keyed else 0
        reach = 1 if not keyed or kept is None else kept.reach
        if space > MOST_COUNTERS or (keyed and len(self.columns) * (reach - 1) >= 2**shift):
            return False
        none = np.zeros(0, np.int64)
        plain = [Recoded(none, np.arange(len(self.columns.base_codes(name))), none) for name in names]
        keys = self.columns.keys if keyed else None
        cube = cube_of(self.columns, names, counted(self.columns, self.universe, names, plain, keys, shift), shift)
        if cube is not None:
            cubes_of(self.columns).append(cube)
        return cube is not None

    def contributors(self, plan: ColumnPlan, level: str, rows: RowFinder) -> Iterator[ContributorRecords]:
        """The records for a level: those of holdings in one part, single records in several."""
        if self._through_memory([plan.watched, plan.spec.value]):
            yield from self.in_memory([plan.spec]).contributors(plan, level, rows)
            return
        columns, holding = self._keys_of(plan.spec.by), level == "holding"
        none = np.zeros(0, np.int64)
        named, valued = plan.names_holders(level), plan.gives_values(level)
        found = []
        for part in self.universe.parts(LARGE_PART):
            one = ContributorRecords(
                rows(self._cells(part, columns)),
                np.ascontiguousarray(part.of(self.columns.contributor), np.int64) if holding else None,
                int(self.columns.manifest.contributor.number) if holding and self.columns.manifest.contributor else 0,
                self._own(plan.watched, part),
                self._weighted(plan.watched, part),
                self._flags(part),
                self._requests(part),
                self._summed(plan.spec.value, part) if valued else none,
                self._places(part) if named and not holding else none,
            )
            if holding:
                found.append(one)
            else:
                yield one
        if holding:
            identity = np.array(self.columns.identities, np.int64) if named else none
            whole = [np.concatenate(arrays) for arrays in zip(*(_arrays(one) for one in found), strict=True)]
            leaf, contributor, own, weighted, waived, requested, value = whole
            yield ContributorRecords(
                leaf, contributor, found[0].contributors, own, weighted, waived, requested, value, identity
            )

    def _places(self, part: Span) -> Ints:
        """Where some records stood in the source."""
        if self.columns.places is None:
            found = np.arange(part.span.start, part.span.stop, dtype=np.int64)
            return found if part.inside is None else found[part.inside]
        return np.ascontiguousarray(part.of(self.columns.places), np.int64)

    def keyed(self, spec: TableSpec) -> Iterator[KeyedAmounts]:
        """All records with their record keys, block by block."""
        if self._through_memory([spec.value]):
            yield from self.in_memory([spec]).keyed(spec)
            return
        self._refuse_large_sums(spec.value)
        columns = self._keys_of(spec.by)
        for part in self.universe.parts():
            yield KeyedAmounts(self._cells(part, columns), self._summed(spec.value, part), self._record_keys(part))

    # ---- through memory -----------------------------------------------------------------------------------

    def in_memory(self, specs: Sequence[TableSpec]) -> Records:
        """The same records in memory, in the order of the source."""
        codes, numeric = needed_columns(self.data, specs, self.weight_name)
        names = [*codes, *numeric, *([self.data.contributor] if self.data.contributor else [])]
        return Records(
            _as_table(self.columns, self.universe, names, set(codes), placed=True), self.data, self.weight_name
        )

    def _memory(self, numeric: Sequence[str]) -> Records:
        """Some numbers, and the weight, in memory."""
        names = [*numeric, *([self.weight_name] if self.weight_name else [])]
        key = ("memory", (tuple(names), self.weight_name))
        if key not in self.universe.kept:
            frame = _as_table(self.columns, self.universe, names, set())
            self.universe.kept[key] = Records(frame, self.data, self.weight_name)
        found: Records = self.universe.kept[key]
        return found


def _arrays(one: ContributorRecords) -> tuple[Any, ...]:
    return one.leaf, one.contributor, one.own, one.weighted, one.waived, one.requested, one.value


def _as_table(
    columns: Columns, universe: Selected, names: Sequence[str], text: set[str], placed: bool = False
) -> pa.Table:
    """Columns of a universe as an Arrow table, in the order of the source."""
    import pyarrow as pa

    rows: Any = np.concatenate(
        [
            np.arange(part.span.start, part.span.stop) if part.inside is None else part.span.start + part.inside
            for part in universe.parts(LARGE_PART)
        ]
    )
    places = rows if columns.places is None else columns.places[rows].astype(np.int64)
    order = np.argsort(places)
    rows, places = rows[order], places[order]
    found = {name: _arrow(columns, name, name in text, rows) for name in dict.fromkeys(names)}
    if placed:
        found[PLACE] = pa.array(places)
    return pa.table(found)


def _arrow(columns: Columns, name: str, text: bool, rows: Ints) -> Any:
    import pyarrow as pa

    manifest = columns.manifest
    if manifest.keys is not None and name == manifest.keys.name:
        keys = columns.keys[rows].astype(np.int64)
        return pa.array(keys / float(manifest.keys.modulus) if manifest.keys.modulus else keys)
    if manifest.contributor is not None and name == manifest.contributor.name:
        return pa.array(np.asarray(columns.identities)[columns.contributor[rows]])
    if name in manifest.numbers and (not text or name not in manifest.codes):
        part = manifest.numbers[name]
        raw = columns.numbers(name)[rows]
        if part.source == "flag":
            return pa.array(raw.astype(np.bool_))
        if part.source == "decimal":
            halves = np.stack([raw, raw >> 63], axis=1)  # the lower and the upper half of each number
            return pa.Array.from_buffers(
                pa.decimal128(38, part.decimals), len(raw), [None, pa.py_buffer(halves.tobytes())]
            )
        return pa.array(raw / 10.0**part.decimals if part.source == "number" and part.column.kind == "i8" else raw)
    codes = columns.base_codes(name)
    numbers = columns.codes(name)[rows].astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(codes, pa.string()))
