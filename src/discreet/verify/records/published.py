"""What the checker compares public files of records with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.records import PublicColumn
from discreet.verify.formats.shown import Different

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class GivenRecords:
    """The records that the release gives, what may be said of each column, published matrices and blankings."""

    name: str
    table: pa.Table
    info: Mapping[str, PublicColumn]
    matrices: Sequence[Mapping[str, Any]] = ()
    blankings: Sequence[Mapping[str, Any]] = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.table.column_names)

    def kind(self, name: str) -> str:
        """The type of a column in Arrow's words."""
        return str(self.table[name].type)

    def values(self, name: str) -> list[Any]:
        """The values of a column, nothing for gaps."""
        found: list[Any] = self.table[name].to_pylist()
        return found

    def encoded(self, name: str) -> tuple[list[Any], pa.Array]:
        """The distinct values of a column, nothing for gaps, and for each record the number of its value."""
        import pyarrow as pa

        found = self.table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        found = found.chunk(0) if isinstance(found, pa.ChunkedArray) else found
        values = found.dictionary.to_pylist()
        if any(isinstance(value, float) and not isfinite(value) for value in values):
            raise Different("a column has numbers that are not finite")
        return values, found.indices

    def distinct(self, name: str) -> set[Any]:
        """What stands in a column, gaps aside."""
        return set(self.table[name].unique().to_pylist()) - {None}


def joined(texts: pa.Array) -> bytes:
    """Texts (as large strings) one behind the other."""
    _, ends, letters = texts.buffers()
    first, last = (int(np.frombuffer(ends, np.int64)[texts.offset + at]) for at in (0, len(texts)))
    return bytes(memoryview(letters)[first:last]) if letters is not None else b""


def same_bytes(expected: bytes, found: bytes) -> None:
    """Refuse a file that is not the expected one, with the place."""
    if expected == found:
        return
    if len(expected) != len(found):
        raise Different(f"the file has {len(found):,} bytes, and the release gives {len(expected):,}")
    at = next(i for i, (mine, theirs) in enumerate(zip(expected, found, strict=True)) if mine != theirs)
    raise Different(f"byte {at + 1:,} is not what the release gives")
