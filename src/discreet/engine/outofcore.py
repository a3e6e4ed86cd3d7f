"""Tabulation of files larger than memory, through duckdb.

The records are read once, encoded and kept in a temporary database; what comes back are the sums of the finest cells
and, contributor by contributor, as many records at a time as memory takes. The rest is the same code as in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.cells import LeafCells, RowFinder, strides_of
from discreet.engine.checks import (
    PLAIN_TEXT,
    bad_flags,
    bad_record_keys,
    bad_requests,
    empty_contributors,
    not_positive,
    refuse_alike_contributors,
    refuse_large_sums,
)
from discreet.engine.contributions import ContributorRecords
from discreet.engine.encode import (
    KEY_MODULUS,
    WEIGHT_DECIMALS,
    Records,
    base_positions,
    needed_columns,
    position_of_gaps,
    recoded,
    require_room,
)
from discreet.engine.identities import identities_of
from discreet.engine.plan import ColumnPlan, Scale
from discreet.engine.protocol import KeyedAmounts, OpenedRecords
from discreet.engine.record_keys import MADE_KEY, MadeKeys, no_identifier, same_identifier
from discreet.engine.staging import Session, Source, opened
from discreet.errors import ParameterError, unknown_codes
from discreet.files.frames import bad_numbers, column_names, no_record_left, numbers
from discreet.model.arrays import Floats, Ints
from discreet.model.condition import Condition
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.units import MANY_DECIMALS, choose_decimals_of, to_units, written_exactly
from discreet.progress import checkpoint

if TYPE_CHECKING:
    import pyarrow as pa

PART = 2**21
"""About as many records are in memory at a time."""
SORTED_PARTS = 16
"""From so many parts on the database keeps each of them together."""
MOST_UNKNOWN = 10**6


class DuckdbEngine:
    """Csv and Parquet files of any size, which are read once for all questions of a universe and weight."""

    name = "duckdb"

    @contextmanager
    def open(
        self, data: Microdata, specs: Sequence[TableSpec], weight: str | None, keys: MadeKeys | None = None
    ) -> Iterator[FileRecords]:
        """Records in a temporary database; errors have the words of the engine in memory."""
        path = _path(data)
        with opened() as session:
            yield FileRecords(session, path, data, specs, weight, keys)

    def names(self, data: Microdata) -> list[str]:
        """Names of the columns of the file."""
        return column_names(data.source, data.delimiter)

    def pieces(
        self, data: Microdata, names: Iterable[str], text: Iterable[str] = (), where: Sequence[Condition] = ()
    ) -> Iterator[pa.Table]:
        """Columns of the records of a universe, in the order of the file."""
        path, wanted = _path(data), list(dict.fromkeys(names))
        with opened() as session:
            words = [*text, *(c.column for c in where if any(isinstance(v, str) for v in c.values))]
            needed = [*wanted, *(c.column for c in where)]
            source = Source(session, path, needed, words, data.delimiter, placed=True)
            condition, values = source.where(where)
            session.connection.execute("SET preserve_insertion_order = true")
            columns = ", ".join(f'{source.raw(name)} AS "{i}"' for i, name in enumerate(wanted))
            query = f"SELECT {columns} FROM {source.relation} WHERE {condition}"
            empty = True
            for piece in session.streamed("read", query, PART, {**source.parameters, **values}):
                empty = False
                yield piece.rename_columns(wanted)
            if empty:
                raise no_record_left(where)

    def keys(self, data: Microdata) -> Any:
        """Record keys of all records, in memory."""
        name = str(data.record_key)
        return np.concatenate([numbers(piece, name) for piece in self.pieces(data, [name])])

    def kept(self, data: Microdata) -> dict[str, Any] | None:
        """Nothing: a file may change."""
        return None

    def records(self, data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> Records:
        """The records in memory, for methods that change single ones."""
        import pyarrow as pa

        codes, numeric = needed_columns(data, specs, weight)
        columns = [*codes, *numeric, *([data.contributor] if data.contributor else [])]
        require_room(data, len(columns))
        return Records(pa.concat_tables(self.pieces(data, columns, codes, specs[0].where)), data, weight)


ENGINE = DuckdbEngine()


def _path(data: Microdata) -> Path:
    if not isinstance(data.source, Path):
        raise ParameterError(
            "engine='duckdb' reads files, and these data are in memory already.",
            hint="Use engine='memory', or give the path of a csv or Parquet file.",
        )
    return data.source


class FileRecords(OpenedRecords):
    """Encoded records of one universe in the table ``staged`` of a database.

    Columns of ``staged``: ``k0``, ``k1``, ... positions of codes; ``n0``, ``n1``, ... numbers, as 64-bit integers or
    floating-point numbers; ``contributor``, and the ``part`` that all records of a contributor are in, or the
    ``place`` of each record in the file; ``identifier`` while record keys are made of it, which then stand in the
    numbers.
    """

    def __init__(
        self,
        session: Session,
        path: Path,
        data: Microdata,
        specs: Sequence[TableSpec],
        weight: str | None,
        keys: MadeKeys | None = None,
    ) -> None:
        self.session = session
        self.data = data = data if keys is None else data.with_(record_key=None)
        self.weight_name = weight
        codes, numeric = needed_columns(data, specs, weight)
        conditions = specs[0].where
        text = [*codes, *(c.column for c in conditions if any(isinstance(v, str) for v in c.values))]
        needed = [*codes, *numeric, *([data.contributor] if data.contributor else [])]
        needed += [condition.column for condition in conditions]
        needed += [] if keys is None else [keys.identifier]
        self._placed = not data.contributor and any(spec.holders for spec in specs)
        self.source = Source(session, path, needed, text, data.delimiter, self._placed)
        self._where, self._values = self.source.where(conditions)
        self._numeric = {name: f"n{i}" for i, name in enumerate(numeric)}
        self._codes: dict[tuple[str, int], str] = {}
        self._decimals: dict[str, int] = {}
        self._exact: dict[str, bool] = {}
        self._refuse_text()
        if keys is not None:
            self._refuse_bad_identifiers(keys.identifier)
        self._stage(specs, keys)
        if not self._records:
            raise no_record_left(conditions)
        self._refuse_bad_numbers()
        self._refuse_bad_roles()
        if keys is not None:
            self._make_keys(keys)

    # ---- staging ------------------------------------------------------------------------------------------

    def _stage(self, specs: Sequence[TableSpec], keys: MadeKeys | None) -> None:
        columns: list[str] = []
        joins: list[str] = []
        by = {(v, id(h)): (v, h) for spec in specs for v, h in spec.by.items()}
        for number, (key, (variable, hierarchy)) in enumerate(by.items()):
            column = self.source.column(variable)
            missing = self._make_code_table(f"codes{number}", variable, hierarchy)
            columns.append(f"CASE WHEN {column} IS NULL THEN {missing} ELSE codes{number}.position END AS k{number}")
            joins.append(f"LEFT JOIN codes{number} ON {column} = codes{number}.code")
            self._codes[key] = f"k{number}"
        for name, short in self._numeric.items():
            column = self.source.column(name)
            columns.append(f"CAST({column} AS {'DOUBLE' if self._is_float(name) else 'BIGINT'}) AS {short}")
        source = f"{self.source.relation} {' '.join(joins)} WHERE {self._where}"
        parameters = {**self.source.parameters, **self._values}
        self._parts = 1
        order = ""
        if self.data.contributor:
            records = self.session.rows(f"SELECT count(*) FROM {self.source.relation}", self.source.parameters)[0][0]
            self._parts = -(-records // PART)
            contributor = self.source.raw(self.data.contributor)
            columns.append(
                f"{contributor} AS contributor, CAST(hash({contributor}) % {self._parts} AS INTEGER) AS part"
            )
            order = "ORDER BY part" if self._parts >= SORTED_PARTS else ""
        if self._placed:
            columns.append(f"{self.source.place} AS place")
        if keys is not None:
            columns.append(f"{self.source.raw(keys.identifier)} AS identifier")
        self.session.run(
            "read", f"CREATE TABLE staged AS SELECT {', '.join(columns)} FROM {source} {order}", parameters
        )
        if self.source.is_csv:
            self.session.connection.execute("DROP TABLE raw")
        self._count_records()

    def _count_records(self) -> None:
        self._records, self._last = self.session.rows("SELECT count(*), max(rowid) FROM staged")[0]

    def _refuse_bad_identifiers(self, name: str) -> None:
        """Refuse gaps and doubles among all identifiers of the file, also outside the universe."""
        column = self.source.raw(name)
        gaps, again = self.session.rows(
            f"SELECT count(*) - count({column}), count({column}) - count(DISTINCT {column}) "
            f"FROM {self.source.relation}",
            self.source.parameters,
        )[0]
        if gaps:
            raise no_identifier(gaps)
        if again:
            raise same_identifier(again, again)

    def _make_keys(self, keys: MadeKeys) -> None:
        """Put record keys beside the records: identifiers come in batches, and never lie in memory all at once."""
        import pyarrow as pa

        connection = self.session.connection
        kind = "DOUBLE" if keys.modulus is None else "BIGINT"
        connection.execute(f"CREATE TABLE made (place BIGINT, identity BIGINT, record_key {kind})")
        for first in range(0, self._last + 1, PART):
            checkpoint("record keys", first, self._last + 1)
            query = f"SELECT rowid AS place, identifier FROM staged WHERE {_rows(first)}"
            found = connection.sql(query).to_arrow_table()
            identity = identities_of(found["identifier"].combine_chunks())
            made = {"place": found["place"], "identity": identity, "record_key": keys.of_identities(identity)}
            connection.register("batch", pa.table(made))
            connection.execute("INSERT INTO made SELECT * FROM batch")
            connection.unregister("batch")
        alike = self.session.rows("SELECT count(*) - count(DISTINCT identity) FROM made")[0][0]
        if alike:
            raise same_identifier(0, alike)
        short = self._numeric[MADE_KEY] = f"n{len(self._numeric)}"
        self.source.kinds[MADE_KEY] = "float" if keys.modulus is None else "integer"
        self.data = self.data.with_(record_key=MADE_KEY)
        order = "ORDER BY part" if self._parts >= SORTED_PARTS else ""
        self.session.run(
            "record keys",
            f"CREATE TABLE keyed AS SELECT staged.* EXCLUDE (identifier), made.record_key AS {short} "
            f"FROM staged JOIN made ON staged.rowid = made.place {order}",
        )
        for statement in ("DROP TABLE staged", "DROP TABLE made", "ALTER TABLE keyed RENAME TO staged"):
            connection.execute(statement)
        self._count_records()

    def _make_code_table(self, name: str, variable: str, hierarchy: Hierarchy) -> int:
        """Make a table of the codes that occur and their positions; gives the position of gaps.

        Codes that are not base codes are errors.
        """
        import pyarrow as pa

        recode = self.data.recode.get(variable, {})
        most = len(hierarchy) + len(recode) + MOST_UNKNOWN
        found = self.session.rows(
            f"SELECT {self.source.column(variable)} AS code, count(*) AS records FROM {self.source.relation} "
            f"WHERE {self._where} GROUP BY code ORDER BY records DESC, code LIMIT {most}",
            {**self.source.parameters, **self._values},
        )
        gaps = sum(count for code, count in found if code is None)
        missing = position_of_gaps(variable, hierarchy, self.data.missing.get(variable), gaps)
        counts = {code: count for code, count in found if code is not None}
        codes = [recoded(code, recode) for code in counts]
        positions = base_positions(codes, hierarchy)
        unknown: dict[str, int] = {}
        for code, position, count in zip(codes, positions.tolist(), counts.values(), strict=True):
            if position < 0:
                unknown[code] = unknown.get(code, 0) + count
        if unknown:
            raise unknown_codes(variable, unknown)
        listing = pa.array(list(counts)) if counts else pa.array([], type=pa.string())
        self.session.connection.register("listing", pa.table({"code": listing, "position": positions}))
        self.session.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM listing")
        self.session.connection.unregister("listing")
        return missing

    # ---- what is wrong with the columns -------------------------------------------------------------------

    def _refuse_text(self) -> None:
        for name in self._numeric:
            if self.source.kinds[name] not in ("integer", "float", "boolean"):
                self.source.refuse_text(name, self._where, self._values)

    def _refuse_bad_numbers(self) -> None:
        for name, short in self._numeric.items():
            wrong = {"are empty": (f"{short} IS NULL", f"{self.source.column(name)} IS NULL")}
            if self._is_float(name):
                finite = "NOT isfinite({})"
                wrong["are not finite"] = (finite.format(short), finite.format(self.source.column(name)))
            for what, (staged, original) in wrong.items():
                count = self._count(staged)
                if count:
                    first = self.source.first_record(original, self._where, self._values)
                    raise bad_numbers(name, count, first, what)

    def _refuse_bad_roles(self) -> None:
        data = self.data
        if data.contributor and self._count("contributor IS NULL"):
            raise empty_contributors(data.contributor, self._count("contributor IS NULL"))
        if data.contributor and self.source.kinds[data.contributor] == "text":
            self._refuse_alike_contributors(data.contributor)
        if data.waiver and self._count(f"{self._numeric[data.waiver]} NOT IN (0, 1)"):
            raise bad_flags(data.waiver)
        if data.request and self._count(f"{self._numeric[data.request]} NOT IN (0, 1, 2)"):
            raise bad_requests(data.request)
        if data.record_key:
            short, limit = self._numeric[data.record_key], 1 if self.key_modulus else 2**31
            if self._count(f"{short} < 0 OR {short} >= {limit}"):
                raise bad_record_keys(data.record_key, whole=not self.key_modulus)
        if self.weight_name and (wrong := self._count(f"{self._weight()} <= 0")):
            original = self._in_units(self.weight_name, self._weight_decimals, self.source.column(self.weight_name))
            first = self.source.first_record(f"{original} <= 0", self._where, self._values)
            raise not_positive(self.weight_name, wrong, first, WEIGHT_DECIMALS)

    def _refuse_alike_contributors(self, name: str) -> None:
        distinct = "SELECT DISTINCT contributor FROM staged WHERE"
        odd = self.session.rows(
            f"{distinct} NOT regexp_full_match(contributor, $plain) ORDER BY contributor", {"plain": PLAIN_TEXT}
        )

        def among(wanted: list[str]) -> list[str]:
            rows = self.session.rows(f"{distinct} contributor IN (SELECT unnest($wanted))", {"wanted": wanted})
            return [row[0] for row in rows]

        refuse_alike_contributors(name, [row[0] for row in odd], among)

    def _count(self, condition: str) -> int:
        return int(self.session.rows(f"SELECT count(*) FROM staged WHERE {condition}")[0][0])

    def _refuse_large_sums(self, column: str | None) -> None:
        own = f"CAST(abs({self._own(column)}) AS DOUBLE)"
        totals = [f"sum({own})"]
        if self.weight_name:
            totals = [f"sum({own} * CAST({self._weight()} AS DOUBLE))", f"sum({own}) * 1e{self._weight_decimals}"]
        refuse_large_sums(column, *self.session.rows(f"SELECT {', '.join(totals)} FROM staged")[0])

    # ---- amounts in exact units, in SQL -------------------------------------------------------------------

    def _is_float(self, name: str) -> bool:
        return self.source.kinds[name] == "float"

    def _pieces(self, short: str) -> Iterator[Floats]:
        for first in range(0, self._last + 1, PART):
            query = f"SELECT {short} AS piece FROM staged WHERE {_rows(first)}"
            yield self.session.arrays("decimals", query, (first, self._last + 1))["piece"]

    def _decimals_of(self, name: str) -> int:
        if name not in self._decimals:
            short = self._numeric[name]
            if self._is_float(name):
                found = choose_decimals_of(partial(self._pieces, short), name)
            else:
                to_units(self.session.rows(f"SELECT min({short}), max({short}) FROM staged")[0], 0, name)
                found = 0
            self._decimals[name] = found
        return self._decimals[name]

    def _in_units(self, name: str, decimals: int, column: str = "") -> str:
        column = column or self._numeric[name]
        # The cast rounds half to even, as the engine in memory does.
        return f"CAST({column} * 1e{decimals} AS BIGINT)" if self._is_float(name) else column

    def _own(self, column: str | None) -> str:
        return "CAST(1 AS BIGINT)" if column is None else self._in_units(column, self._decimals_of(column))

    def _weight(self) -> str:
        return self._in_units(self.weight_name, self._weight_decimals) if self.weight_name else "1"

    @property
    def _weight_decimals(self) -> int:
        return min(self._decimals_of(self.weight_name), WEIGHT_DECIMALS) if self.weight_name else 0

    def scale(self, variable: str | None) -> Scale:
        """Decimals of a variable; ``None`` counts records."""
        decimals = 0 if variable is None else self._decimals_of(variable)
        exact = variable is None or decimals <= MANY_DECIMALS or self._writes(variable, decimals)
        return Scale(decimals + self._weight_decimals, decimals, exact)

    def _writes(self, name: str, decimals: int) -> bool:
        """Whether so many decimals write a column exactly."""
        if name not in self._exact:
            self._exact[name] = written_exactly(self._pieces(self._numeric[name]), decimals)
        return self._exact[name]

    @property
    def lightest(self) -> float | None:
        """The smallest weight."""
        if self.weight_name is None:
            return None
        least = self.session.rows(f"SELECT min({self._weight()}) FROM staged")[0][0]
        return float(least) / 10.0**self._weight_decimals

    @property
    def key_modulus(self) -> int:
        """What sums of record keys are taken to: whole numbers are added up as they are, which is 0."""
        return 0 if not self.data.record_key or not self._is_float(self.data.record_key) else KEY_MODULUS

    # ---- tabulation ---------------------------------------------------------------------------------------

    def _cell(self, spec: TableSpec) -> str:
        """Key of a record's finest cell, in SQL."""
        strides = strides_of([len(h) for h in spec.hierarchies])
        codes = [self._codes[variable, id(hierarchy)] for variable, hierarchy in spec.by.items()]
        return " + ".join(f"CAST({k} AS BIGINT) * {stride}" for k, stride in zip(codes, strides, strict=True))

    def leaf_cells(self, plan: ColumnPlan) -> LeafCells:
        """Sums of the finest cells that have records."""
        for column in dict.fromkeys([*plan.columns, plan.watched]):
            self._refuse_large_sums(column)
        sums = [f"CAST(sum({self._own(c)} * {self._weight()}) AS BIGINT) AS s{i}" for i, c in enumerate(plan.summed)]
        if self.data.record_key:
            total = f"sum({self._record_key()})" + (f" % {self.key_modulus}" if self.key_modulus else "")
            sums.append(f"CAST({total} AS BIGINT) AS key_sum")
        if plan.spec.value is not None:
            sums.append(f"count(*) FILTER ({self._own(plan.spec.value)} <> 0) AS nonzero")
        selected = ", ".join([f"{self._cell(plan.spec)} AS cell", "count(*) AS records", *sums])
        found = self.session.arrays("sums", f"SELECT {selected} FROM staged GROUP BY cell ORDER BY cell")
        columns = [found[f"s{i}"] for i in range(len(plan.summed))]
        return LeafCells(
            found["cell"],
            found["records"],
            np.stack(columns) if columns else np.zeros((0, len(found["cell"])), np.int64),
            found.get("key_sum", np.zeros(0, np.int64)),
            found.get("nonzero", np.zeros(0, np.int64)),
        )

    def _record_key(self) -> str:
        """Record keys as whole numbers, in SQL."""
        short = self._numeric[str(self.data.record_key)]
        return f"CAST({short} * {self.key_modulus}::DOUBLE AS BIGINT)" if self.key_modulus else short

    def keyed(self, spec: TableSpec) -> Iterator[KeyedAmounts]:
        """All records with their record keys, part by part."""
        self._refuse_large_sums(spec.value)
        amount = f"{self._own(spec.value)} * {self._weight()} AS amount"
        key = f"CAST({self._record_key()} AS BIGINT) AS record_key"
        for first in range(0, self._last + 1, PART):
            query = f"SELECT {self._cell(spec)} AS cell, {amount}, {key} FROM staged WHERE {_rows(first)}"
            found = self.session.arrays("record keys", query, (first, self._last + 1))
            yield KeyedAmounts(found["cell"], found["amount"].astype(np.int64, copy=False), found["record_key"])

    def contributors(self, plan: ColumnPlan, level: str, rows: RowFinder) -> Iterator[ContributorRecords]:
        """The records for a level, all of a contributor in one part."""
        named = plan.names_holders(level)
        selected = self._selected(plan, self._cell(plan.spec), plan.gives_values(level))
        holding = level == "holding"
        count = self._parts if holding else -(-(self._last + 1) // PART)
        for number in range(count):
            if holding:
                self._number_contributors(number, count)
                query = f"{selected}, number AS contributor FROM staged JOIN who USING (contributor) "
                query += f"WHERE part = {number}"
            else:
                place = ", place AS identity" if named else ""
                query = f"{selected}{place} FROM staged WHERE {_rows(number * PART)}"
            found = self.session.arrays("contributors", query, (number, count))
            if not len(found["cell"]):
                continue
            contributor = found.get("contributor")
            none = np.zeros(0, np.int64)
            yield ContributorRecords(
                rows(found["cell"]),
                contributor,
                0 if contributor is None else int(contributor.max()) + 1,
                found["own"],
                found.get("weighted", none),
                found.get("waived", np.zeros(0, np.bool_)),
                found.get("requested", np.zeros(0, np.int8)),
                found.get("value", none),
                self._identities() if holding and named else found.get("identity", none),
            )

    def _selected(self, plan: ColumnPlan, cell: str, values: bool) -> str:
        """What is selected of each record; where asked for, what it adds to the cell's value too."""
        own, data = self._own(plan.watched), self.data
        columns = [f"{cell} AS cell", f"{own} * {10**self._weight_decimals} AS own"]
        if self.weight_name:
            columns.append(f"{own} * {self._weight()} AS weighted")
        if data.waiver:
            columns.append(f"{self._numeric[data.waiver]} = 1 AS waived")
        if data.request:
            columns.append(f"CAST({self._numeric[data.request]} AS TINYINT) AS requested")
        if values:
            columns.append(f"{self._own(plan.spec.value)} * {self._weight()} AS value")
        return f"SELECT {', '.join(columns)}"

    def _number_contributors(self, part: int, parts: int) -> None:
        """Number the contributors of a part from 0, in the table ``who``."""
        numbered = "CREATE OR REPLACE TEMP TABLE who AS SELECT contributor, row_number() OVER () - 1 AS number"
        distinct = f"SELECT DISTINCT contributor FROM staged WHERE part = {part}"
        self.session.run("contributors", f"{numbered} FROM ({distinct})", at=(part, parts))

    def _identities(self) -> Ints:
        """Identity of each contributor in the table ``who``."""
        who = self.session.connection.sql("SELECT contributor, number FROM who").to_arrow_table()
        found = np.empty(len(who), np.int64)
        found[who["number"].to_numpy()] = identities_of(who["contributor"].combine_chunks())
        return found


def _rows(first: int) -> str:
    return f"rowid >= {first} AND rowid < {first + PART}"
