"""What several formats of records ask of text and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discreet.errors import OutputError

if TYPE_CHECKING:
    import pyarrow as pa


def distinct_values(column: pa.ChunkedArray) -> list[Any]:
    """What stands in a column, gaps aside."""
    return [value for value in column.unique().to_pylist() if value is not None]


def by_value(column: pa.ChunkedArray, text: Callable[[Any], str]) -> pa.Array:
    """Text for every distinct value, put where the values stand; gaps stay gaps."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    words = pa.array([text(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return words.take(encoded.indices)


def refuse_empty_text(name: str, column: pa.ChunkedArray, suffix: str) -> None:
    """Refuse empty text beside gaps in formats that write both alike."""
    import pyarrow.compute as pc

    if column.null_count and pc.any(pc.equal(column, "")).as_py():
        raise OutputError(
            f"Column {name!r} has empty text beside gaps, and a {suffix} file cannot tell them apart.",
            hint="Make them all gaps, or leave this format out.",
        )
