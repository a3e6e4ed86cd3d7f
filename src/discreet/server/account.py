"""The account of readings: what has been told of each margin, over all users.

It holds for everybody together, because users may talk to each other. What is charged is never given back. A table
that was charged once is free from then on: its answer is always the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple, Protocol

from discreet.server.question import QuestionRefusal

Margin = str
"""A margin by its value, variables and levels: ``|age:2,sex:1``; ``|`` is the total of a count."""


class MarginReading(NamedTuple):
    """A further way to read the cells of a margin, as sums of finer cells, and how precise it is on average."""

    margin: Margin
    by: str
    precision: float


class Account(Protocol):
    """Where readings are kept. A charge happens in one transaction, or not at all."""

    def has(self, dataset: str, edition: str, table: str) -> bool:
        """Whether a table was charged before."""

    def charge(
        self, dataset: str, edition: str, table: str, readings: Sequence[MarginReading], room: Mapping[Margin, float]
    ) -> None:
        """Enter the readings that are not there yet, or refuse where a margin has no room for them.

        Raises
        ------
        QuestionRefusal
            When a margin would be told too precisely; nothing is charged then.
        """

    def check(
        self, dataset: str, edition: str, readings: Sequence[MarginReading], room: Mapping[Margin, float]
    ) -> None:
        """Refuse what :meth:`charge` would refuse now, and enter nothing."""


def refuse_told(margin: Margin) -> QuestionRefusal:
    """The refusal of a table that would tell too much together with all that was answered before."""
    words = ", ".join(f"{name} (level {level})" for name, _, level in map(_parts, _split(margin)))
    return QuestionRefusal(
        "told-too-often",
        f"Tables that refine {words or 'the total'} have been answered so often that one more would undo the noise.",
        hint="Ask for fewer or coarser variables, or for a table that was answered before.",
    )


def _split(margin: Margin) -> list[str]:
    text = margin.partition("|")[2]
    return text.split(",") if text else []


def _parts(text: str) -> tuple[str, str, str]:
    return text.rpartition(":")


def check_room(told: Mapping[Margin, float], new: Iterable[MarginReading], room: Mapping[Margin, float]) -> None:
    """Refuse readings for which a margin has no room.

    Parameters
    ----------
    told
        What was charged to each margin already.
    new
        Readings that were not charged before.
    room
        What all readings of a margin may come to.
    """
    wanted: dict[Margin, float] = {}
    for reading in new:
        wanted[reading.margin] = wanted.get(reading.margin, 0.0) + reading.precision
    for margin, precision in sorted(wanted.items()):
        if not told.get(margin, 0.0) + precision <= room[margin] + 1e-9:
            raise refuse_told(margin)


@dataclass
class MemoryAccount:
    """An account that is gone with its process: for tests, and for one look at a data set."""

    readings: dict[tuple[str, str], dict[tuple[Margin, str], float]] = field(default_factory=dict)
    tables: set[tuple[str, str, str]] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def has(self, dataset: str, edition: str, table: str) -> bool:
        """Whether a table was charged before."""
        return (dataset, edition, table) in self.tables

    def charge(
        self, dataset: str, edition: str, table: str, readings: Sequence[MarginReading], room: Mapping[Margin, float]
    ) -> None:
        """Enter the readings that are not there yet, or refuse."""
        with self._lock:
            mine = self.readings.setdefault((dataset, edition), {})
            new = _new_in(mine, readings, room)
            mine.update({reading[:2]: reading.precision for reading in new})
            self.tables.add((dataset, edition, table))

    def check(
        self, dataset: str, edition: str, readings: Sequence[MarginReading], room: Mapping[Margin, float]
    ) -> None:
        """Refuse what would be refused, and enter nothing."""
        with self._lock:
            _new_in(self.readings.get((dataset, edition), {}), readings, room)


def _new_in(
    mine: Mapping[tuple[Margin, str], float], readings: Sequence[MarginReading], room: Mapping[Margin, float]
) -> list[MarginReading]:
    """Readings that are not there yet, where there is room for them."""
    new = [reading for reading in readings if reading[:2] not in mine]
    margins = {reading.margin for reading in new}
    told: dict[Margin, float] = {}
    for (margin, _), precision in mine.items():
        if margin in margins:
            told[margin] = told.get(margin, 0.0) + precision
    check_room(told, new, room)
    return new
