"""Public tables as Parquet files: codes, exact values, status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.files.parquet_maker import with_stated_maker
from discreet.files.published.heading import Heading
from discreet.model.arrays import Bools, Ints
from discreet.model.public import PublicTable
from discreet.model.units import unit_text

if TYPE_CHECKING:
    import pyarrow as pa


def write_parquet(path: Path, table: PublicTable, heading: Heading) -> None:
    """Write a table as Parquet; values are integers, or decimal numbers with all their digits."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {}
    for k, (variable, codes) in enumerate(zip(table.variables, table.code_lists, strict=True)):
        columns[variable] = pa.array(codes, pa.string()).take(pa.array(table.codes[:, k]))
    columns["value"] = _numbers(table.value, table.decimals, table.shown)
    if table.lower is not None and table.upper is not None:
        wide = table.shown & (table.lower < table.upper)
        columns["lower"] = _numbers(table.lower, table.decimals, wide)
        columns["upper"] = _numbers(table.upper, table.decimals, wide)
    columns["status"] = pa.array(table.status)
    made = pa.table(columns).replace_schema_metadata({"table": table.name, "period": table.period, **_words(heading)})
    pq.write_table(made, path, compression="zstd")
    path.write_bytes(with_stated_maker(path.read_bytes()))


def _words(heading: Heading) -> dict[str, str]:
    return {"agency": heading.agency, "units": heading.units, "source": heading.source}


def _numbers(units: Ints, decimals: int, shown: Bools) -> pa.Array:
    import pyarrow as pa

    if decimals == 0:
        return pa.array(units, mask=~np.asarray(shown))
    texts = [unit_text(u, decimals) if s else None for u, s in zip(units.tolist(), shown.tolist(), strict=True)]
    return pa.array(texts, pa.string()).cast(pa.decimal128(38, decimals))
