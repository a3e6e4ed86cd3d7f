"""What the checker compares public files of records with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.model.records import PublicColumn
from discreet.verify.formats.shown import Different

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class GivenRecords:
    """The records that the release gives, and what may be said of each column."""

    name: str
    table: pa.Table
    info: Mapping[str, PublicColumn]

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

    def distinct(self, name: str) -> set[Any]:
        """What stands in a column, gaps aside."""
        return set(self.table[name].unique().to_pylist()) - {None}


def same_bytes(expected: bytes, found: bytes) -> None:
    """Refuse a file that is not the expected one, with the place."""
    if expected == found:
        return
    if len(expected) != len(found):
        raise Different(f"the file has {len(found):,} bytes, and the release gives {len(expected):,}")
    at = next(i for i, (mine, theirs) in enumerate(zip(expected, found, strict=True)) if mine != theirs)
    raise Different(f"byte {at + 1:,} is not what the release gives")
