"""What a union costs, said before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discreet.private.union.group import POINT
from discreet.private.union.records import read_records

MULTIPLICATION = 55e-6
"""Seconds for one multiplication in the group, on one core of a usual machine."""


@dataclass(frozen=True)
class UnionCost:
    """What a union costs each holder, when the other has as many records.

    Parameters
    ----------
    records, blocks
        Of this holder.
    bytes_up, bytes_down
        Of the initiator.
    cpu_seconds
        Of either holder, about.
    """

    records: int
    blocks: int
    bytes_up: int
    bytes_down: int
    cpu_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def summary(self) -> str:
        """In a line."""
        return (
            f"{self.records:,} records of {self.blocks} blocks; with as many of the other: {self.bytes_up:,} bytes up, "
            f"{self.bytes_down:,} down, about {self.cpu_seconds:.0f} s on one core"
        )


def union_cost(data: Any, id_columns: Sequence[str], data_columns: Sequence[str]) -> UnionCost:
    """The cost of a union in which nothing is shared and the other has as many records."""
    found = read_records(data, id_columns, data_columns)
    n, blocks = len(found.data), found.blocks
    row = POINT * (1 + blocks)
    work = n * (2 + 4 * blocks)
    return UnionCost(
        n, blocks, n * row + 2 * n * row, n * POINT + n * row + 2 * n * POINT * blocks, work * MULTIPLICATION
    )
