"""Columns of large files a part at a time: Parquet by rows of its groups, csv by blocks of lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.files.frames import csv_options, no_parquet, refuse_damaged, unreadable_csv

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 131_072
"""Rows of Parquet files that are read at once."""
BLOCK = 2**22
"""Bytes of csv files that are read at once."""


def parquet_batches(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    """Columns of a Parquet file, some rows at a time.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            for batch in file.iter_batches(ROWS, columns=list(names), use_threads=False):
                table = pa.Table.from_batches([batch]).select(list(names))
                refuse_damaged(table)
                yield table
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise no_parquet(path, error) from None


def csv_batches(path: Path, types: Mapping[str, Any], delimiter: str) -> Iterator[pa.Table]:
    """Columns of a csv file with their types, some lines at a time.

    Raises
    ------
    InputError
        When it is no regular csv file, or a field does not fit its type.
    """
    import pyarrow as pa
    from pyarrow import csv

    try:
        with csv.open_csv(
            path,
            read_options=csv.ReadOptions(block_size=BLOCK),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv_options(list(types), types),
        ) as lines:
            for batch in lines:
                yield pa.Table.from_batches([batch])
    except pa.ArrowInvalid as error:
        raise unreadable_csv(path, error) from None


def number_type(path: Path, name: str, delimiter: str) -> Any:
    """The type that a column of numbers has when the whole file is read: whole numbers where all are.

    ``None`` where that is neither whole nor floating-point numbers, or nothing is in it.
    """
    import pyarrow as pa
    from pyarrow import csv

    for kind in (pa.int64(), pa.float64()):
        try:
            with csv.open_csv(
                path,
                read_options=csv.ReadOptions(block_size=BLOCK),
                parse_options=csv.ParseOptions(delimiter=delimiter),
                convert_options=csv_options([name], {name: kind}),
            ) as lines:
                filled = sum(len(batch) - batch.column(0).null_count for batch in lines)
        except pa.ArrowInvalid:
            continue  # another type, or no regular file: who reads all of it says so
        return kind if filled else None
    return None
