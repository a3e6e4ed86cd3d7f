"""Public tables as csv: what every release has, and what its proof speaks of."""

from __future__ import annotations

from pathlib import Path

from discreet.files.celltext import code_text_columns, units_text, write_text_columns
from discreet.files.published.heading import Heading
from discreet.model.public import PublicTable


def write_csv(path: Path, table: PublicTable, _heading: Heading) -> None:
    """A public table as csv: code columns, value (empty where withheld), ends of intervals if any, status."""
    import pyarrow as pa

    names, columns = ["value"], [units_text(table.value, table.decimals, table.shown)]
    if table.lower is not None and table.upper is not None:
        wide = table.shown & (table.lower < table.upper)
        names += ["lower", "upper"]
        columns += [units_text(ends, table.decimals, wide) for ends in (table.lower, table.upper)]
    write_text_columns(
        path,
        [*table.variables, *names, "status"],
        [*code_text_columns(table.codes, table.code_lists), *columns, pa.array(table.status)],
    )
