"""Public records as Parquet files."""

from __future__ import annotations

import io
import json
from pathlib import Path

from discreet.files.published.parquet import with_stated_maker
from discreet.model.records import PublicRecords


def write_parquet(path: Path, records: PublicRecords) -> None:
    """Public records as a Parquet file; labels and codes for "unknown" stand with each column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = []
    for field in records.columns.schema:
        about = records.info[field.name]
        words = {
            "label": about.label,
            "value_labels": json.dumps(dict(about.value_labels), ensure_ascii=False, sort_keys=True)
            if about.value_labels
            else "",
            "missing": json.dumps([list(ends) for ends in about.missing], ensure_ascii=False) if about.missing else "",
            "format": about.format,
        }
        stated = {name: text for name, text in words.items() if text}
        fields.append(pa.field(field.name, field.type, metadata=stated or None))
    table = records.columns.cast(pa.schema(fields)).replace_schema_metadata(None)
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    path.write_bytes(with_stated_maker(sink.getvalue()))
