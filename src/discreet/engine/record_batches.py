"""Records of a file a part at a time, as plain columns: for those who need few of them.

The values are those of :func:`~discreet.engine.record_set.read_record_set`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engine.record_set import NUMBERS, plain_columns, read_record_set, record_names
from discreet.files.batches import csv_batches, number_type, parquet_batches
from discreet.files.statistical import is_statistical
from discreet.model.condition import Condition
from discreet.model.microdata import Microdata

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class RecordBatches:
    """Records that are read once for every question.

    Parameters
    ----------
    pieces
        Gives some columns, part by part, in the order of the source.
    leave_out
        Conditions of records that are still in the parts and are to be left out.
    """

    pieces: Callable[[Sequence[str]], Iterator[pa.Table]]
    leave_out: tuple[Condition, ...] = ()


def record_batches(data: Microdata, names: Sequence[str], numeric: Collection[str] = ()) -> RecordBatches:
    """Some columns of records, by parts where they lie in a Parquet or csv file; other sources are read whole.

    Parameters
    ----------
    data
        The records.
    names
        Columns that may be asked for.
    numeric
        Columns of csv files that are numbers although they have no role of numbers.
    """
    path = data.source
    if isinstance(path, Path) and path.is_file() and data.engine == "memory" and not is_statistical(path):
        every = record_names(data)
        wanted = [name for name in every if name in {*names, *(one.column for one in data.leave_out)}]
        if path.suffix.lower() == ".parquet":
            return RecordBatches(partial(_of_parquet, data, path), data.leave_out)
        types = _csv_types(data, path, wanted, numeric)
        if types is not None:
            return RecordBatches(partial(_of_csv, data, path, types), data.leave_out)
    table = read_record_set(data, numeric).columns
    return RecordBatches(lambda asked: iter((table.select(list(asked)),)))


def _of_parquet(data: Microdata, path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    return (plain_columns(piece, data) for piece in parquet_batches(path, names))


def _of_csv(data: Microdata, path: Path, types: dict[str, pa.DataType], names: Sequence[str]) -> Iterator[pa.Table]:
    return (plain_columns(piece, data) for piece in csv_batches(path, {n: types[n] for n in names}, data.delimiter))


def _csv_types(
    data: Microdata, path: Path, wanted: Sequence[str], numeric: Collection[str]
) -> dict[str, pa.DataType] | None:
    """Types of columns as they are where the file is read whole; nothing where only that tells."""
    import pyarrow as pa

    found = {}
    for name in wanted:
        numbers = data.roles.get(name) in NUMBERS or name in numeric
        found[name] = number_type(path, name, data.delimiter) if numbers else pa.string()
    return None if None in found.values() else found
