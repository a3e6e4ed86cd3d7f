"""Public records as Parquet files."""

from __future__ import annotations

import io
import json
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.files.parquet_maker import with_stated_maker
from discreet.files.statistical import StatisticalMetadata
from discreet.model.records import PublicRecords

if TYPE_CHECKING:
    import pyarrow as pa


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


def column_words(schema: pa.Schema) -> StatisticalMetadata:
    """What the columns of a Parquet file, or of an Arrow table, say of themselves in the words written here."""
    labels, formats, values, missing = {}, {}, {}, {}
    for field in schema:
        said = {
            key.decode(errors="replace"): text.decode(errors="replace") for key, text in (field.metadata or {}).items()
        }
        if said.get("label"):
            labels[field.name] = said["label"]
        if said.get("format"):
            formats[field.name] = said["format"]
        words, ranges = _parsed(said.get("value_labels")), _parsed(said.get("missing"))
        if isinstance(words, dict) and all(isinstance(text, str) for text in words.values()):
            values[field.name] = words
        if isinstance(ranges, list) and all(map(_is_range, ranges)):
            missing[field.name] = tuple((low, high) for low, high in ranges)
    return StatisticalMetadata(tuple(schema.names), labels, values, missing, formats)


def _is_range(ends: Any) -> bool:
    """Whether something is two numbers, or twice the same text."""
    if not isinstance(ends, list) or len(ends) != 2:
        return False
    if isinstance(ends[0], str):
        return bool(ends[0] == ends[1])
    return all(isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end) for end in ends)


def _parsed(text: str | None) -> Any:
    """What JSON text says; nothing where it is none, because other programs use the same words in other ways."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
