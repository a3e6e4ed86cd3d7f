"""Records that come part by part: of a folder of Parquet files, or out of the engine that they lie in.

The parts are laid down one after the other in a file without a name, which is gone when nobody uses it any more, and
mapped from there: memory need not hold what is not being worked on. Nothing depends on how records are cut into parts,
nor on their order: draws belong to who a record is, and so does the place of its public row.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from discreet.engine.remote import records_stay
from discreet.engine.remote_source import connected, failures
from discreet.errors import InputError, listed
from discreet.files.frames import no_records
from discreet.model.address import stays_in_its_engine
from discreet.model.microdata import Microdata
from discreet.progress import checkpoint

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 1 << 17
"""Rows that are taken over at a time."""


def gathered(data: Microdata) -> Microdata:
    """The same records as one table, where they lie in parts or in an engine; others as they are.

    Raises
    ------
    NeedsError
        Where records lie in an engine, and nobody said that they may leave it (``data.on("memory")``).
    """
    if stays_in_its_engine(data.source):
        if data.engine == "remote":
            raise records_stay()
        return data.with_(source=_mapped(_of_engine(data)), encoded=None)
    if isinstance(data.source, Path) and data.source.is_dir() and data.engine == "memory":
        return data.with_(source=_mapped(_of_folder(data.source)), encoded=None)
    return data


def _mapped(parts: Iterator[pa.Table]) -> pa.Table:
    """All parts as one table that lies in a file without a name."""
    import pyarrow as pa

    first = next(parts, None)
    if first is None:
        raise no_records()
    try:
        with TemporaryFile() as file:
            with pa.ipc.new_file(pa.PythonFile(file, "w"), first.schema) as writer:
                writer.write_table(first, AT_ONCE)
                for place, part in enumerate(parts, start=1):
                    checkpoint("read", place, 0)
                    writer.write_table(part, AT_ONCE)
            file.flush()
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputError(
            f"The records could not be laid down ({error.strerror}).",
            hint="Make room in the folder for temporary files, or name another one (TMPDIR).",
        ) from None
    table = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(held))).read_all()
    if not table.num_rows:
        raise no_records()
    return table


# ---- folders ------------------------------------------------------------------------------------------------


def _of_folder(folder: Path) -> Iterator[pa.Table]:
    """The parts of a folder of Parquet files, by their names; all have the same columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema: pa.Schema | None = None
    for path in _files(folder):
        try:
            with pq.ParquetFile(path) as file:
                mine = _plain(file.schema_arrow)
                schema = mine if schema is None else schema
                _refuse_unlike(schema, mine, path.name)
                for batch in file.iter_batches(AT_ONCE):
                    part = pa.Table.from_batches([batch])
                    yield part.select(schema.names).cast(schema)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise InputError(
                f"The part {path.name!r} of {folder.name!r} cannot be read ({type(error).__name__}).",
                hint="Check that it was written completely.",
            ) from None
    if schema is not None:
        yield schema.empty_table()


def _files(folder: Path) -> list[Path]:
    """The Parquet files of a folder; what programs leave beside them (``_SUCCESS``) is no part."""
    found = sorted(path for path in folder.iterdir() if not path.name.startswith(("_", ".")))
    other = [path.name for path in found if path.suffix.lower() != ".parquet" or not path.is_file()]
    if other or not found:
        raise InputError(
            f"The folder {folder.name!r} holds {listed(other, 3) if other else 'no parts'}, and parts of records are "
            "Parquet files.",
            hint="Give the folder of the files themselves; where columns stand in names of folders (area=n/), give "
            "the frame of Spark.",
        )
    return found


def _plain(schema: pa.Schema) -> pa.Schema:
    """Columns with their words instead of dictionaries, which every part has of its own."""
    import pyarrow as pa

    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in schema
    ]
    return pa.schema([field.with_nullable(True) for field in fields], schema.metadata)


def _refuse_unlike(first: pa.Schema, mine: pa.Schema, part: str) -> None:
    """Refuse a part with other columns, or columns of other types, than the first one."""
    if sorted(first.names) != sorted(mine.names) or len(set(mine.names)) < len(mine.names):
        odd = sorted(set(first.names) ^ set(mine.names)) or sorted(mine.names)
        raise InputError(
            f"The part {part!r} has other columns than the first one: {listed(odd)}.",
            hint="Write all parts with the same columns.",
        )
    for name in first.names:
        if first.field(name).type != mine.field(name).type:
            raise InputError(
                f"Column {name!r} holds {mine.field(name).type} in the part {part!r}, and {first.field(name).type} in "
                "the first one.",
                hint="Write all parts with the same types.",
            )


# ---- engines ------------------------------------------------------------------------------------------------


def _of_engine(data: Microdata) -> Iterator[pa.Table]:
    """All records of an engine, a part of them at a time."""
    with connected(data) as remote:
        columns = remote.table.select(*(remote.column(name) for name in remote.names))
        with failures(remote.name, remote.engine):
            if remote.engine in BY_PART:
                yield from BY_PART[remote.engine](remote.backend, remote.backend.compile(columns))
            else:
                yield remote.fetch("read", columns)


def _of_duckdb(backend: Any, words: str) -> Iterator[pa.Table]:
    import pyarrow as pa

    reader = backend.con.sql(words).to_arrow_reader(AT_ONCE)
    yield reader.schema.empty_table()
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _of_spark(backend: Any, words: str) -> Iterator[pa.Table]:
    """Partition by partition as Arrow: the driver never holds all of them."""
    import pyarrow as pa

    def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as arrow

        for batch in batches:
            sink = arrow.BufferOutputStream()
            with arrow.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield arrow.record_batch([arrow.array([sink.getvalue().to_pybytes()], arrow.binary())], ["part"])

    schema: pa.Schema | None = None
    for row in backend.raw_sql(words).mapInArrow(packed, "part binary").toLocalIterator():
        part = pa.ipc.open_stream(bytes(row["part"])).read_all()
        schema = _plain(part.schema) if schema is None else schema
        yield part.cast(schema)


BY_PART = {"duckdb": _of_duckdb, "pyspark": _of_spark}
"""Engines whose records come a part at a time; others give all at once."""
