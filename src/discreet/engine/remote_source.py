"""Tables in databases and clusters, through ibis: how they are reached, and how answers come back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from discreet.engine.remote_trust import refuse_inexact, refuse_loose_text
from discreet.errors import (
    DiscreetError,
    InputError,
    NeedsError,
    ParameterError,
    missing_extra,
    unknown_column,
    unknown_name,
)
from discreet.model.address import Address
from discreet.model.microdata import Microdata
from discreet.progress import checkpoint

if TYPE_CHECKING:
    import pyarrow as pa

EXTRAS = {"postgres": "engines", "duckdb": "engines", "pyspark": "spark"}
"""Extras that bring the driver of an engine; others are extras of ibis."""
WIDE_SUMS = ("postgres", "duckdb", "snowflake")
"""Engines whose sums of 64-bit numbers are wider than these; elsewhere numbers are made wide first."""
LOST = ("connection", "terminat", "server closed", "broken pipe", "reset by peer", "shut down", "shutting down")


class RemoteTable:
    """One table of an engine, by the names of its columns.

    Parameters
    ----------
    backend
        The connection, as ibis has it.
    table
        The table, as ibis has it.
    name
        What errors call it.
    """

    def __init__(self, backend: Any, table: Any, name: str) -> None:
        self.backend = backend
        self.table = table
        self.name = name
        self._kept: list[Any] = []
        self._made: list[str] = []
        self._trusted: set[str] = set()

    @property
    def engine(self) -> str:
        """What ibis calls the engine."""
        return str(self.backend.name)

    @property
    def names(self) -> list[str]:
        """Names of the columns, as the engine has them."""
        return list(self.table.columns)

    def column(self, name: str) -> Any:
        """A column; names are taken as they are written, and engines that fold them are watched."""
        names = self.names
        if name not in names:
            raise unknown_column(name, names, f"the table {self.name!r}")
        alike = [other for other in names if other.casefold() == name.casefold()]
        if len(alike) > 1 and self.engine == "pyspark":
            raise InputError(
                f"The table {self.name!r} has columns {alike[0]!r} and {alike[1]!r}, which Spark takes for one.",
                hint="Rename one of them.",
            )
        found = self.table[name]
        if found.type().is_string() and name not in self._trusted:
            with failures(self.name, self.engine):
                refuse_loose_text(self.backend, self.table, name, self.name)
            self._trusted.add(name)
        return found

    def fetch(self, stage: str, expression: Any) -> pa.Table:
        """The answer to a question, in memory."""
        checkpoint(stage, 0, 1)
        with failures(self.name, self.engine):
            found = ANSWERS.get(self.engine, _answered)(self.backend, expression)
        checkpoint(stage, 1, 1)
        return found

    def rows(self, stage: str, expression: Any) -> list[dict[str, Any]]:
        """A small answer."""
        found: list[dict[str, Any]] = self.fetch(stage, expression).to_pylist()
        return found

    def listing(self, columns: pa.Table) -> Any:
        """A small table of ours beside the records, gone with the connection."""
        name = f"discreet_{token_hex(6)}"
        with failures(self.name, self.engine):
            self._made.append(name)
            if self.engine == "pyspark":
                # Spark has views in place of temporary tables.
                self.backend._session.createDataFrame(columns).createTempView(name)
                return self.backend.table(name)
            if self.engine == "postgres":
                return _copied_in(self.backend, name, columns)
            return self.backend.create_table(name, columns, temp=True)

    def kept(self, stage: str, expression: Any) -> Any:
        """What an expression gives, worked out once and kept in the engine until it is closed."""
        checkpoint(stage, 0, 1)
        with failures(self.name, self.engine):
            self._kept.append(expression.cache())
            if self.engine == "postgres":
                self.backend.raw_sql(f'ANALYZE "{self._kept[-1].get_name()}"').close()
        return self._kept[-1]

    def with_table(self, table: Any) -> RemoteTable:
        """The same with another table, which is forgotten together with this one."""
        found = RemoteTable(self.backend, table, self.name)
        found._kept, found._made, found._trusted = self._kept, self._made, self._trusted
        return found

    def close(self) -> None:
        """Let the engine forget what it kept."""
        for expression in self._kept:
            expression.release()
        for name in self._made:
            if self.engine == "pyspark":
                self.backend._session.catalog.dropTempView(name)
            else:
                self.backend.drop_table(name, force=True)


@contextmanager
def connected(data: Microdata) -> Iterator[RemoteTable]:
    """The table that some records lie in."""
    with ExitStack() as stack:
        found = _found(data.source, stack)
        with failures(found.name, found.engine):
            refuse_inexact(found.backend, found.name)
        try:
            yield found
        except BaseException:
            # What failed first is what matters, and temporary tables go with the session at the latest.
            with suppress(Exception):
                found.close()
            raise
        else:
            with failures(found.name, found.engine):
                found.close()


def _found(source: Any, stack: ExitStack) -> RemoteTable:
    try:
        import ibis
    except ModuleNotFoundError:
        raise missing_extra("ibis-framework", "engines", "Records in a database or cluster") from None
    if isinstance(source, Address):
        backend = _backend(ibis, source)
        stack.callback(_closed, backend)
        return RemoteTable(backend, _table(backend, source), source.name)
    if type(source).__module__.startswith("pyspark."):
        return _spark_frame(ibis, source, stack)
    if isinstance(source, ibis.expr.types.Table):
        try:
            backend = source.get_backend()
        except ibis.common.exceptions.IbisError:
            raise NeedsError(
                "This ibis table belongs to no engine.", hint="Give a table of a connection: ibis.connect(...).table()."
            ) from None
        return RemoteTable(backend, source, str(getattr(source.op(), "name", "ibis table")))
    raise ParameterError(
        f"engine='remote' makes tables where records lie, and these are a {type(source).__name__} here.",
        hint="Leave engine= out, or give an address such as postgres://..., an ibis table or a Spark frame.",
    )


def _backend(ibis: Any, address: Address) -> Any:
    try:
        if address.engine == "postgres":
            return ibis.postgres.connect(**address.settings(), options="-c TimeZone=UTC")
        if address.engine == "duckdb":
            backend = ibis.duckdb.connect(address.database, read_only=False)
            # Its bar would stand between the lines of --json.
            backend.raw_sql("SET enable_progress_bar = false")
            return backend
        return ibis.connect(address.database_url())
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(address.engine, "engines")
        failed: DiscreetError = missing_extra(str(error.name), extra, f"A table in {address.engine}")
    except Exception as error:
        failed = _no_connection(address, error)
    # Raised out here, because the error of a driver holds the frames that know the secret.
    raise failed


def _no_connection(address: Address, error: Exception) -> DiscreetError:
    """What a driver says may repeat the address with its secret: only what kind of error it was is told."""
    refused = re.search("password|authenticat|credential|permission|denied", str(error), re.I)
    why = "it refused the name or the password" if refused else "there was no connection"
    return InputError(
        f"{address.engine} cannot be reached for table {address.name!r}: {why}.",
        hint="Check host, port, database, name and password of the address; signs such as @ in a password are "
        "written %40.",
        details=_kind(error),
    )


def _table(backend: Any, address: Address) -> Any:
    import ibis

    try:
        return backend.table(address.table, database=address.schema) if address.schema else backend.table(address.table)
    except ibis.common.exceptions.TableNotFound:
        with failures(address.name, address.engine):
            there = _tables(backend, address)
        raise InputError(unknown_name("table", address.table, there, f"the {address.engine} database")) from None
    except Exception as error:
        raise could_not(address.name, address.engine, error) from None


def _tables(backend: Any, address: Address) -> list[str]:
    """The tables beside one that is not there."""
    if address.engine not in ("postgres", "duckdb"):
        return sorted(backend.list_tables(database=address.schema) if address.schema else backend.list_tables())
    query = "SELECT table_name, table_schema FROM information_schema.tables"
    inner = ("pg_catalog", "information_schema")
    wanted = [name for name, schema in backend.raw_sql(query).fetchall()
              if schema not in inner and address.schema in (None, schema)]  # fmt: skip
    return sorted(wanted)


def _spark_frame(ibis: Any, frame: Any, stack: ExitStack) -> RemoteTable:
    try:
        backend = ibis.pyspark.connect(frame.sparkSession)
    except ModuleNotFoundError:
        raise missing_extra("pyspark", "spark", "A Spark frame") from None
    name = f"discreet_{token_hex(6)}"
    frame.createOrReplaceTempView(name)
    stack.callback(frame.sparkSession.catalog.dropTempView, name)
    return RemoteTable(backend, backend.table(name), "Spark frame")


def _closed(backend: Any) -> None:
    backend.disconnect()


@contextmanager
def failures(table: str, engine: str) -> Iterator[None]:
    """Give errors of an engine words of ours: what it says itself may hold values of records."""
    try:
        yield
    except (DiscreetError, GeneratorExit, KeyboardInterrupt):
        raise
    except Exception as error:
        raise could_not(table, engine, error) from None


def could_not(table: str, engine: str, error: Exception) -> DiscreetError:
    """An engine that did not finish."""
    said = str(error).lower()
    if any(word in said for word in LOST) or type(error).__name__ in ("OperationalError", "Py4JNetworkError"):
        return InputError(
            f"The connection to {engine} was lost while tables of {table!r} were made; nothing was made.",
            hint="Try again once the engine is there.",
            details=_kind(error),
        )
    return InputError(
        f"{engine} could not finish the tables of {table!r}.",
        hint="Check that its columns can be read, and that this user may make temporary tables.",
        details=_kind(error),
    )


def _kind(error: Exception) -> str:
    """What an error is, without what it says."""
    state = getattr(error, "sqlstate", None) or getattr(error, "getErrorClass", lambda: None)()
    return f"{type(error).__name__}{f' {state}' if state else ''}"


def _copied_in(backend: Any, name: str, columns: pa.Table) -> Any:
    """A temporary table of PostgreSQL, filled by COPY."""
    import ibis
    import pyarrow as pa
    from pyarrow import csv

    made = backend.create_table(name, schema=ibis.Schema.from_pyarrow(columns.schema), temp=True)
    lines = pa.BufferOutputStream()
    csv.write_csv(columns, lines, csv.WriteOptions(include_header=False))
    with backend.con.cursor() as cursor, cursor.copy(f'COPY "{name}" FROM STDIN (FORMAT csv)'.encode()) as copy:
        copy.write(lines.getvalue().to_pybytes())
    backend.raw_sql(f'ANALYZE "{name}"').close()
    return made


def _answered(_: Any, expression: Any) -> pa.Table:
    """An answer as ibis gives it."""
    return expression.to_pyarrow()


def _collected(backend: Any, expression: Any) -> pa.Table:
    """An answer of Spark as Arrow: ibis takes pandas, which makes floats of whole numbers where some are missing."""
    found = backend.raw_sql(backend.compile(expression)).toArrow()
    return found.cast(expression.schema().to_pyarrow())


def _copied(backend: Any, expression: Any) -> pa.Table:
    """An answer of PostgreSQL by COPY: several times faster than row by row, and the query may run in parallel."""
    import pyarrow as pa
    from pyarrow import csv

    schema = expression.schema().to_pyarrow()
    words = backend.compile(expression)
    with backend.con.cursor() as cursor, cursor.copy(f"COPY ({words}) TO STDOUT (FORMAT csv)".encode()) as copy:
        lines = b"".join(bytes(part) for part in copy)
    if not lines:
        return schema.empty_table()
    return csv.read_csv(
        pa.BufferReader(lines),
        read_options=csv.ReadOptions(column_names=schema.names),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )


ANSWERS = {"postgres": _copied, "pyspark": _collected}
"""How answers come back from engines that have a better way than that of ibis."""
