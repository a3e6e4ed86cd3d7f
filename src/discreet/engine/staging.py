"""A temporary duckdb database, and files of records as something that SQL can select from."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.errors import DiscreetError, InputError, ParameterError, missing_extra
from discreet.files.frames import (
    column_or_delimiter,
    condition_mask,
    file_columns,
    no_records,
    not_regular,
    not_utf8,
    numbers,
)
from discreet.files.statistical import is_statistical
from discreet.model.condition import GAPS, Condition
from discreet.model.units import SURE_DIGITS
from discreet.progress import checkpoint

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MEMORY_LIMIT = "2GB"
POLL_SECONDS = 0.1
MOST_LOOKED_AT = 100_000

Parameters = Mapping[str, Any]
Kind = Literal["text", "integer", "float", "boolean", "nothing", "other"]


class Session:
    """One connection to a database that lies, with all that spills over, in a private folder."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    def run(
        self, stage: str, statement: str, parameters: Parameters | None = None, at: tuple[int, int] | None = None
    ) -> None:
        """Run a long statement; the listener hears of it meanwhile and may cancel it.

        Where the statement is one of many, ``at`` says how many are done and how many there are.
        """
        checkpoint(stage, *(at or (0, 100)))
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(self.connection.execute, statement, dict(parameters or {}))
            try:
                while not wait([work], POLL_SECONDS).done:
                    checkpoint(stage, *(at or (max(int(self.connection.query_progress()), 0), 100)))
            except BaseException:
                # An interrupt before the statement has begun is lost.
                while not wait([work], POLL_SECONDS).done:
                    self.connection.interrupt()
                raise
            work.result()

    def rows(self, query: str, parameters: Parameters | None = None) -> list[tuple[Any, ...]]:
        """A small answer."""
        found: list[tuple[Any, ...]] = self.connection.execute(query, dict(parameters or {})).fetchall()
        return found

    def arrays(self, stage: str, query: str, at: tuple[int, int] | None = None) -> dict[str, Any]:
        """A large answer of numbers without gaps."""
        self.run(stage, query, at=at)
        return {name: np.ascontiguousarray(a) for name, a in self.connection.fetchnumpy().items()}

    def streamed(self, stage: str, query: str, rows: int, parameters: Parameters) -> Iterator[pa.Table]:
        """A large answer in pieces of so many rows, in its order."""
        import pyarrow as pa

        answer: Any = self.connection.sql(query, params=dict(parameters)).to_arrow_reader(rows)
        for number, batch in enumerate(answer):
            checkpoint(stage, number, number + 1)
            if batch.num_rows:
                yield pa.Table.from_batches([batch])


@contextmanager
def opened() -> Iterator[Session]:
    """A database in a folder that only the owner may enter and that is gone afterwards, whatever happens."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise missing_extra("duckdb", "sql", "Tabulation of files larger than memory") from None
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        settings: dict[str, Any] = {
            "memory_limit": MEMORY_LIMIT,
            "temp_directory": str(Path(folder) / "spill"),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        connection = duckdb.connect(str(Path(folder) / "records.duckdb"), config=settings)
        try:
            connection.execute("SET enable_progress_bar = true")
            connection.execute("SET enable_progress_bar_print = false")
            yield Session(connection)
        except duckdb.Error as error:
            raise InputError(
                "duckdb could not finish the tabulation.",
                hint="Check that the file is complete and that the folder for temporary files (TMPDIR) has room.",
                details=str(error),
            ) from None
        finally:
            connection.close()


class Source:
    """The needed columns of a csv or Parquet file.

    Columns are called ``c0``, ``c1``, ... by their place in the file. A csv file is copied into the database as text
    first, because the type of a column is known only when all of it has been seen.

    Parameters
    ----------
    session
        The database.
    path
        The file.
    needed
        Names of the columns to read.
    text
        Names of those that are text in any case.
    delimiter
        Separator of a csv file.
    placed
        Whether it must be known where in the file each record stands, see :attr:`place`.
    """

    def __init__(
        self,
        session: Session,
        path: Path,
        needed: Iterable[str],
        text: Iterable[str],
        delimiter: str,
        placed: bool = False,
    ) -> None:
        self.session = session
        self.path = path
        if is_statistical(path):
            raise ParameterError(
                f'The engine "duckdb" does not read {path.suffix} files.',
                hint='Use engine = "memory", or save the records as Parquet.',
            )
        self.is_csv = path.suffix.lower() != ".parquet"
        names = file_columns(path, delimiter)
        wanted = list(dict.fromkeys(needed))
        for name in wanted:
            if name not in names:
                raise column_or_delimiter(path, name, names, delimiter)
        self._place = {name: names.index(name) for name in wanted}
        # A path is a pattern to duckdb.
        self._parameters: dict[str, Any] = {"path": glob.escape(str(path))}
        self.place = "raw.rowid" if self.is_csv else "file_row_number"
        if self.is_csv:
            # Records of a csv file are numbered as they come in, so that they must come in order.
            self.session.connection.execute(f"SET preserve_insertion_order = {str(placed).lower()}")
            self._open_csv(len(names), delimiter)
            self.session.connection.execute("SET preserve_insertion_order = false")
            self.kinds = self._kinds_of_text(set(text))
        else:
            if placed and self.place in names:
                raise self._place_taken()
            self.kinds = self._open_parquet(placed)
        if self.session.rows(f"SELECT count(*) FROM {self.relation}", self.parameters) == [(0,)]:
            raise no_records()

    # ---- opening ------------------------------------------------------------------------------------------

    def _open_csv(self, columns: int, delimiter: str) -> None:
        import duckdb

        listing = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(columns))
        self._parameters["delimiter"] = delimiter
        self._file = (
            f"SELECT {', '.join(f'c{i}' for i in self._place.values())} FROM read_csv($path, delim = $delimiter, "
            "auto_detect = false, header = true, quote = '\"', escape = '\"', nullstr = '', "
            f"columns = {{{listing}}})"
        )
        try:
            self.session.run("read", f"CREATE TABLE raw AS {self._file}", self._parameters)
        except duckdb.InvalidInputException as error:
            raise self._unreadable(error) from None
        self.relation, self.parameters = "raw", dict[str, Any]()

    def _unreadable(self, error: Exception) -> DiscreetError:
        if "unicode" in str(error).lower():
            return not_utf8(self.path)
        return not_regular(self.path.name, error)

    def _open_parquet(self, placed: bool) -> dict[str, Kind]:
        described = self.session.rows("DESCRIBE SELECT * FROM read_parquet($path)", self._parameters)
        quoted = {i: '"' + described[i][0].replace('"', '""') + '"' for i in self._place.values()}
        listing = ", ".join([*(f"{name} AS c{i}" for i, name in quoted.items()), *([self.place] if placed else [])])
        self._file = f"SELECT {listing} FROM read_parquet($path)"
        self.relation, self.parameters = f"({self._file})", self._parameters
        for name, i in self._place.items():
            self._refuse_wide_decimals(name, described[i][1], quoted[i])
        return {name: _kind_of_type(described[i][1]) for name, i in self._place.items()}

    def _place_taken(self) -> InputError:
        return InputError(
            f"The file {self.path.name!r} has a column {self.place!r}, by which duckdb numbers the records.",
            hint="Rename it, use engine='memory', or give holders=False.",
        )

    def _refuse_wide_decimals(self, name: str, kind: str, quoted: str) -> None:
        """Decimal numbers are taken as floating-point ones here, which hold fifteen digits without loss."""
        if not kind.startswith("DECIMAL"):
            return
        scale = int(kind.removesuffix(")").split(",")[1])
        query = f"SELECT max(abs(CAST({quoted} AS DOUBLE))) FROM read_parquet($path)"
        largest = self.session.rows(query, self._parameters)[0][0] or 0.0
        if largest * 10.0**scale >= 10.0**SURE_DIGITS:
            raise InputError(
                f"Column {name!r} has decimal numbers of more than {SURE_DIGITS} digits, which duckdb would round.",
                hint="Use engine='memory', or express the column in a larger unit (thousands).",
            )

    def _kinds_of_text(self, text: set[str]) -> dict[str, Kind]:
        """The narrowest type that holds all fields of each column, as the reader in memory finds it."""
        unsure = [name for name in self._place if name not in text]
        tests: list[str] = []
        for name in unsure:
            c = f"c{self._place[name]}"
            tests += [
                f"count({c})",
                f"count(*) FILTER (TRY_CAST({c} AS BIGINT) IS NOT NULL AND NOT regexp_matches({c}, '[._+eE]'))",
                f"count(*) FILTER ({c} IN ({_TRUE}, {_FALSE}))",
                f"count(*) FILTER (TRY_CAST({c} AS DOUBLE) IS NOT NULL AND NOT contains({c}, '_'))",
            ]
        kinds: dict[str, Kind] = dict.fromkeys(self._place, "text")
        counts = self.session.rows(f"SELECT {', '.join(tests)} FROM raw")[0] if tests else ()
        order: tuple[Kind, ...] = ("integer", "boolean", "float")
        for i, name in enumerate(unsure):
            filled, *fitting = counts[4 * i : 4 * i + 4]
            fits = [kind for kind, count in zip(order, fitting, strict=True) if count == filled]
            kinds[name] = "nothing" if filled == 0 else fits[0] if fits else "text"
        return kinds

    # ---- selecting ----------------------------------------------------------------------------------------

    def column(self, name: str) -> str:
        """A column with its type, in SQL."""
        c, kind = f"c{self._place[name]}", self.kinds[name]
        if kind == "nothing":
            return "CAST(NULL AS BIGINT)"
        if kind == "integer":
            # What is larger will be refused as too large, but must not stop duckdb before.
            return f"CAST({c if self.is_csv else f'CASE WHEN {c} > {2**62} THEN {2**62} ELSE {c} END'} AS BIGINT)"
        if kind == "float":
            return f"CAST({c} AS DOUBLE)"
        return f"({c} IN ({_TRUE}))" if kind == "boolean" and self.is_csv else c

    def raw(self, name: str) -> str:
        """A column as it is, in SQL; other than amounts, large numbers stay apart here."""
        whole = self.kinds[name] == "integer" and not self.is_csv
        return f"c{self._place[name]}" if whole else self.column(name)

    def where(self, conditions: Sequence[Condition]) -> tuple[str, dict[str, Any]]:
        """The condition that records of the universe meet, in SQL, and its parameters."""
        parts, parameters = ["true"], dict[str, Any]()
        for condition in conditions:
            condition_mask(
                self._no_records(condition.column), condition
            )  # refuses text where numbers are and the reverse
            if condition.operator in GAPS:
                parts.append(self._gap(condition))
                continue
            names = [f"value{len(parameters) + i}" for i in range(len(condition.values))]
            parameters.update(zip(names, condition.values, strict=True))
            column = self.column(condition.column)
            if self.kinds[condition.column] == "boolean":
                column = f"CAST({column} AS TINYINT)"
            listing = ", ".join("$" + name for name in names)
            compared = f"({listing})" if condition.operator in ("in", "not in") else listing
            part = f"coalesce({column} {condition.operator} {compared}, false)"
            if self.kinds[condition.column] == "float" and condition.operator not in ("!=", "not in"):
                part += f" AND NOT coalesce(isnan({column}), false)"  # duckdb takes it for the largest number
            parts.append(part)
        return " AND ".join(parts), parameters

    def _gap(self, condition: Condition) -> str:
        """Whether a field is empty, or holds what is not a number, in SQL."""
        column = self.column(condition.column)
        gap = f"{column} IS NULL"
        if self.kinds[condition.column] == "float":
            gap = f"({gap} OR coalesce(isnan({column}), false))"
        return gap if condition.operator == "is null" else f"NOT ({gap})"

    def _no_records(self, name: str) -> Any:
        import pyarrow as pa

        types = {
            "text": pa.string(),
            "integer": pa.int64(),
            "float": pa.float64(),
            "boolean": pa.bool_(),
            "nothing": pa.null(),
            "other": pa.date32(),
        }
        return pa.table({name: pa.array([], type=types[self.kinds[name]])})

    # ---- looking for what is wrong ------------------------------------------------------------------------

    def first_record(self, wrong: str, where: str, parameters: Parameters) -> int:
        """Number of the first record of the universe for which ``wrong`` holds, from 0."""
        self._keep_order()
        found = self.session.rows(
            f"SELECT min(number) FROM (SELECT row_number() OVER () AS number, {wrong} AS wrong "
            f"FROM ({self._file}) WHERE {where}) WHERE wrong",
            {**self._parameters, **parameters},
        )
        return int(found[0][0]) - 1

    def refuse_text(self, name: str, where: str, parameters: Parameters) -> None:
        """Refuse a column that should hold numbers, and say where text first stands in it."""
        import pyarrow as pa

        self._keep_order()
        found = self.session.rows(
            f"SELECT CAST(c{self._place[name]} AS VARCHAR) FROM ({self._file}) WHERE {where} LIMIT {MOST_LOOKED_AT}",
            {**self._parameters, **parameters},
        )
        numbers(pa.table({name: pa.array([row[0] for row in found], type=pa.string())}), name)

    def _keep_order(self) -> None:
        self.session.connection.execute("SET preserve_insertion_order = true")
        self.session.connection.execute("SET threads = 1")


_TRUE = "'1', 'true', 'True', 'TRUE'"
_FALSE = "'0', 'false', 'False', 'FALSE'"


def _kind_of_type(name: str) -> Kind:
    if name == "VARCHAR":
        return "text"
    if name == "BOOLEAN":
        return "boolean"
    if name.endswith("INT") or name.endswith("INTEGER"):
        return "integer"
    if name in ("FLOAT", "DOUBLE") or name.startswith("DECIMAL"):
        return "float"
    return "nothing" if name == '"NULL"' else "other"
