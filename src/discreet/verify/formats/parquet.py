"""Public tables as Parquet files, written a second time."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from typing import Any

from discreet.verify.formats.shown import Different, ShownTable

MAKER = re.compile(rb"parquet-cpp-arrow version [0-9][0-9A-Za-z.+-]*")
STATED = b"parquet-cpp-arrow version 22.0.0"
"""The maker that files name, whichever version wrote them: a number that varies could be any number."""


def check_parquet(found: bytes, shown: ShownTable) -> None:
    """A Parquet file is byte for byte what the cells give."""
    import pyarrow.parquet as pq

    expected, sink = _table(shown), io.BytesIO()
    pq.write_table(expected, sink, compression="zstd")
    if as_stated(sink.getvalue()) == found:
        return
    raise Different(_where(expected, found))


def as_stated(data: bytes) -> bytes:
    """A file that names the stated maker: the name, its length before it, and the length of the last part behind it."""
    long = int.from_bytes(data[-8:-4], "little")
    rest, end = data[: -8 - long], data[-8 - long : -8]
    for name in MAKER.findall(end):
        end = end.replace(bytes([len(name)]) + name, bytes([len(STATED)]) + STATED)
    return rest + end + len(end).to_bytes(4, "little") + b"PAR1"


def _table(shown: ShownTable) -> Any:
    import pyarrow as pa

    table = shown.table
    columns: dict[str, Any] = {}
    for variable, codes in zip(table.variables, zip(*shown.cells(), strict=True), strict=True):
        columns[variable] = pa.array(codes, pa.string())
    if not len(table):
        columns = {variable: pa.array([], pa.string()) for variable in table.variables}
    columns["value"] = _numbers(shown.numbers(), table.decimals)
    if table.lower is not None:
        ends = shown.ends()
        columns["lower"] = _numbers([low for low, _ in ends], table.decimals)
        columns["upper"] = _numbers([high for _, high in ends], table.decimals)
    columns["status"] = pa.array(table.status, pa.string())
    words = shown.words
    about = {"table": table.name, "period": table.period}
    about |= {"agency": words.agency, "units": words.units, "source": words.source}
    return pa.table(columns).replace_schema_metadata(about)


def _numbers(texts: list[str], decimals: int) -> Any:
    import pyarrow as pa

    if decimals == 0:
        return pa.array([int(text) if text else None for text in texts], pa.int64())
    return pa.array([Decimal(text) if text else None for text in texts], pa.decimal128(38, decimals))


def _where(expected: Any, found: bytes) -> str:
    """Where a file differs, as far as it can be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        given = pq.read_table(pa.BufferReader(found))
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return "the file cannot be read"
    for name in given.schema.names:
        if name not in expected.schema.names:
            return f"the column {name!r} is not one that the release has"
    if not given.schema.equals(expected.schema):
        return "columns or their types are not those of the release"
    if given.schema.metadata != expected.schema.metadata:
        return "what the file says of itself (metadata) is not what the release says"
    if given.num_rows != expected.num_rows:
        return f"the file has {given.num_rows:,} rows and not {expected.num_rows:,}"
    for name in expected.schema.names:
        if not given[name].equals(expected[name]):
            return f"column {name!r} is not what the published cells give"
    return "the file holds more than its rows, or was written in another way than releases are"
