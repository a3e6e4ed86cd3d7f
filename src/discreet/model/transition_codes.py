"""Columns as codes and places: what post-randomisation draws, and what analysts of it count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.records import NUMBER, code_text

if TYPE_CHECKING:
    import pyarrow as pa


def coded(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The distinct codes of a column as text, and for every row the place of its code; -1 for empty fields."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    texts = [code_text(value) for value in encoded.dictionary.to_pylist()]
    indices = encoded.indices.fill_null(-1) if encoded.null_count else encoded.indices
    return texts, np.asarray(indices.to_numpy(zero_copy_only=False), np.int64)


def in_order(codes: Iterable[str]) -> list[str]:
    """Codes in their order: numbers by size where all are numbers, else by the alphabet."""
    some = sorted(codes)
    if all(NUMBER.fullmatch(code) for code in some):
        some.sort(key=lambda code: (float(code), code))
    return some
