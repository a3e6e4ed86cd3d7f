"""What a place is where a party meets the others: at a coordinator, as a host, or in a folder."""

from __future__ import annotations

from typing import Protocol, TypeVar

from discreet.private.parties.rounds import PartyTask
from discreet.private.retrieval.frames import Transcript

T = TypeVar("T")


class MeetingPlace(Protocol):
    """Where parties meet."""

    def meet(self, me: str, task: PartyTask[T], record: Transcript | None = None) -> T:
        """Take part in a run as one party; what it was told goes into ``record``."""
        ...
