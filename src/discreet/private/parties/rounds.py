"""Rounds: in each, every party says something to some others, and hears what was said to it.

What a party does is a generator: it yields a :class:`TalkRound` and is sent what it was told. The same generator runs
in one process, over connections, and by files.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from discreet.private.problems import ProtocolError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.private.parties.conversation import Desk, RunPlan

T = TypeVar("T")
COUNT_BYTES = 8
Heard = dict[str, bytes]
"""What a party was told in a round, by sender."""


class TalkRound(NamedTuple):
    """What a party says in a round, and whom it must hear."""

    what: str
    says: Mapping[str, bytes]
    hears: frozenset[str] = frozenset()


class SealedRound(NamedTuple):
    """A round as carriers see it: sealed messages by receiver, and whom the party waits for."""

    number: int
    says: Heard
    hears: frozenset[str]


Talk = Generator[TalkRound, Heard, T]
"""What a party does, before its messages are sealed."""
SealedTalk = Generator[SealedRound, Heard, T]
"""What a party does as others see it: yields sealed messages by receiver, is sent those for it by sender."""


@dataclass(frozen=True)
class PartyTask(Generic[T]):
    """What one party brings into a run.

    Parameters
    ----------
    plan
        What it agrees on with the others.
    work
        What it does then.
    digest
        Of its own records, as they enter the run: a run that was broken off goes on with the same ones only.
    columns
        Gives those of its own records that enter, for its own account.
    """

    plan: RunPlan
    work: Callable[[Desk], Talk[T]]
    digest: bytes
    columns: Callable[[], Mapping[str, NDArray[Any]]] = dict


def count_told(body: bytes, sender: str) -> int:
    """A count that somebody told: eight bytes.

    Raises
    ------
    ProtocolError
        ``wrong length``.
    """
    if len(body) != COUNT_BYTES:
        raise ProtocolError(
            "wrong length", f"{sender} told no count.", hint="Start again; nothing of this run is used."
        )
    return int.from_bytes(body, "big")


def require_senders(one: TalkRound, heard: Heard) -> None:
    """Refuse a round in which somebody is silent who must speak, or speaks who must not."""
    silent, loud = sorted(one.hears - heard.keys()), sorted(heard.keys() - one.hears)
    again = "Start again; nothing of this run is used."
    if silent:
        raise ProtocolError("party left", f"In the round {one.what!r} {silent[0]} said nothing.", hint=again)
    if loud:
        raise ProtocolError("replayed message", f"In the round {one.what!r} {loud[0]} spoke out of turn.", hint=again)
