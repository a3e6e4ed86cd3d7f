"""All parties in one process: for teaching and tests. Every message is recorded, as carrier and addressee see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from discreet.private.parties.rounds import Heard, SealedTalk
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.frames import Transcript

T = TypeVar("T")
CARRIER = "coordinator"
Meddle = Callable[[int, str, str, bytes], bytes | None]
"""What a bad carrier makes of a message: round, sender, receiver, message; ``None`` drops it."""


def run_together(
    talks: Mapping[str, SealedTalk[T]],
    record: Transcript,
    *,
    leaving: Mapping[str, int] | None = None,
    meddle: Meddle | None = None,
) -> dict[str, T]:
    """Run all parties to their end.

    Parameters
    ----------
    talks
        The parties.
    record
        Takes down what the carrier sees.
    leaving
        Parties that are gone from a round on (the greeting is round 0), to see what the others make of it.
    meddle
        What a bad carrier does to messages.

    Raises
    ------
    ProtocolError
        What the first party that cannot go on says; ``party left`` when one is gone. Nobody has a result then.
    """
    leaving = leaving or {}
    waiting: dict[str, Heard] = {name: {} for name in talks}
    results: dict[str, T] = {}
    number = 0
    try:
        while len(results) < len(talks):
            said: dict[str, Heard] = {}
            for name, talk in talks.items():
                if name in results:
                    continue
                if leaving.get(name, number + 1) <= number:
                    raise left(name, number)
                try:
                    said[name] = (next(talk) if number == 0 else talk.send(waiting[name])).says
                except StopIteration as stop:
                    results[name] = stop.value
            waiting = {name: {} for name in talks}
            for sender, messages in said.items():
                for to, body in messages.items():
                    record.passed(sender, CARRIER, f"sealed for {to}" if number else "greeting", body)
                    given = meddle(number, sender, to, body) if meddle else body
                    if given is not None:
                        waiting[to][sender] = given
            number += 1
    finally:
        for talk in talks.values():
            talk.close()
    return results


def left(name: str, number: int) -> ProtocolError:
    """The error of all others when a party is gone."""
    return ProtocolError(
        "party left",
        f"{name} is gone in round {number}; nobody has a result.",
        hint="Start again with all parties. A run without it, after sums were opened with it, would show its part.",
    )
