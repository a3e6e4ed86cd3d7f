"""Records as integers: codes by position, amounts in exact units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.engine.cells import LeafCells, LeafSums, RowFinder, strides_of
from discreet.engine.checks import (
    PLAIN_TEXT,
    bad_record_keys,
    bad_requests,
    empty_codes,
    empty_contributors,
    not_positive,
    refuse_alike_contributors,
    refuse_large_sums,
)
from discreet.engine.contributions import ContributorRecords
from discreet.engine.identities import identities_of
from discreet.engine.plan import ColumnPlan, Scale
from discreet.engine.protocol import KeyedAmounts, OpenedRecords
from discreet.errors import DiscreetError, InputError, unknown_codes, unknown_name
from discreet.files.frames import PLACE, code_text, exact_numbers, flags, numbers, read_columns, rows_of_file
from discreet.model.arrays import Bools, Codes, Ints, Status
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.units import MANY_DECIMALS, choose_decimals, decimals_of, to_units, written_exactly
from discreet.progress import during
from discreet.room import require

if TYPE_CHECKING:
    import pyarrow as pa

WEIGHT_DECIMALS = 6
KEY_MODULUS = 10**15
BLOCK = 2**16
SMALL_BATCH = 2**14
MOST_ENCODED = 256
"""Columns of codes that are kept encoded, by hierarchy."""
NUMBER_BYTES = 8
KEPT = ("weight", "_contributors", "identities", "key_modulus")
"""What is worked out once of records, and stays as it is when further columns are added."""


class Amounts(NamedTuple):
    """One numeric column in units: what each record has, and what it stands for with its weight.

    Both are in units of the sums. Without weights ``weighted`` is empty.
    """

    own: Ints
    weighted: Ints
    scale: Scale

    @property
    def summed(self) -> Ints:
        """What cells add up."""
        return self.weighted if len(self.weighted) else self.own


class Block(NamedTuple):
    """Some consecutive records: where they stand, the keys of their finest cells, their record keys."""

    span: slice
    cells: Ints
    record_key: Ints


class CodeColumn(NamedTuple):
    """Codes of one batch of records: index into a dictionary, and the dictionary's positions in the hierarchy."""

    indices: Codes
    positions: Codes


class Numbered(NamedTuple):
    """Number of each record's contributor, and the Arrow array of contributors that the numbers refer to."""

    number: Ints
    values: Any


@dataclass(eq=False)
class Records(OpenedRecords):
    """Encoded records of one universe in memory; columns are encoded when first asked for.

    Several threads may ask at once: the frame never changes, and what is encoded is kept under a lock.
    """

    frame: pa.Table
    data: Microdata
    weight_name: str | None
    _codes: dict[tuple[str, int], tuple[Hierarchy, list[CodeColumn]]] = field(default_factory=dict)
    _amounts: dict[str | None, Amounts] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock, repr=False)

    def __post_init__(self) -> None:
        # Each batch costs some work of its own; many small ones are put together.
        if any(column.num_chunks * SMALL_BATCH > len(self) + SMALL_BATCH for column in self.frame.columns):
            self.frame = self.frame.unify_dictionaries().combine_chunks()

    def __len__(self) -> int:
        return int(self.frame.num_rows)

    @cached_property
    def _batches(self) -> list[pa.RecordBatch]:
        return list(self.frame.to_batches())

    def with_columns(self, columns: Mapping[str, pa.ChunkedArray]) -> Records:
        """The same with columns that a further question needs, in the same pieces as the others.

        What is encoded is shared. Whoever works with these records goes on with the columns that it has.
        """
        frame = self.frame
        for name, column in columns.items():
            frame = frame.append_column(name, column)
        found = Records(frame, self.data, self.weight_name, self._codes, self._amounts, self._lock)
        for name in KEPT:
            if name in self.__dict__:
                found.__dict__[name] = self.__dict__[name]
        return found

    def codes(self, variable: str, hierarchy: Hierarchy) -> list[CodeColumn]:
        """Codes of a variable, batch by batch."""
        key = (variable, id(hierarchy))
        with self._lock:
            if key not in self._codes:
                columns = [batch.column(variable) for batch in self._batches]
                missing, recode = self.data.missing.get(variable), self.data.recode.get(variable, {})
                # The hierarchy is kept with its codes: another one could have its number once it is gone.
                self._codes[key] = hierarchy, encode_codes(columns, variable, hierarchy, missing, recode)
                if len(self._codes) > MOST_ENCODED:
                    del self._codes[next(iter(self._codes))]
            return self._codes[key][1]

    def blocks(self, by: Mapping[str, Hierarchy]) -> Iterator[Block]:
        """All records in blocks that stay in the processor's cache; a block's arrays are used again for the next."""
        columns = [self.codes(variable, hierarchy) for variable, hierarchy in by.items()]
        strides = strides_of([len(hierarchy) for hierarchy in by.values()])
        cells, keys = np.empty((2, BLOCK), np.int64)
        offset = 0
        for number, batch in enumerate(self._batches):
            raw_keys = self._raw_keys(batch)
            for start in range(0, batch.num_rows, BLOCK):
                stop = min(start + BLOCK, batch.num_rows)
                size = stop - start
                codes = [CodeColumn(column[number].indices[start:stop], column[number].positions) for column in columns]
                number_cells(codes, strides, cells[:size])
                record_key = self._record_keys(raw_keys[start:stop], keys)
                yield Block(slice(offset + start, offset + stop), cells[:size], record_key)
            offset += batch.num_rows

    def amounts(self, variable: str | None) -> Amounts:
        """Amounts of a variable; ``None`` counts every record once."""
        with self._lock:
            if variable not in self._amounts:
                self._amounts[variable] = self._encode_amounts(variable)
            return self._amounts[variable]

    def scale(self, variable: str | None) -> Scale:
        """Decimals of a variable; ``None`` counts records."""
        if variable is None:
            decimals = 0 if self.weight is None else self.weight[1]
            return Scale(decimals, 0)
        return self.amounts(variable).scale

    def _encode_amounts(self, variable: str | None) -> Amounts:
        if variable is None:
            own, decimals, exact = np.ones(len(self), np.int64), 0, True
        else:
            raw = exact_numbers(self.frame, variable)
            decimals = decimals_of(raw, variable)
            own = to_units(raw, decimals, variable)
            exact = (
                decimals <= MANY_DECIMALS
                or raw.dtype.kind != "f"
                or written_exactly([raw.astype(np.float64, copy=False)], decimals)
            )
        if self.weight is None:
            refuse_large_sums(variable, float(np.abs(own).sum(dtype=np.float64)))
            return Amounts(own, np.zeros(0, np.int64), Scale(decimals, decimals, exact))
        weight, weight_decimals = self.weight
        unit = np.int64(10**weight_decimals)
        magnitude = np.abs(own.astype(np.float64))
        refuse_large_sums(variable, float((magnitude * weight).sum()), float(magnitude.sum()) * float(unit))
        return Amounts(own * unit, own * weight, Scale(decimals + weight_decimals, decimals, exact))

    @cached_property
    def weight(self) -> tuple[Ints, int] | None:
        """Weights in units and their decimals."""
        name = self.weight_name
        if name is None:
            return None
        raw = numbers(self.frame, name)
        decimals = 0
        if raw.dtype.kind == "f":
            decimals = min(choose_decimals(raw.astype(np.float64, copy=False), name), WEIGHT_DECIMALS)
        units = to_units(raw, decimals, name)
        wrong = np.flatnonzero(units <= 0)
        if len(wrong):
            raise not_positive(name, len(wrong), int(wrong[0]), WEIGHT_DECIMALS)
        return units, decimals

    @property
    def lightest(self) -> float | None:
        """The smallest weight."""
        return None if self.weight is None else float(self.weight[0].min()) / 10 ** self.weight[1]

    def contributor(self) -> tuple[Ints, int]:
        """Number of each record's contributor, and how many numbers there are; some may be left out."""
        number, values = self._contributors
        return number, len(values)

    @cached_property
    def identities(self) -> Ints:
        """Identity of each numbered contributor; of each record, its place in the file, where every record is one."""
        if self.data.contributor:
            return identities_of(self._contributors.values)
        if PLACE in self.frame.column_names:
            return np.array(self.frame[PLACE].to_numpy(), np.int64)
        return np.arange(len(self), dtype=np.int64)

    @cached_property
    def _contributors(self) -> Numbered:
        name = self.data.contributor
        column = self.frame[name]
        if column.null_count:
            raise empty_contributors(str(name), column.null_count)
        found = number_contributors(column)
        refuse_alike(str(name), found.values)
        return found

    def waived(self) -> Bools:
        """Whose records may be published."""
        return np.zeros(0, np.bool_) if self.data.waiver is None else flags(self.frame, self.data.waiver)

    def requested(self) -> Status:
        """Requests for protection: 0, 1 or 2."""
        if self.data.request is None:
            return np.zeros(0, np.int8)
        raw = numbers(self.frame, self.data.request)
        if not np.isin(raw, (0, 1, 2)).all():
            raise bad_requests(self.data.request)
        return np.array(raw, dtype=np.int8)

    @cached_property
    def key_modulus(self) -> int:
        """What sums of record keys are taken to: whole numbers are added up as they are, which is 0."""
        import pyarrow as pa

        name = self.data.record_key
        return 0 if name is None or pa.types.is_integer(self.frame.schema.field(name).type) else KEY_MODULUS

    def _raw_keys(self, batch: pa.RecordBatch) -> Any:
        """Record keys of a batch as they stand there."""
        name = self.data.record_key
        if name is None:
            return np.zeros(0)
        column = batch.column(name)
        if column.null_count:
            raise self._wrong_keys()
        raw = column.to_numpy(zero_copy_only=False)
        return raw if raw.dtype.kind in "iuf" else np.full(len(raw), np.nan)

    def _record_keys(self, raw: Any, buffer: Ints) -> Ints:
        """Record keys as integers."""
        from discreet.engine.kernels import fractions_to_units

        keys = buffer[: len(raw)]
        if self.key_modulus:
            if not fractions_to_units(raw.astype(np.float64, copy=False), self.key_modulus, keys):
                raise self._wrong_keys()
        elif len(raw):
            # Numbers below zero are very large ones without their sign.
            wide = raw if raw.dtype.itemsize >= 4 else raw.astype(np.int64)
            if wide.view(f"u{wide.dtype.itemsize}").max() >= 2**31:
                raise self._wrong_keys()
            keys[:] = raw
        return keys

    # ---- what tables and methods ask for ------------------------------------------------------------------

    def leaf_cells(self, plan: ColumnPlan) -> LeafCells:
        """Sums of the finest cells that have records."""
        spec = plan.spec
        columns = [self.amounts(column).summed for column in plan.summed]
        shape = tuple(len(h) for h in spec.hierarchies)
        amounts = spec.value is not None
        sums = LeafSums(shape, len(columns) + amounts, self.key_modulus, self.data.record_key is not None)
        for block in self.blocks(spec.by):
            parts = [column[block.span] for column in columns]
            if amounts:  # how many records have a value other than zero
                parts.append((parts[0] != 0).astype(np.int64))
            sums.add(block.cells, np.stack(parts) if parts else np.zeros((0, 0), np.int64), block.record_key)
        leaf = sums.finish()
        return leaf._replace(sums=leaf.sums[:-1], nonzero=leaf.sums[-1]) if amounts else leaf

    def contributors(self, plan: ColumnPlan, level: str, rows: RowFinder) -> Iterator[ContributorRecords]:
        """All records in one part."""
        own, weighted, _ = self.amounts(plan.watched)
        contributor, number = self.contributor() if level == "holding" else (None, 0)
        leaf = np.concatenate([rows(block.cells) for block in self.blocks(plan.spec.by)])
        none = np.zeros(0, np.int64)
        value = self.amounts(plan.spec.value).summed if plan.gives_values(level) else none
        identity = self.identities if plan.names_holders(level) else none
        yield ContributorRecords(
            leaf, contributor, number, own, weighted, self.waived(), self.requested(), value, identity
        )

    def keyed(self, spec: TableSpec) -> Iterator[KeyedAmounts]:
        """All records with their record keys, block by block."""
        amount = self.amounts(spec.value).summed
        for block in self.blocks(spec.by):
            yield KeyedAmounts(block.cells, amount[block.span], block.record_key)

    def _wrong_keys(self) -> DiscreetError:
        name = str(self.data.record_key)
        numbers(self.frame, name)  # says what is wrong with gaps, text and infinities
        return bad_record_keys(name, whole=self.key_modulus == 0)


def read_records(data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> Records:
    """Read the columns that some specs of one universe need."""
    codes, numeric = needed_columns(data, specs, weight)
    columns = [*codes, *numeric, *([data.contributor] if data.contributor else [])]
    placed = not data.contributor and any(spec.holders for spec in specs)
    require_room(data, len(columns))
    with during("read"):
        table = read_columns(
            data.source,
            columns,
            text=codes,
            where=specs[0].where,
            delimiter=data.delimiter,
            placed=placed,
            unified=False,
        )
    return Records(table, data, weight)


def require_room(data: Microdata, columns: int) -> None:
    """Refuse a file whose columns memory cannot hold, before it is read: as read, and as whole numbers."""
    if isinstance(data.source, str | Path):
        rows = rows_of_file(Path(data.source))
        require(
            2 * NUMBER_BYTES * rows * columns,
            f"Reading about {rows:,} records of {Path(data.source).name!r}",
            'Use engine = "duckdb", which reads files larger than memory; or read fewer columns.',
        )


def needed_columns(data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> tuple[list[str], list[str]]:
    """Columns of codes and columns of numbers that some specs of one universe need."""
    codes = dict.fromkeys(variable for spec in specs for variable in spec.variables)
    numeric = [name for spec in specs for name in (spec.value, spec.shadow, spec.cost)]
    roles = [weight, data.waiver, data.request, data.record_key]
    return list(codes), list(dict.fromkeys(name for name in [*numeric, *roles] if name))


def encode_codes(
    columns: Sequence[Any], variable: str, hierarchy: Hierarchy, missing: str | None, recode: Mapping[str, str]
) -> list[CodeColumn]:
    """Code columns of any type as positions in a hierarchy; only base codes may occur."""
    gaps = sum(column.null_count for column in columns)
    missing_position = position_of_gaps(variable, hierarchy, missing, gaps)
    result: list[CodeColumn] = []
    unknown: dict[str, int] = {}
    coded = [column if hasattr(column, "dictionary") else column.dictionary_encode() for column in columns]
    for encoded, found in zip(coded, _positions([one.dictionary for one in coded], hierarchy, recode), strict=True):
        dictionary, positions = encoded.dictionary, np.append(found, np.int32(missing_position))
        indices = encoded.indices
        if indices.null_count:
            indices = indices.fill_null(len(positions) - 1)
        where = indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        if np.any(positions[:-1] < 0):
            counts = np.bincount(where, minlength=len(positions))
            for i in np.flatnonzero((positions[:-1] < 0) & (counts[:-1] > 0)).tolist():
                code = recoded(dictionary[i].as_py(), recode)
                unknown[code] = unknown.get(code, 0) + int(counts[i])
        result.append(CodeColumn(where, positions))
    if unknown:
        raise unknown_codes(variable, unknown)
    return result


def number_cells(columns: Sequence[CodeColumn], strides: Sequence[int], cells: Ints) -> None:
    """Write the keys of the finest cells of some records."""
    from discreet.engine.kernels import add_codes

    coded = [(*column, stride) for column, stride in zip(columns, strides, strict=True)]
    for k in range(0, len(coded), 3):
        # Where there are less than three, the first goes along without adding anything.
        filling = [(*columns[k], 0)] * (3 - len(coded[k : k + 3]))
        one, two, three = [*coded[k : k + 3], *filling]
        add_codes(*one, *two, *three, k == 0, cells)


def position_of_gaps(variable: str, hierarchy: Hierarchy, missing: str | None, gaps: int) -> int:
    """Position of the code under which empty fields count; an error when there are some and none is given."""
    if not gaps:
        return -1
    if missing is None:
        raise empty_codes(variable, gaps)
    if str(missing) not in hierarchy.index:
        raise InputError(
            unknown_name("code", str(missing), hierarchy.codes, f"the hierarchy of {variable!r} (missing)"),
            hint="Empty fields are counted under a base code of the hierarchy: add this one, or name another.",
        )
    place = hierarchy.position(str(missing))
    if not hierarchy.base[place]:
        raise unknown_codes(variable, {str(missing): gaps})
    return place


def base_positions(codes: Sequence[str], hierarchy: Hierarchy) -> Codes:
    """Positions of base codes, -1 for everything else."""
    positions = np.array([hierarchy.index.get(code, -1) for code in codes], dtype=np.int32)
    positions[(positions >= 0) & ~hierarchy.base[positions]] = -1
    return positions


def _positions(dictionaries: Sequence[Any], hierarchy: Hierarchy, recode: Mapping[str, str]) -> list[Codes]:
    """Positions in a hierarchy of the codes of each dictionary; all texts are looked up at once, which is faster."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = {dictionary.type for dictionary in dictionaries}
    if recode or len(kinds) != 1 or not kinds <= {pa.string(), pa.large_string()}:
        return [base_positions([recoded(code, recode) for code in one.to_pylist()], hierarchy) for one in dictionaries]
    # Batches from one row group of a Parquet file have one dictionary.
    starts = [k for k, one in enumerate(dictionaries) if not k or not one.equals(dictionaries[k - 1])]
    distinct = [dictionaries[k] for k in starts]
    texts = distinct[0] if len(distinct) == 1 else pa.concat_arrays(distinct)
    looked_up = pc.index_in(texts, value_set=pa.array(hierarchy.codes, texts.type)).fill_null(-1)
    found: Codes = looked_up.to_numpy(zero_copy_only=False).astype(np.int32)
    found[(found >= 0) & ~hierarchy.base[found]] = -1
    ends = np.cumsum([len(one) for one in distinct])[:-1]
    repeats = np.diff([*starts, len(dictionaries)]).tolist()
    return [own for own, count in zip(np.split(found, ends), repeats, strict=True) for _ in range(count)]


def recoded(value: Any, recode: Mapping[str, str]) -> str:
    """A code as text, the new one where it has changed."""
    text = code_text(value)
    return recode.get(text, text)


def refuse_alike(name: str, values: Any) -> None:
    """Refuse contributors that look the same, of an Arrow array in which each stands once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return
    odd = values.filter(pc.invert(pc.match_substring_regex(values, f"^(?:{PLAIN_TEXT})$")))
    refuse_alike_contributors(
        name,
        odd.to_pylist(),
        lambda wanted: values.filter(pc.is_in(values, value_set=pa.array(wanted, values.type))).to_pylist(),
    )


def number_contributors(column: Any) -> Numbered:
    """Numbers for the values of an Arrow column; whole numbers that lie close together stay as they are."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        raw = column.to_numpy()
        low, high = int(raw.min(initial=0)), int(raw.max(initial=0))
        if high < 2**63 and high - low <= 4 * len(raw) + 1024:
            return Numbered(raw.astype(np.int64) - low, pa.array(np.arange(low, high + 1)))
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], type=whole.type)
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    return Numbered(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary)
